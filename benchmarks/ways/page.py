"""The page: tables of recall and excess, cell by cell and by the width of tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.study.tables import markdown
from benchmarks.ways.measures import pooled, recall

WIDTHS = {"up to 12": (0, 12), "up to 25": (13, 25), "more": (26, 10**6)}
MEASURES = (
    "recall of 1, 2",
    "of 3",
    "of 1 to 3",
    "excess, median",
    "90 %",
    "off the grid, median",
    "90 %",
    "ways told",
    "not minimal",
    "s a row",
)

Cell = dict[str, Any]  # of a table, a kind of model and a method


def percent(share: float, decimals: int = 0) -> str:
    """Return a share in percent, nothing for NaN."""
    return "" if np.isnan(share) else f"{100 * share:.{decimals}f} %"


def line(cell: Cell) -> str:
    """Return one cell as a line to watch a run by."""
    parts = zip(MEASURES, measured(cell), strict=True)
    said = ", ".join(f"{name} {value}" for name, value in parts if value)
    return f"{cell['table']} {cell['model']} {cell['method']}: {said}"


def measured(cell: Cell) -> list[str]:
    """Return the measures of a cell, or of pooled cells."""
    shares = [percent(recall(cell, *sizes)) for sizes in ((1, 2), (3,), (1, 2, 3))]
    excess = [
        percent(float(np.quantile(cell[name], share)), 1) if cell[name] else ""
        for name in ("excess", "finer")
        for share in (0.5, 0.9)
    ]
    reducible = percent(cell["reducible"] / cell["told"]) if cell["told"] else ""
    means = [
        f"{cell['told'] / cell['rows']:.1f}",
        reducible,
        f"{cell['seconds'] / cell['rows']:.2f}",
    ]
    return [*shares, *excess, *means]


def cells(found: Sequence[Cell]) -> str:
    """Return the table of every cell."""
    header = ["table (features)", "model", "method", "rows", "ways of 1, 2, 3 a row", *MEASURES]
    lines = [
        [
            f"{cell['table']} ({cell['features']})",
            *(cell[name] for name in ("model", "method", "rows")),
            ", ".join(f"{n / cell['rows']:.1f}" for n in cell["ways"]),
            *measured(cell),
        ]
        for cell in found
    ]
    return markdown(header, lines)


def groups(found: Sequence[Cell]) -> str:
    """Return the measures by the width of tables and method, all ways pooled."""
    header = ["features", "method", "cells", "rows", "ways", "least recall of 1, 2", *MEASURES]
    lines = []
    for width, (low, high) in WIDTHS.items():
        inside = [cell for cell in found if low <= cell["features"] <= high]
        for method in dict.fromkeys(cell["method"] for cell in inside):
            own = [cell for cell in inside if cell["method"] == method]
            all_ = pooled(own)
            least = percent(float(np.nanmin([recall(cell, 1, 2) for cell in own])))
            sizes = [len(own), all_["rows"], sum(all_["ways"]), least]
            lines.append([width, method, *sizes, *measured(all_)])
    return markdown(header, lines)
