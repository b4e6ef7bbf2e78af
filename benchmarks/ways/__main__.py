"""The command: measure and print tables; the full run writes the page."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from threadpoolctl import threadpool_limits

from benchmarks import ways
from benchmarks.study.runs import is_installed
from benchmarks.ways import answers, brute_force, measures, page, subjects, survival
from benchmarks.ways.answers import Answer
from benchmarks.ways.page import Cell
from benchmarks.ways.subjects import Subject

QUICK_ROWS = 4
STAGES = ("recall", "survival")
PAGE = Path(__file__).parents[2] / "docs" / "study" / "ways.md"


def compared(subject: Subject, methods: Sequence[str], rows: int, cache: Path) -> Iterator[Cell]:
    """Yield the recall of each method on one subject, and ours on the same rows if asked for."""
    n_rows = min(rows, len(subject.rows))
    true_ways = [brute_force.kept_ways(subject, place, cache) for place in range(n_rows)]
    ours: Sequence[Answer] = ()
    for method in methods:
        if method in answers.PEERS and len(subject.model.classes_) > 2:
            continue  # the packages are wired for two classes
        given = answers.answers(subject, method, n_rows, cache)
        ours = given if method == "ours" else ours
        there_are = true_ways[: len(given)]
        beside = measures.summarize(there_are, ours[: len(given)])["recalled"] if ours else []
        cell = named(subject) | {"method": method, "ours": beside}
        yield cell | measures.summarize(there_are, given)


def named(subject: Subject) -> Cell:
    """Return the names of a cell."""
    return {"table": subject.table, "features": subject.rows.shape[1], "model": subject.kind}


def measure(given: argparse.Namespace) -> tuple[list[Cell], list[Cell]]:
    """Return recall per table, kind of model and method, and survival per table and kind."""
    methods = listed(given.methods, ["ours"] if given.quick else answers.NAMES)
    absent = [m for m in methods if m in answers.PEERS and not is_installed(answers.PEERS[m])]
    if absent:
        print(f"left out, since their packages are not installed: {absent}", file=sys.stderr)
    usable = [method for method in methods if method not in absent]
    rows = given.rows or (QUICK_ROWS if given.quick else subjects.N_ROWS)
    stages = [given.only] if given.only else STAGES[: 1 if given.quick else 2]
    recalls: list[Cell] = []
    survivals: list[Cell] = []
    for table in listed(given.tables, subjects.names()):
        for kind in listed(given.models, subjects.KINDS):
            subject = subjects.load(table, kind)
            if not subject.has_two_answers:
                print(f"left out: {table} {kind} gives all rows one class", file=sys.stderr)
                continue
            if "recall" in stages:
                for cell in compared(subject, usable, rows, given.cache):
                    print(page.line(cell), file=sys.stderr, flush=True)
                    recalls.append(cell)
            if "survival" in stages:
                n_rows = min(rows, len(subject.rows))
                held = survival.measure(subject, n_rows, given.cache)
                survivals.append(named(subject) | held)
                print(page.survival_line(survivals[-1]), file=sys.stderr, flush=True)
    return recalls, survivals


def listed(text: str | None, default: Iterable[str]) -> list[str]:
    """Return the names in a text with commas between them."""
    return text.split(",") if text else list(default)


def parse() -> argparse.Namespace:
    """Return the arguments."""
    parser = argparse.ArgumentParser(
        description=ways.__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help=f"ours alone, {QUICK_ROWS} rows")
    parser.add_argument("--rows", type=int, default=None, help="rows of each table and model")
    parser.add_argument("--tables", default=None, help="names with commas between them")
    parser.add_argument("--models", default=None, help=f"of {','.join(subjects.KINDS)}")
    parser.add_argument("--methods", default=None, help=f"of {','.join(answers.NAMES)}")
    parser.add_argument("--only", choices=STAGES, help="one of the two; recall alone if quick")
    parser.add_argument("--cache", type=Path, default=Path(".study") / "ways")
    parser.add_argument("--write", type=Path, help=f"the page; {PAGE.name} if not quick")
    return parser.parse_args()


def command(given: argparse.Namespace) -> str:
    """Return the command with all that changes what is measured, not where it is kept."""
    chosen = {name: getattr(given, name) for name in ("rows", "tables", "models", "methods")}
    options = [f"--{name} {str(value)!r}" for name, value in chosen.items() if value]
    return " ".join(["python -m benchmarks.ways", *options])


def main() -> None:
    """Measure, print the tables, and write the page of a full run."""
    given = parse()
    with threadpool_limits(1):
        recalls, survivals = measure(given)
    print(page.tables(recalls, survivals))
    file = given.write or (None if given.quick else PAGE)
    if file is not None:
        file.write_text(page.whole(recalls, survivals, command(given)))


if __name__ == "__main__":
    main()
