"""Requests: what the page may send, and what it is told of the rest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.served import Gated, explainer_of, observed

import counterpoint as cp
from counterpoint.arrays import MISSING
from counterpoint.explorer.requests import (
    Rows,
    RowsWanted,
    check_lines,
    curve_of,
    describe_features,
    describe_points,
    describe_row,
    describe_rows,
    is_same,
    predict,
    read_object,
    read_question,
    read_values,
)
from counterpoint.result.report.summary import value_of


@pytest.fixture(scope="module")
def explainer() -> cp.Explainer:
    return explainer_of(Gated())


@pytest.fixture(scope="module")
def rows(explainer: cp.Explainer) -> Rows:
    return Rows.of(explainer, observed(), None)


def question(rows: Rows, **changes: Any) -> dict[str, Any]:
    values = [value_of(gene) for gene in rows.genomes[1]]
    return {"row": 1, "values": values, "target": "good"} | changes


def test_values_are_those_of_the_rows_and_what_is_missing_is_null(
    explainer: cp.Explainer, rows: Rows
) -> None:
    for genome in rows.genomes:
        values = [value_of(gene) for gene in genome]

        read = read_values(values, explainer.schema.features)

        np.testing.assert_array_equal(read[0], genome)
    assert (rows.genomes == MISSING).any()


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (0, None, "'age' needs a value: the data miss none of it."),
        (0, "22", "'age' must be a number, got '22'."),
        (0, True, "'age' must be a number, got True."),
        (0, float("inf"), "'age' must be a number, got inf."),
        (0, 22.5, "'age' must be a whole number, got 22.5."),
        (
            0,
            1e300,
            "'age' must lie between -9,007,199,254,740,992 and 9,007,199,254,740,992, got 1e+300.",
        ),
        (2, 3, "'job' must be the place of a level, 0 to 2, got 3."),
        (2, 0.5, "'job' must be the place of a level, 0 to 2, got 0.5."),
        (3, 12.25, "'since' must be a whole number, got 12.25."),
    ],
)
def test_a_value_that_is_none_is_told_by_its_feature(
    explainer: cp.Explainer, rows: Rows, place: int, value: Any, message: str
) -> None:
    values: list[Any] = question(rows)["values"]
    values[place] = value

    with pytest.raises(cp.InvalidInput) as caught:
        read_values(values, explainer.schema.features)

    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"values": [1]}, "values must be a list of 4, one per feature."),
        ({"row": 90}, "row must be a whole number from 0 to 89, got 90."),
        ({"row": True}, "row must be a whole number from 0 to 89, got True."),
        ({"target": 3}, "target must be a text such as 'good' or '0.5..1', got 3."),
        (
            {"target": "god"},
            "target 'god' is neither a class of the model nor an interval; did you mean 'good'?",
        ),
        (
            {"fixed": ["agee"]},
            "fixed names 'agee', which is not a column of the data; did you mean 'age'?",
        ),
        ({"fixed": "age"}, "fixed must be a list of texts, got 'age'."),
        ({"rules": [1]}, "rules must be a list of texts, got [1]."),
        ({"rules": ["age increases"] * 101}, "rules must be at most 100, got 101."),
        ({"max_changed": 1.5}, "max_changed must be a whole number or null, got 1.5."),
        ({"ranges": [1]}, "ranges must be an object of names, got [1]."),
        (
            {"ranges": {"agee": [1, 2]}},
            "ranges names 'agee', which is not a column of the data; did you mean 'age'?",
        ),
        (
            {"ranges": {"job": [0, 1]}},
            "ranges['job'] must be two numbers or null of a feature of numbers, got [0, 1].",
        ),
        (
            {"ranges": {"age": [True, None]}},
            "ranges['age'] must be two numbers or null of a feature of numbers, got [True, None].",
        ),
        ({"costs": {"age": "2"}}, "costs['age'] must be a number, got '2'."),
        ({"afresh": 1}, "afresh must be true or false, got 1."),
        ({"sed": 3}, "the request has 'sed', which a search does not know."),
    ],
)
def test_a_question_that_cannot_be_asked_is_told_why(
    explainer: cp.Explainer, rows: Rows, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(cp.CounterpointError) as caught:
        read_question(question(rows, **changes), explainer, rows, 5.0)

    assert str(caught.value) == message


def test_a_row_that_was_edited_is_called_so(explainer: cp.Explainer, rows: Rows) -> None:
    edited = question(rows)
    edited["values"] = [99, *edited["values"][1:]]

    asked = [read_question(each, explainer, rows, 5.0) for each in (question(rows), edited)]

    assert [each.label for each in asked] == ["p1", "p1, edited"]


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"[" * 100_000, b'{"a": NaN}', b"1" * 5000])
def test_what_is_no_json_is_refused(body: bytes) -> None:
    with pytest.raises(cp.InvalidInput, match=r"^the request must be JSON, but it cannot be read"):
        read_object(body)


@pytest.mark.parametrize("number", ["1" + "0" * 400, "-1" + "0" * 309, "1e309", "-2.5e400"])
def test_numbers_beyond_all_doubles_are_refused_wherever_they_stand(number: str) -> None:
    with pytest.raises(
        cp.InvalidInput, match=r"cannot be read \(the number .* is beyond 1.8e308\)"
    ):
        read_object(f'{{"values": [{{"deep": {number}}}]}}'.encode())


def test_json_that_is_no_object_is_refused() -> None:
    with pytest.raises(cp.InvalidInput, match=r"^the request must be a JSON object, got list\.$"):
        read_object(b"[]")


def test_each_line_of_rules_is_checked_by_itself_and_faults_point_at_their_place(
    explainer: cp.Explainer,
) -> None:
    faults = check_lines(["age increases", "", "age >> 21", "fixed ag"], explainer)

    assert [fault["line"] for fault in faults] == [2, 3]
    assert faults[0]["error"].endswith("      age >> 21\n           ^")
    assert "did you mean 'age'?" in faults[1]["error"]


def test_questions_are_the_same_whether_or_not_they_are_to_start_afresh(rows: Rows) -> None:
    assert is_same(question(rows), question(rows, afresh=True))
    assert not is_same(question(rows), question(rows, rules=["age increases"]))


def test_rows_are_found_by_their_label_the_exact_one_first(
    explainer: cp.Explainer, rows: Rows
) -> None:
    found = describe_rows(rows, explainer, 0, RowsWanted(" P8 "))

    assert [row["label"] for row in found["rows"]][:2] == ["p8", "p80"]
    assert found["n_found"] == 11
    assert describe_rows(rows, explainer, 10**9, RowsWanted())["start"] == 84
    assert describe_rows(rows, explainer, 0, RowsWanted("nobody"))["rows"] == []


def test_rows_are_sorted_and_filtered_by_prediction_and_value(
    explainer: cp.Explainer, rows: Rows
) -> None:
    ages = rows.genomes[:, 0]

    old = RowsWanted(where=f"age >= {int(np.median(ages))}", sort="0", is_descending=True)
    likely = RowsWanted(sort="prediction")

    places = old.places(rows, explainer)
    assert sorted(places) == np.flatnonzero(ages >= int(np.median(ages))).tolist()
    assert (np.diff(ages[places]) <= 0).all()
    assert (np.diff(rows.outputs[likely.places(rows, explainer), -1]) >= 0).all()
    with pytest.raises(cp.InvalidInput) as error:
        RowsWanted(sort="99").places(rows, explainer)
    assert str(error.value) == "sort must be 'prediction' or a whole number below 4, got '99'."


def test_points_and_a_curve_are_what_the_model_says(explainer: cp.Explainer, rows: Rows) -> None:
    points = describe_points(rows, 0, 1)["points"]
    genome = rows.genomes[:1]

    curve = curve_of(explainer, genome, 0)["curve"]

    for i, x, _, output in points[:5]:
        assert (x, output) == (rows.genomes[i, 0], rows.outputs[i, -1])
    for gene, output in curve[::7]:
        varied = genome.copy()
        varied[0, 0] = gene
        assert predict(explainer, varied)["outputs"][-1]["value"] == pytest.approx(output)


def test_features_are_described_as_the_form_needs_them(explainer: cp.Explainer) -> None:
    age, income, job, since = describe_features(explainer.schema)

    assert (age["kind"], age["low"], age["high"], age["range"]) == ("integer", 20, 59, "20 to 59")
    assert (income["may_miss"], age["may_miss"]) == (True, False)
    assert job["levels"] == ["<b>", "clerk", "cook"]
    assert since["kind"] == "date"


def test_ranges_and_costs_are_those_of_an_explanation(explainer: cp.Explainer, rows: Rows) -> None:
    sent = question(rows, ranges={"age": [None, 40], "since": [18300, None]}, costs={"job": 2})

    limits = read_question(sent, explainer, rows, 5.0).limits.limits

    assert dict(limits.ranges) == {"age": (20, 40), "since": ("2020-02-08", "2022-06-16")}
    assert dict(limits.costs) == {"job": 2.0}


def test_people_read_labels_where_requests_have_names(rows: Rows) -> None:
    names = cp.Labels(
        features={"age": "years of life"},
        levels={"job": {"clerk": "office"}},
        classes={"good": "ok"},
    )
    labelled = explainer_of(Gated(), labels=names)

    age, _, job, _ = describe_features(labelled.schema)
    said = describe_row(rows, labelled, 1)["prediction"]

    assert (age["name"], age["label"]) == ("age", "years of life")
    assert "clerk" in job["levels"]
    assert "office" in job["level_labels"]
    assert "ok" in [output["label"] for output in said["outputs"]]
    assert said["decision"] in ("good", "bad")
