"""Pages: the report, the letter and the customer's page, each one HTML file, written whole or not.

Nothing of the data becomes markup. In a report it travels as JSON in a script that no browser
executes, and our modules show it as text; letters have no script, and all their texts are escaped.
The policy in a page's head allows exactly the scripts and the style that are in it, by their
hashes, and no request to any server. The receipt of a report says who was asked what, with which
settings, so that a result can be checked later.
"""

from __future__ import annotations

import base64
import datetime
import hashlib
import json
import platform
import re
from dataclasses import fields
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

import numpy as np
import pandas as pd

from counterpoint.errors import InvalidInput
from counterpoint.problem.limits import range_text
from counterpoint.progress import new_bar
from counterpoint.result.choosing.orders import ordered
from counterpoint.result.data import ResultData
from counterpoint.result.figures.plots import draw_figures, packed
from counterpoint.result.report.summary import write_questions, write_summary
from counterpoint.result.words import Lang, say, speaking, spoken_now, translated
from counterpoint.result.words.grammars import Change
from counterpoint.result.words.sentences import Case, Story, grammar_of, target_text, tell
from counterpoint.table.files import Pathlike, write_whole
from counterpoint.table.labels import SIGNS
from counterpoint.table.values import EXACT, write_date, write_number
from counterpoint.version import __version__

# In the order they need each other: a module imports from those before it only.
MODULES = (
    *("dom.js", "texts.js", "numbers.js", "report.js", "store.js", "limits.js"),
    *("ranking.js", "sorting.js"),
    *("interview.js", "bookmarks.js", "receipt.js", "theme.js", "scale.js", "figures.js"),
    *("strip.js", "groups.js", "map.js", "empty.js", "header.js", "cards.js", "weights_panel.js"),
    *("finder.js", "limits_panel.js", "interview_panel.js", "table.js", "results.js", "details.js"),
    *("figures_panel.js", "receipt_panel.js"),
    *("mount.js", "main.js"),
)
_IMPORT = re.compile(r"^import\s+\{[^}]*\}\s+from\s+\"\./[a-z_]+\.js\";\n", re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?function |const |class )", re.MULTILINE)


def build_page(summary: dict[str, Any], figures: dict[str, Any] | None = None) -> str:
    """Return the report as HTML, of what `summarise` and perhaps `draw_figures` return."""
    script, style, texts = joined_modules(), _read("page", "style.css"), summary["texts"]
    library = figures["library"] if figures else ""
    allowed = " ".join(policy_hash(each) for each in (script, library) if each)
    parts = {
        "policy": f"default-src 'none'; script-src {allowed}; style-src {policy_hash(style)}; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'",
        "lang": summary["lang"],
        "title": _as_text(texts["page"].format(title=summary["title"])),
        "skip": _as_text(texts["skip"]),
        "noscript": _as_text(texts["noscript"]),
        "style": style,
        "data": script_json(summary),
        "figures": packed(json.dumps({"figures": figures["figures"]})) if figures else "",
        "library": packed(library) if library else "",
        "script": script,
    }
    template = _read("page", "report.html")
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], template)


def script_json(value: Any) -> str:
    r"""Return a value as JSON that cannot end the script it stands in.

    Examples
    --------
    >>> print(script_json({"level": "</script><b>"}))
    {"level":"\u003c/script\u003e\u003cb\u003e"}
    """
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))  # all ASCII
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


@cache
def joined_modules() -> str:
    """Return our modules as one: without their imports of each other, which it makes needless.

    They share one scope then. A name that two of them have is a syntax error, which tests see.
    """
    texts = [_EXPORT.sub("", _IMPORT.sub("", _read("page", name))).strip() for name in MODULES]
    script = "\n".join(f"// {name}\n{text}\n" for name, text in zip(MODULES, texts, strict=True))
    assert "</script" not in script.lower()
    assert "<!--" not in script
    return script


@cache
def _read(*names: str) -> str:
    return files(__package__).joinpath(*names).read_text(encoding="utf-8")


def _as_text(text: str) -> str:
    """Return a text for HTML: markup escaped, what is not ASCII as references."""
    return escape(text).encode("ascii", "xmlcharrefreplace").decode("ascii")


def summarise(found: ResultData, now: datetime.datetime, lang: Lang = "en") -> dict[str, Any]:
    """Return all the page shows of a result, but its figures, as what JSON can hold."""
    with speaking(lang):
        receipt = write_receipt(found, now)
        texts = receipt_texts(found, receipt)
        return write_summary(found) | {"receipt": receipt, "receipt_texts": texts}


MOST_BYTES = 1_500_000  # what a mail takes, and a phone opens
NOTE = 1000  # bytes that are kept free for the note that not all is shown
LARGE = 2000  # candidates whose report takes long enough for a bar


def write_report(found: ResultData, path: Pathlike, *, figures: bool, lang: Lang) -> None:
    """Write the report of a result to a file; see `Counterfactuals.report`."""
    if not isinstance(figures, bool):
        raise InvalidInput(f"report.figures must be True or False, got {figures!r}.")
    is_large = len(found.genomes) >= LARGE
    bar = new_bar(None if is_large else False, 2 + 6 * figures, "writing the report")
    told = bool if bar is None else bar.update
    try:
        drawings = draw_figures(found, lang, told) if figures else None
        page = report_page(found, datetime.datetime.now(datetime.UTC), drawings, lang=lang)
        told()
        write_whole(path, page.encode("utf-8"))
        told()
    finally:
        if bar is not None:
            bar.close()


def report_page(
    found: ResultData,
    now: datetime.datetime,
    figures: dict[str, Any] | None = None,
    most_bytes: int = MOST_BYTES,
    *,
    lang: Lang = "en",
) -> str:
    """Return the report as HTML of at most so many bytes.

    If not all counterfactuals fit, the representatives of ways and the most balanced others are
    shown, and a note says so.
    """
    summary = summarise(found, now, lang)
    page = build_page(summary, figures)
    if len(page.encode("utf-8")) <= most_bytes:
        return page
    bare = build_page(summary | {"counterfactuals": []}, figures)
    room = most_bytes - len(bare.encode("utf-8")) - NOTE
    with speaking(lang):
        while room >= 0:  # what the interview asks depends on what is shown, and takes room, too
            page = build_page(_cut(found, summary, room), figures)
            excess = len(page.encode("utf-8")) - most_bytes
            if excess <= 0:
                return page
            room -= max(excess, NOTE)
    raise InvalidInput(
        f"the report would be larger than {most_bytes:,} bytes even without counterfactuals; "
        "save() has no such limit."
    )


def _cut(found: ResultData, summary: dict[str, Any], room: int) -> dict[str, Any]:
    """Return a summary of those counterfactuals that fit into so many bytes."""
    named = [each["number"] for each in summary["representatives"]]
    of_ways = [each["number"] for each in summary["counterfactuals"] if each["is_way"]]
    numbers = dict.fromkeys([*named, *of_ways, *(ordered(found, "knee") + 1).tolist()])
    kept: set[int] = set()
    for number in numbers:
        room -= 1 + len(script_json(summary["counterfactuals"][number - 1]))
        if room < 0:
            break
        kept.add(number)
    whole = SIGNS[spoken_now()].whole
    note = say("cut", n=whole(len(kept.difference(of_ways))), total=whole(len(found.genomes)))
    return summary | {
        "counterfactuals": [each for each in summary["counterfactuals"] if each["number"] in kept],
        "representatives": [each for each in summary["representatives"] if each["number"] in kept],
        "interview": write_questions(found, kept),
        "notes": [*summary["notes"], note],
    }


NOT_AT_HAND = "not at hand: the result was loaded from a file"


def write_receipt(found: ResultData, now: datetime.datetime) -> dict[str, Any]:
    """Return who was asked what, with which settings, as what JSON can hold."""
    version, model, limits = __version__, NOT_AT_HAND, found.limits
    if found.live is None:
        version = f"{found.remembered.version}; this report by {version}"
    else:
        kind = type(found.problem.predictor.own.model)
        model = f"{kind.__module__}.{kind.__qualname__}"
    return {
        "date": now.astimezone(datetime.UTC).isoformat(timespec="seconds"),
        "data fingerprint": found.fingerprints.data,
        "model fingerprint": found.fingerprints.model,
        "model": model,
        "target": str(found.target),
        "limits": {  # rules and costs have places of their own
            "fixed": [str(name) for name in limits.fixed],
            "vary": None if limits.vary is None else [str(name) for name in limits.vary],
            "ranges": [f"{name}: {range_text(ends)}" for name, ends in limits.ranges.items()],
            "most changes": limits.max_changed,
        },
        "rules": list(found.constraints),
        "costs": [
            f"{name}: {write_number(cost, digits=EXACT)}" for name, cost in found.costs.items()
        ],
        "objectives": list(found.objective_names),
        "search": {"type": type(found.search).__name__, **_settings(found.search)},
        "seed": int(found.seed),
        "model evaluations": found.evaluations,
        "ended by": found.stopped or "the row itself",
        "counterfactuals": int(found.reaches.sum()),
        "near misses": int((~found.reaches).sum()),
        "notes": list(found.notes),
        "versions": {
            "counterpoint": version,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "pandas": pd.__version__,
        },
    }


def receipt_texts(found: ResultData, receipt: dict[str, Any]) -> dict[str, Any]:
    """Return what the page shows in place of parts of the receipt, in the language of the page.

    The search is written as one would type it, and rules are as they were written.
    """
    day = datetime.datetime.fromisoformat(receipt["date"])
    kind, *settings = receipt["search"].items()
    given = ", ".join(f"{name}={value!r}" for name, value in settings if value is not None)
    names, ranges = receipt["objectives"], receipt["limits"]["ranges"]
    known = {f"objective.{name}" for name in ("gap", "distance", "changes", "implausibility")}
    texts = {
        "date": f"{write_date(day.date(), SIGNS[spoken_now()])}, {day:%H:%M:%S} UTC",
        "search": f"{kind[1]}({given})",
        "target": target_text(found),
        "limits": receipt["limits"] | {"ranges": [translated(each, "range") for each in ranges]},
        "objectives": [
            say(key) if (key := f"objective.{name}") in known else name for name in names
        ],
        "ended by": say(f"ended.{receipt['ended by']}"),
        "notes": [translated(note) for note in receipt["notes"]],
    }
    if found.live is None:
        saved = {"saved": found.remembered.version, "version": __version__}
        versions = receipt["versions"] | {"counterpoint": say("written by", **saved)}
        texts |= {"model": say("absent"), "versions": versions}
    return texts


# A setting is used only with some values of another; see `NSGA2`.
ONLY_WITH = {
    "p_min": ("initialization", ("ice",)),
    "p_max": ("initialization", ("ice",)),
    "step": ("mutation", ("gaussian",)),
}


def _settings(search: Any) -> dict[str, Any]:
    """Return the settings that this search uses by name; what JSON has not, as text."""
    values = {field.name: getattr(search, field.name) for field in fields(search)}
    values.pop("method", None)  # the type says it
    for name, (decisive, used) in ONLY_WITH.items():
        if name in values and values.get(decisive) not in used:
            del values[name]
    return {
        name: value
        if value is None or isinstance(value, bool | int | str)
        else (float(value) if isinstance(value, float) and np.isfinite(value) else str(value))
        for name, value in values.items()
    }


MOST_CASES = 4
MOST_SENDER, MOST_SENDER_LINES, MOST_CLOSING = 600, 8, 1500
ROOMY = 2200  # characters of a letter that has room for large type
MOST = 5000  # characters of a letter of one page, in small type


def write_letter(
    found: ResultData,
    path: Pathlike,
    lang: Lang,
    sender: str,
    closing: str,
    *,
    appendix: bool,
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
    return _document(lang, title, parts, ("letter.css",), "dense" if size > ROOMY else "")


def _size(story: Story, own: tuple[str, str]) -> int:
    """Return how many characters a letter has; a line of the sender's counts as a whole one."""
    return sum(map(len, [*story.lines, own[1]])) + 80 * sum(len(text.splitlines()) for text in own)


def _details(found: ResultData, lang: Lang) -> str:
    """Return the details of the row: what each feature is called, and its value with unit."""
    labels, rows = found.labels, ""
    for feature, gene in zip(found.encoding.schema.features, found.genome.tolist(), strict=True):
        name = escape(labels.feature(feature.name, lang))
        value = f"{labels.value(feature, gene, lang)} {labels.unit(feature, lang, gene)}".strip()
        rows += f'<tr><th scope="row">{name}</th><td>{escape(value)}</td></tr>'
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
    return _document(lang, title, parts, ("letter.css", "customer_page.css"), "")


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


def _document(lang: Lang, title: str, parts: list[str], styles: tuple[str, ...], kind: str) -> str:
    style = "".join(f"\n{_read(name)}" for name in styles)
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
