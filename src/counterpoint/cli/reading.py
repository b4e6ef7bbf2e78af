"""Reading what the command line names: tables, models, rows and wishes."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from counterpoint.errors import InvalidInput, UnknownFeatureError, did_you_mean, listed
from counterpoint.models.answers import unknown_columns
from counterpoint.table.files import READERS, read_content

NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
INTERVAL = re.compile(rf"\s*({NUMBER})?\s*\.\.\s*({NUMBER})?\s*")


def read_table(file: Path, argument: str) -> pd.DataFrame:
    """Return the table in a file, by the file's ending."""
    ending = file.suffix.lower()
    if ending not in READERS:
        raise InvalidInput(f"{argument} must end in .csv, .parquet or .feather, got {str(file)!r}.")
    if not file.is_file():
        raise InvalidInput(f"{argument} {str(file)!r} is not a file.")
    return read_content(file, ending, f"{argument} {str(file)!r}")


def drop_columns(table: pd.DataFrame, drop: Sequence[str], argument: str) -> pd.DataFrame:
    """Return a table without the columns that are no features."""
    for name in drop:
        if name not in table.columns:
            raise UnknownFeatureError.of(name, table.columns, argument=argument)
    return table.drop(columns=list(drop))


def check_features(model: Any, data: pd.DataFrame) -> None:
    """Refuse columns the model was not trained on: they would be searched for nothing."""
    known = getattr(model, "feature_names_in_", None)
    if known is None:
        return
    if strange := unknown_columns(model, list(data.columns)):
        how = " ".join(f"--drop {name}" for name in strange)
        raise InvalidInput(
            f"--data has the columns {listed(strange)}, which the model was not trained on; "
            f"leave them out with {how}."
        )
    if lacking := [name for name in known if name not in data.columns]:
        raise InvalidInput(f"--data lacks the columns {listed(lacking)}, which the model needs.")


def read_rows(
    file: Path | None, positions: Sequence[int] | None, data: pd.DataFrame, drop: Sequence[str]
) -> pd.DataFrame:
    """Return the rows to explain: those of another file, or some of the data."""
    if file is None:
        return take_rows(data, positions or ())
    others = read_table(file, "--rows")
    if len(others) == 0:
        raise InvalidInput(f"--rows {str(file)!r} has no rows.")
    return others.drop(columns=[name for name in drop if name in others.columns])


def take_rows(table: pd.DataFrame, positions: Sequence[int]) -> pd.DataFrame:
    """Return the rows at some positions, counted from 0."""
    for position in positions:
        if not 0 <= position < len(table):
            raise InvalidInput(
                f"--row {position} is not in the data, whose rows are 0 to {len(table) - 1}."
            )
    return table.iloc[list(positions)]


def read_target(text: str, classes: Sequence[Any] | None, argument: str = "--target") -> Any:
    """Return a target as `explain` takes it; `argument` names it in errors.

    Examples
    --------
    >>> read_target("good", ("bad", "good")), read_target("1", (0, 1)), read_target("3", None)
    ('good', 1, 3.0)
    >>> read_target("0.5..", None), read_target("good:0.8..1", ("bad", "good"))
    ((0.5, None), ('good', (0.8, 1.0)))
    """
    by_text = {str(label): label for label in classes or ()}
    if text in by_text:
        return by_text[text]
    if text == "opposite":
        return text
    label, colon, ends = text.rpartition(":")
    if interval := INTERVAL.fullmatch(ends):
        low, high = (None if end is None else float(end) for end in interval.groups())
        if low is None and high is None:
            raise InvalidInput(f"{argument} {text!r} is open on both sides; give it an end.")
        if not colon and by_text:
            raise InvalidInput(
                f"{argument} {text!r} must say of which class, as in '{list(by_text)[-1]}:{text}'."
            )
        if not colon:
            return (low, high)
        if label in by_text:
            return (by_text[label], (low, high))
        raise unknown_class(label, by_text, argument)
    if not by_text and re.fullmatch(NUMBER, text.strip()):
        return float(text)
    raise unknown_class(text, by_text, argument)


def unknown_class(text: str, by_text: dict[str, Any], argument: str) -> InvalidInput:
    """Build the error for a target that is neither a class nor an interval."""
    if not by_text:
        return InvalidInput(
            f"{argument} {text!r} is neither a number nor an interval such as 0.5..1 or ..200; the "
            "model has no classes (name them with --classes)."
        )
    hint = did_you_mean(text, by_text) or f"its classes are {listed(by_text)}."
    return InvalidInput(
        f"{argument} {text!r} is neither a class of the model nor an interval; {hint}"
    )


def read_costs(texts: Sequence[str]) -> dict[str, float] | None:
    """Return what it costs to change a feature, by column."""
    costs = {}
    for text in texts:
        name, equals, number = text.rpartition("=")
        if not (equals and name and re.fullmatch(NUMBER, number.strip())):
            raise InvalidInput(f"--cost {text!r} must be a column and a number, such as age=3.")
        costs[name] = float(number)
    return costs or None


def read_classes(text: str | None) -> list[Any] | None:
    """Return class labels given as one text; whole numbers if all of them are."""
    if text is None:
        return None
    labels = [label.strip() for label in text.split(",")]
    if all(re.fullmatch(r"-?\d+", label) for label in labels):
        return [int(label) for label in labels]
    return labels


def search_of(options: argparse.Namespace) -> Any:
    """Return the search that is asked for."""
    from counterpoint.search.settings import Search, WhatIf

    budget: dict[str, Any] = {
        name: value
        for name in ("evaluations", "seconds")
        if (value := getattr(options, name, None)) is not None
    }
    if options.method == "what-if":
        if budget:
            raise InvalidInput(
                f"--method what-if asks no model, so --{min(budget)} has no meaning."
            )
        return WhatIf(n=max(1, options.keep if options.command == "batch" else options.show))
    if options.method == "default":
        return Search(**budget)
    if "evaluations" in budget:
        budget["generations"] = None
    return Search.paper(options.method).with_(**budget)
