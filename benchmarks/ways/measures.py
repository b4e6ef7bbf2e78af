"""Measures: recall of the minimal ways, excess of their nearest, and ways that are not minimal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.ways.answers import Answer, Told
from benchmarks.ways.brute_force import Way


def compare(ways: Sequence[Way], told: Told) -> list[dict[str, Any]]:
    """Return for each minimal way whether it was told, and how much farther its nearest is.

    A way is recalled if a set within it was told: one that is smaller works between the values
    that brute force tried. The excess is relative, and below 0 where such values are nearer.
    """
    records = []
    for features, distance in ways:
        inside = [least for own, least in told.items() if set(own) <= set(features)]
        excess = min(inside) / distance - 1.0 if inside else np.nan
        records.append({"size": len(features), "recalled": bool(inside), "excess": excess})
    return records


def minimal_sets(told: Told) -> list[frozenset[int]]:
    """Return the sets told of which no proper subset was told."""
    sets = [frozenset(features) for features in told]
    return [own for own in sets if not any(other < own for other in sets)]


def n_reducible(ways: Sequence[Way], told: Told) -> int:
    """Return how many of the minimal sets told have a proper subset that is a way."""
    known = [set(way.features) for way in ways]
    return sum(any(way < own for way in known) for own in minimal_sets(told))


def recall(records: pd.DataFrame, *sizes: int) -> float:
    """Return the share of minimal ways of these sizes that were told; NaN if there are none."""
    chosen = records["recalled"][records["size"].isin(sizes)]
    return float(chosen.mean()) if len(chosen) else float("nan")


def summarize(ways: Sequence[Sequence[Way]], given: Sequence[Answer]) -> dict[str, Any]:
    """Return one method's measures over the rows of one subject, all ways of a cell pooled."""
    pairs = list(zip(ways, given, strict=True))
    records = pd.DataFrame(
        [record for own, answer in pairs for record in compare(own, answer.told)],
        columns=["size", "recalled", "excess"],
    )
    excess = records["excess"].dropna().to_numpy(dtype=float)
    n_sets = sum(len(minimal_sets(answer.told)) for answer in given)
    reducible = sum(n_reducible(own, answer.told) for own, answer in pairs)
    return {
        "rows": len(given),
        **{f"ways{n}": float((records["size"] == n).sum() / len(given)) for n in (1, 2, 3)},
        "recall2": recall(records, 1, 2),
        "recall only 3": recall(records, 3),
        "recall3": recall(records, 1, 2, 3),
        "excess": float(np.median(excess)) if len(excess) else np.nan,
        "excess90": float(np.quantile(excess, 0.9)) if len(excess) else np.nan,
        "told": n_sets / len(given),
        "reducible": reducible / n_sets if n_sets else np.nan,
        "seconds": float(np.mean([answer.seconds for answer in given])),
        "failed": sum(bool(answer.failure) for answer in given),
    }
