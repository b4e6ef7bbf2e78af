"""English sentences."""

from __future__ import annotations

from collections.abc import Sequence

from counterpoint.result.words.language import Change, Reader, Wish, count_candidates, joined
from counterpoint.table.values import Signs


class English:
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

    def outcome(self, wish: Wish) -> str:
        """Return the target as a heading."""
        if wish.aim == "class":
            return f"class {wish.label}"
        if wish.aim == "other class":
            return f"any class but {wish.label}"
        subject = "prediction" if wish.aim == "value" else f"P({wish.label})"
        return f"{subject} {self._range(wish)}"

    def _range(self, wish: Wish) -> str:
        """Return the interval."""
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
            return f"{predict} a value {of}{self._range(wish)}"
        return f"{give} {wish.label} a probability {of}{self._range(wish)}"

    def now(self, wish: Wish, *, is_met: bool) -> str:
        """Return the sentence that says what the model decides of the row."""
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
        """Return the line before n alternatives."""
        does = self._doing(wish, verb=("decide", "give", "predict"))
        cases = "this case" if n == 1 else f"each of these {n} cases"
        return f"It would {does} in {cases}:"

    def _if(self, changes: Sequence[Change]) -> str:
        """Return all changes as a clause."""
        first, *rest = changes
        clauses = [f"{first.name} were {first.new} instead of {first.old}"]
        clauses += [f"{name} {new} instead of {old}" for name, new, old in rest]
        return f"if {joined(clauses, 'and')}"

    def would(self, wish: Wish, changes: Sequence[Change], *, is_met: bool) -> str:
        """Return the sentence for a customer on one alternative."""
        does = self._doing(wish, verb=("decide", "give", "predict"))
        would = "would" if is_met else "would still not"
        return f"The model {would} {does} {self._if(changes)}."

    def condition(self, changes: Sequence[Change]) -> str:
        """Return the changes as an item of a list."""
        return f"I{self._if(changes)[1:]}."

    def shift(
        self, outcome: str, before: str, after: str, changes: Sequence[Change], *, is_met: bool
    ) -> str:
        """Return the sentence for an analyst on one candidate, without its full stop."""
        start = outcome[0].upper() + outcome[1:] if is_met else f"Near miss: {outcome}"
        return f"{start} ({before} \N{RIGHTWARDS ARROW} {after}) {self._if(changes)}"

    def marked(self, names: Sequence[str]) -> str:
        """Return the mark of a candidate that changes protected features."""
        return f"protected: {', '.join(names)}"

    def left_out(self, n: int) -> str:
        """Return how many alternatives a customer is not shown, beside others."""
        if n == 1:
            return "1 other case is left out, because it concerns a protected attribute."
        return (
            f"{self.signs.whole(n)} other cases are left out, because they concern protected "
            "attributes."
        )

    def all_left_out(self, n: int) -> str:
        """Return that all n alternatives are not shown."""
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
        """Return that there is no alternative."""
        where = "Within the limits set for the search, no" if is_limited else "No"
        return f"{where} case was found in which it would."

    def caveat(self, reader: Reader) -> str:
        """Return what a reader must not conclude."""
        if reader == "analyst":
            return "This describes the model; it implies no causal effect of any change."
        return (
            "This describes how the model decides. It does not say that making such a change would "
            "bring about the outcome, or that a request would be granted."
        )

    def heading(self, outcome: str, before: str) -> str:
        """Return the analyst's first line."""
        return f"Wanted: {outcome}. The row is at {before}."

    def counts(self, n: int, n_missed: int, n_shown: int) -> str:
        """Return how many counterfactuals and near misses there are, and how many are shown."""
        text = count_candidates(n, n_missed) if n else "No counterfactual was found"
        if n_missed and not n:
            text += f"; {count_candidates(0, n_missed)}"
        if n_shown < n + n_missed:
            text += f"; {n_shown} {'is' if n_shown == 1 else 'are'} shown"
        return f"{text}."

    def protected(self, n: int) -> str:
        """Return how many counterfactuals are marked."""
        those = "1 counterfactual changes" if n == 1 else f"{n:,} counterfactuals change"
        return f"{those} protected attributes; texts for customers leave them out."

    def met(self) -> str:
        """Return that nothing was searched."""
        return "The row reaches the target as it is; nothing was searched."

    def measured(self, name: str, value: str) -> str:
        """Return an objective and its value."""
        if name == "changes":
            return f"{value} change{'' if value == '1' else 's'}"
        return f"{name} {value}"

    def question(self, a: str, b: str) -> str:
        """Return "A or B?" as text."""
        return f"Which suits you better?\nA: {a}\nB: {b}\nAnswer A, B or equal."


ENGLISH = English()
