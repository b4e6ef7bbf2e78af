"""Requests: what the page sends, checked and turned into the arguments of a search."""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoint.arrays import MISSING, Floats
from counterpoint.cli.reading import read_target
from counterpoint.errors import CounterpointError, InvalidInput, UnknownFeatureError
from counterpoint.explainer.explainer import Explainer
from counterpoint.explorer.describing import Rows
from counterpoint.problem.limits import CheckedLimits, Limits
from counterpoint.problem.target import TargetLike
from counterpoint.rules.rules import Rules
from counterpoint.search.settings import Search
from counterpoint.streams import check_seed
from counterpoint.table.features import Feature, Kind

MOST_RULES = 100


@dataclass(frozen=True)
class SearchRequest:
    """One search as a visitor asks for it.

    Parameters
    ----------
    label : str
        What the row is called.
    genome : ndarray of shape (1, d)
        The row, edited or not.
    target : class label, interval, number or "opposite"
        The wanted outcome.
    search : Search
        The settings.
    seed : int
        The seed.
    limits : CheckedLimits
        What may change.
    sent : dict
        What the page sent, to tell whether two questions are the same.
    """

    label: str
    genome: Floats
    target: TargetLike
    search: Search
    seed: int
    limits: CheckedLimits
    sent: dict[str, Any]


def read_object(body: bytes) -> dict[str, Any]:
    """Return the JSON object of a request."""
    try:
        value = json.loads(body, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"the request must be JSON, but it cannot be read ({error}).") from error
    if not isinstance(value, dict):
        raise InvalidInput(f"the request must be a JSON object, got {type(value).__name__}.")
    return value


def _refuse(name: str) -> Any:
    """Refuse what Python takes for JSON and nobody else does."""
    raise ValueError(f"{name} is no value of JSON")


def read_question(
    sent: dict[str, Any], explainer: Explainer, rows: Rows, most_seconds: float
) -> SearchRequest:
    """Check everything a search needs."""
    known = {"row", "values", "target", "fixed", "rules", "max_changed", "seed", "afresh"}
    if strange := sorted(set(sent) - known):
        raise InvalidInput(f"the request has {strange[0]!r}, which a search does not know.")
    limits = Limits(
        fixed=read_fixed(sent.get("fixed", []), explainer.schema.names),
        max_changed=_whole(sent.get("max_changed"), "max_changed"),
        constraints=read_rules(sent.get("rules", [])),
    ).check(explainer.schema)
    if not isinstance(sent.get("afresh", False), bool):
        raise InvalidInput(f"afresh must be true or false, got {sent['afresh']!r}.")
    target = sent.get("target")
    if not isinstance(target, str):
        raise InvalidInput(f"target must be a text such as 'good' or '0.5..1', got {target!r}.")
    seed = check_seed(sent.get("seed", 0))
    genome = read_values(sent.get("values"), explainer.schema.features)
    return SearchRequest(
        read_label(sent.get("row"), genome, rows),
        genome,
        read_target(target, explainer.classes, "target"),
        Search(seconds=most_seconds),
        seed,
        limits,
        sent,
    )


def read_values(values: object, features: Sequence[Feature]) -> Floats:
    """Return a row (1, d) from one value per feature: numbers, days, codes of levels, or null."""
    if not isinstance(values, list) or len(values) != len(features):
        raise InvalidInput(f"values must be a list of {len(features)}, one per feature.")
    genes = [_read_value(value, each) for value, each in zip(values, features, strict=True)]
    return np.array([genes], dtype=np.float64)


def _read_value(value: object, feature: Feature) -> float:
    """Return the gene of one value."""
    if value is None:
        if feature.has_missing:
            return MISSING
        raise InvalidInput(f"{feature.name!r} needs a value: the data miss none of it.")
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InvalidInput(f"{feature.name!r} must be a number, got {value!r}.")
    if not feature.is_numeric:
        if value not in range(len(feature.levels)):
            most = len(feature.levels) - 1
            raise InvalidInput(
                f"{feature.name!r} must be the place of a level, 0 to {most}, got {value!r}."
            )
        return float(value)
    if feature.kind is not Kind.REAL and value != int(value):
        raise InvalidInput(f"{feature.name!r} must be a whole number, got {value!r}.")
    low, high = feature.dtype_range
    if not low <= value <= high:
        raise InvalidInput(
            f"{feature.name!r} must lie between {feature.shown(low)} and {feature.shown(high)}, "
            f"got {value!r}."
        )
    return float(value)


def read_label(row: object, genome: Floats, rows: Rows) -> str:
    """Return what a row is called: as in its table, and that it was edited if it was."""
    if not isinstance(row, int) or isinstance(row, bool) or not 0 <= row < len(rows):
        raise InvalidInput(f"row must be a whole number from 0 to {len(rows) - 1}, got {row!r}.")
    is_edited = not np.array_equal(rows.genomes[row], genome[0])
    return f"{rows.labels[row]}, edited" if is_edited else rows.labels[row]


def read_fixed(fixed: object, names: Sequence[Hashable]) -> list[Hashable]:
    """Return the features that may not change, by their own names."""
    by_text = {str(name): name for name in names}
    for text in _texts(fixed, "fixed"):
        if text not in by_text:
            raise UnknownFeatureError.of(text, by_text, argument="fixed")
    return [by_text[text] for text in _texts(fixed, "fixed")]


def read_rules(rules: object) -> list[str]:
    """Return the rules that are not empty lines."""
    texts = [text for text in _texts(rules, "rules") if text.strip()]
    if len(texts) > MOST_RULES:
        raise InvalidInput(f"rules must be at most {MOST_RULES}, got {len(texts)}.")
    return texts


def check_lines(rules: object, explainer: Explainer) -> list[dict[str, Any]]:
    """Return what is wrong with lines of rules, each by itself: where, and in words."""
    read_rules(rules)
    faults = []
    for line, text in enumerate(_texts(rules, "rules")):
        try:
            Rules.parse([text] if text.strip() else [], explainer.schema)
        except CounterpointError as error:
            faults.append({"line": line, "error": str(error)})
    return faults


def _texts(values: object, argument: str) -> list[str]:
    """Return a list of texts."""
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise InvalidInput(f"{argument} must be a list of texts, got {values!r}.")
    return list(values)


def _whole(value: object, argument: str) -> int | None:
    """Return a whole number or None."""
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise InvalidInput(f"{argument} must be a whole number or null, got {value!r}.")


def is_same(sent: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two requests ask the same."""
    return {**sent, "afresh": None} == {**other, "afresh": None}
