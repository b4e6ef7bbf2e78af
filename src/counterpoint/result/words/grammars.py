"""Grammar: what a language must say of which parts, and the grammars of English and German.

Features, levels and classes come in the words of the caller's labels; see
`counterpoint.table.labels`. In German, labels with their article ("die Laufzeit") are inflected;
what has no article is named in a form that needs none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Literal, NamedTuple, Protocol

from counterpoint.errors import joined
from counterpoint.result.words import Lang, count_candidates, speaking, started, texts_of
from counterpoint.table.labels import ADJECTIVE, SIGNS, Noun
from counterpoint.table.values import Signs

Aim = Literal["class", "other class", "probability", "value"]
ChangeKind = Literal["number", "date", "level"]


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
    both: str  # the word before the last of several parts
    unknown: str  # what a missing value is called
    objectives: Mapping[str, str]  # what objectives are called, if not by their names

    def phrase(self, key: str, *values: object) -> str:
        """Return a phrase of the language, with values put where its braces are."""
        return texts_of(self.lang)[f"said.{key}"].format(*values)

    def _if(self, changes: Sequence[Change]) -> str:
        """Return the changes after the language's "if"."""
        ...

    def _case(self, change: Change) -> str:
        """Return a change as it follows the language's "with"."""
        ...

    def _was(self, wish: Wish, now: str = "", *, is_not: bool = False) -> str:
        """Return that something was as wished, or was not; `now` is the prediction that it was."""
        ...

    def _asked(self, wish: Wish, *, is_met: bool) -> str:
        """Return the interval that was asked for, after "the question was about" or "that is"."""
        ...

    def _would(self, wish: Wish) -> str:
        """Return the main clause on what might have been."""
        ...

    def _that(self, wish: Wish) -> str:
        """Return the clause on what might have been that depends on another."""
        return self._would(wish)

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
        names = [self.phrase("responds.name", name) for name in dict.fromkeys([*alone, *together])]
        how = [self.phrase("responds.alone", joined(alone, self.either))] if alone else []
        how += [self.phrase("responds.some", joined(together, self.either))] if together else []
        key = "responds.one" if len(names) == 1 else "responds.many"
        return self.phrase(key, joined(names, self.both), "; ".join(how))

    def met(self, inside: str, margin: str) -> str:
        """Return that nothing was searched, and how close the edge is."""
        moves = self.phrase("met.moves", margin) if margin != "0" else ""
        return self.phrase("met", inside) + moves if inside else self.phrase("met.sure")

    def measured(self, name: str, value: str) -> str:
        """Return an objective and its value."""
        if name == "changes":
            return self.phrase("change.one" if value == "1" else "change.many", value)
        return f"{self.objectives.get(name, name)} {value}"

    def question(self, a: str, b: str) -> str:
        """Return "A or B?" as text."""
        return self.phrase("question", a, b)

    def _subject(self, wish: Wish) -> str:
        """Return what is decided on, for a customer."""
        if wish.aim == "probability":
            return self.phrase("subject.probability", wish.label)
        default = "subject.value" if wish.aim == "value" else "subject.case"
        return wish.subject or self.phrase(default)

    def decided(self, wish: Wish, now: str, *, is_met: bool) -> str:
        """Return what was decided, for a customer; `now` is the prediction or the class."""
        subject = started(self._subject(wish))
        if wish.aim in ("probability", "value"):
            key, was = "asked.met" if is_met else "asked", f"{subject} {self._was(wish, now)}"
            return self.phrase(key, was, self._asked(wish, is_met=is_met))
        if is_met:
            return self.phrase("decided.met", f"{subject} {self._was(wish)}")
        if wish.aim == "other class":
            return f"{subject} {self._was(wish._replace(aim='class'))}."
        instead = self.phrase("decided.instead", now) if now else ""
        return f"{subject} {self._was(wish, is_not=True)}.{instead}"

    def would(self, wish: Wish, changes: Sequence[Change]) -> str:
        """Return the sentence for a customer on one case: with these changes, it would have."""
        cases = joined([self._case(change) for change in changes], self.both)
        key = "would.one" if len(changes) == 1 else "would.many"
        return self.phrase(key, cases, self._would(wish))

    def many(self, wish: Wish, names: Sequence[str]) -> str:
        """Return the sentence for a customer on a case that differs in many details."""
        differs = self.phrase("differs", self._would(wish), len(names), joined(names, self.both))
        return started(differs)

    def none(self, wish: Wish, *, is_limited: bool, is_proved: bool) -> str:
        """Return that there is no other case for a customer."""
        key = "none.proved" if is_proved else "none.limited" if is_limited else "none.other"
        return self.phrase(key, self._that(wish))

    def proved(self, *, is_nearest: bool, fewest: int) -> str:
        """Return what is proved of the cases that a customer reads; empty if nothing is."""
        said = [self.phrase("proved.nearest")] if is_nearest else []
        if fewest > 1:
            said.append(self.phrase("proved.single" if fewest == 2 else "proved.fewer", fewest))
        return self.phrase("proved", self.phrase("proved.and").join(said)) if said else ""


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


class _English(Grammar):
    lang: Lang = "en"
    signs = SIGNS["en"]
    either, both = "or", "and"
    unknown = "missing"
    objectives: Mapping[str, str] = MappingProxyType({})

    def _if(self, changes: Sequence[Change]) -> str:
        clauses = []
        for k, change in enumerate(changes):
            verb = " were" if k == 0 else ""
            new, old = self.values(change)
            clauses.append(f"{change.noun.word}{verb} {new} instead of {old}")
        return f"if {joined(clauses, 'and')}"

    def _case(self, change: Change) -> str:
        name, new = change.noun.word, self.value(change)
        span = " to ".join(change.ends) if change.ends and all(change.ends) else new
        value = f"{span} {change.new_unit}".strip()
        old = change.old or "no value"
        is_date = change.kind == "date"
        is_word = WORDS.fullmatch(name) and len(name) <= LONGEST_NAME and not is_date
        is_noun = change.is_named or is_word  # a day's name, such as "since", is seldom a noun
        is_plain = is_noun or (name.islower() and not is_date)
        called = name if is_plain else self.signs.quoted(name)
        if change.kind == "level" or not change.new:
            old = f"{old} {change.old_unit}".strip()
            return f"{new if change.new else 'no value'} instead of {old} for {called}"
        if not is_noun:
            value = value if is_date else f"a value of {value}"
            return f"{value} instead of {old} for {called}"
        return f"{with_article(name)} of {value} instead of {old}"

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

    def _was(self, wish: Wish, now: str = "", *, is_not: bool = False) -> str:
        return f"was {'not ' if is_not else ''}{self._state(wish, now)}"

    def _asked(self, wish: Wish, *, is_met: bool) -> str:  # noqa: ARG002 - German needs it
        of = "" if wish.low and wish.high and wish.low != wish.high else "of "
        return f"a value {of}{self.within(wish)}" if wish.aim == "value" else self.within(wish)

    def _would(self, wish: Wish) -> str:
        return f"{self._subject(wish)} would have been {self._state(wish)}"


ENGLISH = _English()


PARTICIPLE = re.compile(r"(?:\w*ge|be|ver|er|ent|zer|unter|über)\w{3,}(?:t|en)|\w+iert")
PLURAL = re.compile(r"[A-ZÄÖÜ][a-zäöüß]+(?:e|er|el)")  # of a noun, without an n in the nominative


def in_dative(unit: str) -> str:
    """Return the plural of a unit in the dative.

    Examples
    --------
    >>> [in_dative(unit) for unit in ("Monate", "Meter", "Stunden", "Euro", "DM")]
    ['Monaten', 'Metern', 'Stunden', 'Euro', 'DM']
    """
    return f"{unit}n" if PLURAL.fullmatch(unit) else unit


def with_dative(noun: Noun) -> str:
    """Return a noun with its indefinite article in the dative.

    Examples
    --------
    >>> with_dative(Noun("die", "Laufzeit")), with_dative(Noun("der", "monatliche Betrag"))
    ('einer Laufzeit', 'einem monatlichen Betrag')
    """
    article = "einer" if noun.article == "die" else "einem"
    return f"{article} {ADJECTIVE.sub(lambda match: f'{match[0]}n', noun.word)}"


class _German(Grammar):
    lang: Lang = "de"
    signs = SIGNS["de"]
    either, both = "oder", "und"
    unknown = "unbekannt"
    objectives: Mapping[str, str] = MappingProxyType(
        {"gap": "Lücke", "distance": "Abstand", "implausibility": "Ungewöhnlichkeit"}
    )

    def _if(self, changes: Sequence[Change]) -> str:
        """Return "wenn" with its clauses; what is counted in a unit "beträgt" it."""
        clauses, verbs = [], []
        for change in changes:
            noun = f"{change.noun.article} {change.noun.word}".strip()
            new, old = self.values(change)
            is_counted = change.kind == "number" and change.new_unit and change.new and change.old
            clauses.append(f"{noun} {new} statt {old}")
            verbs.append("betrüge" if is_counted else "wäre")
        texts = []
        for k, (clause, verb) in enumerate(zip(clauses, verbs, strict=True)):
            is_last_of_verb = k + 1 == len(verbs) or verbs[k + 1] != verb
            texts.append(f"{clause} {verb}" if is_last_of_verb else clause)
        return f"wenn {joined(texts, 'und')}"

    def _case(self, change: Change) -> str:
        name, article = change.noun.word, change.noun.article
        unit = change.old_unit if change.old else change.new_unit
        unit = unit if "1" in (change.old, change.old or change.new) else in_dative(unit)
        old = f"{change.old} {unit}".strip() if change.old else "keiner Angabe"
        called = f"als {name}" if change.is_named or article else f"für „{name}“"
        if not change.new:
            return f"fehlender Angabe statt {old} {called}"
        if change.kind == "level":
            return f"{change.new} statt {old} {called}"
        if change.kind == "date":
            noun = with_dative(change.noun) if article else f"„{name}“"
            return f"{noun} {self._on(change)} statt {f'am {old}' if change.old else old}"
        span = " bis ".join(change.ends) if change.ends and all(change.ends) else ""
        value = span or self.value(change)
        value = value if change.old else f"{value} {unit}".strip()
        if not article:
            return f"einem Wert von {value} statt {old} für „{name}“"
        return f"{with_dative(change.noun)} von {value} statt {old}"

    def _on(self, change: Change) -> str:
        """Return a day, or the range of days that work, with "am"."""
        if change.ends is None or not all(change.ends):
            return f"am {self.value(change)}"
        low, high = change.ends
        return f"zwischen dem {low} und dem {high}"

    def _state(self, wish: Wish, value: str = "") -> tuple[str, str, str]:
        """Return the verb of the past, the verb of what might have been, and both their ends."""
        if wish.aim == "probability":
            return "betrug", "hätte", f"{value or self.within(wish)} betragen"
        if wish.aim == "value":
            text = value or self.within(wish)
            if wish.subject:
                span = text.replace("zwischen ", "").replace(" und ", " bis ")
                return "wurde", "wäre", f"auf {span} geschätzt"
            return "war", "wäre", f"{text} gewesen"
        if wish.aim == "other class":
            other = f"als etwas anderes als {wish.label} bewertet"
            return "wurde", "wäre", f"nicht {wish.predicate}" if wish.predicate else other
        if not wish.predicate:
            return "wurde", "wäre", f"als {wish.label} bewertet"
        if PARTICIPLE.fullmatch(wish.predicate):
            return "wurde", "wäre", wish.predicate
        return "ist", "wäre", f"{wish.predicate} ausgefallen"

    def _would(self, wish: Wish) -> str:
        """Return the clause on what might have been, its verb first."""
        was, would, end = self._state(wish)
        worden = " worden" if was == "wurde" else ""
        return f"{would} {self._subject(wish)} {end}{worden}"

    def _that(self, wish: Wish) -> str:
        verb, _, rest = self._would(wish).partition(" ")
        return f"{rest} {verb}"

    def _was(self, wish: Wish, now: str = "", *, is_not: bool = False) -> str:
        was, _, end = self._state(wish, now)
        if wish.aim in ("probability", "value"):
            end = end.removesuffix(" betragen").removesuffix(" gewesen")
        return f"{was} {'nicht ' if is_not else ''}{end}"

    def _asked(self, wish: Wish, *, is_met: bool) -> str:
        is_open = not (wish.low and wish.high and wish.low != wish.high)
        of = "von " if is_open else ""
        if wish.aim == "value":
            return f"{'ein Wert' if is_met else 'einem Wert'} {of}{self.within(wish)}"
        noun = "eine Wahrscheinlichkeit" if is_met else "einer Wahrscheinlichkeit"
        return f"{noun} {of}{self.within(wish)}"


GERMAN = _German()
