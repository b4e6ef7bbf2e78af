"""Asking: every returned row alone, in one frame, after a file and after a table of text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import counterpoint as cp
from benchmarks.validity.setups import Trial, in_form, taken
from benchmarks.validity.tables import load

WAYS = ("alone", "in one frame", "saved and loaded", "to_csv", "limits", "grid")
PER_ROUND = 6  # rows that are explained at a time
MOST_DECIMALS = 12  # numbers of more are taken for reals, which have no grid
RULES: dict[str, Callable[[pd.DataFrame, pd.Series[Any]], Any]] = {
    "age increases": lambda rows, row: rows["age"] >= row["age"],
    "duration in 6..48": lambda rows, _: rows["duration"].between(6, 48),
    "credit_amount <= 400 * duration": lambda rows, _: (
        rows["credit_amount"] <= 400 * rows["duration"]
    ),
    "at most 2 changes": lambda rows, row: changed(rows, row, ()).sum(axis=1) <= 2,
}


def explained(trial: Trial, number: int) -> Iterator[tuple[Any, cp.Counterfactuals]]:
    """Explain some rows; each round takes other rows, or other seeds once they are all taken."""
    setup, n = trial.setup, len(trial.rows)
    rows = taken(trial.rows, [(number * PER_ROUND + i) % n for i in range(PER_ROUND)])
    ask, more = trial.explainer, {"seed": number, **setup.limits}
    if setup.form == "dict":
        records = [rows.iloc[i].to_dict() for i in range(PER_ROUND)]
        found = [ask.explain(record, trial.target, setup.search, **more) for record in records]
    else:
        found = ask.explain_many(rows, trial.target, setup.search, **more)
    return zip((rows[i : i + 1] for i in range(PER_ROUND)), found, strict=True)


def tally(trial: Trial, row: Any, found: cp.Counterfactuals, folder: Path) -> Counter[str]:
    """Count the rows of one result, and for each way of asking those that are not valid."""
    rows = found.valid().to_rows()
    counts = Counter(rows=len(rows), explained=1)
    if not len(rows):
        return counts
    answer, own = trial.model.answer, trial.model.answer(row)[0]
    alone = np.concatenate([np.asarray(answer(rows[i : i + 1])) for i in range(len(rows))])
    found.save(folder / "found.json")
    loaded = cp.load(folder / "found.json").valid().to_rows()
    found.to_csv(folder / "found.csv")
    read = read_back(trial, folder / "found.csv")
    told = (alone, answer(rows), answer(loaded), answer(read))
    for way, answers in zip(WAYS, told, strict=False):
        is_wrong = ~trial.reaches(np.asarray(answers), own)
        counts[way] = int(is_wrong.sum()) + abs(len(is_wrong) - len(rows))
    frame, first = as_frame(trial, rows), as_frame(trial, row).iloc[0]
    counts["limits"] = int((~keeps_limits(trial, frame, first)).sum())
    counts["grid"] = int((~is_on_grid(trial, frame, first)).sum())
    return counts


def as_frame(trial: Trial, rows: Any) -> pd.DataFrame:
    """Return rows of any form as pandas has them, with the table's names."""
    if isinstance(rows, np.ndarray):
        return pd.DataFrame(rows, columns=trial.table.data.columns)
    return rows if isinstance(rows, pd.DataFrame) else rows.to_pandas()


def read_back(trial: Trial, path: Path) -> Any:
    """Return the rows of a file of text with the table's dtypes, as their user would read them."""
    data = trial.table.data
    is_date = data.dtypes.map(lambda dtype: dtype.kind == "M")
    dtypes = {str(name): dtype for name, dtype in data.dtypes[~is_date].items()}
    if trial.setup.form == "numpy":
        dtypes = {str(j): dtype for j, dtype in enumerate(data.dtypes)}
    read: pd.DataFrame = pd.read_csv(path, dtype=dtypes, parse_dates=list(data.columns[is_date]))
    rows = read.iloc[:, : len(data.columns)]
    return in_form(rows.set_axis(data.columns, axis=1), trial.setup.form)


def changed(rows: pd.DataFrame, row: pd.Series[Any], groups: Any) -> pd.DataFrame:
    """Return which features were changed; the columns of a group are one."""
    is_changed = pd.DataFrame(
        {c: (rows[c] != row[c]) & ~(rows[c].isna() & pd.isna(row[c])) for c in map(str, rows)}
    )
    for group in groups:
        is_changed[group[0]] = is_changed[list(group)].any(axis=1)
        is_changed = is_changed.drop(columns=list(group[1:]))
    return is_changed


def keeps_limits(trial: Trial, rows: pd.DataFrame, row: pd.Series[Any]) -> Any:
    """Return which rows keep what was demanded, and what the data say of themselves."""
    table, limits = trial.table, trial.setup.limits
    is_changed = changed(rows, row, table.groups + table.partial)
    kept = is_changed.any(axis=1)
    fixed = set(limits.get("fixed", ()))
    if "vary" in limits:
        fixed |= set(is_changed) - set(limits["vary"])
    kept &= ~is_changed[sorted(fixed)].any(axis=1)
    kept &= is_changed.sum(axis=1) <= limits.get("max_changed", len(rows.columns))
    for rule in limits.get("constraints", ()):
        kept &= RULES[rule](rows, row)
    for group in table.groups:
        kept &= rows[list(group)].sum(axis=1) == 1
    for group in table.partial:
        kept &= rows[list(group)].sum(axis=1) <= 1
    for name in map(str, table.data):
        kept &= is_known(trial, rows[name], row[name])
    return kept


def is_known(trial: Trial, values: pd.Series[Any], own: Any) -> Any:
    """Return which values of a column are the row's own, or within what was observed or allowed."""
    observed = trial.table.data[values.name]
    may_miss = trial.setup.options.get("allow_missing", False) and observed.isna().any()
    is_own = (values == own) | (values.isna() & (pd.isna(own) | may_miss))
    if observed.dtype.kind in "fiuM":
        low, high = trial.setup.limits.get("ranges", {}).get(
            values.name, (observed.min(), observed.max())
        )
        return is_own | values.between(low, high)
    return is_own | values.isin(observed.dropna().unique())


@cache
def observed_decimals(table: str) -> dict[str, int]:
    """Return how many decimals each column of numbers is written with, where they are few."""
    data = load(table).data.select_dtypes([np.float32, np.float64])
    most = {str(name): max(map(n_decimals, data[name].dropna())) for name in data}
    return {name: n for name, n in most.items() if n <= MOST_DECIMALS}


def n_decimals(value: Any) -> int:
    """Return how many decimals a number needs, in its own precision."""
    text = np.format_float_positional(value, unique=True, trim="-")
    return len(text.partition(".")[2])


def is_on_grid(trial: Trial, rows: pd.DataFrame, row: pd.Series[Any]) -> Any:
    """Return which rows have only as many decimals where they were changed as is declared."""
    setup, on_grid = trial.setup, np.ones(len(rows), dtype=bool)
    if setup.form != "numpy":
        on_grid &= bool((rows.dtypes == trial.table.data.dtypes).all())
    if setup.options.get("precision") == "full":
        return on_grid
    for name, most in (observed_decimals(setup.table) | setup.decimals).items():
        values = rows[name].to_numpy()
        needed = np.array([0 if np.isnan(value) else n_decimals(value) for value in values])
        on_grid &= (needed <= most) | (values == row[name])
    return on_grid
