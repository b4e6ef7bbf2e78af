"""A result in words: texts by key, and the lists and counts that they are made of.

Every word of the page, of its figures and of its first sentence is in `texts.json`, the one place
where they are written. The page is sent those of its language; figures, which many functions put
together, speak the language of `speaking`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib.resources import files
from typing import Literal

from counterpoint.table.labels import SIGNS
from counterpoint.table.labels import Lang as Lang

Reader = Literal["customer", "analyst"]


def joined(texts: Sequence[str], conjunction: str) -> str:
    """Return texts as a list: "a, b and c"."""
    if len(texts) < 2:
        return "".join(texts)
    return f"{', '.join(texts[:-1])} {conjunction} {texts[-1]}"


def started(text: str) -> str:
    """Return a text with a capital at its start.

    Examples
    --------
    >>> started("the application"), started("")
    ('The application', '')
    """
    return text[:1].upper() + text[1:]


_SPOKEN: ContextVar[Lang] = ContextVar("spoken", default="en")


@cache
def texts_of(lang: Lang) -> dict[str, str]:
    """Return all texts of a language by key."""
    text = files(__package__).joinpath("texts.json").read_text(encoding="utf-8")
    found: dict[str, str] = json.loads(text)[lang]
    return found


@contextmanager
def speaking(lang: Lang) -> Iterator[None]:
    """Let `say` speak a language inside of a `with`.

    Examples
    --------
    >>> with speaking("de"):
    ...     say("figures"), say("figure.surface", prediction="P", x="a", y="b")
    ('Abbildungen', 'P nach a und b')
    """
    before = _SPOKEN.set(lang)
    try:
        yield
    finally:
        _SPOKEN.reset(before)


def spoken_now() -> Lang:
    """Return the language that is spoken."""
    return _SPOKEN.get()


def say(key: str, **values: object) -> str:
    """Return a text of the language that is spoken, with values put where braces name them."""
    return texts_of(spoken_now())[key].format_map(values)


@cache
def _patterns(kind: str) -> dict[str, re.Pattern[str]]:
    """Return what the English texts of a kind look like, by key."""
    found = {}
    for key, text in texts_of("en").items():
        if key.startswith(f"{kind}."):
            plain = re.split(r"\{(\w+)\}", text)  # texts and names in turns
            parts = [f"(?P<{p}>.+)" if k % 2 else re.escape(p) for k, p in enumerate(plain)]
            found[key] = re.compile("".join(parts), re.DOTALL)
    return found


def translated(text: str, kind: str = "note") -> str:
    """Return what a result keeps in English in the language that is spoken; the unknown as it is.

    Examples
    --------
    >>> with speaking("de"):
    ...     translated("free 'sex'", "step"), translated("a note of somebody's")
    ('„sex“ freigeben', "a note of somebody's")
    """
    if spoken_now() == "en":
        return text
    signs = SIGNS[spoken_now()]
    for key, pattern in _patterns(kind).items():
        if match := pattern.fullmatch(text):
            values = match.groupdict()
            if "name" in values:
                values["name"] = re.sub(r"^(['\"])(.*)\1$", signs.quoted(r"\2"), values["name"])
            return say(key, **values)
    return text


def counted(n: int, noun: str) -> str:
    """Return a count with its noun, of which there is one text for 1 and one for all others.

    Examples
    --------
    >>> counted(1, "near miss"), counted(1200, "variant")
    ('1 near miss', '1,200 variants')
    """
    return f"{SIGNS[spoken_now()].whole(n)} {say(f'{noun}.one' if n == 1 else f'{noun}.many')}"


def count_candidates(n: int, n_missed: int) -> str:
    """Return how many counterfactuals there are, and how many near misses if there are any.

    Examples
    --------
    >>> count_candidates(12, 859), count_candidates(1, 0)
    ('12 counterfactuals; 859 near misses', '1 counterfactual')
    """
    texts = [counted(n, "counterfactual")] if n or not n_missed else []
    return "; ".join([*texts, *([counted(n_missed, "near miss")] if n_missed else [])])
