"""Measure batch jobs on this machine, and say what follows for larger ones.

    python -m benchmarks.scale [--rows 1000 10000 100000] [--folder build/scale]

Jobs of a fast model on threads and on Dask, with one and two workers. Each is kept in OUT/runs.json
when it is done, so that an interrupted measurement goes on; --again forgets them. OUT/growth.md is
written from that file: what was measured, and a simulated schedule for up to a billion rows.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from benchmarks.scale.measuring import Run, prepare, rows_of, run
from benchmarks.scale.page import page_of

FEW_EVALUATIONS, USUAL_EVALUATIONS = 300, 3_520


def main() -> None:
    """Measure what is not measured yet, and write the page."""
    chosen = arguments()
    file: Path = chosen.out / "runs.json"
    if chosen.again:
        file.unlink(missing_ok=True)
    runs = [Run(**kept) for kept in json.loads(file.read_text())] if file.exists() else []
    done = {(kept.engine, kept.workers, kept.rows, kept.evaluations) for kept in runs}
    prepare(chosen.folder, max(chosen.rows))
    for engine, workers, n, evaluations in plan(chosen.rows):
        if (engine, workers, n, evaluations) in done:
            continue
        rows = rows_of(chosen.folder, max(chosen.rows), n)
        runs.append(run(chosen.folder, rows, engine, workers, evaluations))
        chosen.out.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps([asdict(kept) for kept in runs]))
        print(
            f"{engine}, {workers} workers, {n:,} rows of {evaluations} evaluations: "
            f"{runs[-1].rate:,.0f} rows/s, {runs[-1].seconds:.1f} s",
            flush=True,
        )
    text = page_of(runs)
    (chosen.out / "growth.md").write_text(text)
    print(text)


def plan(sizes: list[int]) -> list[tuple[str, int, int, int]]:
    """Return the jobs: engine, workers, rows, evaluations per row."""
    asked = [(n, FEW_EVALUATIONS) for n in sorted(sizes)] + [(min(sizes), USUAL_EVALUATIONS)]
    return [
        (engine, workers, n, evaluations)
        for n, evaluations in asked
        for engine in ("threads", "dask")
        for workers in (1, 2)
    ]


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.scale",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--folder", type=Path, default=Path("build/scale"), help="for the jobs")
    parser.add_argument("--out", type=Path, default=Path("docs/scale"))
    parser.add_argument("--again", action="store_true", help="forget what was measured")
    return parser.parse_args()


if __name__ == "__main__":
    main()
