"""Texts: how the report writes a number and a cell."""

from __future__ import annotations

import math

from counterpoint.result.words import readable
from counterpoint.table.schema import Feature, Kind

MISSING = "missing"


def cell_text(feature: Feature, gene: float) -> str:
    """Return a value of a feature as it is shown; what is not there is "missing".

    Examples
    --------
    >>> import pandas as pd
    >>> from counterpoint.table.schema import Schema
    >>> pay, own = Schema.infer(pd.DataFrame({"pay": [1250.5, 80.0], "own": ["no", "yes"]})).features
    >>> cell_text(pay, 1250.5), cell_text(own, 1.0), cell_text(pay, float("nan"))
    ('1,250.5', 'yes', 'missing')
    """
    if math.isnan(gene):
        return MISSING
    if not feature.is_numeric or feature.kind is Kind.DATE:
        return feature.shown(gene)
    if feature.kind is Kind.INTEGER:
        return f"{gene:,.0f}"
    return number_text(gene, feature.decimals)


def number_text(value: float, decimals: int | None = None) -> str:
    """Return a number as text, thousands apart.

    Examples
    --------
    >>> number_text(0.47931), number_text(123456.7), number_text(1250.5, 2)
    ('0.4793', '123,457', '1,250.50')
    """
    text = readable(float(value), decimals)
    whole, point, rest = text.partition(".")
    is_plain = whole.lstrip("-").isdigit()
    return f"{int(whole):,}{point}{rest}" if is_plain and abs(value) >= 1000.0 else text
