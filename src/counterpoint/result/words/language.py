"""Language: what the grammar of a language must say, and of which parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol

from counterpoint.table.values import Signs, counted

Lang = Literal["en", "de"]
Reader = Literal["customer", "analyst"]
Aim = Literal["class", "other class", "probability", "value"]


def joined(texts: Sequence[str], conjunction: str) -> str:
    """Return texts as a list: "a, b and c"."""
    if len(texts) < 2:
        return "".join(texts)
    return f"{', '.join(texts[:-1])} {conjunction} {texts[-1]}"


def count_candidates(n: int, n_missed: int) -> str:
    """Return how many counterfactuals there are, and how many near misses if there are any.

    Examples
    --------
    >>> count_candidates(12, 859), count_candidates(1, 0)
    ('12 counterfactuals; 859 near misses', '1 counterfactual')
    """
    texts = [counted(n, "counterfactual")] if n or not n_missed else []
    texts += [counted(n_missed, "near miss", "near misses")] if n_missed else []
    return "; ".join(texts)


class Change(NamedTuple):
    """One changed feature in words: its name, the new value, the old one; one has the unit."""

    name: str
    new: str
    old: str


class Wish(NamedTuple):
    """A target in words.

    Attributes
    ----------
    aim : str
        What it is about.
    label : str
        The class; empty for a value.
    low, high : str
        Both ends, empty where open; the same for a single number.
    """

    aim: Aim
    label: str
    low: str
    high: str


class Grammar(Protocol):
    """What a language must be able to say; `ENGLISH` and `GERMAN` do."""

    signs: Signs

    def outcome(self, wish: Wish) -> str:
        """Return the target as a heading."""

    def now(self, wish: Wish, *, is_met: bool) -> str:
        """Return the sentence that says what the model decides of the row."""

    def offer(self, wish: Wish, n: int) -> str:
        """Return the line before n alternatives."""

    def would(self, wish: Wish, changes: Sequence[Change], *, is_met: bool) -> str:
        """Return the sentence for a customer on one alternative."""

    def condition(self, changes: Sequence[Change]) -> str:
        """Return the changes as an item of a list, a sentence that begins with "if"."""

    def shift(
        self, outcome: str, before: str, after: str, changes: Sequence[Change], *, is_met: bool
    ) -> str:
        """Return the sentence for an analyst on one candidate, without its full stop."""

    def marked(self, names: Sequence[str]) -> str:
        """Return the mark of a candidate that changes protected features."""

    def left_out(self, n: int) -> str:
        """Return how many alternatives a customer is not shown, beside others."""

    def all_left_out(self, n: int) -> str:
        """Return that all n alternatives are not shown."""

    def none(self, *, is_limited: bool) -> str:
        """Return that there is no alternative."""

    def caveat(self, reader: Reader) -> str:
        """Return what a reader must not conclude."""

    def heading(self, outcome: str, before: str) -> str:
        """Return the analyst's first line."""

    def counts(self, n: int, n_missed: int, n_shown: int) -> str:
        """Return how many counterfactuals and near misses there are, and how many are shown."""

    def protected(self, n: int) -> str:
        """Return how many are marked."""

    def met(self) -> str:
        """Return that nothing was searched."""

    def measured(self, name: str, value: str) -> str:
        """Return an objective and its value."""

    def question(self, a: str, b: str) -> str:
        """Return "A or B?" as text."""
