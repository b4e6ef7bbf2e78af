"""Sentences: one counterfactual, or a whole result, in words for a customer or an analyst."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from counterpoint.arrays import MISSING, Bools, Ints
from counterpoint.checks import check_whole
from counterpoint.errors import InvalidInput, listed
from counterpoint.problem.target import Target
from counterpoint.result.choosing import orders
from counterpoint.result.choosing.subset import greatest_contribution
from counterpoint.result.data import ResultData
from counterpoint.result.words.english import ENGLISH
from counterpoint.result.words.german import GERMAN
from counterpoint.result.words.language import Aim, Change, Grammar, Lang, Reader, Wish
from counterpoint.table.features import Feature
from counterpoint.table.values import (
    EXACT,
    Signs,
    write_level,
    write_number,
    write_numbers,
    write_pair,
    write_share,
)

GRAMMARS: dict[str, Grammar] = {"en": ENGLISH, "de": GERMAN}
READERS = ("customer", "analyst")


def sentence(
    found: ResultData, position: int, lang: Lang = "en", reader: Reader = "analyst"
) -> str:
    """Return one counterfactual in a sentence.

    Parameters
    ----------
    found : ResultData
        The result.
    position : int
        Which of its counterfactuals.
    lang : {"en", "de"}, default="en"
        The language. Names, classes and levels stay as they are.
    reader : {"customer", "analyst"}, default="analyst"
        An analyst also sees the predictions, and protected features marked.

    Returns
    -------
    str
        Plain text, not escaped for HTML.
    """
    return said(found, position, grammar_of(lang, reader), reader)


def said(
    found: ResultData,
    position: int,
    grammar: Grammar,
    reader: Reader,
    marks: tuple[str, str] = ("", ""),
) -> str:
    """Return the sentence of a counterfactual, with marks around the names of features."""
    changes = [
        change._replace(name=f"{marks[0]}{change.name}{marks[1]}")
        for change in changes_of(found, position, grammar.signs)
    ]
    is_met = bool(found.reaches[position])
    wish = wish_of(found.target, grammar.signs, reader)
    if reader == "customer":
        return grammar.would(wish, changes, is_met=is_met)
    before, after = write_numbers(
        found.row_prediction, float(found.predictions[position]), grammar.signs
    )
    text = grammar.shift(grammar.outcome(wish), before, after, changes, is_met=is_met)
    names = protected_changes(found, position)
    return f"{text} [{grammar.marked(names)}]." if names else f"{text}."


def grammar_of(lang: str, reader: str = "analyst") -> Grammar:
    """Return the language of that code; refuse others, and other readers."""
    if lang not in GRAMMARS:
        raise InvalidInput(f"lang must be {_or(tuple(GRAMMARS))}, got {lang!r}.")
    if reader not in READERS:
        raise InvalidInput(f"reader must be {_or(READERS)}, got {reader!r}.")
    return GRAMMARS[lang]


def _or(options: tuple[str, ...]) -> str:
    """Return the options as a choice."""
    return listed(options).replace(" and ", " or ")


def changes_of(found: ResultData, position: int, signs: Signs) -> list[Change]:
    """Return the changed features of one counterfactual in words, in the order of the table."""
    features = found.encoding.schema.features
    genome, row = found.genomes[position], found.genome
    changes = []
    for j in np.flatnonzero(genome != row):
        new, old = write_pair(features[j], float(genome[j]), float(row[j]), signs)
        unit = f" {features[j].unit}" if features[j].unit else ""
        if row[j] == MISSING:
            new += unit
        else:
            old += unit
        changes.append(Change(spoken(features[j].name), new, old))
    return changes


def spoken(name: Hashable) -> str:
    """Return a feature's name as one says it.

    Examples
    --------
    >>> spoken("credit_amount"), spoken("radio/TV"), spoken(3)
    ('credit amount', 'radio/TV', '3')
    """
    text = str(name)
    return text.replace("_", " ").strip() or text


def wish_of(target: Target, signs: Signs, reader: Reader) -> Wish:
    """Return a target in words; customers read probabilities in percent."""
    label = "" if target.label is None else write_level(target.label, signs)
    if target.is_decision:
        return Wish("other class" if target.is_complement else "class", label, "", "")
    aim: Aim = "value" if target.label is None else "probability"
    low, high = target.low, target.high
    if aim == "probability" and (low > 0.0 or high < 1.0):  # ends nobody can pass say nothing
        low, high = (low if low > 0.0 else -np.inf), (high if high < 1.0 else np.inf)
    texts = [
        ""
        if np.isinf(end)
        else write_share(end, signs)
        if aim == "probability" and reader == "customer"
        else write_number(end, signs, EXACT)
        for end in (low, high)
    ]
    return Wish(aim, label, *texts)


def protected_changes(found: ResultData, position: int) -> list[str]:
    """Return the names of the protected features one counterfactual changes."""
    changed = found.changed[position]
    return [spoken(f.name) for j, f in enumerate(_features(found)) if changed[j] and f.is_protected]


def changes_protected(found: ResultData) -> Bools:
    """Return which counterfactuals change a protected feature, shape (n,)."""
    is_protected = np.array([feature.is_protected for feature in _features(found)])
    return np.asarray((found.changed & is_protected).any(axis=1))


def _features(found: ResultData) -> tuple[Feature, ...]:
    """Return the features of a result."""
    return found.encoding.schema.features


MOST_TOLD = 1000


def explain(found: ResultData, lang: Lang, reader: Reader, n: int) -> str:
    """Return the result as text; see `Counterfactuals.explain_text`."""
    grammar = grammar_of(lang, reader)
    check_whole("explain_text.n", n, 1, MOST_TOLD)
    tell = _tell_customer if reader == "customer" else _tell_analyst
    return "\n".join(tell(found, grammar, n))


def _tell_customer(found: ResultData, grammar: Grammar, n: int) -> list[str]:
    """Return what a customer may read: what the model decides, and what it would decide when."""
    wish = wish_of(found.target, grammar.signs, "customer")
    is_met = found.status == "already_met"
    lines = [grammar.now(wish, is_met=is_met)]
    if is_met:
        return lines
    is_barred = changes_protected(found)
    allowed = np.flatnonzero(found.reaches & ~is_barred)
    n_barred = int((found.reaches & is_barred).sum())
    if len(allowed) == 0 and n_barred:
        return [*lines, grammar.all_left_out(n_barred)]
    if len(allowed) == 0:
        return [*lines, grammar.none(is_limited=found.status == "infeasible")]
    few = telling(found, allowed, n)
    lines.append(grammar.offer(wish, len(few)))
    lines += [
        f"{k}. {grammar.condition(changes_of(found, position, grammar.signs))}"
        for k, position in enumerate(few, 1)
    ]
    if n_barred:
        lines.append(grammar.left_out(n_barred))
    return [*lines, grammar.caveat("customer")]


def _tell_analyst(found: ResultData, grammar: Grammar, n: int) -> list[str]:
    """Return what an analyst reads: counts, sentences with numbers and measures, marks."""
    wish = wish_of(found.target, grammar.signs, "analyst")
    now = write_number(found.row_prediction, grammar.signs)
    lines = [grammar.heading(grammar.outcome(wish), now)]
    if found.status == "already_met":
        return [*lines, grammar.met()]
    few = telling(found, np.flatnonzero(orders.best_of(found)), n)
    lines.append(grammar.counts(int(found.reaches.sum()), int((~found.reaches).sum()), len(few)))
    if n_barred := int((found.reaches & changes_protected(found)).sum()):
        lines.append(grammar.protected(n_barred))
    for position in few:
        text = said(found, position, grammar, "analyst")
        lines.append(f"{position + 1}. {text} ({', '.join(measures_of(found, position, grammar))})")
    return [*lines, grammar.caveat("analyst")] if few else lines


def measures_of(found: ResultData, position: int, grammar: Grammar) -> list[str]:
    """Return the objectives of one counterfactual in words, the gap only where there is one."""
    texts = []
    for m, name in enumerate(found.objective_names):
        value = float(found.objectives[position, m])
        if m == 0 and value <= 0.0:
            continue
        texts.append(grammar.measured(name, write_number(value, grammar.signs)))
    return texts


def telling(found: ResultData, pool: Ints, n: int) -> list[int]:
    """Return at most n positions of a pool that tell most, in the order they should be read.

    The closest, that with fewest changes, the most typical and the balanced one, without
    repetition; then those that add most hypervolume.
    """
    if len(pool) == 0:
        return []
    some = found.take(pool)
    ways = (orders.closest, orders.fewest, orders.plausible, orders.knee)
    first = [int(way(some)[0]) for way in ways]
    rest = greatest_contribution(some.objectives, n, some.facts.worst)
    chosen = dict.fromkeys([*first, *rest.tolist()])
    return [int(pool[i]) for i in list(chosen)[:n]]
