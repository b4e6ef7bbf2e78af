"""Numbers, dates, truth values and levels in two languages."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pandas as pd
import pytest

from counterpoint.result.words.english import ENGLISH
from counterpoint.result.words.german import GERMAN
from counterpoint.result.words.values import (
    written,
    written_level,
    written_number,
    written_pair,
    written_scores,
    written_share,
)
from counterpoint.table.schema import Schema

EN, DE = ENGLISH.signs, GERMAN.signs


def feature_of(values: Any) -> Any:
    return Schema.infer(pd.DataFrame({"x": values})).features[0]


@pytest.mark.parametrize(
    ("values", "gene", "english", "german"),
    [
        ([276, 18424], 5951.0, "5,951", "5.951"),
        ([1990, 2020], 1995.0, "1995", "1995"),
        ([1990, 2500], 1995.0, "1,995", "1.995"),
        ([0.5, 1234.25], 1234.25, "1,234.25", "1.234,25"),
        ([0.5, 1234.25], 3.0, "3.00", "3,00"),
        ([-5, 5], -3.0, "\N{MINUS SIGN}3", "\N{MINUS SIGN}3"),
        ([False, True], 1.0, "yes", "ja"),
        (["own", "rent"], 1.0, "“rent”", "„rent“"),
        (pd.to_datetime(["2024-03-01", "2024-12-24"]), 19783.0, "1 March 2024", "1. März 2024"),
    ],
)
def test_a_value_reads_as_the_language_writes_it(
    values: Any, gene: float, english: str, german: str
) -> None:
    feature = feature_of(values)

    assert (written(feature, gene, EN), written(feature, gene, DE)) == (english, german)


def test_two_values_never_read_the_same() -> None:
    feature = Schema.infer(pd.DataFrame({"x": [0.123456789, 0.5]}), "full").features[0]

    assert written_pair(feature, 0.1234561, 0.1234562, EN) == ("0.1234561", "0.1234562")


@pytest.mark.parametrize(
    ("value", "english", "german"),
    [
        (0.0, "0", "0"),
        (120.0, "120", "120"),
        (0.123456, "0.1235", "0,1235"),
        (1234567.8, "1,234,568", "1.234.568"),
        (1e-9, "1e\N{MINUS SIGN}09", "1e\N{MINUS SIGN}09"),
    ],
)
def test_numbers(value: float, english: str, german: str) -> None:
    assert (written_number(value, EN), written_number(value, DE)) == (english, german)


def test_shares_are_percentages() -> None:
    assert written_share(0.8, EN) == "80%"
    assert written_share(0.125, DE) == "12,5\N{NO-BREAK SPACE}%"


def test_levels_of_any_type_have_words() -> None:
    level = [True, 3, np.int64(4), 2.5, datetime.date(2024, 5, 3), pd.Interval(0, 1)]

    texts = [written_level(each, DE) for each in level]

    assert texts == ["ja", "3", "4", "2,5", "3. Mai 2024", "„(0, 1]“"]


def test_predictions_get_as_many_decimals_as_they_need() -> None:
    assert written_scores(0.41, 0.56, EN) == ("0.41", "0.56")
    assert written_scores(0.4991, 0.5001, EN) == ("0.499", "0.500")
    assert written_scores(152.34, 118.0, DE) == ("152,3", "118")
    assert written_scores(0.5, 0.5, DE) == ("0,50", "0,50")
