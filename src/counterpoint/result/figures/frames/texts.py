"""Texts of names and values, fit for any figure: unique, never empty, without control signs."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from counterpoint import arrays
from counterpoint.table import dates
from counterpoint.table.schema import Feature, Kind

if TYPE_CHECKING:
    from counterpoint.result.counterfactuals import Counterfactuals

CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\ufffe\uffff\u2028\u2029]")
MISSING = "missing"
MOST_PLAIN = 1e15  # above it digits say less than a power of ten


def clean(value: object) -> str:
    r"""Return a name or level as one line of text that any renderer bears.

    Examples
    --------
    >>> clean("a\nb"), clean(""), clean(("x", 1))
    ('a b', "''", "('x', 1)")
    """
    text = str(value)
    # A lone half of a pair has no place in a file: it would make the whole chart unreadable.
    text = text.encode("utf-8", "replace").decode("utf-8")
    line = CONTROL.sub(" ", text)
    return line if line.strip() else repr(text)


def titled(text: str) -> str:
    """Return a text fit for the title of an axis, a legend or a tooltip.

    Vega-Lite writes these into expressions and escapes no backslash, so that a name could end the
    text it stands in; look-alikes cannot. Values are data and stay as they are.

    Examples
    --------
    >>> titled('5" pipe')
    '5” pipe'
    """
    return text.replace("\\", "\u2216").replace('"', "\u201d")


def unique(values: Iterable[object]) -> list[str]:
    """Return texts that tell the values apart, also 1 from "1".

    Examples
    --------
    >>> unique([1, "1", "age", "1 (2)"])
    ['1', '1 (2)', 'age', '1 (2) (2)']
    """
    seen: Counter[str] = Counter()
    texts: list[str] = []
    for value in values:
        text = base = clean(value)
        while text in seen:
            seen[base] += 1
            text = f"{base} ({seen[base]})"
        seen[text] += 1
        texts.append(text)
    return texts


def names_of(found: Counterfactuals) -> list[str]:
    """Return the names of all features as texts."""
    return unique(found.problem.predictor.encoding.schema.names)


def written(feature: Feature, gene: float) -> str:
    """Return a value as text: a number with its decimals, a date or a level."""
    if np.isnan(gene) or gene == arrays.MISSING:
        return MISSING
    if feature.kind is Kind.DATE:
        return dates.written(gene)
    if not feature.is_numeric:
        return clean(feature.levels[int(gene)])
    return number(gene, 0 if feature.kind is Kind.INTEGER else feature.decimals)


def number(value: float, decimals: int | None = None) -> str:
    """Return a number as people write it: grouped, with the given decimals or four digits.

    Examples
    --------
    >>> number(3900.0, 0), number(0.5, 2), number(12345.6), number(0.123456), number(2e20)
    ('3,900', '0.50', '12,346', '0.1235', '2e+20')
    """
    if abs(value) >= MOST_PLAIN:
        return f"{value:.4g}"
    if decimals is not None and np.isclose(value, round(value, decimals), rtol=1e-6, atol=0.0):
        return f"{value:,.{decimals}f}"
    return f"{value:,.0f}" if abs(value) >= 1000.0 else f"{value:.4g}"


def wrapped(text: str, width: int = 14, lines: int = 3) -> str:
    r"""Return a text in a few short lines, the last with an ellipsis if it does not fit.

    Examples
    --------
    >>> wrapped("present_residence_since")
    'present_\nresidence_\nsince'
    """
    spaced = re.sub(r"([_.\-/:])(?=\S)", r"\1 ", text)
    parts = textwrap.wrap(spaced, width, max_lines=lines, placeholder=" …") or [text]
    return "\n".join(re.sub(r"([_.\-/:]) ", r"\1", part) for part in parts)


def prediction_name(found: Counterfactuals) -> str:
    """Return what the prediction is, as the title of an axis.

    Examples
    --------
    >>> import pandas as pd
    >>> import counterpoint as cp
    >>> data = pd.DataFrame({"a": [0, 1, 2, 3]})
    >>> prediction_name(cp.Explainer(lambda rows: rows["a"] / 3, data).explain({"a": 0}, 1.0))
    'Prediction'
    """
    target = found.target
    if target.label is None:
        return "Prediction"
    label = titled(clean(target.label))
    return f"Probability of not “{label}”" if target.is_complement else f"Probability of “{label}”"
