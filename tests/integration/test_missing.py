"""Missing values: in the data, in the row, through every kind of table and real models."""

from __future__ import annotations

import datetime
from itertools import combinations
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

import counterpoint as cp
from counterpoint.arrays import MISSING
from counterpoint.neighbours.gower import gower_with_missing
from counterpoint.neighbours.index import gower_weights
from counterpoint.result.choosing.orders import By, neighbours_of
from counterpoint.streams import row_keys
from counterpoint.table.frames import read_data
from counterpoint.table.schema import Encoding, Schema

N = 300
COLUMNS = ["income", "age", "debt", "job"]
DAYS = [datetime.date(2020, 1, 1), None, datetime.date(2020, 3, 1)]
MOMENTS = [datetime.datetime(2020, 1, 1), None, datetime.datetime(2020, 3, 1)]


def draw_table(share: float = 0.2) -> pd.DataFrame:
    rng = np.random.default_rng(1)  # noqa: TID251
    data = pd.DataFrame(
        {
            "income": rng.integers(10, 100, N).astype(float),
            "age": rng.integers(18, 80, N),
            "debt": rng.normal(10, 4, N).round(1),
            "job": pd.Categorical(rng.choice(["clerk", "nurse", "smith"], N)),
        }
    )
    for name in ("income", "debt", "job"):
        data.loc[rng.random(N) < share, name] = np.nan
    return data


def accepts(data: pd.DataFrame) -> Any:
    worth = data["income"].fillna(30.0) - 3.0 * data["debt"].fillna(8.0) + 0.1 * data["age"]
    return (worth > 20.0).astype(int)


def boosted(data: pd.DataFrame) -> Any:
    model = HistGradientBoostingClassifier(
        categorical_features="from_dtype", max_iter=20, random_state=0
    )
    return model.fit(data, accepts(data))


@pytest.fixture(scope="module")
def explainer() -> cp.Explainer:
    data = draw_table()
    return cp.Explainer(boosted(data), data)


def rejected(explainer: cp.Explainer, *, complete: bool) -> Any:
    """Return a row the model rejects, with or without missing values."""
    data = draw_table()
    is_complete = data.notna().all(axis=1) if complete else data["income"].isna()
    rows = data[is_complete]
    return rows[explainer.predictor.model.predict(rows) == 0].iloc[[0]]


def plain_distances(found: cp.Counterfactuals, weight: Any, cap: Any) -> Any:
    """Return the distances to the row by their definition, pair by pair."""
    problem, row = found.problem, found.problem.rows[0]
    distances = []
    for genome in found.genomes:
        shares = []
        for j, (new, old) in enumerate(zip(genome, row, strict=True)):
            genes = problem.observed.genomes[:, j]
            genes = genes[genes != MISSING].tolist()
            pairs = [abs(a - b) for a, b in combinations(genes, 2) if a != b]
            if (new == MISSING) != (old == MISSING):
                is_number = np.isinf(cap[j]) and pairs
                shares.append(min(np.mean(pairs) * weight[j], 1.0) if is_number else 1.0)
            else:
                shares.append(min(abs(new - old) * weight[j], cap[j]))
        distances.append(np.mean(shares))
    return np.array(distances)


def check_distances(found: cp.Counterfactuals) -> None:
    """Compare distance and implausibility with the plain definition."""
    problem = found.problem
    weight, cap = gower_weights(problem.rows, problem.space)
    near = gower_with_missing(found.genomes, problem.observed.genomes, weight[0], cap)
    if (problem.rows[0] == MISSING).any():  # filled, only complete rows tell how plausible it is
        whole = problem.observed.whole
        is_filled = (found.genomes != MISSING).all(axis=1)
        apart = gower_with_missing(found.genomes[is_filled], whole, weight[0], cap)
        near[is_filled] = np.inf
        near[is_filled, : len(whole)] = apart
    own = plain_distances(found, weight[0], cap)
    k = len(problem.observed.shares)
    nearest = np.sort(near, axis=1)[:, :k] @ problem.observed.shares
    np.testing.assert_allclose(found.objectives[:, 3], nearest, atol=1e-9)
    np.testing.assert_allclose(found.objectives[:, 1], own, atol=1e-9)


SEARCHES = [
    cp.Search(evaluations=300),
    cp.Search(method="nsga2", generations=5, mutation="gaussian"),
    cp.Search(method="nsga2", generations=3, mutation="gaussian", initialization="observed"),
    cp.Search(method="nsga2", generations=3, mutation="gaussian", initialization="deviation"),
    cp.Search(method="random", generations=3),
    cp.WhatIf(n=3),
]


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("complete", [True, False])
def test_counterfactuals_are_valid_and_miss_only_what_the_row_misses(
    explainer: cp.Explainer, search: Any, complete: bool
) -> None:
    row = rejected(explainer, complete=complete)

    found = explainer.explain(row, 1, search)

    frame = found.to_frame(near_misses=True)[COLUMNS]
    assert len(found.valid()) > 0
    assert (explainer.predictor.model.predict(found.valid().to_frame()[COLUMNS]) == 1).all()
    assert (frame.dtypes == draw_table().dtypes).all()
    assert not (frame.isna() & ~row.isna().to_numpy()).any().any()
    is_same = (frame.to_numpy() == row.to_numpy()) | (frame.isna() & row.isna().to_numpy())
    np.testing.assert_array_equal(found.changed, ~is_same.to_numpy())
    check_distances(found)


def test_filling_in_what_the_row_lacks_costs_what_a_typical_change_does() -> None:
    data = pd.DataFrame({"income": [np.nan, 10.0, 20.0, 40.0, 90.0], "age": [30, 30, 40, 50, 60]})
    explainer = cp.Explainer(lambda rows: rows["income"].fillna(0.0) / 100.0, data)

    found = explainer.explain(data.iloc[[0]], (0.5, None))

    typical = np.mean([abs(a - b) for a, b in combinations([10, 20, 40, 90], 2)]) / 80.0
    frame = found.to_frame()
    assert frame["income"].notna().all()
    filled = frame[frame["changes"] == 1]
    np.testing.assert_allclose(filled["distance"], typical / 2.0)
    # The nearest complete row has an income of 10, and counterfactuals have at least 50.
    np.testing.assert_allclose(filled["implausibility"].min(), (50 - 10) / 80 / 2.0)


def test_a_row_that_lacks_a_value_may_keep_lacking_it(explainer: cp.Explainer) -> None:
    found = explainer.explain(rejected(explainer, complete=False), 1, fixed=["income"])

    assert found.to_frame(near_misses=True)["income"].isna().all()
    assert not found.notes


@pytest.mark.parametrize("k", [1, 3])
def test_all_rows_may_miss_something(k: int) -> None:
    data = draw_table()
    data.loc[::2, "income"] = np.nan
    data.loc[1::2, "debt"] = np.nan
    model = boosted(data)
    explainer = cp.Explainer(model, data, k=k)
    row = {"income": 20.0, "age": 30, "debt": 15.0, "job": "nurse"}

    found = explainer.explain(row, "opposite", cp.Search(evaluations=300))

    assert found.status == "found"
    assert not found.to_frame(near_misses=True)[COLUMNS].isna().any().any()
    check_distances(found)


def test_a_row_gets_the_same_bits_in_company(explainer: cp.Explainer) -> None:
    rows = pd.concat([rejected(explainer, complete=c) for c in (True, False)])
    search = cp.Search(evaluations=200)

    together = explainer.explain_many(rows, 1, search)

    for i, found in enumerate(together):
        alone = explainer.explain(rows.iloc[[i]], 1, search)
        np.testing.assert_array_equal(found.genomes, alone.genomes)
        np.testing.assert_array_equal(found.objectives, alone.objectives)


def test_what_may_be_missing_is_where_that_helps_and_costs_what_a_typical_change_does() -> None:
    data = draw_table()
    explainer = cp.Explainer(
        lambda rows: np.where(rows["debt"].isna(), 0.9, 0.1), data, allow_missing=["debt"]
    )

    found = explainer.explain(rejected_row(data), (0.5, None))

    assert found.to_frame()["debt"].isna().all()
    debts = data["debt"].dropna().tolist()
    typical = np.mean([abs(a - b) for a, b in combinations(debts, 2) if a != b])
    share = typical / (max(debts) - min(debts))
    np.testing.assert_allclose(found.to_frame()["distance"].min(), share / len(COLUMNS))


def rejected_row(data: pd.DataFrame) -> pd.DataFrame:
    return data[data.notna().all(axis=1)].iloc[[0]]


@pytest.mark.parametrize("search", SEARCHES[:5])
@pytest.mark.parametrize("complete", [True, False])
def test_counterfactuals_lack_what_they_are_allowed_to(search: Any, complete: bool) -> None:
    data = draw_table()
    model = boosted(data)
    explainer = cp.Explainer(model, data, allow_missing=["debt", "job"])
    row = rejected(explainer, complete=complete)

    found = explainer.explain(row, "opposite", search)

    frame = found.to_frame(near_misses=True)[COLUMNS]
    assert complete <= (not frame[["income", "age"]].isna().any().any())
    assert (frame.dtypes == data.dtypes).all()
    valid = found.valid().to_frame()[COLUMNS]
    assert (model.predict(valid) == 1).all()
    check_distances(found)


def test_allowed_values_are_saved_and_bound_by_limits(tmp_path: Path) -> None:
    data = draw_table()
    explainer = cp.Explainer(boosted(data), data, allow_missing=True)
    row = rejected(explainer, complete=True)
    limits: Any = {"fixed": ["debt"], "max_changed": 2, "constraints": ["age increases"]}

    found = explainer.explain(row, 1, cp.Search(evaluations=300), **limits)

    found.save(tmp_path / "found.json")
    pd.testing.assert_frame_equal(
        cp.load(tmp_path / "found.json").to_frame(near_misses=True),
        found.to_frame(near_misses=True),
    )
    frame = found.to_frame(near_misses=True)
    assert frame["debt"].notna().all()
    assert (found.changed.sum(axis=1) <= 2).all()
    assert (frame["age"] >= row["age"].iloc[0]).all()


@pytest.mark.parametrize(
    ("allowed", "message"),
    [
        ("debt", "allow_missing must be a list of column names, True or False, got 'debt'"),
        (3, "allow_missing must be a list of column names"),
        (["dept"], "allow_missing names 'dept'.*did you mean 'debt'"),
        (["age"], "allow_missing names 'age', of which the data miss no value.*leave it out"),
    ],
)
def test_what_cannot_be_allowed_is_refused(
    explainer: cp.Explainer, allowed: Any, message: str
) -> None:
    with pytest.raises((cp.InvalidInput, cp.UnknownFeatureError), match=message):
        cp.Explainer(explainer.predictor.model, draw_table(), allow_missing=allowed)


@pytest.mark.parametrize("search", [cp.Search(evaluations=600), cp.Search.paper("moc")])
def test_what_stays_missing_breaks_no_rule_and_what_is_filled_in_obeys(
    explainer: cp.Explainer, search: cp.Search
) -> None:
    row, rules = rejected(explainer, complete=False), ["income >= 60", "debt + 50 <= income"]

    found = explainer.explain(row, 1, search, constraints=rules)

    frame = found.to_frame(near_misses=True)
    income = frame["income"]
    assert income.isna().any()
    assert income.notna().any()
    obeys = (income >= 60) & ((frame["debt"] + 50 <= income) | frame["debt"].isna())
    assert (income.isna() | obeys).all()
    free = explainer.explain(row, 1, search).to_frame(near_misses=True)["income"]
    assert (free < 60).any()


def test_what_may_become_missing_does_so_under_a_rule_that_compares_it() -> None:
    data = draw_table()
    explainer = cp.Explainer(
        lambda rows: np.where(rows["debt"].isna(), 0.9, rows["age"] / 200),
        data,
        allow_missing=["debt"],
    )
    row = data.dropna().iloc[[0]].assign(debt=12.0)

    found = explainer.explain(
        row, (0.5, 1.0), cp.Search(evaluations=400), constraints=["debt in 5..9", "debt < age"]
    )

    debt = found.to_frame(near_misses=True)["debt"]
    assert found.status == "found"
    assert debt.isna().any()
    assert (debt.isna() | debt.between(5, 9)).all()


def test_costs_weigh_only_what_the_row_has(explainer: cp.Explainer) -> None:
    row = rejected(explainer, complete=False)

    plain = explainer.explain(row, 1, cp.Search(evaluations=200), costs={"age": 1.0})

    check_distances(plain)


def test_a_result_is_saved_with_null_and_read_back(explainer: cp.Explainer, tmp_path: Path) -> None:
    path = tmp_path / "found.json"
    found = explainer.explain(rejected(explainer, complete=False), 1, fixed=["income"])

    found.save(path)

    loaded = cp.load(path)
    pd.testing.assert_frame_equal(
        loaded.to_frame(near_misses=True), found.to_frame(near_misses=True)
    )
    pd.testing.assert_frame_equal(loaded.row, found.row)
    assert "null" in path.read_text()
    assert str(loaded).replace("\n", "") == str(found).replace("\n", "")


@pytest.fixture(scope="module")
def found_missing(explainer: cp.Explainer) -> cp.Counterfactuals:
    data = draw_table()
    free = cp.Explainer(explainer.predictor.model, data, allow_missing=True, units={"income": "k"})
    return free.explain(rejected(explainer, complete=False), 1)


def test_sentences_say_what_is_missing_and_give_the_unit_where_there_is_a_number(
    found_missing: cp.Counterfactuals,
) -> None:
    filled = found_missing.take(np.flatnonzero(found_missing.genomes[:, 0] != MISSING)[:3])

    assert "k instead of missing" in filled.explain_text(reader="analyst")
    assert "k statt keiner Angabe für „income“" in filled.explain_text(lang="de", reader="customer")
    assert "missing" in filled._repr_html_()


def test_diversity_is_the_mean_of_the_distances_by_gowers_rule(
    found_missing: cp.Counterfactuals,
) -> None:
    problem, genomes = found_missing.problem, found_missing.genomes
    weight, cap = gower_weights(problem.rows, problem.space)
    apart = gower_with_missing(genomes, genomes, weight[0], cap)

    assert (genomes == MISSING).any()
    pairs = np.triu_indices(len(genomes), 1)
    np.testing.assert_allclose(found_missing.diversity(), apart[pairs].mean())


def test_neighbours_lack_what_the_counterfactual_lacks_and_nothing_else(
    found_missing: cp.Counterfactuals,
) -> None:
    genomes = found_missing.genomes

    near = neighbours_of(found_missing, genomes, row_keys(0, genomes), 30)

    np.testing.assert_array_equal(
        near == MISSING, np.broadcast_to((genomes == MISSING)[:, None], near.shape)
    )
    here = near != MISSING
    space = found_missing.space
    assert ((near >= space.low) & (near <= space.high))[here].all()


def test_choosing_figures_and_the_report_take_missing_values(
    found_missing: cp.Counterfactuals, tmp_path: Path
) -> None:
    found, path = found_missing, tmp_path / "found.json"
    for by in get_args(By):
        assert len(found.select(3, by=by).genomes) == 3
    assert found.prefer(seed=0).question is not None
    for chart in (found.plot.parallel(), found.plot.strips(), found.plot.ice("income")):
        assert "Infinity" not in chart.to_json()
    assert found.plot.surface("income", "job").to_dict()
    found.save(path)
    for result in (found, cp.load(path)):
        result.report(tmp_path / "row.html")
        page = (tmp_path / "row.html").read_text()
        assert "missing" in page
        assert str(MISSING) not in page


def test_words_say_missing(explainer: cp.Explainer) -> None:
    found = explainer.explain(rejected(explainer, complete=False), 1)

    assert "missing" in str(found)
    assert "or missing" in str(explainer.schema)


def test_models_of_other_libraries_take_them() -> None:
    xgboost, lightgbm = pytest.importorskip("xgboost"), pytest.importorskip("lightgbm")
    data = draw_table()[["income", "age", "debt"]]
    for model in (
        xgboost.XGBClassifier(n_estimators=20),
        lightgbm.LGBMClassifier(n_estimators=20, verbose=-1),
    ):
        model.fit(data, accepts(data))
        rows = data[data["debt"].isna()]
        row = rows[model.predict(rows) == 0].iloc[[0]]

        found = cp.Explainer(model, data).explain(row, 1, cp.Search(evaluations=300))

        valid = found.valid().to_frame()[list(data)]
        assert len(valid) > 0
        assert (model.predict(valid) == 1).all()


TABLES = [
    pd.DataFrame({"x": [1.5, np.nan, 2.5]}),
    pd.DataFrame({"x": np.array([1.5, np.nan, 2.5], dtype=np.float32)}),
    pd.DataFrame({"x": pd.array([1, None, 3], dtype="Int64")}),
    pd.DataFrame({"x": pd.array([1, None, 3], dtype="UInt8")}),
    pd.DataFrame({"x": pd.array([1.5, None, 3.5], dtype="Float32")}),
    pd.DataFrame({"x": pd.array([True, None, False], dtype="boolean")}),
    pd.DataFrame({"x": pd.array([1, None, 3], dtype="int32[pyarrow]")}),
    pd.DataFrame({"x": pd.array([1.5, None, 3.5], dtype="double[pyarrow]")}),
    pd.DataFrame({"x": pd.array(["a", None, "b"], dtype="string[pyarrow]")}),
    pd.DataFrame({"x": pd.array([True, None, False], dtype="bool[pyarrow]")}),
    pd.DataFrame({"x": pd.array(MOMENTS, dtype="timestamp[us][pyarrow]")}),
    pd.DataFrame({"x": pd.array(["a", None, "b"], dtype="string")}),
    pd.DataFrame({"x": pd.Series(["a", None, "b"], dtype=object)}),
    pd.DataFrame({"x": pd.Series(["a", np.nan, "b"], dtype=object)}),
    pd.DataFrame({"x": pd.Series(["a", pd.NA, "b"], dtype=object)}),
    pd.DataFrame({"x": pd.Categorical(["a", None, "b"])}),
    pd.DataFrame({"x": pd.Categorical(["a", None, "b"], ordered=True)}),
    pd.DataFrame({"x": pd.Series(DAYS, dtype=object)}),
    pd.DataFrame({"x": pd.to_datetime(pd.Series(MOMENTS))}),
    np.array([[1.5, 2.0], [np.nan, 3.0], [2.5, np.nan]]),
    np.array([["a", 2.5], [None, 3.5], ["b", np.nan]], dtype=object),
    pl.DataFrame({"x": [1, None, 3]}, schema={"x": pl.Int16}),
    pl.DataFrame({"x": [1.5, None, 3.5]}, schema={"x": pl.Float32}),
    pl.DataFrame({"x": [1.5, float("nan"), 3.5]}),
    pl.DataFrame({"x": [True, None, False]}),
    pl.DataFrame({"x": ["a", None, "b"]}),
    pl.DataFrame({"x": ["a", None, "b"]}, schema={"x": pl.Categorical}),
    pl.DataFrame({"x": ["a", None, "b"]}, schema={"x": pl.Enum(["b", "a"])}),
    pl.DataFrame({"x": DAYS}),
    pl.DataFrame({"x": MOMENTS}),
    pa.table({"x": pa.array([1, None, 3], pa.int16())}),
    pa.table({"x": pa.array([1.5, None, 3.5], pa.float32())}),
    pa.table({"x": [1.5, float("nan"), 3.5]}),
    pa.table({"x": [True, None, False]}),
    pa.table({"x": ["a", None, "b"]}),
    pa.table({"x": pa.array(["a", None, "b"]).dictionary_encode()}),
    pa.table({"x": DAYS}),
    pa.table({"x": MOMENTS}),
]


@pytest.mark.parametrize("data", TABLES, ids=lambda data: f"{type(data).__module__[:6]}")
def test_missing_values_go_through_every_table_and_dtype(data: Any) -> None:
    frame, form = read_data(data)
    encoding = Encoding(Schema.infer(frame), form)

    genomes = encoding.encode(frame)
    rows = encoding.to_rows(genomes.copy())

    assert (genomes[:2, 0] == MISSING).tolist() == [False, True]
    assert type(rows) is type(data)
    np.testing.assert_array_equal(encoding.encode(read_data(rows)[0]), genomes)
    if isinstance(data, pd.DataFrame):
        pd.testing.assert_frame_equal(rows, data)
        assert type(rows["x"].iloc[1]) is type(data["x"].iloc[1])
    elif isinstance(data, pl.DataFrame):
        assert rows.equals(data)
        assert rows.schema == data.schema
    elif isinstance(data, pa.Table):
        assert rows.schema.equals(data.schema)
        assert str(rows.to_pydict()) == str(data.to_pydict())
    else:
        assert rows.dtype == data.dtype
        pd.testing.assert_frame_equal(pd.DataFrame(rows), pd.DataFrame(data))


def test_a_model_that_takes_no_missing_values_is_told_apart() -> None:
    data = draw_table()[["income", "age"]]
    model = LogisticRegression().fit(data.fillna(0.0), accepts(draw_table()))

    with pytest.raises(cp.PredictorError, match=r"Values of 'income' are missing in the data:"):
        cp.Explainer(model, data)
    with pytest.raises(cp.PredictorError, match=r"NaN or infinite scores.*Values of 'income' are"):
        cp.Explainer(lambda rows: rows["income"] / 100.0, data)


def test_a_column_that_the_data_lack_is_named_where_a_model_fails() -> None:
    data = draw_table()[["income", "age"]]
    model = HistGradientBoostingClassifier().fit(data, accepts(draw_table()))

    with pytest.raises(cp.PredictorError) as caught:
        cp.Explainer(model, data[["income"]])

    assert str(caught.value).endswith(
        " The data lack the column 'age', which the model was fitted to; give the table that it "
        "was fitted to, without the outcome."
    )


def test_a_value_that_the_row_lacks_too_is_no_limit_that_had_to_be_widened() -> None:
    data = pd.DataFrame({"income": [10.0, 20.0, 30.0, np.nan, np.nan], "age": [20, 25, 30, 60, 70]})
    explainer = cp.Explainer(lambda rows: rows["age"] / 100.0, data)

    found = explainer.explain({"income": np.nan, "age": 20}, (0.5, 1.0), ranges={"age": (None, 40)})

    assert found.message.endswith(
        "2 observed rows do reach it, but the limits exclude all of them: widen ranges['age'] to "
        "60."
    )


def test_what_cannot_be_done_with_missing_values_is_said(explainer: cp.Explainer) -> None:
    row = rejected(explainer, complete=False)
    conditional = cp.Search(method="nsga2", mutation="conditional")

    with pytest.raises(cp.InvalidInput, match=r"conditional' cannot learn.*mutation='gaussian'"):
        explainer.explain(row, 1, conditional)
    with pytest.raises(cp.InvalidInput, match="with missing values; leave it out, which takes"):
        cp.Explainer(
            explainer.predictor.model, draw_table(), plausibility=cp.ForestPlausibility(trees=5)
        )
    with pytest.raises(cp.InvalidInput, match=r"groups\['g'\] has the column 'a', of which values"):
        Schema.infer(pd.DataFrame({"a": [1.0, np.nan], "b": [0.0, 1.0]}), groups={"g": ["a", "b"]})


@pytest.mark.parametrize(
    ("rule", "holds"),
    [
        ("changed(income)", lambda c: c["income"]),
        ("changed(job) implies changed(income)", lambda c: ~c["job"] | c["income"]),
        ("not changed(job)", lambda c: ~c["job"]),
        ("not changed(job) or changed(job)", lambda c: c["job"] | ~c["job"]),
        ("fixed income, job", lambda c: ~c["income"] & ~c["job"]),
        ("income, job change together", lambda c: c["income"] == c["job"]),
        ("at most 1 change among income, job", lambda c: ~(c["income"] & c["job"])),
    ],
)
def test_rules_on_changes_apply_to_missing_values(
    explainer: cp.Explainer, rule: str, holds: Any
) -> None:
    data = draw_table()
    row = data[data["income"].isna() & data["job"].isna()].iloc[[0]]

    found = explainer.explain(row, "opposite", cp.Search(evaluations=200), constraints=[rule])

    assert len(found.genomes) > 0
    assert holds(pd.DataFrame(found.changed, columns=COLUMNS)).all()


def test_other_rules_apply_to_a_row_with_missing_values(explainer: cp.Explainer) -> None:
    row = rejected(explainer, complete=False)
    rules = ["at most 2 changes", "age increases"]

    found = explainer.explain(row, 1, cp.Search(evaluations=300), constraints=rules)

    assert len(found.valid()) > 0
    assert (found.changed.sum(axis=1) <= 2).all()
    assert (found.to_frame(near_misses=True)["age"] >= row["age"].iloc[0]).all()
