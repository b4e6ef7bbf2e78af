"""Two solvers on the same programs of trees: HiGHS, which proofs use, and OR-tools' CP-SAT.

    python -m benchmarks.solvers [--rows 3] [--seconds 10] [--write FILE]

The first program of `Search(prove=True)` asks for the nearest counterfactual. It is taken from the
search, with what the search had found, and given to both solvers, on one thread each and with the
same time. CP-SAT knows whole numbers only, so that leaves' values are rounded to a billionth of the
largest, and conditions widened by what that can change; it also gets the distance that is known as
a bound, which helps it and does not help HiGHS. Needs ortools. Writes a section of
docs/study/optimality.md.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

import counterpoint as cp
from benchmarks.optimality import OTHERS, REPORT, tables
from benchmarks.proofs import BUDGET, models, pipeline
from counterpoint.progress import Watch
from counterpoint.search.exact.program import NOT_KNOWN, RowProgram, Solution

FINE = 10**9  # what a whole number's unit is a part of
FAR = 10**15  # an end that is none
SMALL = 1_100  # columns of a small program
SAME = 1e-4  # relative: what two solvers may differ by, one of which rounds


class Asked(NamedTuple):
    """One program, the distance that is known, and where it is from."""

    table: str
    model: str
    program: RowProgram
    scale: float
    known: float


class Outcome(NamedTuple):
    """What a solver said: CPU seconds, whether it was done, the least distance, and the bound."""

    seconds: float
    is_done: bool
    value: float
    bound: float


def programs(n_rows: int) -> Iterator[Asked]:
    """Yield the programs of rows spread over three tables, each with four models."""
    for table, (data, classes) in tables().items():
        codes = pd.factorize(classes, sort=True)[0]
        for name, model in models().items() if table != "iris" else ():
            if isinstance(model, LogisticRegression):
                continue  # which has no trees
            fitted = pipeline(model, data).fit(data, codes)
            explainer = cp.Explainer(fitted, data)
            for i in np.linspace(0, len(data) - 1, n_rows).astype(int):
                row = data.iloc[[i]]
                target = int(np.argsort(fitted.predict_proba(row)[0])[-2])
                taken = first_program(explainer, row, target)
                if taken is not None:
                    yield Asked(table, name, *taken)


def first_program(
    explainer: cp.Explainer, row: pd.DataFrame, target: Any
) -> tuple[RowProgram, float, float] | None:
    """Return the program of the nearest, its scale, and the distance that the search found."""
    taken: list[tuple[RowProgram, float]] = []

    def take(program: RowProgram, _: float, scale: float, __: Watch) -> Solution:
        taken.append((program, scale))
        return NOT_KNOWN

    search = cp.Search(evaluations=BUDGET, prove=True)
    with patch.object(RowProgram, "solve", take):
        found = explainer.explain(row, target, search, progress=False)
    if not taken or not len(found):
        return None
    return *taken[0], float(found.to_frame()["distance"].min())


def by_highs(asked: Asked, seconds: float) -> Outcome:
    """Solve a program as proofs do."""
    start = time.process_time()
    solution = asked.program.solve(seconds, asked.scale, Watch())
    spent = time.process_time() - start
    value = np.inf
    if solution.places is not None:
        value = asked.program.distance + sum(
            float(gene.shares[gene.places == solution.places[j]][0])
            for j, gene in asked.program.genes.items()
        )
    return Outcome(spent, solution.is_whole, value, solution.bound)


def by_cp_sat(asked: Asked, seconds: float) -> Outcome:
    """Solve the same program in whole numbers."""
    cp_model = import_module("ortools.sat.python.cp_model")
    program, model = asked.program, cp_model.CpModel()
    columns = [model.new_bool_var("") for _ in range(program.n_columns)]
    rows = program.rows
    for i, (low, high) in enumerate(zip(rows.low, rows.high, strict=True)):
        own = slice(rows.starts[i], rows.starts[i + 1])
        chosen = [columns[k] for k in rows.columns[own]]
        entries, ends = whole(np.array(rows.entries[own]), low, high)
        model.add_linear_constraint(cp_model.LinearExpr.weighted_sum(chosen, entries), *ends)
    costs, unit = np.zeros(program.n_columns), 1e6 / asked.known
    for gene in program.genes.values():
        costs[gene.first : gene.first + gene.n] = gene.shares @ gene.sums
    total = cp_model.LinearExpr.weighted_sum(columns, np.rint(costs * unit).astype(int).tolist())
    most = (asked.known - program.distance) * unit + program.n_columns
    model.add_linear_constraint(total, -FAR, int(most))
    model.minimize(total)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds, solver.parameters.num_workers = seconds, 1
    start = time.process_time()
    status = solver.solve(model)
    spent = time.process_time() - start
    is_found = status in (cp_model.OPTIMAL, cp_model.FEASIBLE)
    value = solver.objective_value / unit + program.distance if is_found else np.inf
    bound = max(0.0, solver.best_objective_bound / unit + program.distance)
    return Outcome(spent, status in (cp_model.OPTIMAL, cp_model.INFEASIBLE), value, bound)


def whole(entries: Any, low: float, high: float) -> tuple[list[int], tuple[int, int]]:
    """Return a condition in whole numbers that no solution of it breaks.

    Examples
    --------
    >>> whole(np.array([1.0, -1.0]), 0.0, np.inf)
    ([1, -1], (0, 1000000000000000))
    >>> whole(np.array([0.25, 0.5]), -np.inf, 0.6)
    ([250000000, 500000000], (-1000000000000000, 600000001))
    """
    is_whole = np.array_equal(entries, np.rint(entries))
    unit, slack = (1, 0.0) if is_whole else (FINE, 0.5 * len(entries))
    least = -FAR if np.isinf(low) else int(np.ceil(low * unit - slack - 1e-9))
    most = FAR if np.isinf(high) else int(np.floor(high * unit + slack + 1e-9))
    return np.rint(entries * unit).astype(int).tolist(), (least, most)


def measure(n_rows: int, seconds: float) -> list[tuple[Asked, Outcome, Outcome]]:
    """Give every program to both."""
    found = []
    for asked in programs(n_rows):
        both = by_highs(asked, seconds), by_cp_sat(asked, seconds)
        if both[0].is_done and both[1].is_done and np.isfinite(both[0].value):
            is_lost = both[1].value > both[0].value * (1.0 + SAME)
            assert not is_lost, "a program with wider conditions has no worse optimum"
        found.append((asked, *both))
        size = f"{asked.program.n_columns} columns"
        print(asked.table, asked.model, size, *map(tuple, both), sep=" | ", flush=True)
    return found


def as_markdown(found: list[tuple[Asked, Outcome, Outcome]], n_rows: int, limit: float) -> str:
    """Return the section of the page."""
    lines = []
    for key in dict.fromkeys((asked.table, asked.model) for asked, *_ in found):
        own = [each for each in found if (each[0].table, each[0].model) == key]
        lines.append(f"| {' | '.join(key)} | {cells(own)} |")
    lines.append(f"| **all** | | {cells(found)} |")
    return SECTION.format(
        table="\n".join(lines),
        small=by_size(found),
        limit=limit,
        n_rows=n_rows,
        day=datetime.now(UTC).date(),
        versions=", ".join(f"{package} {version(package)}" for package in ("scipy", "ortools")),
    )


def by_size(found: list[tuple[Asked, Outcome, Outcome]]) -> str:
    """Return in words how many programs each solver ended, small ones and large ones."""
    sentences = []
    for words, is_small in ((f"up to {SMALL:,} columns", True), ("more columns", False)):
        own = [each for each in found if (each[0].program.n_columns <= SMALL) == is_small]
        ended = [sum(highs.is_done for _, highs, _ in own), sum(other.is_done for *_, other in own)]
        bounds = [
            sum(highs.bound > 0.5 * asked.known for asked, highs, _ in own),
            sum(other.bound > 0.5 * asked.known for asked, _, other in own),
        ]
        sentences.append(
            f"Of {len(own)} programs of {words} HiGHS ended {ended[0]} and CP-SAT {ended[1]}; with "
            f"a bound above half of the known distance, {bounds[0]} and {bounds[1]}."
        )
    return " ".join(sentences)


def cells(own: list[tuple[Asked, Outcome, Outcome]]) -> str:
    """Return the cells of some programs."""
    parts = [str(len(own)), f"{np.median([each[0].program.n_columns for each in own]):.0f}"]
    for outcomes in ([each[1] for each in own], [each[2] for each in own]):
        spent = [outcome.seconds for outcome in outcomes]
        parts += [
            str(sum(outcome.is_done for outcome in outcomes)),
            f"{np.median(spent):.2f}",
            f"{max(spent):.1f}",
        ]
    return " | ".join(parts)


SECTION = """
## Two solvers

SciPy's HiGHS and OR-tools' CP-SAT on the same programs: the first that `Search(prove=True)` asks of
a row, for the nearest counterfactual, with what the search had found. Each has one thread and
{limit:g} s on the wall of a machine that had other work, so that it got less of a core; seconds are
CPU time. **Done** is how many programs were solved to the end. `python -m benchmarks.solvers`
writes this section (it needs ortools).

| table | model | programs | columns, median | HiGHS: done | seconds, median | at most \
| CP-SAT: done | seconds, median | at most |
|---|---|---|---|---|---|---|---|---|---|
{table}

{small}

CP-SAT is not part of the package. Of large programs, which are those that ten seconds do not
suffice for, it seldom has a bound of use; what it would save is time on small ones.

Measured on {day}: {versions}; `python -m benchmarks.solvers --rows {n_rows} --seconds {limit:g}`.
"""


def with_section(page: str, section: str) -> str:
    r"""Return a page with a section in place of the one of the same title, or at its end.

    Examples
    --------
    >>> with_section("# A\n\n## B\n\nold\n\n## C\n\nkept\n", "\n## B\n\nnew\n")
    '# A\n\n## B\n\nnew\n\n## C\n\nkept\n'
    >>> with_section("# A\n", "\n## B\n\nnew\n")
    '# A\n\n## B\n\nnew\n'
    """
    title = "\n" + section.strip().splitlines()[0] + "\n"
    start = page.find(title)
    if start < 0:
        return page + section
    end = page.find("\n## ", start + len(title))
    return page[:start] + section + ("" if end < 0 else page[end:])


def main() -> None:
    """Measure and write the section."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=3, help="rows of each table")
    parser.add_argument("--seconds", type=float, default=10.0, help="for each program")
    parser.add_argument("--write", type=Path, default=REPORT, help="the page")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        found = measure(arguments.rows, arguments.seconds)
    section = as_markdown(found, arguments.rows, arguments.seconds)
    assert section.startswith(OTHERS)
    arguments.write.write_text(with_section(arguments.write.read_text(), section))


if __name__ == "__main__":
    main()
