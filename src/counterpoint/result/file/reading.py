"""Reading: the parts of a document, of which every field is checked before it is used."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from dataclasses import fields, replace
from typing import Any, get_args

import numpy as np

from counterpoint.arrays import MISSING, Bools, Floats, Ints
from counterpoint.checks import require_package
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
from counterpoint.problem.target import Target
from counterpoint.result.facts import AbsentFunction, AbsentScore, Facts, Stopped, Trace
from counterpoint.result.file.document import Node, read_label
from counterpoint.result.file.saving import ROW_KEYS, WAY_KEYS, WAYS_KEYS
from counterpoint.rules.rules import Rule, Rules
from counterpoint.search.exact.finish import Exact
from counterpoint.search.exact.proof import Claim, Proof
from counterpoint.search.run import NICE
from counterpoint.search.settings import NSGA2, Explore, RandomSearch, Search, WhatIf
from counterpoint.search.ways import WayRows
from counterpoint.table.features import Feature, Kind
from counterpoint.table.frames import Form, FormKind
from counterpoint.table.labels import PARTS, Labels
from counterpoint.table.schema import Encoding, Schema, remarked

MOST_RULES = 1000


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
    pairs = [entry.items(2) for entry in node.items()]
    return {read_label(key): text.text() for key, text in pairs}


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


def read_proof(node: Node, names: Sequence[Hashable]) -> Proof | None:
    """Return what is proved, every field checked; None if nothing is."""
    if node.value is None:
        return None
    keys = ("nearest", "fewest", "by_changes", "ways", "reason")
    nearest, fewest, by_changes, ways, reason = node.fields(*keys)
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


def read_ways(node: Node, genome: Floats, facts: Facts) -> WayRows | None:
    """Return the ways of a file with their candidates; None if there are none."""
    if node.value is None:
        return None
    of_ways, values, of_rows = node.fields(*WAYS_KEYS)
    sets, minimal, proved, counts = of_ways.fields(*WAY_KEYS)
    part = dict(zip(ROW_KEYS, of_rows.fields(*ROW_KEYS), strict=True))
    genomes = read_genomes(part["genomes"], genome, facts.limits.rules)
    changed = _read_sets(sets, len(genome))
    n, w = len(genomes), len(changed)
    way = part["way"].wholes(n, w - 1)
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
        minimal.truths(w),
        proved.truths(w),
        counts.wholes(w, 2**53),
        value_way,
        value_feature,
        value,
        way,
        part["is_front"].truths(n),
        genomes,
        part["predictions"].numbers(n),
        part["scores"].numbers(n),
        part["codes"].wholes(n, len(facts.classes) - 1),
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
    way = ways.wholes(len(seen), len(changed) - 1)
    feature = features.wholes(len(seen), changed.shape[1] - 1)
    if len(seen) and not changed[way, feature].all():
        features.refuse("features of their ways")
    return way, feature, seen


def read_target(node: Node, n_outputs: int, classes: tuple[Any, ...]) -> Target:
    """Return the wanted outcome."""
    keys = ("low", "high", "column", "label", "wanted", "is_complement")
    low, high, column, label, wanted, is_complement = node.fields(*keys)
    codes = tuple(code.whole(0, len(classes) - 1) for code in wanted.items())
    return Target(
        -np.inf if low.value is None else low.number(),
        np.inf if high.value is None else high.number(),
        column.whole(0, n_outputs - 1),
        read_label(label),
        classes if codes else (),
        codes,
        is_complement.truth(),
    )


SEARCHES = {made.__name__: made for made in (Explore, NSGA2, RandomSearch, WhatIf, NICE, Exact)}


def read_search(node: Node) -> Search | WhatIf:
    """Return the settings, which check themselves.

    One that is missing is newer than the file; its default is what was done before there was it.
    """
    kind, settings = node.fields("type", "settings")
    made = SEARCHES[kind.one_of(set(SEARCHES))]
    given = settings.value if isinstance(settings.value, dict) else {}
    names = [field.name for field in fields(made) if field.name in given]
    values = zip(names, settings.fields(*names), strict=True)
    search: Search | WhatIf = made(**{name: read_label(value) for name, value in values})
    return search


def _with_genes(rows: Any, may_miss: list[bool]) -> Any:
    """Return genomes with genes for null, where a feature may be missing."""
    if not isinstance(rows, list):
        return rows
    return [
        [MISSING if gene is None and may else gene for gene, may in zip(row, may_miss, strict=True)]
        if isinstance(row, list) and len(row) == len(may_miss)
        else row  # which is refused when it is read
        for row in rows
    ]


def read_genomes(node: Node, row: Floats, rules: Rules) -> Floats:
    """Return the candidates, each gene a value its feature can have, within the rules."""
    schema = rules.schema
    rows = _with_genes(node.value, [feature.has_missing for feature in schema.features])
    genomes = Node(rows, node.path).table(None, len(schema))
    for j, feature in enumerate(schema.features):
        genes = genomes[:, j]
        low, high = feature.dtype_range if feature.is_numeric else (0.0, len(feature.levels) - 1.0)
        genes = np.where((genes == MISSING) & feature.has_missing, feature.low, genes)
        fits = (low <= genes) & (genes <= high)
        if feature.kind is not Kind.REAL:
            fits &= genes == np.rint(genes)
        if feature.is_single:
            fits &= genes == genes.clip(low, high).astype(np.float32)
        if not fits.all():
            i = int(np.argmin(fits))
            what = "a number" if feature.is_numeric else "the code of a level"
            Node(genomes[i, j].item(), f"{node.path}[{i}][{j}]").refuse(
                f"{what} that {feature.name!r} can have"
            )
    if not (verdicts := rules.verdicts(genomes, row)).all():
        i, k = np.argwhere(~verdicts)[0].tolist()
        raise InvalidInput(f'{node.path}[{i}] breaks the rule "{rules.written[k]}".')
    return genomes


def read_trace(node: Node, aims: Aims) -> Trace:
    """Return how the search went."""
    keys = ("objectives", "generation", "evaluations", "replies", "stopped", "confirmations")
    objectives, generation, evaluations, replies, stopped, again = node.fields(*keys)
    costs = read_values(objectives, None, aims)
    asked = evaluations.wholes(None, 2**53)
    reason: Stopped = stopped.one_of({*get_args(Stopped)})  # type: ignore[assignment]
    return Trace(
        costs,
        generation.wholes(len(costs), len(asked) - 1),
        asked,
        replies.numbers(),
        reason,
        again.whole(0, 2**53),
    )


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


def read_form(node: Node, features: tuple[Feature, ...]) -> Encoding:
    """Return the encoding of features in the kind of table that was saved with them."""
    if node.value is None:
        return Encoding(Schema(features))
    kind_node, types, order_node = node.fields("kind", "types", "order")
    order = _read_order(order_node, features)
    schema = Schema(features, order)
    kind: FormKind = kind_node.one_of({*get_args(FormKind)})  # type: ignore[assignment]
    n_types = {"pandas": 0, "numpy": 1}.get(kind, len(schema.columns))
    entries = types.items(n_types)
    if kind == "pandas":
        return Encoding(schema)
    if kind == "numpy":
        name = entries[0].text()
        if ARRAY.fullmatch(name) is None:
            entries[0].refuse("the name of an array's dtype")
        made = [np.dtype(f"<U{name[3:]}" if name.startswith("str") else name)]
    else:
        library = require_package(kind, f"a result on a table of {kind}", kind)
        read = _polars_dtype if kind == "polars" else _arrow_type
        made = [read(library, t, c) for t, c in zip(entries, schema.columns, strict=True)]
    return Encoding(schema, Form(kind, tuple(made)))


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


def _arrow_type(arrow: Any, node: Node, _: Feature) -> Any:
    parts = DICTIONARY.fullmatch(node.text())
    if parts is None:
        return arrow.type_for_alias(node.one_of(ARROW))
    values = arrow.type_for_alias(Node(parts[1], node.path).one_of(ARROW))
    places = arrow.type_for_alias(Node(parts[2], node.path).one_of(ARROW))
    return arrow.dictionary(places, values, parts[3] == "1")
