"""Numbers, dates, truth values and levels as text, plain and in the signs of two languages."""

from __future__ import annotations

import datetime
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from counterpoint.arrays import MISSING
from counterpoint.result.words.grammars import ENGLISH, GERMAN
from counterpoint.table.features import Feature, Kind, write_pair, write_value
from counterpoint.table.schema import Schema
from counterpoint.table.values import (
    EXACT,
    PLAIN,
    counted,
    write_day,
    write_level,
    write_number,
    write_numbers,
    write_share,
)

EN, DE = ENGLISH.signs, GERMAN.signs


def feature_of(values: Any) -> Any:
    return Schema.infer(pd.DataFrame({"x": values})).features[0]


@pytest.mark.parametrize(
    ("values", "gene", "plain", "english", "german"),
    [
        ([276, 18424], 5951.0, "5,951", "5,951", "5.951"),
        ([1990, 2020], 1995.0, "1995", "1995", "1995"),
        ([1990, 2500], 1995.0, "1,995", "1,995", "1.995"),
        ([0.5, 1234.25], 1234.25, "1,234.25", "1,234.25", "1.234,25"),
        ([0.5, 1234567.8], 1234567.8, "1,234,567.8", "1,234,567.8", "1.234.567,8"),
        ([0.5, 1234.25], 3.0, "3.00", "3.00", "3,00"),
        ([-5, 5], -3.0, "-3", "-3", "-3"),
        ([False, True], 1.0, "True", "yes", "ja"),
        (["own", "rent"], 1.0, "rent", "“rent”", "„rent“"),
        ([1.5, None], MISSING, "missing", "missing", "unbekannt"),
        ([1.5, None], np.nan, "missing", "missing", "unbekannt"),
        (
            pd.to_datetime(["2024-03-01", "2024-12-24"]),
            19783.0,
            "2024-03-01",
            "1 March 2024",
            "1. März 2024",
        ),
    ],
)
def test_a_value_reads_as_the_language_writes_it(
    values: Any, gene: float, plain: str, english: str, german: str
) -> None:
    feature = feature_of(values)

    texts = [write_value(feature, gene, signs) for signs in (PLAIN, EN, DE)]

    assert texts == [plain, english, german]


def test_nothing_is_minus_zero() -> None:
    assert write_value(feature_of([-0.25, 0.25]), -0.0) == "0.00"
    assert write_value(feature_of([-5, 5]), -0.0) == "0"
    assert write_number(-0.0) == "0"


def test_one_long_value_does_not_lengthen_the_others() -> None:
    feature = feature_of([0.1234567891, 0.5])
    assert feature.decimals == 10

    assert [write_value(feature, gene) for gene in (0.5, 0.1234567891)] == ["0.5000", "0.1235"]
    assert write_pair(feature, 0.12345, 0.12346) == ("0.12345", "0.12346")
    assert write_value(feature, -1e-9) == "-1e-09"


@given(
    values=arrays(np.float64, 5, elements=st.floats(-1e6, 1e6, width=32)),
    gene=st.floats(-1e6, 1e6),
)
def test_no_number_of_a_column_is_minus_zero(values: Any, gene: float) -> None:
    feature = Feature("x", Kind.REAL, np.dtype(float), (), values.min(), values.max(), None)

    text = write_value(feature, gene)

    assert not re.fullmatch(r"-0(\.0*)?", text)
    assert gene == 0.0 or not re.fullmatch(r"0(\.0*)?", text)


def test_a_value_between_the_steps_of_its_column_keeps_more_decimals_than_it() -> None:
    assert write_value(feature_of([0.5, 90000.1]), 12345.678) == "12,345.678"


def test_a_long_value_between_the_steps_of_its_column_has_the_decimals_that_matter() -> None:
    column = feature_of([0.25, 9000.5])

    assert write_value(column, 3.141593) == "3.142"
    assert write_value(column, 1234.567891, DE) == "1.234,57"
    assert write_pair(column, 1234.567891, 1234.57, EN) == ("1,234.568", "1,234.57")


@pytest.mark.parametrize("gene", [1e15, 1e200, -1e200])
def test_the_largest_numbers_are_short(gene: float) -> None:
    assert len(write_value(feature_of([0.5, 1.0]), gene)) < 12


def test_two_values_never_read_the_same() -> None:
    feature = Schema.infer(pd.DataFrame({"x": [0.123456789, 0.5]}), "full").features[0]

    assert write_pair(feature, 0.1234561, 0.1234562, EN) == ("0.1234561", "0.1234562")
    assert write_numbers(0.41, 0.56) == ("0.41", "0.56")
    assert write_numbers(0.499991, 0.500001) == ("0.49999", "0.5")
    assert write_numbers(152.34, 118.0, DE) == ("152,3", "118")
    assert write_pair(feature_of([1, 40]), MISSING, 30.0) == ("missing", "30")
    assert write_numbers(0.5, 0.5) == ("0.5", "0.5")


@pytest.mark.parametrize(
    ("value", "plain", "german"),
    [
        (0.0, "0", "0"),
        (120.0, "120", "120"),
        (0.123456, "0.1235", "0,1235"),
        (1234567.8, "1,234,568", "1.234.568"),
        (-4321.6, "-4,322", "-4.322"),
        (99999.5, "100,000", "100.000"),
        (1e-9, "1e-09", "1e-09"),
        (2e20, "2e+20", "2e+20"),
        (np.inf, "inf", "inf"),
    ],
)
def test_a_number_has_four_digits_and_whole_thousands(
    value: float, plain: str, german: str
) -> None:
    assert (write_number(value), write_number(value, DE)) == (plain, german)


@pytest.mark.parametrize(
    ("value", "text"),
    [(1234567.8, "1,234,567.8"), (0.1 + 0.2, "0.3"), (2**53, "9.00719925474099e+15"), (0.5, "0.5")],
)
def test_a_number_somebody_gave_is_written_in_full(value: float, text: str) -> None:
    assert write_number(value, digits=EXACT) == text


def test_the_page_writes_numbers_as_we_do() -> None:
    """The page's own tests read the same file."""
    golden = json.loads((Path(__file__).parents[2] / "page" / "numbers.golden.json").read_text())

    assert [[value, write_number(value)] for value, _ in golden] == golden


def test_shares_are_percentages() -> None:
    assert write_share(0.8) == "80%"
    assert write_share(0.125, DE) == "12,5\N{NO-BREAK SPACE}%"


def test_levels_of_any_type_have_words() -> None:
    levels = [True, 3, np.int64(4), 2.5, datetime.date(2024, 5, 3), pd.Interval(0, 1)]

    assert [write_level(each, DE) for each in levels] == [
        *("ja", "3", "4", "2,5", "3. Mai 2024", "„(0, 1]“")
    ]
    assert [write_level(each) for each in levels] == [
        *("True", "3", "4", "2.5", "2024-05-03", "(0, 1]")
    ]


def test_days_beyond_pythons_dates_are_written() -> None:
    assert [write_day(31.0), write_day(5_000_000.0)] == ["1970-02-01", "15659-07-15"]


def test_numbers_agree_with_their_nouns() -> None:
    assert [counted(n, "row") for n in (0, 1, 3520)] == ["0 rows", "1 row", "3,520 rows"]
