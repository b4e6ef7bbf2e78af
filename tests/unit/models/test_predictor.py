from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from tests.strategies import generator
from threadpoolctl import threadpool_info

import counterpoint as cp
from counterpoint.arrays import Floats
from counterpoint.errors import InvalidInput, PredictorError
from counterpoint.models.predictor import BLOCK, Predictor
from counterpoint.table.schema import Encoding, Schema

N = 60
Model = Callable[[Any], Any]


def frozen(array: Any) -> Any:
    array.setflags(write=False)
    return array


def draw_table() -> pd.DataFrame:
    rng = generator(0)
    return pd.DataFrame(
        {
            "income": rng.integers(10, 60, N),
            "debt": rng.normal(4.0, 2.0, N).round(1),
            "job": rng.choice(["clerk", "nurse", "smith"], N),
        }
    )


TABLE = draw_table()
NUMBERS = TABLE[["income", "debt"]].astype("float64")
IS_GOOD = (TABLE["income"] - 5 * TABLE["debt"] > 15).to_numpy()
LABELS = np.where(IS_GOOD, "good", "bad")


def predictor_of(model: Any, data: pd.DataFrame = NUMBERS, classes: Any = None) -> Predictor:
    encoding = Encoding(Schema.infer(data))
    return Predictor(model, encoding, frozen(encoding.encode(data)), classes)


def score(rows: pd.DataFrame) -> Any:
    return 1.0 / (1.0 + np.exp(-0.1 * rows["income"] + rows["debt"] - 1.0))


def both(rows: pd.DataFrame) -> Any:
    return np.column_stack([1.0 - score(rows), score(rows)])


SCORES: Floats = np.asarray(score(NUMBERS))


@pytest.mark.parametrize(
    "model",
    [
        score,
        lambda rows: score(rows).to_numpy(),
        lambda rows: score(rows).tolist(),
        lambda rows: score(rows).to_numpy()[:, None],
        lambda rows: score(rows).to_frame(),
        lambda rows: score(rows).astype(object),
        lambda rows: score(rows).astype("Float64"),
    ],
)
def test_a_function_of_one_score_has_one_output_and_no_classes(model: Model) -> None:
    predictor = predictor_of(model)

    assert predictor.classes is None
    np.testing.assert_array_equal(predictor.observed_outputs, SCORES[:, None])
    assert not predictor.has_decision


def test_a_function_of_one_probability_per_class_has_numbered_classes() -> None:
    predictor = predictor_of(both)

    assert predictor.classes == (0, 1)
    np.testing.assert_array_equal(predictor.observed_outputs[:, 1], SCORES)


@pytest.mark.parametrize("model", [score, both])
@pytest.mark.parametrize(
    "classes",
    [["bad", "good"], ("bad", "good"), np.array(["bad", "good"]), pd.Index(["bad", "good"])],
)
def test_classes_name_the_columns_and_a_single_one_is_the_second(
    model: Model, classes: Any
) -> None:
    predictor = predictor_of(model, classes=classes)

    assert predictor.classes == ("bad", "good")
    np.testing.assert_allclose(predictor.observed_outputs[:, 1], SCORES)
    np.testing.assert_allclose(predictor.observed_outputs.sum(axis=1), 1.0)


@pytest.mark.parametrize(
    "labels", [LABELS, IS_GOOD, IS_GOOD.astype(np.int64), np.where(IS_GOOD, 1.0, -1.0)]
)
def test_an_estimator_brings_its_classes_as_plain_labels(labels: Any) -> None:
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(NUMBERS, labels)

    predictor = predictor_of(model)

    assert predictor.classes == tuple(np.unique(labels).tolist())
    assert all(type(label) in (str, bool, int, float) for label in predictor.classes)
    np.testing.assert_array_equal(predictor.observed_outputs, model.predict_proba(NUMBERS))


def test_a_bound_predict_proba_is_as_good_as_its_estimator() -> None:
    model = LogisticRegression().fit(NUMBERS, LABELS)

    predictor = predictor_of(model.predict_proba)

    assert predictor.classes == ("bad", "good")
    assert predictor.has_decision


def test_a_pipeline_on_a_mixed_frame_is_given_frames() -> None:
    encode = ColumnTransformer([("job", OneHotEncoder(), ["job"])], remainder="passthrough")
    model = Pipeline([("encode", encode), ("fit", LogisticRegression())]).fit(TABLE, LABELS)

    predictor = predictor_of(model, TABLE)

    np.testing.assert_array_equal(predictor.observed_outputs, model.predict_proba(TABLE))
    assert predictor.is_consistent


@pytest.mark.parametrize(
    "choose",
    [
        lambda fitted: fitted,
        lambda fitted: fitted.predict_proba,
        lambda fitted: fitted.decision_function,
    ],
)
def test_an_estimator_fitted_on_arrays_is_given_arrays_and_does_not_warn(choose: Model) -> None:
    fitted = LogisticRegression().fit(NUMBERS.to_numpy(), LABELS)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        predictor = predictor_of(choose(fitted))

    assert np.isfinite(predictor.observed_outputs).all()


def test_a_bound_predict_of_a_regressor_fitted_on_arrays_does_not_warn() -> None:
    fitted = LinearRegression().fit(NUMBERS.to_numpy(), SCORES)

    predictor = predictor_of(fitted.predict)

    assert predictor.classes is None
    np.testing.assert_allclose(predictor.observed_outputs[:, 0], fitted.predict(NUMBERS.to_numpy()))


def test_an_estimator_fitted_on_a_frame_is_given_frames() -> None:
    fitted = DecisionTreeClassifier(random_state=0).fit(NUMBERS, LABELS)  # any company, same bits

    predictor = predictor_of(fitted)

    np.testing.assert_array_equal(predictor.observed_outputs, fitted.predict_proba(NUMBERS))


def test_a_classifier_without_probabilities_gives_its_labels_as_zero_and_one() -> None:
    model = LinearSVC(random_state=0).fit(NUMBERS, LABELS)

    predictor = predictor_of(model)

    assert predictor.gives_only_labels
    assert predictor.classes == ("bad", "good")
    expected = (model.predict(NUMBERS)[:, None] == np.array(["bad", "good"])).astype(float)
    np.testing.assert_array_equal(predictor.observed_outputs, expected)


def test_a_regressor_has_one_output() -> None:
    model = DecisionTreeRegressor(random_state=0).fit(NUMBERS, SCORES)

    predictor = predictor_of(model)

    assert predictor.classes is None
    assert not predictor.gives_only_labels
    np.testing.assert_allclose(predictor.observed_outputs[:, 0], SCORES)


def test_a_row_keeps_the_datas_dtypes_on_its_way_to_the_model() -> None:
    seen: list[pd.DataFrame] = []

    def watch(rows: pd.DataFrame) -> Any:
        seen.append(rows)
        return score(rows)

    predictor_of(watch, TABLE)

    assert all((rows.dtypes == TABLE.dtypes).all() for rows in seen)
    pd.testing.assert_frame_equal(seen[-1], TABLE)


def rescale_frame(rows: pd.DataFrame) -> Any:
    scores = score(rows)
    rows.loc[:, "income"] = -1.0
    return scores


def test_a_model_may_write_to_the_rows_it_is_given() -> None:
    fitted = make_pipeline(StandardScaler(copy=False), LogisticRegression())
    fitted.fit(NUMBERS.to_numpy(), LABELS)
    genomes = frozen(NUMBERS.to_numpy().copy())

    for model in (rescale_frame, fitted):
        predictor = predictor_of(model)
        first = predictor.outputs(genomes)

        np.testing.assert_array_equal(predictor.outputs(genomes), first)


def test_probabilities_a_hair_outside_are_put_back_inside() -> None:
    def single(rows: pd.DataFrame) -> Any:
        return np.column_stack([np.full(len(rows), -1e-7), np.full(len(rows), 1.0000001)])

    predictor = predictor_of(single)

    assert predictor.observed_outputs[0].tolist() == [0.0, 1.0]


def fail(rows: pd.DataFrame) -> Any:
    raise ZeroDivisionError(f"cannot judge {len(rows)} rows")


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (fail, "the model raised ZeroDivisionError on 8 rows: cannot judge 8 rows"),
        (lambda rows: rows["wealth"], "the model raised KeyError on 8 rows: 'wealth'"),
        (
            lambda rows: rows["debt"] * np.nan,
            r"NaN or infinite scores for 60 of 60 rows, first for",
        ),
        (
            lambda rows: np.where(rows["debt"] == NUMBERS["debt"][9], np.inf, 0.5),
            rf"for . of 60 rows, first for {{'income': .*, 'debt': {NUMBERS['debt'][9]}}}\. Leave",
        ),
        (lambda rows: both(rows) * [np.inf, -np.inf], "NaN or infinite scores"),
        (lambda rows: score(rows) * -1e300, r"scores beyond 1e\+100 for 60 of 60 rows, first for"),
        (lambda _: np.ones((3, 3)), r"shape \(3, 3\) for 8 rows; expected \(8,\), \(8, 1\) or"),
        (lambda rows: np.ones(len(rows) - 1), r"shape \(7,\) for 8 rows; expected \(8,\)"),
        (lambda rows: np.ones((len(rows), 2, 2)), r"shape \(8, 2, 2\) for 8 rows"),
        (lambda rows: np.ones((len(rows), 0)), r"shape \(8, 0\) for 8 rows"),
        (lambda _: 0.5, r"shape \(\) for 8 rows"),
        (lambda _: None, r"the model returned .* for 8 rows; expected"),
        (lambda rows: np.full(len(rows), "good"), "not numbers .*predict instead of predict_proba"),
        (lambda rows: np.full(len(rows), "1"), "values that are not numbers"),
        (
            lambda rows: ["good"] * len(rows),
            r"not numbers but labels, first 'good'\. .* classes=\[\.\.\.\] with all of its labels",
        ),
        (lambda rows: score(rows) * 1j, "values that are not numbers"),
        (lambda _: [[0.1], [0.2, 0.3]], "values that are not numbers"),
        (
            lambda rows: 2 * both(rows),
            "not probabilities: .*sum to 1. Did you pass a decision func",
        ),
        (lambda rows: both(rows) * [1, -1] + [0, 1], r"the model returned \[.*not probabilities"),
        (lambda rows: both(rows) - [1, -1], "not probabilities"),
    ],
)
def test_an_answer_that_is_no_score_is_refused(model: Model, message: str) -> None:
    with pytest.raises(PredictorError, match=message):
        predictor_of(model)


def test_the_models_own_error_is_kept_as_the_cause() -> None:
    with pytest.raises(PredictorError) as caught:
        predictor_of(fail)

    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_a_bound_predict_of_a_classifier_is_told_from_its_probabilities() -> None:
    model = LogisticRegression().fit(NUMBERS, LABELS)

    with pytest.raises(PredictorError, match="Did you pass predict instead of predict_proba"):
        predictor_of(model.predict)


def test_a_model_fitted_on_other_columns_is_told_in_its_own_words() -> None:
    model = LogisticRegression().fit(NUMBERS.rename(columns={"debt": "loan"}), LABELS)

    with pytest.raises(PredictorError, match=r"(?s)raised ValueError .*feature names should match"):
        predictor_of(model)


def test_a_model_that_is_not_fitted_is_told_in_its_own_words() -> None:
    with pytest.raises(PredictorError, match=r"raised NotFittedError .* not fitted yet"):
        predictor_of(LogisticRegression())


def test_several_outputs_per_row_are_refused() -> None:
    several = MultiOutputClassifier(DecisionTreeClassifier())
    several.fit(NUMBERS, np.column_stack([LABELS, LABELS]))

    with pytest.raises(InvalidInput, match="model has several outputs per row"):
        predictor_of(several)


class Adapter:
    """A model that notes how many threads ask it at once."""

    classes_ = None

    def __init__(self, *, is_shared: bool) -> None:
        self.is_shared, self.n_now, self.n_most = is_shared, 0, 0

    def score(self, rows: pd.DataFrame) -> Any:
        """Return scores after a while."""
        self.n_now += 1
        self.n_most = max(self.n_most, self.n_now)
        time.sleep(0.05)
        self.n_now -= 1
        return score(rows)


@pytest.mark.parametrize("is_shared", [False, True])
def test_an_adapter_that_is_not_shared_is_asked_by_one_thread_at_a_time(is_shared: bool) -> None:
    adapter = Adapter(is_shared=is_shared)
    predictor = predictor_of(adapter)
    together = threading.Barrier(4)

    def ask(_: int) -> Any:
        together.wait()
        return predictor.outputs(predictor.observed)

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(ask, range(4)))

    assert predictor.is_shared == is_shared
    assert (adapter.n_most > 1) == is_shared
    for answer in answers:
        np.testing.assert_array_equal(answer[:, 0], SCORES)


def test_a_plain_function_is_not_shared_and_an_estimator_is() -> None:
    assert not predictor_of(score).is_shared
    assert predictor_of(DecisionTreeRegressor().fit(NUMBERS, SCORES)).is_shared


@pytest.mark.parametrize("path", ["model.skops", Path("model.skops")])
def test_a_path_is_no_model_but_can_be_loaded(path: Any) -> None:
    with pytest.raises(InvalidInput, match=r"; load a file with load_model\('model.skops'\)\.$"):
        predictor_of(path)


@pytest.mark.parametrize("model", [None, "model.pkl", 3, {"a": 1}, NUMBERS])
def test_what_cannot_score_is_no_model(model: Any) -> None:
    with pytest.raises(InvalidInput, match=r"model must be a callable or have predict_proba or"):
        predictor_of(model)


@pytest.mark.parametrize(
    "classes", ["good", 2, {"bad", "good"}, ["good"], [], ["good", "good"], [["bad", "good"]]]
)
def test_classes_that_are_no_list_of_labels_are_refused(classes: Any) -> None:
    with pytest.raises(
        InvalidInput, match="classes must be a list of at least two different labels"
    ):
        predictor_of(score, classes=classes)


@pytest.mark.parametrize("model", [score, both])
def test_a_count_of_columns_that_is_not_that_of_classes_is_refused(model: Model) -> None:
    message = r"the model returned . columns, but there are 3 classes \('a', 'b' and 'c'\)"

    with pytest.raises(PredictorError, match=message):
        predictor_of(model, classes=["a", "b", "c"])


def test_labels_that_are_not_the_classes_given_are_refused() -> None:
    model = LogisticRegression().fit(NUMBERS, LABELS)
    predictor = predictor_of(model, classes=["no", "yes"])
    message = (
        r"the label '(bad|good)', which is not one of the classes 'no' and 'yes'; pass classes"
    )

    with pytest.raises(PredictorError, match=message):
        _ = predictor.is_consistent


class ShortPredict(BaseEstimator):  # type: ignore[misc]
    """Forget a row when asked for labels."""

    classes_ = ("bad", "good")

    def predict(self, rows: pd.DataFrame) -> Any:
        """Return one label too few."""
        return np.full(len(rows) - 1, "good")


def test_a_count_of_labels_that_is_not_that_of_rows_is_refused() -> None:
    with pytest.raises(PredictorError, match="predict returned 59 labels for 60 rows"):
        predictor_of(ShortPredict())


def test_a_forest_is_batch_invariant() -> None:
    forest = RandomForestClassifier(5, random_state=0).fit(NUMBERS, LABELS)

    predictor = predictor_of(forest)

    assert predictor.is_batch_invariant
    assert not predictor.is_known_variant


@pytest.mark.parametrize("n", [2, BLOCK, N])
def test_a_model_that_looks_at_the_batch_is_not_batch_invariant(n: int) -> None:
    predictor = predictor_of(lambda rows: score(rows) - score(rows).min(), NUMBERS[:n])
    assert not predictor.is_known_variant  # not tried yet

    is_invariant = predictor.is_batch_invariant

    assert not is_invariant
    assert predictor.is_known_variant


@pytest.mark.parametrize("n", [1, 3, BLOCK, 13])
@pytest.mark.parametrize(
    "model", [score, lambda rows: score(rows) - score(rows).mean()], ids=["invariant", "variant"]
)
def test_a_rows_block_is_scored_the_same_alone_and_in_company(model: Model, n: int) -> None:
    predictor = predictor_of(model)
    genomes = frozen(generator(1).choice(NUMBERS.to_numpy(), (4, n)))

    together = predictor.blocks(genomes)

    assert together.shape == (4, n, 1)
    for a in range(4):
        np.testing.assert_array_equal(predictor.blocks(genomes[a : a + 1])[0], together[a])


def test_labels_are_asked_in_blocks_like_scores() -> None:
    model = LogisticRegression().fit(NUMBERS, LABELS)
    predictor = predictor_of(model)
    genomes = frozen(NUMBERS.to_numpy().reshape(4, 15, 2).copy())

    codes = predictor.label_blocks(genomes)

    expected = (model.predict(NUMBERS) == "good").astype(int)
    np.testing.assert_array_equal(codes.ravel(), expected)


def test_a_classifier_that_names_the_likeliest_class_is_consistent() -> None:
    predictor = predictor_of(LogisticRegression().fit(NUMBERS, LABELS))

    assert predictor.is_consistent
    assert predictor.has_decision


def test_a_classifier_with_another_threshold_is_not_consistent() -> None:
    model = FixedThresholdClassifier(LogisticRegression(), threshold=0.1, pos_label="good")

    predictor = predictor_of(model.fit(NUMBERS, LABELS))

    assert predictor.classes == ("bad", "good")
    assert not predictor.is_consistent


def test_a_function_decides_for_its_likeliest_class() -> None:
    predictor = predictor_of(both)

    assert predictor.is_consistent
    np.testing.assert_array_equal(predictor.observed_labels, SCORES > 0.5)


def test_a_function_of_three_classes_may_decide_without_a_majority() -> None:
    predictor = predictor_of(lambda rows: np.tile([0.4, 0.35, 0.25], (len(rows), 1)))

    assert not predictor.has_decision  # the likeliest class is decided for
    assert predictor.labels(frozen(NUMBERS.to_numpy().copy())).tolist() == [0] * N


def blas_threads() -> list[int]:
    return [info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"]


def test_matrix_products_run_on_one_thread_while_asked_to_and_no_longer() -> None:
    predictor = predictor_of(score)
    before = blas_threads()

    with predictor.one_thread(), predictor.one_thread():
        within = blas_threads()

    assert set(within) == {1}
    assert blas_threads() == before


def test_a_function_is_asked_by_one_thread_at_a_time_where_several_take_turns() -> None:
    inside, most = [0], [0]

    def count(rows: pd.DataFrame) -> Any:
        inside[0] += 1
        most[0] = max(most[0], inside[0])
        time.sleep(0.001)  # lets other threads come, if they may
        inside[0] -= 1
        return rows["a"] / 10

    data = pd.DataFrame({"a": range(10)})
    explainer = cp.Explainer(count, data)
    polite, genomes = explainer.predictor.taking_turns(), explainer.observed.genomes
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: polite.outputs(genomes), range(40)))

    assert most == [1]
    assert polite.is_shared
    assert all(np.array_equal(answer, explainer.predictor.observed_outputs) for answer in answers)


def test_an_estimator_needs_no_turns() -> None:
    data = pd.DataFrame({"a": range(10)})
    predictor = cp.Explainer(LogisticRegression().fit(data, data["a"] > 4), data).predictor

    assert predictor.taking_turns() is predictor
