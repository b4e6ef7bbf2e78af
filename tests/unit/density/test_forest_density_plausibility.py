"""Plausibility by an adversarial forest: percentiles, settings, and a search that uses it."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from tests.strategies import generator

import counterpoint as cp
from counterpoint.arrays import Floats
from counterpoint.density.forest_density import ForestScore

N = 400


def ring(n: int, seed: int) -> pd.DataFrame:
    """Return rows on a noisy ring with a level that follows the side."""
    rng = generator(seed)
    angle, radius = rng.uniform(0, 2 * np.pi, n), 1 + 0.1 * rng.normal(size=n)
    x, y = radius * np.cos(angle), radius * np.sin(angle)
    side = np.where(rng.random(n) < 0.9, x > 0, x <= 0)
    return pd.DataFrame({"x": x, "y": y, "side": np.where(side, "right", "left")})


DATA = ring(N, 0)


def model(rows: pd.DataFrame) -> Any:
    return 1 / (1 + np.exp(-3 * rows["x"]))


@cache
def explainer(**settings: Any) -> cp.Explainer:
    return cp.Explainer(
        model, DATA, precision="full", plausibility=cp.ForestPlausibility(**settings)
    )


def score_of(frame: pd.DataFrame, which: cp.Explainer | None = None) -> Floats:
    which = which or explainer()
    score: Any = which.observed.aims.plausibility
    values: Floats = score.score(which.encoding.encode(frame))
    return values


def test_scores_lie_between_0_and_1_and_spread_like_percentiles() -> None:
    """Rows of the same origin that it never saw are rated like those it learnt from."""
    fresh = score_of(ring(2000, 1))

    assert ((fresh >= 0.0) & (fresh <= 1.0)).all()
    assert abs(fresh.mean() - 0.5) < 0.06
    assert stats.kstest(fresh, "uniform").statistic < 0.12


def test_what_never_occurs_is_less_plausible_than_what_does() -> None:
    usual = pd.DataFrame(
        {"x": [1.0, -1.0, 0.0], "y": [0.0, 0.0, 1.0], "side": ["right", "left"] * 1 + ["left"]}
    )
    odd = pd.DataFrame({"x": [0.0, 1.0, 4.0], "y": [0.0, 1.0, 4.0], "side": ["right"] * 3})

    assert score_of(usual).max() < score_of(odd).min()
    assert score_of(odd[2:]).tolist() == [1.0]


def test_the_observed_rows_reach_from_the_likeliest_row_to_the_least_likely() -> None:
    score: Any = explainer().observed.aims.plausibility
    logs = score.density.log_likelihood(explainer().observed.genomes)
    lowest, highest = score.observed_logs[0], score.observed_logs[-1]

    def at(value: float) -> float:
        return float(np.interp(value, score.observed_logs, np.linspace(1, 0, N), 1.0, 0.0))

    assert (at(highest), at(lowest), at(lowest - 1)) == (0.0, 1.0, 1.0)
    found = score.score(explainer().observed.genomes)
    assert (np.diff(found[np.argsort(logs)]) <= 0.0).all()  # likelier, so less implausible


@pytest.mark.parametrize(
    "change",
    [{"trees": 20}, {"min_leaf": 20}, {"rows": 200}, {"seed": 1}],
)
def test_each_setting_changes_the_score(change: dict[str, Any]) -> None:
    assert not np.array_equal(score_of(DATA, explainer(**change)), score_of(DATA))


def test_the_same_settings_give_the_same_score() -> None:
    again = cp.Explainer(model, DATA, precision="full", plausibility=cp.ForestPlausibility())

    np.testing.assert_array_equal(score_of(DATA, again), score_of(DATA))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"trees": 0}, "ForestPlausibility.trees must be a whole number from 1 to 10,000, got 0."),
        (
            {"min_leaf": 2.5},
            "ForestPlausibility.min_leaf must be a whole number from 1 to 2,147,48",
        ),
        (
            {"rounds": True},
            "ForestPlausibility.rounds must be a whole number from 1 to 1,000, got T",
        ),
        (
            {"rows": 2**18},
            "ForestPlausibility.rows must be a whole number from 1 to 262,143, got 2",
        ),
        ({"delta": 0.6}, "ForestPlausibility.delta must lie between 0 and 0.5, got 0.6."),
        ({"delta": "a"}, "ForestPlausibility.delta must lie between 0 and 0.5, got 'a'."),
        (
            {"seed": -1},
            "seed must be a whole number from 0 to 2**64 - 1, got -1; for example seed=0.",
        ),
    ],
)
def test_settings_are_checked(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(cp.InvalidInput) as raised:
        cp.ForestPlausibility(**settings)

    assert str(raised.value).startswith(message)


SEARCH = cp.Search(evaluations=400)


@pytest.mark.parametrize("method", ["explore", "nsga2", "random"])
def test_a_search_minimises_it_in_place_of_o4(method: Any) -> None:
    search = SEARCH.with_(method=method)
    row = DATA[DATA["x"] < -0.9][:1]

    found = explainer().explain(row, (0.6, 1.0), search)

    frame = found.to_frame(near_misses=True)
    np.testing.assert_array_equal(frame["implausibility"], score_of(frame[DATA.columns]))
    plain = cp.Explainer(model, DATA, precision="full").explain(row, (0.6, 1.0), search)
    np.testing.assert_allclose(
        found.objectives[:, :3],
        plain.problem.evaluate(found.genomes[None]).objectives[0, :, :3],
        rtol=1e-12,
    )
    assert found.problem.reference[0, 3] == 1.0
    assert "an adversarial random forest finds likelier" in str(found)


def test_rows_keep_their_bits_in_company_and_on_threads() -> None:
    rows = DATA[DATA["x"] < 0][:4]
    alone = [explainer().explain(rows[i : i + 1], (0.6, 1.0), SEARCH) for i in range(4)]

    for workers in (1, 2):
        together = explainer().explain_many(rows, (0.6, 1.0), SEARCH, workers=workers)
        for ours, theirs in zip(together, alone, strict=True):
            np.testing.assert_array_equal(ours.genomes, theirs.genomes)
            np.testing.assert_array_equal(ours.objectives, theirs.objectives)


def test_a_saved_result_says_what_rated_it(tmp_path: Path) -> None:
    found = explainer().explain(DATA[DATA["x"] < 0][:1], (0.6, 1.0), SEARCH)
    found.save(tmp_path / "found.json")

    loaded = cp.load(tmp_path / "found.json")

    assert str(loaded) == str(found)
    pd.testing.assert_frame_equal(
        loaded.to_frame(near_misses=True), found.to_frame(near_misses=True)
    )
    score: Any = loaded.facts.aims.plausibility
    with pytest.raises(cp.InvalidInput, match=r"^the plausibility \(the share .* is not kept"):
        score.score(found.genomes)


@pytest.mark.parametrize("n", [1, 2, 9, 10, 12])
def test_small_tables_have_a_score_too(n: int) -> None:
    data = DATA[:n].assign(same=1.0)

    few = cp.Explainer(model, data, plausibility=cp.ForestPlausibility(trees=3))

    scores = score_of(data, few)
    assert ((scores >= 0.0) & (scores <= 1.0)).all()


def test_all_rows_count_evenly_where_only_some_are_drawn() -> None:
    some: Any = cp.ForestPlausibility(rows=50, trees=5)
    genomes = np.arange(1000.0)[:, None]

    drawn = some._drawn(genomes)[:, 0]

    np.testing.assert_array_equal(drawn // 20, np.arange(50))
    assert len(np.unique(drawn % 20)) > 5


def test_scikit_learn_is_imported_only_when_a_forest_is_fitted() -> None:
    code = (
        "import sys, pandas as pd, counterpoint as cp\n"
        "forest = cp.ForestPlausibility(trees=2)\n"
        "print('sklearn' in sys.modules)\n"
        "data = pd.DataFrame({'a': range(20)})\n"
        "cp.Explainer(lambda rows: rows['a'] / 20, data, plausibility=forest)\n"
        "print('sklearn' in sys.modules)"
    )

    answer = subprocess.run(  # noqa: S603 - our own interpreter and code
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout

    assert answer.split() == ["False", "True"]


def test_a_missing_scikit_learn_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.ensemble", None)

    with pytest.raises(cp.MissingDependency, match="ForestPlausibility needs scikit-learn, which"):
        cp.Explainer(model, DATA, plausibility=cp.ForestPlausibility())


def test_a_plausibility_of_ones_own_is_anything_that_fits() -> None:
    class Flat:
        words = "all the same"

        def fit(self, genomes: Floats, space: Any) -> Any:  # noqa: ARG002
            return self

        def score(self, genomes: Floats) -> Floats:
            return np.full(len(genomes), 0.25)

    found = cp.Explainer(model, DATA, plausibility=Flat()).explain(
        DATA[DATA["x"] < 0][:1], (0.6, 1.0), SEARCH
    )

    assert (found.objectives[:, 3] == 0.25).all()
    assert "implausibility (all the same)" in str(found)


def test_the_score_shows_how_well_imitation_went() -> None:
    score: Any = explainer().observed.aims.plausibility

    assert isinstance(score, ForestScore)
    assert score.accuracy[0] > score.accuracy[-1]
    assert "accuracy=(" in repr(score)
