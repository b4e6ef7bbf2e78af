"""Rules: what a counterfactual must satisfy, as the caller states it, and as it binds rows.

``docs/rules.md`` has a table of all kinds of rules; the grammar is at the top of `grammar.py`.

Conditions on one feature can stand wherever comparisons can. Names that are not one word are put in
double quotes or backticks, levels in double or single quotes; single quotes always mean a level,
backticks a feature. Words of the language are read in upper or lower case. Ordered levels compare
by their order. Numbers that differ by round-off are equal. A comparison that divides by zero does
not hold, and its contrary does not either. A comparison with a missing value is not broken, and its
contrary is not either: what stays missing breaks no rule, what is filled in must satisfy all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from counterpoint.arrays import MISSING, Bools, Floats, Ints
from counterpoint.checks import check_list
from counterpoint.errors import InvalidInput, told_by
from counterpoint.rules.check import check
from counterpoint.rules.domains import (
    Bounds,
    Domains,
    Impossible,
    RowDomains,
    Start,
    bounds_of,
    domains_of_rows,
    narrow_box,
    start_from_box,
    start_from_data,
)
from counterpoint.rules.grammar import parse, rewritten
from counterpoint.rules.normal_form import Count, NormalRule, normalize, rounding_of
from counterpoint.rules.program import Program, compile_rules, judge
from counterpoint.rules.propagation import contradictions, propagate
from counterpoint.rules.tokens import MOST_CHARACTERS
from counterpoint.rules.tree import InSet, Role, Statement, Word, compared_places, invalid
from counterpoint.table.features import Feature
from counterpoint.table.schema import Schema
from counterpoint.table.space import Box, Space

RowFunction = Callable[[Any], Any]  # of a table like the data


@dataclass(frozen=True)
class Rule:
    """One rule: a statement of the language, or a Python function over rows.

    Examples
    --------
    >>> print(Rule.parse("AGE>=18   and (age<=65)"))
    AGE >= 18 and age <= 65
    >>> print(Rule.of_function(lambda rows: rows["age"] > rows["years"], name="older"))
    function older
    """

    statement: Statement | None
    function: RowFunction | None = None
    name: str = ""
    source: str = field(default="", compare=False, repr=False)

    @classmethod
    def parse(cls, text: str) -> Rule:
        """Read a rule; its names are checked later, by `checked`."""
        return cls(parse(text), source=rewritten(text))

    @classmethod
    def of_function(cls, function: RowFunction, name: str | None = None) -> Rule:
        """Make a rule of a function that takes a frame of rows and returns a truth value for each.

        The table is of the data's own kind and dtypes. `name` is what messages and results call the
        rule; None takes the function's own. It cannot be compiled or repaired, only asked.
        """
        if not callable(function):
            raise InvalidInput(f"a rule's function must be callable, got {function!r}.")
        own = str(getattr(function, "__name__", type(function).__name__))
        return cls(None, function, own if name is None else name)

    def __str__(self) -> str:
        return f"function {self.name}" if self.statement is None else str(self.statement)

    def checked(self, schema: Schema) -> Rule:
        """Return the rule with its names looked up in a schema."""
        if self.statement is None:
            return self
        text = self.source or str(self)
        rule = Rule(check(self.statement, schema, text), source=text)
        if len(str(rule)) > MOST_CHARACTERS:  # it could not be read again
            raise invalid(
                text, (0, 1), f"written out it has {len(str(rule)):,} characters; split it."
            )
        return rule

    def ask(self, frame: Any) -> Bools:
        """Return what the rule's function says of each row of a table.

        Raises InvalidInput if the function raises, or does not return one truth value per row.
        """
        assert self.function is not None, "only functions are asked"
        try:
            answer = np.asarray(self.function(frame))
        except Exception as error:
            raise InvalidInput(
                f"rule {self.name!r} raised {type(error).__name__} for {len(frame)} rows: "
                f"{told_by(error)}"
            ) from error
        if answer.shape != (len(frame),) or answer.dtype != np.bool_:
            raise InvalidInput(
                f"rule {self.name!r} must return one truth value per row, booleans of shape "
                f"({len(frame)},); got {answer.dtype} of shape {answer.shape}."
            )
        return answer


@dataclass(frozen=True)
class Rules:
    """All rules of a search, checked against the schema.

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"age": [20, 40, 60], "job": ["clerk", "nurse", "smith"]})
    >>> rules = Rules.parse(["age increases", "job=nurse IMPLIES age>30"], Schema.infer(data))
    >>> print(rules)
    age increases
    job = nurse implies age > 30
    >>> rules.holds(np.array([[30.0, 1.0], [35.0, 1.0], [10.0, 0.0]]), np.array([25.0, 0.0]))
    array([False,  True, False])
    """

    rules: tuple[Rule, ...]  # the rules, in the caller's order
    schema: Schema  # what the columns are

    @classmethod
    def parse(cls, constraints: Iterable[str | Rule | RowFunction], schema: Schema) -> Rules:
        """Read and check the caller's constraints: texts, rules or functions over rows.

        Raises InvalidInput if a text is not a rule, or does not fit the schema, UnknownFeatureError
        if it names a feature the data do not have.
        """
        return cls(tuple(rule.checked(schema) for rule in cls.read(constraints)), schema)

    @staticmethod
    def read(constraints: Iterable[str | Rule | RowFunction]) -> tuple[Rule, ...]:
        """Read the caller's constraints without a schema.

        Raises InvalidInput if a text is not a rule.
        """
        example = "constraints=['age increases']"
        several = check_list("constraints", constraints, "rules", example)
        return tuple(_rule_of(each) for each in several)

    @property
    def texts(self) -> tuple[str, ...]:
        """The rules in canonical form; a function by its name."""
        return tuple(map(str, self.rules))

    def __str__(self) -> str:
        return "\n".join(self.texts)

    def __len__(self) -> int:
        return len(self.rules)

    @cached_property
    def written(self) -> tuple[Rule, ...]:
        """The rules that are statements of the language."""
        return tuple(rule for rule in self.rules if rule.statement is not None)

    @cached_property
    def functions(self) -> tuple[Rule, ...]:
        """The rules that are functions; one read from a file is a name, and cannot be asked."""
        return tuple(rule for rule in self.rules if rule.function is not None)

    @cached_property
    def normal_rules(self) -> tuple[NormalRule, ...]:
        """The written rules in terms of columns and codes."""
        d = len(self.schema)
        return tuple(normalize(rule.statement, d) for rule in self.written if rule.statement)

    @cached_property
    def rounding(self) -> Floats:
        """How much more each feature is rounded than float64."""
        return rounding_of(self.schema)

    @cached_property
    def program(self) -> Program:
        """The written rules, for kernels."""
        return compile_rules(self.normal_rules, self.rounding)

    def verdicts(self, genomes: Floats, row: Floats) -> Bools:
        """Return for genomes (n, d) which of the k written rules hold, shape (n, k)."""
        return judge(self.program, genomes, row)

    def all_verdicts(self, genomes: Floats, row: Floats, frame: Any) -> Bools:
        """Return which of all k rules hold, shape (n, k), functions asked about the same rows."""
        answers = np.ones((len(genomes), len(self.rules)), dtype=np.bool_)
        is_written = [rule.statement is not None for rule in self.rules]
        answers[:, is_written] = self.verdicts(genomes, row)
        for i, rule in enumerate(self.rules):
            if frame is not None and rule.function is not None:
                answers[:, i] = rule.ask(frame)
        return answers

    def holds(self, genomes: Floats, row: Floats) -> Bools:
        """Return for which of the genomes (n, d) of a row (d,) all written rules hold."""
        return np.asarray(self.verdicts(genomes, row).all(axis=1))

    def ask(self, frame: Any) -> Bools:
        """Return for which rows of a table all rules that are functions hold."""
        answers = np.ones(len(frame), dtype=np.bool_)
        for rule in self.functions:
            answers &= rule.ask(frame)
        return answers

    def bounds(self, row: Floats, start: Start | None = None) -> Bounds:
        """Return what the rules leave of each feature of a row, from the data's range or `start`.

        Raises InvalidInput if they leave nothing, with the rules that contradict each other.
        """
        begin = start_from_data(row, self.schema) if start is None else start
        domains = Domains(self.schema, begin)
        try:
            propagate(self.normal_rules, domains)
        except Impossible:
            messages = ["constraints contradict each other or the limits:"]
            raise InvalidInput("\n".join(messages + self.contradictions(row, begin))) from None
        return bounds_of(domains, self.normal_rules)

    def contradictions(self, row: Floats, start: Start | None = None) -> list[str]:
        """Return a message for each smallest set of rules found that cannot hold for a row.

        The row (d,) may break the rules, and must change then; it begins at `start`, or in the
        data's range, widened to the row. That none was found does not prove that there is none.

        Examples
        --------
        >>> import pandas as pd
        >>> schema = Schema.infer(pd.DataFrame({"age": [20, 40], "pay": [1.5, 9.0]}))
        >>> rules = Rules.parse(["age >= 35", "pay > 2", "fixed age"], schema)
        >>> print(*rules.contradictions(np.array([30.0, 2.0])))
        "age >= 35" and "fixed age" cannot hold together: no value of 'age' from 20 to 40 is left.
        """
        begin = start_from_data(row, self.schema) if start is None else start
        texts = [str(rule) for rule in self.written]
        return contradictions(texts, self.normal_rules, self.schema, begin)

    def narrow(self, rows: Floats, box: Box, space: Space) -> tuple[Box, RowDomains]:
        """Return the search boxes of rows (r, d) within the rules, and domains for `repair`.

        Raises InvalidInput if a row is left nothing, with the rules that contradict each other.
        """
        starts = [start_from_box(rows, box, w) for w in range(len(rows))]
        bounds = [
            self._about(~((row == MISSING) | space.may_miss)).bounds(row, start)
            for row, start in zip(rows, starts, strict=True)
        ]
        narrowed = narrow_box(rows, box, bounds, self.schema.names, space.may_miss)
        return narrowed, domains_of_rows(rows, narrowed, bounds, space)

    def _about(self, is_known: Bools) -> Rules:
        """Return the rules that compare only features (d,) that are never missing.

        Only they take values away for certain: of the others a missing value may excuse a genome.
        """
        if is_known.all():
            return self
        some = (
            rule
            for rule in self.rules
            if rule.statement is None or is_known[sorted(compared_places(rule.statement))].all()
        )
        return Rules(tuple(some), self.schema)


def _rule_of(constraint: object) -> Rule:
    """Return a caller's constraint as a rule."""
    if isinstance(constraint, Rule):
        return constraint
    if isinstance(constraint, str):
        return Rule.parse(constraint)
    if callable(constraint):
        return Rule.of_function(constraint)
    raise InvalidInput(
        f"constraints must hold texts or functions over rows, got {constraint!r}; "
        "for example 'age increases'."
    )


def rule_of_levels(j: int, codes: list[int], schema: Schema) -> Rule:
    """Return the rule that a category has one of some levels."""
    feature = schema.features[j]
    return Rule(_in_set(feature, [feature.levels[code] for code in codes])).checked(schema)


def as_levels(feature: Feature) -> str:
    """Show how the levels of a category are limited, as a range and as a rule."""
    some = list(feature.levels[:2])
    rule = _in_set(feature, some)
    return f'For example ranges={{{feature.name!r}: {some!r}}}, or the rule "{rule}".'


def _in_set(feature: Feature, levels: list[Any]) -> InSet:
    words = tuple(Word(str(level), role=Role.LEVEL) for level in levels)
    return InSet(Word(str(feature.name), role=Role.FEATURE), words)


@dataclass(frozen=True)
class RowRules:
    """Rules, what kernels run to repair candidates, and where each of r rows must stay."""

    rules: Rules  # the rules; what they say of a candidate is the last word
    program: Program  # the written ones for kernels, with the most features that may change
    domains: RowDomains  # the values left to the features of each row

    @classmethod
    def of(
        cls, rules: Rules, rows: Floats, box: Box, space: Space, max_changed: int
    ) -> tuple[Box, RowRules]:
        """Return the boxes of rows (r, d) within the rules, and the rules as they bind them.

        Raises InvalidInput if the rules contradict each other or the limits, or nothing could
        change.
        """
        narrowed, domains = rules.narrow(rows, box, space)
        if not (narrowed.may_change | narrowed.is_forced).any(axis=1).all():
            raise InvalidInput(
                "constraints and limits leave every feature at the row's value, so nothing could "
                "change; drop a rule."
            )
        d = rows.shape[1]
        count = (Count(max_changed, tuple(range(d))),) if max_changed < d else ()
        return narrowed, cls(
            rules, compile_rules((*rules.normal_rules, *count), rules.rounding), domains
        )

    def of_rows(self, which: Ints) -> RowRules:
        """Return the rules as they bind some of the rows only."""
        return replace(self, domains=self.domains.of_rows(which))

    def holds(self, genomes: Floats, rows: Floats) -> Bools:
        """Return for which of the genomes (r, n, d) of rows (r, d) all written rules hold."""
        answers = np.ones(genomes.shape[:2], dtype=np.bool_)
        for a, row in enumerate(rows):
            answers[a] = self.rules.holds(genomes[a], row)
        return answers
