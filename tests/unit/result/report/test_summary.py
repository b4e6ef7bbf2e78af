"""The summary: what the page shows, as plain values."""

from __future__ import annotations

import copy
import datetime
import json
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

import counterpoint as cp
from counterpoint.result.report.page import summarise
from counterpoint.result.report.summary import MOST_NUMBERS, pack_shares, write_questions

NOW = datetime.datetime(2026, 5, 4, 12, 30, tzinfo=datetime.UTC)
EVIL = "<img src=x onerror=alert(1)>"


def observed() -> pd.DataFrame:
    n = np.arange(40)
    return pd.DataFrame(
        {
            "age": 20 + n % 30,
            "income": np.round(1000.0 + 137.5 * n, 1),
            "job": pd.Categorical([["clerk", "cook", EVIL][i % 3] for i in n]),
            "sex": [["f", "m"][i % 2] for i in n],
            "since": pd.to_datetime("2020-01-01") + pd.to_timedelta(n * 11, unit="D"),
        }
    )


def score(rows: pd.DataFrame) -> Any:
    return np.clip(
        (rows["income"] - 1000.0) / 8000.0
        + (rows["age"] - 20) / 100.0
        + (rows["sex"] == "m") * 0.2,
        0.0,
        1.0,
    )


@pytest.fixture(scope="module")
def found() -> cp.Counterfactuals:
    data = observed()
    explainer = cp.Explainer(score, data, units={"income": "EUR"}, protected=["sex"])
    return explainer.explain(data.iloc[[0]], target=(0.25, 1.0), seed=3, fixed=["job"])


@pytest.fixture(scope="module")
def summary(found: cp.Counterfactuals) -> dict[str, Any]:
    return summarise(found, NOW)


def test_a_summary_is_strict_json(summary: dict[str, Any]) -> None:
    text = json.dumps(summary, allow_nan=False)

    assert json.loads(text) == summary


def test_counterfactuals_are_their_changes_under_their_public_numbers(
    found: cp.Counterfactuals, summary: dict[str, Any]
) -> None:
    listed = summary["counterfactuals"]

    assert [each["number"] for each in listed] == list(range(1, len(listed) + 1))
    assert [each["is_way"] for each in listed].index(True) == len(found.genomes)
    for i, each in enumerate(listed[: len(found.genomes)]):
        places = [j for j, _, _ in each["changes"]]
        assert places == np.flatnonzero(found.changed[i]).tolist()
        assert [value for _, value, _ in each["changes"]] == found.genomes[i, places].tolist()
        assert each["is_valid"] == found.reaches[i]
        assert each["prediction"] == pytest.approx(found.predictions[i], rel=1e-5)


def test_features_say_what_the_row_has_and_what_was_observed(summary: dict[str, Any]) -> None:
    age, income, job, sex, since = summary["features"]

    assert (age["kind"], age["text"], age["range"]) == ("integer", "20", "20 to 49")
    assert (income["text"], income["unit"]) == ("1,000.0", "EUR")
    assert (job["is_fixed"], EVIL in job["levels"]) == (True, True)
    assert sex["is_protected"]
    assert (since["kind"], since["is_ordered"]) == ("date", True)


def test_a_missing_value_is_said_to_be_missing() -> None:
    data = observed().assign(income=lambda frame: frame["income"].mask(frame.index % 7 == 0))
    explainer = cp.Explainer(lambda rows: score(rows.fillna({"income": 900.0})), data)
    found = explainer.explain(data.iloc[[0]], target=(0.5, 1.0), seed=3)

    summary = summarise(found, NOW)

    income = summary["features"][1]
    assert (income["row"], income["text"]) == (None, "missing")
    assert "-1.07" not in json.dumps(summary, allow_nan=False)  # the gene that stands for it
    new = [text for each in summary["counterfactuals"] for j, _, text in each["changes"] if j == 1]
    assert new
    assert "missing" not in new


def test_what_changes_protected_features_is_no_representative_and_not_asked_about(
    summary: dict[str, Any],
) -> None:
    protected = {each["number"] for each in summary["counterfactuals"] if each["is_protected"]}

    assert protected
    assert not protected & {each["number"] for each in summary["representatives"]}
    assert not protected & set(summary["interview"]["numbers"])
    assert summary["representatives"]


def test_cards_are_of_different_ways_and_say_the_values_that_work(
    found: cp.Counterfactuals, summary: dict[str, Any]
) -> None:
    cards, listed = summary["representatives"], summary["counterfactuals"]

    names = [" + ".join(map(str, way.features)) for way in found.ways()]
    assert [card["name"] for card in cards] == names == ["income", "age"]
    sentence = "Prediction between 0.25 and 1 if age were at least 45 instead of 20."
    assert cards[1]["sentence"] == sentence
    for card in cards:
        each = listed[card["number"] - 1]
        places = [j for j, _, _ in each["changes"]]
        assert each["is_valid"]
        assert " + ".join(summary["features"][j]["name"] for j in places) == card["name"]


def test_a_way_of_protected_features_has_no_card() -> None:
    data = observed()
    explainer = cp.Explainer(score, data, protected=["income"])
    found = explainer.explain(data.iloc[[0]], target=(0.25, 1.0), seed=3, fixed=["job"])
    assert {way.features for way in found.ways()} == {("income",), ("age",)}

    cards = summarise(found, NOW)["representatives"]

    assert [card["name"] for card in cards] == ["age"]


def test_without_counterfactuals_the_card_is_the_nearest_miss_and_claims_nothing_else() -> None:
    data = observed()
    nothing = cp.Explainer(score, data).explain(data.iloc[[0]], target=(5.0, 6.0), seed=0)

    summary = summarise(nothing, NOW)

    (card,) = summary["representatives"]
    assert card["name"] == "nearest to the target"
    gaps = [each["objectives"][0] for each in summary["counterfactuals"]]
    assert gaps[card["number"] - 1] == min(gaps)
    assert not any(each["is_way"] for each in summary["counterfactuals"])
    assert summary["interview"]["ways"] == []


def test_the_page_asks_what_prefer_asks(found: cp.Counterfactuals) -> None:
    interview, questions = found.prefer(), write_questions(found)

    assert questions is not None
    positions = interview.attributes.candidates
    assert questions["numbers"] == (positions + 1).tolist()
    asked = interview.question
    assert asked is not None
    ways = {questions["numbers"][place] - 1 for place in questions["ways"]}
    assert set(asked.positions) <= ways


def test_the_receipt_says_who_was_asked_what(
    found: cp.Counterfactuals, summary: dict[str, Any]
) -> None:
    receipt = summary["receipt"]

    assert receipt["date"] == "2026-05-04T12:30:00+00:00"
    assert receipt["data fingerprint"] == found.fingerprints.data
    assert receipt["model fingerprint"] == found.fingerprints.model
    assert receipt["seed"] == 3
    assert receipt["limits"]["fixed"] == ["job"]
    assert receipt["search"]["type"] == "Explore"
    assert receipt["versions"]["counterpoint"] == cp.__version__
    assert receipt["model"] == "builtins.function"


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({}, {"fixed": [], "vary": None, "ranges": [], "most changes": None}),
        (
            {"vary": ["income", "age"], "ranges": {"age": (None, 45)}, "max_changed": 1},
            {
                "fixed": [],
                "vary": ["age", "income"],
                "ranges": ["age: from 20 to 45"],
                "most changes": 1,
            },
        ),
        (
            {
                "fixed": ["sex"],
                "ranges": {"job": ["clerk", "cook"], "since": ("2020-01-01", "2020-06-30")},
            },
            {
                "fixed": ["sex"],
                "vary": None,
                "ranges": [
                    "job: one of 'clerk' and 'cook'",
                    "since: from 2020-01-01 to 2020-06-30",
                ],
                "most changes": None,
            },
        ),
    ],
)
def test_the_receipt_has_all_limits(limits: dict[str, Any], expected: dict[str, Any]) -> None:
    data = observed()
    some = cp.Explainer(score, data).explain(data.iloc[[0]], (0.2, 1.0), cp.WhatIf(n=2), **limits)

    assert summarise(some, NOW)["receipt"]["limits"] == expected


def test_a_loaded_result_has_the_same_summary_but_for_its_model(
    found: cp.Counterfactuals, summary: dict[str, Any], tmp_path: Any
) -> None:
    found.save(tmp_path / "found.json")

    loaded = summarise(cp.load(tmp_path / "found.json"), NOW)

    assert loaded["is_loaded"]
    assert loaded["receipt"]["model"] == "not at hand: the result was loaded from a file"
    version = f"{cp.__version__}; this report by {cp.__version__}"
    assert loaded["receipt"]["versions"]["counterpoint"] == version
    assert loaded["receipt"]["limits"] == summary["receipt"]["limits"]
    for part in ("is_loaded", "receipt", "receipt_texts"):
        loaded.pop(part)
    assert all(each.pop("bars") == [] for each in loaded["features"])
    assert all(each.pop("safe") is None for each in loaded["representatives"])
    assert all(each.pop("steps") == [] for each in loaded["representatives"])
    summary = copy.deepcopy(summary)
    for each in summary["features"]:
        each.pop("bars")
    for each in summary["representatives"]:
        assert 0.0 <= each.pop("safe") <= 1.0
        each.pop("steps")
    assert loaded == {key: value for key, value in summary.items() if key in loaded}


def test_nothing_found_has_a_summary_too() -> None:
    data = observed()
    nothing = cp.Explainer(score, data).explain(data.iloc[[0]], target=(5.0, 6.0), seed=0)

    summary = summarise(nothing.take([]), NOW)

    assert (summary["counterfactuals"], summary["representatives"]) == ([], [])
    assert summary["interview"] is None
    json.dumps(summary, allow_nan=False)


def test_an_interview_takes_a_limited_place(found: cp.Counterfactuals) -> None:
    questions = write_questions(found)

    assert questions is not None
    for part in ("attributes", "particles"):
        assert len(questions[part]) <= 4 * (2 * MOST_NUMBERS / 3 + 1)


def test_only_what_is_shown_is_asked_about(found: cp.Counterfactuals) -> None:
    everybody = write_questions(found)
    assert everybody is not None
    some = everybody["numbers"][:4]

    questions = write_questions(found, set(some))

    assert questions is not None
    assert questions["numbers"] == some
    assert write_questions(found, {some[0]}) is None


def test_shares_are_packed_in_steps_and_never_out_of_range() -> None:
    packed = pack_shares(np.array([[-0.5, 0.5, 2.0, np.nan]]))

    assert packed == "AAAAgP////8="


def test_a_way_says_what_works_and_its_numbers_are_those_of_the_way(
    found: cp.Counterfactuals, summary: dict[str, Any]
) -> None:
    ways = {way.features: way for way in found.ways()}
    names = found.encoding.schema.names

    for card in summary["representatives"]:
        way = ways[tuple(names[each["place"]] for each in card["works"])]
        assert card["n"] == way.n_valid
        assert len(card["works"]) <= 4
        for each, genes in zip(card["works"], way.genes, strict=True):
            feature, row = (
                found.encoding.schema.features[each["place"]],
                found.genome[each["place"]],
            )
            ends = [gene for span in each["spans"] for gene in span]
            assert set(ends) <= set(genes.tolist())
            if not feature.is_numeric:
                assert ends == genes.tolist()
                continue
            assert (min(ends), max(ends)) == (genes[0], genes[-1])
            assert not any(span[0] < row < span[-1] for span in each["spans"])


def test_a_row_that_has_what_is_wanted_knows_how_close_the_edge_is() -> None:
    data = pd.DataFrame({"age": np.arange(20, 60), "debt": np.arange(40)[::-1]})
    met = cp.Explainer(lambda rows: rows["age"] / 60.0, data).explain(
        {"age": 40, "debt": 3}, target=(0.5, 1.0)
    )

    summary = summarise(met, NOW)

    assert summary["status"] == "already_met"
    assert summary["edges"] == [{"place": 0, "text": "29", "prediction": "0.4833"}]


def test_several_classes_are_shown_before_and_after() -> None:
    data = pd.DataFrame({"x": np.arange(30.0)})

    def ask(rows: pd.DataFrame) -> Any:
        share = rows["x"].to_numpy() / 29.0
        return np.column_stack([1.0 - share, share / 3.0, 2.0 * share / 3.0])

    three = cp.Explainer(ask, data, classes=["a", "b", "c"]).explain(data[:1], target="c")

    summary = summarise(three, NOW)

    assert summary["classes"] == ["a", "b", "c"]
    assert summary["outputs"] == [[1.0, 0.0, 0.0]]
    assert {each["lands"] for each in summary["counterfactuals"] if each["is_valid"]} == {"c"}
    for card in summary["representatives"]:
        assert int(np.argmax(card["outputs"])) == 2


def test_a_german_summary_writes_values_and_texts_in_german(found: cp.Counterfactuals) -> None:
    summary = summarise(found, NOW, "de")

    assert summary["lang"] == "de"
    assert summary["title"].startswith("Zeile ")
    assert " Alternative" in summary["message"]
    assert summary["target"]["text"] == "Vorhersage zwischen 0,25 und 1"
    assert [each["label"] for each in summary["objectives"]][:2] == [
        "Abweichung vom Ziel",
        "Größe der Änderungen",
    ]
    (since,) = (each for each in summary["features"] if each["kind"] == "date")
    assert re.fullmatch(r"\d+\. \w+ \d{4} bis \d+\. \w+ \d{4}", since["range"])


def test_names_without_labels_are_said_without_underscores() -> None:
    data = pd.DataFrame({"credit_amount": [1.0, 2.0, 3.0, 4.0]})
    found = cp.Explainer(lambda rows: rows["credit_amount"], data).explain(data[:1], (3.0, None))

    assert summarise(found, NOW)["features"][0]["name"] == "credit amount"
    assert "credit_amount" in found.to_frame().columns


@pytest.mark.parametrize("wanted", ["no", "yes"])
def test_the_class_that_the_model_decides_for_now_is_named(wanted: str) -> None:
    data = pd.DataFrame({"a": np.linspace(0.0, 1.0, 30)})
    explainer = cp.Explainer(
        lambda rows: np.column_stack([1.0 - rows["a"], rows["a"]]), data, classes=["no", "yes"]
    )

    found = explainer.explain(data[:1], wanted)

    assert summarise(found, NOW)["row"]["lands"] == "no"


def test_the_steps_of_a_card_are_its_changes_and_end_at_its_prediction() -> None:
    data = observed()
    explainer = cp.Explainer(score, data)
    found = explainer.explain(data.iloc[[0]], target=(0.8, 1.0), seed=3)
    summary = summarise(found, NOW)
    by_number = {each["number"]: each for each in summary["counterfactuals"]}
    cards = [each for each in summary["representatives"] if each["steps"]]

    assert cards
    for card in cards:
        shown = by_number[card["number"]]
        assert sorted(step["place"] for step in card["steps"]) == [j for j, *_ in shown["changes"]]
        assert card["steps"][-1]["text"] == shown["text"]
    single = [each for each in summary["representatives"] if len(each["works"]) == 1]
    assert all(each["steps"] == [] for each in single)
