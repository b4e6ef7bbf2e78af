"""Sentences: a candidate or a whole result in words, in one sentence, or printed as a table."""

from __future__ import annotations

from collections.abc import Hashable
from html import escape
from typing import Any, get_args

import numpy as np
import pandas as pd

from counterpoint.arrays import MISSING, Bools
from counterpoint.checks import check_choice, check_whole
from counterpoint.problem.objectives import GAP
from counterpoint.problem.target import Target
from counterpoint.result.choosing.subset import greatest_contribution
from counterpoint.result.data import ResultData
from counterpoint.result.ways import Result, Way, ways_of
from counterpoint.result.words.language import (
    ENGLISH,
    GERMAN,
    Aim,
    Change,
    Grammar,
    Lang,
    Reader,
    Wish,
    count_candidates,
    joined,
)
from counterpoint.table.features import Feature
from counterpoint.table.values import (
    EXACT,
    Signs,
    counted,
    write_level,
    write_number,
    write_numbers,
    write_pair,
    write_share,
)

GRAMMARS: dict[str, Grammar] = {"en": ENGLISH, "de": GERMAN}


def sentence(
    found: ResultData, position: int, lang: Lang = "en", reader: Reader = "analyst"
) -> str:
    """Return one counterfactual in a sentence: plain text, not escaped for HTML.

    An analyst also sees the predictions, and protected features marked.
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
    wish = wish_of(found.target, grammar, reader)
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
    check_choice("reader", reader, get_args(Reader))
    return GRAMMARS[check_choice("lang", lang, tuple(GRAMMARS))]


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


MOST_LEVELS = 4  # named one by one; of more, the one to show


def changes_of_way(way: Way[Any], grammar: Grammar) -> list[Change]:
    """Return what changes by a way, in words: of a single feature all values that work.

    "At most", "at least" and "between" are said only if every value in between was asked; else the
    values to show are named.
    """
    shown = way.representative
    changes = changes_of(shown, 0, grammar.signs)
    if len(way.features) > 1:
        return changes
    j = shown.encoding.schema.names.index(way.features[0])
    feature, own, seen = shown.encoding.schema.features[j], float(shown.genome[j]), way.genes[0]
    if not feature.is_numeric:
        if 1 < len(seen) <= MOST_LEVELS and MISSING not in seen:
            texts = [write_pair(feature, float(gene), own, grammar.signs)[0] for gene in seen]
            changes[0] = changes[0]._replace(new=joined(texts, grammar.either))
        return changes
    low, high = float(seen[0]), float(seen[-1])
    if not way.is_whole or len(seen) == 1 or low <= own <= high or own == MISSING:
        return changes
    is_open = np.array([low, high]) == _range_of(shown, j)
    texts = [write_pair(feature, end, own, grammar.signs)[0] for end in (low, high)]
    ends = ["" if at_end else text for at_end, text in zip(is_open, texts, strict=True)]
    return [changes[0]._replace(new=grammar.within(Wish("value", "", *ends)))]


def _range_of(found: ResultData, j: int) -> tuple[float, float]:
    """Return the least and the largest value that feature j could take."""
    limits, feature = found.facts.limits, found.encoding.schema.features[j]
    if not np.isnan(limits.low[j]):
        return float(limits.low[j]), float(limits.high[j])
    own = float(found.genome[j])
    return min(feature.low, own), max(feature.high, own)


def spoken(name: Hashable) -> str:
    """Return a feature's name as one says it.

    Examples
    --------
    >>> spoken("credit_amount"), spoken("radio/TV"), spoken(3)
    ('credit amount', 'radio/TV', '3')
    """
    text = str(name)
    return text.replace("_", " ").strip() or text


def wish_of(target: Target, grammar: Grammar, reader: Reader) -> Wish:
    """Return a target in words; customers read probabilities in percent."""
    signs = grammar.signs
    label = "" if target.label is None else write_level(target.label, signs)
    if target.is_complement:
        return Wish("other class", label, "", "")
    if target.is_decision:
        labels = [write_level(each, signs) for each in target.labels]
        return Wish("class", joined(labels, grammar.either), "", "")
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
    pairs = zip(found.encoding.schema.features, found.changed[position], strict=True)
    return [spoken(feature.name) for feature, changed in pairs if changed and feature.is_protected]


def changes_protected(found: ResultData) -> Bools:
    """Return which counterfactuals change a protected feature, shape (n,)."""
    is_protected = [feature.is_protected for feature in found.encoding.schema.features]
    return np.asarray((found.changed & is_protected).any(axis=1))


MOST_TOLD = 1000


def explain(found: ResultData, lang: Lang, reader: Reader, n: int) -> str:
    """Return the result as text; see `Counterfactuals.explain_text`."""
    grammar = grammar_of(lang, reader)
    check_whole("explain_text.n", n, 1, MOST_TOLD)
    tell = _tell_customer if reader == "customer" else _tell_analyst
    return "\n".join(tell(found, grammar, n))


def _tell_customer(found: ResultData, grammar: Grammar, n: int) -> list[str]:
    """Return what a customer may read: what the model decides, and what it would decide when."""
    wish = wish_of(found.target, grammar, "customer")
    is_met = found.status == "already_met"
    lines = [grammar.now(wish, is_met=is_met)]
    if is_met:
        return lines
    is_barred = changes_protected(found)
    n_barred = int((found.reaches & is_barred).sum())
    ways = ways_of(found).safe_first()
    few = [way for way in ways if not changes_protected(way.representative)[0]][:n]
    if not few and n_barred:
        return [*lines, grammar.all_left_out(n_barred)]
    if not few:
        return [*lines, grammar.none(is_limited=bool((own := found.diagnosis) and own.limits_bind))]
    lines.append(grammar.offer(wish, len(few)))
    lines += [
        f"{k}. {grammar.condition(changes_of_way(way, grammar))}" for k, way in enumerate(few, 1)
    ]
    if n_barred:
        lines.append(grammar.left_out(n_barred))
    return [*lines, grammar.caveat("customer")]


def _tell_analyst(found: ResultData, grammar: Grammar, n: int) -> list[str]:
    """Return what an analyst reads: counts, sentences with numbers and measures, marks."""
    wish = wish_of(found.target, grammar, "analyst")
    now = write_number(found.row_prediction, grammar.signs)
    lines = [grammar.heading(grammar.outcome(wish), now)]
    if found.status == "already_met":
        return [*lines, grammar.met()]
    few = shown_first(found, n)
    n_shown = len(few.genomes)
    lines.append(grammar.counts(int(found.reaches.sum()), int((~found.reaches).sum()), n_shown))
    if n_barred := int((found.reaches & changes_protected(found)).sum()):
        lines.append(grammar.protected(n_barred))
    for k in range(n_shown):
        text = said(few, k, grammar, "analyst")
        lines.append(f"{k + 1}. {text} ({', '.join(measures_of(few, k, grammar))})")
    return [*lines, grammar.caveat("analyst")] if n_shown else lines


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
        shown: Result = ways_of(found).safe_first().representatives
        return shown.take(np.arange(min(n, len(shown.genomes))))
    return found.take(greatest_contribution(found.objectives, n, found.facts.worst))


ENDED = {
    "seconds": "; the time ran out, so this is the best so far",
    "interrupt": "; the search was interrupted, so this is the best so far",
    "exhausted": "; all that is allowed was tried",
    "repeats": "; nothing new was made any more, though not all that is allowed was tried",
}


def message(found: ResultData) -> str:
    """Return one sentence: how many were found, or how close the search came."""
    target, now = found.target, write_number(found.row_prediction)
    if found.status == "already_met":
        return f"the row already reaches {target}: its prediction is {now}."
    asked = counted(found.evaluations, "model evaluation") + ENDED.get(found.stopped, "")
    if found.proof is not None:
        asked += f"; {found.proof.of_all(*found.objectives[found.reaches, 1:3].T)}"
    verb = "reaches" if found.is_proved_empty else "was found for"
    none = f"no counterfactual {verb} {target} (now {now})"
    n, n_missed = int(found.reaches.sum()), int((~found.reaches).sum())
    if n:
        fewest = int(found.changed[found.reaches].sum(axis=1).min())
        missed = f"; {count_candidates(0, n_missed)}" if n_missed else ""
        return (
            f"{counted(n, 'counterfactual')} {'reaches' if n == 1 else 'reach'} {target} "
            f"(now {now}) with {fewest} or more changes{missed}; {asked}."
        )
    if (found.trace.objectives[:, GAP] == 0.0).any():
        return (
            f"none of the counterfactuals that were found for {target} (now {now}) is left; ask "
            "for less of them, or look at the result before it was filtered."
        )
    if n_missed == 0:
        return f"{none}; {asked}; {observed_hint(found)}"
    best = int(np.argmin(found.objectives[:, GAP]))
    at, gap = (write_number(each[best]) for each in (found.predictions, found.objectives[:, GAP]))
    near = f"the closest of {count_candidates(0, n_missed)} is at {at}, a gap of {gap}"
    return f"{none}: {near}; {asked}; {observed_hint(found)}"


def observed_hint(found: ResultData) -> str:
    """Say whether any observed row has the wanted prediction, and what to try."""
    if (known := found.diagnosis) is None:
        return ""
    if known.nearest is not None:
        return (
            f"no observed row reaches it either (the nearest is at {write_number(known.nearest)}): "
            "ask for a target the model does give."
        )
    does, them = ("does", "it") if known.n_reaching == 1 else ("do", "all of them")
    reach = f"{counted(known.n_reaching, 'observed row')} {does} reach it"
    if known.limits_bind:
        what = "limits and rules" if found.constraints else "limits"
        return f"{reach}, but the {what} exclude {them}: {known.relaxation}."
    return f"{reach}." if found.stopped in ENDED else f"{reach}: give the search more evaluations."


def own_cells(found: ResultData) -> pd.DataFrame:
    """Return the row by feature: as it was given, if that was by feature."""
    encoding = found.encoding
    if isinstance(found.row, pd.DataFrame) and not encoding.schema.has_groups:
        return found.row
    return encoding.by_feature(found.genome[None].copy())


SHOWN = 5
MOST_CELLS = 12  # of the row, in a line
OPEN, CLOSE = "\ue000", "\ue001"  # of private use: they survive escaping and become tags
STYLE = "border-collapse:collapse;font-variant-numeric:tabular-nums;text-align:right;margin:.5em 0"


def summary(found: ResultData, n: int = SHOWN) -> str:
    """Return the message, the row, sentences on a few ways, else near misses, and a table."""
    lines, few = headlines(found), shown_first(found, n)
    if len(few.genomes) == 0:
        return "\n".join(lines)
    width = len(str(len(few.genomes)))
    lines += ["", f"The row: {row_line(found)}.", ""]
    lines += [f"{k:>{width}}. {text}" for k, text in enumerate(told(found, few, ("*", "*")), 1)]
    lines += ["", str(changes_frame(few).to_string()), *more_lines(found, len(few.genomes))]
    return "\n".join(lines)


def told(found: ResultData, few: ResultData, marks: tuple[str, str]) -> list[str]:
    """Return a sentence on each of the ways that are shown, or on each near miss."""
    if found.reaches.any():
        ways = ways_of(found).safe_first()[: len(few.genomes)]
        return [way_sentence(way, marks) for way in ways]
    return [said(few, k, ENGLISH, "analyst", marks) for k in range(len(few.genomes))]


def way_sentence(way: Way[Any], marks: tuple[str, str] = ("", "")) -> str:
    """Return the sentence of a way, with marks around the names of features."""
    plain = changes_of_way(way, ENGLISH)
    changes = [each._replace(name=f"{marks[0]}{each.name}{marks[1]}") for each in plain]
    outcome = ENGLISH.outcome(wish_of(way.representative.target, ENGLISH, "analyst"))
    names = protected_changes(way.representative, 0)
    marked = f" [{ENGLISH.marked(names)}]" if names else ""
    return f"{ENGLISH.reached(outcome, changes)}{marked}."


def more_lines(found: ResultData, n_shown: int) -> list[str]:
    """Say what is not shown, and where it is."""
    n, n_missed, n_ways = len(found), int((~found.reaches).sum()), len(ways_of(found))
    lines = [f"{counted(n_ways - n_shown, 'more way')} in ways()."] if n_ways > n_shown else []
    if n > n_shown:
        lines.append(f"{counted(n, 'counterfactual')} in to_frame().")
    if hidden := n_missed if n else n_missed - n_shown:
        lines.append(f"{count_candidates(0, hidden)} in to_frame(near_misses=True).")
    return lines


def headlines(found: ResultData) -> list[str]:
    """Return what was found, under which rules, and what else is to be known."""
    text = message(found)
    lines = [text[0].upper() + text[1:]]
    if found.constraints:
        lines.append(f"Rules: {'; '.join(found.constraints)}.")
    lines += [f"Note: {note}" for note in found.notes]
    if aims := str(found.facts.aims):
        lines.append(f"Minimised: {aims}.")
    return lines


def row_line(found: ResultData) -> str:
    """Return the row's values in a line, with their names and units."""
    features = found.encoding.schema.features
    cells = [
        f"{spoken(f.name)} {f.shown(gene)} {f.unit * (gene != MISSING)}".rstrip()
        for f, gene in zip(features[:MOST_CELLS], found.genome.tolist(), strict=False)
    ]
    more = len(features) - MOST_CELLS
    return ", ".join(cells) + (f" and {more} more features" if more > 0 else "")


def changes_frame(found: ResultData) -> pd.DataFrame:
    """Return texts: the row first, then only the changed cells of the candidates, from 1.

    Units stand with the names.
    """
    genomes, row, is_changed = found.genomes, found.genome, found.changed
    features = found.encoding.schema.features
    texts: dict[object, list[str]] = {}
    for j in np.flatnonzero(is_changed.any(axis=0)):
        cells = [
            write_pair(features[j], gene, row[j])[0] if changed else ""
            for gene, changed in zip(genomes[:, j], is_changed[:, j], strict=True)
        ]
        texts[title_of(features[j])] = [features[j].shown(row[j]), *cells]
    predictions = [found.row_prediction, *found.predictions]
    texts["prediction"] = [write_number(value) for value in predictions]
    for m, name in enumerate(found.objective_names[1:], 1):
        texts[name] = ["", *(write_number(value) for value in found.objectives[:, m])]
    return pd.DataFrame(texts, index=["row", *range(1, len(genomes) + 1)], dtype=object)


def title_of(feature: Feature) -> Hashable:
    """Return a feature's name with its unit."""
    return f"{feature.name} ({feature.unit})" if feature.unit else feature.name


def notebook(found: ResultData, n: int = SHOWN) -> str:
    """Return what `summary` says as HTML, every text of it escaped, without scripts."""
    parts = [f"<p>{escape(line)}</p>" for line in headlines(found)]
    few = shown_first(found, n)
    if n_shown := len(few.genomes):
        parts.append(f"<p>The row: {escape(row_line(found))}.</p>")
        parts.append(_as_list(told(found, few, (OPEN, CLOSE))))
        parts.append(_as_table(changes_frame(few)))
        parts += [f"<p>{escape(line)}</p>" for line in more_lines(found, n_shown)]
    return f'<div class="counterpoint">{"".join(parts)}</div>'


def _as_list(texts: list[str]) -> str:
    """Return sentences as a list, the names of features emphasised."""
    items = [escape(text).replace(OPEN, "<em>").replace(CLOSE, "</em>") for text in texts]
    return f"<ol>{''.join(f'<li>{item}</li>' for item in items)}</ol>"


def _as_table(frame: pd.DataFrame) -> str:
    """Return texts as a table; the first row is the explained one."""
    head = "".join(f"<th scope='col'>{escape(str(name))}</th>" for name in frame.columns)
    rows = [
        f"<tr><th scope='row'>{escape(str(label))}</th>"
        + "".join(f"<td style='padding:.1em .6em'>{escape(str(cell))}</td>" for cell in cells)
        + "</tr>"
        for label, cells in zip(frame.index, frame.to_numpy(), strict=True)
    ]
    return (
        f"<table style='{STYLE}'><thead><tr><th></th>{head}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table>"
    )
