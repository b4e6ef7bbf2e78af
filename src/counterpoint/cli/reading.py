"""Reading what the command line names: tables, models, rows and wishes."""

from __future__ import annotations

import argparse
import ast
import csv
import inspect
import io
import json
import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from counterpoint.errors import (
    InvalidInput,
    UnknownFeatureError,
    did_you_mean,
    listed,
    named_columns,
    told_by,
)
from counterpoint.models.files import load_model
from counterpoint.models.inspection import unknown_columns
from counterpoint.neighbours.gower import Gower
from counterpoint.problem.limits import Limits
from counterpoint.table.features import (
    Categorical,
    Date,
    Declared,
    Feature,
    Integer,
    Kind,
    Ordered,
    Real,
)
from counterpoint.table.files import READERS, read_content, refused_if_damaged
from counterpoint.table.frames import only_known
from counterpoint.table.labels import Labels
from counterpoint.table.schema import Schema

if TYPE_CHECKING:
    from counterpoint.batch.engines.engine import Recipe
    from counterpoint.explainer.explainer import Explainer

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


def drop_columns(table: pd.DataFrame, drop: Sequence[str]) -> pd.DataFrame:
    """Return a table without the columns that are no features."""
    for name in drop:
        if name not in table.columns:
            raise UnknownFeatureError.of(name, table.columns, argument="--drop")
    return table.drop(columns=list(drop))


def check_features(model: Any, data: pd.DataFrame) -> None:
    """Refuse columns the model was not trained on: they would be searched for nothing."""
    known = getattr(model, "feature_names_in_", None)
    if known is None:
        return
    if strange := unknown_columns(model, list(data.columns)):
        how = " ".join(f"--drop {name}" for name in strange)
        raise InvalidInput(
            f"--data has the {named_columns(strange)}, which the model was not trained on; "
            f"leave {'it' if len(strange) == 1 else 'them'} out with {how}."
        )
    if lacking := [name for name in known if name not in data.columns]:
        raise InvalidInput(f"--data lacks the {named_columns(lacking)}, which the model needs.")


def read_rows(
    file: Path | None, positions: Sequence[int] | None, data: pd.DataFrame, drop: Sequence[str]
) -> pd.DataFrame:
    """Return the rows to explain: those of another file, or some of the data."""
    if file is None:
        return take_rows(data, positions or ())
    others = read_table(file, "--rows")
    if len(others) == 0:
        raise InvalidInput(f"--rows {str(file)!r} has no rows.")
    others = others.drop(columns=[name for name in drop if name in others.columns])
    return only_known(others, list(data.columns), f"--rows {str(file)!r}")


def take_rows(table: pd.DataFrame, positions: Sequence[int]) -> pd.DataFrame:
    """Return the rows at some positions, counted from 0."""
    for position in positions:
        if not 0 <= position < len(table):
            raise InvalidInput(
                f"--row {position} is not in the data, whose rows are 0 to {len(table) - 1}."
            )
    return table.iloc[list(positions)]


def read_model(options: argparse.Namespace) -> Any:
    """Return the model that is named."""
    try:
        return load_model(
            options.model,
            allow_pickle=options.allow_pickle,
            trusted=options.trust,
            most_bytes=options.most_bytes,
        )
    except InvalidInput as error:
        raise InvalidInput(re.sub(r"^path\b", "--model", str(error))) from error


def explainer_of(options: argparse.Namespace) -> tuple[Explainer, pd.DataFrame]:
    """Return the explainer of the model and the data that are named, and the data."""
    from counterpoint.explainer.explainer import Explainer

    model = read_model(options)
    table, drop = read_table(options.data, "--data"), set(options.drop)
    if options.rows is not None and not drop <= {*table.columns}:  # an id of the rows, perhaps
        drop -= {*read_table(options.rows, "--rows").columns} - {*table.columns}
    data = drop_columns(table, [name for name in options.drop if name in drop])
    check_features(model, data)
    return Explainer(model, data, **settings_of(options, list(data))), data


def recipe_of(options: argparse.Namespace) -> Recipe:
    """Return how a process gets the explainer: of the contents of the files that are named."""
    from counterpoint.batch.engines.engine import Files, Recipe

    model = read_model(options)
    name, content, table = read_files(options.data)
    ids = {options.id} & {*table.columns} - {*options.drop}  # no feature in the data either
    data = drop_columns(table, [*options.drop, *ids])
    check_features(model, data)
    drop = tuple(column for column in table.columns if column not in data.columns)
    return Recipe(
        Files(
            options.model.name,
            options.model.read_bytes(),
            name,
            content,
            drop,
            settings_of(options, list(data)),
            options.allow_pickle,
            tuple(options.trust),
            options.most_bytes,
        )
    )


def read_files(names: list[str]) -> tuple[str, bytes, pd.DataFrame]:
    """Return the observed rows: a name with an ending, the content of such a file, and the table.

    Several files become one, so that processes elsewhere need none of them.
    """
    from counterpoint.batch.inputs import find_files

    places = find_files(names, "--data")
    contents, tables = [], []
    for place in places:
        said = f"--data {place.name!r}"
        with refused_if_damaged(said, place.ending), place.open() as file:
            contents.append(file.read())
        tables.append(read_content(io.BytesIO(contents[-1]), place.ending, said))
    if len(places) == 1:
        return places[0].label, contents[0], tables[0]
    for place, table in zip(places[1:], tables[1:], strict=True):
        if set(table.columns) != set(tables[0].columns):
            raise InvalidInput(
                f"--data {place.name!r} has other columns than {places[0].name!r}; all files must "
                "have the same columns."
            )
    both = pd.concat(tables, ignore_index=True)
    sink = io.BytesIO()
    both.to_feather(sink)
    return "data.feather", sink.getvalue(), both


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


# How the value of each flag that names a feature is written.
FORMS = {
    "--range": "a feature and where it may go, such as age=18..90 or job=clerk,nurse",
    "--cost": "a column and a number, such as age=3",
    "--feature": "a column and what it is, such as 'age=Integer(18, 90)'",
    "--group": "a name and its columns, such as job=job_clerk,job_nurse; or none",
    "--unit": "a feature and what it is counted in, such as duration=months",
}
KINDS = {kind.__name__: kind for kind in (Integer, Real, Ordered, Categorical, Date)}


def limits_of(options: argparse.Namespace, schema: Schema) -> Limits:
    """Return the limits that the options state of the features of a schema."""
    return Limits(
        fixed=options.fixed,
        vary=options.vary,
        ranges=read_ranges(options.ranges, schema),
        max_changed=options.max_changed,
        constraints=options.constraints,
        costs=read_costs(getattr(options, "costs", ()), schema.names),
    )


def settings_of(options: argparse.Namespace, columns: Sequence[Any]) -> dict[str, Any]:
    """Return the keywords of `Explainer` that the options state."""
    return {
        "classes": read_classes(options.classes),
        "distance": Gower(options.distance),
        "allow_missing": True in options.allow_missing or options.allow_missing,
        **columns_of(options, columns),
    }


def columns_of(options: argparse.Namespace, columns: Sequence[Any]) -> dict[str, Any]:
    """Return the keywords that say what the columns are."""
    kinds = named_values("--feature", options.features, columns)
    return {
        "precision": options.precision,
        "features": {name: read_kind(name, text) for name, text in kinds.items()},
        "groups": read_groups(options.groups),
        "units": named_values("--unit", options.units, columns),
        "labels": read_names(options.labels),
        "protected": options.protected,
    }


def read_names(file: Path | None) -> Labels | None:
    """Return what people call things, from a file of TOML or JSON."""
    if file is None:
        return None
    said, read = f"--labels {str(file)!r}", {".toml": tomllib.loads, ".json": json.loads}
    if (ending := file.suffix.lower()) not in read:
        raise InvalidInput(f"--labels must end in .toml or .json, got {str(file)!r}.")
    if not file.is_file():
        raise InvalidInput(f"{said} is not a file.")
    try:
        document: Any = read[ending](file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{said} cannot be read: {told_by(error)}.") from error
    return Labels.read(document)


def named_values(flag: str, texts: Sequence[str], names: Sequence[Any] = ()) -> dict[str, str]:
    """Return what a flag says of each name; a known name may have an equals sign of its own."""
    found: dict[str, str] = {}
    for text in texts:
        known = [str(name) for name in names if text.startswith(f"{name}=")]
        name = max(known, key=len, default=text.partition("=")[0])
        value = text[len(name) + 1 :].strip()
        if not (name and value):
            raise InvalidInput(f"{flag} {text!r} must be {FORMS[flag]}.")
        if name in found:
            raise InvalidInput(f"{flag} names {name!r} twice; keep one of the two.")
        found[name] = value
    return found


def read_ranges(texts: Sequence[str], schema: Schema) -> dict[Any, Any]:
    """Return where features may go: the ends of numbers and dates, the levels of the others."""
    by_text = {str(feature.name): feature for feature in schema.features}
    found: dict[Any, Any] = {}
    for name, text in named_values("--range", texts, schema.names).items():
        if name not in by_text:
            raise schema.unknown(name, "--range")
        feature = by_text[name]
        levels = {str(level): level for level in feature.levels}
        if feature.is_numeric:
            found[feature.name] = read_ends(text, feature)
        else:  # what is no level stays a text, which is refused later
            found[feature.name] = [levels.get(each, each) for each in split(text)]
    return found


def read_ends(text: str, feature: Feature) -> tuple[Any, Any]:
    """Return the ends of a range; None for one that is left open."""
    low, dots, high = (part.strip() for part in text.partition(".."))
    is_date = feature.kind is Kind.DATE
    is_read = all(is_date or not end or re.fullmatch(NUMBER, end) for end in (low, high))
    if not (dots and is_read and (low or high)):
        low, high = feature.shown(feature.low), feature.shown(feature.high)
        raise InvalidInput(
            f"--range {f'{feature.name}={text}'!r} must have two dots between two ends, such as "
            f"{feature.name}={low}..{high}; {low}.. and ..{high} leave one open."
        )
    ends = [(end if is_date else float(end)) if end else None for end in (low, high)]
    return ends[0], ends[1]


def split(text: str) -> list[str]:
    """Return the parts of a text with commas; what has a comma itself is in double quotes.

    Examples
    --------
    >>> split('clerk, "nurse, night"')
    ['clerk', 'nurse, night']
    """
    return [part.strip() for part in next(csv.reader([text], skipinitialspace=True))]


def read_costs(texts: Sequence[str], names: Sequence[Any]) -> dict[Any, float]:
    """Return what it costs to change a feature, by name."""
    costs = {}
    for name, number in named_values("--cost", texts, names).items():
        if not re.fullmatch(NUMBER, number):
            raise InvalidInput(f"--cost {f'{name}={number}'!r} must be {FORMS['--cost']}.")
        costs[name] = float(number)
    return costs


def read_kind(name: str, text: str) -> Declared:
    """Return a kind written as in Python, of which only the kinds' names and literals are read.

    Examples
    --------
    >>> read_kind("rate", "Real(0, 1, decimals=2)"), read_kind("job", "Categorical")
    (Real(low=0, high=1, decimals=2), Categorical(levels=None))
    """
    said = f"--feature {f'{name}={text}'!r}"
    written = re.fullmatch(r"\s*(\w+)\s*(?:\((.*)\))?\s*", text, re.DOTALL)
    if written is None or written[1] not in KINDS:
        hint = did_you_mean(written[1], KINDS) if written else ""
        raise InvalidInput(
            f"{said} must name one of {listed(KINDS)}, such as {name}=Integer(18, 90)"
            + (f"; {hint}" if hint else ".")
        )
    kind = KINDS[written[1]]
    try:
        values, by_name = read_literals(written[2] or "")
        inspect.signature(kind).bind(*values, **by_name)
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError) as error:
        raise InvalidInput(
            f"{said} cannot be read; write {written[1]} with numbers, texts in quotes and lists, "
            f"such as {FORMS['--feature'].partition('such as ')[2]}."
        ) from error
    declared: Declared = kind(*values, **by_name)
    return declared


def read_literals(text: str) -> tuple[list[Any], dict[str, Any]]:
    """Return the arguments of a call, which may be literals only; nothing is evaluated."""
    call = ast.parse(f"kind({text})", mode="eval").body
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        raise TypeError("more than the arguments of one call")
    by_name = {str(each.arg): ast.literal_eval(each.value) for each in call.keywords}
    return [ast.literal_eval(each) for each in call.args], by_name


def read_groups(texts: Sequence[str]) -> dict[str, list[str]] | None:
    """Return the columns of each group; none at all where the text is "none"."""
    if list(texts) == ["none"]:
        return {}
    return {name: split(text) for name, text in named_values("--group", texts).items()} or None


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
    from counterpoint.search.run import NICE
    from counterpoint.search.settings import Search, WhatIf

    budget: dict[str, Any] = {
        name: value
        for name in ("evaluations", "seconds")
        if (value := getattr(options, name, None)) is not None
    }
    is_nice = options.method.startswith("nice-")
    if budget and (is_nice or options.method == "what-if"):
        raise InvalidInput(
            f"--method {options.method} needs no budget, so --{min(budget)} has no meaning."
        )
    if is_nice:
        return NICE(variant=options.method.removeprefix("nice-"))
    if options.method == "what-if":
        return WhatIf(n=max(1, options.keep if options.command == "batch" else options.show))
    if options.method == "default":
        return Search(**budget)
    if "evaluations" in budget:
        budget["generations"] = None
    return Search.paper(options.method).with_(**budget)
