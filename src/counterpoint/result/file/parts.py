"""Parts of a saved result: limits, aims, remarks on features, labels, ways and what is proved.

They are written in canonical form and read as strictly as the rest. Functions cannot be saved: of
the caller's objectives the document keeps names and where their hypervolume ends.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args

import numpy as np

from counterpoint.arrays import Bools, Floats, Ints
from counterpoint.errors import InvalidInput
from counterpoint.neighbours.gower import RANGES, Gower, Scale
from counterpoint.problem.limits import CheckedLimits, Limits
from counterpoint.problem.objectives import CHANGES, GAP
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
from counterpoint.search.exact.proof import Claim, Proof
from counterpoint.search.ways import WayRows
from counterpoint.table.encoding import Encoding
from counterpoint.table.features import Feature
from counterpoint.table.labels import PARTS, Labels
from counterpoint.table.schema import Schema, remarked

MOST_RULES = 1000
WAYS_KEYS = ("ways", "values", "rows")
WAY_KEYS = ("features", "is_minimal", "is_proved", "n_valid")
PROOF_KEYS = ("nearest", "fewest", "by_changes", "ways", "reason")
ROW_KEYS = ("way", "is_front", "genomes", "predictions", "scores", "codes", "objectives")


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


def write_ways(rows: WayRows | None, genomes: list[Any]) -> dict[str, Any] | None:
    """Return the ways as JSON, with the genomes of their candidates; None if there are none."""
    if rows is None:
        return None
    return {
        "ways": {
            "features": [np.flatnonzero(changed).tolist() for changed in rows.changed],
            **{key: getattr(rows, key).tolist() for key in WAY_KEYS[1:]},
        },
        "values": [rows.value_way.tolist(), rows.value_feature.tolist(), rows.value.tolist()],
        "rows": {
            key: genomes if key == "genomes" else getattr(rows, key).tolist() for key in ROW_KEYS
        },
    }


def write_proof(proof: Proof | None, names: Sequence[Hashable]) -> dict[str, Any] | None:
    """Return what is proved as JSON, ways by the positions of their features; None if nothing is.

    An infinite value or bound is null.
    """
    if proof is None:
        return None
    places = {features: [names.index(name) for name in features] for features in proof.ways}
    return {
        "nearest": _write_claim(proof.nearest),
        "fewest": _write_claim(proof.fewest),
        "by_changes": [[n, _write_claim(claim)] for n, claim in proof.by_changes.items()],
        "ways": [
            [places[features], _write_claim(claim), features in proof.minimal]
            for features, claim in proof.ways.items()
        ],
        "reason": proof.reason,
    }


def _write_claim(claim: Claim) -> list[float | None]:
    """Return value and bound."""
    return [end if np.isfinite(end) else None for end in (claim.value, claim.bound)]


def read_proof(node: Node, names: Sequence[Hashable]) -> Proof | None:
    """Return what is proved, every field checked; None if nothing is."""
    if node.value is None:
        return None
    nearest, fewest, by_changes, ways, reason = node.fields(*PROOF_KEYS)
    counts = [entry.items(2) for entry in by_changes.items()]
    sets, minimal = {}, []
    for entry in ways.items():
        places, claim, is_minimal = entry.items(3)
        features = tuple(names[place.whole(0, len(names) - 1)] for place in places.items())
        sets[features] = _read_claim(claim)
        if is_minimal.truth():
            minimal.append(features)
    return Proof(
        _read_claim(nearest),
        _read_claim(fewest),
        {n.whole(1, len(names)): _read_claim(claim) for n, claim in counts},
        sets,
        frozenset(minimal),
        reason.text(),
    )


def _read_claim(node: Node) -> Claim:
    """Return value and bound; null is infinite."""
    value, bound = (np.inf if end.value is None else end.number() for end in node.items(2))
    if not 0.0 <= bound <= value:
        node.refuse("a value and a bound from 0 to the value")
    return Claim(value, bound)


def genomes_node(node: Node) -> Node | None:
    """Return where the genomes of the candidates of ways are; None if there are no ways."""
    if node.value is None:
        return None
    return node.fields(*WAYS_KEYS)[2].fields(*ROW_KEYS)[2]


def read_ways(node: Node, genome: Floats, genomes: Floats, facts: Facts) -> WayRows:
    """Return the ways of a file, every field checked, given their candidates' genomes."""
    of_ways, values, of_rows = node.fields(*WAYS_KEYS)
    sets, minimal, proved, counts = of_ways.fields(*WAY_KEYS)
    changed = _read_sets(sets, len(genome))
    n, w = len(genomes), len(changed)
    part = dict(zip(ROW_KEYS, of_rows.fields(*ROW_KEYS), strict=True))
    way = _read_wholes(part["way"], n, w - 1)
    if (n and (np.diff(way) < 0).any()) or not np.array_equal(np.unique(way), np.arange(w)):
        part["way"].refuse("the way of each candidate, in order, each way at least once")
    if not np.array_equal(genomes != genome, changed[way]):
        part["genomes"].refuse("candidates that change exactly the features of their ways")
    objectives = read_objectives(part["objectives"], genomes, genome, facts.aims)
    if (objectives[:, GAP] > 0.0).any():
        part["objectives"].refuse("candidates that reach the target")
    value_way, value_feature, value = _read_seen(values, changed)
    return WayRows(
        changed,
        _read_truths(minimal, w),
        _read_truths(proved, w),
        _read_wholes(counts, w, 2**53),
        value_way,
        value_feature,
        value,
        way,
        _read_truths(part["is_front"], n),
        genomes,
        part["predictions"].numbers(n),
        part["scores"].numbers(n),
        _read_wholes(part["codes"], n, max(len(facts.classes) - 1, 0)),
        objectives,
    )


def _read_sets(node: Node, d: int) -> Bools:
    """Return the features of each way, shape (w, d)."""
    entries = node.items()
    changed = np.zeros((len(entries), d), dtype=np.bool_)
    for w, entry in enumerate(entries):
        places = [place.whole(0, d - 1) for place in entry.items()]
        if not places or sorted(set(places)) != places:
            entry.refuse("positions of features, ascending, at least one")
        changed[w, places] = True
    return changed


def _read_seen(node: Node, changed: Bools) -> tuple[Ints, Ints, Floats]:
    """Return which values of which ways are seen to work."""
    ways, features, values = node.items(3)
    seen = values.numbers()
    way = _read_wholes(ways, len(seen), len(changed) - 1)
    feature = _read_wholes(features, len(seen), changed.shape[1] - 1)
    if len(seen) and not changed[way, feature].all():
        features.refuse("features of their ways")
    return way, feature, seen


def _read_wholes(node: Node, n: int, most: int) -> Ints:
    """Return n whole numbers from 0 on."""
    return np.array([entry.whole(0, max(most, 0)) for entry in node.items(n)], dtype=np.int64)


def _read_truths(node: Node, n: int) -> Bools:
    """Return n truth values."""
    return np.array([entry.truth() for entry in node.items(n)], dtype=np.bool_)
