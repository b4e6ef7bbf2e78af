"""The page: tables of recall, excess and survival, and where other methods are better."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
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
    header = ["features", "method", "cells", "rows", "ways", "ours on the same rows", *MEASURES]
    lines = []
    for width, (low, high) in WIDTHS.items():
        inside = [cell for cell in found if low <= cell["features"] <= high]
        for method in dict.fromkeys(cell["method"] for cell in inside):
            own = [cell for cell in inside if cell["method"] == method]
            all_ = pooled(own)
            ours = percent(recall(all_, 1, 2, 3, by="ours"))
            sizes = [len(own), all_["rows"], sum(all_["ways"]), ours]
            lines.append([width, method, *sizes, *measured(all_)])
    return markdown(header, lines)


COMPARED = {
    "first": "shown first",
    "shown": "first three",
    "set": "mean of the set",
    "nearest": "nearest of each way",
    "whatif": "What-If",
    "safest": "best found",
}


def survival_line(cell: Cell) -> str:
    """Return one cell of survival as a line to watch a run by."""
    said = ", ".join(f"{COMPARED[name]} {_point(cell[name])}" for name in COMPARED if name in cell)
    return f"{cell['table']} {cell['model']} survival: {said}"


def survivals(found: Sequence[Cell]) -> str:
    """Return the table of survival, and the means over cells."""
    known = [name for name in COMPARED if all(name in cell for cell in found)]
    header = ["table", "model", *(COMPARED[name] for name in known), "curve"]
    lines = [
        [
            cell["table"],
            cell["model"],
            *(_point(cell[name]) for name in known),
            ", ".join(_point(point) for point in cell["curve"]),
        ]
        for cell in found
    ]
    means = [_point(np.nanmean([cell[name] for cell in found], axis=0)) for name in known]
    return markdown(header, [*lines, ["**all**", "", *means, ""]])


def _point(point: Sequence[float]) -> str:
    """Return survival, and the distance as a share of What-If's."""
    return f"{percent(point[1])} at {point[0]:.2f}" if np.isfinite(point).all() else ""


def tables(recalls: Sequence[Cell], held: Sequence[Cell]) -> str:
    """Return all tables."""
    parts = [cells(recalls), groups(recalls)] if recalls else []
    return "\n\n".join(parts + ([survivals(held)] if held else []))


def whole(recalls: Sequence[Cell], held: Sequence[Cell], command: str) -> str:
    """Return the page."""
    packages = ("counterpoint", "numpy", "scikit-learn", "dice-ml", "NICEx")
    return TEXT.format(
        groups=groups(recalls),
        losses=losses(recalls, held),
        survival=survivals(held),
        cells=cells(recalls),
        failures=failures(recalls),
        day=datetime.now(UTC).date(),
        machine=f"{platform.machine()}, Python {platform.python_version()}",
        versions=", ".join(f"{name} {_version(name)}" for name in packages),
        command=command,
    )


def _version(package: str) -> str:
    """Return the installed version of a package."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


SURVIVES = 0.9  # share of refits in which what is shown first should hold


def losses(recalls: Sequence[Cell], held: Sequence[Cell]) -> str:
    """Return in which cells another method is better than ours, or the set than what is shown."""
    lines = []
    for method in dict.fromkeys(cell["method"] for cell in recalls):
        own = [cell for cell in recalls if cell["method"] == method]
        pairs = [(c, recall(c, 1, 2, 3), recall(c, 1, 2, 3, by="ours")) for c in own]
        lost = [f"{_name(c)} {percent(a)} : {percent(b)}" for c, a, b in pairs if a > b]
        if lost:
            said = f"recalls more than ours on the same rows in {len(lost)} of {len(own)} cells"
            lines.append(f"- **{method}** {said}: {', '.join(lost)}.")
    for name, said in (
        ("set", "less than the mean of the set"),
        ("whatif", "less than What-If's row"),
    ):
        rates = [(_name(c), c["first"][1], c[name][1]) for c in held]
        below = [f"{cell} {percent(a)} : {percent(b)}" for cell, a, b in rates if a < b]
        if below:
            said = f"survives {said} in {len(below)} of {len(held)} cells"
            lines.append(f"- **What is shown first** {said}: {', '.join(below)}.")
    few = [f"{_name(c)} {percent(c['first'][1])}" for c in held if c["first"][1] < SURVIVES]
    if few:
        share = f"less than {percent(SURVIVES)} of the refits"
        said = f"survives in {share} in {len(few)} of {len(held)} cells"
        lines.append(f"- **What is shown first** {said}: {', '.join(few)}.")
    return "\n".join(lines) or "Nowhere in this run."


def _name(cell: Cell) -> str:
    """Return the table and the kind of model."""
    return f"{cell['table']} {cell['model']}"


def failures(recalls: Sequence[Cell]) -> str:
    """Return how often each method failed, and why."""
    counted = Counter((cell["method"], why) for cell in recalls for why in cell["failures"])
    return "\n".join(f"- {name}, {n} times: {why}" for (name, why), n in counted.items()) or "None."


TEXT = """# Every way there is

A *way* is a set of features whose values alone, changed, reach the target. It is *minimal* if no
proper subset is one. Here all minimal ways of one and two features, and of three in tables of at
most twelve, are found by brute force: all levels, all observed values, or 25 quantiles of them.
Each table is split by a seed; a model is fitted to two thirds of it, at most 2,000 rows, and
25 of the other rows that it refuses are explained (by the packages five, by DiCE's genetic
method with 50 counterfactuals two, since they take their time). The target is class 1, or class 0
if the model refuses fewer than 25 rows. Wine has three classes, for which the packages are not
wired; a model that gives all rows one class is left out.
`make -C benchmarks ways` writes this page.

- **recall**: the share of these ways that a method tells. A way counts if a set within it was
  told and the model confirms it: a smaller set works between the quantiles.
- **excess**: by how much the nearest told in a way is farther than brute force's nearest, by
  Gower's distance; median and 90 %, below 0 where values between the quantiles are nearer. **Off
  the grid** it is compared with a second and third grid around brute force's nearest.
- **ways told**: minimal sets of features a row; **not minimal**: the share of them of which brute
  force knows a smaller way.
- **ours on the same rows**: the recall of ours of all ways, one to three, on the rows of that line.
- **s a row**: by the wall's clock, whatever else the machine did; the packages' answers are kept
  from their first run, so compare the order of magnitude at most.
- Ours tells what `found.ways()` holds, after 3,520 evaluations; all others the sets of features
  that their valid rows change.

{groups}

## Where we lose

{losses}

## Survival

The share of 20 bootstrap refits, which no search saw, in which a row still reaches the target, and
its distance as a share of that of What-If's row, the nearest observed row that reaches the target.
*Shown first* is the row that `select(1, by="ways")` gives, *first three* those of `select(3)`.
*Best found* are the rows of the set and of the ways that survive most, which nobody can know
without the refits. The *curve* has all valid rows found, by their distance, in four parts of
equal size.

{survival}

## Every cell

{cells}

## Failures

{failures}

Measured on {day}: {machine}, {versions}; `{command}`.
"""
