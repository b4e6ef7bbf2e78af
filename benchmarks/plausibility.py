"""Which follows the true density better: an adversarial forest's likelihood, or nearness.

    python -m benchmarks.plausibility [--rows 1000] [--seeds 10]

Tables are drawn from distributions whose density is known, another one for each seed: the weights,
correlations and networks are drawn too. Both measures learn from the same rows, with the library's
defaults, and rate other rows: "fresh" ones of the same distribution, and "candidates" such as a
search makes of them, with one to three features taken from other rows. Given is Spearman's rank
correlation with the true density, its mean over the seeds and their standard deviation. "Score" is
the mean `implausibility` by the forest of fresh rows: 0.5 if percentiles of the data are what they
say.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

import counterpoint as cp
from counterpoint.arrays import Floats

N_RATED = 1000  # rows of each sort that are rated
LEVELS = np.array(["a", "b", "c", "d"], dtype=object)
Rng = np.random.Generator  # noqa: TID251 - made-up data, not a search


class World(NamedTuple):
    """A distribution: how rows are drawn from it, and how likely a row is."""

    draw: Callable[[int], pd.DataFrame]
    log_density: Callable[[pd.DataFrame], Floats]


def numbered(values: Floats) -> pd.DataFrame:
    """Return an array as a frame of numbers."""
    return pd.DataFrame(values, columns=[f"x{j}" for j in range(values.shape[1])])


def covariance(d: int, rng: Rng) -> Floats:
    """Return a random covariance: two hidden factors and some noise."""
    loadings = rng.normal(size=(d, 2))
    return np.asarray(loadings @ loadings.T + np.diag(rng.uniform(0.1, 0.6, d)))


def gaussian(d: int, rng: Rng) -> World:
    """Return correlated normal numbers."""
    law = stats.multivariate_normal(rng.normal(size=d), covariance(d, rng))
    return World(
        lambda n: numbered(law.rvs(n, random_state=rng)),
        lambda rows: np.asarray(law.logpdf(rows.to_numpy())),
    )


def skewed(d: int, rng: Rng) -> World:
    """Return correlated numbers with long tails to the right: logarithms are normal."""
    inner = gaussian(d, rng)
    return World(
        lambda n: numbered(np.exp(inner.draw(n).to_numpy())),
        lambda rows: (
            inner.log_density(numbered(np.log(rows.to_numpy())))
            - np.log(rows.to_numpy()).sum(axis=1)
        ),
    )


def clusters(d: int, rng: Rng) -> World:
    """Return a mixture of four normal clusters of different weight and shape."""
    laws = [
        stats.multivariate_normal(
            3.0 * rng.normal(size=d), rng.uniform(0.2, 1.0) * covariance(d, rng)
        )
        for _ in range(4)
    ]
    weights = rng.dirichlet(np.full(4, 3.0))

    def draw(n: int) -> pd.DataFrame:
        which = rng.choice(4, n, p=weights)
        points = np.stack([law.rvs(n, random_state=rng) for law in laws])
        return numbered(points[which, np.arange(n)])

    def log_density(rows: pd.DataFrame) -> Floats:
        logs = [np.log(w) + law.logpdf(rows) for w, law in zip(weights, laws, strict=True)]
        return np.asarray(np.logaddexp.reduce(logs))

    return World(draw, log_density)


def ring(rng: Rng) -> World:
    """Return points around a circle, and a level that says on which side they are, mostly."""
    spread, p_side = rng.uniform(0.05, 0.2), rng.uniform(0.8, 0.95)

    def draw(n: int) -> pd.DataFrame:
        angle, radius = rng.uniform(0, 2 * np.pi, n), np.abs(rng.normal(1.0, spread, n))
        frame = numbered(np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]))
        is_right = (frame["x0"] > 0) == (rng.random(n) < p_side)
        return frame.assign(side=pd.Categorical(np.where(is_right, "right", "left")))

    def log_density(rows: pd.DataFrame) -> Floats:
        radius = np.hypot(rows["x0"], rows["x1"])
        agrees = (rows["x0"] > 0) == (rows["side"] == "right")
        around = stats.norm.logpdf(radius, 1.0, spread) - np.log(2 * np.pi * radius)
        return np.asarray(around + np.log(np.where(agrees, p_side, 1.0 - p_side)))

    return World(draw, log_density)


class Network:
    """A random Bayesian network: half of the nodes are levels, each has up to two parents.

    A number is normal around a line in its parents, bent by a sine; a level's odds are linear in
    them. A parent that is a level counts by a random number for each level.
    """

    def __init__(self, d: int, rng: Rng) -> None:
        self.rng = rng
        self.is_level = rng.permutation(d) < d // 2
        self.parents = [rng.permutation(j)[: min(j, 2)].tolist() for j in range(d)]
        self.worth = rng.normal(size=(d, len(LEVELS)))
        self.slope = rng.normal(size=(d, 2, len(LEVELS)))
        self.spread = rng.uniform(0.2, 0.8, d)
        self.bent = rng.random(d) < 0.5

    def _signals(self, values: list[Any], j: int) -> list[Floats]:
        """Return what the parents of node j say, as numbers."""
        return [
            self.worth[k, values[k]] if self.is_level[k] else np.asarray(values[k])
            for k in self.parents[j]
        ]

    def _centre(self, values: list[Any], j: int, n: int) -> Floats:
        """Return the centre (n, levels) of node j given its parents; a number's is the first."""
        centre = np.zeros((n, len(LEVELS)))
        for slope, signal in zip(self.slope[j], self._signals(values, j), strict=False):
            bent = np.sin(2.0 * signal) if self.bent[j] else signal
            centre += bent[:, None] * slope
        return centre

    def _log_odds(self, values: list[Any], j: int, n: int) -> Floats:
        """Return the logarithm of the probability (n, levels) of each level of node j."""
        centre = self._centre(values, j, n)
        return np.asarray(centre - np.logaddexp.reduce(centre, axis=1)[:, None])

    def draw(self, n: int) -> pd.DataFrame:
        """Return n rows."""
        values: list[Any] = []
        for j, is_level in enumerate(self.is_level):
            if is_level:
                noise = self.rng.gumbel(size=(n, len(LEVELS)))
                values.append(np.argmax(self._log_odds(values, j, n) + noise, axis=1))
            else:
                noise = self.rng.normal(0.0, self.spread[j], n)
                values.append(self._centre(values, j, n)[:, 0] + noise)
        return pd.DataFrame(
            {
                f"n{j}": pd.Categorical.from_codes(value, pd.Index(LEVELS)) if is_level else value
                for j, (value, is_level) in enumerate(zip(values, self.is_level, strict=True))
            }
        )

    def log_density(self, rows: pd.DataFrame) -> Floats:
        """Return the logarithm of the density of each row."""
        n, total = len(rows), np.zeros(len(rows))
        values = [
            rows.iloc[:, j].cat.codes.to_numpy().astype(int)
            if is_level
            else rows.iloc[:, j].to_numpy()
            for j, is_level in enumerate(self.is_level)
        ]
        for j, is_level in enumerate(self.is_level):
            if is_level:
                total += self._log_odds(values, j, n)[np.arange(n), values[j]]
            else:
                centre = self._centre(values, j, n)[:, 0]
                total += stats.norm.logpdf(values[j], centre, self.spread[j])
        return total


def network(d: int, rng: Rng) -> World:
    """Return a random Bayesian network as a world."""
    drawn = Network(d, rng)
    return World(drawn.draw, drawn.log_density)


WORLDS: dict[str, Callable[[Rng], World]] = {
    "normal, 5 numbers": lambda rng: gaussian(5, rng),
    "normal, 15 numbers": lambda rng: gaussian(15, rng),
    "skewed, 5 numbers": lambda rng: skewed(5, rng),
    "four clusters, 3 numbers": lambda rng: clusters(3, rng),
    "ring, 2 numbers, 1 level": ring,
    "network, 3 numbers, 2 levels": lambda rng: network(5, rng),
    "network, 5 numbers, 5 levels": lambda rng: network(10, rng),
    "network, 10 numbers, 10 levels": lambda rng: network(20, rng),
}


def candidates(rows: pd.DataFrame, others: pd.DataFrame, rng: Rng) -> pd.DataFrame:
    """Return rows with one to three of their features taken from other rows."""
    n, d = rows.shape
    n_taken = rng.integers(1, min(3, d) + 1, n)
    is_taken = rng.permuted(np.tile(np.arange(d), (n, 1)), axis=1) < n_taken[:, None]
    mixed = rows.copy()
    for j, name in enumerate(rows.columns):
        lent = others[name].to_numpy()[rng.integers(0, len(others), n)]
        mixed[name] = (
            mixed[name].astype(object).where(~is_taken[:, j], lent).astype(rows[name].dtype)
        )
    return mixed


def nothing(rows: pd.DataFrame) -> Floats:
    """Score every row alike: no model is needed to rate plausibility."""
    return np.zeros(len(rows))


def rated(data: pd.DataFrame, seed: int) -> Callable[[pd.DataFrame], tuple[Floats, ...]]:
    """Return a function from rows to log-likelihood, minus the distance, and the forest's score."""
    forest = cp.ForestPlausibility(seed=seed)
    likely = cp.Explainer(nothing, data, precision="full", plausibility=forest)
    near = cp.Explainer(nothing, data, precision="full")
    score: Any = likely.observed.aims.plausibility
    problem = near.explain(data[:1], (0.5, 1.0), cp.WhatIf()).problem

    def rate(rows: pd.DataFrame) -> tuple[Floats, ...]:
        genomes = near.encoding.encode(rows)
        implausibility = problem.evaluate(genomes[None]).objectives[0, :, 3]
        return score.density.log_likelihood(genomes), -implausibility, score.score(genomes)

    return rate


def compare(world: World, n_rows: int, seed: int, rng: Rng) -> dict[str, float]:
    """Return the rank correlations of both measures with the density, on both sorts of rows."""
    data, fresh, others = world.draw(n_rows), world.draw(N_RATED), world.draw(N_RATED)
    rate = rated(data, seed)
    found = {"score": float(rate(fresh)[2].mean())}
    for sort, rows in (("fresh", fresh), ("candidates", candidates(fresh, others, rng))):
        density = world.log_density(rows)
        for name, measure in zip(("forest", "nearness"), rate(rows), strict=False):
            found[f"{sort}, {name}"] = float(stats.spearmanr(measure, density)[0])
    return found


def main() -> None:
    """Print a table in Markdown: one line per world, then the mean of all."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--seeds", type=int, default=10)
    options = parser.parse_args()
    sorts, names = ("fresh", "candidates"), ("forest", "nearness")
    columns = [*(f"{sort}, {name}" for sort in sorts for name in names), "score"]
    print(f"| {options.rows} rows, {options.seeds} seeds | " + " | ".join(columns) + " |")
    print("|---" * (1 + len(columns)) + "|")
    means = []
    for name, make in WORLDS.items():
        lines = []
        for seed in range(options.seeds):
            rng = np.random.default_rng([seed, 2023])  # noqa: TID251 - made-up data
            lines.append(compare(make(rng), options.rows, seed, rng))
        table = pd.DataFrame(lines)[columns]
        means.append(table.mean())
        print(
            f"| {name} | " + " | ".join(spread(table[column]) for column in columns) + " |",
            flush=True,
        )
    overall = pd.DataFrame(means).mean()
    print("| mean of all | " + " | ".join(f"{overall[column]:.2f}" for column in columns) + " |")


def spread(values: pd.Series[float]) -> str:
    """Return mean and standard deviation over the seeds."""
    return f"{values.mean():.2f} ± {values.std():.2f}"


if __name__ == "__main__":
    main()
