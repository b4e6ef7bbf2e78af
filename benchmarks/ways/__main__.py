"""The command: measure and print tables; the full run writes the page."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from threadpoolctl import threadpool_limits

from benchmarks import ways
from benchmarks.ways import answers, brute_force, measures, page, subjects
from benchmarks.ways.page import Cell

QUICK_ROWS = 4


def measure(
    cells: Sequence[tuple[str, str]], methods: Sequence[str], rows: int, cache: Path
) -> list[Cell]:
    """Return one record per table, kind of model and method."""
    records: list[Cell] = []
    for table, kind in cells:
        subject = subjects.load(table, kind)
        n_rows = min(rows, len(subject.rows))
        if n_rows == 0:
            continue
        true_ways = [brute_force.kept_ways(subject, place, cache) for place in range(n_rows)]
        for method in methods:
            given = answers.answers(subject, method, n_rows, cache)
            named = {"table": table, "features": subject.rows.shape[1], "model": kind}
            named["method"] = method
            records.append(named | measures.summarize(true_ways[: len(given)], given))
            print(page.line(records[-1]), file=sys.stderr, flush=True)
    return records


def listed(text: str | None, default: Iterable[str]) -> list[str]:
    """Return the names in a text with commas between them."""
    return text.split(",") if text else list(default)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=ways.__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help=f"ours alone, {QUICK_ROWS} rows")
    parser.add_argument("--rows", type=int, default=None, help="rows of each table and model")
    parser.add_argument("--tables", default=None, help="names with commas between them")
    parser.add_argument("--models", default=None, help=f"of {','.join(subjects.KINDS)}")
    parser.add_argument("--methods", default=None, help=f"of {','.join(answers.NAMES)}")
    parser.add_argument("--cache", type=Path, default=Path(".study") / "ways")
    parser.add_argument("--write", type=Path, help="the page's file")
    given = parser.parse_args()
    methods = listed(given.methods, ["ours"] if given.quick else answers.NAMES)
    rows = given.rows or (QUICK_ROWS if given.quick else subjects.N_ROWS)
    kinds = listed(given.models, subjects.KINDS)
    cells = [(t, k) for t in listed(given.tables, subjects.names()) for k in kinds]
    with threadpool_limits(1):
        found = measure(cells, methods, rows, given.cache)
    print(page.cells(found))
    print()
    print(page.groups(found))


if __name__ == "__main__":
    main()
