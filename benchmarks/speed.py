"""Where the time of a search goes: the model's part, ours, and their ratio, in one run.

    python -m benchmarks.speed

Uses the paper's diabetes network where the published runs lie beside the repository, else a random
network of the same size on data of the same shape. Machines differ and are noisy: compare the
columns of one run, not runs.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

import counterpoint as cp
from benchmarks import published

SEARCHES = {"paper": cp.Search.paper("mocmod"), "default": cp.Search(evaluations=3520)}
N_TOGETHER = 100
REPEATS = 5


class Timed:
    """A model that adds up the time spent in it."""

    def __init__(self, model: Callable[[pd.DataFrame], Any]) -> None:
        self.model, self.seconds = model, 0.0

    def __call__(self, rows: pd.DataFrame) -> Any:
        """Score the rows, on the clock."""
        start = time.perf_counter()
        scores = self.model(rows)
        self.seconds += time.perf_counter() - start
        return scores


class RandomNetwork:
    """One hidden layer of 32 units with fixed random weights."""

    def __init__(self, data: pd.DataFrame) -> None:
        rng = np.random.default_rng(0)  # noqa: TID251 - a stand-in for data, not a search
        self.low, self.high = data.min().to_numpy(), data.max().to_numpy()
        self.kernel, self.out = rng.normal(size=(data.shape[1], 32)), rng.normal(size=32)

    def __call__(self, rows: pd.DataFrame) -> Any:
        """Return a probability per row."""
        hidden = np.maximum((rows.to_numpy() - self.low) / (self.high - self.low) @ self.kernel, 0)
        return 1.0 / (1.0 + np.exp(-(hidden @ self.out) / 3.0))


class DiabetesNetwork:
    """The paper's diabetes network on a frame of eight floats, without per-column overhead."""

    def __init__(self, network: published.Network) -> None:
        self.low = np.array([float(entry["min"]) for entry in network.inputs])
        self.width = np.array([float(entry["max"]) for entry in network.inputs]) - self.low
        self.layers = network.layers

    def __call__(self, rows: pd.DataFrame) -> Any:
        """Return a probability per row."""
        signal = (rows.to_numpy() - self.low) / self.width
        for kernel, bias in self.layers[:-1]:
            signal = np.maximum(signal @ kernel + bias, 0.0)
        kernel, bias = self.layers[-1]
        return 1.0 / (1.0 + np.exp(-(signal @ kernel + bias)[:, 0]))


def subject() -> tuple[Callable[[pd.DataFrame], Any], pd.DataFrame]:
    """Return the model and the data to measure on."""
    if "diabetes/neuralnet" in published.names():
        run = published.load("diabetes/neuralnet")
        return DiabetesNetwork(run.network), run.train
    rng = np.random.default_rng(1)  # noqa: TID251
    data = pd.DataFrame(
        rng.gamma(2.0, 20.0, (758, 8)).round(1), columns=[f"x{j}" for j in range(8)]
    )
    return RandomNetwork(data), data


def measure(label: str, work: Callable[[], Any], model: Timed, n: int) -> None:
    """Print total, model and own milliseconds per row, the best of several repeats."""
    best = (float("inf"), 0.0)
    for _ in range(REPEATS):
        model.seconds, start = 0.0, time.perf_counter()
        work()
        best = min(best, (time.perf_counter() - start, model.seconds))
    total, inside = (1000.0 * part / n for part in best)
    print(
        f"{label:30} total {total:7.2f} ms/row   model {inside:6.2f}   "
        f"own {total - inside:6.2f}   total / model {total / inside:5.1f}"
    )


def main() -> None:
    """Measure fitting, one row, many rows, and the first call of a fresh process."""
    network, data = subject()
    model = Timed(network)
    explainer = cp.Explainer(model, data, precision="full")
    start = time.perf_counter()
    _ = explainer.observed.conditional
    print(f"conditional sampler of {data.shape[1]} features: {time.perf_counter() - start:.2f} s")
    rows = data.iloc[:N_TOGETHER]
    for name, search in SEARCHES.items():
        one = partial(explainer.explain, rows.iloc[[0]], "opposite", search=search)
        many = partial(explainer.explain_many, rows, "opposite", search=search)
        one()  # loads or compiles the kernels
        measure(f"{name}, 1 row", one, model, 1)
        measure(f"{name}, {len(rows)} rows", many, model, len(rows))
        measure(f"{name}, {len(rows)} rows, 2 workers", partial(many, workers=2), model, len(rows))
    start = time.perf_counter()
    subprocess.run([sys.executable, "-m", "benchmarks.speed", "--first"], check=True)
    print(f"fresh process, imports to first result: {time.perf_counter() - start:.2f} s")


def first_result() -> None:
    """Explain one row and leave: what a fresh process pays."""
    network, data = subject()
    cp.Explainer(network, data, precision="full").explain(data.iloc[[0]], "opposite")


if __name__ == "__main__":
    first_result() if "--first" in sys.argv else main()
