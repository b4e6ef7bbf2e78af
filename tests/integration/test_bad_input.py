"""What users type wrongly, through the public API: a message that names the fix, or a diagnosis."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import counterpoint as cp
from counterpoint.datasets import load_credit

N = 80
FAST = cp.Search(population=8, generations=5)
ROW = {"income": 14, "debt": 6.5, "job": "clerk", "owns": False}


def draw_table() -> pd.DataFrame:
    rng = np.random.default_rng(0)  # noqa: TID251
    return pd.DataFrame(
        {
            "income": rng.integers(10, 60, N),
            "debt": rng.normal(4.0, 2.0, N).round(1),
            "job": rng.choice(["clerk", "nurse", "smith"], N),
            "owns": rng.random(N) < 0.5,
        }
    )


def score(rows: pd.DataFrame) -> Any:
    return 1.0 / (1.0 + np.exp(rows["debt"] - 0.1 * rows["income"] - 1.0 * rows["owns"]))


@pytest.fixture
def data() -> pd.DataFrame:
    return draw_table()


@pytest.fixture(scope="module")
def explainer() -> cp.Explainer:
    return cp.Explainer(score, draw_table())


@pytest.fixture(scope="module")
def classifier() -> Any:
    table = draw_table()
    encode = make_column_transformer((OneHotEncoder(), ["job"]), remainder="passthrough")
    model = make_pipeline(encode, RandomForestClassifier(20, random_state=0))
    return model.fit(table, np.where(score(table) > 0.5, "good", "bad"))


@pytest.fixture(scope="module")
def of_classes(classifier: Any) -> cp.Explainer:
    return cp.Explainer(classifier, draw_table())


# Arguments in each other's place


def test_a_model_and_data_that_are_swapped_are_told(data: pd.DataFrame, classifier: Any) -> None:
    message = r"model is a DataFrame and data a Pipeline: .* swapped; write Explainer\(model, data"

    with pytest.raises(cp.InvalidInput, match=message):
        cp.Explainer(data, classifier)


def test_a_row_and_a_target_that_are_swapped_are_told(of_classes: cp.Explainer) -> None:
    row: Any = draw_table()[:1]
    message = r"target is a DataFrame, which is no outcome; is it swapped with {}\? What is explain"

    with pytest.raises(cp.InvalidInput, match=message.format("row")):
        of_classes.explain("good", row, FAST)
    with pytest.raises(cp.InvalidInput, match=message.format("rows")):
        of_classes.explain_many("good", row, FAST)


# The data


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda data: data["debt"], r"data must be a DataFrame of pandas or polars.*got Series"),
        (lambda data: data.iloc[:0], "data is empty: 0 rows, 4 columns; pass the observed rows"),
        (lambda data: data[[]], "data is empty: 80 rows, 0 columns"),
        (
            lambda data: data[["debt", "debt"]],
            "data has duplicate columns 'debt'; give each its own",
        ),
        (
            lambda data: data.assign(debt=data["debt"].where(data.index > 99)),
            "data column 'debt' has no values at all, only missing ones; drop it",
        ),
        (lambda data: data.assign(debt=np.inf), "data column 'debt' has infinite values; replace"),
        (
            lambda data: data.assign(since=pd.Timestamp("2020-01-01 08:00")),
            "data column 'since' has times of day, first 2020-01-01T08:00:00; dates are searched",
        ),
        (
            lambda data: data.assign(debt=data["debt"].astype(object)),
            "data column 'debt' has dtype object but holds only numbers; convert it with",
        ),
        (
            lambda data: data.assign(number=10**17),
            r"data column 'number' holds whole numbers beyond 2\*\*53.*drop the column",
        ),
    ],
)
def test_data_that_cannot_be_searched_are_refused(
    data: pd.DataFrame, spoil: Callable[[pd.DataFrame], Any], message: str
) -> None:
    spoiled = spoil(data)

    with pytest.raises(cp.InvalidInput, match=message):
        cp.Explainer(score, spoiled)


def test_constant_data_leave_nothing_to_change_and_the_result_says_so() -> None:
    constant = pd.DataFrame({"debt": [1.5] * 5, "job": ["clerk"] * 5})
    explainer = cp.Explainer(lambda rows: np.full(len(rows), 0.2), constant)

    found = explainer.explain({"debt": 1.5, "job": "clerk"}, (0.5, 1.0), FAST)

    assert len(found.genomes) == 0
    assert found.status == "infeasible"  # all that is allowed was tried: nothing
    assert "no observed row reaches it either" in found.message
    assert found.to_frame(near_misses=True).empty


def test_a_single_observed_row_is_data_too() -> None:
    explainer = cp.Explainer(score, draw_table().iloc[[0]])

    found = explainer.explain({**ROW, "job": "smith"}, (0.5, 1.0), FAST)

    assert found.status in ("found", "best_effort")
    assert found.message


# The model


def fail(rows: pd.DataFrame) -> Any:
    raise ZeroDivisionError(f"cannot judge {len(rows)} rows")


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (fail, "the model raised ZeroDivisionError on 8 rows: cannot judge"),
        (
            lambda rows: score(rows) * np.nan,
            "NaN or infinite scores for 80 of 80 rows, first for {",
        ),
        (lambda rows: score(rows)[:-1], r"shape \(7,\) for 8 rows; expected \(8,\), \(8, 1\) or"),
        (lambda _: None, "the model returned an array of shape"),
        (lambda rows: np.full(len(rows), "good"), "not numbers.*predict instead of predict_proba"),
        (
            lambda rows: np.column_stack([score(rows), score(rows)]),
            "which are not probabilities: each must lie between 0 and 1 and they must sum to 1",
        ),
    ],
)
def test_a_model_that_fails_is_told_when_the_explainer_is_made(
    data: pd.DataFrame, model: Any, message: str
) -> None:
    with pytest.raises(cp.PredictorError, match=message):
        cp.Explainer(model, data)


def test_a_model_that_fails_only_on_candidates_is_told_during_the_search(
    data: pd.DataFrame,
) -> None:
    seen = set(map(tuple, data.itertuples(index=False))) | {tuple(ROW.values())}

    def fail_elsewhere(rows: pd.DataFrame) -> Any:
        is_seen = [tuple(row) in seen for row in rows.itertuples(index=False)]
        return score(rows).where(is_seen)

    explainer = cp.Explainer(fail_elsewhere, data)

    with pytest.raises(cp.PredictorError, match=r"NaN or infinite scores for .* rows, first for"):
        explainer.explain(ROW, (0.5, 1.0), FAST)


def test_a_model_that_raises_for_some_candidates_names_the_first_of_them(
    data: pd.DataFrame,
) -> None:
    def fail_for_nobody_in_debt(rows: pd.DataFrame) -> Any:
        if (rows["debt"] == 0.5).any():
            raise ZeroDivisionError("no debt")
        return score(rows)

    explainer = cp.Explainer(fail_for_nobody_in_debt, data[data["debt"] != 0.5])
    message = (
        r"raised ZeroDivisionError on \d+ rows: no debt; asked row by row, it fails first "
        r"for {'income': .*, 'debt': 0.5, .*}\. Leave out such rows .* ranges= or constraints=\."
    )

    with pytest.raises(cp.PredictorError, match=message):
        explainer.explain(ROW, (0.9, 1.0), constraints=["debt in 0.4..0.6"])


def test_a_model_fitted_on_other_columns_is_told_in_its_own_words(
    data: pd.DataFrame, classifier: Any
) -> None:
    with pytest.raises(
        cp.PredictorError, match=r"(?s)raised ValueError on .* rows: .*missing.*job"
    ):
        cp.Explainer(classifier, data.drop(columns="job"))


def test_a_model_that_was_never_fitted_is_told_in_its_own_words(data: pd.DataFrame) -> None:
    numbers = data[["income", "debt"]]

    with pytest.raises(cp.PredictorError, match=r"raised NotFittedError .*not fitted yet"):
        cp.Explainer(LogisticRegression(), numbers)


@pytest.mark.parametrize("model", [None, "forest.pkl", 3])
def test_what_cannot_score_is_no_model(data: pd.DataFrame, model: Any) -> None:
    with pytest.raises(cp.InvalidInput, match="model must be a callable or have predict_proba"):
        cp.Explainer(model, data)


@pytest.mark.parametrize("classes", ["good", 2, {"bad", "good"}, ["good"]])
def test_classes_that_are_no_labels_are_refused(data: pd.DataFrame, classes: Any) -> None:
    with pytest.raises(cp.InvalidInput, match="classes must be a list of at least two different"):
        cp.Explainer(score, data, classes=classes)


# The settings of the explainer


@pytest.mark.parametrize("k", [0, -1, N + 1, 1.5, "1", None, True])
def test_a_k_that_is_no_count_of_observed_rows_is_refused(data: pd.DataFrame, k: Any) -> None:
    with pytest.raises(cp.InvalidInput, match=f"k must be a whole number from 1 to the {N} .*got"):
        cp.Explainer(score, data, k=k)


@pytest.mark.parametrize("weights", [[1.0], [1.0, 2.0, 3.0], [1.0, -1.0], [1.0, np.nan], 2.0])
def test_weights_that_do_not_fit_k_are_refused(data: pd.DataFrame, weights: Any) -> None:
    with pytest.raises(cp.InvalidInput, match=r"weights must be 2 numbers of at least 0, got"):
        cp.Explainer(score, data, k=2, weights=weights)


def test_weights_without_their_k_name_it(data: pd.DataFrame) -> None:
    with pytest.raises(cp.InvalidInput, match="one for each of the k=1 nearest rows, or another k"):
        cp.Explainer(score, data, weights=[1, 2])


def test_classes_in_another_order_than_the_models_are_refused(
    data: pd.DataFrame, classifier: Any
) -> None:
    message = (
        r"classes has the model's own classes in another order: its columns are 'bad' and 'good', "
        r"got \['good', 'bad'\]; leave classes out"
    )

    with pytest.raises(cp.InvalidInput, match=message):
        cp.Explainer(classifier, data, classes=["good", "bad"])
    known = cp.Explainer(classifier, data, classes=["bad", "good"])
    assert known.classes == ("bad", "good")


def test_weights_of_nothing_are_refused(data: pd.DataFrame) -> None:
    with pytest.raises(cp.InvalidInput, match="weights must not all be 0"):
        cp.Explainer(score, data, k=2, weights=[0, 0])


def test_an_unknown_precision_is_refused(data: pd.DataFrame) -> None:
    with pytest.raises(
        cp.InvalidInput, match="precision must be 'observed' or 'full', got 'exact'"
    ):
        cp.Explainer(score, data, precision="exact")  # type: ignore[arg-type]


# The row


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"job": "nurze"}, r"row column 'job' has the level 'nurze'.*did you mean 'nurse'\?"),
        ({"job": "pilot"}, "row column 'job' .*its levels are 'clerk', 'nurse' and 'smith'"),
        ({"owns": "yes"}, "row column 'owns' has the level 'yes'.*its levels are False and True"),
        ({"income": "14"}, r"row column 'income' must hold numbers \(dtype int64\), got '14'"),
        ({"income": 14.5}, "row column 'income' must hold whole numbers like the data, got 14.5"),
        ({"income": [14]}, r"row column 'income' must hold numbers .* got \[14\]"),
        (
            {"debt": np.nan},
            "row column 'debt' has 1 missing values, where the data have no",
        ),
        ({"debt": None}, "row column 'debt' has 1 missing values"),
        ({"debt": np.inf}, "row column 'debt' has infinite values"),
        ({"debt": pd.Timestamp("2020-01-01")}, "row column 'debt' must hold numbers .*Timestamp"),
    ],
)
@pytest.mark.parametrize("form", [dict, pd.Series, lambda row: pd.DataFrame([row])])
def test_a_row_with_a_wrong_value_is_refused(
    explainer: cp.Explainer,
    change: dict[str, Any],
    message: str,
    form: Callable[[dict[str, Any]], Any],
) -> None:
    row = form({**ROW, **change})

    with pytest.raises(cp.InvalidInput, match=message):
        explainer.explain(row, (0.5, 1.0), FAST)


def test_a_row_without_a_column_is_refused(explainer: cp.Explainer) -> None:
    row = {"income": 14, "owns": False}

    with pytest.raises(cp.InvalidInput, match="row lacks the columns 'debt' and 'job'; it needs"):
        explainer.explain(row, (0.5, 1.0), FAST)


@pytest.mark.parametrize("row", [None, "A-1071", 7, np.array([14, 6.5]), [14, 6.5, "clerk", False]])
def test_what_names_no_columns_is_no_row(explainer: cp.Explainer, row: Any) -> None:
    with pytest.raises(cp.InvalidInput, match=r"row must be a DataFrame, a Series, a dict .*got"):
        explainer.explain(row, (0.5, 1.0), FAST)


@pytest.mark.parametrize("n", [0, 2])
def test_a_frame_of_more_or_fewer_rows_than_one_is_refused(
    explainer: cp.Explainer, data: pd.DataFrame, n: int
) -> None:
    with pytest.raises(cp.InvalidInput, match=f"row must be one row, got {n}; use explain_many"):
        explainer.explain(data.iloc[:n], (0.5, 1.0), FAST)


@pytest.mark.parametrize("rows", [[], draw_table().iloc[:0]])
def test_no_rows_have_no_results(explainer: cp.Explainer, rows: Any) -> None:
    assert explainer.explain_many(rows, (0.5, 1.0), FAST) == []


def test_a_wrong_value_in_many_rows_is_told_by_its_column(explainer: cp.Explainer) -> None:
    rows = [ROW, {**ROW, "job": "pilot"}]

    with pytest.raises(cp.InvalidInput, match="rows column 'job' has the level 'pilot'"):
        explainer.explain_many(rows, (0.5, 1.0), FAST)


def test_a_row_outside_the_datas_range_is_explained_with_a_note(explainer: cp.Explainer) -> None:
    found = explainer.explain({**ROW, "income": 3}, (0.5, 1.0), FAST)

    assert found.status == "found"
    assert [note for note in found.notes if "'income' = 3 lies outside the data's range" in note]


def test_a_row_its_columns_dtype_cannot_hold_is_refused(data: pd.DataFrame) -> None:
    explainer = cp.Explainer(score, data.astype({"income": "int8"}))

    with pytest.raises(
        cp.InvalidInput, match="'income' has 300, which the data's dtype int8 cannot"
    ):
        explainer.explain({**ROW, "income": 300}, (0.5, 1.0), FAST)


# The target


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("Good", r"target class 'Good' is not a class .*'bad' and 'good'; did you mean 'good'\?"),
        (1, "target class 1 is not a class of this model; its classes are 'bad' and 'good'"),
        (0.8, r"a probability goes with its class, as in target=\('good', \(0.8, 1.0\)\)\."),
        (None, "target class None is not a class"),
        (pd.Series(["good"]), "(?s)target class .* is not a class of this model"),
        (("good", 0.8), r"must be a class with an interval .*target=\('good', \(0.8, 1.0\)\)"),
        ((0.8, 1.0), r"does not say which class .*target=\('good', \(0.8, 1.0\)\)"),
        (("good", (1.0, 0.8)), r"target interval \(1.0, 0.8\) is upside down; write \(0.8, 1\)"),
        (("good", (2, 3)), r"target interval \(2, 3\) holds no probability"),
        (cp.Target(0.5, 1.0, label="good"), "label 'good' and column 0, which is class 'bad'"),
    ],
)
def test_a_target_the_classifier_cannot_have_is_refused(
    of_classes: cp.Explainer, target: Any, message: str
) -> None:
    with pytest.raises(cp.InvalidInput, match=message):
        of_classes.explain(ROW, target, FAST)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("good", r"target 'good' does not fit this model, .* no classes.*pass classes=\[...\]"),
        ((1.0, 0.5), r"target interval \(1.0, 0.5\) is upside down; write \(0.5, 1\)"),
        ((None, None), "admits every prediction; give at least one end"),
        (np.nan, "has a NaN"),
        (
            cp.Target(0.5, 1.0, column=3),
            "target has column 3, but the model's outputs are numbered",
        ),
    ],
)
def test_a_target_a_single_score_cannot_have_is_refused(
    explainer: cp.Explainer, target: Any, message: str
) -> None:
    with pytest.raises(cp.InvalidInput, match=message):
        explainer.explain(ROW, target, FAST)


def test_a_target_already_met_gives_an_empty_result_that_says_so(explainer: cp.Explainer) -> None:
    found = explainer.explain(ROW, (0.0, 0.5), FAST)

    assert found.status == "already_met"
    assert len(found.genomes) == 0
    assert found.to_frame(near_misses=True).empty
    assert "the row already reaches" in found.message
    assert "prediction between 0 and 0.5" in found.message


def test_a_class_already_given_is_a_target_already_met(of_classes: cp.Explainer) -> None:
    found = of_classes.explain(ROW, "bad", FAST)

    assert found.status == "already_met"
    assert "class 'bad'" in found.message


def test_a_target_nothing_reaches_is_diagnosed(explainer: cp.Explainer) -> None:
    found = explainer.explain(ROW, (2.0, 3.0), FAST)

    assert found.status == "best_effort"
    assert len(found.genomes) > 0
    assert len(found.valid()) == 0
    assert "the nearest of" in found.message
    assert "no observed row reaches it either" in found.message


def test_three_classes_without_a_majority_are_not_already_another(data: pd.DataFrame) -> None:
    with pytest.warns(cp.ModelWarning, match="same of all"):
        explainer = cp.Explainer(
            lambda rows: np.tile([0.4, 0.35, 0.25], (len(rows), 1)), data, classes=["a", "b", "c"]
        )

    found = explainer.explain(ROW, "opposite", FAST)

    assert found.status == "best_effort"
    assert not found.reaches.any()


# The limits and settings of a search


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"seed": -1}, r"seed must be a whole number from 0 to 2\*\*64 - 1, got -1"),
        (
            {"seed": 1.5},
            r"seed must be a whole number from 0 to 2\*\*64 - 1, got 1.5; for example seed=0",
        ),
        ({"seed": None}, "seed must be a whole number .*, got None"),
        ({"search": "mocmod"}, r"got 'mocmod'; for example search=Search\.paper\('mocmod'\)\."),
        ({"search": "fast"}, r"got 'fast'; for example search=Search\(evaluations=2000\)\."),
        ({"search": cp.Search}, "search must be a Search, WhatIf or NICE, got <class"),
        ({"search": {"population": 8}}, "search must be a Search, WhatIf or NICE"),
        ({"fixed": "debt"}, r"fixed must be a list of column names, got 'debt'; .*\['debt'\]"),
        ({"fixed": None}, "fixed must be a list of column names, got None"),
        ({"fixed": {"debt": 3}}, r"fixed must be a list of column names, got {'debt': 3}; for ex"),
        ({"constraints": {"debt": "increases"}}, "constraints must be a list of rules, got {'debt"),
        ({"fixed": list(ROW)}, "fixed names every feature, so nothing could change; free some"),
        ({"ranges": [("debt", (0, 1))]}, r"ranges must be a dict of column name to \(low, high\)"),
        ({"ranges": {"debt": 5}}, r"ranges\['debt'\] must be \(low, high\), got 5"),
        ({"ranges": {"debt": (3, 1)}}, r"ranges\['debt'\] must be finite with low <= high, got"),
        ({"ranges": {"debt": ("low", 1)}}, r"ranges\['debt'\] must hold numbers or None"),
        ({"ranges": {"job": (0, 1)}}, r"ranges\['job'\] names 0, .* is categorical, not a number"),
        ({"ranges": {"income": (14.2, 14.8)}}, "no value of the data's precision for 'income'"),
        ({"fixed": ["debt"], "ranges": {"debt": (0, 1)}}, "'debt' is both in fixed and in ranges"),
        ({"max_changed": 0}, "max_changed must be a whole number of at least 1, or None, got 0"),
        (
            {"max_changed": 1.5},
            "max_changed must be a whole number of at least 1, or None, got 1.5",
        ),
        (
            {"max_changed": 1, "ranges": {"debt": (0, 1), "income": (40, 50)}},
            "max_changed is 1, but ranges exclude .* raise max_changed or widen the ranges",
        ),
    ],
)
def test_a_search_that_means_nothing_is_refused(
    explainer: cp.Explainer, given: dict[str, Any], message: str
) -> None:
    arguments = {"search": FAST, **given}

    with pytest.raises(cp.InvalidInput, match=message):
        explainer.explain(ROW, (0.5, 1.0), **arguments)
    with pytest.raises(cp.InvalidInput, match=message):
        explainer.explain_many([ROW], (0.5, 1.0), **arguments)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"fixed": ["dept"]}, r"fixed names 'dept'.*did you mean 'debt'\?"),
        ({"ranges": {"dept": (0, 1)}}, r"ranges names 'dept'.*did you mean 'debt'\?"),
    ],
)
def test_limits_on_an_unknown_column_are_refused(
    explainer: cp.Explainer, given: dict[str, Any], message: str
) -> None:
    with pytest.raises(cp.UnknownFeatureError, match=message):
        explainer.explain(ROW, (0.5, 1.0), FAST, **given)


@pytest.mark.parametrize("end", [2021, 18300.0])
def test_numbers_are_no_ends_of_dates(end: Any) -> None:
    data = pd.DataFrame({"since": pd.date_range("2020-01-01", periods=20), "debt": range(20)})
    explainer = cp.Explainer(lambda rows: rows["debt"] / 20, data)

    with pytest.raises(cp.InvalidInput, match=r"ranges\['since'\] must hold dates, got .*'2024-12"):
        explainer.explain(data[:1], (0.5, 1.0), FAST, ranges={"since": (end, None)})


@pytest.mark.parametrize("ask", [cp.explain_frame, cp.verify_frame])
def test_workers_of_frames_are_refused_and_not_told_of_each_row(
    explainer: cp.Explainer, ask: Any
) -> None:
    with pytest.raises(cp.InvalidInput, match="workers must be a whole number from 1 to 1,024"):
        ask(explainer, draw_table()[:2], (0.5, 1.0), workers="two")


@pytest.mark.parametrize("workers", [0, -1, 1.5, "2", True])
def test_workers_that_are_no_count_are_refused(explainer: cp.Explainer, workers: Any) -> None:
    with pytest.raises(cp.InvalidInput, match="workers must be a whole number from 1 to 1,024"):
        explainer.explain_many([ROW], (0.5, 1.0), FAST, workers=workers)


def test_a_range_that_excludes_the_row_is_noted(explainer: cp.Explainer) -> None:
    found = explainer.explain(ROW, (0.5, 1.0), FAST, ranges={"income": (40, 50)})

    assert (found.to_frame(near_misses=True)["income"] >= 40).all()
    assert [note for note in found.notes if "'income' excludes the row's own value 14" in note]


@pytest.mark.parametrize(
    "mistake",
    [
        lambda: cp.Explainer(None, draw_table()),
        lambda: cp.Explainer(score, draw_table().iloc[:0]),
        lambda: cp.Explainer(fail, draw_table()),
        lambda: cp.Explainer(score, draw_table()).explain({"x": 1}, (0, 1)),
    ],
)
def test_every_mistake_can_be_caught_as_ours(mistake: Callable[[], Any]) -> None:
    with pytest.raises(cp.CounterpointError):
        mistake()


# The caller's frames


def test_the_callers_frames_are_never_modified(data: pd.DataFrame) -> None:
    mixed = data.assign(job=data["job"].astype("category"), share=data["debt"].astype("float32"))
    rows = mixed.iloc[3:6].copy()
    before, rows_before = mixed.copy(deep=True), rows.copy(deep=True)

    def scribble(given: pd.DataFrame) -> Any:
        scores = score(given)
        given.loc[:, "debt"] = -1.0
        given["extra"] = 0
        return scores

    explainer = cp.Explainer(scribble, mixed)
    found = explainer.explain(rows.iloc[[0]], "opposite", FAST, fixed=["owns"])
    many = explainer.explain_many(rows, "opposite", FAST, workers=2)
    for frame in (found.to_frame(near_misses=True), many[1].to_frame(), many[2].row):
        frame.loc[:, "debt"] = 99.0

    pd.testing.assert_frame_equal(mixed, before)
    pd.testing.assert_frame_equal(rows, rows_before)


def test_a_model_that_writes_to_its_rows_gets_the_same_result_as_one_that_does_not() -> None:
    numbers = draw_table()[["income", "debt"]].astype("float64")

    def judge(rows: pd.DataFrame) -> Any:
        return 1.0 / (1.0 + np.exp(rows["debt"] - 0.1 * rows["income"]))

    def scribble(rows: pd.DataFrame) -> Any:
        scores = judge(rows)
        rows.loc[:, :] = 0.0
        return scores

    row = {"income": 14.0, "debt": 6.5}
    tidy = cp.Explainer(judge, numbers).explain(row, (0.5, 1.0), FAST)

    messy = cp.Explainer(scribble, numbers).explain(row, (0.5, 1.0), FAST)

    pd.testing.assert_frame_equal(messy.to_frame(near_misses=True), tidy.to_frame(near_misses=True))


def test_a_callers_dict_and_series_are_never_modified(explainer: cp.Explainer) -> None:
    row, series = dict(ROW), pd.Series(ROW)

    explainer.explain(row, (0.5, 1.0), FAST)
    explainer.explain(series, (0.5, 1.0), FAST)

    assert row == ROW
    pd.testing.assert_series_equal(series, pd.Series(ROW))


def test_an_outcome_left_in_the_data_is_named() -> None:
    """Some models pass over columns they do not know, so nobody else would say it."""
    data, risk = load_credit()
    model = HistGradientBoostingClassifier(max_iter=5, random_state=0).fit(data, risk)

    with pytest.raises(cp.InvalidInput, match=r"'risk', which the model was not trained on; leave"):
        cp.Explainer(model, data.assign(risk=risk))
    assert cp.Explainer(model, data).classes == ("bad", "good")


class Mute(Exception):  # noqa: N818 - as somebody else might call it
    """An error whose text cannot be made."""

    def __str__(self) -> str:
        raise RuntimeError("no text")


def be_mute(*_: Any) -> Any:
    raise Mute


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: cp.Explainer(be_mute, draw_table()), "the model raised Mute on"),
        (
            lambda: cp.Explainer(score, draw_table()).explain(
                ROW, (0.5, 1.0), FAST, constraints=[be_mute]
            ),
            "rule 'be_mute' raised Mute for 1 rows",
        ),
        (
            lambda: cp.Explainer(
                score, draw_table(), objectives=[cp.Objective("own", be_mute)]
            ).explain(ROW, (0.5, 1.0), FAST),
            "objective 'own' raised Mute",
        ),
    ],
    ids=["model", "rule", "objective"],
)
def test_an_error_that_cannot_say_what_it_is_becomes_ours(ask: Any, message: str) -> None:
    with pytest.raises(cp.CounterpointError, match=rf"{message}.*: \(its text cannot be shown\)"):
        ask()


HALF = "x" + chr(0xD800)  # of a character


@pytest.mark.parametrize("kind", ["objects", "texts", "frame"])
def test_a_lone_half_of_a_character_is_a_level_that_texts_write_as_its_code(
    kind: str, tmp_path: Path
) -> None:
    cells = [[str(i % 7), [HALF, "y", "z"][i % 3]] for i in range(60)]
    data: Any = np.array(cells, dtype=object if kind == "objects" else None)
    if kind == "frame":
        data = pd.DataFrame(cells, columns=["a", "b"], dtype=object)

    def model(rows: Any) -> Any:
        return (np.asarray(rows)[:, 1] == HALF) * 1.0

    explainer = cp.Explainer(model, data)
    row = {"a": "1", "b": "y"} if kind == "frame" else data[1]

    found = explainer.explain(row, (0.5, None), FAST)

    assert HALF in np.asarray(found.to_rows())
    said = [str(found), repr(found), found.explain_text(), found.message, str(explainer.schema)]
    assert all("x\\ud800" in text for text in (said[0], said[2], said[4]))
    assert [text.encode().decode() for text in said] == said
    found.save(tmp_path / "found.json")
    assert cp.load(tmp_path / "found.json") == found
    with pytest.raises(cp.InvalidInput, match=r"UTF-8 has no place for '\\ud800', a lone half"):
        found.to_csv(tmp_path / "found.csv")
    if kind == "frame":
        with pytest.raises(cp.InvalidInput, match=r"has the level 'q\\ud800', which"):
            explainer.explain({"a": "1", "b": "q" + chr(0xD800)}, (0.5, None), FAST)


@pytest.mark.parametrize("as_categories", [True, False])
def test_levels_may_be_tuples_of_any_length(as_categories: bool, tmp_path: Path) -> None:
    levels = pd.Index([(1, 2), (3,), ("a", 5, 6)], tupleize_cols=False)
    column: Any = pd.Categorical.from_codes(np.arange(60) % 3, levels)
    data = pd.DataFrame(
        {"a": np.arange(60), "b": column if as_categories else column.astype(object)}
    )
    explainer = cp.Explainer(lambda rows: rows["b"].astype(object).map(len) / 3, data)

    found = explainer.explain(data[:1], (0.9, None), FAST)

    assert ("a", 5, 6) in [*found.to_frame()["b"]]
    found.save(tmp_path / "found.json")
    assert cp.load(tmp_path / "found.json") == found


def test_a_dictionary_of_arrow_whose_values_have_parts_is_refused() -> None:
    places, parts = pa.array(np.arange(60) % 2, pa.int8()), pa.array([{"k": 1}, {"k": 2}])
    data = pa.table({"b": pa.DictionaryArray.from_arrays(places, parts)})

    with pytest.raises(cp.InvalidInput, match="data column 'b' has dtype dictionary<values=struct"):
        cp.Explainer(lambda rows: np.zeros(len(rows)), data)


@pytest.mark.parametrize(
    "ask",
    [
        lambda made: made.explain(ROW, (0.5, 1.0), FAST, fixed=[pd.NA]),
        lambda made: made.explain(ROW, (0.5, 1.0), FAST, ranges={pd.NA: (0, 1)}),
        lambda made: made.explain(ROW, (0.5, 1.0), FAST).filter(keep=[pd.NA]),
        lambda made: made.explain(ROW, (0.5, 1.0), FAST).plot.ice(pd.NA),
        lambda _: cp.Explainer(score, draw_table(), protected=[pd.NA]),
        lambda _: cp.Explainer(score, draw_table(), allow_missing=[pd.NA]),
        lambda _: cp.Explainer(score, draw_table(), groups={"g": [pd.NA, "owns"]}),
    ],
)
def test_pandas_na_names_no_column(explainer: cp.Explainer, ask: Any) -> None:
    with pytest.raises(cp.UnknownFeatureError, match="names <NA>, which is not a column of the"):
        ask(explainer)


def test_progress_is_a_truth_value_or_none(explainer: cp.Explainer) -> None:
    with pytest.raises(cp.InvalidInput, match="progress must be True, False or None, got <NA>"):
        explainer.explain(ROW, (0.5, 1.0), FAST, progress=pd.NA)  # type: ignore[arg-type]


# What is asked of results


@pytest.fixture(scope="module")
def found(of_classes: cp.Explainer) -> cp.Counterfactuals:
    table = draw_table()
    refused = table[[label == "bad" for label in of_classes.predictor.model.predict(table)]]
    return of_classes.explain(refused[:1], "good", FAST)


@pytest.mark.parametrize("index", ["age", [0, 1.5], [True], None, True, {"a": 1}, [[0]]])
def test_what_is_no_position_cannot_be_taken(found: cp.Counterfactuals, index: Any) -> None:
    message = r"take must be a position, a list of positions, a slice or \d+ truth values, got "

    with pytest.raises(cp.InvalidInput, match=message):
        found.take(index)


@pytest.mark.parametrize("index", [[10**6], -(10**6)])
def test_a_position_that_is_not_there_is_told(found: cp.Counterfactuals, index: Any) -> None:
    with pytest.raises(IndexError, match=r"take: there is no position -?10* among \d+; they are 0"):
        found.take(index)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda found: found.coverage_of(3), "coverage_of.other must be a result of the same row"),
        (lambda found: found.coverage_of([found]), r"coverage_of.other must be .*, got \["),
        (lambda found: found.summary("all"), "summary: n must be a whole number of at least 0"),
        (lambda found: found.summary(2.5), "summary: n must be a whole number .*, got 2.5"),
        (lambda found: found.summary(2, "wide"), "summary: width must be a whole number of at"),
        (lambda found: found.ways(supersets="all"), "ways: supersets must be False or True, got"),
        (lambda found: found.safety(RandomForestClassifier()), "safety: models must be a list of"),
        (
            lambda found: cp.save_many([found, None], "found.parquet"),  # type: ignore[list-item]
            "save_many takes a list of results, got None in it; for example what explain_many",
        ),
    ],
)
def test_a_question_a_result_cannot_answer_is_refused(
    found: cp.Counterfactuals,
    ask: Callable[[cp.Counterfactuals], Any],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)

    with pytest.raises(cp.InvalidInput, match=message):
        ask(found)
    assert not list(tmp_path.iterdir())


def test_a_fitted_forest_is_one_model_and_no_list_of_its_trees(
    found: cp.Counterfactuals, classifier: Any, of_classes: cp.Explainer
) -> None:
    forest, row = classifier[-1], draw_table()[:1]

    with pytest.raises(cp.InvalidInput, match="safety: models must be a list of at least one mod"):
        found.safety(forest)
    with pytest.raises(cp.InvalidInput, match="safety: models must be a list of at least one mod"):
        of_classes.judge(row, row, "good", safety=forest)


@pytest.mark.parametrize("out", [None, 3])
def test_a_folder_for_files_is_named(explainer: cp.Explainer, out: Any) -> None:
    with pytest.raises(cp.InvalidInput, match=r"out must name a folder, got .*; for example out='"):
        cp.explain_files(explainer, "rows.csv", (0.5, 1.0), out=out)
