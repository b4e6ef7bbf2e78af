"""Ranges: the ends of a number or a date, or the levels of a category, checked and written."""

from __future__ import annotations

import datetime
import re
from collections.abc import Collection, Hashable, Mapping
from typing import Any, TypeAlias

import numpy as np

from counterpoint.checks import as_float, is_number
from counterpoint.errors import InvalidInput, did_you_mean, listed
from counterpoint.problem.target import is_same_label
from counterpoint.rules.rules import Rule
from counterpoint.rules.tree import InSet, Role, Word
from counterpoint.table.features import Feature, Kind
from counterpoint.table.schema import Schema
from counterpoint.table.values import day_of

# The ends of a number or a date, None for the data's own end; or the levels of a category.
Range: TypeAlias = tuple[Any, Any] | Collection[Any]


def check_ranges(
    ranges: Mapping[Hashable, Range], schema: Schema
) -> tuple[dict[int, tuple[float, float]], dict[int, list[int]]]:
    """Return the ends of numbers and dates, and the codes of levels, by the feature's position."""
    intervals, levels = {}, {}
    for j in schema.places_of(ranges, "ranges"):
        feature = schema.features[j]
        stated = ranges[feature.name]
        if feature.is_numeric:
            intervals[j] = _check_range(feature, stated)
        else:
            levels[j] = _check_levels(feature, stated)
    return intervals, levels


def _check_range(feature: Feature, interval: Any) -> tuple[float, float]:
    """Return the ends of a number's or a date's range as floats; None means the observed end."""
    if not isinstance(interval, tuple | list) or len(interval) != 2:
        raise InvalidInput(f"ranges[{feature.name!r}] must be (low, high), got {interval!r}.")
    ends = [_as_day(end, feature) if feature.kind is Kind.DATE else end for end in interval]
    low = feature.low if ends[0] is None else ends[0]
    high = feature.high if ends[1] is None else ends[1]
    if not (is_number(low) and is_number(high)):
        raise InvalidInput(f"ranges[{feature.name!r}] must hold numbers or None, got {interval!r}.")
    if not np.isfinite([as_float(low), as_float(high)]).all() or low > high:
        raise InvalidInput(
            f"ranges[{feature.name!r}] must be finite with low <= high, got {interval!r}; None "
            f"stands for the data's own end in {feature.shown(feature.low)} to "
            f"{feature.shown(feature.high)}."
        )
    smallest, largest = feature.dtype_range
    if low < smallest or high > largest:
        reason = feature.why_refused(float(low if low < smallest else high))
        raise InvalidInput(f"ranges[{feature.name!r}] is {interval!r}, {reason}")
    return float(low), float(high)


def _as_day(end: Any, feature: Feature) -> Any:
    """Return an end of a range of dates in days; None and days stay what they are."""
    is_day = end is None or is_number(end)
    return end if is_day else day_of(end, f"ranges[{feature.name!r}]")


def end_of(feature: Feature, end: float) -> float | int | str:
    """Return an end of a range as a caller would write it."""
    if feature.kind is Kind.DATE and end.is_integer():
        return feature.shown(end)
    return int(end) if end.is_integer() else float(end)


def _check_levels(feature: Feature, stated: Any) -> list[int]:
    """Return the codes of the levels a category may have, in the schema's order."""
    where = f"ranges[{feature.name!r}]"
    if isinstance(stated, str) or not isinstance(stated, Collection):
        raise InvalidInput(
            f"{where} must be a list of levels, for {feature.name!r} is {feature.kind}, not a "
            f"number; got {stated!r}. {as_levels(feature)}"
        )
    codes = []
    for level in stated:
        known = [code for code, own in enumerate(feature.levels) if is_same_label(level, own)]
        if not known:
            hint = did_you_mean(level, feature.levels) or f"they are {listed(feature.levels)}."
            raise InvalidInput(
                f"{where} names {level!r}, which is not a level of {feature.name!r}, for it is "
                f"{feature.kind}, not a number; {hint} {as_levels(feature)}"
            )
        codes += known
    if not codes:
        raise InvalidInput(f"{where} names no level; name some of {listed(feature.levels)}.")
    return sorted(set(codes))


def as_levels(feature: Feature) -> str:
    """Show how the levels of a category are limited, as a range and as a rule."""
    some = feature.levels[:2]
    rule = InSet(
        Word(str(feature.name), role=Role.FEATURE),
        tuple(Word(str(level), role=Role.LEVEL) for level in some),
    )
    return f'For example ranges={{{feature.name!r}: {list(some)!r}}}, or the rule "{rule}".'


def rule_of_levels(j: int, codes: list[int], schema: Schema) -> Rule:
    """Return the rule that a category has one of some levels."""
    feature = schema.features[j]
    levels = [Word(str(feature.levels[code]), role=Role.LEVEL) for code in codes]
    members = InSet(Word(str(feature.name), role=Role.FEATURE), tuple(levels))
    return Rule(members).checked(schema)


def range_text(ends: Any) -> str:
    """Return a range in words: a pair of numbers or dates is its ends, all else are levels."""
    if not (isinstance(ends, tuple) and len(ends) == 2 and all(map(_is_end, ends))):
        return f"one of {listed(ends)}" if isinstance(ends, Collection) else repr(ends)
    low, high = (None if end is None else str(end) for end in ends)
    if low is None or high is None:
        return (
            "within the data" if low is high else f"up to {high}" if low is None else f"from {low}"
        )
    return f"from {low} to {high}"


def _is_end(value: object) -> bool:
    """Whether a value is an end of a range rather than a level: a number, a date or None."""
    is_written = isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\d", value) is not None
    is_moment = isinstance(value, datetime.date | np.datetime64)
    return value is None or is_number(value) or is_moment or is_written
