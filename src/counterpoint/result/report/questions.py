"""Questions: what the page's interview reckons with, as numbers of sixteen bits."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import numpy as np

from counterpoint.arrays import Floats
from counterpoint.result.choosing import preference
from counterpoint.result.choosing.attributes import attributes_of
from counterpoint.result.choosing.orders import knee

if TYPE_CHECKING:
    from counterpoint.result.counterfactuals import Counterfactuals

MOST_NUMBERS = 80_000  # of attributes and of particles each: 160 kB as they are written
SEED = 0


def write_questions(found: Counterfactuals) -> dict[str, Any] | None:
    """Return the candidates of the interview with their attributes, and the particles.

    Where a result is so large that the page would be, the most balanced candidates are asked about.

    Returns
    -------
    dict or None
        None if there is nothing to choose between.
    """
    if len(found) < 2:
        return None
    attributes = attributes_of(found)
    n, width = attributes.values.shape
    if n < 2 or width == 0:
        return None
    kept = _balanced(found, attributes.candidates, max(2, MOST_NUMBERS // width))
    n_particles = min(preference.N_PARTICLES, MOST_NUMBERS // width)
    particles = preference.draw_particles(
        len(attributes.aims), len(attributes.features), n_particles, SEED
    )
    return {
        "numbers": (attributes.candidates[kept] + 1).tolist(),
        "width": width,
        "attributes": pack_shares(attributes.values[kept]),
        "particles": pack_shares(particles),
    }


def _balanced(found: Counterfactuals, candidates: Any, most: int) -> Any:
    """Return the places of at most so many of the candidates, in their order."""
    if len(candidates) <= most:
        return np.arange(len(candidates))
    order = knee(found)
    best = order[np.isin(order, candidates)][:most]
    return np.flatnonzero(np.isin(candidates, best))


def pack_shares(shares: Floats) -> str:
    """Return numbers from 0 to 1 in base64, sixteen bits each, row by row.

    Examples
    --------
    >>> pack_shares(np.array([[0.0, 1.0]]))
    'AAD//w=='
    """
    steps = np.rint(np.clip(shares, 0.0, 1.0) * 65535.0).astype("<u2")
    return base64.b64encode(steps.tobytes()).decode("ascii")
