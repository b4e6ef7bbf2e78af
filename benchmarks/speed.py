"""How close to the limit: our time against the model's own, in ratios measured in one run.

    python -m benchmarks.speed [--only PART ...] [--quick] [--against DIR]
    python -m benchmarks.speed --scoring [--rows 60]

The limit of the job is the model: the time to score the same candidates in large calls. For every
kind of model this prints and writes how many times that limit it takes to explain one row and many
rows, where the rest goes, what memory it takes, and how a fresh process starts; `sizes` adds tables
of 8 to 200 features, the share of the cores and a large table's memory, of another checkout, too,
with `--against`; the peers (their packages: benchmarks/requirements-peers.txt) answer the same rows
of the same models. With `--scoring` it only prints what scoring costs by the limit, in CPU time, of
models whose trees are known, bare and behind a pipeline. Writes docs/performance/speed.json and
speed.md after every part, so that a run that is stopped loses one part only; what `--only` leaves
out stays as it was, with its own date. Machines differ and are noisy: compare the columns of one
run, not runs.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

import counterpoint as cp
from benchmarks import estimators, published, sizes
from benchmarks.speed_report import R_SECONDS, as_markdown
from benchmarks.stopwatch import Stopwatch, watched
from counterpoint.table.schema import Encoding

FOLDER = Path(__file__).parent.parent / "docs" / "performance"
SEARCH = cp.Search(evaluations=3520, patience=None)
PAPER = cp.Search.paper("mocmod")
N_MANY = 300
REPEATS = 3
LARGE = 100_000  # rows in one call when the limit is measured
CPU = time.process_time  # of all on one core: other work on the machine takes none of it


class Subject(NamedTuple):
    """A fitted model with its data and the rows to explain."""

    model: Any
    data: pd.DataFrame
    rows: pd.DataFrame


def subject(name: str, n_rows: int) -> Subject:
    """Return one kind of model, fitted, and rows drawn from its data."""
    data, classes = estimators.table(name)
    rng = np.random.default_rng(0)  # noqa: TID251 - which rows to explain, not a search
    drawn = rng.integers(0, len(data), n_rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on convergence, which is not the subject
        model = estimators.fit(name, data, classes)
    return Subject(model, data, data.iloc[drawn])


def seconds(
    work: Callable[[], Any], repeats: int = 1, clock: Callable[[], float] = time.perf_counter
) -> float:
    """Return the least time of some repeats, on the wall unless another clock is given."""
    best = float("inf")
    for _ in range(repeats):
        start = clock()
        work()
        best = min(best, clock() - start)
    return best


def plain_calls(what: Subject, calls: list[np.ndarray]) -> float:
    """Return the time of the same calls made plainly: a frame each, to the model's own method."""
    frames = [Encoding(cp.Schema.infer(what.data)).decode(call.copy()) for call in calls]
    ask = what.model.predict_proba
    with threadpool_limits(1):
        return seconds(lambda: [ask(frame) for frame in frames])


def limit(
    what: Subject,
    candidates: np.ndarray,
    threads: int | None,
    clock: Callable[[], float] = time.perf_counter,
) -> float:
    """Return the time to score the candidates in large calls, on so many threads."""
    encoding = Encoding(cp.Schema.infer(what.data))
    chunks = [candidates[i : i + LARGE] for i in range(0, len(candidates), LARGE)]
    frames = [encoding.decode(chunk.copy()) for chunk in chunks]
    with threadpool_limits(threads):
        return seconds(lambda: [what.model.predict_proba(frame) for frame in frames], 2, clock)


def measure_many(name: str, n_rows: int) -> dict[str, Any]:
    """Explain many rows; the limit is measured on the very same candidates."""
    what = subject(name, n_rows)
    explainer = cp.Explainer(what.model, what.data)
    many = partial(explainer.explain_many, what.rows, "opposite", SEARCH, progress=False)
    explainer.explain_many(what.rows[:3], "opposite", SEARCH)  # loads the kernels
    with watched(keeps_candidates=True) as kept:
        found = many(workers=1)
    candidates = np.concatenate(kept.candidates)
    with watched(clock=CPU) as watch:
        one_core = seconds(lambda: many(workers=1), clock=CPU)
    all_cores = seconds(lambda: many(workers=None), 2)
    one_limit, own_limit = limit(what, candidates, 1, CPU), limit(what, candidates, None)
    n = len(what.rows)
    per_row = {phase: 1000.0 * spent / n for phase, spent in watch.seconds.items()}
    own = 1000.0 * one_core / n - per_row["model"]
    return {
        "model": name,
        "rows": n,
        "candidates_per_row": len(candidates) / n,
        "valid": float(np.mean([len(result.valid()) > 0 for result in found])),
        "total_ms": 1000.0 * one_core / n,
        "limit_ms": 1000.0 * one_limit / n,
        "ratio_one_core": one_core / one_limit,
        "total_all_cores_ms": 1000.0 * all_cores / n,
        "limit_all_cores_ms": 1000.0 * own_limit / n,
        "ratio_all_cores": all_cores / own_limit,
        "own_ms": own,
        "split_ms": {**per_row, "rest": own - sum(per_row.values()) + per_row["model"]},
    }


def measure_scoring(name: str, n_rows: int) -> list[dict[str, Any]]:
    """Return CPU time spent on scoring by the limit, of a bare model and behind a passthrough."""
    bare = subject(name, n_rows)
    behind = bare._replace(model=make_pipeline("passthrough", bare.model))  # fitted already
    watches, explainers = [], []
    for what in (bare, behind):
        explainers.append(cp.Explainer(what.model, what.data))
        explainers[-1].explain_many(what.rows[:3], "opposite", SEARCH, workers=1, progress=False)
        watches.append(Stopwatch())
    for _ in range(REPEATS):  # alternately, for the machine may have other work
        for k, explainer in enumerate(explainers):
            with watched(keeps_candidates=True, clock=CPU) as watch:
                explainer.explain_many(bare.rows, "opposite", SEARCH, workers=1, progress=False)
            best = watches[k].seconds["model"] or np.inf
            watches[k] = watch if watch.seconds["model"] < best else watches[k]
    candidates = np.concatenate(watches[0].candidates)
    least = min(limit(bare, candidates, 1, CPU) for _ in range(REPEATS))
    spent = [watch.seconds["model"] for watch in watches]
    names = (name, f"passthrough, {name}")
    return [
        {"model": each, "scoring_ms": 1000.0 * own / n_rows, "ratio": own / least}
        for each, own in zip(names, spent, strict=True)
    ]


def measure_one(name: str, n_rows: int) -> dict[str, Any]:
    """Explain single rows, with and without the accelerator; medians."""
    what = subject(name, n_rows)
    plain = cp.Explainer(what.model, what.data)
    record: dict[str, Any] = {"model": name, "rows": n_rows}
    ratios, totals, calls_ms, paper = [], [], [], []
    plain.explain(what.rows[:1], "opposite", SEARCH)
    plain.explain(what.rows[:1], "opposite", PAPER)
    for i in range(n_rows):
        one = partial(plain.explain, what.rows.iloc[[i]], "opposite")
        total = seconds(partial(one, SEARCH), 3)
        with watched(keeps_candidates=True) as kept:
            one(SEARCH)
        calls = plain_calls(what, kept.candidates)
        ratios.append(total / calls)
        totals.append(1000.0 * total)
        calls_ms.append(1000.0 * calls)
        paper.append(1000.0 * seconds(partial(one, PAPER)))
    record |= {
        "total_ms": float(np.median(totals)),
        "plain_calls_ms": float(np.median(calls_ms)),
        "ratio_plain_calls": float(np.median(ratios)),
        "paper_ms": float(np.median(paper)),
        "onnx_ms": measure_accelerated(what),
    }
    return record


def measure_accelerated(what: Subject) -> float | str:
    """Return the median time to explain a row with the accelerator, or why there is none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", cp.AcceleratorWarning)
            explainer = cp.Explainer(what.model, what.data, accelerate="onnx")
            explainer.explain(what.rows[:1], "opposite", SEARCH)
            return 1000.0 * float(
                np.median(
                    [
                        seconds(
                            partial(explainer.explain, what.rows.iloc[[i]], "opposite", SEARCH),
                            3,
                        )
                        for i in range(len(what.rows))
                    ]
                )
            )
    except (cp.AcceleratorWarning, cp.CounterpointError) as error:
        return str(error).split(";")[0].split(".")[0]


def measure_memory(n_rows: int) -> dict[str, Any]:
    """Return how much memory explaining many rows takes, in a process of its own."""
    code = (
        "from benchmarks import held, speed\n"
        f"what = speed.subject('forest', {n_rows})\n"
        "explainer = speed.cp.Explainer(what.model, what.data)\n"
        "explainer.explain(what.rows[:1], 'opposite', speed.SEARCH)\n"
        "with held.memory() as taken:\n"
        "    kept = explainer.explain_many(what.rows, 'opposite', speed.SEARCH)\n"
        "print(taken.before, taken.most)"
    )
    out = subprocess.run(  # noqa: S603 - our own code
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout.split()
    return {"rows": n_rows, "before_mib": float(out[0]), "peak_mib": float(out[1])}


def measure_start() -> dict[str, float]:
    """Return seconds of the import, of a first result, and of compiling all kernels."""
    importing = "import counterpoint"
    run = partial(subprocess.run, check=True, capture_output=True)
    python = [sys.executable, "-c"]
    started: dict[str, float] = {}
    for label in ("default", "every"):
        first = f"from benchmarks import speed; speed.first_result({label!r})"
        with tempfile.TemporaryDirectory() as empty:
            work = partial(run, [*python, first], env={**os.environ, "NUMBA_CACHE_DIR": empty})
            compiling, cached = seconds(work), seconds(work, 2)
        started |= {f"{label}_result_s": cached, f"{label}_compile_s": compiling - cached}
    nothing = seconds(lambda: run([*python, "pass"]), 3)
    return {"import_s": seconds(lambda: run([*python, importing]), 3) - nothing, **started}


def first_result(searches: str) -> None:
    """Explain one row and leave, by the default or by every search: what a fresh process pays."""
    rng = np.random.default_rng(1)  # noqa: TID251 - made-up data
    data = pd.DataFrame(rng.gamma(2.0, 20.0, (758, 8)).round(1), columns=list("abcdefgh"))
    explainer = cp.Explainer(lambda rows: 1 / (1 + np.exp(40.0 - rows["a"])), data)
    others: list[Any] = [
        *(cp.Search.paper(name) for name in ("mocmod", "moc", "random")),
        cp.WhatIf(),
    ]
    for search in (None, *(others if searches == "every" else [])):
        explainer.explain(data[:1], "opposite", search).hypervolume()


def measure_r() -> dict[str, float]:
    """Return CPU seconds per row of the forest, ours alone and in a thousand, against R's."""
    what = subject("forest", 200)
    explainer = cp.Explainer(what.model, what.data)
    record: dict[str, float] = {}
    for label, search, theirs in (
        ("default", SEARCH, R_SECONDS[0]),
        ("paper", PAPER, R_SECONDS[1]),
    ):
        explainer.explain(what.rows[:1], "opposite", search)
        start = time.process_time()
        for i in range(5):
            explainer.explain(what.rows.iloc[[i]], "opposite", search)
        alone = (time.process_time() - start) / 5
        start = time.process_time()
        explainer.explain_many(what.rows, "opposite", search, workers=1)
        many = (time.process_time() - start) / len(what.rows)
        record |= {
            f"{label}_alone_s": alone,
            f"{label}_many_s": many,
            f"{label}_alone_times": theirs / alone,
            f"{label}_many_times": theirs / many,
        }
    return record


def machine() -> dict[str, Any]:
    """Return what was measured on and with."""
    import numba
    import sklearn

    return {
        "date": date.today().isoformat(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "counterpoint": cp.__version__,
        "numpy": np.__version__,
        "numba": numba.__version__,
        "scikit-learn": sklearn.__version__,
        "data": "diabetes of the paper" if published.is_at_hand() else "simulated diabetes",
    }


class Scope(NamedTuple):
    """How much is measured, and against which other checkout."""

    n_many: int
    n_one: int
    is_quick: bool
    against: Path | None


def of_sizes(scope: Scope) -> dict[str, Any]:
    """Measure tables of all sizes, of another checkout, too."""
    return {"sizes": sizes.measure(scope.against, scope.is_quick)}


def of_models(scope: Scope) -> dict[str, Any]:
    """Measure all kinds of models, many rows and one."""
    results: dict[str, Any] = {"many": [], "one": []}
    for name in estimators.NAMES[:2] if scope.is_quick else estimators.NAMES:
        n_many = scope.n_many // 5 if name == "support vectors" else scope.n_many
        results["many"].append(measure_many(name, n_many))
        results["one"].append(measure_one(name, scope.n_one))
        print(json.dumps(results["many"][-1]), json.dumps(results["one"][-1]), sep="\n", flush=True)
    return results


def of_start(scope: Scope) -> dict[str, Any]:
    """Measure start-up and memory."""
    return {"start": measure_start(), "memory": measure_memory(scope.n_many)}


def of_r(_: Scope) -> dict[str, Any]:
    """Measure against the authors' package."""
    return {"r": measure_r()}


def of_peers(scope: Scope) -> dict[str, Any]:
    """Measure the peers."""
    from benchmarks import peers

    return {"peers": peers.measure(2 if scope.is_quick else 5, scope.is_quick)}


PARTS: dict[str, Callable[[Scope], dict[str, Any]]] = {
    "sizes": of_sizes,
    "models": of_models,
    "start": of_start,
    "r": of_r,
    "peers": of_peers,
}


def measure(only: list[str], scope: Scope, file: Path) -> dict[str, Any]:
    """Measure the parts that are asked for; return all, those written earlier included.

    Each is written as soon as it is measured, unless that is quick.
    """
    results = {} if scope.is_quick or not file.exists() else json.loads(file.read_text())
    for name in only:
        results[name] = {"machine": machine(), **PARTS[name](scope)}
        if not scope.is_quick:
            file.parent.mkdir(exist_ok=True)
            file.write_text(json.dumps(results, indent=1) + "\n")
            file.with_suffix(".md").write_text(as_markdown(results))
    return results


def main() -> None:
    """Measure everything that is asked for, print it, write it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="few rows; writes nothing")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), help="some parts")
    parser.add_argument("--against", type=Path, help="another checkout, for the tables of sizes")
    parser.add_argument("--rows", type=int, default=N_MANY, help="rows of the many")
    parser.add_argument("--scoring", action="store_true", help="only what scoring costs; prints it")
    arguments = parser.parse_args()
    if arguments.scoring:
        for name in estimators.TREES:
            for record in measure_scoring(name, arguments.rows):
                print(json.dumps(record), flush=True)
        return
    n_many, n_one = (40, 2) if arguments.quick else (arguments.rows, 7)
    scope = Scope(n_many, n_one, arguments.quick, arguments.against)
    print(as_markdown(measure(arguments.only, scope, FOLDER / "speed.json")))


if __name__ == "__main__":
    main()
