"""Rules and costs in a saved result: written in canonical form, read as strictly as the rest.

Aims in a saved result: names and where hypervolume ends; functions cannot be kept.

The kind of table in a saved result: named with its dtypes, so that a loaded one can build it.

Remarks in a saved result: units and protected features.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from counterpoint.arrays import Floats
from counterpoint.checks import require_package
from counterpoint.errors import InvalidInput
from counterpoint.problem.limits import check_costs
from counterpoint.problem.objectives import CHANGES
from counterpoint.problem.own_objectives import (
    MOST_OBJECTIVES,
    PLAIN,
    Aims,
    Distance,
    Objective,
    Score,
    check_names,
)
from counterpoint.problem.problem import Problem
from counterpoint.result.file.document import Node
from counterpoint.rules.rules import RowRules, Rule, Rules
from counterpoint.table.encoding import Encoding
from counterpoint.table.frames import PANDAS, Form
from counterpoint.table.schema import Feature, Schema, remarked


def write_aims(problem: Problem) -> dict[str, Any] | None:
    """Return the aims of one row's problem as JSON; None if it has the built-in objectives only.

    Of a function its name is kept, its `worst` as given, and where hypervolume ends for the row; of
    a plausibility that was fitted, what it is.
    """
    aims = problem.observed.aims
    if aims == PLAIN or problem.worst is None:
        return None
    distance, plausibility, *own = problem.worst[0].tolist()
    score = aims.plausibility
    o4 = score if isinstance(score, Objective) else None
    return {
        "distance": _write(aims.distance, distance),
        "plausibility": _write(o4, plausibility),
        "score": None if score is None or isinstance(score, Objective) else score.words,
        "objectives": [
            _write(objective, end) for objective, end in zip(aims.objectives, own, strict=True)
        ],
    }


def _write(function: Objective | None, end: float) -> dict[str, Any] | None:
    """Return a function of the caller's as JSON."""
    if function is None:
        return None
    kind = "distance" if isinstance(function, Distance) else "objective"
    given = None if function.worst is None else float(function.worst)
    return {"name": function.name, "kind": kind, "worst": given, "end": end}


def read_aims(node: Node, schema: Schema) -> tuple[Aims, Floats]:
    """Return the aims, and where hypervolume ends in them, shape (1, m - 2).

    A function is its name only, and says so when it is asked.
    """
    if node.value is None:
        return PLAIN, np.ones((1, 2))
    keys = ("distance", "plausibility", "score", "objectives")
    distance, plausibility, score, objectives = node.fields(*keys)
    entries = objectives.items()
    if len(entries) > MOST_OBJECTIVES:
        raise InvalidInput(f"{objectives.path} must have at most {MOST_OBJECTIVES} entries.")
    o2, o2_end = _read(distance, {"distance"})
    o4, o4_end = _read(plausibility, {"distance", "objective"})
    if o4 is not None and score.value is not None:
        score.refuse("null, where a function tells plausibility")
    own = [_read(entry, {"distance", "objective"}, is_needed=True) for entry in entries]
    fitted: Objective | Score | None = o4
    if score.value is not None:
        fitted = Gone(score.text())
    aims = Aims(tuple(each for each, _ in own if each is not None), o2, fitted)
    if aims == PLAIN:
        node.refuse("null where there are only the built-in objectives")
    check_names(aims, schema)
    return aims, np.array([[o2_end, o4_end, *(end for _, end in own)]])


def _read(node: Node, kinds: set[str], *, is_needed: bool = False) -> tuple[Any, float]:
    """Return a function by its name, and where hypervolume ends in it; 1 if there is none."""
    if node.value is None and not is_needed:
        return None, 1.0
    name, kind, worst, end = node.fields("name", "kind", "worst", "end")
    made = {"distance": Distance, "objective": Objective}[kind.one_of(kinds)]
    given = None if worst.value is None else worst.number()
    return made(name.text(), gone(name.text()), given), end.number()


def read_values(node: Node, n: int | None, aims: Aims) -> Floats:
    """Return objectives (n, m), none below the least it can be."""
    values = node.table(n, len(aims.names))
    if (values < aims.least).any():
        i, m = np.argwhere(values < aims.least)[0].tolist()
        Node(values[i, m].item(), f"{node.path}[{i}][{m}]").refuse("at least 0")
    return values


def read_objectives(node: Node, genomes: Floats, problem: Problem) -> Floats:
    """Return the objectives of the counterfactuals; the changes must be those of the genomes."""
    objectives = read_values(node, len(genomes), problem.observed.aims)
    n_changed = (genomes != problem.rows[0]).sum(axis=1)
    if wrong := np.flatnonzero(objectives[:, CHANGES] != n_changed).tolist():
        i = wrong[0]
        Node(objectives[i, CHANGES].item(), f"{node.path}[{i}][{CHANGES}]").refuse(
            f"{n_changed[i]}, the number of features that differ from the row"
        )
    return objectives


def gone(name: str) -> Callable[[Any, Any], Any]:
    """Return what stands where a function was."""

    def refuse(rows: Any, row: Any) -> NoReturn:  # noqa: ARG001 - as functions are asked
        raise InvalidInput(
            f"{name!r} was loaded from a file, which keeps the name of a function only; make an "
            "Explainer with it and call explain again with the same seed."
        )

    return refuse


@dataclass(frozen=True)
class Gone:
    """Stands where a fitted plausibility was: a loaded result cannot score anew."""

    words: str

    def score(self, genomes: Floats) -> Floats:  # noqa: ARG002 - there is nobody to ask
        """Say that the score is not here."""
        raise InvalidInput(
            f"the plausibility ({self.words}) was not saved with the result; make an Explainer "
            "with it and call explain again with the same seed."
        )


KINDS = {"pandas", "polars", "pyarrow", "numpy"}
UNITS = ("ms", "us", "ns")
# Dtypes of polars that a level column or one of dates can have; of numbers the feature's own tells.
POLARS = {"String", "Categorical", "Enum", "Boolean", "Date", *(f"Datetime({u})" for u in UNITS)}
POLARS |= {f"{k}{b}" for k in ("Int", "UInt") for b in (8, 16, 32, 64)} | {"Float32", "Float64"}
ARROW = {
    *("bool", "float", "double", "string", "large_string", "string_view", "date32[day]"),
    *("date64[ms]", *(f"timestamp[{unit}]" for unit in ("s", *UNITS))),
    *(f"{kind}int{bits}" for kind in ("", "u") for bits in (8, 16, 32, 64)),
}
DICTIONARY = re.compile(r"dictionary<values=(\w+), indices=(u?int\d+), ordered=([01])>")
ARRAY = re.compile(r"bool|object|u?int(8|16|32|64)|float(32|64)|str\d{1,9}|datetime64\[\w{1,2}\]")


def write_form(encoding: Encoding) -> dict[str, Any] | None:
    """Return the kind of table as JSON; null for a pandas frame without groups of columns."""
    form, order = encoding.form, encoding.schema.order
    if form == PANDAS and not order:
        return None
    return {"kind": form.kind, "types": [_name(form, t) for t in form.types], "order": [*order]}


def _name(form: Form, dtype: Any) -> str:
    """Return the name of a dtype as we read it back."""
    if form.kind == "polars":
        name = str(type(dtype).__name__ if not isinstance(dtype, type) else dtype.__name__)
        return f"Datetime({dtype.time_unit})" if name == "Datetime" else name
    if form.kind == "numpy":
        return f"str{dtype.itemsize // 4}" if dtype.kind == "U" else str(dtype.name)
    return str(dtype)


def read_form(node: Node, features: tuple[Feature, ...]) -> Encoding:
    """Return the encoding of features in the kind of table that was saved with them."""
    if node.value is None:
        return Encoding(Schema(features))
    kind_node, types, order_node = node.fields("kind", "types", "order")
    order = _read_order(order_node, features)
    schema, kind = Schema(features, order), kind_node.one_of(KINDS)
    n_types = {"pandas": 0, "numpy": 1}.get(kind, len(schema.columns))
    entries = types.items(n_types)
    if kind == "pandas":
        return Encoding(schema)
    if kind == "numpy":
        return Encoding(schema, Form("numpy", (_array_dtype(entries[0]),)))
    if kind == "polars":
        library = require_package("polars", "a result on a table of polars", "polars")
        made = [_polars_dtype(library, t, c) for t, c in zip(entries, schema.columns, strict=True)]
        return Encoding(schema, Form("polars", tuple(made)))
    library = require_package("pyarrow", "a result on a table of pyarrow", "pyarrow")
    return Encoding(schema, Form("pyarrow", tuple(_arrow_type(library, t) for t in entries)))


def _read_order(node: Node, features: tuple[Feature, ...]) -> tuple[int, ...]:
    """Return the order of the columns, empty or each place once."""
    n = sum(max(1, len(feature.columns)) for feature in features)
    order = tuple(entry.whole(0, n - 1) for entry in node.items())
    if order and sorted(order) != list(range(n)):
        raise InvalidInput(f"{node.path} must name each of {n} columns once.")
    return order


def _polars_dtype(polars: Any, node: Node, column: Feature) -> Any:
    """Return a dtype of polars; the categories of an Enum are those of the feature's own dtype."""
    name = node.one_of(POLARS)
    if name == "Enum":
        return polars.Enum([str(level) for level in column.dtype.categories])
    if name.startswith("Datetime"):
        return polars.Datetime(name[9:-1])
    return getattr(polars, name)


def _arrow_type(arrow: Any, node: Node) -> Any:
    """Return a type of pyarrow."""
    parts = DICTIONARY.fullmatch(node.text())
    if parts is None:
        return arrow.type_for_alias(node.one_of(ARROW))
    values = arrow.type_for_alias(Node(parts[1], node.path).one_of(ARROW))
    places = arrow.type_for_alias(Node(parts[2], node.path).one_of(ARROW))
    return arrow.dictionary(places, values, parts[3] == "1")


def _array_dtype(node: Node) -> Any:
    """Return the dtype of an array."""
    name = node.text()
    if ARRAY.fullmatch(name) is None:
        node.refuse("the name of an array's dtype")
    return np.dtype(f"<U{name[3:]}" if name.startswith("str") else name)


def write_remarks(features: Sequence[Feature]) -> dict[str, Any] | None:
    """Return units and protection as JSON, an entry per feature; None if there are none."""
    units = [feature.unit or None for feature in features]
    is_protected = [feature.is_protected for feature in features]
    if not any(units) and not any(is_protected):
        return None
    return {"units": units, "is_protected": is_protected}


def read_remarks(node: Node, features: tuple[Feature, ...]) -> tuple[Feature, ...]:
    """Return the features with their remarks."""
    if node.value is None:
        return features
    units, is_protected = node.fields("units", "is_protected")
    given = zip(features, units.items(len(features)), strict=True)
    marks = zip(features, is_protected.items(len(features)), strict=True)
    return remarked(
        Schema(features),
        {feature.name: unit.text() for feature, unit in given if unit.value is not None},
        [feature.name for feature, mark in marks if mark.truth()],
    ).features


MOST_RULES = 1000


def write_rules(row_rules: RowRules | None) -> list[dict[str, str]]:
    """Return the rules as JSON; of a function only its name can be kept."""
    rules = () if row_rules is None else row_rules.rules.rules
    return [
        {"function": rule.name} if rule.statement is None else {"rule": str(rule)} for rule in rules
    ]


def read_rules(node: Node, schema: Schema) -> Rules:
    """Return the rules; a function is its name only, and nobody can ask it."""
    entries = node.items()
    if len(entries) > MOST_RULES:
        raise InvalidInput(f"{node.path} must have at most {MOST_RULES:,} rules.")
    return Rules(tuple(_read_rule(entry, schema) for entry in entries), schema)


def _read_rule(node: Node, schema: Schema) -> Rule:
    """Return one rule, which must be written as we write it."""
    if isinstance(node.value, dict) and "function" in node.value:
        (name,) = node.fields("function")
        return Rule(None, None, name.text())
    (text,) = node.fields("rule")
    rule = Rule.parse(text.text()).checked(schema)
    if str(rule) != text.value:
        text.refuse(f"the canonical {str(rule)!r}")
    return rule


def check_rules(node: Node, genomes: Floats, rules: Rules, row: Floats) -> None:
    """Refuse counterfactuals that break a rule of the same file."""
    verdicts = rules.verdicts(genomes, row)
    if not verdicts.all():
        i, k = np.argwhere(~verdicts)[0].tolist()
        raise InvalidInput(f'{node.path}[{i}] breaks the rule "{rules.written[k]}".')


def read_prices(node: Node, schema: Schema) -> Floats | None:
    """Return the costs of all features, or None if none was given."""
    if node.value is None:
        return None
    return check_costs(dict(zip(schema.names, node.numbers(len(schema)), strict=True)), schema)
