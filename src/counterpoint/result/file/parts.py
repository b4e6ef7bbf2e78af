"""Parts of a saved result: limits, rules and costs, objectives of the caller's, units, protection.

They are written in canonical form and read as strictly as the rest. Functions cannot be saved: of
the caller's objectives the document keeps names and where their hypervolume ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args

import numpy as np

from counterpoint.arrays import Floats
from counterpoint.errors import InvalidInput
from counterpoint.neighbours.gower import RANGES, Gower, Scale
from counterpoint.problem.limits import CheckedLimits, Limits
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
from counterpoint.result.facts import AbsentFunction, AbsentScore, Facts
from counterpoint.result.file.document import Node, read_label, write_label
from counterpoint.rules.rules import Rule, Rules
from counterpoint.table.encoding import Encoding
from counterpoint.table.features import Feature
from counterpoint.table.labels import PARTS, Labels
from counterpoint.table.schema import Schema, remarked


def write_aims(facts: Facts) -> dict[str, Any] | None:
    """Return what was minimised as JSON; None if it has the built-in objectives only.

    Of a function its name is kept, its `worst` as given, and where hypervolume ends for the row; of
    a plausibility that was fitted, what it is.
    """
    aims = facts.aims
    if aims == PLAIN:
        return None
    distance, plausibility, *own = facts.worst.tolist()
    score = aims.plausibility
    o4 = score if isinstance(score, Objective) else None
    return {
        "distance": _write(aims.distance, distance),
        "gower": {"scale": aims.gower.scale, "widths": list(aims.widths)},
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
    """Return the aims, and where hypervolume ends in them, shape (m - 2,).

    A function is its name only, and says so when it is asked.
    """
    if node.value is None:
        return PLAIN, np.ones(2)
    keys = ("distance", "gower", "plausibility", "score", "objectives")
    distance, gower, plausibility, score, objectives = node.fields(*keys)
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
        fitted = AbsentScore(score.text())
    named = tuple(each for each, _ in own if each is not None)
    aims = Aims(named, o2, fitted, *_read_gower(gower, len(schema)))
    if aims == PLAIN:
        node.refuse("null where there are only the built-in objectives")
    check_names(aims, schema)
    return aims, np.array([o2_end, o4_end, *(end for _, end in own)])


def _read_gower(node: Node, d: int) -> tuple[Gower, tuple[float, ...]]:
    """Return the scale of Gower's distance, and what it divides differences of d features by."""
    scale, widths = node.fields("scale", "widths")
    made = Gower(scale.one_of({*get_args(Scale)}))  # type: ignore[arg-type]
    known = widths.numbers(0 if made == RANGES else d)
    if (known < 0.0).any():
        widths.refuse("a list of numbers of at least 0")
    return made, tuple(known.tolist())


def _read(node: Node, kinds: set[str], *, is_needed: bool = False) -> tuple[Any, float]:
    """Return a function by its name, and where hypervolume ends in it; 1 if there is none."""
    if node.value is None and not is_needed:
        return None, 1.0
    name, kind, worst, end = node.fields("name", "kind", "worst", "end")
    made = {"distance": Distance, "objective": Objective}[kind.one_of(kinds)]
    given = None if worst.value is None else worst.number()
    return made(name.text(), AbsentFunction(name.text()), given), end.number()


def read_values(node: Node, n: int | None, aims: Aims) -> Floats:
    """Return objectives (n, m), none below the least it can be."""
    values = node.table(n, len(aims.names))
    if (values < aims.least).any():
        i, m = np.argwhere(values < aims.least)[0].tolist()
        Node(values[i, m].item(), f"{node.path}[{i}][{m}]").refuse("at least 0")
    return values


def read_objectives(node: Node, genomes: Floats, row: Floats, aims: Aims) -> Floats:
    """Return the objectives of the counterfactuals; the changes must be those of the genomes."""
    objectives = read_values(node, len(genomes), aims)
    n_changed = (genomes != row).sum(axis=1)
    if wrong := np.flatnonzero(objectives[:, CHANGES] != n_changed).tolist():
        i = wrong[0]
        Node(objectives[i, CHANGES].item(), f"{node.path}[{i}][{CHANGES}]").refuse(
            f"{n_changed[i]}, the number of features that differ from the row"
        )
    return objectives


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


def write_names(labels: Labels) -> dict[str, Any] | None:
    """Return labels as JSON, by language; None if there are none."""
    if not labels:
        return None
    return {
        lang: {
            "features": _write_texts(words.features),
            "levels": [
                [write_label(name, "labels"), _write_texts(texts)]
                for name, texts in words.levels.items()
            ],
            "classes": _write_texts(words.classes),
            "units": [[write_label(n, "labels"), *pair] for n, pair in words.units.items()],
            "outcome": words.outcome,
        }
        for lang, words in labels.words.items()
    }


def _write_texts(texts: Mapping[Any, str]) -> list[Any]:
    """Return what keys are called, as pairs."""
    return [[write_label(key, "labels"), text] for key, text in texts.items()]


def with_names(encoding: Encoding, node: Node) -> Encoding:
    """Return the encoding with the labels of a file."""
    if node.value is None:
        return encoding
    labels = Labels()
    for lang in node.value if isinstance(node.value, dict) else node.refuse("an object"):
        own = Node(node.value[lang], f"{node.path}.{lang}")
        features, levels, classes, units, outcome = own.fields(*PARTS)
        each_unit = [entry.items(3) for entry in units.items()]
        each_level = [entry.items(2) for entry in levels.items()]
        labels |= Labels(
            _read_texts(features),
            {read_label(name): _read_texts(texts) for name, texts in each_level},
            _read_texts(classes),
            {read_label(name): (one.text(), many.text()) for name, one, many in each_unit},
            outcome.text(),
            lang or None,
        )
    schema = replace(encoding.schema, labels=labels.checked(encoding.schema.features))
    return Encoding(schema, encoding.form)


def _read_texts(node: Node) -> dict[Any, str]:
    """Return what keys are called."""
    pairs = [entry.items(2) for entry in node.items()]
    return {read_label(key): text.text() for key, text in pairs}


MOST_RULES = 1000


def write_limits(checked: CheckedLimits) -> dict[str, Any]:
    """Return the caller's limits as JSON; of a function among the rules only its name is kept."""
    limits, rules = checked.limits, checked.rules.rules[: len(checked.limits.constraints)]
    return {
        "fixed": write_labels(limits.fixed, "fixed"),
        "vary": None if limits.vary is None else write_labels(limits.vary, "vary"),
        "ranges": [
            {"feature": write_label(name, "ranges"), "values": write_labels(values, "ranges")}
            for name, values in limits.ranges.items()
        ],
        "max_changed": limits.max_changed,
        "constraints": [
            {"function": rule.name} if rule.statement is None else {"rule": str(rule)}
            for rule in rules
        ],
        "costs": [
            {"feature": write_label(name, "costs"), "cost": cost}
            for name, cost in limits.costs.items()
        ],
    }


def write_labels(labels: Iterable[Any], what: str) -> list[Any]:
    """Return several labels as JSON."""
    return [write_label(label, what) for label in labels]


def read_limits(node: Node, schema: Schema) -> CheckedLimits:
    """Return the caller's limits, checked against the features of the same file."""
    keys = ("fixed", "vary", "ranges", "max_changed", "constraints", "costs")
    fixed, vary, ranges, max_changed, constraints, costs = node.fields(*keys)
    intervals = (entry.fields("feature", "values") for entry in ranges.items())
    prices = (entry.fields("feature", "cost") for entry in costs.items())
    most = len(schema)
    return Limits(
        fixed=read_labels(fixed),
        vary=None if vary.value is None else read_labels(vary),
        ranges={read_label(name): tuple(read_labels(values)) for name, values in intervals},
        max_changed=None if max_changed.value is None else max_changed.whole(1, most),
        constraints=read_rules(constraints, schema),
        costs={read_label(name): cost.number() for name, cost in prices},
    ).check(schema)


def read_labels(node: Node) -> list[Any]:
    """Return several labels."""
    return [read_label(entry) for entry in node.items()]


def read_rules(node: Node, schema: Schema) -> list[Rule]:
    """Return the rules; a function is its name only, and nobody can ask it."""
    entries = node.items()
    if len(entries) > MOST_RULES:
        raise InvalidInput(f"{node.path} must have at most {MOST_RULES:,} rules.")
    return [_read_rule(entry, schema) for entry in entries]


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
