"""Models of every framework, with the real library, explained and scored again by hand.

Those that are not installed are skipped; the extra `adapters-test` has them all.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier, VotingClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from tests.frameworks import framework

import counterpoint as cp

os.environ.setdefault("KERAS_BACKEND", "torch")

SEARCH = cp.Search(evaluations=300)
N = 200


def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)  # noqa: TID251
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, N),
            "debt": rng.normal(4.0, 2.0, N).round(1),
            "job": pd.Categorical(rng.choice(["clerk", "nurse", "smith"], N)),
            "city": pd.Categorical(rng.choice(["Bonn", "Oslo"], N), ["Oslo", "Bonn", "Rome"]),
            "owns": rng.random(N) < 0.4,
        }
    )


DATA = table()
NUMBERS = DATA[["age", "debt"]].astype({"debt": "float32"})
SCORE = (DATA["age"] / 20 + DATA["debt"] + 2 * (DATA["job"] == "nurse")).to_numpy()
LABELS = np.where(np.median(SCORE) < SCORE, "good", "bad")
CODES = (LABELS == "good") * 1
THREE = np.array(["low", "mid", "high"])[np.digitize(SCORE, np.quantile(SCORE, [0.33, 0.66]))]
CLASSES = ["bad", "good"]


def explained(model: Any, data: pd.DataFrame, target: Any, **settings: Any) -> pd.DataFrame:
    """Return the valid counterfactuals of the first row that needs some."""
    explainer = cp.Explainer(model, data, **settings)
    for i in range(20):
        found = explainer.explain(data.iloc[[i]], target, SEARCH)
        if found.status != "already_met":
            break
    assert found.status == "found"
    frame: pd.DataFrame = found.valid().to_frame()
    assert (frame[data.columns].dtypes == data.dtypes).all()
    return frame


def assert_safe_for_many(model: Any, data: pd.DataFrame, target: Any, **settings: Any) -> None:
    """Explain rows on as many threads as the model bears, and each alone."""
    explainer = cp.Explainer(model, data, **settings)

    together = explainer.explain_many(data[:6], target, SEARCH)

    for i, found in enumerate(together):
        alone = explainer.explain(data.iloc[[i]], target, SEARCH)
        np.testing.assert_array_equal(alone.genomes, found.genomes)
        np.testing.assert_array_equal(alone.objectives, found.objectives)


def with_columns(model: Any) -> Any:
    encode = make_column_transformer(
        (StandardScaler(), ["age", "debt"]),
        (OneHotEncoder(handle_unknown="ignore"), ["job", "city", "owns"]),
    )
    return make_pipeline(encode, model).fit(DATA, LABELS)


# scikit-learn


def test_a_calibrated_model_is_explained() -> None:
    model = with_columns(CalibratedClassifierCV(LinearSVC()))

    valid = explained(model, DATA, "good")

    assert (model.predict(valid[DATA.columns]) == "good").all()


@pytest.mark.parametrize("kind", [RandomForestClassifier, MultiOutputClassifier])
def test_one_of_several_outputs_is_explained(kind: Any) -> None:
    is_forest = kind is RandomForestClassifier
    model = kind(5, random_state=0) if is_forest else kind(LogisticRegression())
    model.fit(NUMBERS, np.column_stack([THREE, LABELS]))

    valid = explained(cp.one_output(model, "risk", ["size", "risk"]), NUMBERS, "good")

    rows = valid[NUMBERS.columns]
    assert (model.predict(rows)[:, 1] == "good").all()
    np.testing.assert_allclose(model.predict_proba(rows)[1][:, 1], valid["prediction"], 1e-12)


def test_one_of_several_numbers_is_explained_for_a_model_fitted_on_an_array() -> None:
    array = NUMBERS.to_numpy(dtype=np.float64)
    model = LinearRegression().fit(array, np.column_stack([SCORE, -SCORE]))

    valid = explained(cp.one_output(model, 1), NUMBERS, (None, -9.0))

    again = model.predict(valid[NUMBERS.columns].to_numpy(dtype=np.float64))
    assert (again[:, 1] <= -9.0).all()


@pytest.mark.parametrize("model", [LinearRegression(), make_pipeline(LinearRegression())])
def test_several_numbers_per_row_are_refused_with_the_way_to_choose_one(model: Any) -> None:
    model.fit(NUMBERS, np.column_stack([SCORE, -SCORE]))
    message = r"several outputs per row \(2\); choose one: Explainer\(counterpoint.one_output\(mod"

    with pytest.raises(cp.InvalidInput, match=message):
        cp.Explainer(model, NUMBERS)


# Boosters with categories of their own


def catboost_model() -> Any:
    catboost = framework("catboost")
    names = ["job", "city", "owns"]
    settings = {"iterations": 30, "verbose": 0, "allow_writing_files": False}
    return catboost.CatBoostClassifier(cat_features=names, **settings).fit(DATA, CODES)


def xgboost_model() -> Any:
    xgboost = framework("xgboost")
    model = xgboost.XGBClassifier(n_estimators=30, max_depth=3, enable_categorical=True)
    return model.fit(DATA, CODES)


def lightgbm_model() -> Any:
    lightgbm = framework("lightgbm")
    return lightgbm.LGBMClassifier(n_estimators=30, verbose=-1).fit(DATA, CODES)


BOOSTERS = [catboost_model, xgboost_model, lightgbm_model]


@pytest.mark.parametrize("fitted", BOOSTERS)
def test_a_category_alone_turns_the_decision_of_a_booster(fitted: Any) -> None:
    """Codes that went to the wrong category would not find the one job that helps."""
    model, jobs = fitted(), DATA["job"].cat.categories
    good = {}
    for job in jobs:
        rows = DATA.assign(job=pd.Categorical([job] * N, jobs))
        good[job] = model.predict_proba(rows)[:, 1] > 0.5
    turns = (DATA["job"] != "nurse") & ~good["clerk"] & ~good["smith"] & good["nurse"]
    row = DATA[turns].iloc[[0]]

    found = cp.Explainer(model, DATA).explain(row, 1, SEARCH, fixed=["age", "debt", "city", "owns"])

    assert found.status == "found"
    assert set(found.valid().to_frame()["job"]) == {"nurse"}


@pytest.mark.parametrize("fitted", BOOSTERS)
def test_a_booster_bears_several_threads(fitted: Any) -> None:
    model = fitted()

    assert cp.Explainer(model, DATA).predictor.is_shared
    assert_safe_for_many(model, DATA, 1)


@pytest.mark.parametrize("labels", [LABELS, THREE, LABELS == "good", CODES])
def test_catboost_classes_are_explained_with_native_categories(labels: Any) -> None:
    catboost = framework("catboost")
    model = catboost.CatBoostClassifier(
        iterations=20, verbose=0, cat_features=["job", "city", "owns"], allow_writing_files=False
    ).fit(DATA, labels)
    target = np.unique(labels)[-1]

    valid = explained(model, DATA, target)

    rows, column = valid[DATA.columns], model.classes_.tolist().index(target)
    assert (model.predict(rows).reshape(-1) == target).all()
    np.testing.assert_array_equal(model.predict_proba(rows)[:, column], valid["prediction"])


@pytest.mark.parametrize("loss", ["MultiRMSE", "MultiLogloss"])
def test_one_of_several_catboost_outputs_is_explained(loss: str) -> None:
    catboost = framework("catboost")
    settings = {"iterations": 20, "verbose": 0, "allow_writing_files": False}
    is_regression = loss == "MultiRMSE"
    kind = catboost.CatBoostRegressor if is_regression else catboost.CatBoostClassifier
    model = kind(loss_function=loss, **settings).fit(NUMBERS, np.column_stack([1 - CODES, CODES]))

    valid = explained(cp.one_output(model, 1), NUMBERS, (0.7, None) if is_regression else 1)

    answers = model.predict(valid[NUMBERS.columns])[:, 1]
    assert (answers >= 0.7).all() if is_regression else (answers == 1).all()
    with pytest.raises(
        cp.InvalidInput, match=r"model has several outputs per row \(2\); choose one"
    ):
        cp.Explainer(model, NUMBERS)


def test_a_catboost_regression_is_explained_although_it_lists_no_classes() -> None:
    catboost = framework("catboost")
    model = catboost.CatBoostRegressor(
        iterations=20, verbose=0, cat_features=["job", "city", "owns"], allow_writing_files=False
    ).fit(DATA, SCORE)

    valid = explained(model, DATA, (9.0, None))

    np.testing.assert_array_equal(model.predict(valid[DATA.columns]), valid["prediction"])


def test_plain_catboost_is_asked_for_probabilities() -> None:
    catboost = framework("catboost")
    settings = {"iterations": 20, "verbose": 0, "loss_function": "Logloss"}
    settings |= {"cat_features": ["job", "city", "owns"], "allow_writing_files": False}
    model = catboost.CatBoost(settings).fit(DATA, LABELS)

    valid = explained(model, DATA, "good")

    assert (model.predict(valid[DATA.columns], prediction_type="Class") == "good").all()


def test_catboost_that_is_not_fitted_says_so_itself() -> None:
    catboost = framework("catboost")

    with pytest.raises(cp.PredictorError, match="the model raised CatBoostError on 8 rows"):
        cp.Explainer(catboost.CatBoostClassifier(allow_writing_files=False), DATA)


@pytest.mark.parametrize("is_booster", [False, True])
def test_xgboost_is_explained_with_native_categories(is_booster: bool) -> None:
    xgboost = framework("xgboost")
    estimator = xgboost.XGBClassifier(n_estimators=20, max_depth=3, enable_categorical=True)
    estimator.fit(DATA, LABELS == "good")
    model = estimator.get_booster() if is_booster else estimator

    valid = explained(model, DATA, True, classes=[False, True])

    rows = valid[DATA.columns]
    np.testing.assert_array_equal(
        estimator.predict_proba(rows)[:, 1], valid["prediction"].astype(np.float32)
    )


def test_a_booster_trained_on_an_array_is_asked_with_arrays() -> None:
    xgboost = framework("xgboost")
    matrix = xgboost.DMatrix(NUMBERS.to_numpy(), SCORE)
    booster = xgboost.train({"max_depth": 3}, matrix, 20)

    valid = explained(booster, NUMBERS, (9.0, None))

    again = booster.predict(xgboost.DMatrix(valid[NUMBERS.columns].to_numpy()))
    assert (again >= 9.0).all()
    assert_safe_for_many(booster, NUMBERS, (9.0, None))


@pytest.mark.parametrize("is_booster", [False, True])
def test_lightgbm_is_explained_with_native_categories(is_booster: bool) -> None:
    lightgbm = framework("lightgbm")
    estimator = lightgbm.LGBMClassifier(n_estimators=20, verbose=-1).fit(DATA, LABELS)
    model = estimator.booster_ if is_booster else estimator

    valid = explained(model, DATA, "good", classes=CLASSES)

    rows = valid[DATA.columns]
    np.testing.assert_array_equal(estimator.predict_proba(rows)[:, 1], valid["prediction"])


def test_a_lightgbm_booster_of_three_classes_is_explained() -> None:
    lightgbm = framework("lightgbm")
    codes = pd.Categorical(THREE, ["low", "mid", "high"]).codes
    table = lightgbm.Dataset(DATA, codes)
    settings = {"objective": "multiclass", "num_class": 3, "verbose": -1}
    booster = lightgbm.train(settings, table, 20)

    valid = explained(booster, DATA, "high", classes=["low", "mid", "high"])

    assert (booster.predict(valid[DATA.columns]).argmax(axis=1) == 2).all()


# PyTorch


def network(torch: Any, n_outputs: int, *last: Any) -> Any:
    torch.manual_seed(0)
    layers = [torch.nn.Linear(2, 16), torch.nn.ReLU(), torch.nn.Dropout(0.5)]
    return torch.nn.Sequential(*layers, torch.nn.Linear(16, n_outputs), *last)


def test_a_module_is_explained_in_evaluation_mode_and_left_as_it_was() -> None:
    torch = framework("torch")
    module = network(torch, 2, torch.nn.Softmax(dim=1))
    module[2].eval()  # frozen by its owner, who trains the rest

    valid = explained(module, NUMBERS, "opposite", classes=CLASSES)

    assert [part.training for part in module] == [True, True, False, True, True]
    assert module.training
    module.eval()
    with torch.no_grad():
        again = module(torch.tensor(valid[NUMBERS.columns].to_numpy(), dtype=torch.float32))
    assert np.abs(again.numpy() - valid["prediction"].to_numpy()[:, None]).min(axis=1).max() < 1e-6
    assert all(weight.grad is None for weight in module.parameters())


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_module_is_asked_in_its_own_precision_by_several_threads(dtype: str) -> None:
    torch = framework("torch")
    module = network(torch, 1).to(getattr(torch, dtype))
    explainer = cp.Explainer(module, NUMBERS)
    now = explainer.observed.outputs[:, 0]
    target = (float(np.median(now)), None)

    together = explainer.explain_many(NUMBERS[:6], target, SEARCH, workers=2)

    alone = [explainer.explain(NUMBERS.iloc[[i]], target, SEARCH) for i in range(6)]
    for one, many in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one.genomes, many.genomes)
    assert module.training


def test_a_module_is_asked_by_one_thread_unless_more_are_wanted() -> None:
    torch = framework("torch")
    module = network(torch, 2, torch.nn.Softmax(dim=1))

    assert not cp.Explainer(module, NUMBERS).predictor.is_shared
    assert_safe_for_many(module, NUMBERS, "opposite")


def test_a_scripted_module_and_a_large_table_are_explained() -> None:
    torch = framework("torch")
    module = network(torch, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch prefers torch.export by now
        traced = torch.jit.trace(module.eval(), torch.zeros(1, 2))
    traced.train()
    many = pd.concat([NUMBERS] * 50, ignore_index=True)

    explainer = cp.Explainer(traced, many)

    expected = module(torch.tensor(many.to_numpy(dtype=np.float32))).detach().numpy()
    np.testing.assert_allclose(explainer.observed.outputs, expected, rtol=1e-5)
    assert traced.training


def test_a_function_that_returns_a_tensor_with_gradients_is_told() -> None:
    torch = framework("torch")
    module = network(torch, 1)

    def answer(rows: pd.DataFrame) -> Any:
        return module(torch.tensor(rows.to_numpy(dtype=np.float32)))

    message = r"not numbers \(Can't call numpy\(\) on Tensor that requires grad"
    with pytest.raises(cp.PredictorError, match=message):
        cp.Explainer(answer, NUMBERS)


def test_probabilities_of_half_precision_are_made_to_sum_to_one() -> None:
    torch = framework("torch")
    module = network(torch, 3, torch.nn.Softmax(dim=1)).to(torch.bfloat16).eval()
    rows = torch.tensor(NUMBERS.to_numpy(dtype=np.float32), dtype=torch.bfloat16)

    outputs = cp.Explainer(module, NUMBERS).observed.outputs

    rough = module(rows).detach().double().numpy()
    assert np.abs(rough.sum(axis=1) - 1.0).max() > 1e-3
    np.testing.assert_allclose(outputs.sum(axis=1), 1.0, atol=1e-4)
    np.testing.assert_allclose(outputs, rough, atol=0.01)


def test_a_module_without_weights_is_asked_in_the_default_precision() -> None:
    torch = framework("torch")

    class Total(torch.nn.Module):  # type: ignore[misc, name-defined]
        """Adds up a row."""

        def forward(self, rows: Any) -> Any:
            return rows.sum(dim=1)

    explainer = cp.Explainer(Total(), NUMBERS)

    np.testing.assert_allclose(explainer.observed.outputs[:, 0], NUMBERS.sum(axis=1), rtol=1e-6)


def test_a_sigmoid_is_the_probability_of_the_second_class() -> None:
    torch = framework("torch")
    explainer = cp.Explainer(network(torch, 1, torch.nn.Sigmoid()), NUMBERS, classes=CLASSES)

    assert explainer.classes == ("bad", "good")
    np.testing.assert_allclose(explainer.observed.outputs.sum(axis=1), 1.0)


def test_logits_of_a_module_are_refused_with_the_remedy() -> None:
    torch = framework("torch")
    message = (
        r"the PyTorch module Sequential returned \[.*\] for one row, which are no probabilities "
        r"but look like logits; end the module with torch\.nn\.Softmax\(dim=1\), or "
    )

    for n_outputs, classes in ((2, None), (2, CLASSES), (1, CLASSES)):
        with pytest.raises(cp.PredictorError, match=message):
            cp.Explainer(network(torch, n_outputs), NUMBERS, classes=classes)


def test_a_module_for_a_table_with_texts_is_refused() -> None:
    torch = framework("torch")
    message = "^the PyTorch module Sequential takes numbers, but 'job' and 'city' of the data"

    with pytest.raises(cp.InvalidInput, match=message):
        cp.Explainer(network(torch, 1), DATA)


def test_a_module_that_returns_no_tensor_is_refused() -> None:
    torch = framework("torch")
    message = "the PyTorch module LSTM returned tuple instead of a tensor; pass a function"

    with pytest.raises(cp.PredictorError, match=message):
        cp.Explainer(torch.nn.LSTM(2, 2), NUMBERS)


# Keras


def keras_module() -> Any:
    framework("torch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its own imports
        return framework("keras")


def keras_model(n_outputs: int, activation: str | None) -> Any:
    keras = keras_module()
    keras.utils.set_random_seed(0)
    layers = [keras.Input((2,)), keras.layers.Rescaling(0.02), keras.layers.Dense(16, "relu")]
    last = [keras.layers.Dropout(0.5), keras.layers.Dense(n_outputs, activation)]
    return keras.Sequential([*layers, *last], name="net")


@pytest.mark.parametrize(("n_outputs", "activation"), [(1, "sigmoid"), (2, "softmax")])
def test_a_keras_model_is_explained_without_a_word(
    n_outputs: int, activation: str, capsys: pytest.CaptureFixture[str]
) -> None:
    model = keras_model(n_outputs, activation)
    probabilities = cp.Explainer(model, NUMBERS, classes=CLASSES).observed.outputs[:, 1]
    target = ("good", (float(np.quantile(probabilities, 0.9)), 1.0))

    valid = explained(model, NUMBERS, target, classes=CLASSES)

    again = model(valid[NUMBERS.columns].to_numpy(dtype=np.float32)).detach().numpy()[:, -1]
    np.testing.assert_allclose(again, valid["prediction"], atol=1e-6)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_a_keras_model_of_mixed_precision_is_explained(policy: str) -> None:
    keras = keras_module()
    keras.config.set_dtype_policy(policy)
    try:
        model = keras_model(3, "softmax")
    finally:
        keras.config.set_dtype_policy("float32")

    now = cp.Explainer(model, NUMBERS).observed.outputs[:, 2]
    target = (2, (float(np.quantile(now, 0.9)), 1.0))

    valid = explained(model, NUMBERS, target)

    again = model(valid[NUMBERS.columns].to_numpy(dtype=np.float32)).detach().double().numpy()
    np.testing.assert_allclose(again[:, 2], valid["prediction"], atol=0.01)


def test_a_keras_regression_is_explained() -> None:
    model = keras_model(1, None)
    now = cp.Explainer(model, NUMBERS).observed.outputs[:, 0]

    low = float(np.quantile(now, 0.9))

    valid = explained(model, NUMBERS, (low, None))

    again = model(valid[NUMBERS.columns].to_numpy(dtype=np.float32)).detach().numpy()
    assert (again >= low - 1e-6).all()
    assert_safe_for_many(model, NUMBERS, (low, None))


def test_logits_of_a_keras_model_are_refused_with_the_remedy() -> None:
    message = (
        r"the Keras model 'net' returned \[.*\] for one row, .* look like logits; give its last "
        r"layer activation='softmax', or 'sigmoid' for a single output\.$"
    )

    with pytest.raises(cp.PredictorError, match=message):
        cp.Explainer(keras_model(2, None), NUMBERS)


def test_a_keras_model_with_several_inputs_or_outputs_is_refused() -> None:
    keras = keras_module()
    first, second = keras.Input((1,)), keras.Input((1,))
    joined = keras.layers.Concatenate()([first, second])
    two_in = keras.Model([first, second], keras.layers.Dense(1)(joined), name="two")
    start = keras.Input((2,))
    outs = [keras.layers.Dense(1)(start), keras.layers.Dense(1)(start)]
    two_out = keras.Model(start, outs, name="fork")

    with pytest.raises(cp.InvalidInput, match="the Keras model 'two' has 2 inputs; pass a functi"):
        cp.Explainer(two_in, NUMBERS)
    with pytest.raises(cp.PredictorError, match="the Keras model 'fork' has 2 outputs; pass a fu"):
        cp.Explainer(two_out, NUMBERS)


# ONNX


def as_onnx(model: Any, data: pd.DataFrame, *, zipmap: bool = False) -> bytes:
    skl2onnx = framework("skl2onnx")
    types = framework("skl2onnx.common.data_types")
    if data is NUMBERS:
        inputs = [("rows", types.FloatTensorType([None, 2]))]
    else:
        texts = types.StringTensorType([None, 1])
        inputs = [
            (name, types.FloatTensorType([None, 1]) if name in ("age", "debt") else texts)
            for name in data.columns
        ]
    options = {"zipmap": zipmap} if hasattr(model, "predict_proba") else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the converter's own
        return bytes(
            skl2onnx.to_onnx(model, initial_types=inputs, options=options).SerializeToString()
        )


@pytest.mark.parametrize("form", ["path", "text", "bytes", "loaded"])
@pytest.mark.parametrize("zipmap", [False, True])
def test_an_onnx_file_brings_its_classes(tmp_path: Path, form: str, zipmap: bool) -> None:
    framework("onnxruntime")
    model = LogisticRegression().fit(NUMBERS, LABELS)
    graph, file = as_onnx(model, NUMBERS, zipmap=zipmap), tmp_path / "model.onnx"
    file.write_bytes(graph)
    forms = {"path": file, "text": str(file), "bytes": graph}
    given = cp.load_model(file) if form == "loaded" else forms[form]

    valid = explained(given, NUMBERS, "good")

    assert (model.predict(valid[NUMBERS.columns]) == "good").all()


def test_an_onnx_session_is_asked_by_the_names_of_the_columns() -> None:
    runtime = framework("onnxruntime")
    data = DATA.drop(columns="owns")
    encode = make_column_transformer(
        (StandardScaler(), ["age", "debt"]),
        (OneHotEncoder(handle_unknown="ignore"), ["job", "city"]),
    )
    model = make_pipeline(encode, LogisticRegression()).fit(data.astype({"job": str}), LABELS)
    session = runtime.InferenceSession(as_onnx(model, data), providers=["CPUExecutionProvider"])

    valid = explained(session, data, "good", classes=CLASSES)

    assert_safe_for_many(session, data, "good", classes=CLASSES)
    assert (model.predict(valid[data.columns]) == "good").all()
    with pytest.raises(cp.InvalidInput, match="the ONNX model has the inputs 'debt', which are"):
        cp.Explainer(session, data.rename(columns={"debt": "loan"}))


def test_an_onnx_regression_is_explained() -> None:
    framework("onnxruntime")
    model = LinearRegression().fit(NUMBERS, SCORE)

    valid = explained(as_onnx(model, NUMBERS), NUMBERS, (9.0, None))

    np.testing.assert_allclose(model.predict(valid[NUMBERS.columns]), valid["prediction"], 1e-5)


def test_an_onnx_model_that_cannot_be_used_is_told(tmp_path: Path) -> None:
    framework("onnxruntime")
    graph = as_onnx(LinearRegression().fit(NUMBERS, SCORE), NUMBERS)

    with pytest.raises(cp.InvalidInput, match="the bytes given cannot be read as an ONNX model"):
        cp.Explainer(b"nonsense", NUMBERS)
    with pytest.raises(cp.InvalidInput, match=r"the ONNX model '.*none\.onnx' is not a file"):
        cp.Explainer(tmp_path / "none.onnx", NUMBERS)
    with pytest.raises(cp.InvalidInput, match="the ONNX model's input 'rows' takes numbers, but"):
        cp.Explainer(graph, DATA)


def test_onnx_classes_in_another_order_than_the_scores_are_refused() -> None:
    framework("onnxruntime")
    graph = as_onnx(LogisticRegression().fit(NUMBERS, LABELS), NUMBERS)
    message = r"order of the ONNX model's scores, \['bad', 'good'\], got \['good', 'bad'\]"

    with pytest.raises(cp.InvalidInput, match=message):
        cp.Explainer(graph, NUMBERS, classes=["good", "bad"])


def test_onnx_classes_are_not_taken_from_the_parts_of_an_ensemble() -> None:
    """The members of a vote know classes as numbers; the vote itself has texts."""
    framework("onnxruntime")
    members = [("a", LogisticRegression()), ("b", LogisticRegression(C=0.1))]
    model = VotingClassifier(members, voting="soft", flatten_transform=False).fit(NUMBERS, LABELS)
    graph = as_onnx(model, NUMBERS)

    valid = explained(graph, NUMBERS, "good", classes=CLASSES)

    assert cp.Explainer(graph, NUMBERS).classes == (0, 1)
    assert cp.Explainer(graph, NUMBERS, classes=CLASSES).predictor.has_decision
    assert (model.predict(valid[NUMBERS.columns]) == "good").all()


def test_the_labels_of_an_onnx_model_decide_and_cannot_be_renamed() -> None:
    runtime = framework("onnxruntime")
    graph = as_onnx(LogisticRegression().fit(NUMBERS, LABELS), NUMBERS)
    session = runtime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    message = (
        "predict returned the label '(bad|good)', which is not one of the classes 'no' and 'yes'"
    )

    with pytest.raises(cp.PredictorError, match=message):
        cp.Explainer(session, NUMBERS, classes=["no", "yes"]).explain(NUMBERS.iloc[[0]], "opposite")


def test_numbers_are_not_cut_for_an_onnx_model_of_whole_numbers() -> None:
    framework("onnxruntime")
    helper = framework("onnx.helper")
    rows = helper.make_tensor_value_info("rows", 7, [None, 1])  # int64
    scores = helper.make_tensor_value_info("scores", 1, [None, 1])  # float
    node = helper.make_node("Cast", ["rows"], ["scores"], to=1)
    graph = helper.make_graph([node], "cast", [rows], [scores])
    opset = [helper.make_opsetid("", 17)]
    model = helper.make_model(graph, opset_imports=opset, ir_version=8).SerializeToString()

    valid = explained(model, DATA[["age"]], (50.0, None))

    assert (valid["age"] >= 50).all()
    message = r"input 'rows' is a tensor\(int64\), which cannot hold [-0-9.]+; pass data of whole"
    with pytest.raises(cp.InvalidInput, match=message):
        cp.Explainer(model, DATA[["debt"]])


def test_an_onnx_model_with_several_numbers_is_refused() -> None:
    framework("onnxruntime")
    helper = framework("onnx.helper")
    kind = 1  # float
    info = [helper.make_tensor_value_info(name, kind, [None, 2]) for name in ("rows", "a", "b")]
    nodes = [helper.make_node("Neg", ["rows"], ["a"]), helper.make_node("Abs", ["rows"], ["b"])]
    graph = helper.make_graph(nodes, "fork", info[:1], info[1:])
    opset = [helper.make_opsetid("", 17)]
    model = helper.make_model(graph, opset_imports=opset, ir_version=8)
    message = "has the outputs 'a' and 'b', of which exactly one must hold scores; pass a function"

    with pytest.raises(cp.InvalidInput, match=message):
        cp.Explainer(model.SerializeToString(), NUMBERS)


# MLflow


def pyfunc(tmp_path: Path, answer: Any, *, is_signed: bool = False) -> Any:
    """Return a model that was saved by MLflow and loaded again."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its own imports and on type hints
        mlflow = framework("mlflow.pyfunc")
        models = framework("mlflow.models")

        class Model(mlflow.PythonModel):  # type: ignore[misc, name-defined]
            """Answers by a function."""

            def predict(self, context: Any, model_input: pd.DataFrame, params: Any = None) -> Any:  # noqa: ARG002
                return answer(model_input)

        signature = models.infer_signature(DATA) if is_signed else None
        mlflow.save_model(tmp_path / "model", python_model=Model(), signature=signature)
        return mlflow.load_model(str(tmp_path / "model"))


@pytest.mark.parametrize("is_signed", [False, True])
def test_a_pyfunc_with_labels_is_explained(tmp_path: Path, is_signed: bool) -> None:
    model = with_columns(LogisticRegression())
    loaded = pyfunc(tmp_path, model.predict, is_signed=is_signed)

    valid = explained(loaded, DATA, "good", classes=CLASSES)

    assert (model.predict(valid[DATA.columns]) == "good").all()
    assert set(valid["prediction"]) == {1.0}


def test_a_pyfunc_with_labels_whose_classes_are_not_given_is_told(tmp_path: Path) -> None:
    loaded = pyfunc(tmp_path, with_columns(LogisticRegression()).predict)
    message = (
        r"the MLflow model returned labels, first '(bad|good)'; pass classes=\[...\] with all of "
        "them, or save the model with pyfunc_predict_fn='predict_proba'"
    )

    with pytest.raises(cp.PredictorError, match=message):
        cp.Explainer(loaded, DATA)


def test_a_pyfunc_with_probabilities_in_a_frame_is_explained(tmp_path: Path) -> None:
    model = with_columns(LogisticRegression())

    def answer(rows: pd.DataFrame) -> pd.DataFrame:
        return pd.DataFrame(model.predict_proba(rows)[:, ::-1], columns=["good", "bad"])

    valid = explained(pyfunc(tmp_path, answer), DATA, "good", classes=CLASSES)

    rows = valid[DATA.columns]
    np.testing.assert_array_equal(model.predict_proba(rows)[:, 1], valid["prediction"])


def test_a_pyfunc_regression_is_explained(tmp_path: Path) -> None:
    loaded = pyfunc(tmp_path, lambda rows: rows["debt"] + rows["age"] / 20)

    valid = explained(loaded, DATA, (9.0, None))

    assert (loaded.predict(valid[DATA.columns]) >= 9.0).all()
    assert_safe_for_many(loaded, DATA, (9.0, None))


# Tables of other libraries


def as_table(kind: str, data: pd.DataFrame) -> Any:
    """Return the data as a table of another library."""
    if kind == "polars":
        return pl.from_pandas(data)
    if kind == "pyarrow":
        return pa.Table.from_pandas(data, preserve_index=False)
    return data.to_numpy(dtype=np.float32)


def adapted(name: str, tmp_path: Path) -> tuple[Any, pd.DataFrame, dict[str, Any]]:
    """Return a model that is asked through an adapter, its data and settings."""
    plain = DATA.astype({"job": "str", "city": "str"})  # whose levels stay the same everywhere
    numbers = NUMBERS.astype("float32")
    if name == "catboost":
        settings = {"iterations": 30, "verbose": 0, "allow_writing_files": False}
        model = framework("catboost").CatBoostClassifier(**settings)
        return model.fit(plain, LABELS, cat_features=["job", "city", "owns"]), plain, {}
    if name == "torch":
        torch = framework("torch")
        module = network(torch, 2, torch.nn.Softmax(dim=1)).eval()
        return module, numbers, {"classes": CLASSES}
    if name == "keras":
        return keras_model(2, "softmax"), numbers, {"classes": CLASSES}
    if name == "onnx":
        framework("onnxruntime")
        return as_onnx(LogisticRegression().fit(numbers, LABELS), NUMBERS), numbers, {}
    model = with_columns(LogisticRegression()).fit(plain, LABELS)
    return pyfunc(tmp_path, model.predict_proba), plain, {"classes": CLASSES}


ADAPTED = ["catboost", "torch", "keras", "onnx", "mlflow"]
CELLS = [(name, kind) for name in ADAPTED for kind in ("polars", "pyarrow")]
CELLS += [(name, "numpy") for name in ("torch", "keras", "onnx")]  # an array has no levels


@pytest.mark.parametrize(("name", "kind"), CELLS)
def test_tables_of_other_libraries_give_the_same_counterfactuals(
    name: str, kind: str, tmp_path: Path
) -> None:
    model, data, settings = adapted(name, tmp_path)
    table = as_table(kind, data)
    expected = cp.Explainer(model, data, **settings).explain(data[:1], "opposite", SEARCH)

    found = cp.Explainer(model, table, **settings).explain(table[:1], "opposite", SEARCH)

    assert type(found.to_rows(near_misses=True)) is type(table)
    assert found.status == expected.status
    np.testing.assert_array_equal(found.genomes, expected.genomes)
    np.testing.assert_array_equal(found.predictions, expected.predictions)
