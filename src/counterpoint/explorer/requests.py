"""Requests: what the page sends, checked, what it asks for, and what is searched for it."""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from counterpoint.arrays import MISSING, Floats
from counterpoint.checks import is_number, is_whole
from counterpoint.cli.reading import read_target
from counterpoint.errors import CounterpointError, InvalidInput, UnknownFeatureError
from counterpoint.explainer.explainer import Explainer
from counterpoint.explainer.task import Task, Work, explain_group, rows_as_given
from counterpoint.problem.limits import CheckedLimits, Limits
from counterpoint.problem.problem import Problem, Recalled
from counterpoint.problem.target import TargetLike
from counterpoint.progress import Watch
from counterpoint.result.counterfactuals import Counterfactuals
from counterpoint.result.report.summary import value_of
from counterpoint.result.words import say, spoken_now
from counterpoint.rules.rules import Rules
from counterpoint.search.settings import Search
from counterpoint.streams import check_seed
from counterpoint.table.features import Feature, Kind
from counterpoint.table.labels import SIGNS
from counterpoint.table.schema import Schema
from counterpoint.table.values import write_level, write_number

ROWS_PER_PAGE = 6


@dataclass(frozen=True)
class Rows:
    """The rows one can pick, with what the model says of them."""

    labels: tuple[str, ...]  # what the rows are called in their table
    genomes: Floats  # (n, d): the rows
    outputs: Floats  # (n, c): what the model says of them

    @classmethod
    def of(cls, explainer: Explainer, data: pd.DataFrame, rows: pd.DataFrame | None) -> Rows:
        """Take the rows of another table, or the data, whose scores are known."""
        if rows is None:
            labels, observed = tuple(map(str, data.index)), explainer.observed
            return cls(labels, observed.genomes, explainer.predictor.own.observed_outputs)
        genomes = explainer.encoding.encode(rows, "--rows")
        with explainer.predictor.one_thread():
            outputs = explainer.predictor.own.in_chunks(genomes)
        return cls(tuple(map(str, rows.index)), genomes, outputs)

    def __len__(self) -> int:
        return len(self.labels)


def describe_features(schema: Schema) -> list[dict[str, Any]]:
    """Return each feature: its kind, levels, range, how finely it is written, and its labels."""
    labels, lang = schema.labels, spoken_now()
    return [
        {
            "name": str(each.name),
            "label": labels.feature(each.name, lang),
            "kind": str(each.kind),
            "is_numeric": each.is_numeric,
            "levels": [write_level(level) for level in each.levels],
            "level_labels": [labels.level(each.name, level, lang) for level in each.levels],
            "low": each.low if each.is_numeric else None,
            "high": each.high if each.is_numeric else None,
            "decimals": 0 if each.kind in (Kind.INTEGER, Kind.DATE) else each.decimals,
            "unit": labels.unit(each, lang),
            "range": f" {say('to')} ".join(
                labels.value(each, end, lang) for end in (each.low, each.high) if each.is_numeric
            ),
            "may_miss": each.has_missing,
            "is_protected": each.is_protected,
            "is_constant": each.is_constant,
        }
        for each in schema.features
    ]


@dataclass(frozen=True)
class RowsWanted:
    """Which rows to show, and in which order."""

    find: str = ""  # a text that the label contains; empty for all
    where: str = ""  # a rule that the row satisfies, such as "age >= 30"; empty for all
    sort: str = ""  # "" for their own order, "prediction", or the place of a feature
    is_descending: bool = False  # whether the largest come first

    def places(self, rows: Rows, explainer: Explainer) -> list[int]:
        """Return the rows that are meant, in order."""
        wanted = self.find.strip().casefold()
        places = [i for i, label in enumerate(rows.labels) if wanted in label.casefold()]
        if self.where.strip():
            rules = Rules.parse([self.where], explainer.schema)
            holds = rules.holds(rows.genomes, rows.genomes[0])
            places = [i for i in places if holds[i]]
        if not self.sort:
            exact = [i for i in places if rows.labels[i].casefold() == wanted]
            return [*exact, *(i for i in places if i not in set(exact))]
        keys = rows.outputs[:, -1] if self.sort == "prediction" else self._values(rows)
        order = np.argsort(-keys if self.is_descending else keys, kind="stable")
        kept = set(places)
        return [i for i in order.tolist() if i in kept]

    def _values(self, rows: Rows) -> Floats:
        """Return the feature that is sorted by; what is missing comes last."""
        d = rows.genomes.shape[1]
        if not self.sort.isdecimal() or int(self.sort) >= d:
            raise InvalidInput(
                f"sort must be 'prediction' or a whole number below {d}, got {self.sort!r}."
            )
        genes = rows.genomes[:, int(self.sort)]
        last = -np.inf if self.is_descending else np.inf
        return np.where((genes == MISSING) | np.isnan(genes), last, genes)


def describe_rows(
    rows: Rows, explainer: Explainer, start: int, wanted: RowsWanted
) -> dict[str, Any]:
    """Return a page of the rows that are wanted."""
    places = wanted.places(rows, explainer)
    start = max(0, min(start, (len(places) - 1) // ROWS_PER_PAGE * ROWS_PER_PAGE))
    shown = places[start : start + ROWS_PER_PAGE]
    return {
        "rows": [describe_row(rows, explainer, i) for i in shown],
        "start": start,
        "per_page": ROWS_PER_PAGE,
        "n_found": len(places),
    }


def describe_row(rows: Rows, explainer: Explainer, position: int) -> dict[str, Any]:
    """Return one row: its label, its values for the form, the same as texts, its prediction."""
    genome, features = rows.genomes[position], explainer.schema.features
    labels, lang = explainer.schema.labels, spoken_now()
    texts = [labels.value(each, gene, lang) for each, gene in zip(features, genome, strict=True)]
    return {
        "position": position,
        "label": rows.labels[position],
        "values": [value_of(gene) for gene in genome],
        "texts": texts,
        "prediction": describe_prediction(explainer, rows.outputs[position]),
    }


MOST_POINTS = 400
CURVE_STEPS = 40


def describe_points(rows: Rows, x: int, y: int) -> dict[str, Any]:
    """Return rows as points over two features, evenly taken of many: place, x, y and prediction."""
    taken = np.unique(np.linspace(0, len(rows) - 1, min(len(rows), MOST_POINTS)).astype(int))
    points = [
        [int(i), value_of(rows.genomes[i, x]), value_of(rows.genomes[i, y]), float(output)]
        for i, output in zip(taken, rows.outputs[taken, -1], strict=True)
    ]
    return {"points": points, "n_rows": len(rows)}


def curve_of(explainer: Explainer, genome: Floats, place: int) -> dict[str, Any]:
    """Return what the model says of a row (1, d) as one feature changes: values and last output."""
    feature = explainer.schema.features[place]
    genes = np.arange(len(feature.levels), dtype=np.float64)
    if feature.is_numeric:
        genes = np.linspace(feature.low, feature.high, CURVE_STEPS)
        if feature.kind is not Kind.REAL:
            genes = np.unique(np.rint(genes))
    varied = np.repeat(genome, len(genes), axis=0)
    varied[:, place] = genes
    predictor = explainer.predictor.own
    with predictor.one_thread():
        outputs = predictor.blocks(varied[None])[0]
    return {"curve": [[float(g), float(o)] for g, o in zip(genes, outputs[:, -1], strict=True)]}


def describe_prediction(
    explainer: Explainer, outputs: Floats, code: int | None = None
) -> dict[str, Any]:
    """Return what the model says of one row: its outputs (c,), and the class it decides for.

    Without the code of that class it is the likeliest.
    """
    classes, lang = explainer.classes, spoken_now()
    if classes is None:
        output = _output(None, float(outputs[0]))
        return {"decision": None, "text": output["text"], "outputs": [output]}
    chosen = int(np.argmax(outputs)) if code is None else code
    called = [explainer.schema.labels.class_(label, lang) for label in classes]
    return {
        "decision": str(classes[chosen]),
        "called": called[chosen],
        "text": f"{called[chosen]} ({write_number(outputs[chosen], SIGNS[lang])})",
        "outputs": [_output(c, float(v)) for c, v in zip(called, outputs, strict=True)],
    }


def _output(label: str | None, value: float) -> dict[str, Any]:
    return {"label": label, "value": value, "text": write_number(value, SIGNS[spoken_now()])}


def predict(explainer: Explainer, genome: Floats) -> dict[str, Any]:
    """Ask the model about one row (1, d)."""
    predictor = explainer.predictor.own
    with predictor.one_thread():
        outputs = predictor.blocks(genome[:, None, :])[0, 0]
        code = None
        if explainer.classes is not None and predictor.has_decision:
            code = int(predictor.label_blocks(genome[:, None, :])[0, 0])
    return describe_prediction(explainer, outputs, code)


MOST_RULES = 100


@dataclass(frozen=True)
class SearchRequest:
    """One search as a visitor asks for it."""

    label: str  # what the row is called
    genome: Floats  # (1, d): the row, edited or not
    target: TargetLike  # the wanted outcome
    search: Search  # the settings
    seed: int
    limits: CheckedLimits  # what may change
    sent: dict[str, Any]  # what the page sent, to tell whether two questions are the same


def read_question(
    sent: dict[str, Any], explainer: Explainer, rows: Rows, most_seconds: float
) -> SearchRequest:
    """Check everything a search needs."""
    known = {"row", "values", "target", "fixed", "rules", "max_changed", "seed", "afresh"}
    if strange := sorted(set(sent) - known - {"ranges", "costs"}):
        raise InvalidInput(f"the request has {strange[0]!r}, which a search does not know.")
    fixed = _features_of(_texts(sent.get("fixed", []), "fixed"), "fixed", explainer.schema)
    if (most := sent.get("max_changed")) is not None and not is_whole(most):
        raise InvalidInput(f"max_changed must be a whole number or null, got {most!r}.")
    limits = Limits(
        fixed=[each.name for each in fixed],
        max_changed=most,
        constraints=read_rules(sent.get("rules", [])),
        ranges=read_ranges(sent.get("ranges", {}), explainer.schema),
        costs=read_costs(sent.get("costs", {}), explainer.schema),
    ).check(explainer.schema)
    if not isinstance(sent.get("afresh", False), bool):
        raise InvalidInput(f"afresh must be true or false, got {sent['afresh']!r}.")
    if not isinstance(target := sent.get("target"), str):
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


def _read_value(value: Any, feature: Feature) -> float:
    if value is None:
        if feature.has_missing:
            return MISSING
        raise InvalidInput(f"{feature.name!r} needs a value: the data miss none of it.")
    if not _is_number(value):
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


def read_label(row: Any, genome: Floats, rows: Rows) -> str:
    """Return what a row is called: as in its table, and that it was edited if it was."""
    if not (is_whole(row) and 0 <= row < len(rows)):
        raise InvalidInput(f"row must be a whole number from 0 to {len(rows) - 1}, got {row!r}.")
    is_edited = not np.array_equal(rows.genomes[row], genome[0])
    return say("ask.edited", label=rows.labels[row]) if is_edited else rows.labels[row]


def _features_of(names: Iterable[str], argument: str, schema: Schema) -> list[Feature]:
    """Return the features that are named by their texts."""
    by_text = {str(feature.name): feature for feature in schema.features}
    for text in names:
        if text not in by_text:
            raise UnknownFeatureError.of(text, by_text, argument=argument)
    return [by_text[text] for text in names]


def _named(values: object, argument: str, schema: Schema) -> dict[Feature, Any]:
    """Return what an object says of features, which it names by their texts."""
    if not isinstance(values, dict):
        raise InvalidInput(f"{argument} must be an object of names, got {values!r}.")
    return dict(zip(_features_of(values, argument, schema), values.values(), strict=True))


def read_ranges(ranges: object, schema: Schema) -> dict[Hashable, Any]:
    """Return where features may go: two ends each, null for the data's own; dates as days."""
    found: dict[Hashable, Any] = {}
    for feature, ends in _named(ranges, "ranges", schema).items():
        is_pair = isinstance(ends, list) and len(ends) == 2 and feature.is_numeric
        if not is_pair or not all(end is None or _is_number(end) for end in ends):
            raise InvalidInput(
                f"ranges[{str(feature.name)!r}] must be two numbers or null of a feature of "
                f"numbers, got {ends!r}."
            )
        if feature.kind is Kind.DATE:
            ends = [None if end is None else str(np.datetime64(int(end), "D")) for end in ends]
        found[feature.name] = tuple(ends)
    return found


def read_costs(costs: object, schema: Schema) -> dict[Hashable, float]:
    """Return how hard features are to change."""
    for feature, cost in (found := _named(costs, "costs", schema)).items():
        if not _is_number(cost):
            raise InvalidInput(f"costs[{str(feature.name)!r}] must be a number, got {cost!r}.")
    return {feature.name: float(cost) for feature, cost in found.items()}


def _is_number(value: Any) -> bool:
    return is_number(value) and math.isfinite(value)


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
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise InvalidInput(f"{argument} must be a list of texts, got {values!r}.")
    return list(values)


def is_same(sent: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two requests ask the same."""
    return {**sent, "afresh": None} == {**other, "afresh": None}


def read_object(body: bytes) -> dict[str, Any]:
    """Return the JSON object of a request."""
    try:
        value = json.loads(
            body, parse_constant=_no_value, parse_int=_whole_of, parse_float=_real_of
        )
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"the request must be JSON, but it cannot be read ({error}).") from error
    if not isinstance(value, dict):
        raise InvalidInput(f"the request must be a JSON object, got {type(value).__name__}.")
    return value


def _no_value(name: str) -> Any:
    """Refuse NaN and infinity, which Python reads in JSON though JSON has neither."""
    raise ValueError(f"{name} is no value of JSON")


def _real_of(text: str) -> float:
    """Return a number that a double can hold."""
    if not math.isfinite(number := float(text)):
        raise ValueError(f"the number {text[:20]}... is beyond 1.8e308")
    return number


def _whole_of(text: str) -> int:
    """Return a whole number that a double can hold: nothing here counts further."""
    _real_of(text)
    return int(text)


def search_row(
    explainer: Explainer,
    question: SearchRequest,
    watch: Watch,
    earlier: Counterfactuals | None = None,
) -> Counterfactuals:
    """Return what `explain` would; with an earlier result, start from what it found.

    It helps if that is of the same row and about the same output. `watch` hears how it goes, and
    tells it to stop.
    """
    frame = explainer.encoding.decode(question.genome.copy())
    frame.index = pd.Index([question.label])
    task = Task.of(
        frame, "row", question.target, question.search, question.seed, question.limits, explainer
    )
    problem = Work(explainer, task).problem(np.array([0]))
    problem = replace(problem, recalled=recalled_from(earlier, problem))
    row = rows_as_given(task, np.zeros(1, dtype=np.int64), explainer.encoding)[0]
    with explainer.predictor.one_thread():
        return explain_group(problem, task.search, task.seed, [row], watch)[0]


def recalled_from(earlier: Counterfactuals | None, problem: Problem) -> Recalled | None:
    """Return the counterfactuals of an earlier result of the same row, about the same output."""
    if earlier is None or not len(earlier) or not np.array_equal(earlier.genome, problem.rows[0]):
        return None
    old, new = earlier.target, problem.targets[0]
    is_alike = (old.column, old.wanted) == (new.column, new.wanted)
    return Recalled(earlier.genomes, earlier.scores) if is_alike else None
