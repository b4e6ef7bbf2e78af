"""Values in words: numbers with their column's decimals, dates, truth values, levels."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np

from counterpoint.arrays import MISSING
from counterpoint.result.words.language import Signs
from counterpoint.table.dates import as_days
from counterpoint.table.schema import Feature, Kind

DIGITS = 4  # of a number whose column says nothing
MOST_DIGITS = 17  # tell any two numbers apart
YEARS = (1500.0, 2200.0)  # a column of whole numbers in here is taken for years


def written(feature: Feature, gene: float, signs: Signs, digits: int = DIGITS) -> str:
    """Return a feature's value as text, without its unit."""
    if gene == MISSING:
        return signs.missing
    if feature.kind is Kind.DATE:
        return written_date(as_days(np.array([gene]))[0].item(), signs)
    if not feature.is_numeric:
        return written_level(feature.levels[int(gene)], signs)
    if feature.kind is Kind.INTEGER:
        is_year = YEARS[0] <= feature.low and feature.high <= YEARS[1]
        return signs.number(f"{gene:.0f}" if is_year else f"{gene:,.0f}")
    places = feature.decimals
    if places is not None and np.isclose(gene, round(gene, places), rtol=1e-6, atol=0.0):
        return signs.number(f"{gene:,.{places}f}")
    return written_number(gene, signs, digits)


def written_pair(feature: Feature, new: float, old: float, signs: Signs) -> tuple[str, str]:
    """Return two values of a feature, with as many digits as it takes to tell them apart."""
    for digits in range(DIGITS, MOST_DIGITS + 1):
        texts = written(feature, new, signs, digits), written(feature, old, signs, digits)
        if texts[0] != texts[1]:
            break
    return texts


def written_date(day: Any, signs: Signs) -> str:
    """Return a date in full.

    Examples
    --------
    >>> from counterpoint.result.words.german import GERMAN
    >>> written_date(datetime.date(2024, 3, 1), GERMAN.signs)
    '1. März 2024'
    """
    if not isinstance(day, datetime.date):  # before the year 1 or after 9999
        return str(day)
    return signs.date.format(day=day.day, month=signs.months[day.month - 1], year=day.year)


def written_level(level: Any, signs: Signs) -> str:
    """Return a level or a class: text in quotes, numbers and truth values as words have them."""
    if isinstance(level, bool | np.bool_):
        return signs.truth[int(level)]
    if isinstance(level, int | np.integer):
        return signs.number(str(level))
    if isinstance(level, float | np.floating):
        return written_number(float(level), signs, MOST_DIGITS - 2)
    if isinstance(level, datetime.date) and not isinstance(level, datetime.datetime):
        return written_date(level, signs)
    return signs.quoted(str(level))


def written_number(value: float, signs: Signs, digits: int = DIGITS) -> str:
    """Return a number with so many digits, whole thousands in full.

    Examples
    --------
    >>> from counterpoint.result.words.english import ENGLISH
    >>> [written_number(value, ENGLISH.signs) for value in (0.123456, 123456.7, 2.5)]
    ['0.1235', '123,457', '2.5']
    """
    if value == 0.0 or not np.isfinite(value):
        return signs.number(f"{value:g}")
    size = int(np.floor(np.log10(abs(value))))
    if not -4 <= size < 15:
        return signs.number(f"{value:.{digits}g}")
    places = max(0, digits - 1 - size)
    text = f"{value:,.{places}f}"
    return signs.number(text.rstrip("0").rstrip(".") if places else text)


def written_share(share: float, signs: Signs) -> str:
    """Return a probability as a percentage.

    Examples
    --------
    >>> from counterpoint.result.words.english import ENGLISH
    >>> written_share(0.8, ENGLISH.signs), written_share(0.125, ENGLISH.signs)
    ('80%', '12.5%')
    """
    return written_number(100.0 * share, signs, 6) + signs.percent


def written_scores(before: float, after: float, signs: Signs) -> tuple[str, str]:
    """Return the predictions before and after: two decimals where they are shares, if that does."""
    are_shares = min(before, after) >= 0.0 and max(before, after) <= 1.0
    for places in range(2, MOST_DIGITS):
        texts = [
            signs.number(f"{value:.{places}f}")
            if are_shares
            else written_number(value, signs, places + 2)
            for value in (before, after)
        ]
        if texts[0] != texts[1] or before == after:
            break
    return texts[0], texts[1]
