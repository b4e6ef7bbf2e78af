"""Text: a whole result in words, for a customer or an analyst."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from counterpoint.arrays import Ints
from counterpoint.evolution.search import check_whole
from counterpoint.result.choosing import orders
from counterpoint.result.choosing.subset import greatest_contribution
from counterpoint.result.wording.language import Grammar, Lang, Reader
from counterpoint.result.wording.sentences import (
    changes_of,
    changes_protected,
    grammar_of,
    said,
    wish_of,
)
from counterpoint.result.wording.values import written_number, written_scores

if TYPE_CHECKING:
    from counterpoint.result.counterfactuals import Counterfactuals

MOST_TOLD = 1000


def explain(found: Counterfactuals, lang: Lang, reader: Reader, n: int) -> str:
    """Return the result as text; see `Counterfactuals.explain_text`."""
    grammar = grammar_of(lang, reader)
    check_whole("n", n, 1, MOST_TOLD, owner="explain_text")
    tell = _tell_customer if reader == "customer" else _tell_analyst
    return "\n".join(tell(found, grammar, n))


def _tell_customer(found: Counterfactuals, grammar: Grammar, n: int) -> list[str]:
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


def _tell_analyst(found: Counterfactuals, grammar: Grammar, n: int) -> list[str]:
    """Return what an analyst reads: counts, sentences with numbers and measures, marks."""
    wish = wish_of(found.target, grammar.signs, "analyst")
    now = written_scores(found.row_prediction, found.row_prediction, grammar.signs)[0]
    lines = [grammar.heading(grammar.outcome(wish), now)]
    if found.status == "already_met":
        return [*lines, grammar.met()]
    pool = np.flatnonzero(orders.best_of(found)) if len(found) else np.arange(0)
    few = telling(found, pool, n)
    lines.append(grammar.counts(int(found.reaches.sum()), len(found), len(few)))
    if n_barred := int((found.reaches & changes_protected(found)).sum()):
        lines.append(grammar.protected(n_barred))
    for position in few:
        text = said(found, position, grammar, "analyst")
        lines.append(f"{position + 1}. {text} ({', '.join(measures_of(found, position, grammar))})")
    return [*lines, grammar.caveat("analyst")] if few else lines


def measures_of(found: Counterfactuals, position: int, grammar: Grammar) -> list[str]:
    """Return the objectives of one counterfactual in words, the gap only where there is one."""
    texts = []
    for m, name in enumerate(found.objective_names):
        value = float(found.objectives[position, m])
        if m == 0 and value <= 0.0:
            continue
        is_share = name in found.problem.observed.aims.shares
        text = grammar.signs.number(f"{value:.3f}") if is_share else ""
        texts.append(grammar.measured(name, text or written_number(value, grammar.signs)))
    return texts


def telling(found: Counterfactuals, pool: Ints, n: int) -> list[int]:
    """Return at most n positions of a pool that tell most, in the order they should be read.

    The closest, that with fewest changes, the most typical and the balanced one, without
    repetition; then those that add most hypervolume.
    """
    if len(pool) == 0:
        return []
    some = found.take(pool)
    ways = (orders.closest, orders.fewest, orders.plausible, orders.knee)
    first = [int(way(some)[0]) for way in ways]
    rest = greatest_contribution(some.objectives, n, some.problem.worst)
    chosen = dict.fromkeys([*first, *rest.tolist()])
    return [int(pool[i]) for i in list(chosen)[:n]]
