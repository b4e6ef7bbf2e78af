"""Questions: what the page's interview reckons with, as numbers of sixteen bits."""

from __future__ import annotations

import base64
from collections.abc import Container
from typing import TYPE_CHECKING, Any

import numpy as np

from counterpoint.arrays import Floats, Ints
from counterpoint.result.choosing import preference
from counterpoint.result.choosing.attributes import attributes_of
from counterpoint.result.choosing.orders import best_of, knee
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
    pool = best_of(found) & ~changes_protected(found)  # what is protected is no advice
    candidates = np.array(
        [i for i in np.flatnonzero(pool).tolist() if shown is None or i + 1 in shown],
        dtype=np.int64,
    )
    if len(candidates) < 2:
        return None
    attributes = attributes_of(found, candidates)
    width = attributes.shares.shape[1]
    if width == 0:
        return None
    kept = _balanced(found, candidates, max(2, MOST_NUMBERS // width))
    n_particles = max(1, min(preference.N_PARTICLES, MOST_NUMBERS // width))
    n_aims, n_features = len(attributes.aims), len(attributes.features)
    particles = preference.draw_particles(n_aims, n_features, n_particles, SEED)
    return {
        "numbers": (candidates[kept] + 1).tolist(),
        "width": width,
        "attributes": pack_shares(attributes.shares[kept]),
        "particles": pack_shares(particles),
    }


def _balanced(found: Counterfactuals, candidates: Ints, most: int) -> Ints:
    """Return the places of at most so many of the candidates, the most balanced, in their order."""
    places = {position: place for place, position in enumerate(candidates.tolist())}
    order = [position for position in knee(found).tolist() if position in places]
    return np.array(sorted(places[position] for position in order[:most]), dtype=np.int64)


def pack_shares(shares: Floats) -> str:
    """Return numbers from 0 to 1 in base64, sixteen bits each, row by row; NaN counts as 1.

    Examples
    --------
    >>> pack_shares(np.array([[0.0, 1.0]]))
    'AAD//w=='
    """
    steps = np.rint(np.clip(np.nan_to_num(shares, nan=1.0), 0.0, 1.0) * 65535.0).astype("<u2")
    return base64.b64encode(steps.tobytes()).decode("ascii")
