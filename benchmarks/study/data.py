"""Data: the paper's ten benchmark and six tuning datasets, and two that need no file.

A dataset comes from a directory (`data.csv` and `schema.json` in a folder of its name), from OpenML
by its task (`benchmarks.study.openml`), or with the packages: the embedded credit data and
scikit-learn's breast cancer data. Classes are 1 for the first class of the data's own order and 0
for the other, as in the published runs. The explained rows are left out of what models are fitted
to, and keep their number, counted from 1.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer

from benchmarks import published
from counterpoint.datasets import load_credit
from counterpoint.streams import Stage, row_keys, uniforms

N_EXPLAINED = 10
TASKS = {  # OpenML, Tables 1 and 5 of the paper
    "benchmark": {
        "boston": 3718,
        "cmc": 3846,
        "diabetes": 145976,
        "ilpd": 9971,
        "kc2": 3913,
        "kr-vs-kp": 3,
        "no2": 3749,
        "pc1": 3918,
        "plasma_retinol": 3778,
        "tic-tac-toe": 145804,
    },
    "tuning": {
        "tae": 3818,
        "kc1": 3917,
        "breast-cancer": 52945,
        "mammography": 3483,
        "nursery": 3822,
        "abalone": 3586,
    },
}
RATES = {"tic-tac-toe": 2, "diabetes": 2, "ilpd": 3, "kc2": 3, "pc1": 5}  # of the rarer class
EMBEDDED = ("credit", "wisconsin")


@dataclass(frozen=True, eq=False)
class Dataset:
    """One dataset.

    Attributes
    ----------
    name : str
        The paper's name of it.
    data : DataFrame
        The rows models are fitted to: float64 and categories.
    classes : Series of 0 and 1
        Their classes; 1 is the first class.
    rows : DataFrame
        The rows to explain, indexed by their number in the whole table, from 1.
    rate : int
        How often a row of the rarer class is used in fitting.
    """

    name: str
    data: pd.DataFrame
    classes: pd.Series[Any]
    rows: pd.DataFrame
    rate: int = 1

    @classmethod
    def split(
        cls, name: str, table: pd.DataFrame, classes: pd.Series[Any], explained: Sequence[int]
    ) -> Dataset:
        """Take the explained rows, numbered from 1, out of a table."""
        numbers = pd.RangeIndex(1, len(table) + 1)
        table, classes = table.set_axis(numbers), classes.set_axis(numbers).astype(int)
        left_out = list(explained)
        return cls(
            name,
            table.drop(index=left_out),
            classes.drop(index=left_out),
            table.loc[left_out],
            RATES.get(name, 1),
        )

    @property
    def levels(self) -> list[str]:
        """The columns of levels."""
        return list(self.data.select_dtypes("category").columns)

    @property
    def numbers(self) -> list[str]:
        """The columns of numbers."""
        return [column for column in self.data.columns if column not in self.levels]


def names(study: str, folder: Path | None) -> list[str]:
    """Return the datasets of "benchmark", "tuning" or "embedded"; those at hand if in a folder."""
    if study == "embedded":
        return list(EMBEDDED)
    if study not in TASKS:
        raise ValueError(f"study must be 'benchmark', 'tuning' or 'embedded', got {study!r}.")
    return [n for n in TASKS[study] if folder is None or (folder / n / "data.csv").exists()]


def default_folder() -> Path | None:
    """Return the folder of the paper's data, if the environment names one."""
    return published.folder() / "data" if published.is_at_hand() else None


def load(name: str, folder: Path | None = None, home: Path | None = None) -> Dataset:
    """Return a dataset: embedded, or from a folder, or else from OpenML with its cache in `home`.

    Raises
    ------
    ValueError
        If no dataset has this name.
    """
    if name in EMBEDDED:
        return _embedded(name)
    tasks = TASKS["benchmark"] | TASKS["tuning"]
    if name not in tasks:
        known = sorted([*tasks, *EMBEDDED])
        raise ValueError(f"load: there is no dataset {name!r}; those of the study are {known}.")
    if folder is not None:
        return from_folder(name, folder)
    from benchmarks.study import openml

    table, classes = openml.fetch(tasks[name], home)
    return Dataset.split(name, table, classes, drawn_rows(table))


def from_folder(name: str, folder: Path) -> Dataset:
    """Return a dataset from `data.csv` and `schema.json` in a folder of its name."""
    place = folder / name
    if not (place / "schema.json").exists():
        raise FileNotFoundError(
            f"load: there is no {name}/schema.json in {str(folder)!r}; give the folder that holds "
            "one folder per dataset, or none to ask OpenML."
        )
    schema = json.loads((place / "schema.json").read_text())
    levels, numbers = schema["categorical"], schema["numeric"]
    text = dict.fromkeys(levels, str)
    table = pd.read_csv(place / "data.csv", dtype=text, keep_default_na=False)
    classes = table.pop(schema["target"])
    table = table.astype(dict.fromkeys(numbers, float) | dict.fromkeys(levels, "category"))
    return Dataset.split(name, table, classes, schema["x_interest_rows"])


def drawn_rows(table: pd.DataFrame, n: int = N_EXPLAINED) -> list[int]:
    """Return the numbers, from 1, of rows drawn at random; the same for the same shape."""
    shape = np.array([table.shape], dtype=np.float64)
    order = uniforms(row_keys(0, shape), Stage.NEIGHBOUR_VALUE, 0, len(table), 1)[0, :, 0]
    return [int(place) + 1 for place in np.argsort(order, kind="stable")[:n]]


def _embedded(name: str) -> Dataset:
    """Return a dataset that comes with a package."""
    if name == "credit":
        table, risk = load_credit()
        classes = (risk == "good").astype(int)
        numbers = list(table.select_dtypes("number").columns)
        table = table.astype(dict.fromkeys(numbers, float))
    else:
        table, classes = load_breast_cancer(return_X_y=True, as_frame=True)
        table.columns = [column.replace(" ", "_") for column in table.columns]
    return Dataset.split(name, table, classes, drawn_rows(table))
