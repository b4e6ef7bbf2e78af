"""Limits as callers state them, and checked against a schema."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import counterpoint as cp
from counterpoint.errors import InvalidInput, UnknownFeatureError
from counterpoint.problem.limits import CheckedLimits, Limits, join_limits
from counterpoint.table.schema import Schema

DATA = pd.DataFrame(
    {
        "age": [20, 40, 60],
        "rate": [0.5, 1.5, 2.5],
        "job": ["clerk", "nurse", "smith"],
        "since": pd.to_datetime(["2020-01-01", "2021-01-01", "2022-01-01"]),
        "same": [7, 7, 7],
    }
)
SCHEMA = Schema.infer(DATA)


def limits(**given_: Any) -> CheckedLimits:
    return Limits(**given_).check(SCHEMA)


@pytest.mark.parametrize(("given_", "kept"), [(None, 5), (1, 1), (3, 3), (99, 5), (np.int64(2), 2)])
def test_max_changed_is_at_most_the_number_of_features(given_: Any, kept: int) -> None:
    assert limits(max_changed=given_).max_changed == kept


def test_limits_of_nothing_are_no_limits() -> None:
    found = limits()

    assert not found.is_fixed.any()
    assert np.isnan(found.low).all()
    assert np.isnan(found.high).all()


@pytest.mark.parametrize("argument", ["fixed", "vary", "ranges", "costs"])
def test_an_unknown_feature_is_told_with_the_closest(argument: str) -> None:
    given_: Any = ["agee"] if argument in ("fixed", "vary") else {"agee": (1, 2)}
    given_ = {"agee": 1.0} if argument == "costs" else given_

    with pytest.raises(UnknownFeatureError, match=f"{argument} names 'agee'.*did you mean 'age'"):
        limits(**{argument: given_})


@pytest.mark.parametrize(
    ("argument", "given_"),
    [
        ("fixed", ["job_nurse"]),
        ("vary", ["job_nurse"]),
        ("ranges", {"job_nurse": (0, 1)}),
        ("costs", {"job_nurse": 2.0}),
    ],
)
def test_a_column_of_a_group_is_told_with_its_group_and_level(argument: str, given_: Any) -> None:
    data = pd.get_dummies(DATA[["age", "job"]])
    schema = Schema.infer(data, groups={"job": list(data.columns[1:])})

    with pytest.raises(
        UnknownFeatureError,
        match=f"^{argument} names 'job_nurse', a column of the one-hot group 'job', which changes "
        "as one feature; name 'job' instead, of which it is the level 'nurse'.$",
    ):
        Limits(**{argument: given_}).check(schema)


@pytest.mark.parametrize(
    ("given_", "message"),
    [
        ({"fixed": "age"}, r"fixed must be a list of column names, got 'age'; .*fixed=\['age'\]"),
        ({"fixed": None}, "fixed must be a list of column names, got None"),
        ({"fixed": 3}, "fixed must be a list of column names, got 3"),
        ({"fixed": list(DATA)}, "fixed names every feature, so nothing could change; free some"),
        ({"ranges": [("age", (1, 2))]}, r"ranges must be a dict of column name to \(low, high\)"),
        ({"ranges": "age"}, "ranges must be a dict .* got 'age'"),
        ({"ranges": {"age": 5}}, r"ranges\['age'\] must be \(low, high\), got 5"),
        ({"ranges": {"age": (1, 2, 3)}}, r"ranges\['age'\] must be \(low, high\), got \(1, 2, 3\)"),
        ({"ranges": {"age": ("a", 2)}}, r"ranges\['age'\] must hold numbers or None, got \('a', 2"),
        ({"ranges": {"age": (True, 2)}}, r"ranges\['age'\] must hold numbers or None"),
        ({"ranges": {"age": (50, 40)}}, r"ranges\['age'\] must be finite .*got \(50, 40\)"),
        ({"ranges": {"age": (None, 10)}}, r"got \(None, 10\); None stands for .*20 to 60"),
        ({"ranges": {"age": (0, np.inf)}}, r"ranges\['age'\] must be finite with low <= high"),
        ({"ranges": {"age": (0, np.nan)}}, r"ranges\['age'\] must be finite"),
        ({"ranges": {"age": (0, 10**400)}}, r"ranges\['age'\] must be finite"),
        ({"ranges": {"rate": (0, 1e101)}}, r"ranges\['rate'\] is .*too large to compute with; use"),
        ({"costs": {"age": 10**400}}, r"costs\['age'\] must be a finite number"),
        (
            {"ranges": {"age": (0, 1e17)}},
            r"ranges\['age'\] is \(0, 1e\+17\), which is beyond 2\*\*53, .*; stay within",
        ),
        ({"ranges": {"job": (0, 1)}}, r"ranges\['job'\] names 0, .* is categorical, not a number"),
        ({"ranges": {"job": "clerk"}}, r"ranges\['job'\] must be a list of levels, .*got 'clerk'"),
        ({"ranges": {"job": ["clark"]}}, r"ranges\['job'\] names 'clark', .*did you mean 'clerk'"),
        ({"ranges": {"job": []}}, r"ranges\['job'\] names no level; name some of 'clerk', 'nurse'"),
        ({"vary": "age"}, r"vary must be a list of column names, got 'age'; .*vary=\['age'\]"),
        ({"vary": []}, "vary names no feature, so nothing could change; name some"),
        ({"vary": ["age"], "fixed": ["age"]}, "'age' is both in fixed and in vary; keep one"),
        ({"vary": ["age"], "ranges": {"rate": (0, 1)}}, "'rate' is in ranges, but vary leaves it"),
        ({"constraints": "age increases"}, "constraints must be a list of rules, got 'age incr"),
        ({"constraints": ["age ~ 3"]}, "age ~ 3"),
        ({"fixed": ["age"], "ranges": {"age": (1, 2)}}, "'age' is both in fixed and in ranges"),
        ({"max_changed": 0}, "max_changed must be a whole number of at least 1, or None, got 0"),
        ({"max_changed": -2}, "max_changed must be a whole number of at least 1, or None, got -2"),
        (
            {"max_changed": 1.5},
            "max_changed must be a whole number of at least 1, or None, got 1.5",
        ),
        (
            {"max_changed": "2"},
            "max_changed must be a whole number of at least 1, or None, got '2'",
        ),
        (
            {"max_changed": True},
            "max_changed must be a whole number of at least 1, or None, got True",
        ),
    ],
)
def test_limits_that_mean_nothing_are_refused(given_: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        limits(**given_)


def test_vary_is_the_complement_of_fixed() -> None:
    assert limits(vary=["age", "job"]).is_fixed.tolist() == [False, True, False, True, True]
    both = limits(vary=["age", "job"], fixed=["rate"])
    assert both.is_fixed.tolist() == limits(vary=["age", "job"]).is_fixed.tolist()


@st.composite
def stated(draw: st.DrawFn) -> dict[str, Any]:
    """Draw limits as a caller may write them, in any order and form."""
    names = draw(st.permutations(["age", "rate", "job", "since", "same"]))
    n_fixed = draw(st.integers(0, 3))
    free = names[n_fixed:]
    ends = {
        "age": st.sampled_from([(30, 50), [None, 45.5], (20.0, None)]),
        "rate": st.sampled_from([(0.5, 1), [0.25, 2.5]]),
        "job": st.sampled_from([["nurse"], {"smith", "clerk"}, ("smith", "nurse")]),
        "since": st.sampled_from([("2020-03-01", None), (None, pd.Timestamp("2021-05-01"))]),
        "same": st.just((7, 9)),
    }
    chosen = draw(st.lists(st.sampled_from(free), unique=True, max_size=3))
    return {
        "fixed": names[:n_fixed],
        "vary": draw(st.sampled_from([None, free])),
        "ranges": {name: draw(ends[name]) for name in chosen},
        "max_changed": draw(st.sampled_from([None, 2, 99])),
        "constraints": draw(st.sampled_from([(), ["age>=30"], ["job=nurse  implies rate>1"]])),
        "costs": {name: draw(st.sampled_from([0.5, 2, 3])) for name in chosen},
    }


@settings(max_examples=60, deadline=None)
@given(given_=stated())
def test_checked_limits_are_canonical(given_: dict[str, Any]) -> None:
    """What is checked can be stated again, and is then the same once more."""
    checked = limits(**given_)

    again = checked.limits.check(SCHEMA)

    assert again.limits == checked.limits
    assert repr(again.limits) == repr(checked.limits)
    assert again == checked
    assert hash(again) == hash(checked)
    assert str(again) == str(checked)
    np.testing.assert_array_equal(again.low, checked.low)
    np.testing.assert_array_equal(again.is_fixed, checked.is_fixed)
    assert again.rules.texts == checked.rules.texts


@settings(max_examples=30, deadline=None)
@given(given_=stated())
def test_limits_survive_a_pickle_and_do_not_follow_the_callers_lists(
    given_: dict[str, Any],
) -> None:
    found = Limits(**given_)
    text = repr(found)

    given_["ranges"]["new"] = (0, 1)
    given_["costs"].clear()

    assert pickle.loads(pickle.dumps(found)) == found  # noqa: S301
    assert repr(found) == text


def test_limits_are_printed_in_plain_words() -> None:
    assert str(Limits()) == "no limits"
    found = Limits(
        vary=["age", "job", "since"],
        ranges={"age": (None, 50), "job": {"nurse"}, "since": ("2020-02-01", "2021-02-01")},
        max_changed=1,
    )
    assert str(found).splitlines() == [
        "only 'age', 'job' and 'since' may change",
        "'age' up to 50",
        "'job' one of 'nurse'",
        "'since' from 2020-02-01 to 2021-02-01",
        "at most 1 feature changes",
    ]


def test_rules_are_compared_by_their_canonical_text() -> None:
    assert Limits(constraints=["age>=30"]) == Limits(constraints=["age  >= 30"])
    assert Limits(constraints=["age>=30"]) != Limits(constraints=["age >= 31"])
    assert Limits(fixed=["a", "b"]) == Limits(fixed=["b", "a"])


DOOR = cp.Explainer.explain


def test_keywords_join_limits() -> None:
    joined = join_limits(DOOR, Limits(fixed=["age"]), {"max_changed": 2, "costs": {"rate": 2}})

    assert joined == Limits(fixed=["age"], max_changed=2, costs={"rate": 2.0})
    assert join_limits(DOOR, None, {"fixed": ["age"]}) == Limits(fixed=["age"])


@pytest.mark.parametrize(
    ("keyword", "hint"),
    [
        ("constraint", "did you mean 'constraints'?"),
        ("sed", "did you mean 'seed'?"),
        ("evaluations", "settings of a search go into search=Search(...)."),
    ],
)
def test_a_mistyped_keyword_is_answered_by_what_may_be_meant(keyword: str, hint: str) -> None:
    with pytest.raises(TypeError) as caught:
        EXPLAINER.explain(JOBS[:1], (0.9, None), **{keyword: 1})  # type: ignore[arg-type]

    said = str(caught.value)
    assert said.startswith(f"explain() got an unexpected keyword argument {keyword!r}; ")
    assert said.endswith(hint)


@pytest.mark.parametrize(
    ("argument", "value", "other"),
    [
        ("fixed", ["age"], ["rate"]),
        ("vary", ["age"], ["rate"]),
        ("ranges", {"age": (30, 40)}, {"rate": (1, 2)}),
        ("max_changed", 1, 2),
        ("constraints", ["age increases"], ["rate > 1"]),
        ("costs", {"age": 2}, {"rate": 3}),
    ],
)
def test_the_same_said_twice_is_refused(argument: str, value: Any, other: Any) -> None:
    with pytest.raises(InvalidInput, match=f"{argument} is given twice, in limits .* keyword"):
        join_limits(DOOR, Limits(**{argument: value}), {argument: other})  # type: ignore[misc]


def test_what_are_no_limits_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"limits must be a Limits, got \{'fixed': \['age'\]\}"):
        join_limits(DOOR, {"fixed": ["age"]}, {})  # type: ignore[arg-type]


def score(rows: pd.DataFrame) -> Any:
    """Return a score that grows with age and rate, and depends on the job."""
    bonus = rows["job"].map({"clerk": 0.0, "nurse": 0.2, "smith": 0.4}).astype(float)
    return rows["age"] / 100 + rows["rate"] / 10 + bonus


JOBS = pd.DataFrame(
    {
        "age": np.arange(20, 68),
        "rate": np.tile([0.5, 1.5, 2.5], 16),
        "job": np.repeat(["clerk", "nurse", "smith"], 16),
    }
)
EXPLAINER = cp.Explainer(score, JOBS)


@pytest.mark.parametrize("method", ["explore", "nsga2", "random"])
@pytest.mark.parametrize("levels", [["nurse"], ["clerk", "smith"], {"clerk", "nurse"}])
@pytest.mark.parametrize("job", ["clerk", "smith"])
def test_no_counterfactual_leaves_the_levels_of_its_range(
    method: Any, levels: Any, job: str
) -> None:
    """A range that excludes the row's own level forces it to change, as that of a number does."""
    row = {"age": 25, "rate": 0.5, "job": job}

    found = EXPLAINER.explain(
        row, (0.75, 2.0), cp.Search(evaluations=300, method=method), ranges={"job": levels}
    )

    assert len(found.genomes)
    jobs = {["clerk", "nurse", "smith"][int(code)] for code in found.genomes[:, 2]}
    assert jobs <= set(levels)
    assert any("excludes the row's own value" in note for note in found.notes) == (
        job not in levels
    )


def test_a_range_of_levels_leaves_the_others_their_freedom() -> None:
    row = {"age": 25, "rate": 0.5, "job": "clerk"}
    free = EXPLAINER.explain(row, (0.75, 2.0), cp.Search(evaluations=300))
    named = EXPLAINER.explain(
        row, (0.75, 2.0), cp.Search(evaluations=300), ranges={"job": ["clerk", "nurse", "smith"]}
    )

    assert set(free.genomes[:, 2]) == set(named.genomes[:, 2]) == {0.0, 1.0, 2.0}


def test_levels_that_the_rows_value_must_leave_count_as_a_change() -> None:
    row = {"age": 25, "rate": 0.5, "job": "clerk"}

    found = EXPLAINER.explain(
        row, (0.6, 2.0), cp.Search(evaluations=200), ranges={"job": ["smith"]}, max_changed=1
    )

    assert found.status == "found"
    assert found.to_frame()["job"].eq("smith").all()
    assert found.changed.tolist() == [[False, False, True]]


def test_a_result_gives_back_what_was_asked_also_after_save_and_load(tmp_path: Path) -> None:
    asked = cp.Limits(
        vary=["job", "age"],
        ranges={"job": {"smith", "nurse"}, "age": (None, 60)},
        max_changed=2,
        constraints=["age   increases"],
        costs={"age": 3},
    )
    row = {"age": 25, "rate": 0.5, "job": "clerk"}

    found = EXPLAINER.explain(row, (0.6, 2.0), cp.Search(evaluations=200), limits=asked)
    found.save(tmp_path / "found.json")

    canonical = cp.Limits(
        vary=["age", "job"],
        ranges={"age": (20, 60), "job": ["nurse", "smith"]},
        max_changed=2,
        constraints=["age increases"],
        costs={"age": 3},
    )
    assert found.limits == asked.check(EXPLAINER.schema).limits == canonical
    assert cp.load(tmp_path / "found.json").limits == canonical
    assert pickle.loads(pickle.dumps(found)).limits == canonical  # noqa: S301
    again = EXPLAINER.explain(row, (0.6, 2.0), cp.Search(evaluations=200), limits=found.limits)
    assert again.genomes.tolist() == found.genomes.tolist()
