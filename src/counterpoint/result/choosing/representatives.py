"""Representatives: five counterfactuals with names, each the best in a respect readers ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterpoint.result.choosing import orders

if TYPE_CHECKING:
    from counterpoint.result.counterfactuals import Counterfactuals

NAMES = ("closest", "fewest changes", "most typical", "safest", "balanced")


def representatives(found: Counterfactuals) -> dict[str, int]:
    """Return the positions of the named representatives; empty if there is no counterfactual.

    Several names may stand for one counterfactual. See `Counterfactuals.representatives`.
    """
    if len(found) == 0:
        return {}
    ways = (
        orders.closest(found),
        orders.fewest(found),
        orders.plausible(found),
        orders.in_order(found, -orders.margins(found)),
        orders.knee(found),
    )
    return {name: int(order[0]) for name, order in zip(NAMES, ways, strict=True)}
