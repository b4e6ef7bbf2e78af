"""`accelerate="onnx"`: quicker scores guide the search, the model's own words are returned."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

import counterpoint as cp
from counterpoint.models import onnx

SEARCH = cp.Search(evaluations=500)
N = 200
NUMBERS, LEVELS = ["age", "amount", "rate"], ["job", "city", "owns"]


@pytest.fixture(autouse=True, scope="module")
def _one_thread() -> Iterator[None]:
    with threadpool_limits(1):
        yield


def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)  # noqa: TID251
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, N),
            "amount": rng.gamma(3.0, 900.0, N).round(2),
            "rate": rng.normal(3.0, 1.0, N).round(1),
            "job": rng.choice(["clerk", "nurse", "smith"], N),
            "city": pd.Categorical(rng.choice(["Bonn", "Oslo"], N)),
            "owns": rng.random(N) < 0.4,
        }
    )


DATA = table()
SCORE = (
    DATA["amount"] / 900 + DATA["owns"] + (DATA["job"] == "nurse") - DATA["rate"] / 2
).to_numpy()
LABELS = np.where(np.median(SCORE) < SCORE, "good", "bad")
IS_GOOD = (LABELS == "good").astype(int)


def by_columns(model: Any) -> Any:
    encode = make_column_transformer((StandardScaler(), NUMBERS), (OneHotEncoder(), LEVELS))
    return make_pipeline(encode, model)


def xgboost() -> Any:
    booster = pytest.importorskip("xgboost").XGBClassifier(n_estimators=20, n_jobs=1)
    return booster.fit(DATA[NUMBERS], IS_GOOD)


def lightgbm() -> Any:
    make = pytest.importorskip("lightgbm").LGBMClassifier
    return by_columns(make(n_estimators=20, n_jobs=1, verbose=-1)).fit(DATA, IS_GOOD)


FOREST = partial(RandomForestClassifier, 20, random_state=0)
MODELS: dict[str, Callable[[], Any]] = {
    "forest": lambda: FOREST().fit(DATA[NUMBERS], LABELS),
    "boosting": lambda: HistGradientBoostingClassifier(max_iter=20).fit(DATA[NUMBERS], LABELS),
    "logistic": lambda: by_columns(LogisticRegression()).fit(DATA, LABELS),
    "forest by columns": lambda: by_columns(FOREST()).fit(DATA, LABELS),
    "network": lambda: make_pipeline(
        StandardScaler(),
        MLPClassifier((16,), solver="lbfgs", alpha=1.0, max_iter=5000, random_state=0),
    ).fit(DATA[NUMBERS], LABELS),
    "xgboost": xgboost,
    "lightgbm": lightgbm,
}


@cache
def fitted(name: str) -> Any:
    return MODELS[name]()


def data_of(model: Any) -> pd.DataFrame:
    return DATA[list(model.feature_names_in_)]


@cache
def explainer_of(name: str, accelerate: Any = "onnx") -> cp.Explainer:
    model = fitted(name)
    return cp.Explainer(model, data_of(model), accelerate=accelerate)


def bits(found: cp.Counterfactuals) -> tuple[Any, ...]:
    """Return everything that must not differ in a single bit."""
    arrays = (found.genomes, found.predictions, found.objectives, found.history.to_numpy())
    return found.evaluations, found.stopped, *(array.tobytes() for array in arrays)


def is_noted(found: cp.Counterfactuals) -> bool:
    return any("candidates were scored by ONNX Runtime" in note for note in found.notes)


@pytest.mark.parametrize("name", MODELS)
def test_what_is_returned_carries_the_models_own_scores(name: str) -> None:
    model, explainer = fitted(name), explainer_of(name)
    rows = data_of(model).iloc[:6]

    together = explainer.explain_many(rows, "opposite", SEARCH)

    for found in together:
        frame = found.to_frame(near_misses=True)
        now = model.predict_proba(frame[list(explainer.schema.names)])[:, found.target.column]
        np.testing.assert_allclose(frame["prediction"], now, rtol=0.0, atol=1e-14)
        is_decided = model.predict(frame[list(explainer.schema.names)]) == found.target.label
        np.testing.assert_array_equal(frame["gap"] <= 0.0, is_decided)
        assert len(found.valid()) > 0
        assert is_noted(found)


@pytest.mark.parametrize("name", MODELS)
def test_no_member_is_dominated_and_evaluations_count_candidates_only(name: str) -> None:
    model = fitted(name)
    row = data_of(model).iloc[[3]]

    found = explainer_of(name).explain(row, "opposite", SEARCH)

    values = found.objectives
    is_better = (values[:, None] <= values).all(axis=2) & (values[:, None] < values).any(axis=2)
    assert not is_better.any()
    plain = explainer_of(name, None).explain(row, "opposite", SEARCH)
    assert found.evaluations <= 500
    assert found.evaluations == pytest.approx(plain.evaluations, rel=0.05)
    assert found.hypervolume() == pytest.approx(plain.hypervolume(), rel=0.1)
    assert not is_noted(plain)


@pytest.mark.parametrize("method", ["explore", "nsga2", "random"])
@pytest.mark.parametrize("name", ["forest", "logistic", "network"])
def test_a_row_gets_the_same_bits_alone_and_in_any_batch(name: str, method: Any) -> None:
    explainer, search = explainer_of(name), SEARCH.with_(method=method, evaluations=200)
    rows = data_of(fitted(name)).iloc[:8]
    alone = [bits(explainer.explain(rows.iloc[[i]], "opposite", search)) for i in range(4)]

    together = explainer.explain_many(rows, "opposite", search)

    assert [bits(found) for found in together[:4]] == alone
    shared = explainer.explain_many(rows[::-1], "opposite", search, workers=2)
    assert [bits(found) for found in shared[:-5:-1]] == alone


def test_a_search_goes_on_as_if_it_had_not_stopped() -> None:
    explainer, row = explainer_of("forest"), data_of(fitted("forest")).iloc[[1]]
    short = explainer.explain(row, "opposite", cp.Search(evaluations=300, patience=None))

    longer = short.continue_search(200)

    at_once = explainer.explain(
        row, "opposite", cp.Search(evaluations=short.evaluations + 200, patience=None)
    )
    assert bits(longer) == bits(at_once)


def test_the_baseline_without_a_search_is_the_same() -> None:
    name, rows = "logistic", DATA.iloc[:3]

    together = explainer_of(name).explain_many(rows, "opposite", cp.WhatIf(n=4))

    plain = explainer_of(name, None).explain_many(rows, "opposite", cp.WhatIf(n=4))
    assert [bits(found) for found in together] == [bits(found) for found in plain]
    assert not any(map(is_noted, together))


def test_a_regression_is_told_in_the_models_words() -> None:
    data = DATA[NUMBERS]
    model = GradientBoostingRegressor(n_estimators=20, random_state=0).fit(data, 1e4 * SCORE)
    low = float(np.quantile(model.predict(data), 0.8))

    found = cp.Explainer(model, data, accelerate="onnx").explain(
        data.iloc[[0]], (low, None), SEARCH
    )

    frame = found.to_frame(near_misses=True)
    np.testing.assert_allclose(frame["prediction"], model.predict(frame[NUMBERS]), rtol=1e-14)
    np.testing.assert_allclose(frame["gap"], np.maximum(0.0, low - frame["prediction"]))
    assert is_noted(found)


def test_a_model_without_probabilities_is_converted_too() -> None:
    model = by_columns(LinearSVC(random_state=0)).fit(DATA, LABELS)
    rows = DATA[model.predict(DATA) == "bad"].iloc[:3]

    together = cp.Explainer(model, DATA, accelerate="onnx").explain_many(rows, "good", SEARCH)

    for found in together:
        assert (model.predict(found.valid().to_frame()[DATA.columns]) == "good").all()
        assert len(found.valid()) > 0
        assert is_noted(found)


def without_warnings_but(kind: type[Warning], act: Callable[[], Any]) -> tuple[Any, list[str]]:
    """Return the result of `act` and the texts of its warnings of one kind; others are errors."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("error")
        warnings.simplefilter("always", kind)
        result = act()
    return result, [str(warning.message) for warning in caught]


def test_a_converted_model_that_says_something_else_is_not_used(monkeypatch: Any) -> None:
    model, convert = fitted("forest"), onnx.convert
    other = RandomForestClassifier(3, random_state=9).fit(data_of(model).to_numpy(), LABELS)
    monkeypatch.setattr(onnx, "convert", lambda _, n_columns: convert(other, n_columns))

    explainer, texts = without_warnings_but(
        cp.AcceleratorWarning, lambda: cp.Explainer(model, data_of(model), accelerate="onnx")
    )

    (text,) = texts
    assert text.startswith(
        "accelerate='onnx' is not used for RandomForestClassifier: its ONNX scores differ by up to "
    )
    assert text.endswith("where 0.0001 is allowed; the model itself is used.")
    row = data_of(model).iloc[[0]]
    found = explainer.explain(row, "opposite", SEARCH)
    assert bits(found) == bits(explainer_of("forest", None).explain(row, "opposite", SEARCH))


class Liar(onnx.Session):
    """Speak the truth of the observed rows, and of every other that it is good."""

    def predict_proba(self, rows: Any) -> Any:
        """Return P(good) = 0.9 for every row that was not observed."""
        known = {row.tobytes() for row in data_of(fitted("forest")).to_numpy(dtype=np.float32)}
        is_known = np.array([row.tobytes() in known for row in rows])
        return np.where(
            is_known[:, None], super().predict_proba(rows), np.array([0.1, 0.9], np.float32)
        )


def test_a_row_on_which_both_disagree_is_searched_again_with_the_model(monkeypatch: Any) -> None:
    model = fitted("forest")
    data = data_of(model)
    monkeypatch.setattr(onnx, "Session", Liar)
    explainer = cp.Explainer(model, data, accelerate="onnx")
    rows = data[model.predict(data) == "bad"].iloc[:2]

    together, texts = without_warnings_but(
        cp.AcceleratorWarning, lambda: explainer.explain_many(rows, "good", SEARCH)
    )

    assert len(texts) == len(rows)
    for text in texts:
        assert text.startswith("accelerate='onnx' is not believed: of {'age': ")
        assert " it says 0.9, the model 0" in text
        assert text.endswith(
            "where 0.0001 is allowed; the row is searched again with the model itself."
        )
    plain = explainer_of("forest", None).explain_many(rows, "good", SEARCH)
    assert [bits(found) for found in together] == [bits(found) for found in plain]
    assert not any(map(is_noted, together))


class Homemade(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier no converter knows."""

    def fit(self, rows: pd.DataFrame, labels: Any) -> Homemade:
        """Remember the classes."""
        self.feature_names_in_ = np.array(rows.columns, dtype=object)
        self.classes_, self.n_features_in_ = np.unique(labels), rows.shape[1]
        return self

    def predict_proba(self, rows: Any) -> Any:
        """Return P(good) by the amount."""
        good = np.asarray(rows, dtype=np.float64)[:, 1] / 1e4
        return np.column_stack([1.0 - good, good]).clip(0.0, 1.0)

    def predict(self, rows: Any) -> Any:
        """Return the likelier class."""
        return self.classes_.take(np.argmax(self.predict_proba(rows), axis=1))


@pytest.mark.parametrize(
    ("model", "name", "why"),
    [
        (Homemade().fit(DATA[NUMBERS], LABELS), "Homemade", "it could not be converted ("),
        (
            HistGradientBoostingClassifier(max_iter=20).fit(
                DATA.astype({"job": "category"}), LABELS
            ),
            "HistGradientBoostingClassifier",
            "its ONNX scores differ by up to ",
        ),
        (
            FixedThresholdClassifier(by_columns(LogisticRegression())).fit(DATA, LABELS),
            "FixedThresholdClassifier",
            "it is neither an estimator that takes arrays nor one whose columns can be tabulated",
        ),
    ],
    ids=["unknown", "categories", "wrapped"],
)
def test_a_model_that_cannot_be_converted_is_used_as_it_is(model: Any, name: str, why: str) -> None:
    data = data_of(model)
    if name == "HistGradientBoostingClassifier":
        data = data.astype({"job": "category"})

    explainer, texts = without_warnings_but(
        cp.AcceleratorWarning, lambda: cp.Explainer(model, data, accelerate="onnx")
    )

    (text,) = texts
    assert text.startswith(f"accelerate='onnx' is not used for {name}: {why}")
    assert text.endswith("the model itself is used.")
    found = explainer.explain(data.iloc[[0]], "opposite", SEARCH)
    assert bits(found) == bits(
        cp.Explainer(model, data).explain(data.iloc[[0]], "opposite", SEARCH)
    )


def test_a_function_is_used_as_it_is() -> None:
    def accept(rows: pd.DataFrame) -> Any:
        return rows["age"] / 100

    explainer, texts = without_warnings_but(
        cp.AcceleratorWarning, lambda: cp.Explainer(accept, DATA, accelerate="onnx")
    )

    assert texts[0].startswith("accelerate='onnx' is not used for accept: it is neither an estim")
    assert not explainer.predictor.is_accelerated


@pytest.mark.parametrize(
    ("given", "hint"),
    [("onix", "did you mean 'onnx'?"), ("gpu", "None asks the model itself."), (True, "None asks")],
)
def test_an_accelerator_nobody_knows_is_refused(given: Any, hint: str) -> None:
    with pytest.raises(cp.InvalidInput) as caught:
        cp.Explainer(fitted("logistic"), DATA, accelerate=given)

    assert str(caught.value).startswith(f"accelerate must be 'onnx' or None, got {given!r}; {hint}")


MISSING = """
import sys
import pandas as pd
from sklearn.tree import DecisionTreeClassifier
import counterpoint as cp
data = pd.DataFrame({"a": [0.0, 1.0, 2.0, 3.0]})
model = DecisionTreeClassifier().fit(data, [0, 0, 1, 1])
assert len(cp.Explainer(model, data).explain({"a": 0.0}, 1)) > 0
assert not {"onnx", "onnxruntime", "skl2onnx", "onnxmltools"} & {*sys.modules}
for missing in ("onnxruntime", "skl2onnx"):
    sys.modules[missing] = None
    try:
        cp.Explainer(model, data, accelerate="onnx")
    except ImportError as error:
        assert isinstance(error, cp.MissingDependency) and isinstance(error, cp.CounterpointError)
        print(error)
    del sys.modules[missing]
"""


def test_without_its_packages_the_message_says_what_to_install() -> None:
    answer = subprocess.run(  # noqa: S603 - our own interpreter and code
        [sys.executable, "-c", MISSING],
        capture_output=True,
        text=True,
        check=True,
    ).stdout

    told = (
        "accelerate='onnx' needs onnxruntime and skl2onnx, which are not installed; "
        'run: pip install "counterpoint[onnx]".'
    )
    assert answer.splitlines() == [told, told]


def test_without_its_converter_a_booster_says_what_to_install(monkeypatch: Any) -> None:
    model = fitted("xgboost")
    monkeypatch.setitem(sys.modules, "onnxmltools", None)

    with pytest.raises(
        cp.MissingDependency, match="needs onnxmltools, which is not installed; run"
    ):
        cp.Explainer(model, data_of(model), accelerate="onnx")
