"""Letters: what a customer may read of a result, as texts.

Nothing in them is of other people or of the method: no observed row, no row number, no probability
of a class that was not asked for, no way through a protected feature nor how many there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from counterpoint.checks import check_whole
from counterpoint.problem.objectives import GAP
from counterpoint.result.data import ResultData
from counterpoint.result.ways import Way, ways_of
from counterpoint.result.words.language import Change, Grammar, Lang, Wish
from counterpoint.result.words.sentences import (
    MOST_TOLD,
    changes_of_way,
    changes_protected,
    class_text,
    grammar_of,
    inside_by,
    labels_of,
    landing,
    wish_of,
)
from counterpoint.table.values import write_number, write_share

FEW = 4  # the most changes a sentence names one by one


class Case(NamedTuple):
    """Another case in which the result would have been as wanted.

    Attributes
    ----------
    text : str
        Its sentence.
    changes : list of Change
        What differs.
    way : Way
        What it is one of.
    """

    text: str
    changes: list[Change]
    way: Way[Any]


class Story(NamedTuple):
    """What a customer reads.

    Attributes
    ----------
    decided : str
        What was decided.
    cases : list of Case
        The other cases, the safest first.
    remarks : list of str
        What is proved, why there are no cases, or how close the edge is.
    caveat : str
        What it is not; empty where there are no other cases.
    """

    decided: str
    cases: list[Case]
    remarks: list[str]
    caveat: str

    @property
    def lines(self) -> list[str]:
        """The whole text, the cases numbered."""
        numbered = [f"{k}. {case.text}" for k, case in enumerate(self.cases, 1)]
        return [self.decided, *numbered, *self.remarks, *([self.caveat] if self.caveat else [])]


def tell(found: ResultData, lang: Lang, n: int) -> Story:
    """Return what a customer may read of a result, with at most n other cases."""
    grammar = grammar_of(lang, "customer")
    check_whole("explain_text.n", n, 1, MOST_TOLD)
    wish, is_met = wish_of(found, grammar, "customer"), found.status == "already_met"
    decided = grammar.decided(wish, _now(found, wish, grammar), is_met=is_met)
    if is_met:
        margin = found.facts.margin  # 0 where near rows tell nothing
        edge = [grammar.edge(is_close=inside_by(found) < margin)] if margin > 0.0 else []
        return Story(decided, [], edge, "")
    cases = [_case(way, wish, grammar) for way in open_ways(found)[:n]]
    if not cases:
        return Story(decided, [], _nothing(found, wish, grammar), "")
    proved = _proved(found, [case.way for case in cases], grammar)
    return Story(decided, cases, [proved] if proved else [], grammar.caveat("customer"))


def open_ways(found: ResultData) -> list[Way[Any]]:
    """Return the ways that a customer may read of: of few changes, or else the one with fewest.

    A larger set, which `safe_first` may begin with, is none of them: part of it would do.
    """
    ways = [
        way
        for way in ways_of(found).safe_first()
        if way.minimality != "has a smaller way" and not changes_protected(way.representative)[0]
    ]
    few = [way for way in ways if len(way.features) <= FEW]
    return few or sorted(ways, key=lambda way: len(way.features))[:1]


def _now(found: ResultData, wish: Wish, grammar: Grammar) -> str:
    """Return what the model says of the row: a value, a share, or the likeliest of many classes."""
    if wish.aim == "value":
        return write_number(found.row_prediction, grammar.signs)
    if wish.aim == "probability":
        return _share(found.row_prediction, grammar)
    likeliest = int(np.argmax(found.facts.row_outputs))
    if len(found.facts.classes) < 3 or likeliest in found.target.wanted:
        return ""
    return class_text(found, found.facts.classes[likeliest], grammar)


def _share(share: float, grammar: Grammar) -> str:
    """Return a probability in percent, with a decimal where it is within one of either end."""
    is_middle = 0.01 <= share <= 0.99
    return write_share(round(share, 2) if is_middle else round(share, 5), grammar.signs)


def _case(way: Way[Any], wish: Wish, grammar: Grammar) -> Case:
    """Return a way as a sentence: with all its changes, or their names where they are many."""
    shown, changes = way.representative, changes_of_way(way, grammar)
    landed = landing(shown, 0, wish, grammar)
    if len(changes) > FEW:
        return Case(grammar.many(landed, [change.noun.word for change in changes]), changes, way)
    return Case(grammar.would(landed, changes), changes, way)


def _nothing(found: ResultData, wish: Wish, grammar: Grammar) -> list[str]:
    """Return that there is no other case, and how near one came where that is a number."""
    diagnosis = found.diagnosis
    is_limited = diagnosis is not None and diagnosis.limits_bind
    lines = [grammar.none(wish, is_limited=is_limited, is_proved=found.is_proved_empty)]
    advised = np.flatnonzero(~found.reaches & ~changes_protected(found))
    if wish.aim not in ("value", "probability") or not len(advised) or found.reaches.any():
        return lines
    best = advised[int(np.argmin(found.objectives[advised, GAP]))]
    at = float(found.predictions[best])
    is_share = wish.aim == "probability"
    text = write_share(at, grammar.signs) if is_share else write_number(at, grammar.signs)
    return [*lines, grammar.nearest(text)]


def _proved(found: ResultData, shown: Sequence[Way[Any]], grammar: Grammar) -> str:
    """Return what is proved of the cases that are told: that none is nearer, or of fewer changes.

    A way that is told with its whole range is told with its nearest case.
    """
    if found.proof is None:
        return ""
    reached = []
    for way in shown:
        changes = changes_of_way(way, grammar)
        is_whole = len(changes) == 1 and changes[0].ends is not None
        told = way.counterfactuals if is_whole else way.representative
        reached.append(float(told.objectives[:, 1].min()))
    fewest = min(len(way.features) for way in shown)
    is_fewest = found.proof.fewest.is_met_by(float(fewest))
    return grammar.proved(
        is_nearest=found.proof.nearest.is_met_by(min(reached)),
        fewest=fewest if is_fewest else 0,
    )


def names_of(case: Case) -> list[str]:
    """Return what differs in a case, by name."""
    return [change.noun.word for change in case.changes]


def row_lines(found: ResultData, lang: Lang) -> list[tuple[str, str]]:
    """Return the details of the row: what each feature is called, and its value with unit."""
    labels, lines = labels_of(found), []
    for feature, gene in zip(found.encoding.schema.features, found.genome.tolist(), strict=True):
        value, unit = labels.value(feature, gene, lang), labels.unit(feature, lang, gene)
        lines.append((labels.feature(feature.name, lang), f"{value} {unit}".strip()))
    return lines
