"""Language: what the grammar of a language must say, and of which parts; English and German.

Names of features, classes and levels stay as the data have them.
"""

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
        The class, or several of them joined by "or"; empty for a value.
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
    either: str  # the word before the last of several alternatives

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

    def within(self, wish: Wish) -> str:
        """Return an interval in words: at least, at most, between or exactly."""

    def reached(self, outcome: str, changes: Sequence[Change]) -> str:
        """Return the sentence for an analyst on one way, without its full stop."""

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


class _English:
    """See `Grammar` for what each method says."""

    signs = Signs(
        quotes=("\N{LEFT DOUBLE QUOTATION MARK}", "\N{RIGHT DOUBLE QUOTATION MARK}"),
        truth=("no", "yes"),
        months=(
            *("January", "February", "March", "April", "May", "June", "July"),
            *("August", "September", "October", "November", "December"),
        ),
        date="{day} {month} {year}",
    )
    either = "or"

    def outcome(self, wish: Wish) -> str:
        if wish.aim == "class":
            return f"class {wish.label}"
        if wish.aim == "other class":
            return f"any class but {wish.label}"
        subject = "prediction" if wish.aim == "value" else f"P({wish.label})"
        return f"{subject} {self.within(wish)}"

    def within(self, wish: Wish) -> str:
        if wish.low == wish.high:
            return f"exactly {wish.low}"
        if not wish.high:
            return f"at least {wish.low}"
        return f"between {wish.low} and {wish.high}" if wish.low else f"at most {wish.high}"

    def _doing(self, wish: Wish, *, verb: tuple[str, str, str]) -> str:
        """Return what a model does: decide, give or predict, in the form given."""
        decide, give, predict = verb
        if wish.aim == "class":
            return f"{decide} {wish.label}"
        if wish.aim == "other class":
            return f"{decide} something other than {wish.label}"
        of = "" if wish.low and wish.high and wish.low != wish.high else "of "
        if wish.aim == "value":
            return f"{predict} a value {of}{self.within(wish)}"
        return f"{give} {wish.label} a probability {of}{self.within(wish)}"

    def now(self, wish: Wish, *, is_met: bool) -> str:
        if is_met:
            does = self._doing(wish, verb=("decides", "gives", "predicts"))
            return (
                f"With the details given, the model already {does}. Nothing would have to differ."
            )
        if wish.aim == "other class":
            return f"With the details given, the model decides {wish.label}."
        does = self._doing(wish, verb=("decide", "give", "predict"))
        return f"With the details given, the model does not {does}."

    def offer(self, wish: Wish, n: int) -> str:
        does = self._doing(wish, verb=("decide", "give", "predict"))
        cases = "this case" if n == 1 else f"each of these {n} cases"
        return f"It would {does} in {cases}:"

    def _if(self, changes: Sequence[Change]) -> str:
        first, *rest = changes
        clauses = [f"{first.name} were {first.new} instead of {first.old}"]
        clauses += [f"{name} {new} instead of {old}" for name, new, old in rest]
        return f"if {joined(clauses, 'and')}"

    def would(self, wish: Wish, changes: Sequence[Change], *, is_met: bool) -> str:
        does = self._doing(wish, verb=("decide", "give", "predict"))
        would = "would" if is_met else "would still not"
        return f"The model {would} {does} {self._if(changes)}."

    def condition(self, changes: Sequence[Change]) -> str:
        return f"I{self._if(changes)[1:]}."

    def reached(self, outcome: str, changes: Sequence[Change]) -> str:
        return f"{outcome[0].upper()}{outcome[1:]} {self._if(changes)}"

    def shift(
        self, outcome: str, before: str, after: str, changes: Sequence[Change], *, is_met: bool
    ) -> str:
        start = outcome[0].upper() + outcome[1:] if is_met else f"Near miss: {outcome}"
        return f"{start} ({before} \N{RIGHTWARDS ARROW} {after}) {self._if(changes)}"

    def marked(self, names: Sequence[str]) -> str:
        return f"protected: {', '.join(names)}"

    def left_out(self, n: int) -> str:
        if n == 1:
            return "1 other case is left out, because it concerns a protected attribute."
        return (
            f"{self.signs.whole(n)} other cases are left out, because they concern protected "
            "attributes."
        )

    def all_left_out(self, n: int) -> str:
        if n == 1:
            return (
                "One case was found in which it would, but it concerns a protected attribute and "
                "is not shown."
            )
        return (
            f"{self.signs.whole(n)} cases were found in which it would, but all of them concern "
            "protected attributes and none is shown."
        )

    def none(self, *, is_limited: bool) -> str:
        where = "Within the limits set for the search, no" if is_limited else "No"
        return f"{where} case was found in which it would."

    def caveat(self, reader: Reader) -> str:
        if reader == "analyst":
            return "This describes the model; it implies no causal effect of any change."
        return (
            "This describes how the model decides. It does not say that making such a change would "
            "bring about the outcome, or that a request would be granted."
        )

    def heading(self, outcome: str, before: str) -> str:
        return f"Wanted: {outcome}. The row is at {before}."

    def counts(self, n: int, n_missed: int, n_shown: int) -> str:
        text = count_candidates(n, n_missed) if n else "No counterfactual was found"
        if n_missed and not n:
            text += f"; {count_candidates(0, n_missed)}"
        if n_shown < n + n_missed:
            text += f"; {n_shown} {'is' if n_shown == 1 else 'are'} shown"
        return f"{text}."

    def protected(self, n: int) -> str:
        those = "1 counterfactual changes" if n == 1 else f"{n:,} counterfactuals change"
        return f"{those} protected attributes; texts for customers leave them out."

    def met(self) -> str:
        return "The row reaches the target as it is; nothing was searched."

    def measured(self, name: str, value: str) -> str:
        if name == "changes":
            return f"{value} change{'' if value == '1' else 's'}"
        return f"{name} {value}"

    def question(self, a: str, b: str) -> str:
        return f"Which suits you better?\nA: {a}\nB: {b}\nAnswer A, B or equal."


ENGLISH = _English()


OBJECTIVES = {"gap": "Lücke", "distance": "Abstand", "implausibility": "Unplausibilität"}


class _German:
    """See `Grammar` for what each method says."""

    signs = Signs(
        thousands=".",
        decimal=",",
        percent="\N{NO-BREAK SPACE}%",
        quotes=("\N{DOUBLE LOW-9 QUOTATION MARK}", "\N{LEFT DOUBLE QUOTATION MARK}"),
        truth=("nein", "ja"),
        missing="unbekannt",
        months=(
            *("Januar", "Februar", "März", "April", "Mai", "Juni", "Juli"),
            *("August", "September", "Oktober", "November", "Dezember"),
        ),
        date="{day}. {month} {year}",
    )
    either = "oder"

    def outcome(self, wish: Wish) -> str:
        if wish.aim == "class":
            return f"Klasse {wish.label}"
        if wish.aim == "other class":
            return f"jede Klasse außer {wish.label}"
        subject = "Vorhersage" if wish.aim == "value" else f"P({wish.label})"
        return f"{subject} {self.within(wish)}"

    def within(self, wish: Wish) -> str:
        if wish.low == wish.high:
            return f"genau {wish.low}"
        if not wish.high:
            return f"mindestens {wish.low}"
        return f"zwischen {wish.low} und {wish.high}" if wish.low else f"höchstens {wish.high}"

    def _object(self, wish: Wish, article: str) -> str:
        """Return what is given or predicted, with its article."""
        of = "" if wish.low and wish.high and wish.low != wish.high else "von "
        noun = f"{article}en Wert" if wish.aim == "value" else f"{article}e Wahrscheinlichkeit"
        return f"{noun} {of}{self.within(wish)}"

    def _doing(self, wish: Wish) -> str:
        """Return what a model would do, as an infinitive."""
        if wish.aim == "class":
            return f"sich für {wish.label} entscheiden"
        if wish.aim == "other class":
            return f"sich für etwas anderes als {wish.label} entscheiden"
        if wish.aim == "value":
            return f"{self._object(wish, 'ein')} vorhersagen"
        return f"{wish.label} {self._object(wish, 'ein')} geben"

    def now(self, wish: Wish, *, is_met: bool) -> str:
        already, article = (" bereits", "ein") if is_met else ("", "kein")
        if wish.aim in ("class", "other class"):
            is_other = wish.aim == "other class"
            what = f"etwas anderes als {wish.label}" if is_other and is_met else wish.label
            no = " nicht" if not is_met and not is_other else ""
            does = f"entscheidet sich das Modell{already}{no} für {what}"
        elif wish.aim == "value":
            does = f"sagt das Modell{already} {self._object(wish, article)} vorher"
        else:
            does = f"gibt das Modell {wish.label}{already} {self._object(wish, article)}"
        end = " Nichts müsste anders sein." if is_met else ""
        return f"Mit den vorliegenden Angaben {does}.{end}"

    def offer(self, wish: Wish, n: int) -> str:
        cases = "In diesem Fall" if n == 1 else f"In jedem dieser {n} Fälle"
        return f"{cases} würde es {self._doing(wish)}:"

    def _if(self, changes: Sequence[Change]) -> str:
        clauses = [f"{name} {new} statt {old}" for name, new, old in changes]
        return f"wenn {joined(clauses, 'und')} wäre"

    def would(self, wish: Wish, changes: Sequence[Change], *, is_met: bool) -> str:
        if is_met:
            return f"Das Modell würde {self._doing(wish)}, {self._if(changes)}."
        if wish.aim == "class":
            missed = f"sich auch dann nicht für {wish.label} entscheiden"
        elif wish.aim == "other class":
            missed = f"sich auch dann für {wish.label} entscheiden"
        elif wish.aim == "value":
            missed = f"auch dann {self._object(wish, 'kein')} vorhersagen"
        else:
            missed = f"{wish.label} auch dann {self._object(wish, 'kein')} geben"
        return f"Das Modell würde {missed}, {self._if(changes)}."

    def condition(self, changes: Sequence[Change]) -> str:
        return f"W{self._if(changes)[1:]}."

    def reached(self, outcome: str, changes: Sequence[Change]) -> str:
        return f"{outcome[0].upper()}{outcome[1:]}, {self._if(changes)}"

    def shift(
        self, outcome: str, before: str, after: str, changes: Sequence[Change], *, is_met: bool
    ) -> str:
        start = outcome[0].upper() + outcome[1:] if is_met else f"Knapp verfehlt: {outcome}"
        return f"{start} ({before} \N{RIGHTWARDS ARROW} {after}), {self._if(changes)}"

    def marked(self, names: Sequence[str]) -> str:
        return f"geschützt: {', '.join(names)}"

    def left_out(self, n: int) -> str:
        if n == 1:
            return "1 weiterer Fall ist ausgelassen, weil er ein geschütztes Merkmal betrifft."
        return (
            f"{self.signs.whole(n)} weitere Fälle sind ausgelassen, weil sie geschützte "
            "Merkmale betreffen."
        )

    def all_left_out(self, n: int) -> str:
        if n == 1:
            return (
                "Es wurde ein Fall gefunden, in dem es das täte; er betrifft aber ein geschütztes "
                "Merkmal und wird nicht gezeigt."
            )
        return (
            f"Es wurden {self.signs.whole(n)} Fälle gefunden, in denen es das täte; alle betreffen "
            "aber geschützte Merkmale und werden nicht gezeigt."
        )

    def none(self, *, is_limited: bool) -> str:
        where = "Innerhalb der Grenzen der Suche wurde" if is_limited else "Es wurde"
        return f"{where} kein Fall gefunden, in dem das anders wäre."

    def caveat(self, reader: Reader) -> str:
        if reader == "analyst":
            return (
                "Das beschreibt das Modell; über ursächliche Wirkungen einer Änderung sagt es "
                "nichts."
            )
        return (
            "Das beschreibt, wie das Modell entscheidet. Es besagt nicht, dass eine solche "
            "Änderung das Ergebnis herbeiführen oder dass ein Antrag bewilligt würde."
        )

    def heading(self, outcome: str, before: str) -> str:
        return f"Gewünscht: {outcome}. Die Zeile liegt bei {before}."

    def counts(self, n: int, n_missed: int, n_shown: int) -> str:
        noun = "kontrafaktische Zeile" if n == 1 else "kontrafaktische Zeilen"
        text = f"{self.signs.whole(n)} {noun}" if n else "Keine kontrafaktische Zeile gefunden"
        if n_missed:
            text += f"; {self.signs.whole(n_missed)} Beinahe-Treffer"
        if n_shown < n + n_missed:
            text += f"; {n_shown} {'wird' if n_shown == 1 else 'werden'} gezeigt"
        return f"{text}."

    def protected(self, n: int) -> str:
        those = (
            "1 kontrafaktische Zeile ändert"
            if n == 1
            else f"{self.signs.whole(n)} kontrafaktische Zeilen ändern"
        )
        return f"{those} geschützte Merkmale; in Texten für Kunden fehlen sie."

    def met(self) -> str:
        return "Die Zeile erreicht das Ziel bereits; es wurde nichts gesucht."

    def measured(self, name: str, value: str) -> str:
        if name == "changes":
            return f"{value} Änderung{'' if value == '1' else 'en'}"
        return f"{OBJECTIVES.get(name, name)} {value}"

    def question(self, a: str, b: str) -> str:
        return f"Was passt besser?\nA: {a}\nB: {b}\nAntwort: A, B oder equal (gleich gut)."


GERMAN = _German()
