"""The tables of the set-ups: scikit-learn's, the embedded credit data and made-up ones."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn import datasets

from counterpoint.datasets import load_credit

N_ROWS = 300  # of made-up tables


class Table(NamedTuple):
    """Observed rows, what a classifier learns of them, and what a regression model does."""

    data: pd.DataFrame
    labels: Any
    outcomes: Any
    groups: tuple[tuple[str, ...], ...] = ()  # one-hot columns of which just one is set
    partial: tuple[tuple[str, ...], ...] = ()  # or at most one


def draws(seed: int) -> Any:
    """Return a source of random numbers for made-up data."""
    return np.random.default_rng(seed)  # noqa: TID251 - made-up data, not a search


def of_values(data: pd.DataFrame, values: Any, **groups: Any) -> Table:
    """Return a table whose three classes are the thirds of what is to be learned."""
    values = np.asarray(values, dtype=np.float64)
    places = np.searchsorted(np.quantile(values, [1 / 3, 2 / 3]), values)
    return Table(data, np.array(["low", "mid", "high"])[places], values, **groups)


def credit() -> Table:
    """Return the embedded credit data: whole numbers and levels, two classes."""
    data, risk = load_credit()
    return Table(data, risk.to_numpy(str), data["credit_amount"].to_numpy(float))


def public(name: str) -> Table:
    """Return one of scikit-learn's tables: numbers."""
    loaded = getattr(datasets, f"load_{name}")(as_frame=True)
    data = loaded.data.rename(columns=lambda column: str(column).replace(" ", "_"))
    if name == "diabetes":
        return of_values(data, loaded.target)
    names = np.array([str(each) for each in loaded.target_names])
    return Table(data, names[loaded.target], data.iloc[:, 0].to_numpy())


def onehot() -> Table:
    """Return numbers, a complete one-hot group and one without its first level."""
    rng = draws(1)
    jobs, homes = rng.integers(0, 4, N_ROWS), rng.integers(0, 3, N_ROWS)
    data = pd.DataFrame({"age": rng.integers(18, 80, N_ROWS)})
    data["income"] = rng.gamma(3.0, 9.0, N_ROWS).round(1)
    job = tuple(f"job_type_{level}" for level in ("clerk", "nurse", "smith", "none"))
    home = tuple(f"job_state_{level}" for level in ("rent", "own"))
    for k, column in enumerate(job):
        data[column] = (jobs == k).astype(np.int64)
    for k, column in enumerate(home):
        data[column] = (homes == k + 1).astype(np.int64)
    values = data["income"] / 9 + (jobs == 1) * 2.0 - (jobs == 3) + homes + rng.normal(size=N_ROWS)
    return of_values(data, values, groups=(job,), partial=(home,))


def missing() -> Table:
    """Return numbers and levels that are missing here and there."""
    rng = draws(2)
    data = pd.DataFrame({"age": rng.integers(18, 80, N_ROWS).astype(float)})
    data["income"] = rng.gamma(3.0, 9.0, N_ROWS).round(1)
    data["debt"] = rng.normal(5.0, 2.0, N_ROWS).round(2)
    job = rng.choice(["clerk", "nurse", "smith"], N_ROWS)
    values = data["income"] / 9 - data["debt"] + 2.0 * (job == "nurse") + rng.normal(size=N_ROWS)
    data["job"] = pd.Categorical(job)
    for column, share in (("income", 0.2), ("debt", 0.1), ("job", 0.1)):
        data.loc[rng.random(N_ROWS) < share, column] = None
    return of_values(data, values)


def dated() -> Table:
    """Return dates, yes and no, ordered levels and numbers."""
    rng = draws(3)
    days = rng.integers(0, 2000, N_ROWS)
    data = pd.DataFrame({"since": pd.Timestamp("2018-01-01") + pd.to_timedelta(days, unit="D")})
    data["owns"] = rng.random(N_ROWS) < 0.4
    grades = ["lo", "mid", "hi"]
    data["grade"] = pd.Categorical(rng.choice(grades, N_ROWS), grades, ordered=True)
    data["amount"] = rng.gamma(3.0, 900.0, N_ROWS).round(2)
    values = data["amount"] / 900 - days / 900 + 2.0 * data["owns"] + data["grade"].cat.codes
    return of_values(data, values)


def wide() -> Table:
    """Return 60 numbers, half of them of single precision."""
    rng = draws(4)
    cells = rng.normal(size=(N_ROWS, 60)).round(3)
    data = pd.DataFrame(cells, columns=[f"x{j}" for j in range(60)])
    data = data.astype({f"x{j}": np.float32 for j in range(30, 60)})
    return of_values(data, cells[:, :12].sum(axis=1) + 0.5 * cells[:, 30:40].sum(axis=1))


def fine() -> Table:
    """Return numbers of six decimals in single precision and whole numbers of 16 bits."""
    rng = draws(5)
    data = pd.DataFrame({c: rng.normal(0.0, 3.0, N_ROWS).round(6) for c in "pqrs"})
    data = data.astype({"p": np.float32, "q": np.float32})
    data["n"] = rng.integers(-9, 10, N_ROWS).astype(np.int16)
    return of_values(data, data["p"] - data["q"] + data["r"] + data["n"] / 5)


MADE_UP: dict[str, Callable[[], Table]] = {
    "credit": credit,
    "one-hot": onehot,
    "missing": missing,
    "dated": dated,
    "wide": wide,
    "fine": fine,
}


@cache
def load(name: str) -> Table:
    """Return a table by its name."""
    return MADE_UP[name]() if name in MADE_UP else public(name)
