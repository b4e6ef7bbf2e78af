from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.svm import LinearSVC

from counterpoint.checks import require_package
from counterpoint.errors import InvalidInput, MissingDependency, PredictorError
from counterpoint.models.adapters.frameworks import as_matrix, as_outputs
from counterpoint.models.adapters.scorer import OneOutput, adapt, one_output

NUMBERS = pd.DataFrame({"a": np.arange(12.0), "b": np.arange(12.0)[::-1] % 5})
FIRST = np.where(NUMBERS["a"] > 5, "good", "bad")
SECOND = np.where(NUMBERS["b"] > 2, "yes", "no")
BOTH = np.column_stack([FIRST, SECOND])


def test_a_model_is_adapted_without_importing_any_framework() -> None:
    code = (
        "import sys, pandas as pd, counterpoint as cp\n"
        "cp.Explainer(lambda rows: rows['a'] / 3, pd.DataFrame({'a': [0, 1, 2, 3]}))\n"
        "print(*sys.modules)"
    )

    loaded = subprocess.run(  # noqa: S603 - our own interpreter and code
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()

    boosters = {"catboost", "xgboost", "lightgbm"}
    others = {"torch", "keras", "mlflow", "onnx", "onnxruntime", "skops"}
    assert not (boosters | others) & set(loaded)


@pytest.mark.parametrize("model", [len, LogisticRegression(), None, "model.pkl", 3])
def test_what_needs_no_adapter_is_left_as_it_is(model: Any) -> None:
    assert adapt(model) is model


def test_a_missing_package_is_named_with_what_needs_it() -> None:
    message = "a .skops file needs no_such_package, which is not installed; run: pip install skops."

    with pytest.raises(MissingDependency, match=message):
        require_package("no_such_package.io", "a .skops file", "skops")


def test_texts_are_no_input_of_a_network() -> None:
    rows = pd.DataFrame({"a": [1], "job": ["clerk"], "city": pd.Categorical(["Bonn"])})
    message = (
        r"the module Net takes numbers, but 'job' and 'city' of the data are no numbers; pass a "
        r"function that turns a frame into the model's input and returns its scores\."
    )

    with pytest.raises(InvalidInput, match=message):
        as_matrix(rows, "the module Net")


def test_a_network_may_write_to_its_input() -> None:
    matrix = as_matrix(NUMBERS, "the module Net")

    matrix[:] = -1.0

    assert NUMBERS.to_numpy().min() == 0.0


@pytest.mark.parametrize(
    ("outputs", "classes"),
    [([[2.0, -1.0]], None), ([[0.5, 0.6]], None), ([1.5], ["a", "b"]), ([[-0.1]], ["a", "b"])],
)
def test_logits_are_refused_where_probabilities_are_due(outputs: Any, classes: Any) -> None:
    with pytest.raises(PredictorError, match=r"Net returned .* look like logits; add softmax\."):
        as_outputs(outputs, classes, "Net", "add softmax")


@pytest.mark.parametrize(
    ("outputs", "classes"),
    [([7.5], None), ([[7.5]], None), ([0.5], ["a", "b"]), ([[0.25, 0.75]], None), ([np.nan], "ab")],
)
def test_other_outputs_are_left_alone(outputs: Any, classes: Any) -> None:
    np.testing.assert_array_equal(as_outputs(outputs, classes, "Net", ""), outputs)


@pytest.mark.parametrize("which", [1, -1, "second", np.int64(1)])
def test_one_output_is_a_classifier_of_its_own(which: Any) -> None:
    several = MultiOutputClassifier(LogisticRegression()).fit(NUMBERS, BOTH)

    one: Any = one_output(several, which, names=["first", "second"])

    alone = several.estimators_[1]
    assert one.classes_.tolist() == ["no", "yes"]
    np.testing.assert_array_equal(one.predict(NUMBERS), alone.predict(NUMBERS))
    np.testing.assert_array_equal(one.predict_proba(NUMBERS), alone.predict_proba(NUMBERS))


def test_an_output_without_probabilities_has_labels_only() -> None:
    several = MultiOutputClassifier(LinearSVC()).fit(NUMBERS, BOTH)

    one = one_output(several, 0)

    assert not hasattr(one, "predict_proba")
    assert list(one.classes_) == ["bad", "good"]


def test_an_output_of_a_chain_has_two_columns() -> None:
    chain = ClassifierChain(LogisticRegression()).fit(
        NUMBERS, np.column_stack([FIRST == "good"] * 2)
    )

    probabilities = one_output(chain, 1).predict_proba(NUMBERS)  # type: ignore[attr-defined]

    np.testing.assert_array_equal(probabilities[:, 1], chain.predict_proba(NUMBERS)[:, 1])
    np.testing.assert_array_equal(probabilities.sum(axis=1), 1.0)


def test_an_output_of_a_regressor_has_no_classes() -> None:
    forest = RandomForestRegressor(3, random_state=0).fit(NUMBERS, NUMBERS[["b", "a"]])

    one = one_output(forest, 1)

    assert not hasattr(one, "classes_")
    np.testing.assert_array_equal(one.predict(NUMBERS), forest.predict(NUMBERS)[:, 1])


def test_an_output_of_a_network_of_several_is_yes_or_no() -> None:
    several = np.column_stack([FIRST == "good", SECOND == "yes", FIRST == "bad"]) * 1
    network = MLPClassifier((4,), solver="lbfgs", max_iter=5000, random_state=0)
    network.fit(NUMBERS, several)

    one: Any = one_output(network, 1)

    assert one.classes_.tolist() == [0, 1]
    np.testing.assert_array_equal(one.predict(NUMBERS), network.predict(NUMBERS)[:, 1])
    probabilities = one.predict_proba(NUMBERS)
    np.testing.assert_array_equal(probabilities[:, 1], network.predict_proba(NUMBERS)[:, 1])


def test_a_model_with_a_single_output_has_none_to_choose() -> None:
    single = LogisticRegression().fit(NUMBERS, FIRST)

    with pytest.raises(InvalidInput, match="a single output per row; pass it without one_output"):
        one_output(single, 0).predict(NUMBERS)


@pytest.mark.parametrize(
    ("which", "names", "message"),
    [
        (2, None, "which must be one of the model's 2 outputs, got 2."),
        ("secnd", ["first", "second"], "the output 'secnd', which is not known; did you mean 'sec"),
        ("x", ["first", "second"], "is not known; the names are 'first' and 'second'."),
        ("x", None, r"is not known; pass names=\[...\] or an index."),
        (True, None, "which names the output True"),
    ],
)
def test_an_output_that_is_not_there_is_refused(which: Any, names: Any, message: str) -> None:
    several = MultiOutputClassifier(LogisticRegression()).fit(NUMBERS, BOTH)

    with pytest.raises(InvalidInput, match=message):
        one_output(several, which, names)


@pytest.mark.parametrize(
    "model",
    [
        MultiOutputClassifier(LogisticRegression()).fit(NUMBERS, BOTH),
        RandomForestRegressor(3, random_state=0).fit(NUMBERS, NUMBERS),
    ],
)
def test_several_outputs_are_refused_with_the_way_to_choose_one(model: Any) -> None:
    message = (
        r"model has several outputs per row \(2\); choose one: "
        r"Explainer\(counterpoint.one_output\(model, 0\), data\)\."
    )

    with pytest.raises(InvalidInput, match=message):
        adapt(model)


def test_a_network_for_three_classes_has_one_output() -> None:
    three = np.arange(12) % 3
    model = MLPClassifier((2,), solver="lbfgs", max_iter=5000, random_state=0).fit(NUMBERS, three)

    assert adapt(model) is model
    assert isinstance(adapt(OneOutput(model, 0)), OneOutput)
