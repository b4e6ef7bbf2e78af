"""The paper's published runs, in the folder that COUNTERPOINT_PAPER names in the environment.

The folder holds ``data`` (the datasets, one folder each) and ``runs`` (the networks with their
candidates, the rivals' rows and the hypervolumes). Nothing else reads the variable.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

VARIABLE = "COUNTERPOINT_PAPER"
NETWORKS = [
    "boston/logreg",
    "boston/neuralnet",
    "cmc/neuralnet",
    "diabetes/logreg",
    "diabetes/neuralnet",
    "kc2/logreg",
    "kc2/neuralnet",
    "tic-tac-toe/neuralnet",
]


def is_at_hand() -> bool:
    """Whether the environment names a folder of the published runs."""
    return bool(os.environ.get(VARIABLE))


def folder() -> Path:
    """Return the folder of the published runs.

    Raises
    ------
    FileNotFoundError
        If the environment names none, or one that is not there.
    """
    if not is_at_hand():
        raise FileNotFoundError(f"set {VARIABLE} to the folder of the paper's published runs.")
    named = Path(os.environ[VARIABLE])
    if not (named / "data").is_dir() or not (named / "runs").is_dir():
        raise FileNotFoundError(f"{VARIABLE} names {str(named)!r}, which has no data and runs.")
    return named


class Network:
    """One of the paper's networks: a frame in, the probability of the first class out."""

    def __init__(self, file: Path) -> None:
        spec = json.loads(file.read_text())
        self.inputs = spec["inputs"]
        self.layers = [(np.array(x["kernel"]), np.array(x["bias"])) for x in spec["layers"]]

    def __call__(self, rows: pd.DataFrame) -> np.ndarray:
        """Return the probability of each row."""
        signal = np.column_stack([self._input(rows, entry) for entry in self.inputs])
        for kernel, bias in self.layers[:-1]:
            signal = np.maximum(signal @ kernel + bias, 0.0)
        kernel, bias = self.layers[-1]
        return np.asarray(1.0 / (1.0 + np.exp(-(signal @ kernel + bias)[:, 0])))

    @staticmethod
    def _input(rows: pd.DataFrame, entry: dict[str, str]) -> np.ndarray:
        """Return one input: a min-max scaled number, or the indicator of a level."""
        column = rows[entry["feature"]]
        if "level" in entry:
            return np.asarray(column.astype(str) == entry["level"], dtype=float)
        low, high = float(entry["min"]), float(entry["max"])
        return (column.to_numpy(dtype=float) - low) / (high - low)


@dataclass(frozen=True)
class Run:
    """One published network with its data, explained rows and stored results."""

    dataset: str
    model: str
    network: Network
    train: pd.DataFrame
    rows: pd.DataFrame

    def stored(self, what: str) -> pd.DataFrame:
        """Return a stored table: candidates, peers or hypervolume; levels stay text."""
        file = folder() / "runs" / self.dataset / f"{self.model}-{what}.csv.gz"
        levels = self.train.select_dtypes("category").columns
        return pd.read_csv(file, dtype=dict.fromkeys(levels, str))

    def typed(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return the feature columns of a stored table in the data's dtypes."""
        return table[list(self.train.columns)].astype(self.train.dtypes.to_dict())


def names() -> list[str]:
    """Return the published networks at hand, as dataset/model; none if no folder is named."""
    if not is_at_hand():
        return []
    return sorted(f"{f.parent.name}/{f.stem}" for f in folder().glob("runs/*/*.json"))


def load(name: str) -> Run:
    """Load one published network; the explained rows are indexed by their published number."""
    dataset, model = name.split("/")
    schema = json.loads((folder() / "data" / dataset / "schema.json").read_text())
    levels, numbers = schema["categorical"], schema["numeric"]
    data = pd.read_csv(
        folder() / "data" / dataset / "data.csv",
        dtype=dict.fromkeys(levels, str),
        keep_default_na=False,
    ).drop(columns=schema["target"])
    data = data.astype(dict.fromkeys(numbers, float) | dict.fromkeys(levels, "category"))
    data.index += 1  # published row numbers start at 1
    rows = data.loc[schema["x_interest_rows"]]
    network = Network(folder() / "runs" / dataset / f"{model}.json")
    return Run(dataset, model, network, data.drop(index=rows.index), rows)
