"""English sentences; see `Grammar` for what each method says."""

from __future__ import annotations

import re
from collections.abc import Sequence

from counterpoint.result.words.language import (
    Change,
    Lang,
    Phrased,
    Phrases,
    Reader,
    Wish,
    count_candidates,
    joined,
    started,
)
from counterpoint.table.labels import SIGNS

# What is written with an "an": most vowels, letters that are spelt out, and a silent h.
VOWEL = re.compile(r"(?!uni|use|usu|uti|eu|one\b)[aeiou]|hour|honest|heir", re.IGNORECASE)
SPELT = re.compile(r"[AEFHILMNORSX](?:[^a-z]|$)")
LONGEST_NAME = 30  # of a column that is named like a noun in the middle of a sentence
# Names of columns that can be said like a noun, with their marks: one word, or several in small
# letters of which none is a preposition ("a credit amount of", but not "a customer since of").
WORDS = re.compile(
    r"\W?(?:[A-Za-z]{3,}|[a-z]{3,}(?: "
    r"(?!(?:of|since|in|at|for|by|to|with|on|from)\b)[a-z]{2,})+)\W?"
)


def with_article(noun: str) -> str:
    """Return a noun with "a" or "an"; a plural with neither.

    Examples
    --------
    >>> [with_article(noun) for noun in ("term", "amount", "unit", "LDL value", "savings")]
    ['a term', 'an amount', 'a unit', 'an LDL value', 'savings']
    """
    bare = noun.strip("*\ue000\ue001")
    if re.search(r"[^sui]s$", bare):
        return noun
    is_spelt = bare.split(" ")[0].isupper()
    is_open = SPELT.match(bare) if is_spelt else VOWEL.match(bare)
    return f"an {noun}" if is_open else f"a {noun}"


class _English(Phrased):
    """The grammar."""

    lang: Lang = "en"
    signs = SIGNS["en"]
    either = "or"
    phrases = Phrases(
        of_class="class {}",
        other_class="any class but {}",
        prediction="prediction",
        exactly="exactly {}",
        at_least="at least {}",
        at_most="at most {}",
        between="between {} and {}",
        later="{} or later",
        earlier="{} or earlier",
        no_value="no value",
    )

    def _if(self, changes: Sequence[Change]) -> str:
        clauses = []
        for k, change in enumerate(changes):
            verb = " were" if k == 0 else ""
            new, old = self.value(change), f"{change.old} {change.old_unit}".strip() or "missing"
            if not change.new:
                new = "missing"
            elif not change.old:
                new = f"{new} {change.new_unit}".strip()
            clauses.append(f"{change.noun.word}{verb} {new} instead of {old}")
        return f"if {joined(clauses, 'and')}"

    def condition(self, changes: Sequence[Change]) -> str:
        return f"{started(self._if(changes))}."

    def reached(self, outcome: str, changes: Sequence[Change]) -> str:
        return f"{started(outcome)} {self._if(changes)}"

    def shift(
        self, outcome: str, before: str, after: str, changes: Sequence[Change], *, is_met: bool
    ) -> str:
        start = started(outcome) if is_met else f"Near miss: {outcome}"
        return f"{start} ({before} \N{RIGHTWARDS ARROW} {after}) {self._if(changes)}"

    def marked(self, names: Sequence[str]) -> str:
        return f"protected: {', '.join(names)}"

    def heading(self, outcome: str, before: str) -> str:
        return f"Wanted: {outcome}. The row is at {before}."

    def counts(self, n: int, n_missed: int, n_shown: int) -> str:
        text = count_candidates(n, n_missed) if n else "No counterfactual was found"
        if n_missed and not n:
            text += f"; {count_candidates(0, n_missed)}"
        if n_shown < n + n_missed:
            text += f"; {n_shown} {'is' if n_shown == 1 else 'are'} shown"
        return f"{text}."

    def responds(self, alone: Sequence[str], together: Sequence[str]) -> str:
        every = list(dict.fromkeys([*alone, *together]))
        names, are = joined(every, "and"), "is" if len(every) == 1 else "are"
        how = [f"{joined(alone, 'or')} alone reaches the target"] if alone else []
        if together:
            how.append(f"some ways need {joined(together, 'or')} together with other features")
        return f"The decision responds to {names}, which {are} protected: {'; '.join(how)}."

    def met(self, inside: str, margin: str) -> str:
        near = " Between an observed row and its nearest the answer typically moves by"
        moves = f"{near} {margin}." if margin != "0" else ""
        return (
            f"The row reaches the target as it is, {inside} inside it; nothing was searched.{moves}"
        )

    def measured(self, name: str, value: str) -> str:
        if name == "changes":
            return f"{value} change{'' if value == '1' else 's'}"
        return f"{name} {value}"

    def question(self, a: str, b: str) -> str:
        return f"Which suits you better?\nA: {a}\nB: {b}\nAnswer A, B or equal."

    # What customers read

    def _case(self, change: Change) -> str:
        """Return a change as it follows "with"."""
        name, new = change.noun.word, self.value(change)
        span = " to ".join(change.ends) if change.ends and all(change.ends) else new
        value = f"{span} {change.new_unit}".strip()
        old = change.old or "no value"
        is_noun = change.is_named or (WORDS.fullmatch(name) and len(name) <= LONGEST_NAME)
        called = name if is_noun or name.islower() else self.signs.quoted(name)
        if change.kind == "level" or not change.new:
            old = f"{old} {change.old_unit}".strip()
            return f"{new if change.new else 'no value'} instead of {old} for {called}"
        if not is_noun:
            value = value if change.kind == "date" else f"a value of {value}"
            return f"{value} instead of {old} for {called}"
        return f"{with_article(name)} of {value} instead of {old}"

    def _subject(self, wish: Wish) -> str:
        """Return what is decided on."""
        if wish.aim == "probability":
            return f"the probability of {wish.label}"
        return wish.subject or ("the predicted value" if wish.aim == "value" else "this case")

    def _state(self, wish: Wish, value: str = "") -> str:
        """Return what follows "was" and "would have been"."""
        if wish.aim == "class":
            return wish.predicate or f"assessed as {wish.label}"
        if wish.aim == "other class":
            return (
                f"something other than {wish.predicate}"
                if wish.predicate
                else (f"assessed as something other than {wish.label}")
            )
        value = value or self.within(wish).removeprefix("exactly ")
        if wish.aim == "value" and wish.subject:
            value = value.replace("at least", "no less than").replace("at most", "no more than")
            return f"estimated at {value.replace('between ', '').replace(' and ', ' to ')}"
        return value

    def decided(self, wish: Wish, now: str, *, is_met: bool) -> str:
        subject = started(self._subject(wish))
        if wish.aim in ("probability", "value"):
            was = f"{subject} was {self._state(wish, now)}."
            of = "" if wish.low and wish.high and wish.low != wish.high else "of "
            asked = f"a value {of}{self.within(wish)}" if wish.aim == "value" else self.within(wish)
            return f"{was} {'That is' if is_met else 'The question was about'} {asked}."
        if wish.aim == "other class" and not is_met:
            return f"{subject} was {self._state(wish._replace(aim='class'))}."
        if is_met:
            return f"{subject} was {self._state(wish)}. Nothing would have to differ."
        instead = f" The likeliest result was {now}." if now else ""
        return f"{subject} was not {self._state(wish)}.{instead}"

    def would(self, wish: Wish, changes: Sequence[Change], *, is_met: bool = True) -> str:
        comma = "," if len(changes) > 1 else ""
        case = f"With {joined([self._case(change) for change in changes], 'and')}{comma}"
        would = "would have been" if is_met else "would still not have been"
        end = f"{self._subject(wish)} {would} {self._state(wish)}"
        return f"{case} and everything else unchanged, {end}."

    def many(self, wish: Wish, names: Sequence[str]) -> str:
        return (
            f"{started(self._subject(wish))} would have been {self._state(wish)} in a case that "
            f"differs in {len(names)} details: {joined(names, 'and')}."
        )

    def none(self, wish: Wish, *, is_limited: bool, is_proved: bool) -> str:
        end = f"{self._subject(wish)} would have been {self._state(wish)}"
        if is_proved:
            return f"It is proved that with no change of the details considered {end}."
        where = " within the limits of the search" if is_limited else ""
        return f"No change of the details considered was found{where} with which {end}."

    def nearest(self, at: str) -> str:
        return f"The nearest case that was found comes to {at}."

    def edge(self, *, is_close: bool) -> str:
        if is_close:
            return "It was close: cases that hardly differ may come out otherwise."
        return "It was not close: cases that hardly differ typically come out the same."

    def proved(self, *, is_nearest: bool, fewest: int) -> str:
        said = ["no nearer case exists"] if is_nearest else []
        if fewest == 2:
            said.append("no change of a single detail would have been enough")
        elif fewest > 2:
            said.append(f"no change of fewer than {fewest} details would have been enough")
        return f"It is proved that {' and that '.join(said)}." if said else ""

    def caveat(self, reader: Reader) -> str:
        if reader == "analyst":
            return "This describes the model; it implies no causal effect of any change."
        return (
            "This describes how the details given were assessed. It is not an offer, and it does "
            "not say that making such a change would bring about the result."
        )


ENGLISH = _English()
