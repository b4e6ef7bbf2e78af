"""The study, by one command.

    python -m benchmarks.study all --data DIR     everything: tune, run, measure, report
    python -m benchmarks.study small              credit and breast cancer data, in minutes

Parts: tune, accuracy, run, beyond, report. Everything resumes: what is stored is not done again.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks import published
from benchmarks.methods import METHODS
from benchmarks.study import accuracy, beyond, data, models, report, runs
from benchmarks.study.subjects import PUBLISHED

SMALL_METHODS = (
    *("counterpoint", "mocmod", "moccond", "mocice", "moc", "random"),
    *("whatif", "recourse", "tweaking", "nice sparsity", "growing spheres"),
)
SMALL_KINDS = ("logreg", "randomforest")
PARTS = ("tune", "run", "accuracy", "beyond", "report")


def main() -> None:
    """Read the command line and run the parts asked for."""
    arguments = parsed()
    study = "embedded" if arguments.part == "small" else arguments.study
    folder = None if study == "embedded" else arguments.data
    chosen = arguments.datasets or data.names(study, folder)
    kinds = arguments.models or (SMALL_KINDS if arguments.part == "small" else models.KINDS)
    pairs = [(name, kind) for name in chosen for kind in models.kinds_of(name) if kind in kinds]
    places = runs.Places(arguments.store, arguments.cache, folder)
    plan = runs.Plan(seed=arguments.seed, n_tried=arguments.tried, limit=arguments.limit)
    for part in PARTS if arguments.part in ("all", "small") else (arguments.part,):
        perform(part, arguments, pairs, plan, places)


def perform(
    part: str,
    arguments: argparse.Namespace,
    pairs: list[tuple[str, str]],
    plan: runs.Plan,
    places: runs.Places,
) -> None:
    """Run one part."""
    workers = arguments.workers
    if part == "tune":
        runs.tune(pairs, plan, places, workers)
    elif part == "run":
        methods, absent = runs.usable_methods(arguments.methods or default_methods(arguments.part))
        if absent:
            print(f"left out, since their packages are not installed: {', '.join(absent)}")
        everything = [*pairs, *published_pairs(pairs)] if arguments.published else pairs
        cells = runs.grid(everything, methods, arguments.rows, places.folder)
        runs.run(cells, plan, places, workers)
    elif part == "accuracy":
        accuracy.measure(pairs, places.folder, places.store, arguments.nested, workers)
    elif part == "beyond":
        beyond.measure(places.store, arguments.beyond, arguments.refits)
    else:
        report.write(places.store, arguments.out, arguments.command)


def default_methods(part: str) -> list[str]:
    """Return the methods of a part: few for the small study, else all."""
    return list(SMALL_METHODS) if part == "small" else list(METHODS)


def published_pairs(pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the paper's networks at hand for the datasets of pairs."""
    wanted = {name for name, _ in pairs}
    at_hand = [tuple(name.split("/")) for name in published.names()]
    return [(name, PUBLISHED + kind) for name, kind in at_hand if name in wanted]


def parsed() -> argparse.Namespace:
    """Return the command line; the small study has fewer of everything, and its own places."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.study",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("part", choices=["all", "small", *PARTS])
    parser.add_argument("--data", type=Path, default=data.default_folder(), metavar="DIR")
    parser.add_argument("--study", choices=["benchmark", "tuning", "embedded"], default="benchmark")
    parser.add_argument("--datasets", nargs="+")
    parser.add_argument("--models", nargs="+", choices=models.KINDS)
    parser.add_argument("--methods", nargs="+")
    parser.add_argument("--no-published", dest="published", action="store_false")
    parser.add_argument("--rows", type=int, default=10, help="explained rows per dataset")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tried", type=int, default=models.N_TRIED, help="settings per model")
    parser.add_argument("--nested", type=int, default=accuracy.N_NESTED, help="in each outer fold")
    parser.add_argument("--limit", type=int, default=20, help="seconds per method and row")
    parser.add_argument("--beyond", type=int, default=5, help="rows of problems beyond the paper")
    parser.add_argument("--refits", type=int, default=20, help="bootstrap refits of each model")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--store", type=Path, default=Path(".study/results"))
    parser.add_argument("--cache", type=Path, default=models.CACHE)
    parser.add_argument("--out", type=Path, default=Path("docs/study"))
    small = parser.parse_known_args()[0].part == "small"
    if small:
        parser.set_defaults(
            rows=3,
            tried=3,
            nested=2,
            beyond=1,
            refits=3,
            store=Path(".study/small"),
            out=Path(".study/small/report"),
            published=False,
        )
    arguments = parser.parse_args()
    arguments.command = f"python -m benchmarks.study {arguments.part}"
    return arguments


if __name__ == "__main__":
    main()
