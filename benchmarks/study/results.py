"""Results: the stored cells as one frame, and the sets of points measures work on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.peers.scoring import hypervolume
from benchmarks.peers.subjects import Floats
from benchmarks.study import measures
from benchmarks.study.coverage import Coverage
from benchmarks.study.store import Store

OURS = "counterpoint"
SETS = (OURS, "mocmod", "moccond", "mocice", "moc", "random")  # methods that return Pareto sets
KEYS = ["dataset", "model", "row"]


def read(store: Path) -> pd.DataFrame:
    """Return one row per finished cell, with its objectives as an array (n, 4).

    Columns `all`, `ten` hold the whole set and the ten of it (of other methods what is not
    dominated); `n`, `n_valid` count the ten; `volume` and `volume_ten` are hypervolumes as shares
    of the box of the reference point.
    """
    frame = pd.DataFrame(
        [cell._asdict() | _measured(outcome) for cell, outcome in Store(store)],
        columns=[*KEYS, "method", *_measured_names()],
    )
    return frame.sort_values([*KEYS, "method"], ignore_index=True)


def _measured_names() -> list[str]:
    """Return the columns of what is measured."""
    return [
        *("status", "message", "seconds", "columns", "rows", "history", "all", "ten"),
        *("n", "n_valid", "volume", "volume_ten", "reference"),
    ]


def _measured(outcome: Any) -> dict[str, Any]:
    """Return what the tables need of an outcome."""
    points = np.array(outcome.objectives, dtype=np.float64).reshape(-1, 4)
    reference = np.array(outcome.reference or [1.0] * 4)
    ten = points[outcome.chosen]
    keep = measures.nondominated(ten)
    ten, rows = ten[keep], [row for row, is_kept in zip(outcome.rows, keep, strict=True) if is_kept]
    has_box = bool((reference > 0).all())  # not so of a row on the boundary
    return {
        "status": outcome.status,
        "message": outcome.message,
        "seconds": outcome.seconds,
        "columns": outcome.columns,
        "rows": rows,
        "history": outcome.history,
        "all": points,
        "ten": ten,
        "n": len(ten),
        "n_valid": int((ten[:, 0] <= 0).sum()),
        "volume": hypervolume(points, reference) if has_box else 0.0,
        "volume_ten": hypervolume(ten, reference) if has_box else 0.0,
        "reference": reference,
    }


def complete(found: pd.DataFrame) -> pd.DataFrame:
    """Return the cells of rows every method was tried on, so that means are over equal rows."""
    tried = found.groupby(KEYS)["method"].transform("nunique")
    return found[tried == found["method"].nunique()]


def paired(results: pd.DataFrame, of: str, by: str, what: str = "ten") -> pd.DataFrame:
    """Return the rows both methods were run on, with the points of one and of the other.

    Columns are dataset, model, row, `others` (points of method `of`) and `ours` (of `by`).
    """
    first = results[results["method"] == of].set_index(KEYS)["ten"].rename("others")
    second = results[results["method"] == by].set_index(KEYS)[what].rename("ours")
    return pd.concat([first, second], axis=1, join="inner").reset_index()


def rate(pairs: pd.DataFrame) -> Coverage:
    """Return the coverage over the pairs of a frame from `paired`."""
    return measures.coverage(list(zip(pairs["others"], pairs["ours"], strict=True)))


def histories(results: pd.DataFrame) -> tuple[pd.DataFrame, Floats]:
    """Return the rows all searches were run on, and their hypervolumes (rows, searches, steps).

    The searches are `SETS` without our default, in the order of the paper, then our default.
    """
    from benchmarks.study.paper import VARIANTS

    wanted = [*VARIANTS, OURS]
    tables = [
        results[(results["method"] == m) & (results["history"].str.len() > 0)].set_index(KEYS)
        for m in wanted
    ]
    common = tables[0].index
    for table in tables[1:]:
        common = common.intersection(table.index)
    keys = common.to_frame(index=False)
    volumes = [np.array(list(t.loc[common, "history"]), dtype=np.float64) for t in tables]
    if len(common) == 0:
        return keys, np.empty((0, len(wanted), 0))
    return keys, np.stack(volumes, axis=1)
