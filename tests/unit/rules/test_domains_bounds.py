from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from counterpoint.arrays import Floats
from counterpoint.errors import InvalidInput
from counterpoint.problem.limits import Limits
from counterpoint.rules.domains import Bounds, RowDomains
from counterpoint.rules.rules import Rules
from counterpoint.table.features import Precision
from counterpoint.table.frames import as_frame
from counterpoint.table.schema import Encoding, Schema
from counterpoint.table.space import Box, describe_space, search_box

DATA = pd.DataFrame(
    {
        "age": [20, 40, 60],
        "rate": [0.5, 1.5, 2.5],
        "job": ["clerk", "nurse", "smith"],
        "rank": pd.Categorical(["low", "mid", "top"], ["low", "mid", "top"], ordered=True),
        "thin": np.array([0.1, 0.2, 0.7], dtype=np.float32),
    }
)
ROW = {"age": 30, "rate": 1.0, "job": "nurse", "rank": "mid", "thin": np.float32(0.2)}
AGE, RATE, JOB, RANK, THIN = range(5)
ALL = [True, True, True]


def genome(row: Any, schema: Schema) -> Floats:
    frame = as_frame(row, "row").astype({"thin": np.float32})
    rows = Encoding(schema).encode(frame, "row")
    rows.setflags(write=False)
    return rows


def bounds(*texts: str, row: Any = ROW, precision: Precision = "observed") -> Bounds:
    schema = Schema.infer(DATA, precision)
    return Rules.parse(texts, schema).bounds(genome(row, schema)[0])


def boxed(*texts: str, row: Any = ROW, **limits: Any) -> tuple[Box, RowDomains]:
    schema = Schema.infer(DATA)
    rows, space = genome(row, schema), describe_space(schema, Encoding(schema).encode(DATA))
    box = search_box(rows, space, Limits(**limits).check(schema))
    return Rules.parse(texts, schema).narrow(rows, box, space)


@pytest.mark.parametrize(
    ("text", "lower", "upper"),
    [
        ("age in 25..35", 25, 35),
        ("age in 24.5..35.5", 25, 35),
        ("age in 0..100", 20, 60),  # rules never widen what the data show
        ("age > 25", 26, 60),
        ("age >= 25", 25, 60),
        ("50 > age", 20, 49),
        ("2 * age + 10 <= 3 * 30", 20, 40),
        ("-age / 2 < -20", 41, 60),
        ("age = 33", 33, 33),
        ("age increases", 30, 60),
        ("age decreases by at most 5", 25, 30),
        ("age changes by at most 5", 25, 35),
        ("age <= was(age) + 3 and age >= was(age) - 3", 27, 33),
        ("not (age < 25 or age > 50)", 25, 50),
        ("age in {25, 35, 99}", 25, 35),
        ("age < 25 or age in 30..40", 20, 40),
        ("age in steps of 7", 23, 58),
        ("age in steps of 7 from 0", 21, 56),
        ("age in steps of 2.5 from 0", 20, 60),
        ("fixed age", 30, 30),
        ("1 = 1 implies age > 25", 26, 60),
        ("age * age > 100", 20, 60),  # not linear: no bound, though it may be checked
        ("age <= 10 * rate", 20, 25),
        ("rate > 0.1 * age", 20, 25),  # an end the other feature gives is not exact
    ],
)
def test_rules_bound_a_number(text: str, lower: float, upper: float) -> None:
    found = bounds(text)

    assert (found.lower[AGE], found.upper[AGE]) == (lower, upper)


@pytest.mark.parametrize(
    ("text", "pitch"),
    [("age > 1", 1), ("age in steps of 7", 7), ("age in steps of 2.5 from 0", 5)],
)
def test_steps_meet_the_datas_own_grid(text: str, pitch: float) -> None:
    assert bounds(text).pitch[AGE] == pitch


def test_two_grids_of_steps_meet() -> None:
    found = bounds("age in steps of 4 from 1", "age in steps of 6 from 3")

    assert (found.lower[AGE], found.upper[AGE], found.pitch[AGE]) == (21, 57, 12)


@pytest.mark.parametrize(
    ("text", "feature", "allowed"),
    [
        ("job in {clerk, smith}", JOB, [True, False, True]),
        ("job not in {smith}", JOB, [True, True, False]),
        ("job != was(job)", JOB, [True, False, True]),
        ("job = clerk or job = nurse", JOB, [True, True, False]),
        ("not job = clerk", JOB, [False, True, True]),
        ("changed(job)", JOB, [True, False, True]),
        ("fixed job", JOB, [False, True, False]),
        ("rank >= mid", RANK, [False, True, True]),
        ("rank decreases", RANK, [True, True, False]),
        ("rank changes by at most 1", RANK, ALL),
        ("age > 1", RANK, ALL),
    ],
)
def test_rules_leave_levels(text: str, feature: int, allowed: list[bool]) -> None:
    assert bounds(text).allowed[feature].tolist() == allowed


def test_an_implication_binds_once_its_premise_is_certain() -> None:
    rules = ("job = nurse implies age >= 35", "fixed job")

    assert bounds(rules[0]).lower[AGE] == 20
    assert bounds(*rules).lower[AGE] == 35


def test_float32_ends_are_values_of_the_column() -> None:
    found = bounds("thin >= 0.2", "thin <= 0.6")

    assert (found.lower[THIN], found.upper[THIN]) == (np.float32(0.2), np.float32(0.6))
    assert found.anchor[THIN] == np.float32(0.2)


def test_strict_bounds_on_the_reals_exclude_their_end() -> None:
    found = bounds("rate > 1", "rate < 2", precision="full")

    assert 1.0 < found.lower[RATE] < 1.0 + 1e-9
    assert 2.0 - 1e-9 < found.upper[RATE] < 2.0
    assert found.pitch[RATE] == 0.0


@pytest.mark.parametrize(
    ("text", "anchor"),
    [
        ("age >= 35", 35),
        ("age < 25", 24),
        ("age increases", 30),
        ("age in steps of 7 from 0", 28),
        ("changed(age) and age in steps of 7", 37),
        ("changed(age) and age >= 30", 31),
        ("changed(age) and age <= 30", 29),
    ],
)
def test_an_excluded_value_is_replaced_by_the_nearest(text: str, anchor: float) -> None:
    assert bounds(text).anchor[AGE] == anchor


def test_excluded_levels_are_replaced() -> None:
    found = bounds("rank > mid", "job != was(job)")

    assert (found.anchor[RANK], found.anchor[JOB]) == (2, 0)


def test_the_reals_have_values_beside_an_excluded_one() -> None:
    assert bounds("changed(rate)", precision="full").anchor[RATE] == 1.75
    up = bounds("changed(rate)", "rate >= 1", precision="full")
    down = bounds("changed(rate)", "rate <= 1", precision="full")

    assert (up.anchor[RATE], down.anchor[RATE]) == (1.75, 0.75)


def test_a_value_off_the_grid_may_be_kept() -> None:
    row = {**ROW, "rate": 1.25}

    free, stepped = bounds(row=row), bounds("rate in steps of 1", row=row)

    assert free.anchor[RATE] == stepped.anchor[RATE] == 1.25
    assert free.may_change[RATE]
    assert not stepped.may_change[RATE]  # no step from it is on the data's grid


def test_the_fewest_changes_count() -> None:
    assert bounds("at most 3 changes", "at most 2 changes").max_changed == 2
    assert bounds("at most 1 change among age, job").max_changed == 5


def test_boxes_are_narrowed() -> None:
    box, domains = boxed("age in 35..50", "fixed job", "at most 3 changes", "rank >= mid")

    assert box.lower[0, [AGE, RANK]].tolist() == [35, 1]
    assert box.upper[0, [AGE, RANK]].tolist() == [50, 2]
    assert box.anchor[0, AGE] == 35
    assert box.is_forced.tolist() == [[True, False, False, False, False]]
    assert box.may_change.tolist() == [[True, True, False, True, True]]
    assert box.max_free.tolist() == [2]
    assert domains.features["lower"].tolist() == box.lower.tolist()
    assert domains.of_rows(np.array([0])).allowed[0, RANK].tolist() == [False, True, True]


def test_rules_and_limits_add_up() -> None:
    box, _ = boxed("age <= 45", "at most 4 changes", ranges={"age": (35, 90)}, max_changed=3)

    assert (box.lower[0, AGE], box.upper[0, AGE]) == (35, 45)
    assert box.max_free.tolist() == [2]


def test_a_fixed_feature_of_the_limits_stays() -> None:
    box, _ = boxed("age increases", fixed=["age"])

    assert not box.may_change[0, AGE]
    assert box.anchor[0, AGE] == 30


def test_a_rule_can_contradict_the_limits() -> None:
    with pytest.raises(InvalidInput) as raised:
        boxed("age >= 35", fixed=["age"])

    assert str(raised.value) == (
        "constraints contradict each other or the limits:\n"
        "\"age >= 35\" can never hold: 'age' can only be 30."
    )


def test_too_many_forced_changes_are_refused() -> None:
    with pytest.raises(InvalidInput) as raised:
        boxed("age >= 35", "job != was(job)", max_changed=1)

    assert str(raised.value) == (
        "constraints exclude the row's own values of 'age' and 'job', which must all change, but "
        "max_changed allows 1; raise it, or drop a rule."
    )


def test_nothing_is_written_to() -> None:
    schema = Schema.infer(DATA)
    rows = genome([ROW, {**ROW, "age": 50}], schema)
    space = describe_space(schema, Encoding(schema).encode(DATA))
    box = search_box(rows, space, Limits().check(schema))
    for array in box:
        array.setflags(write=False)

    narrowed, _ = Rules.parse(["age increases", "fixed rate"], schema).narrow(rows, box, space)

    assert narrowed.lower[:, AGE].tolist() == [30, 50]
