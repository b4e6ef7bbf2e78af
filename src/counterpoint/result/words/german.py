"""German sentences; see `Grammar` for what each method says.

Labels with their article ("die Laufzeit") are inflected. What has no article is named in a form
that needs none.
"""

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
    joined,
    started,
)
from counterpoint.table.labels import ADJECTIVE, SIGNS, Noun

OBJECTIVES = {"gap": "Lücke", "distance": "Abstand", "implausibility": "Ungewöhnlichkeit"}
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


class _German(Phrased):
    """The grammar."""

    lang: Lang = "de"
    signs = SIGNS["de"]
    either = "oder"
    phrases = Phrases(
        of_class="Klasse {}",
        other_class="jede Klasse außer {}",
        prediction="Vorhersage",
        exactly="genau {}",
        at_least="mindestens {}",
        at_most="höchstens {}",
        between="zwischen {} und {}",
        later="{} oder später",
        earlier="{} oder früher",
        no_value="keine Angabe",
    )

    def _if(self, changes: Sequence[Change]) -> str:
        """Return "wenn" with its clauses; what is counted in a unit "beträgt" it."""
        clauses, verbs = [], []
        for change in changes:
            noun = f"{change.noun.article} {change.noun.word}".strip()
            new, old = self.value(change), f"{change.old} {change.old_unit}".strip() or "unbekannt"
            if not change.new:
                new = "unbekannt"
            elif not change.old:
                new = f"{new} {change.new_unit}".strip()
            is_counted = change.kind == "number" and change.new_unit and change.new and change.old
            clauses.append(f"{noun} {new} statt {old}")
            verbs.append("betrüge" if is_counted else "wäre")
        texts = []
        for k, (clause, verb) in enumerate(zip(clauses, verbs, strict=True)):
            is_last_of_verb = k + 1 == len(verbs) or verbs[k + 1] != verb
            texts.append(f"{clause} {verb}" if is_last_of_verb else clause)
        return f"wenn {joined(texts, 'und')}"

    def condition(self, changes: Sequence[Change]) -> str:
        return f"{started(self._if(changes))}."

    def reached(self, outcome: str, changes: Sequence[Change]) -> str:
        return f"{started(outcome)}, {self._if(changes)}"

    def shift(
        self, outcome: str, before: str, after: str, changes: Sequence[Change], *, is_met: bool
    ) -> str:
        start = started(outcome) if is_met else f"Knapp verfehlt: {outcome}"
        return f"{start} ({before} \N{RIGHTWARDS ARROW} {after}), {self._if(changes)}"

    def marked(self, names: Sequence[str]) -> str:
        return f"geschützt: {', '.join(names)}"

    def heading(self, outcome: str, before: str) -> str:
        return f"Gewünscht: {outcome}. Die Zeile liegt bei {before}."

    def counts(self, n: int, n_missed: int, n_shown: int) -> str:
        noun = "Alternative" if n == 1 else "Alternativen"
        text = f"{self.signs.whole(n)} {noun}" if n else "Keine Alternative gefunden"
        if n_missed:
            text += f"; {self.signs.whole(n_missed)} Beinahe-Treffer"
        if n_shown < n + n_missed:
            text += f"; {n_shown} {'wird' if n_shown == 1 else 'werden'} gezeigt"
        return f"{text}."

    def responds(self, alone: Sequence[str], together: Sequence[str]) -> str:
        every = [f"„{name}“" for name in dict.fromkeys([*alone, *together])]
        what = "vom geschützten Merkmal" if len(every) == 1 else "von den geschützten Merkmalen"
        how = [f"{joined(alone, 'oder')} allein erreicht das Ziel"] if alone else []
        if together:
            how.append(f"manche Wege brauchen {joined(together, 'oder')} zusammen mit anderen")
        return f"Die Entscheidung hängt {what} {joined(every, 'und')} ab: {'; '.join(how)}."

    def met(self, inside: str, margin: str) -> str:
        near = (
            " Von einer beobachteten Zeile zur nächsten ändert sich die Antwort typischerweise um"
        )
        moves = f"{near} {margin}." if margin != "0" else ""
        met = f"Die Zeile erreicht das Ziel bereits und liegt um {inside} darin"
        return f"{met}; es wurde nichts gesucht.{moves}"

    def measured(self, name: str, value: str) -> str:
        if name == "changes":
            return f"{value} Änderung{'' if value == '1' else 'en'}"
        return f"{OBJECTIVES.get(name, name)} {value}"

    def question(self, a: str, b: str) -> str:
        how = 'Antworten Sie mit "A", "B" oder, wenn beide gleich gut passen, mit "equal".'
        return f"Was passt besser?\nA: {a}\nB: {b}\n{how}"

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
        """Return what is decided on."""
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

    def _would(self, wish: Wish, *, is_met: bool = True) -> str:
        """Return the clause on what might have been, its verb first."""
        was, would, end = self._state(wish)
        worden = " worden" if was == "wurde" else ""
        still = "" if is_met else " dennoch nicht"
        return f"{would} {self._subject(wish)}{still} {end}{worden}"

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

    def would(self, wish: Wish, changes: Sequence[Change], *, is_met: bool = True) -> str:
        cases = joined([self._case(change) for change in changes], "und")
        link = "sowie" if len(changes) > 1 else "und"
        would = self._would(wish, is_met=is_met)
        return f"Bei {cases} {link} sonst gleichen Angaben {would}."

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

    def nearest(self, at: str) -> str:
        return f"Der nächste gefundene Fall kommt auf {at}."

    def edge(self, *, is_close: bool) -> str:
        if is_close:
            return "Es war knapp: Fälle, die sich kaum unterscheiden, können anders ausfallen."
        return (
            "Es war nicht knapp: Fälle, die sich kaum unterscheiden, fallen typischerweise "
            "gleich aus."
        )

    def proved(self, *, is_nearest: bool, fewest: int) -> str:
        said = ["es keinen näheren Fall gibt"] if is_nearest else []
        if fewest == 2:
            said.append("die Änderung einer einzigen Angabe nicht gereicht hätte")
        elif fewest > 2:
            said.append(f"die Änderung von weniger als {fewest} Angaben nicht gereicht hätte")
        return f"Es ist bewiesen, dass {' und dass '.join(said)}." if said else ""

    def caveat(self, reader: Reader) -> str:
        if reader == "analyst":
            return (
                "Das beschreibt das Modell; über ursächliche Wirkungen einer Änderung sagt es "
                "nichts."
            )
        return (
            "Das beschreibt, wie die vorliegenden Angaben bewertet wurden. Es ist kein Angebot, "
            "und es besagt nicht, dass eine solche Änderung das Ergebnis herbeiführen würde."
        )


GERMAN = _German()
