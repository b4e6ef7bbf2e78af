"""Texts: how the report writes a number and a cell."""

from __future__ import annotations

from counterpoint.arrays import MISSING
from counterpoint.result.wording.english import ENGLISH
from counterpoint.result.wording.values import written, written_number, written_pair
from counterpoint.table.schema import Feature

LACKING = "missing"  # what is shown where there is no value


def cell_text(feature: Feature, gene: float) -> str:
    """Return a value of a feature as it is shown, without its unit; or that it is missing.

    Examples
    --------
    >>> import pandas as pd
    >>> from counterpoint.table.schema import Schema
    >>> data = pd.DataFrame({"pay": [1250.5, 80.0], "own": ["no", "yes"]})
    >>> pay, own = Schema.infer(data).features
    >>> cell_text(pay, 1250.5), cell_text(own, 1.0), cell_text(pay, MISSING)
    ('1,250.5', 'yes', 'missing')
    """
    if gene == MISSING:
        return LACKING
    if not feature.is_numeric:  # without the quotes that a sentence needs
        return str(feature.levels[int(gene)])
    return written(feature, gene, ENGLISH.signs)


def changed_text(feature: Feature, new: float, old: float) -> str:
    """Return a new value with as many digits as it takes to tell it from the old one."""
    if MISSING in (new, old) or not feature.is_numeric:
        return cell_text(feature, new)
    return written_pair(feature, new, old, ENGLISH.signs)[0]


def number_text(value: float) -> str:
    """Return a prediction as text.

    Examples
    --------
    >>> number_text(0.47931), number_text(123456.7)
    ('0.4793', '123,457')
    """
    return written_number(float(value), ENGLISH.signs)
