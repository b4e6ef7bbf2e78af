"""Language: what the grammar of a language must say, of which parts, and texts by key.

`english` and `german` are the two grammars. Features, levels and classes come in the words of the
caller's labels; see `counterpoint.table.labels`. Every word of the page, of its figures and of its
first sentence is in `texts.json`, the one place where they are written. The page is sent those of
its language; figures, which many functions put together, speak the language of `speaking`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib.resources import files
from typing import Literal, NamedTuple, Protocol

from counterpoint.table.labels import SIGNS, Noun
from counterpoint.table.labels import Lang as Lang
from counterpoint.table.values import Signs

Reader = Literal["customer", "analyst"]
Aim = Literal["class", "other class", "probability", "value"]
ChangeKind = Literal["number", "date", "level"]
NOTHING = Noun("", "")


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


class Change(NamedTuple):
    """One changed feature in words."""

    noun: Noun  # what the feature is called, with its article if one is known
    # the values, without units; empty where one is missing
    new: str
    old: str
    # what each is counted in
    new_unit: str = ""
    old_unit: str = ""
    kind: ChangeKind = "level"  # what the values are
    # the range that works, both ends included, empty where it is open; None for one value
    ends: tuple[str, str] | None = None
    is_named: bool = False  # whether the noun is a label, rather than the name of a column

    def marked(self, marks: tuple[str, str]) -> Change:
        """Return the change with marks around the feature's name."""
        return self._replace(noun=self.noun._replace(word=f"{marks[0]}{self.noun.word}{marks[1]}"))


class Wish(NamedTuple):
    """A target in words."""

    aim: Aim  # what it is about
    label: str  # the class in quotes, or several of them joined by "or"; empty for a value
    # both ends, empty where open; the same for a single number
    low: str = ""
    high: str = ""
    subject: str = ""  # what is decided on, such as "the application"; empty if nobody said
    predicate: str = ""  # what may follow "the application was", if the class has such a label


class Grammar(Protocol):
    """What a language must be able to say; `ENGLISH` and `GERMAN` do.

    What needs no grammar is said here, in phrases of the language from `texts.json`.
    """

    lang: Lang
    signs: Signs
    either: str  # the word before the last of several alternatives
    unknown: str  # what a missing value is called
    objectives: Mapping[str, str]  # what objectives are called, if not by their names

    def phrase(self, key: str, *values: object) -> str:
        """Return a phrase of the language, with values put where its braces are."""
        return texts_of(self.lang)[f"said.{key}"].format(*values)

    def _if(self, changes: Sequence[Change]) -> str:
        """Return the changes after the language's "if"."""
        ...

    def outcome(self, wish: Wish) -> str:
        """Return the target as a heading for analysts."""
        if wish.aim in ("class", "other class"):
            return self.phrase("of class" if wish.aim == "class" else wish.aim, wish.label)
        subject = self.phrase("prediction") if wish.aim == "value" else f"P({wish.label})"
        return f"{subject} {self.within(wish)}"

    def within(self, wish: Wish) -> str:
        """Return an interval in words: at least, at most, between or exactly."""
        if wish.low == wish.high:
            return self.phrase("exactly", wish.low)
        if wish.low and wish.high:
            return self.phrase("between", wish.low, wish.high)
        return self.phrase("at least", wish.low) if wish.low else self.phrase("at most", wish.high)

    def value(self, change: Change) -> str:
        """Return the new value, or the range of those that work, without a unit."""
        if change.ends is None:
            return change.new or self.phrase("no value")
        low, high = change.ends
        if change.kind == "date" and not (low and high):
            return self.phrase("later", low) if low else self.phrase("earlier", high)
        return self.within(Wish("value", "", low, high))

    def values(self, change: Change) -> tuple[str, str]:
        """Return the new and the old value; one unit serves both."""
        old = f"{change.old} {change.old_unit}".strip() or self.unknown
        if not change.new:
            return self.unknown, old
        new = self.value(change)
        return (new if change.old else f"{new} {change.new_unit}".strip()), old

    def condition(self, changes: Sequence[Change]) -> str:
        """Return the changes as an item of a list, a sentence that begins with "if"."""
        return f"{started(self._if(changes))}."

    def reached(self, outcome: str, changes: Sequence[Change]) -> str:
        """Return the sentence for an analyst on a way or a candidate, without its full stop."""
        return self.phrase("reached", started(outcome), self._if(changes))

    def counts(self, n: int, n_missed: int, n_shown: int) -> str:
        """Return how many counterfactuals and near misses there are, and how many are shown."""
        with speaking(self.lang):
            parts = [count_candidates(n, 0) if n else self.phrase("none found")]
            parts += [count_candidates(0, n_missed)] if n_missed else []
        if n_shown < n + n_missed:
            parts.append(self.phrase("shown.one" if n_shown == 1 else "shown.many", n_shown))
        return f"{'; '.join(parts)}."

    def responds(self, alone: Sequence[str], together: Sequence[str]) -> str:
        """Return that the decision responds to protected features, alone or with others."""

    def met(self, inside: str, margin: str) -> str:
        """Return that nothing was searched, and how close the edge is."""
        moves = self.phrase("met.moves", margin) if margin != "0" else ""
        return self.phrase("met", inside) + moves

    def measured(self, name: str, value: str) -> str:
        """Return an objective and its value."""
        if name == "changes":
            return self.phrase("change.one" if value == "1" else "change.many", value)
        return f"{self.objectives.get(name, name)} {value}"

    def question(self, a: str, b: str) -> str:
        """Return "A or B?" as text."""
        return self.phrase("question", a, b)

    def decided(self, wish: Wish, now: str, *, is_met: bool) -> str:
        """Return what was decided, for a customer; `now` is the prediction or the class."""

    def would(self, wish: Wish, changes: Sequence[Change]) -> str:
        """Return the sentence for a customer on one case: with these changes, it would have."""

    def many(self, wish: Wish, names: Sequence[str]) -> str:
        """Return the sentence for a customer on a case that differs in many details."""

    def none(self, wish: Wish, *, is_limited: bool, is_proved: bool) -> str:
        """Return that there is no other case for a customer."""

    def proved(self, *, is_nearest: bool, fewest: int) -> str:
        """Return what is proved of the cases that a customer reads; empty if nothing is."""
        said = [self.phrase("proved.nearest")] if is_nearest else []
        if fewest > 1:
            said.append(self.phrase("proved.single" if fewest == 2 else "proved.fewer", fewest))
        return self.phrase("proved", self.phrase("proved.and").join(said)) if said else ""
