"""Plausibility by density: how much of the data is likelier than a candidate."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from counterpoint.arrays import Floats
from counterpoint.checks import check_number, check_whole
from counterpoint.density.adversarial_forest import (
    LEAST_ROWS,
    Grove,
    Settings,
    columns_of,
    grouped,
    grow,
)
from counterpoint.density.leaf_density import ForestDensity
from counterpoint.errors import InvalidInput, MissingDependency
from counterpoint.streams import MAX_INDIVIDUALS, Stage, check_seed, row_keys, uniforms
from counterpoint.table.space import Space


@dataclass(frozen=True, kw_only=True)
class ForestPlausibility:
    """Plausibility as the likelihood under an adversarial random forest (Watson et al. 2023).

    `implausibility` is then the share of the data that is likelier than the candidate, by the
    forest's density: 0 for what is as likely as the likeliest observed row, 1 for what is less
    likely than all of them. It follows the true density better than the distance to the nearest
    observed row does (docs/plausibility.md). Needs scikit-learn.

    Parameters
    ----------
    trees : int, default=50
        Trees of the forest.
    min_leaf : int, default=5
        The fewest rows in a leaf, observed and synthetic ones together.
    rounds : int, default=10
        The most forests that learn to tell observed rows from those the one before imitates.
    delta : float, default=0.0
        It is enough if a forest is right this much more often than by chance.
    rows : int, default=5000
        The most observed rows it learns from; of more, so many are drawn.
    seed : int, default=0
        Same seed, same forest.

    Examples
    --------
    >>> import pandas as pd
    >>> import counterpoint as cp
    >>> heights = [150.0 + i for i in range(50)]
    >>> data = pd.DataFrame({"height": heights, "weight": [h - 100.0 for h in heights]})
    >>> explainer = cp.Explainer(
    ...     lambda rows: rows["weight"] / 100, data, plausibility=cp.ForestPlausibility(trees=20)
    ... )
    >>> score = explainer.observed.aims.plausibility.score
    >>> usual, odd = score(np.array([[170.0, 70.0], [151.0, 98.0]]))
    >>> bool(usual < 0.9), bool(odd > 0.9)
    (True, True)

    References
    ----------
    Watson, Blesch, Kapar, Wright (2023), Adversarial random forests for density estimation and
    generative modeling, AISTATS.
    """

    trees: int = 50
    min_leaf: int = 5
    rounds: int = 10
    delta: float = 0.0
    rows: int = 5000
    seed: int = 0

    def __post_init__(self) -> None:
        wholes = {"trees": 10_000, "min_leaf": 2**31, "rounds": 1000, "rows": MAX_INDIVIDUALS}
        for name, most in wholes.items():
            check_whole(f"ForestPlausibility.{name}", getattr(self, name), 1, most)
        check_number("ForestPlausibility.delta", self.delta, 0.0, 0.5)
        check_seed(self.seed)

    def fit(self, genomes: Floats, space: Space) -> ForestScore:
        """Return the score that observed rows (n, d) teach.

        Raises
        ------
        InvalidInput
            If a number is too large for the forest, which compares in single precision.
        """
        if np.abs(genomes).max() > np.finfo(np.float32).max:
            raise InvalidInput(
                "plausibility=ForestPlausibility cannot learn from numbers beyond 3.4e+38; use "
                "another unit, or leave it out, which takes the nearness of observed rows."
            )
        rows = self._drawn(genomes)
        columns = columns_of(rows, space)
        empty = np.zeros(0, dtype=np.int64)
        grove, accuracy = Grove(empty, empty, empty, np.zeros(0), empty, empty), [0.5]
        if len(rows) >= LEAST_ROWS:
            check_scikit_learn()
            settings = Settings(
                self.trees, self.min_leaf, self.rounds, float(self.delta), int(self.seed)
            )
            grove, accuracy = grow(grouped(rows, columns), columns, settings)
        density = ForestDensity(grove, columns, rows, space)
        return ForestScore(density, np.sort(density.own), tuple(accuracy))

    def _drawn(self, genomes: Floats) -> Floats:
        """Return at most `rows` of the observed rows, in their order."""
        n = len(genomes)
        if n <= self.rows:
            return np.array(genomes)
        # One of each of `rows` equal parts of the data, so that sorted tables are drawn evenly.
        keys = row_keys(int(self.seed), np.zeros((1, 1)))
        u = uniforms(keys, Stage.FOREST_MARGIN, 1, self.rows, 1)[0, :, 0]
        starts = np.arange(self.rows)
        drawn = ((starts + u) * n / self.rows).astype(np.int64)
        return np.ascontiguousarray(genomes[np.minimum(drawn, n - 1)])


@dataclass(frozen=True, eq=False)
class ForestScore:
    """A forest's density in percentiles of the data.

    Parameters
    ----------
    density : ForestDensity
        The density.
    ladder : ndarray of shape (n,)
        Log-likelihoods of the observed rows, ascending.
    accuracy : tuple of float
        How well each forest told observed from synthetic rows: about 0.5 in the end.
    """

    density: ForestDensity = field(repr=False)
    ladder: Floats = field(repr=False)
    accuracy: tuple[float, ...]

    @property
    def words(self) -> str:
        """What it is, for readers of a result."""
        return "the share of the data that an adversarial random forest finds likelier"

    def score(self, genomes: Floats) -> Floats:
        """Return for genomes (n, d) the share of observed rows that are likelier, from 0 to 1."""
        n = len(self.ladder)
        shares = np.linspace(1.0, 0.0, n) if n > 1 else np.zeros(1)
        logs = self.density.log_likelihood(np.ascontiguousarray(genomes))
        return np.interp(logs, self.ladder, shares, left=1.0, right=0.0)


def check_scikit_learn() -> None:
    """Say that scikit-learn is needed, if it is not there."""
    try:
        import sklearn.ensemble  # noqa: F401 - looked for
    except ImportError as error:
        raise MissingDependency(
            "ForestPlausibility needs scikit-learn, which is not installed; run: "
            "pip install scikit-learn."
        ) from error
