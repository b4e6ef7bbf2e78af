"""What the figures of the whole result show: objectives, frequency of changes, history."""

from __future__ import annotations

import numpy as np
import pandas as pd

from counterpoint.arrays import Floats
from counterpoint.checks import check_whole
from counterpoint.problem.objectives import CHANGES, DISTANCE, GAP
from counterpoint.result.data import ResultData
from counterpoint.result.figures.frames.common import (
    MOST_SHOWN,
    Frames,
    everyone,
    is_loaded,
    names_of,
    shown,
    unique,
)

MOST_BARS = 20


def objectives_data(found: ResultData, n: int = MOST_SHOWN) -> Frames:
    """Return the objectives of the candidates, and of the row where they are known.

    Returns
    -------
    dict of str to DataFrame
        ``counterfactuals``: columns objective_0, objective_1, ... in the order of
        `found.objective_names`. ``names``: which is which.
    """
    values = np.concatenate([row_objectives(found), found.objectives])
    columns = {f"objective_{m}": values[:, m] for m in range(values.shape[1])}
    names, drawn = unique(found.objective_names), shown(found, n, "plot.objectives")
    return {
        "counterfactuals": everyone(found).assign(**columns).iloc[drawn],
        "names": pd.DataFrame({"column": list(columns), "objective": names}),
    }


def row_objectives(found: ResultData) -> Floats:
    """Return the row's own objectives (1, m); without data some are unknown, NaN."""
    if not is_loaded(found):
        problem = found.problem
        judged = problem.judge(problem.rows[:1, None], problem.row_predictions[:1, None])
        return np.asarray(judged.objectives[0])
    known = np.full((1, len(found.objective_names)), np.nan)
    known[0, [GAP, DISTANCE, CHANGES]] = found.target.gap_of(found.row_prediction), 0.0, 0.0
    return known


def frequency_data(found: ResultData, most: int = MOST_BARS) -> Frames:
    """Return how many candidates change each feature, the most often changed first.

    Returns
    -------
    dict of str to DataFrame
        ``features``: count and share of all candidates, and of those that reach the target.
    """
    check_whole("plot.frequency.most", most, 1, 1000)
    changed, names = found.changed, np.array(names_of(found), dtype=object)
    count = changed.sum(axis=0)
    order = np.argsort(-count, kind="stable")[:most]
    frame = pd.DataFrame(
        {
            "feature": names[order],
            "count": count[order],
            "share": count[order] / max(1, len(changed)),
            "count_valid": changed[found.reaches].sum(axis=0)[order],
        }
    )
    return {"features": frame.assign(order=np.arange(len(frame)))}


def history_data(found: ResultData) -> Frames:
    """Return the hypervolume after each generation.

    Returns
    -------
    dict of str to DataFrame
        ``history``: generation, evaluations, hypervolume.
    """
    history = found.history  # of the data's own kind: pandas, polars or pyarrow
    columns = {
        name: np.asarray(history[name]) for name in ("generation", "evaluations", "hypervolume")
    }
    return {"history": pd.DataFrame(columns)}
