from __future__ import annotations

import re
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from tests.strategies import generator, mixed_table

import counterpoint as cp
from counterpoint.arrays import Bools, Floats
from counterpoint.progress import Watch
from counterpoint.search.run import search_randomly

NUMBERS, LEVELS = ["age", "debt"], ["job", "owns"]
FEATURES = [*NUMBERS, *LEVELS]
WIDE = {"age": 90, "debt": -3.0, "job": "b", "owns": False}  # beyond the data's range


DATA = mixed_table(250, seed=7)


def fitted() -> Any:
    score = (
        DATA["age"] / 20 - DATA["debt"] + DATA["owns"] + generator(8).normal(0.0, 0.3, len(DATA))
    )
    encode = make_column_transformer((OneHotEncoder(), ["job"]), remainder=StandardScaler())
    return make_pipeline(encode, LogisticRegression()).fit(
        DATA, np.where(score > 0.8, "good", "bad")
    )


MODEL = fitted()
EXPLAINER = cp.Explainer(MODEL, DATA)
REFUSED = DATA[MODEL.predict(DATA) == "bad"]


def gower_to_data(row: pd.Series[Any]) -> Floats:
    """Return Gower's distances to the data, ranges over data and row, in plain pandas."""
    total = np.zeros(len(DATA))
    for name in NUMBERS:
        low, high = min(DATA[name].min(), row[name]), max(DATA[name].max(), row[name])
        total += (DATA[name] - row[name]).abs().to_numpy() / (high - low)
    for name in LEVELS:
        total += (DATA[name] != row[name]).to_numpy()
    return total / len(FEATURES)


def brute_force(row: pd.Series[Any], n: int, allowed: Bools | None = None) -> pd.DataFrame:
    """Return the n nearest rows the model calls good, among the allowed ones."""
    wanted = MODEL.predict(DATA) == "good"
    wanted &= MODEL.predict_proba(DATA)[:, 1] > 0.5
    wanted &= np.ones(len(DATA), dtype=np.bool_) if allowed is None else allowed
    distances = np.where(wanted, gower_to_data(row), np.inf)
    order = np.argsort(distances, kind="stable")[: int(wanted.sum())]
    return DATA.iloc[order].drop_duplicates().head(n).reset_index(drop=True)


def as_set(frame: pd.DataFrame) -> set[Any]:
    return set(frame[FEATURES].itertuples(index=False, name=None))


@pytest.mark.parametrize("position", range(0, 60, 7))
def test_what_if_is_the_nearest_wanted_row(position: int) -> None:
    row = REFUSED.iloc[position]

    found = EXPLAINER.explain(row, "good", cp.WhatIf())

    expected = brute_force(row, 1)
    pd.testing.assert_frame_equal(found.to_frame(near_misses=True)[FEATURES], expected)
    wanted = MODEL.predict(DATA) == "good"
    assert found.objectives[0, 1] == pytest.approx(gower_to_data(row)[wanted].min())
    assert found.to_frame(near_misses=True)["implausibility"].to_list() == [0.0]


def test_ranges_are_widened_to_the_row() -> None:
    row = pd.Series(WIDE)
    target = ("bad", (0.5, 1.0))

    found = EXPLAINER.explain(WIDE, target, cp.WhatIf(n=3))

    wanted = MODEL.predict_proba(DATA)[:, 0] >= 0.5
    order = np.argsort(np.where(wanted, gower_to_data(row), np.inf), kind="stable")[:3]
    assert as_set(found.to_frame(near_misses=True)) == as_set(DATA.iloc[order])


@pytest.mark.parametrize("n", [1, 4, 30, 10_000])
def test_what_if_takes_as_many_as_asked_or_as_there_are(n: int) -> None:
    row = REFUSED.iloc[3]

    found = EXPLAINER.explain(row, "good", cp.WhatIf(n=n))

    expected = brute_force(row, n)
    assert len(found) == len(expected)
    assert as_set(found.to_frame(near_misses=True)) == as_set(expected)
    assert found.reaches.all()
    assert found.trace.stopped == "budget"


def test_what_if_respects_fixed_features_ranges_and_the_number_of_changes() -> None:
    row = REFUSED.iloc[5]
    limits: dict[str, Any] = {"fixed": ["job"], "ranges": {"debt": (0.5, 2.5)}, "max_changed": 2}
    allowed = (DATA["job"] == row["job"]) & DATA["debt"].between(0.5, 2.5)
    allowed &= (row != DATA).sum(axis=1) <= 2
    assert allowed.any()

    found = EXPLAINER.explain(row, "good", cp.WhatIf(n=500), **limits)

    expected = brute_force(row, 500, allowed.to_numpy())
    assert len(expected) > 1
    assert as_set(found.to_frame(near_misses=True)) == as_set(expected)


def test_an_empty_result_says_what_to_free() -> None:
    row = REFUSED.iloc[5]
    n_good = int((MODEL.predict(DATA) == "good").sum())

    found = EXPLAINER.explain(row, "good", cp.WhatIf(), max_changed=1, fixed=["owns", "age", "job"])

    assert len(found) == 0
    assert found.status == "best_effort"
    assert (
        f"{n_good} observed rows do reach it, but the limits exclude all of them" in found.message
    )
    assert "no counterfactual was found for class 'good'" in found.message


def test_a_target_nobody_reaches_is_diagnosed() -> None:
    row = REFUSED.iloc[5]
    best = MODEL.predict_proba(DATA)[:, 1].max()

    found = EXPLAINER.explain(row, ("good", (1.0, 1.0)), cp.WhatIf(n=3))

    assert len(found) == 0
    assert f"no observed row reaches it either (the nearest is at {best:.4g})" in found.message


def test_what_if_asks_the_model_about_the_row_and_to_confirm_what_is_returned() -> None:
    asked: list[int] = []

    def model(rows: pd.DataFrame) -> Any:
        asked.append(len(rows.drop_duplicates()))
        return rows["age"] / 100.0

    explainer = cp.Explainer(model, DATA)
    asked.clear()

    found = explainer.explain(DATA.iloc[0], (0.0, 0.3), cp.WhatIf(n=4))

    assert (asked[0], found.evaluations) == (1, 1)
    assert max(asked[1:]) <= len(found)  # in one frame, and alone
    assert len(found) == 4


def test_a_row_that_occurs_often_answers_once() -> None:
    data = pd.DataFrame({"a": [1, 5, 5, 5, 6, 9]})
    explainer = cp.Explainer(lambda rows: rows["a"] / 10.0, data)

    found = explainer.explain({"a": 1}, (0.5, 1.0), cp.WhatIf(n=2))

    assert found.to_frame(near_misses=True)["a"].to_list() == [5, 6]


def test_what_if_takes_zero_and_minus_zero_for_one() -> None:
    data = pd.DataFrame({"a": [1.0, 0.0, -0.0, 2.0], "b": [0.0, 1.0, 1.0, 3.0]})
    explainer = cp.Explainer(lambda rows: rows["b"], data)

    found = explainer.explain(data[:1], (0.5, 1.5), cp.WhatIf(n=3))

    assert len(found) == 1


def test_what_if_gives_the_same_alone_and_together() -> None:
    rows = REFUSED.iloc[:12]

    together = EXPLAINER.explain_many(rows, "good", cp.WhatIf(n=3), workers=2)

    for i, found in enumerate(together):
        alone = EXPLAINER.explain(rows.iloc[[i]], "good", cp.WhatIf(n=3))
        np.testing.assert_array_equal(found.genomes, alone.genomes)
        np.testing.assert_array_equal(found.objectives, alone.objectives)


@pytest.mark.parametrize("n", [0, -1, 1.5, True, "2", None])
def test_what_if_needs_a_whole_number(n: Any) -> None:
    with pytest.raises(
        cp.InvalidInput,
        match=re.escape(f"WhatIf.n must be a whole number of at least 1, got {n!r}."),
    ):
        cp.WhatIf(n=n)


def test_random_search_keeps_half_of_each_feature_and_draws_the_rest_evenly() -> None:
    search = cp.RandomSearch(population=500, generations=7)
    start = replace(search, population=2, generations=0)
    problem = EXPLAINER.explain(REFUSED.iloc[0], "good", start).problem

    archive = search_randomly(problem, search, Watch())

    genomes, row, box = archive.genomes[0], problem.rows[0], problem.box
    n_values = np.rint((box.upper[0] - box.lower[0]) * problem.space.grid) + 1
    for j in range(4):
        expected = 0.5 * (1.0 - 1.0 / n_values[j])  # a drawn value may be the row's own
        assert (genomes[:, j] != row[j]).mean() == pytest.approx(expected, abs=0.025)
        changed = np.rint((genomes[:, j] - box.lower[0, j]) * problem.space.grid[j])
        changed = changed[genomes[:, j] != row[j]].astype(np.int64)
        counts = np.bincount(changed, minlength=int(n_values[j]))
        own = int(np.rint((row[j] - box.lower[0, j]) * problem.space.grid[j]))
        if n_values[j] > 2:
            assert stats.chisquare(np.delete(counts, own)).pvalue > 1e-3
    n_changed = (genomes != row).sum(axis=1)
    assert set(n_changed) == {0, 1, 2, 3, 4}


def test_random_search_draws_anew_in_each_generation() -> None:
    search = cp.RandomSearch(population=5, generations=3)
    problem = EXPLAINER.explain(REFUSED.iloc[0], "good", search).problem

    archive = search_randomly(problem, search, Watch())

    waves = archive.genomes[0].reshape(4, 5, 4)
    assert len({wave.tobytes() for wave in waves}) == 4
    assert archive.generation[0].tolist() == np.repeat(np.arange(4), 5).tolist()


def test_random_search_returns_what_nothing_else_dominates() -> None:
    search = cp.Search.paper("random").with_(generations=10)

    found = EXPLAINER.explain(REFUSED.iloc[0], "good", search)

    better = (found.objectives[:, None] <= found.objectives).all(axis=2)
    strictly = better & (found.objectives[:, None] < found.objectives).any(axis=2)
    assert not strictly.any()
    assert found.evaluations == 1 + 11 * 20


def index_of(kind: str, n: int) -> Any:
    """Return labels of n rows."""
    return {
        "whole": pd.Index(range(7, 7 + n), name="loan"),
        "text": pd.Index([f"A-{i}" for i in range(n)]),
        "days": pd.date_range("2020-01-01", periods=n),
        "pairs": pd.MultiIndex.from_product([["a", "b"], range(n)])[:n],
    }[kind]


@pytest.mark.parametrize("kind", ["whole", "text", "days", "pairs"])
def test_each_row_says_which_observed_row_it_is(kind: str, tmp_path: Path) -> None:
    data = DATA.set_index(index_of(kind, len(DATA)))
    explainer, row = cp.Explainer(MODEL, data), data.loc[[data.index[REFUSED.index[0]]]]

    found = explainer.explain(row, "good", cp.WhatIf(n=4))

    frame = found.to_frame()
    known = data.loc[list(frame["observed"])]
    pd.testing.assert_frame_equal(frame[[*data]], known.reset_index(drop=True))
    assert [*found[1:3].to_frame()["observed"]] == [*frame["observed"][1:3]]
    found.save(tmp_path / "found.json")
    loaded = cp.load(tmp_path / "found.json")
    written = frame["observed"] if kind in ("whole", "text") else frame["observed"].map(str)
    assert [*loaded.to_frame()["observed"]] == [*written]
    assert deepcopy(found) == found
    assert deepcopy(explainer).explain(row, "good", cp.WhatIf(n=4)) == found


def test_a_search_has_no_observed_rows_to_name() -> None:
    found = EXPLAINER.explain(REFUSED[:1], "good", cp.Search(evaluations=200))

    assert found.observed is None
    assert "observed" not in found.to_frame()
