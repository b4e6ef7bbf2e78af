from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from counterpoint.arrays import Floats
from counterpoint.errors import InvalidInput
from counterpoint.problem.target import ABOVE_HALF, Target, decision, parse_target

TWO, THREE = ("bad", "good"), ("low", "mid", "high")


def outputs(*rows: list[float]) -> Floats:
    scores = np.array(rows)
    scores.setflags(write=False)
    return scores


ONE_OUTPUT = outputs([0.2])
TWO_OUTPUTS = outputs([0.7, 0.3])


def parse(target: object, classes: Any = TWO) -> Target:
    return parse_target(target, classes, ONE_OUTPUT if classes is None else TWO_OUTPUTS)[0]


@pytest.mark.parametrize(
    ("classes", "label", "column"),
    [
        (TWO, "good", 1),
        (TWO, np.str_("good"), 1),
        ((0, 1), 1, 1),
        ((0, 1), np.int64(1), 1),
        ((0, 1), 1.0, 1),
        ((-1, 1), np.int8(-1), 0),
        ((False, True), True, 1),
        ((False, True), np.False_, 0),
        ((0.5, 1.5), 1.5, 1),
        ((0.5, 1.5), np.float32(0.5), 0),
        ((None, "x"), None, 0),
        (("opposite", "same"), "opposite", 0),
    ],
)
def test_a_class_label_wants_its_probability_above_half_and_the_models_decision(
    classes: Any, label: Any, column: int
) -> None:
    target = parse(label, classes)

    assert target == Target(ABOVE_HALF, 1.0, column, classes[column], classes, (column,))


def test_above_half_is_the_next_number_after_it() -> None:
    assert ABOVE_HALF == 0.5 + 2.0**-53


@pytest.mark.parametrize(
    ("target", "low", "high"),
    [
        (("good", (0.8, 1.0)), 0.8, 1.0),
        (["good", [0.8, 1]], 0.8, 1.0),
        (("good", (0.8, None)), 0.8, 1.0),
        (("good", (None, 0.2)), 0.0, 0.2),
        (("good", (-1, 0.2)), 0.0, 0.2),
        (("good", (0.3, 0.3)), 0.3, 0.3),
        (("good", (np.float32(0.5), np.int64(1))), 0.5, 1.0),
    ],
)
def test_a_label_with_an_interval_wants_its_probability_there_and_no_decision(
    target: Any, low: float, high: float
) -> None:
    assert parse(target) == Target(low, high, 1, "good")


@pytest.mark.parametrize(
    ("target", "low", "high"),
    [
        (30, 30.0, 30.0),
        (np.float64(30.5), 30.5, 30.5),
        (-2.5, -2.5, -2.5),
        ((20, 30), 20.0, 30.0),
        ([20.0, 30.0], 20.0, 30.0),
        ((20, None), 20.0, np.inf),
        ((None, 20), -np.inf, 20.0),
        ((-np.inf, 20), -np.inf, 20.0),
    ],
)
def test_a_model_with_one_output_takes_a_number_or_an_interval(
    target: Any, low: float, high: float
) -> None:
    assert parse(target, None) == Target(low, high)


def test_opposite_of_two_classes_is_the_other_class_of_each_row() -> None:
    found = parse_target("opposite", TWO, outputs([0.7, 0.3], [0.1, 0.9], [0.5, 0.5]))

    assert [target.label for target in found] == ["good", "bad", "good"]
    assert [target.low for target in found] == [ABOVE_HALF] * 3
    assert all(target.is_decision for target in found)


def test_opposite_is_the_opposite_of_what_predict_says_if_that_is_known() -> None:
    scores = outputs([0.7, 0.3], [0.7, 0.3])

    found = parse_target("opposite", TWO, scores, labels=np.array([0, 1]))

    assert [target.label for target in found] == ["good", "bad"]


def test_opposite_of_three_classes_is_any_class_but_the_likeliest() -> None:
    target = parse_target("opposite", THREE, outputs([0.1, 0.2, 0.7]))[0]

    assert target == Target(0.5, 1.0, 2, "high", THREE, (0, 1), is_complement=True)
    np.testing.assert_allclose(target.prediction(outputs([0.1, 0.2, 0.7])), [0.3])


@pytest.mark.parametrize(
    ("now", "expected"),
    [(0.2, Target(ABOVE_HALF, 1.0)), (0.5, Target(ABOVE_HALF, 1.0)), (0.9, Target(0.0, 0.5))],
)
def test_opposite_of_a_single_probability_is_the_other_side_of_half(
    now: float, expected: Target
) -> None:
    assert parse_target("opposite", None, outputs([now])) == [expected]


@pytest.mark.parametrize("now", [-0.1, 1.5, 30.0])
def test_opposite_of_what_is_no_probability_is_refused(now: float) -> None:
    message = f"target 'opposite' needs .* the prediction is {now:g}; give a number or an interval"

    with pytest.raises(InvalidInput, match=message):
        parse_target("opposite", None, outputs([now]))


def test_each_row_gets_a_target() -> None:
    assert len(parse_target("good", TWO, outputs(*[[0.5, 0.5]] * 3))) == 3
    assert parse_target("good", TWO, np.empty((0, 2))) == []


def test_a_target_of_the_callers_own_is_taken_with_its_class_named() -> None:
    assert parse(Target(0.2, 0.4), None) == Target(0.2, 0.4)
    assert parse(Target(0.2, 0.4, column=1)) == Target(0.2, 0.4, 1, "good")
    assert parse(Target(0.2, 0.4, 1, "good")) == Target(0.2, 0.4, 1, "good")


@pytest.mark.parametrize(
    ("target", "classes", "message"),
    [
        (Target(0.2, 0.4, column=2), TWO, "target has column 2, .* numbered 0 to 1"),
        (Target(0.2, 0.4, column=-1), TWO, "target has column -1"),
        (Target(0.2, 0.4, column=1), None, "target has column 1, .* numbered 0 to 0"),
        (Target(0.2, 0.4, "good"), TWO, "target has column 'good'"),  # type: ignore[arg-type]
        (
            Target(0.2, 0.4, label="good"),
            TWO,
            r"label 'good' and column 0, which is class 'bad'; write for example target=\('good'",
        ),
    ],
)
def test_a_target_that_fits_no_output_is_refused(
    target: Target, classes: Any, message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        parse(target, classes)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("Good", r"target class 'Good' is not a class .* 'bad' and 'good'; did you mean 'good'\?"),
        ("excellent", "target class 'excellent' is not a class .* are 'bad' and 'good'"),
        (None, "target class None is not a class"),
        (1, "target class 1 is not a class"),
        (0.8, "target class 0.8 is not a class"),
        (np.nan, "target class nan is not a class"),
        (pd.NA, "target class <NA> is not a class"),
        (pd.Series(["good"]), "(?s)target class 0 .*good.* is not a class"),
        (np.array(["good"]), r"target class array\(\['good'\].* is not a class"),
        ({"good": 0.8}, "target class {'good': 0.8} is not a class"),
        (("Good", (0.5, 1.0)), "target class 'Good' is not a class .*did you mean 'good'"),
        ((0.5, 1), r"\(0.5, 1\) does not say which class .*target=\('good', \(0.5, 1\)\)"),
        ((None, 0.5), "does not say which class it is about"),
        (("good", 0.8), r"target \('good', 0.8\) must be a class with an interval .*\('good', \(0"),
        (("good", 0.8, 1.0), r"must be a class with an interval .*target=\('good', \(0.8, 1.0\)\)"),
        (["good"], r"target \['good'\] must be a class with an interval"),
        (("good", (1.0, 0.8)), r"interval \(1.0, 0.8\) is upside down; write \(0.8, 1\)"),
        (("good", (1.2, 2)), r"interval \(1.2, 2\) holds no probability; it must meet \[0, 1\]"),
        (("good", (-1.0, -0.5)), "holds no probability"),
        (("good", ("a", 1)), r"interval \('a', 1\) must hold two numbers, or None"),
        (("good", (True, 1)), r"interval \(True, 1\) must hold two numbers"),
        (("good", (np.nan, 1)), r"interval \(nan, 1\) has a NaN; use None for an open side"),
        (("good", (None, None)), r"interval \(None, None\) admits every prediction; give"),
    ],
)
def test_a_target_that_is_no_class_is_refused(target: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        parse(target)


@pytest.mark.parametrize(
    ("label", "classes"),
    [(True, (0, 1)), (1, (False, True)), ("1", (0, 1)), ((0, 1), ("a", "b", "c"))],
)
def test_labels_of_another_type_are_not_confused(label: Any, classes: Any) -> None:
    with pytest.raises(InvalidInput, match=re.escape(repr(label))):
        parse(label, classes)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("good", r"target 'good' does not fit this model, .*no classes.*pass classes=\[...\]"),
        (("good", (0.5, 1)), "does not fit this model, which has one output and no classes"),
        (None, "target None does not fit this model"),
        (True, "target True does not fit this model"),
        ((1, 2, 3), r"target \(1, 2, 3\) does not fit .*give a number, an interval \(low, high\)"),
        (np.array([1.0, 2.0]), r"target array\(.*does not fit this model"),
        ((30, 20), r"target interval \(30, 20\) is upside down; write \(20, 30\)"),
        (np.nan, r"target interval \(nan, nan\) has a NaN"),
        ((None, None), r"target interval \(None, None\) admits every prediction"),
        ((0, 1e101), r"\(0, 1e\+101\) has an end beyond 1e\+100, .*; use None for an open side"),
        (10**400, r"target interval \(inf, inf\) has an end beyond 1e\+100"),
    ],
)
def test_a_target_a_single_output_cannot_have_is_refused(target: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        parse(target, None)


@pytest.mark.parametrize(
    ("low", "high", "message"),
    [(0.9, 0.1, "upside down"), (np.nan, 1.0, "NaN"), ("a", 1.0, "two numbers")],
)
def test_a_target_is_checked_when_it_is_made(low: Any, high: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        Target(low, high)


@pytest.mark.parametrize(
    ("target", "text"),
    [
        (decision((1,), TWO), "class 'good'"),
        (decision((0, 2), THREE), "class 'low' or 'high'"),
        (
            Target(0.5, 1.0, 1, "mid", THREE, (0, 2), is_complement=True),
            "any class but 'mid'",
        ),
        (Target(0.8, 1.0, 1, "good"), "P('good') between 0.8 and 1"),
        (Target(0.3, 0.3, 1, 0), "P(0) = 0.3"),
        (Target(20.0, 30.0), "prediction between 20 and 30"),
        (Target(20.0, np.inf), "prediction >= 20"),
        (Target(-np.inf, 20.0), "prediction <= 20"),
        (Target(30.5, 30.5), "prediction = 30.5"),
    ],
)
def test_a_target_reads_as_one_would_say_it(target: Target, text: str) -> None:
    assert str(target) == text


@pytest.mark.parametrize(
    ("prediction", "gap"), [(0.2, 0.3), (0.5, 0.0), (0.6, 0.0), (0.75, 0.0), (1.0, 0.25)]
)
def test_the_gap_is_the_distance_to_the_closed_interval(prediction: float, gap: float) -> None:
    assert Target(0.5, 0.75).gap_of(prediction) == pytest.approx(gap)


def test_a_named_class_accepts_its_own_label_and_a_complement_all_others() -> None:
    codes = np.array([0, 1, 2])

    assert decision((1,), THREE).accepts_label(codes).tolist() == [False, True, False]
    assert decision((0, 2), THREE).accepts_label(codes).tolist() == [True, False, True]


@pytest.mark.parametrize(("low", "high"), [(None, 0.5), (0.5, None)])
def test_an_open_side_of_a_target_is_infinite(low: Any, high: Any) -> None:
    target = Target(low, high)

    assert target.low == (-np.inf if low is None else low)
    assert target.high == (np.inf if high is None else high)
    assert target.gap_of(0.5) == 0.0


simplex = hnp.arrays(np.float64, 4, elements=st.integers(0, 8).map(float)).filter(
    lambda shares: shares.sum() > 0
)


@given(simplex, st.sets(st.integers(0, 3), min_size=1, max_size=3))
def test_classes_are_reached_just_where_the_likeliest_is_one_of_them(
    shares: Floats, wanted: set[int]
) -> None:
    scores, target = shares[None] / shares.sum(), decision(tuple(sorted(wanted)), tuple("abcd"))

    score = float(target.score(scores)[0])

    assert (target.gap_of(score) == 0.0) == (int(np.argmax(scores)) in wanted)
    inside = max(scores[0, code] for code in wanted)
    outside = max(scores[0, code] for code in range(4) if code not in wanted)
    assert target.gap_of(score) == pytest.approx(max(0.0, (outside - inside) / 2.0), abs=1e-15)
    assert float(target.prediction(scores)[0]) == pytest.approx(
        sum(scores[0, code] for code in wanted)
    )


@given(st.floats(0.0, 1.0))
def test_of_two_classes_the_gap_is_the_papers(p: float) -> None:
    scores = np.array([[1.0 - p, p]])

    first, second = (decision((code,), TWO) for code in (0, 1))

    assert second.gap_of(float(second.score(scores)[0])) == max(0.0, ABOVE_HALF - p)
    expected = 0.0 if 1.0 - p == 0.5 else max(0.0, ABOVE_HALF - (1.0 - p))
    assert first.gap_of(float(first.score(scores)[0])) == expected


def test_any_class_of_a_set_can_be_wanted() -> None:
    target = parse_target({"low", "high"}, THREE, outputs([0.2, 0.5, 0.3]))[0]

    assert target.labels == ("low", "high")
    assert parse_target({"mid"}, THREE, outputs([0.2, 0.5, 0.3]))[0] == decision((1,), THREE)


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (set(THREE), "names every class, so that nothing could miss it; name some of 'low', "),
        (set(), "target {} names no class; name some of 'low', 'mid' and 'high'."),
        ({"low", "hihg"}, "target class 'hihg' is not a class of this model"),
    ],
)
def test_a_set_of_classes_is_checked(wanted: set[str], message: str) -> None:
    with pytest.raises(InvalidInput, match=re.escape(message)):
        parse_target(wanted, THREE, outputs([0.2, 0.5, 0.3]))


def test_a_target_of_other_classes_is_refused() -> None:
    with pytest.raises(InvalidInput, match="this model has 'bad' and 'good'; name the class"):
        parse(decision((1,), THREE))


def test_who_lists_classes_is_told_to_write_a_set() -> None:
    with pytest.raises(InvalidInput, match=re.escape("write a set: target={'low', 'high'}.")):
        parse_target(("low", "high"), THREE, outputs([0.2, 0.5, 0.3]))
