from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from tests.strategies import generator

import counterpoint as cp
from counterpoint.problem.target import decision
from counterpoint.result.counterfactuals import Counterfactuals
from counterpoint.result.data import ResultData

OBJECTIVES = ["gap", "distance", "changes", "implausibility"]


def table() -> pd.DataFrame:
    rng, n = generator(0), 160
    return pd.DataFrame(
        {
            "small": rng.integers(0, 9, n).astype(np.int8),
            "count": pd.array(rng.integers(0, 50, n), dtype="Int64"),
            "amount": rng.normal(100.0, 30.0, n).round(2),
            "single": rng.normal(0.0, 1.0, n).round(1).astype(np.float32),
            "owns": rng.random(n) < 0.5,
            "job": rng.choice(["clerk", "nurse", "smith"], n),
            "size": pd.Categorical(rng.choice(["S", "M", "L"], n), ["S", "M", "L"], ordered=True),
            "city": pd.Categorical(rng.choice(["Bonn", "Rome"], n)),
        }
    )


DATA = table()
SEARCH = cp.Search(method="nsga2", generations=15)


@pytest.fixture(scope="module")
def model() -> Any:
    good = DATA["amount"] / 30 + DATA["owns"] + (DATA["job"] == "nurse") > 4.3
    encode = make_column_transformer(
        (OneHotEncoder(), make_column_selector(dtype_exclude=["number", "bool"])),
        remainder="passthrough",
    )
    forest = RandomForestClassifier(30, random_state=0)
    return make_pipeline(encode, forest).fit(DATA, np.where(good, "good", "bad"))


@pytest.fixture(scope="module")
def explainer(model: Any) -> cp.Explainer:
    return cp.Explainer(model, DATA)


@pytest.fixture(scope="module")
def row(model: Any) -> pd.DataFrame:
    refused = np.flatnonzero(model.predict_proba(DATA)[:, 1] < 0.2)
    return DATA.iloc[refused[2:3]]


@pytest.fixture(scope="module")
def found(explainer: cp.Explainer, row: pd.DataFrame) -> cp.Counterfactuals:
    found = explainer.explain(row, "good", SEARCH)
    for array in (found.genomes, found.predictions, found.objectives):
        array.setflags(write=False)
    return found


def test_a_frame_has_the_features_in_their_own_dtypes_and_then_the_objectives(
    found: cp.Counterfactuals,
) -> None:
    frame = found.to_frame(near_misses=True)

    assert frame.columns.to_list() == [*DATA.columns, "valid", "class", "prediction", *OBJECTIVES]
    assert frame[DATA.columns].dtypes.to_list() == DATA.dtypes.to_list()
    assert frame[["prediction", *OBJECTIVES]].dtypes.astype(str).to_list() == [
        "float64",
        "float64",
        "float64",
        "int64",
        "float64",
    ]
    assert frame.index.to_list() == list(range(len(found.genomes)))


def test_a_frame_can_be_given_back_to_the_model(found: cp.Counterfactuals, model: Any) -> None:
    scores = model.predict_proba(found.to_frame(near_misses=True)[DATA.columns])[:, 1]

    np.testing.assert_array_equal(scores, found.predictions)


def test_counterfactuals_are_ordered_by_gap_changes_and_distance(
    found: cp.Counterfactuals,
) -> None:
    frame = found.to_frame(near_misses=True)

    expected = frame.sort_values(["gap", "changes", "distance"], kind="stable")
    pd.testing.assert_frame_equal(frame, expected)
    assert len(frame) > 5


def test_each_counterfactual_differs_from_the_row_and_from_the_others(
    found: cp.Counterfactuals, row: pd.DataFrame
) -> None:
    features = found.to_frame(near_misses=True)[DATA.columns]

    assert not features.duplicated().any()
    assert found.changed.any(axis=1).all()
    differs = features.astype(object).ne(row.astype(object).iloc[0])
    np.testing.assert_array_equal(differs.to_numpy(dtype=np.bool_), found.changed)
    np.testing.assert_array_equal(
        found.changed.sum(axis=1), found.to_frame(near_misses=True)["changes"]
    )


def test_only_changes_leaves_unchanged_cells_empty(found: cp.Counterfactuals) -> None:
    full = found.to_frame(near_misses=True)

    frame = found.to_frame(only_changes=True, near_misses=True)

    assert frame.columns.to_list() == full.columns.to_list()
    for j, name in enumerate(DATA.columns):
        changed = found.changed[:, j]
        assert frame.loc[changed, name].to_list() == full.loc[changed, name].to_list()
        assert frame.loc[~changed, name].eq("").all()
    pd.testing.assert_frame_equal(frame[OBJECTIVES], full[OBJECTIVES])


def test_writing_to_a_frame_leaves_the_result_as_it_was() -> None:
    data = pd.DataFrame(generator(1).normal(size=(40, 3)), columns=list("abc"))
    explainer = cp.Explainer(lambda rows: rows["a"] + rows["b"], data)
    found = explainer.explain(data.iloc[0], (5.0, None), cp.Search(method="nsga2", generations=3))
    before = found.genomes.copy()

    frame = found.to_frame(near_misses=True)
    frame.loc[:, "a"] = 99.0

    np.testing.assert_array_equal(found.genomes, before)
    assert (found.to_frame(near_misses=True)["a"] != 99.0).all()


def test_valid_are_those_that_reach_the_target(found: cp.Counterfactuals, model: Any) -> None:
    valid = found.valid()

    assert 0 < len(valid) < len(found.genomes)
    assert (valid.to_frame()["gap"] == 0.0).all()
    assert (valid.to_frame()["prediction"] > 0.5).all()
    assert (model.predict(valid.to_frame()[DATA.columns]) == "good").all()
    assert len(valid) == int(found.reaches.sum())
    assert len(valid.valid()) == len(valid)


@pytest.mark.parametrize("index", [[2, 0, 2], np.array([1]), slice(1, 4), [], np.array([], int)])
def test_take_takes_positions_in_the_given_order(found: cp.Counterfactuals, index: Any) -> None:
    few = found.take(index)

    expected = found.to_frame(near_misses=True).iloc[index].reset_index(drop=True)
    pd.testing.assert_frame_equal(few.to_frame(near_misses=True), expected)
    assert few.trace is found.trace
    assert (few.search, few.seed, few.notes) == (found.search, found.seed, found.notes)


def test_take_takes_a_mask_and_a_single_position(found: cp.Counterfactuals) -> None:
    by_mask, one = found.take(found.reaches), found.take(1)

    np.testing.assert_array_equal(by_mask.genomes, found.valid().genomes)
    np.testing.assert_array_equal(one.genomes, found.genomes[1:2])
    assert len(found.take(np.int64(1))) == len(one) == 1


def test_select_takes_at_most_n_and_valid_ones_first(found: cp.Counterfactuals) -> None:
    n_valid = len(found.valid())

    few, more, all_of_them = (found.select(n, "hypervolume") for n in (3, n_valid + 2, 10**6))

    assert len(few) == 3
    assert few.reaches.all()
    assert len(more.genomes) == n_valid + 2
    assert int(more.reaches.sum()) == n_valid
    assert len(all_of_them.genomes) == len(found.genomes)


@pytest.mark.parametrize("n", [0, -1, 2.0, True, "3"])
def test_select_needs_a_whole_number(found: cp.Counterfactuals, n: Any) -> None:
    with pytest.raises(
        cp.InvalidInput, match=f"select: n must be a whole number of at least 1, got {n!r}."
    ):
        found.select(n)


def test_the_result_knows_what_was_asked(
    found: cp.Counterfactuals, row: pd.DataFrame, model: Any
) -> None:
    pd.testing.assert_frame_equal(found.row, row)
    assert found.target == decision((1,), ("bad", "good"))
    assert found.search == SEARCH
    assert found.row_prediction == model.predict_proba(row)[0, 1]
    assert found.trace.stopped == "budget"
    assert found.seed == 0


def test_a_search_that_succeeds_is_found(found: cp.Counterfactuals) -> None:
    assert found.status == "found"
    assert found.take([]).status == "best_effort"


def test_a_search_that_fails_is_a_best_effort(explainer: cp.Explainer, row: pd.DataFrame) -> None:
    """Thirty trees give no probability between 0.51 and 0.52."""
    found = explainer.explain(row, ("good", (0.51, 0.52)), SEARCH)

    assert found.status == "best_effort"
    assert len(found.genomes) > 0
    assert len(found) == len(found.valid()) == 0
    assert found.valid().status == "best_effort"


def test_nothing_found_is_infeasible_where_all_that_is_allowed_was_tried(
    explainer: cp.Explainer, row: pd.DataFrame
) -> None:
    fixed = [name for name in DATA.columns if name not in ("size", "city")]

    found = explainer.explain(row, "good", fixed=fixed)

    assert (found.stopped, found.evaluations) == ("exhausted", 3 * 2)
    assert found.is_proved_empty
    assert found.status == "infeasible"
    assert "; 6 model evaluations; all that is allowed was tried; " in found.message


@pytest.mark.parametrize("search", [SEARCH, SEARCH.with_(method="random"), cp.WhatIf()])
def test_what_a_search_did_not_find_is_not_proved_to_be_nowhere(
    search: Any, explainer: cp.Explainer, row: pd.DataFrame
) -> None:
    fixed = [name for name in DATA.columns if name not in ("size", "city")]

    found = explainer.explain(row, "good", search, fixed=fixed)

    assert not found.is_proved_empty
    assert found.status == "best_effort"


def test_a_result_that_was_emptied_is_not_infeasible() -> None:
    data = DATA[["size", "city"]]
    explainer = cp.Explainer(lambda rows: (rows["size"] == "S") * 0.9, data)
    found = explainer.explain({"size": "L", "city": "Rome"}, (0.5, None))
    assert (found.status, found.stopped) == ("found", "exhausted")
    assert found.message.endswith("; 4 model evaluations; all that is allowed was tried.")

    assert found.take([]).status == "best_effort"


def test_a_row_that_is_where_it_should_be_needs_no_search(
    explainer: cp.Explainer, row: pd.DataFrame
) -> None:
    found = explainer.explain(row, "bad", SEARCH)

    assert found.status == "already_met"
    assert len(found) == len(found.genomes) == 0
    assert found.evaluations == 1
    assert found.trace.stopped == ""
    assert len(found.history) == 0
    assert found.to_frame(near_misses=True).columns.to_list() == [
        *DATA.columns,
        "valid",
        "class",
        "prediction",
        *OBJECTIVES,
    ]
    assert found.to_frame(near_misses=True)[DATA.columns].dtypes.to_list() == DATA.dtypes.to_list()


def test_a_target_that_any_prediction_reaches_has_no_edge(
    explainer: cp.Explainer, row: pd.DataFrame, tmp_path: Path
) -> None:
    found = explainer.explain(row, ("bad", (0.0, 1.0)), SEARCH)

    assert found.margin == 0.0
    assert found.message.endswith("; any prediction reaches it.")
    assert found.explain_text("en", reader="analyst").endswith(
        "The row reaches the target as it is, as any row does; nothing was searched."
    )
    assert found.explain_text("de", reader="analyst").endswith(
        "Die Zeile erreicht das Ziel bereits, wie jede andere auch; es wurde nichts gesucht."
    )
    found.save(tmp_path / "found.json")  # JSON has no infinity
    assert cp.load(tmp_path / "found.json") == found


class Stubborn:
    """A classifier whose `predict` says "no" whatever its probabilities are."""

    classes_ = np.array(["no", "yes"])

    def predict_proba(self, rows: pd.DataFrame) -> Any:
        """Return P(yes) = a / 10."""
        share = rows["a"].to_numpy() / 10.0
        return np.column_stack([1.0 - share, share])

    def predict(self, rows: pd.DataFrame) -> Any:
        """Say no."""
        return np.full(len(rows), "no")


@pytest.mark.parametrize("search", [cp.WhatIf(), cp.Search(method="nsga2", generations=2)])
def test_a_row_whose_class_is_denied_by_predict_is_not_met(search: Any) -> None:
    """Its probability alone is in the interval already."""
    explainer = cp.Explainer(Stubborn(), pd.DataFrame({"a": np.arange(11)}))

    found = explainer.explain({"a": 8}, "yes", search)

    assert found.status == "best_effort"
    assert not found.reaches.any()


def test_history_is_computed_once_and_shared_by_no_subset(found: cp.Counterfactuals) -> None:
    assert found.history is found.history
    pd.testing.assert_frame_equal(found.valid().history, found.history)


def test_column_labels_may_be_anything_hashable() -> None:
    data = pd.DataFrame({0: [1, 2, 3, 4], ("x", 1): [0.5, 1.5, 2.5, 3.5]})
    data.columns = pd.Index([0, ("x", 1)], tupleize_cols=False)
    explainer = cp.Explainer(lambda rows: rows.to_numpy().sum(axis=1), data)

    found = explainer.explain(data[:1], (4.0, None), cp.Search(method="nsga2", generations=2))

    assert found.to_frame(near_misses=True).columns.to_list()[:2] == [0, ("x", 1)]
    assert "('x', 1)" in str(found)


def test_the_constructor_is_that_of_the_data_so_that_no_module_below_calls_one_above() -> None:
    assert Counterfactuals.__init__ is ResultData.__init__
