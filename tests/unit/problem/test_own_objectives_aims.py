"""Aims: what is minimised, under which names, and what an explainer refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import counterpoint as cp
from counterpoint.neighbours.index import gower_weights
from counterpoint.problem.own_objectives import PLAIN, check_aims, check_objectives
from counterpoint.table.schema import Encoding, Schema
from counterpoint.table.space import describe_space

DATA = pd.DataFrame({"age": [20, 30, 40, 60], "pay": [1.0, 2.0, 5.0, 9.0]})
ENCODING = Encoding(Schema.infer(DATA))
GENOMES = ENCODING.encode(DATA)
SPACE = describe_space(ENCODING.schema, GENOMES)


def pay(rows: pd.DataFrame, row: pd.DataFrame) -> Any:
    return (rows["pay"] - row["pay"].iloc[0]).abs()


def aims_of(objectives: Any = (), distance: Any = None, plausibility: Any = None) -> Any:
    own = check_objectives(objectives)
    return check_aims(own, distance, plausibility, ENCODING, GENOMES, SPACE)


def test_without_any_the_aims_are_the_plain_ones() -> None:
    assert aims_of() is PLAIN
    assert aims_of([]) is PLAIN
    assert str(PLAIN) == ""
    assert PLAIN.names == ("gap", "distance", "changes", "implausibility")
    assert PLAIN.functions == ()


def test_gowers_distance_by_ranges_is_the_plain_one_and_other_scales_are_told() -> None:
    assert aims_of(distance=cp.Gower()) is PLAIN
    assert aims_of(distance=cp.Gower("range")) is PLAIN

    by_middle, by_deviation = (aims_of(distance=cp.Gower(s)) for s in ("percentile", "mad"))

    assert by_middle.names == by_deviation.names == PLAIN.names
    assert by_middle.functions == ()
    assert by_middle.widths == pytest.approx((35.5, 7.25))  # of 20, 30, 40, 60 and 1, 2, 5, 9
    assert by_deviation.widths == pytest.approx((4.8773 * 10.0, 4.8773 * 2.0))
    assert str(by_middle) == (
        "gap, distance (Gower's, in widths of the middle 90 % of the observed values), changes, "
        "implausibility"
    )
    assert "in multiples of the median absolute deviation" in str(by_deviation)


def test_a_scale_that_there_is_not_is_refused() -> None:
    with pytest.raises(cp.InvalidInput, match=r"Gower.scale must be .*'range'.* got 'iqr'"):
        cp.Gower("iqr")  # type: ignore[arg-type]


def test_a_number_without_a_middle_is_measured_in_its_range() -> None:
    mostly = np.zeros((40, 2))
    mostly[0], mostly[:, 1] = 8.0, np.arange(40.0)
    space = SPACE._replace(low=mostly.min(axis=0), high=mostly.max(axis=0))

    for scale in ("percentile", "mad"):
        assert cp.Gower(scale).widths(mostly, space)[0] == 0.0
    weight, cap = gower_weights(mostly[:1], space._replace(width=np.array([0.0, 5.0])))
    assert weight.tolist() == [[0.125, 0.2]]
    assert cap.tolist() == [np.inf, 1.0]


def test_names_stand_where_the_objectives_do() -> None:
    one, two = cp.Objective("one", pay), cp.Objective("two", pay)
    aims = aims_of([one, two], cp.Distance("effort", pay), cp.Objective("rarity", pay))

    assert aims.names == ("gap", "effort", "changes", "rarity", "one", "two")
    assert [each.name for each in aims.functions] == ["effort", "rarity", "one", "two"]
    assert aims.least.tolist() == [0.0, 0.0, 0.0, -np.inf, -np.inf, -np.inf]
    assert aims.shares == ()
    assert str(aims) == (
        "gap, effort (the distance), changes, rarity (the implausibility), one, two"
    )


def test_each_function_fills_its_own_place() -> None:
    aims = aims_of(
        [cp.Objective("older", lambda rows, row: rows["age"] - row["age"].iloc[0])],
        cp.Distance("effort", pay),
        cp.Objective("rarity", lambda rows, _: rows["pay"] / 10),
    )
    genomes, rows = np.stack([GENOMES, GENOMES + 1.0]), GENOMES[:2]
    measured = np.full((2, 4, 4), 7.0)

    found = aims.applied(genomes, rows, measured, ENCODING)

    assert (found[..., [0, 2]] == 7.0).all()
    np.testing.assert_array_equal(found[1, :, 1], np.abs(genomes[1, :, 1] - rows[1, 1]))
    np.testing.assert_array_equal(found[0, :, 3], genomes[0, :, 1] / 10)
    np.testing.assert_array_equal(found[1, :, 4], genomes[1, :, 0] - 30.0)
    assert (measured == 7.0).all()
    assert aims.applied(genomes[:, :0], rows, measured[:, :0], ENCODING).shape == (2, 0, 5)


def test_the_worst_is_asked_for_each_row() -> None:
    aims = aims_of([cp.Objective("a", pay), cp.Objective("b", pay, worst=4)])

    worst = aims.worst(GENOMES[[0, 3]], GENOMES, ENCODING)

    np.testing.assert_allclose(worst, [[1.0, 1.0, 8.8, 4.0], [1.0, 1.0, 8.8, 4.0]])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"objectives": cp.Objective("a", pay)}, "objectives must be a list of Objective, got Obj"),
        (
            {"objectives": 3},
            "objectives must be a list of Objective, got 3; for example objectives",
        ),
        ({"objectives": [pay]}, "objectives must hold Objective only, got <function pay"),
        (
            {"objectives": [cp.Objective(f"o{i}", pay) for i in range(9)]},
            "objectives must be at most 8, got 9.",
        ),
        ({"distance": pay}, "distance must be a Gower, a Distance or None, got <function pay"),
        (
            {"distance": cp.Objective("a", pay)},
            "distance must be a Gower, a Distance or None, got Objective",
        ),
        ({"plausibility": pay}, "plausibility must be a ForestPlausibility, an Objective or None"),
        (
            {"plausibility": cp.ForestPlausibility},
            "plausibility must be a ForestPlausibility, an Objective or None, got <class",
        ),
    ],
)
def test_other_things_are_refused(arguments: Any, message: str) -> None:
    with pytest.raises(cp.InvalidInput) as raised:
        aims_of(**arguments)

    assert str(raised.value).startswith(message)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"objectives": [cp.Objective("pay", pay)]}, "pay"),
        ({"objectives": [cp.Objective("gap", pay)]}, "gap"),
        ({"objectives": [cp.Objective("prediction", pay)]}, "prediction"),
        ({"objectives": [cp.Objective("distance", pay)]}, "distance"),
        ({"objectives": [cp.Objective("a", pay), cp.Objective("a", pay)]}, "a"),
        ({"objectives": [cp.Objective("e", pay)], "distance": cp.Distance("e", pay)}, "e"),
        ({"distance": cp.Distance("changes", pay)}, "changes"),
        ({"distance": cp.Distance("implausibility", pay)}, "implausibility"),
        ({"plausibility": cp.Objective("distance", pay)}, "distance"),
    ],
)
def test_a_name_that_is_taken_is_refused(arguments: Any, name: str) -> None:
    with pytest.raises(cp.InvalidInput, match=f"the name '{name}' of an objective is taken"):
        aims_of(**arguments)


def test_a_stand_in_may_keep_the_built_in_name() -> None:
    aims = aims_of((), cp.Distance("distance", pay), cp.Objective("implausibility", pay))

    assert aims.names == PLAIN.names


def test_costs_have_nothing_to_weigh_in_a_distance_of_ones_own() -> None:
    explainer = cp.Explainer(lambda rows: rows["pay"] / 10, DATA, distance=cp.Distance("d", pay))

    with pytest.raises(cp.InvalidInput, match=r"costs weigh Gower's distance, which distance='d' "):
        explainer.explain(DATA[:1], (0.5, 1.0), costs={"age": 2.0})
