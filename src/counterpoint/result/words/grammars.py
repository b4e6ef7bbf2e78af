"""The grammars of English and German; see `Grammar` for what each method says.

In German, labels with their article ("die Laufzeit") are inflected; what has no article is named in
a form that needs none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from counterpoint.result.words.language import Change, Grammar, Lang, Wish, joined, started
from counterpoint.table.labels import ADJECTIVE, SIGNS, Noun

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
    either = "or"
    unknown = "missing"
    objectives: Mapping[str, str] = MappingProxyType({})

    def _if(self, changes: Sequence[Change]) -> str:
        clauses = []
        for k, change in enumerate(changes):
            verb = " were" if k == 0 else ""
            new, old = self.values(change)
            clauses.append(f"{change.noun.word}{verb} {new} instead of {old}")
        return f"if {joined(clauses, 'and')}"

    def responds(self, alone: Sequence[str], together: Sequence[str]) -> str:
        every = list(dict.fromkeys([*alone, *together]))
        names, are = joined(every, "and"), "is" if len(every) == 1 else "are"
        how = [f"{joined(alone, 'or')} alone reaches the target"] if alone else []
        if together:
            how.append(f"some ways need {joined(together, 'or')} together with other features")
        return f"The decision responds to {names}, which {are} protected: {'; '.join(how)}."

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

    def would(self, wish: Wish, changes: Sequence[Change]) -> str:
        comma = "," if len(changes) > 1 else ""
        case = f"With {joined([self._case(change) for change in changes], 'and')}{comma}"
        end = f"{self._subject(wish)} would have been {self._state(wish)}"
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
    either = "oder"
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

    def responds(self, alone: Sequence[str], together: Sequence[str]) -> str:
        every = [f"„{name}“" for name in dict.fromkeys([*alone, *together])]
        what = "vom geschützten Merkmal" if len(every) == 1 else "von den geschützten Merkmalen"
        how = [f"{joined(alone, 'oder')} allein erreicht das Ziel"] if alone else []
        if together:
            how.append(f"manche Wege brauchen {joined(together, 'oder')} zusammen mit anderen")
        return f"Die Entscheidung hängt {what} {joined(every, 'und')} ab: {'; '.join(how)}."

    # What customers read

    def _case(self, change: Change) -> str:
        """Return a change as it follows "bei"."""
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

    def _subject(self, wish: Wish) -> str:
        if wish.aim == "probability":
            return f"die Wahrscheinlichkeit für {wish.label}"
        default = "der vorhergesagte Wert" if wish.aim == "value" else "dieser Fall"
        return wish.subject or default

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

    def decided(self, wish: Wish, now: str, *, is_met: bool) -> str:
        subject = started(self._subject(wish))
        if wish.aim in ("probability", "value"):
            was, _, end = self._state(wish, now)
            end = end.removesuffix(" betragen").removesuffix(" gewesen")
            asked = "Das ist" if is_met else "Gefragt war nach"
            return f"{subject} {was} {end}. {asked} {self._asked(wish, is_met=is_met)}."
        if wish.aim == "other class" and not is_met:
            was, _, end = self._state(wish._replace(aim="class"))
            return f"{subject} {was} {end}."
        was, _, end = self._state(wish)
        if is_met:
            return f"{subject} {was} {end}. Nichts müsste anders sein."
        instead = f" Am wahrscheinlichsten war {now}." if now else ""
        return f"{subject} {was} nicht {end}.{instead}"

    def _asked(self, wish: Wish, *, is_met: bool) -> str:
        """Return the interval that was asked for, after "Gefragt war nach" or "Das ist"."""
        is_open = not (wish.low and wish.high and wish.low != wish.high)
        of = "von " if is_open else ""
        if wish.aim == "value":
            return f"{'ein Wert' if is_met else 'einem Wert'} {of}{self.within(wish)}"
        noun = "eine Wahrscheinlichkeit" if is_met else "einer Wahrscheinlichkeit"
        return f"{noun} {of}{self.within(wish)}"

    def would(self, wish: Wish, changes: Sequence[Change]) -> str:
        cases = joined([self._case(change) for change in changes], "und")
        link = "sowie" if len(changes) > 1 else "und"
        return f"Bei {cases} {link} sonst gleichen Angaben {self._would(wish)}."

    def many(self, wish: Wish, names: Sequence[str]) -> str:
        return (
            f"In einem Fall, der sich in {len(names)} Angaben unterscheidet "
            f"({joined(names, 'und')}), {self._would(wish)}."
        )

    def none(self, wish: Wish, *, is_limited: bool, is_proved: bool) -> str:
        verb, _, rest = self._would(wish).partition(" ")
        end = f"{rest} {verb}"
        if is_proved:
            return f"Es ist bewiesen, dass bei keiner Änderung der betrachteten Angaben {end}."
        where = "Innerhalb der Grenzen der Suche wurde" if is_limited else "Es wurde"
        return f"{where} keine Änderung der betrachteten Angaben gefunden, bei der {end}."


GERMAN = _German()
