from __future__ import annotations

import io
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from tests.strategies import generator

import counterpoint as cp
from counterpoint.arrays import Floats
from counterpoint.models.fast_paths import mix_columns
from counterpoint.models.inspection import ModelMethod

FEW = cp.Search(evaluations=400)


def levels(n_columns: int) -> pd.DataFrame:
    """Return 200 rows of columns with 40 levels each, and a number."""
    rng = generator(0)
    columns: dict[str, Any] = {
        name: [f"{name}{level}" for level in rng.integers(0, 40, 200)] for name in "abc"[:n_columns]
    }
    return pd.DataFrame(columns | {"x": rng.normal(0.0, 1.0, 200).round(2)})


def refusing(data: pd.DataFrame, never: dict[str, str]) -> Any:
    """Return a plain pipeline that crosses columns and refuses one meeting of levels."""
    names = list(never)

    def cross(rows: pd.DataFrame) -> Any:
        is_never = (rows == pd.Series(never)).all(axis=1)
        lengths = [rows[name].str.len() for name in names]
        return np.column_stack([*lengths, is_never])

    encode = make_column_transformer((FunctionTransformer(cross), names), ("passthrough", ["x"]))
    model = make_pipeline(encode, LogisticRegression()).fit(data, data["x"] > 0)
    model[-1].coef_[0, len(names)] = -50.0
    return model


def never_met(data: pd.DataFrame) -> dict[str, str]:
    """Return levels that no row has together, nor any of them with those of the first row."""
    names = [str(name) for name in data if name != "x"]
    known = set(map(tuple, data[names].to_numpy()))
    draws = generator(5)
    while True:
        levels = tuple(draws.choice(data[name].unique()) for name in names)
        if levels not in known and not set(levels) & set(data.iloc[0]):
            return dict(zip(names, map(str, levels), strict=True))


def holds(model: Any, found: cp.Counterfactuals, label: Any) -> Any:
    """Return which counterfactuals the caller's model accepts, in one frame and each alone."""
    rows = found.to_rows()
    if not len(rows):
        return np.ones(0, dtype=bool)
    alone = [model.predict(rows[i : i + 1])[0] for i in range(len(rows))]
    return (model.predict(rows) == label) & (np.array(alone) == label)


def test_a_pair_of_levels_nobody_has_is_tried_before_tables_are_believed() -> None:
    data = levels(2)
    never = never_met(data)
    model = refusing(data, never)
    explainer = cp.Explainer(model, data)

    found = explainer.explain(never | {"x": 2.0}, True, FEW)

    assert found.status == "found"
    assert holds(model, found, True).all()


def test_what_a_trial_missed_is_noticed_said_and_searched_with_the_model() -> None:
    data = levels(3)
    never = never_met(data)
    model = refusing(data, never)
    explainer = cp.Explainer(model, data)
    assert explainer.predictor.is_quick  # three levels that meet nowhere escape the trial

    with pytest.warns(cp.AcceleratorWarning, match=r"not believed: of {'a': 'a.*1 row searched"):
        found = explainer.explain(never | {"x": 2.0}, True, FEW)

    assert found.status == "found"
    assert found.row_prediction < 1e-6
    assert any("a quick way to ask the model disagreed with it" in note for note in found.notes)
    assert holds(model, found, True).all()
    assert found.continue_search(50).notes == found.notes


def test_a_row_is_told_the_same_with_others_of_which_the_quick_way_is_right() -> None:
    data = levels(3)
    never = never_met(data)
    explainer = cp.Explainer(refusing(data, never), data)
    rows = pd.concat([data[:3], pd.DataFrame([never | {"x": 2.0}])], ignore_index=True)

    with pytest.warns(cp.AcceleratorWarning, match="1 row searched"):
        together = explainer.explain_many(rows, "opposite", FEW)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        alone = [explainer.explain(rows[i : i + 1], "opposite", FEW) for i in range(4)]
    assert together == alone


class OddForest(RandomForestClassifier):  # type: ignore[misc]
    """A forest that refuses everything in a corner where no data lie."""

    def predict_proba(self, rows: Any) -> Any:
        """Return probabilities, (1, 0) in the corner."""
        told = super().predict_proba(rows)
        cells = np.asarray(rows)
        is_odd = (cells[:, 0] > 1.0) & (cells[:, 1] < -1.0)
        return np.where(is_odd[:, None], [1.0, 0.0], told)


def odd_forest() -> tuple[Any, pd.DataFrame]:
    data = pd.DataFrame(generator(2).normal(0.0, 1.0, (300, 4)).round(2), columns=list("pqrs"))
    data = data[(data["p"] < 0.8) | (data["q"] > -0.8)].reset_index(drop=True)
    return OddForest(20, random_state=0).fit(data, data["p"] - data["q"] > 0.8), data


def test_what_a_subclass_overrides_where_no_data_lie_counts() -> None:
    model, data = odd_forest()
    explainer = cp.Explainer(model, data)

    found = explainer.explain_many(data[~model.predict(data)][:6], True, FEW)

    assert sum(len(each) for each in found) > 50
    for each in found:
        assert holds(model, each, True).all()


@pytest.mark.parametrize("method", ["explore", "nsga2", "random"])
def test_a_quick_way_that_is_wrong_where_nobody_tried_is_never_returned(method: Any) -> None:
    search = FEW.with_(method=method)
    data = odd_forest()[1]
    model = RandomForestClassifier(20, random_state=0).fit(data, data["p"] - data["q"] > 0.8)
    explainer = cp.Explainer(model, data)
    right = explainer.predictor._score

    def wrong(genomes: Floats) -> Any:
        return np.where(genomes[:, :1] > 0.5, [0.0, 1.0], right.quick(genomes))

    rows = data[~model.predict(data) & (data["p"] < 0.5)][:5]
    explainer.predictor._score = ModelMethod(right.plain, wrong)

    with pytest.warns(cp.AcceleratorWarning, match="the model 0"):
        found = explainer.explain_many(rows, True, search)

    assert any(len(each) for each in found)
    for each in found:
        own = model.predict_proba(each.to_rows(near_misses=True))[:, 1]
        np.testing.assert_allclose(each.predictions, own, rtol=0, atol=1e-12)
        assert holds(model, each, True).all()


class Single:
    """A network of single precision whose last bits depend on the size of a call."""

    classes_ = np.array(["no", "yes"])

    def __init__(self, seed: int) -> None:
        self.weights = generator(seed).normal(0.0, 1.0, 24).astype(np.float32)

    def predict_proba(self, rows: pd.DataFrame) -> Any:
        """Return P(yes): added up from the other end for one row, or in the last rows of eight."""
        cells = rows.to_numpy(np.float32)
        wide = np.tile(cells, (1, 8)) * self.weights
        is_last = np.arange(len(rows)) >= len(rows) - len(rows) % 8
        forth = np.add.accumulate(wide, axis=1)[:, -1]
        back = np.add.accumulate(wide[:, ::-1], axis=1)[:, -1]
        score = np.where(is_last, back, forth) / np.float32(50.0)
        chance = np.float32(1.0) / (np.float32(1.0) + np.exp(-score))
        return np.column_stack([np.float32(1.0) - chance, chance])

    def predict(self, rows: pd.DataFrame) -> Any:
        """Name the likelier class."""
        return self.classes_[self.predict_proba(rows).argmax(axis=1)]


SINGLES = pd.DataFrame(generator(3).normal(0.0, 1.0, (150, 3)).round(3), columns=list("pqr"))


@given(seed=st.integers(0, 10**6), i=st.integers(0, 149))
@settings(max_examples=12, deadline=None)
def test_what_is_valid_is_so_in_one_frame_and_alone(seed: int, i: int) -> None:
    model = Single(seed)

    found = cp.Explainer(model, SINGLES).explain(SINGLES[i : i + 1], "opposite", FEW)

    assert holds(model, found, found.target.label).all()
    rows = found.to_rows()
    if len(rows):
        assert (model.predict_proba(rows)[:, found.target.column] >= 0.5).all()


def test_a_model_that_denies_alone_what_it_says_in_company_has_no_counterfactuals() -> None:
    def score(rows: pd.DataFrame) -> Any:
        return rows["p"].to_numpy() - (len(rows) == 1)

    found = cp.Explainer(score, SINGLES).explain({"p": -1.0, "q": 0.0, "r": 0.0}, (0.5, 1.0), FEW)

    assert len(found) == 0
    assert found.status == "best_effort"
    assert any("but not alone or as returned" in note for note in found.notes)


def test_one_that_does_not_hold_is_enough_to_ask_all_of_them_alone() -> None:
    asked: list[float] = []

    def score(rows: pd.DataFrame) -> Any:
        values = rows["p"].to_numpy()
        if len(rows) == 1:
            asked.append(float(values[0]))
            return np.where(values < 0.9, values - 1.0, values)
        return values

    found = cp.Explainer(score, SINGLES).explain({"p": -1.0, "q": 0.0, "r": 0.0}, (0.5, 2.0), FEW)

    values = found.to_rows()["p"]
    assert len(values)
    assert (values >= 0.9).all()
    assert set(values) <= set(asked)


def calls_of(seconds: float, target: tuple[float, float]) -> list[list[float]]:
    """Return what a model that takes that long a call is asked about when one row is explained."""
    calls: list[list[float]] = []

    def score(rows: pd.DataFrame) -> Any:
        calls.append(rows["p"].tolist())
        time.sleep(seconds)
        return rows["p"].to_numpy()

    explainer = cp.Explainer(score, SINGLES)
    calls.clear()
    found = explainer.explain({"p": -1.0, "q": 0.0, "r": 0.0}, target, cp.WhatIf(n=50))
    assert len(found) == 50
    return calls


def test_a_slow_model_is_asked_alone_for_a_second_at_most() -> None:
    calls = calls_of(0.0, (0.0, 3.0))

    assert 1 + 8 < len(calls) <= 1 + 20  # the row comes first; at 50 ms a call that is a second


def test_the_same_rows_are_asked_alone_however_slow_the_model_is() -> None:
    assert calls_of(0.02, (0.0, 3.0)) == calls_of(0.0, (0.0, 3.0))


def test_what_is_at_the_edge_and_was_not_asked_alone_is_not_valid_if_company_counts() -> None:
    def score(rows: pd.DataFrame) -> Any:
        alone = 1e-7 * np.sin(1e3 * rows["p"].to_numpy()) * (len(rows) == 1)
        return np.where(rows["p"] > 0.0, 0.5 + alone, 0.0)

    row, search = {"p": -1.0, "q": 0.0, "r": 0.0}, cp.WhatIf(n=50)
    found = cp.Explainer(score, SINGLES).explain(row, (0.5, None), search)

    rows = found.to_rows()
    assert 0 < len(rows) <= 14
    assert all(score(rows[i : i + 1])[0] >= 0.5 for i in range(len(rows)))


def test_confirming_is_counted_apart_and_saved(tmp_path: Path) -> None:
    asked: list[int] = []

    def score(rows: pd.DataFrame) -> Any:
        asked.append(len(rows))
        return rows["p"].to_numpy()

    explainer = cp.Explainer(score, SINGLES)
    found = explainer.explain({"p": -1.0, "q": 0.0, "r": 0.0}, (0.5, None), FEW)

    assert found.evaluations <= 400
    assert found.confirmations >= len(found.genomes)
    found.save(tmp_path / "found.json")
    assert cp.load(tmp_path / "found.json").confirmations == found.confirmations


def test_observed_rows_are_confirmed_too() -> None:
    def score(rows: pd.DataFrame) -> Any:
        return rows["p"].to_numpy() - 5 * ((rows["p"] > 0.9) & (len(rows) < 100)).to_numpy()

    found = cp.Explainer(score, SINGLES).explain(
        {"p": -1.0, "q": 0.0, "r": 0.0}, (0.8, 2.0), cp.WhatIf(n=20)
    )

    values = found.to_rows()["p"]
    assert len(values)
    assert values.between(0.8, 0.9).all()


def test_a_row_at_the_edge_has_reached_it_only_if_it_does_alone() -> None:
    def score(rows: pd.DataFrame) -> Any:
        return rows["p"].to_numpy() - 1e-7 * (len(rows) == 1)

    found = cp.Explainer(score, SINGLES).explain({"p": 0.5, "q": 0.0, "r": 0.0}, (0.5, None), FEW)

    assert found.status == "found"


def test_the_edge_of_large_outputs_is_as_wide_as_their_rounding() -> None:
    def score(rows: pd.DataFrame) -> Any:
        values = (1e6 + 100.0 * rows["p"].to_numpy()).astype(np.float32)
        return values - np.float32(0.5) * (len(rows) == 1)

    low = 1e6 + 100.0 * float(SINGLES["p"].sort_values().iloc[-50]) - 0.25
    row, search = {"p": -1.0, "q": 0.0, "r": 0.0}, cp.WhatIf(n=50)
    found = cp.Explainer(score, SINGLES).explain(row, (low, None), search)

    rows = found.to_rows()
    assert len(rows) == 49
    assert all(score(rows[i : i + 1])[0] >= low for i in range(len(rows)))


def test_what_holds_only_if_numbers_lie_in_memory_by_rows_is_not_valid() -> None:
    def score(rows: pd.DataFrame) -> Any:
        cells = rows.to_numpy()
        return cells[:, 0] - 1e-12 * (not cells.flags.c_contiguous)

    low = float(SINGLES["p"].sort_values().iloc[-10])
    row = {"p": -1.0, "q": 0.0, "r": 0.0}
    found = cp.Explainer(score, SINGLES).explain(row, (low, None), cp.WhatIf(n=10))

    read = pd.read_csv(io.StringIO(found.to_csv()))[["p", "q", "r"]]
    assert len(read) == 9
    assert (score(read) >= low).all()


@pytest.mark.parametrize("scales", [False, True])
def test_trees_that_were_read_say_the_same_however_numbers_lie_in_memory(scales: bool) -> None:
    is_high = SINGLES["p"] + SINGLES["q"] > 0.0
    forest = RandomForestClassifier(10, random_state=0)
    model = make_pipeline(StandardScaler(), forest) if scales else forest
    model.fit(SINGLES, is_high)
    predictor = cp.Explainer(model, SINGLES).predictor
    genomes = mix_columns(predictor.observed)

    assert not predictor.adds_columns
    by_column = predictor.plain.outputs(np.asfortranarray(genomes))
    np.testing.assert_array_equal(by_column, predictor.plain.outputs(genomes))


def test_only_models_whose_trees_were_read_add_up_no_columns() -> None:
    is_high = SINGLES["p"] + SINGLES["q"] > 0.0
    linear = LogisticRegression().fit(SINGLES, is_high)
    turned = make_pipeline(PCA(2), RandomForestClassifier(10, random_state=0)).fit(SINGLES, is_high)

    assert cp.Explainer(linear, SINGLES).predictor.adds_columns
    assert cp.Explainer(turned, SINGLES).predictor.adds_columns
    assert cp.Explainer(lambda rows: linear.predict_proba(rows), SINGLES).predictor.adds_columns
