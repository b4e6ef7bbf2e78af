"""Measures: recall of the minimal ways, excess of their nearest, and ways that are not minimal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.ways.answers import Answer, Told
from benchmarks.ways.brute_force import Way


def compare(ways: Sequence[Way], told: Told) -> list[dict[str, Any]]:
    """Return for each minimal way whether it was told, and how much farther its nearest is.

    A way is recalled if a set within it was told: one that is smaller works between the values
    that brute force tried. The excess is relative, to the nearest on the grid and off it; it is
    below 0 where the method is nearer.
    """
    records = []
    for features, distance, finer in ways:
        inside = [least for own, least in told.items() if set(own) <= set(features)]
        least = min(inside, default=np.nan)
        record = {"size": len(features), "recalled": bool(inside)}
        records.append(record | {"excess": least / distance - 1.0, "finer": least / finer - 1.0})
    return records


def minimal_sets(told: Told) -> list[frozenset[int]]:
    """Return the sets told of which no proper subset was told."""
    sets = [frozenset(features) for features in told]
    return [own for own in sets if not any(other < own for other in sets)]


def n_reducible(ways: Sequence[Way], told: Told) -> int:
    """Return how many of the minimal sets told have a proper subset that is a way."""
    known = [set(way.features) for way in ways]
    return sum(any(way < own for way in known) for own in minimal_sets(told))


def summarize(ways: Sequence[Sequence[Way]], given: Sequence[Answer]) -> dict[str, Any]:
    """Return one method's measures over the rows of one subject: sums, which can be pooled."""
    pairs = list(zip(ways, given, strict=True))
    records = [record for own, answer in pairs for record in compare(own, answer.told)]
    told = [record for record in records if record["recalled"]]
    return {
        "rows": len(given),
        "ways": [sum(r["size"] == n for r in records) for n in (1, 2, 3)],
        "recalled": [sum(r["size"] == n for r in told) for n in (1, 2, 3)],
        "excess": [r["excess"] for r in told],
        "finer": [r["finer"] for r in told],
        "told": sum(len(minimal_sets(answer.told)) for answer in given),
        "reducible": sum(n_reducible(own, answer.told) for own, answer in pairs),
        "seconds": float(sum(answer.seconds for answer in given)),
        "failures": [answer.failure for answer in given if answer.failure],
    }


def pooled(cells: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the measures of several cells as one, every way counting alike."""
    total = {key: sum((cell[key] for cell in cells), start=type(cells[0][key])()) for key in SUMS}
    counts = {key: np.sum([cell[key] for cell in cells], axis=0).tolist() for key in COUNTS}
    return total | counts


SUMS = ("rows", "excess", "finer", "told", "reducible", "seconds", "failures")
COUNTS = ("ways", "recalled", "ours")


def recall(cell: Mapping[str, Any], *sizes: int, by: str = "recalled") -> float:
    """Return the share of minimal ways of these sizes that were told; NaN if there are none."""
    n = sum(cell["ways"][size - 1] for size in sizes)
    return sum(cell[by][size - 1] for size in sizes) / n if n and cell[by] else float("nan")
