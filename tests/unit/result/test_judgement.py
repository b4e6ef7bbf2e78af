"""Judging rows of anybody: as our own results say it, and by the definitions."""

from __future__ import annotations

import pickle
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from tests.strategies import generator, mixed_table

import counterpoint as cp

NUMBERS, LEVELS = ["age", "debt"], ["job", "owns"]
FEATURES = [*NUMBERS, *LEVELS]
SEARCH = cp.Search(evaluations=200)


DATA = mixed_table(200, seed=3)


def fitted(seed: int) -> Any:
    good = DATA["age"] / 20 - DATA["debt"] + DATA["owns"] + (DATA["job"] == "a") > 0.9
    encode = make_column_transformer((OneHotEncoder(), ["job"]), remainder="passthrough")
    forest = RandomForestClassifier(20, max_depth=4, random_state=seed)
    return make_pipeline(encode, forest).fit(DATA, np.where(good, "good", "bad"))


MODEL = fitted(0)
EXPLAINER = cp.Explainer(MODEL, DATA)
REFUSED = DATA[MODEL.predict(DATA) == "bad"]
ROW = REFUSED.iloc[[0]]
LIMITS = [
    cp.Limits(),
    cp.Limits(fixed=["job"], max_changed=2),
    cp.Limits(ranges={"age": (20, 50), "job": ["a", "b"]}, constraints=["age increases"]),
    cp.Limits(constraints=["debt <= 0.1 * age"], costs={"age": 3.0}),
]


def drawn(seed: int, n: int) -> pd.DataFrame:
    """Draw rows that mix the values of observed ones and the row's own."""
    rng = generator(seed)
    mixed = {name: DATA[name].to_numpy()[rng.integers(0, len(DATA), n)] for name in FEATURES}
    frame = pd.DataFrame(mixed)
    for name in FEATURES:
        frame[name] = frame[name].where(rng.random(n) < 0.5, ROW[name].iloc[0])
    return frame.astype(DATA.dtypes.to_dict())


def shares(rows: pd.DataFrame, other: pd.Series[Any]) -> Any:
    """Return what each feature counts in Gower's distance, (n, 4)."""
    numbers = [(rows[name] - other[name]).abs().to_numpy() / np.ptp(DATA[name]) for name in NUMBERS]
    levels = [(rows[name] != other[name]).to_numpy().astype(float) for name in LEVELS]
    return np.stack([*numbers, *levels], axis=1)


@pytest.mark.parametrize("limits", LIMITS)
def test_our_own_rows_are_judged_as_their_result_says(limits: cp.Limits) -> None:
    found = EXPLAINER.explain(ROW, "good", SEARCH, limits=limits)
    rows = found.to_frame(near_misses=True)

    judged = EXPLAINER.judge(rows[FEATURES], ROW, "good", limits).to_frame()

    pd.testing.assert_frame_equal(judged[rows.columns], rows)
    assert judged["within_limits"].all()
    assert (judged["broken"] == "").all()


@settings(deadline=None, max_examples=10)
@given(seed=st.integers(0, 10**6), n=st.integers(0, 12))
def test_every_column_is_what_its_definition_says(seed: int, n: int) -> None:
    frame = drawn(seed, n)

    judgement = EXPLAINER.judge(frame, ROW, "good")

    judged, row = judgement.to_frame(), ROW.iloc[0]
    pd.testing.assert_frame_equal(judged[FEATURES], frame)
    assert len(judgement) == n
    if n == 0:
        return
    labels = MODEL.predict(frame)
    assert judged["class"].tolist() == labels.tolist()
    assert judged["valid"].tolist() == (labels == "good").tolist() == judgement.valid.tolist()
    apart = shares(frame, row)
    np.testing.assert_allclose(judged["l1"], apart.sum(axis=1), atol=1e-12)
    np.testing.assert_allclose(judged["l2"], np.linalg.norm(apart, axis=1), atol=1e-12)
    np.testing.assert_allclose(judged["linf"], apart.max(axis=1), atol=1e-12)
    assert judged["l0"].tolist() == (frame != row).sum(axis=1).tolist()
    np.testing.assert_allclose(judged["distance"], apart.mean(axis=1), atol=1e-12)
    observed = MODEL.predict(DATA)
    for i in range(n):
        distances = shares(DATA, frame.iloc[i]).mean(axis=1)
        nearest = np.argsort(distances.round(12), kind="stable")[:5]
        if np.sort(distances)[5] - np.sort(distances)[4] > 1e-9:  # no tie decides
            assert judged["ynn"].iloc[i] == (observed[nearest] == labels[i]).mean()
        like = distances[observed == labels[i]]
        assert judged["implausibility_in_class"].iloc[i] == pytest.approx(like.min(), abs=1e-12)


@settings(deadline=None, max_examples=10)
@given(seed=st.integers(0, 10**6))
def test_changes_are_needless_that_can_be_put_back(seed: int) -> None:
    frame, row = drawn(seed, 8), ROW.iloc[0]

    judged = EXPLAINER.judge(frame, ROW, "good").to_frame()

    for i in np.flatnonzero(judged["valid"]).tolist():
        changed = [name for name in FEATURES if frame[name].iloc[i] != row[name]]
        sets = [s for size in range(1, len(changed)) for s in combinations(changed, size)]
        back = [frame.iloc[[i]].assign(**{name: row[name] for name in each}) for each in sets]
        holds = [MODEL.predict(each.astype(frame.dtypes.to_dict()))[0] == "good" for each in back]
        most = max((len(each) for each, is_so in zip(sets, holds, strict=True) if is_so), default=0)
        needless = judged["needless"].iloc[i].split(" + ") if judged["needless"].iloc[i] else []
        assert len(needless) == most
        assert judged["minimality"].iloc[i] == ("not minimal" if most else "minimal")
        if most:
            assert tuple(needless) in [s for s, is_so in zip(sets, holds, strict=True) if is_so]
    is_missed = ~judged["valid"]
    assert (judged["minimality"][is_missed] == "").all()
    assert (judged["needless"][is_missed] == "").all()


def test_of_many_changes_each_is_put_back_by_itself() -> None:
    data = pd.DataFrame(generator(1).normal(size=(60, 10)), columns=[f"x{j}" for j in range(10)])
    explainer = cp.Explainer(lambda rows: rows.sum(axis=1), data)
    row, other = data.iloc[[0]] * 0.0, data.iloc[[0]] * 0.0 + 1.0

    judgement = explainer.judge(other, row, (9.5, 20.0))
    loose = explainer.judge(other, row, (8.5, 20.0))

    assert judgement.verdicts["minimality"].tolist() == ["singly minimal"]
    assert judgement.n_asked == 1 + 10
    assert loose.verdicts["minimality"].tolist() == ["not minimal"]
    assert loose.verdicts["needless"].tolist() == ["x9"]


def test_what_is_broken_is_told() -> None:
    limits = cp.Limits(
        fixed=["job"],
        ranges={"debt": (0.0, 2.5)},
        max_changed=2,
        constraints=["age increases", "owns = true implies age >= 30"],
    )
    start = {"age": 40, "debt": 2.0, "job": "a", "owns": False}
    frame = pd.DataFrame(
        [
            {**start, "age": 45},
            {**start, "age": 99, "job": "b"},
            {**start, "age": 25, "debt": 3.1, "owns": True},
        ]
    )

    judged = EXPLAINER.judge(frame, start, "good", limits).to_frame()

    assert judged["within_limits"].tolist() == [True, False, False]
    low, high = DATA["age"].min(), DATA["age"].max()
    assert judged["broken"].tolist() == [
        "",
        f"'job' is fixed; 'age' = 99 is outside the data's range, {low} to {high}",
        "'debt' = 3.1 is outside the range given, 0.0 to 2.5; 3 changes, where max_changed is 2; "
        '"age increases"; "owns = True implies age >= 30"',
    ]


def test_keywords_join_the_limits_as_in_explain() -> None:
    debt = float(ROW["debt"].iloc[0])
    rows, ranges = pd.concat([ROW, drawn(4, 20)]), {"debt": (debt - 0.5, debt + 0.5)}

    judged = EXPLAINER.judge(rows, ROW, "good", cp.Limits(fixed=["job"]), ranges=ranges)

    limits = cp.Limits(fixed=["job"], ranges=ranges)
    expected = EXPLAINER.judge(rows, ROW, "good", limits).to_frame()
    pd.testing.assert_frame_equal(judged.to_frame(), expected)
    assert set(expected["within_limits"]) == {True, False}
    with pytest.raises(cp.InvalidInput, match="fixed is given twice"):
        EXPLAINER.judge(rows, ROW, "good", cp.Limits(fixed=["job"]), fixed=["age"])


def test_a_change_is_not_needless_if_a_rule_needs_it() -> None:
    explainer = cp.Explainer(
        lambda rows: rows["a"] / 10, pd.DataFrame({"a": range(10), "b": range(10)})
    )
    row, frame = {"a": 1, "b": 1}, [{"a": 8, "b": 8}]

    free = explainer.judge(frame, row, (0.5, 1.0)).verdicts
    ruled = explainer.judge(frame, row, (0.5, 1.0), cp.Limits(constraints=["b >= a"])).verdicts

    assert free["needless"].tolist() == ["b"]
    assert ruled["minimality"].tolist() == ["minimal"]


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "dicts"])
def test_rows_come_in_any_kind_of_table_and_other_columns_are_ignored(kind: str) -> None:
    frame = drawn(5, 4).assign(made_by="somebody")
    given_rows: dict[str, Any] = {
        "pandas": frame,
        "polars": pl.from_pandas(frame),
        "arrow": pa.Table.from_pandas(frame),
        "dicts": frame.to_dict("records"),
    }

    with pytest.warns(cp.DataWarning, match="'made_by'"):
        judged = EXPLAINER.judge(given_rows[kind], ROW, "good")

    expected = EXPLAINER.judge(frame[FEATURES], ROW, "good")
    pd.testing.assert_frame_equal(judged.verdicts, expected.verdicts)


def test_the_frame_is_of_the_datas_kind_and_keeps_the_index() -> None:
    frame = drawn(6, 3).set_axis(["x", "y", "y"])
    polars = cp.Explainer(lambda rows: rows["age"].to_numpy() / 60, pl.from_pandas(DATA))

    assert EXPLAINER.judge(frame, ROW, "good").to_frame().index.tolist() == ["x", "y", "y"]
    shown = polars.judge(pl.from_pandas(frame), pl.from_pandas(ROW), (0.8, 1.0)).to_frame()
    assert isinstance(shown, pl.DataFrame)
    assert shown["broken"].to_list() == ["", "", ""]


def test_other_models_say_how_safe_a_row_is() -> None:
    models, frame = [fitted(seed) for seed in range(4)], drawn(7, 20)

    judged = EXPLAINER.judge(frame, ROW, "good", safety=models).to_frame()

    agree = np.mean([model.predict(frame) == "good" for model in models], axis=0)
    np.testing.assert_allclose(judged["models"], agree)
    margin = EXPLAINER.observed.margin_of(EXPLAINER.explain(ROW, "good", cp.WhatIf()).target)
    assert judged["safe"].tolist() == (judged["valid"] & (judged["margin"] >= margin)).tolist()
    assert "models" not in EXPLAINER.judge(frame, ROW, "good").verdicts


def test_without_classes_the_side_of_the_target_is_what_counts() -> None:
    explainer = cp.Explainer(lambda rows: rows["age"] * 1.0, DATA)
    frame = ROW.assign(age=50)

    judged = explainer.judge(frame, ROW, (45.0, 60.0)).to_frame()

    distances = shares(DATA, frame.iloc[0]).mean(axis=1)
    nearest = np.argsort(distances, kind="stable")[:5]
    assert judged["ynn"].tolist() == [(DATA["age"].iloc[nearest] >= 45).mean()]
    assert "class" not in judged
    assert judged["margin"].tolist() == [5.0]


def test_missing_values_count_as_in_the_distance() -> None:
    gappy = DATA.assign(debt=DATA["debt"].where(np.arange(len(DATA)) % 9 > 0))
    explainer = cp.Explainer(lambda rows: rows["debt"].fillna(0.0) + rows["age"] / 10, gappy)
    row = gappy[gappy["debt"].isna()].iloc[[0]]
    whole = gappy[gappy["debt"].notna()].iloc[[0]]

    filled = explainer.judge(row.assign(debt=2.0), row, (9.0, 20.0)).to_frame()
    lost = explainer.judge(whole.assign(debt=np.nan), whole, (9.0, 20.0)).to_frame()

    assert filled["l1"].iloc[0] / 4 == pytest.approx(filled["distance"].iloc[0])
    assert filled["within_limits"].tolist() == [True]
    assert lost["broken"].tolist() == ["'debt' is missing"]


def test_it_is_printed_written_and_pickled(tmp_path: Path) -> None:
    judgement = EXPLAINER.judge(drawn(8, 5), ROW, "good")

    judgement.to_csv(tmp_path / "judged.csv")

    n_valid = int(judgement.valid.sum())
    assert str(judgement).startswith(f"5 rows judged for class 'good': {n_valid} valid, 5 within")
    written = pd.read_csv(tmp_path / "judged.csv", keep_default_na=False)
    assert written.columns.tolist() == judgement.to_frame().columns.tolist()
    assert (tmp_path / "judged.csv").read_text() == judgement.to_csv()
    again = pickle.loads(pickle.dumps(judgement))  # noqa: S301
    pd.testing.assert_frame_equal(again.to_frame(), judgement.to_frame())
    assert repr(again) == str(judgement)


def test_names_of_features_get_the_columns_a_prefix() -> None:
    data = pd.DataFrame({"ynn": [1, 2, 3, 4], "b": [1, 2, 3, 4]})
    explainer = cp.Explainer(lambda rows: rows["b"] / 4, data)

    judged = explainer.judge(data, data[:1], (0.5, 1.0)).to_frame()

    assert judged.columns[:4].tolist() == ["ynn", "b", "cf_valid", "cf_prediction"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((drawn(1, 2).drop(columns="age"), ROW, "good"), "frame lacks .*'age'"),
        ((drawn(1, 2), REFUSED[:2], "good"), "row must be one row, got 2"),
        ((drawn(1, 2), ROW, "nice"), "target class 'nice' is not a class of this model"),
        ((drawn(1, 2).assign(job="z"), ROW, "good"), "frame column 'job' .*'z'"),
    ],
)
def test_what_cannot_be_judged_is_refused(arguments: Any, message: str) -> None:
    with pytest.raises(cp.CounterpointError, match=message):
        EXPLAINER.judge(*arguments)


def test_a_proof_tells_how_far_rows_are_from_the_optimum() -> None:
    data = pd.DataFrame({"age": [20, 25, 30, 35, 40, 45, 50, 55], "debt": [9, 8, 7, 6, 4, 3, 2, 1]})
    model = RandomForestClassifier(20, max_depth=3, random_state=0).fit(data, data["age"] > 36)
    explainer = cp.Explainer(model, data)
    found = explainer.explain(data[:1], True, cp.Search(prove=True))
    rows = found.to_frame(near_misses=True)[["age", "debt"]]
    proof = found.proof
    assert proof is not None
    assert proof.nearest.status == "optimal"

    judged = explainer.judge(rows, data[:1], True).with_proof(proof).to_frame()

    valid = judged["valid"]
    expected = judged["distance"][valid] / judged["distance"][valid].min() - 1.0
    np.testing.assert_allclose(judged["proof_gap"][valid], expected, atol=1e-8)
    assert judged["proof_gap"][~valid].isna().all()
    unknown = explainer.judge(rows, data[:1], True).with_proof(cp.Proof())
    assert unknown.verdicts["proof_gap"].isna().all()
