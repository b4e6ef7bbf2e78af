"""A rule's text as tokens, and a reader that takes them one by one."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from counterpoint.arrays import LARGEST
from counterpoint.errors import InvalidInput
from counterpoint.rules.tree import BARE, KEYWORDS, Role, Span, invalid

MOST_CHARACTERS = 10_000
MOST_NESTED = 30  # each level costs the parser some fourteen frames of Python's thousand
T = TypeVar("T")

_DIGITS = r"[0-9](?:_?[0-9])*"
_PATTERN = re.compile(
    rf"""
      (?P<space>\s+)
    | (?P<symbol>\.\.|<=|>=|!=|==|[≤≥≠<>=+\-*/(){{}},])
    | (?P<number>(?:{_DIGITS}(?:\.{_DIGITS})?|\.{_DIGITS})(?:[eE][+-]?{_DIGITS})?)
    | (?P<word>{BARE.pattern})
    | (?P<quoted>"[^"]*(?:""[^"]*)*"|'[^']*(?:''[^']*)*'|`[^`]*(?:``[^`]*)*`)
    """,
    re.VERBOSE,
)
_SAME = {"==": "=", "≤": "<=", "≥": ">=", "≠": "!="}


@dataclass(frozen=True)
class Token:
    """A piece of text that belongs together, of kind keyword, word, number, symbol or end.

    Keywords are in lower case, words without their quotes, of which `role` says what they mean, and
    comparators in one spelling.
    """

    kind: str
    text: str
    span: Span
    role: Role = Role.EITHER

    def is_symbol(self, *texts: str) -> bool:
        """Whether the token is one of these keywords or symbols."""
        return self.kind in ("keyword", "symbol") and self.text in texts

    def __str__(self) -> str:
        return "the end" if self.kind == "end" else repr(self.text)


def tokenize(text: str) -> list[Token]:
    """Return the tokens of a rule, the last of kind "end".

    Examples
    --------
    >>> [token.text for token in tokenize("age IN 6..60")]
    ['age', 'in', '6', '..', '60', '']
    """
    if len(text) > MOST_CHARACTERS:
        raise invalid(
            text,
            (0, 1),
            f"a rule may have {MOST_CHARACTERS:,} characters at most, this one has "
            f"{len(text):,}; split it.",
        )
    tokens, at = [], 0
    while at < len(text):
        found = _PATTERN.match(text, at)
        if found is None:
            raise _unreadable(text, at)
        if found.lastgroup != "space":
            tokens.append(_token(found))
        at = found.end()
    return [*tokens, Token("end", "", (at, at + 1))]


def _token(found: re.Match[str]) -> Token:
    piece, kind = found.group(), str(found.lastgroup)
    if kind == "quoted":
        quote = piece[0]
        return Token("word", piece[1:-1].replace(quote * 2, quote), found.span(), Role(quote))
    if kind == "word" and piece.lower() in KEYWORDS:
        return Token("keyword", piece.lower(), found.span())
    return Token(kind, _SAME.get(piece, piece), found.span())


def _unreadable(text: str, at: int) -> InvalidInput:
    """Build the error for a character that starts nothing."""
    if text[at] in "\"'`":
        return invalid(text, (at, at + 1), hinted("this quote is never closed.", text))
    return invalid(
        text,
        (at, at + 1),
        f"{text[at]!r} cannot be read; put names that are more than letters, digits and "
        "underscores in double quotes.",
    )


# What people write who have not read the language, and the rule they mean.
_NAME, _NUMBER = r"(?P<name>[\"`][^\"`]+[\"`]|\w+)", r"(?P<number>-?[\d.]+)"
_NOT = r"(?:do not|does not|don't|doesn't|never|can ?not|can't|must not|may not|should not)"
_MAY = r"(?:(?:can|may|must|should|will) )?(?:only )?(?:be )?"
_IS = r"(?:is|be|must be|should be|stays|must stay|remains|must remain) "
_UP = r"(?:increas\w*|go(?:es)? up|gr[eo]w\w*|ris\w+|(?:get |be )?(?:larger|higher))"
_DOWN = r"(?:decreas\w*|go(?:es)? down|fall\w*|shrink\w*|(?:get |be )?(?:smaller|lower))"
_SAME_VALUE = r"(?:fixed|constant|immutable|frozen|unchanged|the same|as it is)"
_MEANT = [
    (rf"{_NOT} (?:change|vary|touch) {_NAME}", "not changed({name})"),
    (rf"(?:keep|hold|fix|freeze|lock) {_NAME}(?: {_SAME_VALUE})?", "not changed({name})"),
    (rf"{_NAME} (?:{_IS})?{_SAME_VALUE}", "not changed({name})"),
    (rf"{_NAME} {_NOT} (?:be )?(?:change[sd]?|vary|varied)", "not changed({name})"),
    (rf"{_NAME} (?:{_MAY}{_UP}|{_NOT} {_DOWN})", "{name} increases"),
    (rf"{_NAME} (?:{_MAY}{_DOWN}|{_NOT} {_UP})", "{name} decreases"),
    (rf"{_NAME} (?:{_IS})?at least {_NUMBER}", "{name} >= {number}"),
    (rf"{_NAME} (?:{_IS})?at most {_NUMBER}", "{name} <= {number}"),
    (rf"{_NAME} (?:{_IS})?between {_NUMBER} and (?P<high>-?[\d.]+)", "{name} in {number}..{high}"),
    (rf"{_NAME} (?:is|equals) (?P<value>[\w.-]+)", "{name} = {value}"),
]


def hinted(problem: str, text: str) -> str:
    """Return a problem with the rule that was probably meant, if people often write it so.

    Examples
    --------
    >>> hinted("expected a condition.", "debt < 5 and age never decreases")
    'expected a condition; did you mean "age increases"?'
    """
    whole = " ".join(text.split())
    if re.match(r"only (?:change )?\w+|\w+ only(?: may change)?$", whole, re.IGNORECASE):
        return (
            f"{problem[:-1]}; to let only some features change, fix the others: 'fixed age, sex'."
        )
    clauses = re.split(r" (?:and|or|implies) ", whole, flags=re.IGNORECASE)
    for clause in [whole, *clauses]:
        for pattern, rule in _MEANT:
            if found := re.fullmatch(pattern, clause, flags=re.IGNORECASE):
                meant = rule.format(**found.groupdict())
                if clause == whole and meant.startswith("not changed("):
                    meant = f"fixed {found['name']}"
                return f'{problem[:-1]}; did you mean "{meant}"?'
    return problem


class Reader:
    """The tokens of one rule, how far they have been read, and how deep it is nested there."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokenize(text)
        self.at = 0
        self.depth = 0

    @property
    def token(self) -> Token:
        """The next token."""
        return self.tokens[self.at]

    def sees(self, *texts: str) -> bool:
        """Whether the next token is one of these keywords or symbols."""
        return self.token.is_symbol(*texts)

    def next(self) -> Token:
        """Return the next token and step over it."""
        token = self.token
        self.at += 1
        return token

    def takes(self, *texts: str) -> bool:
        """Step over the next token if it is one of these."""
        if self.sees(*texts):
            self.at += 1
            return True
        return False

    def expect(self, *texts: str) -> None:
        """Step over these tokens, or say which is missing."""
        for text in texts:
            if not self.takes(text):
                raise self.fault(f"expected {text!r}, found {self.token}.")

    def fault(self, problem: str, span: Span | None = None) -> InvalidInput:
        """Build an error at the next token, or at `span`."""
        return invalid(self.text, span or self.token.span, hinted(problem, self.text))

    def since(self, start: int) -> Span:
        """Return the span from `start` to the last token read."""
        return start, self.tokens[self.at - 1].span[1]

    def nested(self, read: Callable[[], T]) -> T:
        """Read one level deeper."""
        if self.depth == MOST_NESTED:
            raise self.fault(f"a rule may nest {MOST_NESTED} levels at most; split it.")
        self.depth += 1
        found = read()
        self.depth -= 1
        return found

    def number(self) -> float:
        """Read a number that may have a sign."""
        is_negative = self.takes("-")
        if self.token.kind != "number":
            raise self.fault(f"expected a number, found {self.token}.")
        value = float(self.token.text)
        if value > LARGEST:
            raise self.fault("the number is too large to compute with.")
        self.at += 1
        return 0.0 - value if is_negative else value
