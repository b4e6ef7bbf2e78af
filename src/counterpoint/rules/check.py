"""Names, levels and kinds of a rule against the schema, with errors that point at the word.

The check returns the tree with every word's `role` and `place` set: a feature's column, a level's
code. Which of the two a bare word is, the other side of its comparison decides: beside a feature of
levels it is one of these levels if it can be, else a feature.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from counterpoint.checks import is_number
from counterpoint.errors import InvalidInput, did_you_mean, listed
from counterpoint.rules import tree
from counterpoint.rules.tree import Expression, Role, Word
from counterpoint.table.features import Feature, Kind
from counterpoint.table.labels import LANGS
from counterpoint.table.schema import Schema
from counterpoint.table.values import day_of

OfOne = TypeVar("OfOne", bound=tree.Changed | tree.InRange | tree.InSet | tree.InSteps | tree.Moves)
OfMany = TypeVar("OfMany", bound=tree.Fixed | tree.AtMost | tree.Together)


def check(statement: tree.Statement, schema: Schema, text: str) -> tree.Statement:
    """Return the tree, parsed from a text, with the place of every word in the schema.

    Raises UnknownFeatureError if a name is not a column, InvalidInput if a level is not one of its
    feature's, or kinds do not fit.

    Examples
    --------
    >>> import pandas as pd
    >>> from counterpoint.rules.grammar import parse
    >>> schema = Schema.infer(pd.DataFrame({"age": [20, 30], "job": ["clerk", "nurse"]}))
    >>> text = "age > 25 implies job = nurs"
    >>> check(parse(text), schema, text)
    Traceback (most recent call last):
    counterpoint.errors.InvalidInput: rule "age > 25 implies job = nurs": 'nurs' is not a level...
          age > 25 implies job = nurs
                                 ^^^^
    """
    return _Checker(schema, text).statement(statement)


class _Checker:
    """The schema's names, and the text errors point into."""

    def __init__(self, schema: Schema, text: str) -> None:
        self.schema, self.features = schema, schema.features
        self.text = text
        self.times = Counter(map(str, schema.names))
        self.columns = {str(name): j for j, name in enumerate(schema.names)}
        self.codes: dict[int, dict[str, list[int]]] = {}

    # Statements and conditions

    def statement(self, node: tree.Statement) -> tree.Statement:
        if isinstance(node, tree.Fixed | tree.AtMost | tree.Together):
            return self.of_many(node)
        return self.condition(node)

    def of_many(self, node: OfMany) -> OfMany:
        features = tuple(map(self.name, node.features))
        for i, word in enumerate(features):
            if word in features[:i]:
                raise self.invalid(word, f"{word.text!r} is named twice.")
        return replace(node, features=features)

    def condition(self, node: tree.Condition) -> tree.Condition:
        match node:
            case tree.Implies(premise, conclusion):
                return replace(
                    node, premise=self.condition(premise), conclusion=self.condition(conclusion)
                )
            case tree.And(parts) | tree.Or(parts):
                return replace(node, parts=tuple(map(self.condition, parts)))
            case tree.Not(operand):
                return replace(node, operand=self.condition(operand))
            case tree.Compare():
                return self.compare(node)
            case tree.Changed():
                return self.of_one(node)
            case tree.InSet():
                return self.in_set(self.of_one(node))
            case tree.InRange() | tree.InSteps():
                return self.of_number(self.of_one(node))
            case tree.Moves():
                return self.moves(self.of_one(node))

    def of_one(self, node: OfOne) -> OfOne:
        return replace(node, feature=self.name(node.feature))

    def in_set(self, node: tree.InSet) -> tree.InSet:
        feature = self.feature(node.feature)
        if not feature.is_numeric:
            members = tuple(self.level(member, node.feature) for member in node.members)
            return replace(node, members=members)
        if feature.kind is Kind.DATE:
            return replace(node, members=tuple(self.day(member) for member in node.members))
        for member in node.members:
            if isinstance(member, Word):
                raise self.invalid(member, f"{node.feature} is a number and {member} is not.")
        return node

    def of_number(self, node: tree.InRange | tree.InSteps) -> tree.InRange | tree.InSteps:
        feature = self.feature(node.feature)
        if not feature.is_numeric:
            what = "a range" if isinstance(node, tree.InRange) else "a grid of steps"
            raise self.invalid(
                node.feature,
                f"{node.feature.text!r} is {feature.kind}, and {what} is for numbers; "
                "name its levels as in {a, b}.",
            )
        if feature.kind is Kind.DATE and (
            isinstance(node, tree.InRange) or node.origin is not None
        ):
            raise self.invalid(
                node.feature,
                f"{node.feature.text!r} is a date; compare it with dates in quotes, as in "
                f"{node.feature} >= '2024-12-31'.",
            )
        return node

    def moves(self, node: tree.Moves) -> tree.Moves:
        feature = self.feature(node.feature)
        if not (feature.is_numeric or feature.kind is Kind.ORDERED):
            raise self.invalid(
                node.feature,
                f"{node.feature.text!r} is {feature.kind}: its levels have no order, so it can "
                "only be changed or not.",
            )
        return node

    # Comparisons

    def compare(self, node: tree.Compare) -> tree.Compare:
        left, right = node.left, node.right
        if (feature := self.feature_of_levels(left)) is not None:
            left, right = self.beside_levels(left, feature, right)
        elif (feature := self.feature_of_levels(right)) is not None:
            right, left = self.beside_levels(right, feature, left)
        else:
            left, right = self.numbers(left, right), self.numbers(right, left)
        if feature is not None and node.comparator not in ("=", "!="):
            self.check_order(node, feature)
        return replace(node, left=left, right=right)

    def feature_of_levels(self, node: Expression) -> Word | None:
        """Return the word for a feature of levels, if the value is one or the row's own of one."""
        word = node.feature if isinstance(node, tree.Was) else node
        if not isinstance(word, Word) or word.role is Role.LEVEL:
            return None
        if (word := self.known(word)).text not in self.columns:
            return None
        word = self.name(word)
        return None if self.feature(word).is_numeric else word

    def beside_levels(
        self, own: Expression, feature: Word, other: Expression
    ) -> tuple[Expression, Expression]:
        """Return both sides of a comparison of which `own` is a feature of levels."""
        level = self.level_or_feature(other, feature)
        return replace(own, feature=feature) if isinstance(own, tree.Was) else feature, level

    def level_or_feature(self, node: Expression, feature: Word) -> Expression:
        """Return what is compared with a feature of levels: a level, or a feature of the same."""
        may_be_level = isinstance(node, Word) and node.role is not Role.FEATURE
        if isinstance(node, Word) and may_be_level and node.text in self.codes_of(feature):
            return self.level(node, feature)
        if (other := self.feature_of_levels(node)) is not None:
            return self.same_levels(node, other, feature)
        if isinstance(node, tree.Negative) and isinstance(node.operand, tree.Number):
            node = tree.Number(-node.operand.value, span=node.span)
        if isinstance(node, tree.Number | Word):
            return self.level(node, feature)
        raise self.invalid(
            node,
            f"{feature.text!r} is {self.feature(feature).kind}; it can be compared with its "
            "levels, not with numbers.",
        )

    def same_levels(self, node: Expression, other: Word, feature: Word) -> Expression:
        """Return a second feature of levels; codes mean the same only if the levels do."""
        if self.feature(other).levels != self.feature(feature).levels:
            raise self.invalid(node, f"{feature.text!r} and {other.text!r} have different levels.")
        if isinstance(node, tree.Was):
            return replace(node, feature=other)
        return replace(other, is_quoted=other.text in self.codes_of(feature))

    def check_order(self, node: tree.Compare, feature: Word) -> None:
        kind = self.feature(feature).kind
        if kind is not Kind.ORDERED:
            raise self.invalid(
                node,
                f"{feature.text!r} is {kind}: its levels have no order, so only = and != "
                "compare them.",
            )

    # Values

    def numbers(self, node: Expression, other: Expression) -> Expression:
        """Return a value made of numbers; `other` is what it is compared with."""
        if self.is_date(other) and not self.is_date(node):
            return self.day(node)
        if isinstance(node, Word) and node.role is Role.LEVEL:
            if isinstance(other, Word) and other.role is Role.LEVEL:
                raise self.invalid(node, "neither side of the comparison names a feature.")
            self.number(other)
            raise self.invalid(node, f"{other} is a number and {node.text!r} is not.")
        return self.number(node)

    def number(self, node: Expression) -> Expression:
        match node:
            case tree.Number():
                return node
            case tree.Was(feature):
                return replace(node, feature=self.numeric(feature))
            case Word():
                return self.numeric(node)
            case tree.Negative(operand):
                return replace(node, operand=self.number(operand))
            case tree.Chain(first, rest):
                others = tuple((operator, self.number(value)) for operator, value in rest)
                return replace(node, first=self.number(first), rest=others)

    def numeric(self, word: Word) -> Word:
        """Return the word of a feature one can calculate with."""
        if word.role is Role.LEVEL:
            raise self.invalid(word, f"{word.text!r} is a level; numbers are needed here.")
        found = self.name(word)
        feature = self.feature(found)
        if not feature.is_numeric:
            raise self.invalid(
                word, f"{word.text!r} is {feature.kind}; one cannot calculate with its levels."
            )
        return found

    # Dates, which are levels in so far as they are written in quotes and have a code: their day

    def is_date(self, node: Expression) -> bool:
        """Whether a value is a date: a feature of dates, the row's own, or some days from one."""
        if isinstance(node, tree.Chain):
            is_moved = node.is_sum and not any(self.is_date(value) for _, value in node.rest)
            return is_moved and self.is_date(node.first)
        word = node.feature if isinstance(node, tree.Was) else node
        if not isinstance(word, Word) or word.role is Role.LEVEL:
            return False
        word = self.known(word)
        return (
            self.times[word.text] == 1 and self.features[self.columns[word.text]].kind is Kind.DATE
        )

    def day(self, node: Expression) -> Word:
        """Return a date in quotes with its day for a code; refuse what else stands beside dates."""
        text = node.text if isinstance(node, Word) else ""
        try:
            place = int(day_of(text, ""))
        except InvalidInput:
            raise self.invalid(
                node,
                "beside a date only dates can stand, in quotes, as in '2024-12-31'; or count the "
                "days from one, as in was(…) + 30.",
            ) from None
        return Word(text, role=Role.LEVEL, place=place, is_quoted=True, span=node.span)

    # Words

    def name(self, word: Word) -> Word:
        """Return the word of a feature with its column."""
        if self.times[word.text] > 1:
            raise self.invalid(
                word, f"several columns are written {word.text!r}; rename all but one."
            )
        word = self.known(word)
        if word.text not in self.columns:
            raise tree.unknown(self.text, word.span, self.unknown(word.text))
        return replace(word, role=Role.FEATURE, place=self.columns[word.text], is_quoted=False)

    def known(self, word: Word) -> Word:
        """Return the word of a column that is named as pages do: by label, without underscores."""
        if word.text in self.columns or word.role is Role.LEVEL:
            return word
        said, called = word.text.casefold(), self.schema.labels.feature
        alike = [
            str(name)
            for name in self.schema.names
            if said in {called(name, lang).casefold() for lang in LANGS}
        ]
        return replace(word, text=alike[0]) if len(alike) == 1 else word

    def unknown(self, text: str) -> str:
        """Return what is wrong with a name of nothing, and which feature it may be meant for."""
        if (part := self.schema.group_of(text)) is not None:
            group = Word(str(part[0]), role=Role.FEATURE)
            level = Word(str(part[1]), role=Role.LEVEL)
            return (
                f"{text!r} is a column of the one-hot group {group.text!r}; write {group} = {level}"
                f" where it is on, {group} != {level} where it is not."
            )
        hint = did_you_mean(text, self.columns) or f"the columns are {listed(self.columns)}."
        return f"{text!r} is not a column of the data; {hint}"

    def feature(self, word: Word) -> Feature:
        return self.features[word.place]

    def codes_of(self, feature: Word) -> dict[str, list[int]]:
        """Return the codes of a feature's levels by how they are written."""
        if feature.place not in self.codes:
            self.codes[feature.place] = _codes(self.feature(feature).levels)
        return self.codes[feature.place]

    def level(self, node: tree.Number | Word, feature: Word) -> Word:
        """Return a level of `feature`, by its text or by the number it is."""
        levels = self.feature(feature).levels
        text = tree.write_number(node.value) if isinstance(node, tree.Number) else node.text
        codes = self.codes_of(feature).get(text, [])
        if isinstance(node, tree.Number):
            same = [i for i, each in enumerate(levels) if is_number(each) and each == node.value]
            codes = same or codes
        if not codes:
            hint = did_you_mean(text, levels) if isinstance(node, Word) else ""
            hint = hint or f"its levels are {listed(levels)}."
            raise self.invalid(node, f"{text!r} is not a level of {feature.text!r}; {hint}")
        text = str(levels[codes[0]])
        if len(self.codes_of(feature)[text]) > 1:
            raise self.invalid(node, f"{feature.text!r} has several levels written {text!r}.")
        is_quoted = text in self.columns  # else it could be read as that feature
        return Word(text, role=Role.LEVEL, place=codes[0], is_quoted=is_quoted, span=node.span)

    def invalid(self, node: tree.RuleNode, problem: str) -> InvalidInput:
        return tree.invalid(self.text, node.span, problem)


def _codes(levels: tuple[Any, ...]) -> dict[str, list[int]]:
    """Return codes by how levels can be written; truth values also in lower case."""
    codes: dict[str, list[int]] = {}
    for code, level in enumerate(levels):
        codes.setdefault(str(level), []).append(code)
        if isinstance(level, bool | np.bool_):
            codes.setdefault(str(level).lower(), []).append(code)
    return codes
