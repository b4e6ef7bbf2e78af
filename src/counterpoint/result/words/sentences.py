"""Sentences: a candidate, a way or a whole result in words, in the caller's labels.

What a customer reads says nothing of other people or of the method: no observed row, no row number,
no probability of a class that was not asked for, no way through a protected feature nor how many
there are.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple, get_args

import numpy as np

from counterpoint.arrays import MISSING, Bools
from counterpoint.checks import check_choice, check_whole
from counterpoint.errors import joined
from counterpoint.problem.objectives import GAP
from counterpoint.problem.target import safety_margins
from counterpoint.result.data import ResultData
from counterpoint.result.ways import Result, Way, ways_of
from counterpoint.result.words import (
    Lang,
    Reader,
    answer_text,
    cost_of,
    count_candidates,
    counted,
    observed_hint,
    say,
    spoken_now,
    started,
)
from counterpoint.result.words.grammars import (
    ENGLISH,
    GERMAN,
    Aim,
    Change,
    ChangeKind,
    Grammar,
    Wish,
)
from counterpoint.search.front import greatest_contribution
from counterpoint.table.features import Feature, Kind
from counterpoint.table.labels import SIGNS, Labels
from counterpoint.table.values import EXACT, write_number, write_numbers, write_share

GRAMMARS: dict[str, Grammar] = {"en": ENGLISH, "de": GERMAN}


def said(
    found: ResultData, position: int, grammar: Grammar, marks: tuple[str, str] = ("", "")
) -> str:
    """Return one candidate in a sentence for analysts, with marks around the names of features."""
    changes = [change.marked(marks) for change in changes_of(found, position, grammar)]
    outcome = grammar.outcome(wish_of(found, grammar, "analyst"))
    start = started(outcome) if found.reaches[position] else grammar.phrase("missed", outcome)
    now, then = found.row_prediction, float(found.predictions[position])
    shift = " \N{RIGHTWARDS ARROW} ".join(write_numbers(now, then, grammar.signs))
    text = grammar.reached(f"{start} ({shift})", changes)
    return f"{text}{protected_mark(found, position, grammar)}."


def grammar_of(lang: str, reader: str = "analyst") -> Grammar:
    """Return the language of that code; refuse others, and other readers."""
    check_choice("reader", reader, get_args(Reader))
    return GRAMMARS[check_choice("lang", lang, tuple(GRAMMARS))]


def changes_of(found: ResultData, position: int, grammar: Grammar) -> list[Change]:
    """Return the changed features of one counterfactual in words, in the order of the table."""
    features, labels = found.encoding.schema.features, found.labels
    genome, row = found.genomes[position], found.genome
    return [
        _change(features[j], float(genome[j]), float(row[j]), labels, grammar)
        for j in np.flatnonzero(genome != row)
    ]


def _change(feature: Feature, new: float, old: float, labels: Labels, grammar: Grammar) -> Change:
    """Return the change of a feature from one value to another in words."""
    lang = grammar.lang
    texts = labels.pair(feature, new, old, lang, quoted=True)
    kind: ChangeKind = "level"
    if feature.is_numeric:
        kind = "date" if feature.kind is Kind.DATE else "number"
    return Change(
        labels.noun(feature.name, lang),
        "" if new == MISSING else texts[0],
        "" if old == MISSING else texts[1],
        "" if new == MISSING else labels.unit(feature, lang, new),
        "" if old == MISSING else labels.unit(feature, lang, old),
        kind,
        is_named=labels.has_feature(feature.name, lang),
    )


MOST_LEVELS = 4  # named one by one; of more, the one to show


def changes_of_way(way: Way[Any], grammar: Grammar) -> list[Change]:
    """Return what changes by a way, in words: of a single feature all values that work.

    "At most", "at least" and "between" are said only if every value in between was asked; else the
    values to show are named.
    """
    shown = way.representative
    changes = changes_of(shown, 0, grammar)
    if len(way.features) > 1:
        return changes
    j = shown.encoding.schema.names.index(way.features[0])
    feature, own, seen = shown.encoding.schema.features[j], float(shown.genome[j]), way.genes[0]
    labels = shown.labels
    if not feature.is_numeric:
        if 1 < len(seen) <= MOST_LEVELS and MISSING not in seen:
            texts = [labels.value(feature, gene, grammar.lang, quoted=True) for gene in seen]
            changes[0] = changes[0]._replace(new=joined(texts, grammar.either))
        return changes
    low, high = float(seen[0]), float(seen[-1])
    if not way.is_whole or len(seen) == 1 or low <= own <= high or own == MISSING:
        return changes
    is_open = np.array([low, high]) == _range_of(shown, j)
    texts = [labels.pair(feature, end, own, grammar.lang)[0] for end in (low, high)]
    ends = ["" if at_end else text for at_end, text in zip(is_open, texts, strict=True)]
    if not any(ends):  # all values but the row's own
        return changes
    unit = labels.unit(feature, grammar.lang)
    return [changes[0]._replace(ends=(ends[0], ends[1]), new_unit=unit)]


def _range_of(found: ResultData, j: int) -> tuple[float, float]:
    """Return the least and the largest value that feature j could take."""
    limits, feature = found.facts.limits, found.encoding.schema.features[j]
    if not np.isnan(limits.low[j]):
        return float(limits.low[j]), float(limits.high[j])
    own = float(found.genome[j])
    return min(feature.low, own), max(feature.high, own)


def wish_of(found: ResultData, grammar: Grammar, reader: Reader) -> Wish:
    """Return a target in words; customers read probabilities in percent."""
    target, signs = found.target, grammar.signs
    name = "" if target.label is None else class_text(found, target.label, grammar)
    subject = found.labels.outcome(grammar.lang)
    if target.is_complement:
        return Wish("other class", name, "", "", subject, _predicate(found, target.label, grammar))
    if target.is_decision:
        texts = [class_text(found, each, grammar) for each in target.labels]
        is_one = len(target.labels) == 1
        predicate = _predicate(found, target.labels[0], grammar) if is_one else ""
        return Wish("class", joined(texts, grammar.either), "", "", subject, predicate)
    aim: Aim = "value" if target.label is None else "probability"
    ends = low, high = target.low, target.high
    if target.label is not None and (low > 0.0 or high < 1.0):  # what none can pass is open
        ends = low if low > 0.0 else -np.inf, high if high < 1.0 else np.inf
    texts = [
        ""
        if np.isinf(end)
        else write_share(end, signs)
        if aim == "probability" and reader == "customer"
        else write_number(end, signs, EXACT)
        for end in ends
    ]
    return Wish(aim, name, texts[0], texts[1], subject)


def class_text(found: ResultData, label: Hashable, grammar: Grammar) -> str:
    """Return what a class is called, in quotes if it is a text."""
    text = found.labels.class_(label, grammar.lang)
    is_text = isinstance(label, str) or found.labels.class_label(label, grammar.lang)
    return grammar.signs.quoted(text) if is_text else text


def _predicate(found: ResultData, label: Hashable, grammar: Grammar) -> str:
    """Return the label of a class if it may follow "the application was"; else nothing."""
    text = found.labels.class_label(label, grammar.lang)
    subject = found.labels.outcome(grammar.lang)
    return text if text and subject and text[0].islower() else ""


def landing(found: ResultData, wish: Wish, grammar: Grammar) -> Wish:
    """Return where a result's first counterfactual lands: its class where several would do."""
    if wish.aim in ("value", "probability") or not found.facts.classes:
        return wish
    label = found.facts.classes[int(found.codes[0])]
    return wish._replace(
        aim="class",
        label=class_text(found, label, grammar),
        predicate=_predicate(found, label, grammar),
    )


def protected_mark(found: ResultData, position: int, grammar: Grammar) -> str:
    """Return the mark of a candidate with the protected features it changes; empty if none."""
    pairs = zip(found.encoding.schema.features, found.changed[position], strict=True)
    names = [
        found.labels.feature(feature.name, grammar.lang)
        for feature, changed in pairs
        if changed and feature.is_protected
    ]
    marked = grammar.phrase("marked", ", ".join(names))
    return f" [{marked}]" if names else ""


def changes_protected(found: ResultData) -> Bools:
    """Return which counterfactuals change a protected feature, shape (n,)."""
    is_protected = [feature.is_protected for feature in found.encoding.schema.features]
    return np.asarray((found.changed & is_protected).any(axis=1))


def protected_headline(found: ResultData, lang: Lang = "en") -> str:
    """Say to which protected features the decision responds; empty if to none.

    It responds to a feature that is part of a way: of features that reach the target, while no part
    of them was found to.
    """
    schema, labels = found.encoding.schema, found.labels
    protected = {feature.name for feature in schema.features if feature.is_protected}
    if not protected or not found.reaches.any():
        return ""
    sets = [way.features for way in ways_of(found)]
    alone = {names[0] for names in sets if len(names) == 1} & protected
    together = {name for names in sets if len(names) > 1 for name in names} & protected - alone
    if not alone and not together:
        return ""
    ordered = [
        [labels.feature(name, lang) for name in schema.names if name in part]
        for part in (alone, together)
    ]
    return GRAMMARS[lang].responds(*ordered)


MOST_TOLD = 1000


def explain(found: ResultData, lang: Lang, n: int) -> str:
    """Return the result as text for an analyst: counts, sentences with numbers, measures, marks."""
    grammar = grammar_of(lang)
    check_whole("explain_text.n", n, 1, MOST_TOLD)
    wish = wish_of(found, grammar, "analyst")
    now = write_number(found.row_prediction, grammar.signs)
    lines = [grammar.phrase("heading", grammar.outcome(wish), now)]
    if found.status == "already_met":
        return "\n".join([*lines, grammar.met(*edge_texts(found, grammar))])
    few = shown_first(found, n)
    n_shown = len(few.genomes)
    lines.append(grammar.counts(int(found.reaches.sum()), int((~found.reaches).sum()), n_shown))
    if headline := protected_headline(found, grammar.lang):
        lines.append(headline)
    for k in range(n_shown):
        text = said(few, k, grammar)
        lines.append(f"{k + 1}. {text} ({', '.join(measures_of(few, k, grammar))})")
    return "\n".join([*lines, grammar.phrase("caveat.analyst")] if n_shown else lines)


def inside_by(found: ResultData) -> float:
    """Return how far inside the target the row's own score is; below 0 outside."""
    return float(safety_margins(found.target, np.array([found.row_score]))[0])


def edge_texts(found: ResultData, grammar: Grammar) -> tuple[str, str]:
    """Return how far inside the target the row is, and how far near rows are apart.

    The first is empty where the target has no edge.
    """
    inside, margin = max(inside_by(found), 0.0), write_number(found.facts.margin, grammar.signs)
    return write_number(inside, grammar.signs) if inside < np.inf else "", margin


def measures_of(found: ResultData, position: int, grammar: Grammar) -> list[str]:
    """Return the objectives of one counterfactual in words, the gap only where there is one."""
    texts = []
    for m, name in enumerate(found.objective_names):
        value = float(found.objectives[position, m])
        if m == 0 and value <= 0.0:
            continue
        texts.append(grammar.measured(name, write_number(value, grammar.signs)))
    return texts


def shown_first(found: Result, n: int) -> Result:
    """Return what is shown first: one counterfactual of each of n ways, else a few near misses."""
    if found.reaches.any():
        shown: Result = ways_of(found).first_read().representatives
        return shown.take(np.arange(min(n, len(shown.genomes))))
    return found.take(greatest_contribution(found.objectives, n, found.facts.worst))


def way_sentence(way: Way[Any], marks: tuple[str, str] = ("", ""), lang: Lang = "en") -> str:
    """Return the sentence of a way, with marks around the names of features."""
    grammar = GRAMMARS[lang]
    changes = [change.marked(marks) for change in changes_of_way(way, grammar)]
    outcome = grammar.outcome(wish_of(way.representative, grammar, "analyst"))
    return f"{grammar.reached(outcome, changes)}{protected_mark(way.representative, 0, grammar)}."


FEW = 4  # the most changes a sentence names one by one


class Case(NamedTuple):
    """Another case in which the result would have been as wanted."""

    text: str  # its sentence
    changes: list[Change]  # what differs
    way: Way[Any]  # what it is one of


class Story(NamedTuple):
    """What a customer reads."""

    decided: str  # what was decided
    cases: list[Case]  # the other cases, the safest first
    remarks: list[str]  # what is proved, why there are no cases, or how close the edge is
    caveat: str  # what it is not; empty where there are no other cases

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
        edge = grammar.phrase("close" if inside_by(found) < margin else "not close")
        return Story(decided, [], [edge] if margin > 0.0 else [], "")
    cases = [_case(way, wish, grammar) for way in open_ways(found)[:n]]
    if not cases:
        return Story(decided, [], _nothing(found, wish, grammar), "")
    proved = _proved(found, [case.way for case in cases], grammar)
    return Story(decided, cases, [proved] if proved else [], grammar.phrase("caveat.customer"))


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
    if wish.aim in ("value", "probability"):
        is_share = wish.aim == "probability"
        return answer_text(found, found.row_prediction, grammar.signs, is_share=is_share)
    likeliest = int(np.argmax(found.facts.row_outputs))
    if len(found.facts.classes) < 3 or likeliest in found.target.wanted:
        return ""
    return class_text(found, found.facts.classes[likeliest], grammar)


def _case(way: Way[Any], wish: Wish, grammar: Grammar) -> Case:
    """Return a way as a sentence: with all its changes, or their names where they are many."""
    shown, changes = way.representative, changes_of_way(way, grammar)
    landed = landing(shown, wish, grammar)
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
    text = answer_text(found, at, grammar.signs, is_share=wish.aim == "probability")
    return [*lines, grammar.phrase("nearest", text)]


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


def message(found: ResultData) -> str:
    """Return one sentence: how many were found, or how close the search came.

    It is in the language that `speaking` sets.
    """
    signs = SIGNS[spoken_now()]
    about = {"target": target_text(found), "now": write_number(found.row_prediction, signs)}
    if found.status == "already_met":
        inside, margin = edge_texts(found, GRAMMARS[spoken_now()])
        moves = say("message.moves", margin=margin) if found.facts.margin else ""
        text = "message.met" if inside else "message.met sure"
        return say(text, **about, inside=inside, moves=moves)
    asked, none = cost_of(found), "message.none proved" if found.is_proved_empty else "message.none"
    n, n_missed = int(found.reaches.sum()), int((~found.reaches).sum())
    if n:
        fewest = int(found.changed[found.reaches].sum(axis=1).min())
        more = {
            "count": counted(n, "counterfactual"),
            "reach": say("message.reach.one" if n == 1 else "message.reach.many"),
            "fewest": fewest,
            "changes": say("message.change.one" if fewest == 1 else "message.change.many"),
            "missed": f"; {count_candidates(0, n_missed)}" if n_missed else "",
        }
        return say("message.some", **about, **more, asked=asked)
    if (found.trace.objectives[:, GAP] == 0.0).any():
        return say("message.filtered", **about)
    if n_missed == 0:
        return f"{say(none, **about)}; {asked}; {observed_hint(found)}"
    best, gaps = int(np.argmin(found.objectives[:, GAP])), found.objectives[:, GAP]
    at, gap = (write_number(each[best], signs) for each in (found.predictions, gaps))
    near = say("message.nearest", misses=count_candidates(0, n_missed), at=at, gap=gap)
    return f"{say(none, **about)}: {near}; {asked}; {observed_hint(found)}"


def target_text(found: ResultData) -> str:
    """Return the target for analysts; in English without labels as it prints itself."""
    if (lang := spoken_now()) == "en" and not found.labels:
        return str(found.target)
    grammar = GRAMMARS[lang]
    return grammar.outcome(wish_of(found, grammar, "analyst"))
