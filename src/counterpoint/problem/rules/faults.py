"""Errors that point at the place in a rule's text."""

from __future__ import annotations

from counterpoint.errors import InvalidInput, UnknownFeatureError

MOST_SHOWN = 72  # characters of a long rule shown around the fault
INDENT = "      "

Span = tuple[int, int]  # from the first character to the one after the last


def invalid(text: str, span: Span, problem: str) -> InvalidInput:
    """Build the error for a rule that cannot mean anything.

    Examples
    --------
    >>> print(invalid("age >> 21", (5, 6), "expected a value, found '>'."))
    rule "age >> 21": expected a value, found '>'.
          age >> 21
               ^
    """
    return InvalidInput(_message(text, span, problem))


def unknown(text: str, span: Span, problem: str) -> UnknownFeatureError:
    """Build the error for a rule that names a feature the data do not have."""
    return UnknownFeatureError(_message(text, span, problem))


def _message(text: str, span: Span, problem: str) -> str:
    """Return the problem, the rule (or the part around the fault) and a line of carets."""
    shown, start, end = _excerpt(text, span)
    carets = " " * start + "^" * max(1, end - start)
    return f'rule "{shown}": {problem}\n{INDENT}{shown}\n{INDENT}{carets}'


def _excerpt(text: str, span: Span) -> tuple[str, int, int]:
    """Return the text on one line, cut around the span if it is long, and the span in it."""
    line = "".join(" " if character.isspace() else character for character in text)
    start, end = span
    if len(line) <= MOST_SHOWN:
        return line, start, end
    first = max(0, min(start - MOST_SHOWN // 3, len(line) - MOST_SHOWN))
    last = min(len(line), first + MOST_SHOWN)
    head, tail = "…" * (first > 0), "…" * (last < len(line))
    shift = len(head) - first
    return head + line[first:last] + tail, start + shift, min(end, last) + shift
