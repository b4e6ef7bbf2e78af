"""Every kind of table: what comes out is what went in, and the user's own model agrees."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import counterpoint as cp
from counterpoint.cli.main import main

N = 60
FAST = cp.Search(evaluations=400)
GRADES = ["low", "mid", "high"]


def draw_table() -> pd.DataFrame:
    rng = np.random.default_rng(3)  # noqa: TID251
    grades = pd.CategoricalDtype(GRADES, ordered=True)
    return pd.DataFrame(
        {
            "income": rng.integers(10, 60, N).astype(np.int16),
            "debt": rng.normal(4.0, 2.0, N).round(2),
            "share": rng.random(N).round(1).astype(np.float32),
            "owns": rng.random(N) < 0.5,
            "job": rng.choice(["clerk", "nurse", "smith"], N),
            "grade": pd.Series(rng.choice(GRADES, N)).astype(grades),
            "since": pd.Timestamp("2020-01-01")
            + pd.to_timedelta(rng.integers(0, 900, N), unit="D"),
        }
    )


DATA = draw_table()
NUMBERS = ["income", "debt", "share"]


def as_arrow_dtypes(data: pd.DataFrame) -> pd.DataFrame:
    plain = data.astype({"grade": "string"})
    return plain.convert_dtypes(dtype_backend="pyarrow")


def as_polars(data: pd.DataFrame) -> pl.DataFrame:
    made = {name: pl.Series(data[name].to_list()) for name in data.columns}
    made["income"] = made["income"].cast(pl.Int16)
    made["share"] = made["share"].cast(pl.Float32)
    made["job"] = made["job"].cast(pl.Categorical)
    made["grade"] = made["grade"].cast(pl.Enum(GRADES))
    made["since"] = made["since"].cast(pl.Date)
    return pl.DataFrame(made)


def as_pyarrow(data: pd.DataFrame) -> pa.Table:
    types = {
        "income": pa.int16(),
        "debt": pa.float64(),
        "share": pa.float32(),
        "owns": pa.bool_(),
        "job": pa.large_string(),
        "since": pa.date32(),
    }
    made = {name: pa.array(data[name].tolist(), type=kind) for name, kind in types.items()}
    codes = pa.array(data["grade"].cat.codes, type=pa.int8())
    made["grade"] = pa.DictionaryArray.from_arrays(codes, pa.array(GRADES), ordered=True)
    return pa.table({name: made[name] for name in data.columns})


KINDS: dict[str, Callable[[pd.DataFrame], Any]] = {
    "pandas": lambda data: data,
    "pandas, dates of Python": lambda data: data.assign(since=[d.date() for d in data["since"]]),
    "pandas, nullable": lambda data: data.convert_dtypes(dtype_backend="numpy_nullable"),
    "pandas, Arrow": as_arrow_dtypes,
    "polars": as_polars,
    "pyarrow": as_pyarrow,
}


def numbers_of(column: Any) -> Any:
    return np.asarray(column).astype(np.float64)


def days_of(column: Any) -> Any:
    values = column.to_pylist() if isinstance(column, pa.ChunkedArray) else list(column)
    return np.array([(pd.Timestamp(value) - pd.Timestamp("2020-01-01")).days for value in values])


def is_one(column: Any, level: str) -> Any:
    return np.array([str(value) == level for value in column])


def score(rows: Any) -> Any:
    """Judge rows of any kind of frame by every column of theirs."""
    text = 1.0 * is_one(rows["job"], "smith") + 1.5 * is_one(rows["grade"], "high")
    numbers = 0.1 * numbers_of(rows["income"]) - numbers_of(rows["debt"])
    rest = numbers_of(rows["share"]) + numbers_of(rows["owns"]) + days_of(rows["since"]) / 900.0
    return 1.0 / (1.0 + np.exp(2.0 - text - numbers - rest))


def types_of(table: Any) -> dict[str, Any]:
    """Return the dtype of every column, in order."""
    if isinstance(table, pl.DataFrame):
        return dict(table.schema)
    if isinstance(table, pa.Table):
        return dict(zip(table.schema.names, table.schema.types, strict=True))
    return dict(table.dtypes)


@pytest.mark.parametrize("kind", KINDS)
def test_a_function_is_asked_with_the_kind_of_the_data_and_the_result_comes_in_it(
    kind: str,
) -> None:
    data = KINDS[kind](DATA)
    asked: list[Any] = []

    def model(rows: Any) -> Any:
        asked.append(rows)
        return score(rows)

    explainer = cp.Explainer(model, data)
    worst = int(np.argmin(score(data)))
    found = explainer.explain(data[worst : worst + 1], (0.6, 1.0), FAST)

    rows, frame = found.valid().to_rows(), found.valid().to_frame()
    assert {type(each) for each in [*asked, rows, frame, found.row]} == {type(data)}
    assert all(types_of(each) == types_of(data) for each in [*asked, rows, found.row])
    assert dict(list(types_of(frame).items())[: len(types_of(data))]) == types_of(data)
    assert found.status == "found"
    np.testing.assert_array_equal(score(rows), numbers_of(frame["prediction"]))
    assert (score(rows) >= 0.6).all()


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_table_gives_the_same_counterfactuals(kind: str) -> None:
    data, plain = KINDS[kind](DATA), DATA.assign(grade=DATA["grade"].astype(object))
    row = plain.iloc[0].to_dict()
    features: Any = {"grade": cp.Ordered(GRADES)}

    found = cp.Explainer(score, data, features=features).explain(row, (0.9, 1.0), FAST)

    expected = cp.Explainer(score, plain, features=features).explain(row, (0.9, 1.0), FAST)
    np.testing.assert_array_equal(found.genomes, expected.genomes)
    np.testing.assert_array_equal(found.objectives, expected.objectives)


@pytest.mark.parametrize("kind", KINDS)
def test_a_saved_result_comes_back_in_its_kind_of_table(kind: str, tmp_path: Any) -> None:
    data = KINDS[kind](DATA)
    found = cp.Explainer(score, data).explain(data[:1], (0.9, 1.0), FAST)

    found.save(tmp_path / "found.json")
    loaded = cp.load(tmp_path / "found.json")

    for own, again in [
        (found.to_rows(near_misses=True), loaded.to_rows(near_misses=True)),
        (found.to_frame(near_misses=True), loaded.to_frame(near_misses=True)),
        (
            found.to_frame(only_changes=True, near_misses=True),
            loaded.to_frame(only_changes=True, near_misses=True),
        ),
        (found.row, loaded.row),
        (found.history, loaded.history),
    ]:
        assert type(again) is type(own)
        assert again.equals(own)
        assert types_of(again) == types_of(own)
    assert str(loaded) == str(found)
    assert loaded.fingerprints == found.fingerprints


@pytest.mark.parametrize("kind", ["pandas", "pandas, nullable", "pandas, Arrow", "polars"])
@pytest.mark.parametrize("is_forest", [False, True])
def test_estimators_are_asked_exactly_whatever_the_kind_of_table(
    kind: str, is_forest: bool
) -> None:
    numbers = DATA[[*NUMBERS, "owns", "job"] if is_forest else NUMBERS]
    made: dict[str, Any] = {
        "pandas": numbers,
        "pandas, nullable": numbers.convert_dtypes(dtype_backend="numpy_nullable"),
        "pandas, Arrow": numbers.convert_dtypes(dtype_backend="pyarrow"),
        "polars": as_polars(DATA).select(list(numbers.columns)),
    }
    data = made[kind]
    model: Any = LogisticRegression()
    if is_forest:
        encode = make_column_transformer((OneHotEncoder(), ["job"]), remainder="passthrough")
        model = make_pipeline(encode, RandomForestClassifier(10, random_state=0))
    model.fit(data, np.where(score(DATA) > 0.5, "good", "bad"))
    worst = int(np.argmin(model.predict_proba(data)[:, 1]))

    found = cp.Explainer(model, data).explain(data[worst : worst + 1], "good", FAST)

    rows = found.to_rows(near_misses=True)
    assert type(rows) is type(data)
    assert types_of(rows) == types_of(data)
    # A matrix product of so many rows may differ in its last bit from one of eight at a time.
    np.testing.assert_allclose(model.predict_proba(rows)[:, 1], found.predictions, rtol=1e-13)
    assert (model.predict(found.valid().to_rows()) == "good").all()
    assert found.status == "found"


ARRAYS: dict[str, Any] = {
    "float64": DATA[NUMBERS].to_numpy(np.float64),
    "float32": DATA[NUMBERS].to_numpy(np.float32),
    "int32": DATA[NUMBERS].round().to_numpy(np.int32),
    "bool": DATA[NUMBERS].to_numpy(np.float64) > DATA[NUMBERS].mean().to_numpy(),
    "object": DATA[["income", "debt", "owns", "job"]].to_numpy(object),
    "text": DATA[["job", "grade"]].to_numpy(str),
}


def judge(rows: Any) -> Any:
    """Judge rows of an array, whatever it holds."""
    number = {"clerk": 0.0, "nurse": 1.0, "smith": 2.0, "low": 0.0, "mid": 1.0, "high": 2.0}
    cells = [[float(number.get(cell, cell)) for cell in row] for row in rows.tolist()]
    return np.array(cells) @ np.array([1.0, -2.0, 0.5, 0.25])[: rows.shape[1]]


@pytest.mark.parametrize("dtype", ARRAYS)
def test_an_array_is_asked_with_and_returned_in_its_dtype(dtype: str) -> None:
    data = ARRAYS[dtype]
    asked: list[Any] = []

    def model(rows: Any) -> Any:
        asked.append(rows)
        return judge(rows)

    explainer = cp.Explainer(model, data)
    worst = int(np.argmin(judge(data)))
    target = (float(np.quantile(judge(data), 0.7)), None)
    found = explainer.explain(data[worst], target, FAST)

    rows, frame = found.valid().to_rows(), found.valid().to_frame()
    assert {type(each) for each in [*asked, rows]} == {np.ndarray}
    assert {each.dtype for each in [*asked, rows]} == {data.dtype}
    assert all(each.ndim == 2 for each in [*asked, rows])
    assert isinstance(frame, pd.DataFrame)
    assert frame.columns[: data.shape[1]].tolist() == [*range(data.shape[1])]
    assert found.status == "found"
    np.testing.assert_array_equal(judge(rows), frame["prediction"])
    same = explainer.explain_many(data[worst : worst + 1], target, FAST)[0]
    np.testing.assert_array_equal(same.genomes, found.genomes)


def test_an_estimator_fitted_on_an_array_is_asked_with_arrays() -> None:
    data = ARRAYS["float32"]
    model = LogisticRegression().fit(data, score(DATA) > 0.5)

    found = cp.Explainer(model, data).explain(data[0], "opposite", FAST)

    probabilities = model.predict_proba(found.to_rows(near_misses=True))[:, found.target.column]
    np.testing.assert_allclose(probabilities, found.predictions, atol=1e-6)
    assert (model.predict(found.valid().to_rows()) != model.predict(data[:1])).all()
    assert found.status == "found"


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_a_row_of_any_kind_is_the_same_row(kind: str) -> None:
    explainer = cp.Explainer(score, KINDS[kind](DATA))
    plain = DATA.assign(grade=DATA["grade"].astype(object)).iloc[0]
    forms = [each(DATA)[:1] for each in KINDS.values()] + [
        plain,
        plain.to_dict(),
        [plain.to_dict()],
    ]

    found = [
        explainer.explain(row, (0.9, 1.0), FAST)
        if not isinstance(row, list)
        else explainer.explain_many(row, (0.9, 1.0), FAST)[0]
        for row in forms
    ]

    for each in found[1:]:
        np.testing.assert_array_equal(each.genomes, found[0].genomes)


def test_rules_that_are_functions_get_the_kind_of_the_data() -> None:
    data = as_polars(DATA)

    def is_modest(rows: pl.DataFrame) -> Any:
        return rows["income"] <= 40

    found = cp.Explainer(score, data).explain(
        data[:1].with_columns(income=pl.lit(12, dtype=pl.Int16)),
        (0.8, 1.0),
        FAST,
        constraints=[is_modest, "since increases"],
    )

    assert found.status == "found"
    assert (found.to_rows(near_misses=True)["income"] <= 40).all()
    assert (found.to_rows(near_misses=True)["since"] >= data["since"][0]).all()


# Already encoded data


def one_hot(*, drop_first: bool, dtype: Any = np.int64) -> pd.DataFrame:
    encoded = pd.get_dummies(DATA[["job"]], drop_first=drop_first, dtype=dtype)
    return pd.concat([DATA[["income"]], encoded, DATA[["debt"]]], axis=1)


def score_encoded(rows: Any) -> Any:
    smith = numbers_of(rows["job_smith"])
    return 1.0 / (1.0 + np.exp(3.0 - 2.0 * smith - 0.1 * numbers_of(rows["income"])))


@pytest.mark.parametrize("drop_first", [False, True])
@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.float64, bool, "Int8"])
def test_a_one_hot_group_changes_as_one_feature_and_never_has_two_levels_on(
    drop_first: bool, dtype: Any
) -> None:
    data = one_hot(drop_first=drop_first, dtype=dtype)
    columns = [name for name in data.columns if name.startswith("job_")]

    explainer = cp.Explainer(score_encoded, data, groups={"job": columns})
    found = explainer.explain_many(data[:8], (0.7, 1.0), FAST, constraints=["at most 2 changes"])

    for i, each in enumerate(found):
        rows = each.to_rows(near_misses=True)
        n_on = rows[columns].astype(float).sum(axis=1)
        assert (n_on <= 1.0 if drop_first else n_on == 1.0).all()
        assert dict(rows.dtypes) == dict(data.dtypes)
        differs = rows[columns].astype(float).ne(data[columns].iloc[i].astype(float)).any(axis=1)
        rest = rows[["income", "debt"]].ne(data[["income", "debt"]].iloc[i]).sum(axis=1)
        np.testing.assert_array_equal(each.to_frame(near_misses=True)["changes"], differs + rest)
    assert any("job" in each.change_frequency().index for each in found)
    assert {each.status for each in found} <= {"found", "already_met"}


def encoded_as(kind: str) -> Any:
    data = one_hot(drop_first=False)
    kinds: dict[str, Callable[[], Any]] = {
        "pandas": lambda: data,
        "polars": lambda: pl.DataFrame(data.to_dict("list")),
        "pyarrow": lambda: pa.table(data.to_dict("list")),
        "numpy": lambda: data.to_numpy(np.float64),
    }
    return kinds[kind]()


@pytest.mark.parametrize("kind", ["pandas", "polars", "numpy"])
@pytest.mark.parametrize(
    "search",
    [
        FAST,
        cp.WhatIf(),
        replace(cp.Search.paper("mocmod"), population=8, generations=5),
        replace(cp.Search.paper("random"), population=8, generations=5),
    ],
)
def test_every_search_keeps_a_group_whole_and_the_model_agrees(kind: str, search: Any) -> None:
    data, columns = encoded_as(kind), [1, 2, 3]
    names = columns if kind == "numpy" else ["job_clerk", "job_nurse", "job_smith"]
    model = RandomForestClassifier(10, random_state=0)
    model.fit(data, np.where(score_encoded(one_hot(drop_first=False)) > 0.5, "good", "bad"))
    worst = int(np.argmin(model.predict_proba(data)[:, 1]))

    explainer = cp.Explainer(model, data, groups={"job": names})
    found = explainer.explain(data[worst : worst + 1], "good", search)

    rows = found.to_rows(near_misses=True)
    cells = np.asarray(rows, dtype=np.float64)
    assert set(np.unique(cells[:, columns])) <= {0.0, 1.0}
    assert (cells[:, columns].sum(axis=1) == 1.0).all()
    np.testing.assert_array_equal(model.predict_proba(rows)[:, 1], found.predictions)
    assert (model.predict(found.valid().to_rows()) == "good").all()
    assert found.changed.shape[1] == 3


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", "numpy"])
def test_a_group_is_meant_by_its_name_in_limits_rules_costs_and_the_summary(kind: str) -> None:
    data = encoded_as(kind)
    columns: list[Any] = [1, 2, 3] if kind == "numpy" else ["job_clerk", "job_nurse", "job_smith"]
    groups = {"job": columns}

    def model(rows: Any) -> Any:
        columns = rows.T if kind == "numpy" else [np.asarray(rows[name]) for name in NAMES]
        cells = np.column_stack([*columns])
        return 1.0 / (1.0 + np.exp(3.0 - 2.0 * cells[:, 3] - 0.1 * cells[:, 0]))

    explainer = cp.Explainer(model, data, groups=groups)
    worst = int(np.argmin(score_encoded(one_hot(drop_first=False))))
    row = data[worst] if kind == "numpy" else data[worst : worst + 1]
    rules = ["job = '3'", "fixed `0`"] if kind == "numpy" else ["job = smith", "fixed income"]
    held = explainer.explain(row, (0.3, None), FAST, fixed=["job"])
    forced = explainer.explain(row, (0.3, None), FAST, constraints=rules, costs={"job": 2.0})

    at = explainer.schema.names.index("job")
    assert not held.changed[:, at].any()
    assert (forced.genomes[:, at] == 2.0).all()
    frequency = forced.change_frequency()
    if kind in ("polars", "pyarrow"):
        names, shares = (np.asarray(frequency[name]) for name in ("feature", "frequency"))
        frequency = dict(zip(names, shares, strict=True))
    assert frequency["job"] == 1.0
    assert forced.costs["job"] == 2.0
    header = next(line for line in str(forced).splitlines() if "implausibility" in line)
    assert header.split()[0] == "job"


NAMES = list(one_hot(drop_first=False).columns)


def test_a_group_that_is_found_is_announced_where_the_explainer_is_made() -> None:
    data = one_hot(drop_first=False)

    with pytest.warns(cp.DataWarning, match="searched as 'job'") as caught:
        explainer = cp.Explainer(score_encoded, data)

    assert caught[0].filename == __file__
    assert explainer.schema.names == ("income", "job", "debt")


def test_a_column_of_a_group_is_no_feature_of_its_own() -> None:
    data = one_hot(drop_first=False)
    explainer = cp.Explainer(score_encoded, data, groups={"job": NAMES[1:4]})

    with pytest.raises(cp.UnknownFeatureError, match=r"fixed names 'job_clerk', .*'job'"):
        explainer.explain(data[:1], (0.9, 1.0), FAST, fixed=["job_clerk"])


# Dates


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_dates_obey_ranges_and_rules_written_as_dates(kind: str) -> None:
    data = KINDS[kind](DATA)
    explainer = cp.Explainer(lambda rows: days_of(rows["since"]) / 900.0, data)
    row = data[int(np.argmin(days_of(data["since"]))) :][:1]

    found = explainer.explain(
        row,
        (0.3, None),
        FAST,
        ranges={"since": (None, datetime.date(2021, 1, 1))},
        constraints=["since < '2020-12-25'"],
    )

    days = days_of(found.to_rows(near_misses=True)["since"])
    assert found.status == "found"
    assert (days < days_of([datetime.date(2020, 12, 25)])).all()
    assert (np.array(found.valid().to_frame()["prediction"]) >= 0.3).all()


def test_a_range_that_is_no_range_of_dates_is_refused() -> None:
    explainer = cp.Explainer(score, DATA)

    with pytest.raises(cp.InvalidInput, match=r"ranges\['since'\] must hold dates, got 'May'; wri"):
        explainer.explain(DATA[:1], (0.9, 1.0), ranges={"since": ("May", None)})


def test_nothing_found_names_the_date_that_would_do() -> None:
    explainer = cp.Explainer(lambda rows: days_of(rows["since"]) / 900.0, DATA[["since", "debt"]])
    row = {"since": pd.Timestamp("2020-01-10"), "debt": 2.0}

    found = explainer.explain(
        row, (0.9, None), FAST, ranges={"since": ("2020-01-01", "2020-02-01")}
    )

    assert found.status == "best_effort"
    assert "widen ranges['since'] to 202" in found.message
    assert "00:00:00" not in str(found)


@pytest.mark.parametrize("kind", ["polars", "pyarrow"])
def test_many_results_are_saved_in_one_file_and_shown_by_the_command_line(
    kind: str, tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    data = encoded_as(kind)
    explainer = cp.Explainer(score_encoded, data, groups={"job": NAMES[1:4]})
    results = explainer.explain_many(data[:3], (0.8, None), FAST, fixed=["income", "debt"])

    cp.save_many(results, tmp_path / "all.parquet")
    loaded = cp.load_many(tmp_path / "all.parquet")
    main(["show", str(tmp_path / "all.parquet"), "--json"])

    shown = json.loads(capsys.readouterr().out)
    for own, again, told in zip(results, loaded, shown, strict=True):
        assert again.to_frame(near_misses=True).equals(own.to_frame(near_misses=True))
        assert set(told["row"]) == {"income", "job", "debt"}
        changed = [each["changed"] for each in told["counterfactuals"]]
        assert changed == [{"job": level} for level in own.to_pandas(only_changes=True)["job"]]
