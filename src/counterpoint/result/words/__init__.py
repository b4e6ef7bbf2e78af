"""A result in words: texts by key, and the lists and counts that they are made of.

Every word of the page, of its figures and of its first sentence is in `texts.json`, the one place
where they are written. The page is sent those of its language; figures, which many functions put
together, speak the language of `speaking`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib.resources import files
from typing import Literal

import numpy as np

from counterpoint.errors import joined
from counterpoint.result.data import ResultData
from counterpoint.search.exact.proof import Proof
from counterpoint.table.labels import SIGNS
from counterpoint.table.labels import Lang as Lang
from counterpoint.table.values import DIGITS, EXACT, Signs, write_number, write_share

Reader = Literal["customer", "analyst"]


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


def answer_text(found: ResultData, answer: float, signs: Signs, *, is_share: bool) -> str:
    """Return what the model says, rounded so that it stays on its side of the target's ends.

    A share is in whole percent, with decimals where it is within a percent of 0 or 1.
    """
    is_short = found.target.gap_of(answer) > 0.0

    def stays(rounded: float) -> bool:
        return (found.target.gap_of(rounded) > 0.0) == is_short

    if is_share:
        shares = (round(answer, k) for k in range(2 if 0.01 <= answer <= 0.99 else 5, 8))
        return write_share(next(filter(stays, shares), answer), signs)
    precisions = (k for k in range(DIGITS, EXACT) if stays(float(f"{answer:.{k}g}")))
    return write_number(answer, signs, next(precisions, EXACT))


ENDED = ("seconds", "interrupt", "exhausted", "repeats")  # what is said of how a search ended


def cost_of(found: ResultData) -> str:
    """Return what the search cost, how it ended, and what is proved."""
    asked = counted(found.evaluations, "evaluation")
    asked += say(f"message.{found.stopped}") if found.stopped in ENDED else ""
    return asked if found.proof is None else f"{asked}; {_proved(found, found.proof)}"


def _proved(found: ResultData, proof: Proof) -> str:
    """Return what `Proof.of_all` says, in the language that is spoken."""
    if spoken_now() == "en":
        return proof.of_all(*found.objectives[found.reaches, 1:3].T)
    if proof.nearest.status == "none":
        return say("proof.none")
    said, (nearest, fewest) = [], found.objectives[found.reaches, 1:3].min(axis=0, initial=np.inf)
    if proof.nearest.is_met_by(float(nearest)):
        said.append(say("proof.nearest"))
    elif proof.nearest.bound > 0.0 and np.isfinite(nearest):
        share = 100.0 * (float(nearest) / proof.nearest.bound - 1.0)
        said.append(say("proof.bound", share=write_number(share, SIGNS[spoken_now()], 3)))
    if proof.fewest.is_met_by(float(fewest)):
        said.append(say("proof.fewest"))
    return say("proof", said=say("proof.and").join(said)) if said else say("proof.nothing")


def observed_hint(found: ResultData) -> str:
    """Say whether any observed row has the wanted prediction, and what to try."""
    if (known := found.diagnosis) is None:
        return ""
    if known.nearest is not None:
        return say("message.no row", at=write_number(known.nearest, SIGNS[spoken_now()]))
    form = "one" if known.n_reaching == 1 else "many"
    rows = counted(known.n_reaching, "observed row")
    reach = say(f"message.rows reach.{form}", rows=rows)
    if known.limits_bind:
        what = say("message.limits and rules" if found.constraints else "message.limits")
        return say(
            f"message.excluded.{form}", reach=reach, what=what, relaxation=_steps(known.relaxation)
        )
    return f"{reach}." if found.stopped in ENDED else say("message.more", reach=reach)


def _steps(relaxation: str) -> str:
    """Return what would admit an observed row, in the language that is spoken."""
    begins = r'(?:, | and )(?=free |widen ranges|raise max_changed|drop ")'
    steps = re.split(begins, relaxation)
    return joined([translated(step, "step") for step in steps], say("and"))
