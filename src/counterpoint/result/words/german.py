"""German sentences; feature names, classes and levels stay as the data have them."""

from __future__ import annotations

from collections.abc import Sequence

from counterpoint.result.words.language import Change, Reader, Wish, joined
from counterpoint.table.values import Signs

OBJECTIVES = {"gap": "Lücke", "distance": "Abstand", "implausibility": "Unplausibilität"}


class German:
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

    def outcome(self, wish: Wish) -> str:
        """Return the target as a heading."""
        if wish.aim == "class":
            return f"Klasse {wish.label}"
        if wish.aim == "other class":
            return f"jede Klasse außer {wish.label}"
        subject = "Vorhersage" if wish.aim == "value" else f"P({wish.label})"
        return f"{subject} {self._range(wish)}"

    def _range(self, wish: Wish) -> str:
        """Return the interval."""
        if wish.low == wish.high:
            return f"genau {wish.low}"
        if not wish.high:
            return f"mindestens {wish.low}"
        return f"zwischen {wish.low} und {wish.high}" if wish.low else f"höchstens {wish.high}"

    def _object(self, wish: Wish, article: str) -> str:
        """Return what is given or predicted, with its article."""
        of = "" if wish.low and wish.high and wish.low != wish.high else "von "
        noun = f"{article}en Wert" if wish.aim == "value" else f"{article}e Wahrscheinlichkeit"
        return f"{noun} {of}{self._range(wish)}"

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
        """Return the sentence that says what the model decides of the row."""
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
        """Return the line before n alternatives."""
        cases = "In diesem Fall" if n == 1 else f"In jedem dieser {n} Fälle"
        return f"{cases} würde es {self._doing(wish)}:"

    def _if(self, changes: Sequence[Change]) -> str:
        """Return all changes as a clause."""
        clauses = [f"{name} {new} statt {old}" for name, new, old in changes]
        return f"wenn {joined(clauses, 'und')} wäre"

    def would(self, wish: Wish, changes: Sequence[Change], *, is_met: bool) -> str:
        """Return the sentence for a customer on one alternative."""
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
        """Return the changes as an item of a list."""
        return f"W{self._if(changes)[1:]}."

    def shift(
        self, outcome: str, before: str, after: str, changes: Sequence[Change], *, is_met: bool
    ) -> str:
        """Return the sentence for an analyst on one candidate, without its full stop."""
        start = outcome[0].upper() + outcome[1:] if is_met else f"Knapp verfehlt: {outcome}"
        return f"{start} ({before} \N{RIGHTWARDS ARROW} {after}), {self._if(changes)}"

    def marked(self, names: Sequence[str]) -> str:
        """Return the mark of a candidate that changes protected features."""
        return f"geschützt: {', '.join(names)}"

    def left_out(self, n: int) -> str:
        """Return how many alternatives a customer is not shown, beside others."""
        if n == 1:
            return "1 weiterer Fall ist ausgelassen, weil er ein geschütztes Merkmal betrifft."
        return (
            f"{self.signs.whole(n)} weitere Fälle sind ausgelassen, weil sie geschützte "
            "Merkmale betreffen."
        )

    def all_left_out(self, n: int) -> str:
        """Return that all n alternatives are not shown."""
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
        """Return that there is no alternative."""
        where = "Innerhalb der Grenzen der Suche wurde" if is_limited else "Es wurde"
        return f"{where} kein Fall gefunden, in dem das anders wäre."

    def caveat(self, reader: Reader) -> str:
        """Return what a reader must not conclude."""
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
        """Return the analyst's first line."""
        return f"Gewünscht: {outcome}. Die Zeile liegt bei {before}."

    def counts(self, n: int, n_missed: int, n_shown: int) -> str:
        """Return how many counterfactuals and near misses there are, and how many are shown."""
        noun = "kontrafaktische Zeile" if n == 1 else "kontrafaktische Zeilen"
        text = f"{self.signs.whole(n)} {noun}" if n else "Keine kontrafaktische Zeile gefunden"
        if n_missed:
            text += f"; {self.signs.whole(n_missed)} Beinahe-Treffer"
        if n_shown < n + n_missed:
            text += f"; {n_shown} {'wird' if n_shown == 1 else 'werden'} gezeigt"
        return f"{text}."

    def protected(self, n: int) -> str:
        """Return how many counterfactuals are marked."""
        those = (
            "1 kontrafaktische Zeile ändert"
            if n == 1
            else f"{self.signs.whole(n)} kontrafaktische Zeilen ändern"
        )
        return f"{those} geschützte Merkmale; in Texten für Kunden fehlen sie."

    def met(self) -> str:
        """Return that nothing was searched."""
        return "Die Zeile erreicht das Ziel bereits; es wurde nichts gesucht."

    def measured(self, name: str, value: str) -> str:
        """Return an objective and its value."""
        if name == "changes":
            return f"{value} Änderung{'' if value == '1' else 'en'}"
        return f"{OBJECTIVES.get(name, name)} {value}"

    def question(self, a: str, b: str) -> str:
        """Return "A or B?" as text."""
        return f"Was passt besser?\nA: {a}\nB: {b}\nAntwort: A, B oder equal (gleich gut)."


GERMAN = German()
