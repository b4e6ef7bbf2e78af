"""Letters: what a customer may read of a result, as texts, as a letter and as a page.

Both files are HTML without any script: all texts are escaped, and the policy in the head allows the
style of the file and nothing else. Nothing in them is of other people or of the method: no observed
row, no row number, no probability of a class that was not asked for, no way through a protected
feature nor how many there are.
"""

from __future__ import annotations

import base64
import datetime
import hashlib
from collections.abc import Sequence
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np

from counterpoint.checks import check_whole
from counterpoint.errors import InvalidInput
from counterpoint.problem.objectives import GAP
from counterpoint.result.data import ResultData
from counterpoint.result.ways import Way, ways_of
from counterpoint.result.words import Lang
from counterpoint.result.words.grammars import Change, Grammar, Wish
from counterpoint.result.words.sentences import (
    MOST_TOLD,
    changes_of_way,
    changes_protected,
    class_text,
    grammar_of,
    inside_by,
    landing,
    wish_of,
)
from counterpoint.table.files import Pathlike, write_whole
from counterpoint.table.labels import SIGNS
from counterpoint.table.values import write_date, write_number, write_share

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
    if wish.aim == "value":
        return write_number(found.row_prediction, grammar.signs)
    if wish.aim == "probability":
        share = found.row_prediction  # with a decimal where it is within a percent of either end
        return write_share(round(share, 2 if 0.01 <= share <= 0.99 else 5), grammar.signs)
    likeliest = int(np.argmax(found.facts.row_outputs))
    if len(found.facts.classes) < 3 or likeliest in found.target.wanted:
        return ""
    return class_text(found, found.facts.classes[likeliest], grammar)


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


def row_lines(found: ResultData, lang: Lang) -> list[tuple[str, str]]:
    """Return the details of the row: what each feature is called, and its value with unit."""
    labels, lines = found.labels, []
    for feature, gene in zip(found.encoding.schema.features, found.genome.tolist(), strict=True):
        value, unit = labels.value(feature, gene, lang), labels.unit(feature, lang, gene)
        lines.append((labels.feature(feature.name, lang), f"{value} {unit}".strip()))
    return lines


MOST_CASES = 4
MOST_SENDER, MOST_SENDER_LINES, MOST_CLOSING = 600, 8, 1500
ROOMY = 2200  # characters of a letter that has room for large type
MOST = 5000  # characters of a letter of one page, in small type


@cache
def _style(name: str) -> str:
    return "\n" + files(__package__).joinpath(name).read_text(encoding="utf-8")


def write_letter(
    found: ResultData,
    path: Pathlike,
    lang: Lang,
    sender: str = "",
    closing: str = "",
    *,
    appendix: bool = False,
) -> None:
    """Write the letter of a result to a file; see `Counterfactuals.letter`."""
    grammar_of(lang, "customer")
    _check_text("letter.sender", sender, MOST_SENDER, MOST_SENDER_LINES)
    _check_text("letter.closing", closing, MOST_CLOSING)
    if not isinstance(appendix, bool):
        raise InvalidInput(f"letter.appendix must be True or False, got {appendix!r}.")
    today = datetime.datetime.now(datetime.UTC).date()
    page = letter_page(found, lang, (sender, closing), today, appendix=appendix)
    write_whole(path, page.encode("utf-8"))


def _check_text(argument: str, text: Any, most: int, lines: int | None = None) -> None:
    """Refuse what is no text, or too long for a letter of one page."""
    if not isinstance(text, str):
        raise InvalidInput(f"{argument} must be a text, got {text!r}.")
    if len(text) > most:
        raise InvalidInput(
            f"{argument} must have at most {most:,} characters, got {len(text):,}; a letter is one "
            "page."
        )
    if lines is not None and (n_lines := len(text.splitlines())) > lines:
        raise InvalidInput(
            f"{argument} must have at most {lines} lines, got {n_lines}; a letter is one page."
        )


def letter_page(
    found: ResultData,
    lang: Lang,
    own: tuple[str, str],
    today: datetime.date,
    *,
    appendix: bool = False,
) -> str:
    """Return the letter as HTML, with the sender's texts `own`: the head and the closing."""
    story, (sender, closing) = tell(found, lang, MOST_CASES), own
    phrase = grammar_of(lang).phrase
    title, assessed = phrase("letter.title"), escape(phrase("letter.details"))
    while (size := _size(story, own)) > MOST and len(story.cases) > 1:
        story = story._replace(cases=story.cases[:-1])
    cases = [escape(case.text) for case in story.cases]
    parts = [
        f"<address>{escape(sender)}</address>" if sender else "",
        f'<p class="date">{escape(write_date(today, SIGNS[lang]))}</p>',
        f"<h1>{escape(title)}</h1>",
        f"<p>{escape(story.decided)}</p>",
        f"<ol>{''.join(f'<li>{text}</li>' for text in cases)}</ol>"
        if len(cases) > 1
        else "".join(f"<p>{text}</p>" for text in cases),
        *(f"<p>{escape(text)}</p>" for text in story.remarks),
        f"<p>{escape(story.caveat)}</p>" if story.caveat else "",
        f'<p class="closing">{escape(closing)}</p>' if closing else "",
        f'<section class="appendix"><h2>{assessed}</h2>{_details(found, lang)}</section>'
        if appendix
        else "",
    ]
    return _document(lang, title, parts, _style("letter.css"), "dense" if size > ROOMY else "")


def _size(story: Story, own: tuple[str, str]) -> int:
    """Return how many characters a letter has; a line of the sender's counts as a whole one."""
    return sum(map(len, [*story.lines, own[1]])) + 80 * sum(len(text.splitlines()) for text in own)


def _details(found: ResultData, lang: Lang) -> str:
    rows = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{escape(value)}</td></tr>'
        for name, value in row_lines(found, lang)
    )
    return f"<table><tbody>{rows}</tbody></table>"


def customer_page(found: ResultData, lang: Lang) -> str:
    """Return the customer's page as HTML: what was decided, and each case before and after."""
    story, phrase = tell(found, lang, MOST_CASES), grammar_of(lang).phrase
    title, others = phrase("letter.title"), escape(phrase("letter.cases"))
    assessed = escape(phrase("letter.details"))
    cases = [_card(k, case, lang) for k, case in enumerate(story.cases, 1)]
    parts = [
        "<main>",
        f"<h1>{escape(title)}</h1>",
        f'<p class="lead">{escape(story.decided)}</p>',
        *([f"<h2>{others}</h2>", *cases] if cases else []),
        *(f"<p>{escape(text)}</p>" for text in (*story.remarks, story.caveat) if text),
        f"<details><summary>{assessed}</summary>{_details(found, lang)}</details>",
        "</main>",
    ]
    style = _style("letter.css") + _style("customer_page.css")
    return _document(lang, title, parts, style, "")


def _card(k: int, case: Case, lang: Lang) -> str:
    """Return a case: its sentence, and what differs before and after."""
    phrase, rows = grammar_of(lang).phrase, "".join(_changed(each, lang) for each in case.changes)
    title, titles = escape(phrase("letter.case")), (phrase("letter.before"), phrase("letter.after"))
    head = "<td></td>" + "".join(f'<th scope="col">{escape(each)}</th>' for each in titles)
    return (
        f"<article><h3>{title} {k}</h3><p>{escape(case.text)}</p>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></article>"
    )


def _changed(change: Change, lang: Lang) -> str:
    grammar = grammar_of(lang)
    old = f"{change.old} {change.old_unit}".strip() or grammar.signs.missing
    new = f"{grammar.value(change)} {change.new_unit}".strip()
    return (
        f'<tr><th scope="row">{escape(change.noun.word)}</th><td>{escape(old)}</td>'
        f'<td class="new">{escape(new)}</td></tr>'
    )


def policy_hash(text: str) -> str:
    """Return the hash of a script or a style as a content security policy names it."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def _document(lang: Lang, title: str, parts: list[str], style: str, kind: str) -> str:
    policy = (
        f"default-src 'none'; style-src {policy_hash(style)}; base-uri 'none'; form-action 'none'"
    )
    body = f'<body class="{kind}">' if kind else "<body>"
    return (
        f'<!doctype html>\n<html lang="{lang}">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{escape(title)}</title>\n<style>{style}</style>\n</head>\n"
        + body
        + "\n".join(part for part in parts if part)
        + "\n</body>\n</html>\n"
    )
