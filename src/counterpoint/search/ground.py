"""Ground: what the operators may know of the features of each row, as kernels read it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from counterpoint.arrays import Floats, Ints
from counterpoint.table.space import FEATURE, Box, Features, Space


class Grounds(NamedTuple):
    """Where each of r rows may be searched.

    Attributes
    ----------
    anchor : ndarray of shape (r, d)
        What "unchanged" means: the row's value, or the nearest allowed one.
    features : ndarray of records, of shape (r, d)
        Kind, grid and box of each feature; see `FEATURE`.
    max_free : ndarray of shape (r,)
        How many features may change besides the forced ones.
    """

    anchor: Floats
    features: Features
    max_free: Ints


def survey(space: Space, box: Box) -> Grounds:
    """Return the grounds of rows with this space and these boxes."""
    features = np.empty(box.anchor.shape, FEATURE)
    for name in ("is_level", "is_binary", "is_single", "grid", "may_miss"):
        features[name] = getattr(space, name)
    for name in ("anchor", "lower", "upper", "may_change", "is_forced"):
        features[name] = getattr(box, name)
    return Grounds(box.anchor, features, box.max_free)
