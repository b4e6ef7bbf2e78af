"""Questions: what the page's interview reckons with, as numbers of sixteen bits."""

from __future__ import annotations

import base64
from collections.abc import Container
from typing import TYPE_CHECKING, Any

import numpy as np

from counterpoint.arrays import Floats, Ints
from counterpoint.result.choosing import preference
from counterpoint.result.choosing.attributes import attributes_of
from counterpoint.result.choosing.orders import knee
from counterpoint.result.wording.sentences import changes_protected

if TYPE_CHECKING:
    from counterpoint.result.counterfactuals import Counterfactuals

MOST_NUMBERS = 40_000  # of attributes and of particles each: 107 kB as they are written
SEED = 0


def write_questions(
    found: Counterfactuals, shown: Container[int] | None = None
) -> dict[str, Any] | None:
    """Return the candidates of the interview with their attributes, and the particles.

    Parameters
    ----------
    found : Counterfactuals
        The result.
    shown : collection of int, optional
        The numbers of the counterfactuals that the page has; None for all.

    Returns
    -------
    dict or None
        None if there is nothing to choose between. Of more candidates than a page should hold, the
        most balanced.
    """
    if len(found) < 2:
        return None
    attributes = attributes_of(found)
    width = attributes.values.shape[1]
    if width == 0:
        return None
    kept = _balanced(found, attributes.candidates, MOST_NUMBERS // width, shown)
    if len(kept) < 2:
        return None
    n_particles = max(1, min(preference.N_PARTICLES, MOST_NUMBERS // width))
    n_aims, n_features = len(attributes.aims), len(attributes.features)
    particles = preference.draw_particles(n_aims, n_features, n_particles, SEED)
    return {
        "numbers": (attributes.candidates[kept] + 1).tolist(),
        "width": width,
        "attributes": pack_shares(attributes.values[kept]),
        "particles": pack_shares(particles),
    }


def _balanced(
    found: Counterfactuals, candidates: Ints, most: int, shown: Container[int] | None
) -> Ints:
    """Return the places of at most so many of the candidates that are shown, in their order."""
    places = {int(position): place for place, position in enumerate(candidates)}
    is_protected = changes_protected(found)  # which is nothing to be advised
    order = [
        int(i)
        for i in knee(found)
        if int(i) in places and not is_protected[i] and (shown is None or int(i) + 1 in shown)
    ]
    return np.array(sorted(places[position] for position in order[:most]), dtype=np.int64)


def pack_shares(shares: Floats) -> str:
    """Return numbers from 0 to 1 in base64, sixteen bits each, row by row.

    Examples
    --------
    >>> pack_shares(np.array([[0.0, 1.0]]))
    'AAD//w=='
    """
    steps = np.rint(np.clip(shares, 0.0, 1.0) * 65535.0).astype("<u2")
    return base64.b64encode(steps.tobytes()).decode("ascii")
