"""The page: tables of recall and excess, cell by cell and by the width of tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.study.tables import markdown

WIDTHS = {"up to 12": (0, 12), "up to 25": (13, 25), "more": (26, 10**6)}


def percent(share: float) -> str:
    """Return a share in percent, nothing for NaN."""
    return "" if np.isnan(share) else f"{100 * share:.0f} %"


def line(record: Mapping[str, Any]) -> str:
    """Return one record as a line to watch a run by."""
    return (
        f"{record['table']:>14} {record['model']:>9} {record['method']:>16}: "
        f"recall {record['recall2']:.2f} of up to two, {record['recall only 3']:.2f} of three, "
        f"excess {record['excess']:.3f}, {record['seconds']:.2f} s"
    )


def cells(found: pd.DataFrame) -> str:
    """Return the table of every cell: a table, a kind of model and a method."""
    header = ["table (features)", "model", "method", "rows", "ways of 1, 2, 3 a row", *MEASURES]
    lines = [
        [
            f"{cell['table']} ({cell['features']})",
            cell["model"],
            cell["method"],
            cell["rows"],
            ", ".join(f"{cell[f'ways{n}']:.1f}" for n in (1, 2, 3)),
            *_measured(cell),
        ]
        for cell in found.to_dict("records")
    ]
    return markdown(header, lines)


def groups(found: pd.DataFrame) -> str:
    """Return the means over cells by the width of tables and method."""
    header = ["features", "method", "cells", "least recall of 1, 2", *MEASURES]
    lines = []
    for width, (low, high) in WIDTHS.items():
        inside = found[found["features"].between(low, high)]
        for method in dict.fromkeys(inside["method"]):
            own = inside[inside["method"] == method]
            means = own.select_dtypes("number").mean().to_dict()
            least = percent(float(own["recall2"].min()))
            lines.append([width, method, len(own), least, *_measured(means)])
    return markdown(header, lines)


MEASURES = (
    "recall of 1, 2",
    "of 3",
    "of 1 to 3",
    "excess, median",
    "90 %",
    "ways told",
    "not minimal",
    "s a row",
)


def _measured(cell: Mapping[Any, Any]) -> list[str]:
    """Return the measures of a cell, or of the mean of cells."""
    shares = [percent(cell[name]) for name in ("recall2", "recall only 3", "recall3")]
    excess = ["" if np.isnan(e) else f"{100 * e:.1f} %" for e in (cell["excess"], cell["excess90"])]
    told, seconds = f"{cell['told']:.1f}", f"{cell['seconds']:.2f}"
    return [*shares, *excess, told, percent(cell["reducible"]), seconds]
