"""From text to tree, by recursive descent.

    statement  = "fixed" words
               | "at" "most" NUMBER ("change" | "changes") ["among" words]
               | word "," words "change" "together"
               | condition
    condition  = either ["implies" condition]
    either     = both {"or" both}
    both       = negation {"and" negation}
    negation   = "not" negation | test
    test       = sum {comparator sum}
               | word ["not"] "in" "{" member {"," member} "}"
               | word "in" [number] ".." [number]
               | word "in" "steps" "of" number ["from" number]
               | word ("increases" | "decreases") ["by" "at" "most" number]
               | word "changes" "by" "at" "most" number
    sum        = product {("+" | "-") product}
    product    = unary {("*" | "/") unary}
    unary      = "-" unary | atom
    atom       = NUMBER | word | "was" "(" word ")" | "changed" "(" word ")" | "(" condition ")"
    words      = word {"," word}
    member     = number | word
    number     = ["-"] NUMBER

What people say instead, such as "age only increases" or "age is fixed", is rewritten first.

One token of look-ahead decides. Parentheses hold conditions and values alike; that a condition
stands where one is needed is checked as the tree is built.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import cast, get_args

from counterpoint.arrays import NARROWEST
from counterpoint.errors import InvalidInput
from counterpoint.rules import tree
from counterpoint.rules.tokens import Reader, T, Token
from counterpoint.rules.tree import Role, Word

COMPARATORS = get_args(tree.Comparator)
LONGEST_SAID = 300  # characters of what people say
# A name as people write it; of several words only if none of them is one of a sentence.
_OTHERS = "|".join(
    [*sorted(tree.KEYWORDS), "are", "if", "is", "keep", "only", "then", "do", "does"]
)
_WORD = rf"(?!(?:{_OTHERS}|can|may|must|should|never|no|cannot)\b)[^\W\d]\w*"
NAME = rf"""(?:`[^`]+`|"[^"]+"|{_WORD}(?:\s+{_WORD})*?)"""
AND = r"\s*(?:,\s*and\b|,|\band\b)\s*"
NAMES = rf"(?P<names>{NAME}(?:{AND}{NAME})*)"
NUMBER = r"-?\d+(?:\.\d+)?"
VALUE = rf"""(?:{NUMBER}|'[^']+'|"[^"]+"|{_WORD}(?:\s+{_WORD})*)"""
IS = r"(?:(?:is|are|must\s+be|should\s+be|has\s+to\s+be)\s+)?"
MAY = r"(?:can|may|must|should|is\s+allowed\s+to)"
NOT = (
    r"(?:never|(?:does|do|can|may|must|should)\s+(?:not|never)|cannot|doesn't|don't|can't|mustn't)"
)
UP = r"(?:increases?|rises?|grows?|go(?:es)?\s+up|(?:be|get)\s+(?:larger|higher|greater))"
DOWN = r"(?:decreases?|falls?|shrinks?|go(?:es)?\s+down|(?:be|get)\s+(?:smaller|lower|less))"
# What people say, and the rule that it is; each name of a list has a rule of its own.
PHRASES = [
    (rf"(?:{MAY}\s+)?only\s+{UP}|{MAY}\s+{UP}|{NOT}\s+{DOWN}", "{} increases"),
    (rf"(?:{MAY}\s+)?only\s+{DOWN}|{MAY}\s+{DOWN}|{NOT}\s+{UP}", "{} decreases"),
    (
        rf"{NOT}\s+(?:changes?|vary|varies|differs?)|"
        r"(?:(?:is|are|stays?|remains?|must\s+(?:be|stay|remain))\s+)?"
        r"(?:fixed|constant|unchanged|the\s+same|as\s+it\s+is|as\s+they\s+are)|stays?|remains?",
        "fixed {}",
    ),
    (
        rf"{IS}(?:at\s+least|no(?:t)?\s+(?:less\s+than|below|under))\s+(?P<low>{NUMBER})",
        "{} >= {low}",
    ),
    (
        rf"{IS}(?:at\s+most|up\s+to|no(?:t)?\s+(?:more\s+than|above|over)|"
        rf"(?:cannot|{NOT})\s+(?:exceed|be\s+(?:more\s+than|above|over)))\s+(?P<high>{NUMBER})",
        "{} <= {high}",
    ),
    (rf"{IS}(?:less\s+than|below|under)\s+(?P<high>{NUMBER})", "{} < {high}"),
    (rf"{IS}(?:more\s+than|above|over)\s+(?P<low>{NUMBER})", "{} > {low}"),
    (
        rf"{IS}(?:between|from|in)\s+(?P<low>{NUMBER})\s+(?:and|to)\s+(?P<high>{NUMBER})",
        "{} in {low}..{high}",
    ),
    (rf"(?:is|must\s+be|should\s+be|equals)\s+(?P<value>{VALUE})", "{} = {value}"),
    (rf"(?:is\s+not|must\s+not\s+be|isn't)\s+(?P<value>{VALUE})", "{} != {value}"),
    (rf"(?P<sign><=|>=|!=|=|<|>|≤|≥)\s*(?P<value>{NUMBER})", "{} {sign} {value}"),
]
KEEP = rf"(?:keep|hold|fix|freeze|lock|(?:never|do\s+not|don't)\s+(?:change|touch|vary))\s+{NAMES}"
KEPT = re.compile(rf"\s*{KEEP}(?:\s+(?:fixed|constant|unchanged|the\s+same|as\s+is))?\s*\.?", re.I)
THEN = re.compile(r"\s*if\s+(?P<premise>.+?)\s*,?\s+then\s+(?P<conclusion>.+)", re.I)
FEWER = re.compile(
    r"(?!\s*at\s+most\s+\d+\s+changes?\b)\s*(?:change\s+)?"
    r"(?:at\s+most|not?\s+more\s+than|up\s+to|max(?:imum|\.)?)"
    r"\s+(?P<n>\d+)\s+(?:changes?|(?:features|things|values)(?:\s+(?:may\s+)?change)?)\b",
    re.I,
)
EXPRESSIONS = get_args(tree.Expression)


def parse(text: str) -> tree.Statement:
    """Return the tree of a rule; names are not checked yet.

    Raises InvalidInput if the text is not a rule, with the place where it stops being one.

    Examples
    --------
    >>> parse("age increases")
    Moves(feature=Word(text='age'), direction='increases', most=None)
    >>> print(parse("((a)) <= 2*b  AND not changed( `c` )"))
    a <= 2 * b and not changed(c)
    """
    return _Parser(rewritten(text)).statement()


def rewritten(text: str) -> str:
    """Return the rule that a text in everyday words means; any other text as it is.

    Examples
    --------
    >>> rewritten("age only increases"), rewritten("no more than 3 changes")
    ('age increases', 'at most 3 changes')
    >>> rewritten("keep age and sex"), rewritten("if job is cook then credit amount < 9")
    ('fixed age, sex', 'job = cook implies "credit amount" < 9')
    """
    if len(text) > LONGEST_SAID:
        return text
    if FEWER.match(text):
        return FEWER.sub(r"at most \g<n> changes", text)
    if said := KEPT.fullmatch(text):
        return f"fixed {', '.join(_names(said['names']))}"
    if said := THEN.fullmatch(text):
        parts = [rewritten(part) for part in said.group("premise", "conclusion")]
        return " implies ".join(re.sub(r"^fixed (.+)$", r"not changed(\1)", part) for part in parts)
    for phrase, rule in PHRASES:
        said = re.fullmatch(rf"\s*{NAMES}\s+(?:{phrase})\s*\.?\s*", text, re.IGNORECASE)
        if said is None:
            continue
        names, ends = _names(said["names"]), said.groupdict()
        if "sign" in ends and names == [said["names"]]:
            return text  # which is a rule as it stands
        if "value" in ends and " " in ends["value"] and ends["value"][0] not in "'\"":
            ends["value"] = f"'{ends['value']}'"
        if rule.startswith("fixed"):
            return rule.format(", ".join(names))
        return " and ".join(rule.format(name, **ends) for name in names)
    return text


def _names(text: str) -> list[str]:
    """Return the names of a list, those of several words in quotes."""
    names = re.split(rf"""{AND}(?=(?:[^"`]*["`][^"`]*["`])*[^"`]*$)""", text)
    return [f'"{name}"' if re.search(r"^\w.*\s", name) else name for name in names]


class _Parser(Reader):
    """Reads the tree of one rule; each method reads the part of the grammar it is named after."""

    # Statements

    def statement(self) -> tree.Statement:
        if self.token.kind == "end":
            raise self.fault("it is empty; write for example 'age increases'.")
        start = self.token.span[0]
        statement: tree.Statement
        if self.takes("fixed"):
            statement = tree.Fixed(self.words(), span=self.since(start))
        elif self.takes("at"):
            statement = self.at_most(start)
        elif self.token.kind == "word" and self.tokens[self.at + 1].is_symbol(","):
            statement = self.together(start)
        else:
            statement = self.as_condition(self.said(self.condition()))
        if self.token.kind != "end":
            hint = self.several_words(self.tokens[self.at - 1]) or self.after_number()
            raise self.fault(f"expected the end or an operator, found {self.token}{hint}.")
        return statement

    def said(self, node: tree.RuleNode) -> tree.RuleNode:
        """Refuse a feature that words follow which make no rule, with sentences that do."""
        if isinstance(node, Word) and self.token.kind in ("word", "keyword"):
            name = self.text[slice(*node.span)]
            hint = self.several_words(self.tokens[self.at - 1])
            raise self.fault(
                f"what follows {name} is not understood; write for example '{name} increases', "
                f"'{name} decreases', 'fixed {name}', '{name} >= 21' or '{name} in 6..60'{hint}."
            )
        return node

    def at_most(self, start: int) -> tree.AtMost:
        self.expect("most")
        where = self.token.span
        count = self.number()
        if not (count.is_integer() and count >= 1):
            raise self.fault("the number of changes must be a whole number from 1 on.", where)
        if not self.takes("change", "changes"):
            raise self.fault(f"expected 'changes', found {self.token}.")
        features = self.words() if self.takes("among") else ()
        return tree.AtMost(int(count), features, span=self.since(start))

    def together(self, start: int) -> tree.Together:
        features = self.words()
        self.expect("change", "together")
        return tree.Together(features, span=self.since(start))

    # Conditions

    def condition(self) -> tree.RuleNode:
        left = self.either()
        if not self.takes("implies"):
            return left
        premise = self.as_condition(left)
        conclusion = self.as_condition(self.nested(self.condition))
        return tree.Implies(premise, conclusion, span=self.since(premise.span[0]))

    def either(self) -> tree.RuleNode:
        return self.flat(tree.Or, self.joined("or", self.both))

    def both(self) -> tree.RuleNode:
        return self.flat(tree.And, self.joined("and", self.negation))

    def flat(self, kind: type[tree.And | tree.Or], nodes: list[tree.RuleNode]) -> tree.RuleNode:
        """Join conditions; those joined in the same way already need no parentheses."""
        if len(nodes) == 1:
            return nodes[0]
        parts: list[tree.Condition] = []
        for node in nodes:
            part = self.as_condition(node)
            parts.extend(
                part.parts
                if isinstance(part, tree.And | tree.Or) and type(part) is kind
                else [part]
            )
        return kind(tuple(parts), span=span_of(nodes))

    def joined(self, mark: str, read: Callable[[], T]) -> list[T]:
        """Return one or more nodes with a keyword or symbol between them."""
        parts = [read()]
        while self.takes(mark):
            parts.append(read())
        return parts

    def negation(self) -> tree.RuleNode:
        start = self.token.span[0]
        if not self.takes("not"):
            return self.test()
        operand = self.as_condition(self.nested(self.negation))
        return tree.Not(operand, span=self.since(start))

    def test(self) -> tree.RuleNode:
        left = self.sum()
        if self.sees(*COMPARATORS):
            return self.comparison(self.as_value(left))
        if self.sees("increases", "decreases", "changes"):
            return self.moves(self.as_feature(left))
        if self.sees("in", "not"):
            return self.membership(self.as_feature(left))
        return left

    def comparison(self, left: tree.Expression) -> tree.Condition:
        """Read ``a < b`` or ``a < b < c``, which means ``a < b and b < c``."""
        tests: list[tree.Condition] = []
        while self.sees(*COMPARATORS):
            comparator = cast(tree.Comparator, self.next().text)
            right = self.as_value(self.sum())
            tests.append(tree.Compare(left, comparator, right, span=span_of([left, right])))
            left = right
        return tests[0] if len(tests) == 1 else tree.And(tuple(tests), span=span_of(tests))

    def moves(self, feature: Word) -> tree.Moves:
        direction = cast(tree.Direction, self.next().text)
        most = None
        if direction == "changes" or self.sees("by"):
            self.expect("by", "at", "most")
            where = self.token.span
            most = self.number()
            if most < 0:
                raise self.fault("how much may change must not be below 0.", where)
        return tree.Moves(feature, direction, most, span=self.since(feature.span[0]))

    def membership(self, feature: Word) -> tree.Condition:
        is_negated = self.takes("not")
        self.expect("in")
        start = feature.span[0]
        if self.takes("{"):
            members = self.members()
            return tree.InSet(feature, members, is_negated, span=self.since(start))
        if is_negated:
            raise self.fault(f"expected '{{' after 'not in', found {self.token}.")
        if self.takes("steps"):
            return self.steps(feature)
        return self.range(feature)

    def members(self) -> tuple[tree.Number | Word, ...]:
        found = self.joined(",", self.member)
        if not self.takes("}"):
            hint = self.several_words(self.tokens[self.at - 1])
            raise self.fault(f"expected '}}', found {self.token}{hint}.")
        return tuple(found)

    def several_words(self, last: Token) -> str:
        """Say how a name of several words is written, if two words stand beside each other."""
        if last.kind != "word" or self.token.kind not in ("word", "keyword", "number"):
            return ""
        end = self.at + 1
        while self.tokens[end].kind in ("word", "number"):
            end += 1
        name = self.text[last.span[0] : self.tokens[end - 1].span[1]]
        return f'; a name of several words goes in quotes: "{name}"'

    def after_number(self) -> str:
        """Say how a number is written that a comma or a unit follows."""
        if self.tokens[self.at - 1].kind != "number":
            return ""
        if self.token.is_symbol(","):
            return "; decimals are written with a point, as in 2.5"
        return "; numbers are written without their unit" if self.token.kind == "word" else ""

    def member(self) -> tree.Number | Word:
        token = self.token
        if token.kind == "number" or self.sees("-"):
            start = token.span[0]
            return tree.Number(self.number(), span=self.since(start))
        if token.kind not in ("word", "keyword") or token.role is Role.FEATURE:
            raise self.fault(f"expected a level or a number, found {token}.")
        self.at += 1
        # A keyword can only be a level here, and keeps its own spelling.
        text = self.text[slice(*token.span)] if token.kind == "keyword" else token.text
        return Word(text, role=Role.LEVEL, span=token.span)

    def steps(self, feature: Word) -> tree.InSteps:
        self.expect("of")
        where = self.token.span
        step = self.number()
        if step <= 0:
            raise self.fault("a step must be above 0.", where)
        if step < NARROWEST:
            raise self.fault("the step is too small to compute with.", where)
        origin = self.number() if self.takes("from") else None
        return tree.InSteps(feature, step, origin, span=self.since(feature.span[0]))

    def range(self, feature: Word) -> tree.InRange:
        start = self.token.span[0]
        low = None if self.sees("..") else self.number()
        self.expect("..")
        high = self.number() if self.token.kind == "number" or self.sees("-") else None
        if low is None and high is None:
            raise self.fault("a range needs an end, as in 6..60, 6.. or ..60.", self.since(start))
        if low is not None and high is not None and low > high:
            raise self.fault("the range is empty: its ends are swapped.", self.since(start))
        return tree.InRange(feature, low, high, span=self.since(feature.span[0]))

    # Values

    def sum(self) -> tree.RuleNode:
        return self.chain(("+", "-"), self.product)

    def product(self) -> tree.RuleNode:
        return self.chain(("*", "/"), self.unary)

    def chain(self, operators: tuple[str, ...], read: Callable[[], tree.RuleNode]) -> tree.RuleNode:
        first = read()
        rest: list[tuple[tree.Operator, tree.Expression]] = []
        while self.sees(*operators):
            operator = cast(tree.Operator, self.next().text)
            rest.append((operator, self.as_value(read())))
        if not rest:
            return first
        value, span = self.as_value(first), span_of([first, rest[-1][1]])
        if isinstance(value, tree.Chain) and value.rest[0][0] in operators:
            return tree.Chain(value.first, (*value.rest, *rest), span=span)
        return tree.Chain(value, tuple(rest), span=span)

    def unary(self) -> tree.RuleNode:
        start = self.token.span[0]
        if not self.takes("-"):
            return self.atom()
        operand = self.as_value(self.nested(self.unary))
        return tree.Negative(operand, span=self.since(start))

    def atom(self) -> tree.RuleNode:
        start = self.token.span[0]
        if self.token.kind == "number":
            return tree.Number(self.number(), span=self.since(start))
        if self.token.kind == "word":
            token = self.next()
            return Word(token.text, role=token.role, span=token.span)
        if self.sees("was", "changed"):
            kind = tree.Was if self.next().text == "was" else tree.Changed
            self.expect("(")
            feature = self.word()
            self.expect(")")
            return kind(feature, span=self.since(start))
        if self.takes("("):
            inside = self.nested(self.condition)
            self.expect(")")
            return inside
        raise self.unexpected("a value")

    def words(self) -> tuple[Word, ...]:
        return tuple(self.joined(",", self.word))

    def word(self) -> Word:
        """Read the name of a feature."""
        if self.token.kind != "word":
            raise self.unexpected("a feature")
        token = self.next()
        return self.as_feature(Word(token.text, role=token.role, span=token.span))

    def unexpected(self, wanted: str) -> InvalidInput:
        """Build the error for a token that cannot be what is wanted here."""
        hint = ""
        before = self.tokens[self.at - 1] if self.at else None
        if self.token.kind == "keyword":
            hint = "; a name of that spelling goes in quotes"
        elif before is not None and before.is_symbol("=") and self.sees("<", ">"):
            hint = f"; did you mean '{self.token.text}='?"
        end = "" if hint.endswith("?") else "."
        return self.fault(f"expected {wanted}, found {self.token}{hint}{end}")

    # What stands where

    def as_condition(self, node: tree.RuleNode) -> tree.Condition:
        if isinstance(node, EXPRESSIONS):
            hint = self.several_words(self.tokens[self.at - 1])
            told = f"expected a condition such as age >= 21, found a value{hint}."
            raise self.fault(told, node.span)
        return cast(tree.Condition, node)

    def as_value(self, node: tree.RuleNode) -> tree.Expression:
        if not isinstance(node, EXPRESSIONS):
            raise self.fault("expected a value such as age + 5, found a condition.", node.span)
        return cast(tree.Expression, node)

    def as_feature(self, node: tree.RuleNode) -> Word:
        if not isinstance(node, Word) or node.role is Role.LEVEL:
            raise self.fault(
                "a single feature must stand here (single quotes are for levels).", node.span
            )
        return Word(node.text, role=Role.FEATURE, span=node.span)


def span_of(nodes: Sequence[tree.RuleNode]) -> tree.Span:
    """Return the span from the first to the last of `nodes`."""
    return nodes[0].span[0], nodes[-1].span[1]
