"""Tables of 8 to 200 features, numbers and mixed; cores, start-up and memory; two checkouts.

    python -m benchmarks.sizes [--against DIR] [--quick]

Every subject is measured in a process of its own that imports the package of one checkout. With
``--against``, the same subjects are measured there, too, in turns, and both stand in one table. A
part of `make bench`. Times are of the processor, but for cores and start-up, which are of the wall.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

ROOT = Path(__file__).parent.parent
FEATURES = (8, 21, 60, 200)
N_OBSERVED = 1100
EVALUATIONS = 3520
REPEATS = 3  # of which the least counts, since noise only adds
LONG = 20.0  # seconds that one worker takes where cores are measured
MEMORY_TABLE = (200_000, 20)  # rows and features
MEMORY_EVALUATIONS = (600, EVALUATIONS)


class Size(NamedTuple):
    """A table and a model of it.

    Attributes
    ----------
    d : int
        How many features.
    kind : str
        "numbers" or "mixed": half of them levels.
    model : str
        One of `fitted`.
    """

    d: int
    kind: str
    model: str

    @property
    def title(self) -> str:
        """What it is called in tables."""
        return f"{self.model}, {self.d} features, {self.kind}"


def sizes(quick: bool) -> list[Size]:
    """Return what is measured: a fast model on all tables, and trees on those of 8 and 21."""
    if quick:
        return [Size(8, "numbers", "linear"), Size(21, "mixed", "linear")]
    all_tables = [Size(d, kind, "linear") for d in FEATURES for kind in ("numbers", "mixed")]
    trees = [Size(d, "numbers", name) for d in FEATURES[:2] for name in ("forest", "boosting")]
    return all_tables + trees


def made(size: Size, n: int = N_OBSERVED) -> tuple[Any, Any]:
    """Return data and a model that is fitted to them."""
    from benchmarks import simulated

    has_levels = size.kind == "mixed"
    data = simulated.table(n, size.d if has_levels else 2 * size.d)
    data = data if has_levels else data.iloc[:, : size.d]
    numbers = data.select_dtypes("number")
    score = numbers.to_numpy() @ np.linspace(1.0, -1.0, numbers.shape[1])
    return data, fitted(size.model, data, (score > np.median(score)).astype(int))


def fitted(name: str, data: Any, classes: Any) -> Any:
    """Return a model of one kind; levels are one-hot encoded."""
    from sklearn.compose import make_column_transformer
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    estimator = {
        "linear": LogisticRegression(max_iter=1000),
        "forest": RandomForestClassifier(100, random_state=0),
        "boosting": HistGradientBoostingClassifier(random_state=0),
    }[name]
    numbers = list(data.select_dtypes("number").columns)
    levels = [column for column in data.columns if column not in numbers]
    if not levels:
        return make_pipeline(StandardScaler(), estimator).fit(data, classes)
    encode = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), levels), (StandardScaler(), numbers)
    )
    return make_pipeline(encode, estimator).fit(data, classes)


def measure_size(size: Size, n_rows: int) -> dict[str, float]:
    """Return milliseconds of the processor per row on one thread: all, ours, the model's limit."""
    from threadpoolctl import threadpool_limits

    import counterpoint as cp
    from counterpoint.models.predictor import Predictor

    data, model = made(size)
    explainer, rows = cp.Explainer(model, data), data.iloc[:n_rows]
    search = cp.Search(evaluations=EVALUATIONS, patience=None)
    explainer.explain_many(rows[:2], "opposite", search, workers=1, progress=False)
    asked, spent, plain = list[Any](), list[float](), Predictor._ask

    def timed(predictor: Any, question: Any, genomes: Any) -> Any:
        start = time.process_time()
        answer = plain(predictor, question, genomes)
        spent.append(time.process_time() - start)
        asked.append(genomes.copy())
        return answer

    Predictor._ask = timed  # type: ignore[method-assign, assignment]
    total = own = np.inf
    for _ in range(REPEATS):
        asked.clear()
        spent.clear()
        start = time.process_time()
        explainer.explain_many(rows, "opposite", search, workers=1, progress=False)
        taken = time.process_time() - start
        total, own = min(total, taken), min(own, taken - sum(spent))
    frames = explainer.encoding.decode(np.concatenate(asked))
    with threadpool_limits(1):
        start = time.process_time()
        model.predict_proba(frames)
        limit = time.process_time() - start
    per_row = 1000.0 / len(rows)
    return {
        "total_ms": total * per_row,
        "own_ms": own * per_row,
        "limit_ms": limit * per_row,
    }


def measure_cores(size: Size, quick: bool) -> dict[str, float]:
    """Return which share of all cores many rows use: one worker's time over that of all cores.

    Beside it stands the share that searches have that know nothing of each other, one for each
    core. They share caches and memory, too, so that it is the most to be had.
    """
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its bytecode
    n_cores = len(os.sched_getaffinity(0))
    some = seconds_apart(size, 512, 1)
    n = int(512 / some * (12.0 if quick else LONG))
    few = max(n // 5, 512)
    apart = [seconds_apart(size, few, n_processes) for n_processes in (1, n_cores)]
    seconds = timed_search(size)
    one, all_of_them = seconds(n, 1), seconds(n, None)
    return {
        "rows": float(n),
        "one_s": one,
        "all_s": all_of_them,
        "share": one / (n_cores * all_of_them),
        "most": apart[0] / apart[1],
    }


def timed_search(size: Size) -> Callable[[int, int | None], float]:
    """Return a function that tells how long so many rows take so many workers; kernels loaded."""
    import pandas as pd

    import counterpoint as cp

    data, model = made(size)
    explainer, search = cp.Explainer(model, data), cp.Search(evaluations=600)

    def seconds(n: int, workers: int | None) -> float:
        many = pd.concat([data] * -(-n // len(data)), ignore_index=True)[:n]
        start = time.perf_counter()
        for _ in explainer.explain_each(many, "opposite", search, workers=workers, progress=False):
            pass
        return time.perf_counter() - start

    seconds(128, 1)
    return seconds


def seconds_apart(size: Size, n: int, n_processes: int) -> float:
    """Return the mean time of processes that search n rows each, all at once, on one worker."""
    context = get_context("spawn")
    together, times = context.Barrier(n_processes), context.SimpleQueue()
    searching = [
        context.Process(target=search_apart, args=(size, n, together, times))
        for _ in range(n_processes)
    ]
    for each in searching:
        each.start()
    for each in searching:
        each.join()
        if each.exitcode:
            raise RuntimeError(f"a process of its own ended with {each.exitcode}.")
    return float(np.mean([times.get() for _ in searching]))


def search_apart(size: Size, n: int, together: Any, times: Any) -> None:
    """Tell how long n rows take one worker, begun at once with other processes."""
    warnings.simplefilter("ignore")
    seconds = timed_search(size)
    together.wait()
    times.put(seconds(n, 1))


def measure_memory(n_rows: int, evaluations: int) -> dict[str, float]:
    """Return how much memory a large table takes above its frame, rows explained and kept.

    Of the processes that helped it is the most that one of them had, Python included.
    """
    import resource

    import counterpoint as cp
    from benchmarks import simulated
    from benchmarks.held import held_mib

    data, model = simulated.table(*MEMORY_TABLE), simulated.Linear()
    search = cp.Search(evaluations=evaluations)
    warm = simulated.table(1000, 20)
    cp.Explainer(model, warm).explain(warm[:1], (0.5, 1.0), search)  # loads what is not data
    before = held_mib()
    explainer = cp.Explainer(model, data)
    built = held_mib()
    kept = explainer.explain_many(data[:n_rows], (0.5, 1.0), search, progress=False)
    own, others = (
        resource.getrusage(who).ru_maxrss / 1024.0
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return {
        "rows": float(len(kept)),
        "explainer_mib": built - before,
        "most_mib": own - before,
        "helper_mib": others,
    }


def measure_start(checkout: Path, quick: bool) -> dict[str, float]:
    """Return seconds of the wall: to a first result, kernels cached; and to compile them.

    Before that, Python's bytecode is made, which an installed package and its libraries have: in a
    process of its own, whose kernels are not kept.
    """
    code = (
        "import pandas as pd, counterpoint as cp\n"
        "data = pd.DataFrame({'a': [0.5, 1.5, 2.5, 3.5] * 9, 'b': range(36)})\n"
        "explainer = cp.Explainer(lambda rows: rows['a'] / 4, data)\n"
        "explainer.explain({'a': 0.5, 'b': 1}, (0.6, 1.0), constraints=['a <= 3.5'])\n"
    )

    def seconds(folder: Path, kernels: str) -> float:
        start = time.perf_counter()
        environment = {**environment_of(checkout), "NUMBA_CACHE_DIR": str(folder / kernels)}
        environment |= {"PYTHONPYCACHEPREFIX": str(folder), "PYTHONDONTWRITEBYTECODE": ""}
        subprocess.run([sys.executable, "-c", code], check=True, env=environment)  # noqa: S603
        return time.perf_counter() - start

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        seconds(folder, "not kept")
        first = seconds(folder, "kept")
        cached = min(seconds(folder, "kept") for _ in range(2 if quick else 5))
    return {"first_s": cached, "compile_s": first - cached}


def environment_of(checkout: Path) -> dict[str, str]:
    """Return the environment in which a checkout's package is imported, and these benchmarks."""
    paths = os.pathsep.join([str(checkout / "src"), str(ROOT)])
    return {**os.environ, "PYTHONPATH": paths}


def in_own_process(checkout: Path, what: str, quick: bool) -> dict[str, float]:
    """Measure one subject in a fresh process."""
    command = [sys.executable, "-m", "benchmarks.sizes", "--one", what]
    done = subprocess.run(  # noqa: S603 - our own module
        [*command, *(["--quick"] if quick else [])],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env=environment_of(checkout),
    )
    return dict(json.loads(done.stdout.splitlines()[-1]))


def measure_one(what: str, quick: bool) -> dict[str, float]:
    """Measure a subject, named by its kind and its size."""
    kind, _, named = what.partition(":")
    if kind == "memory":
        return measure_memory(50 if quick else 2000, int(named.split()[0].replace(",", "")))
    size = next(each for each in all_sizes() if each.title == named)
    if kind == "cores":
        return measure_cores(size, quick)
    return measure_size(size, 12 if quick else 60)


def all_sizes() -> list[Size]:
    """Return every size that is measured, quick or not."""
    return list(dict.fromkeys(sizes(quick=False) + sizes(quick=True)))


def measure(against: Path | None, quick: bool) -> dict[str, Any]:
    """Return the records of all subjects, by checkout: "after" is this one, "before" the other."""
    places = {"after": ROOT} | ({"before": against.resolve()} if against else {})
    cores = [Size(8, "numbers", "linear")]
    cores += [] if quick else [Size(21, "numbers", "linear"), Size(8, "numbers", "forest")]
    subjects = [f"size:{each.title}" for each in sizes(quick)]
    subjects += [f"cores:{each.title}" for each in cores]
    subjects += [f"memory:{n:,} evaluations" for n in MEMORY_EVALUATIONS]
    records: dict[str, Any] = {}
    for subject in subjects:
        records[subject] = {
            side: in_own_process(place, subject, quick) for side, place in places.items()
        }
        print(subject, json.dumps(records[subject]), flush=True)
    records["start:"] = {side: measure_start(place, quick) for side, place in places.items()}
    print("start", json.dumps(records["start:"]), flush=True)
    return records


def as_markdown(records: dict[str, Any]) -> str:
    """Return the tables of sizes, of cores, and of start-up and memory."""
    from benchmarks.speed_report import table_of

    sides = [side for side in ("before", "after") if side in next(iter(records.values()))]

    def cells(subject: str, show: Callable[[dict[str, float]], str]) -> list[str]:
        return [show(records[subject][side]) for side in sides]

    def lines(kind: str, *shown: Callable[[dict[str, float]], str]) -> list[list[str]]:
        of_kind = [subject for subject in records if subject.startswith(f"{kind}:")]
        return [
            [subject.partition(":")[2], *(cell for show in shown for cell in cells(subject, show))]
            for subject in of_kind
        ]

    def header(*names: str) -> list[str]:
        suffix = {"before": ", before", "after": ", now" if len(sides) > 1 else ""}
        return [f"{name}{suffix[side]}".lstrip(", ") for name in names for side in sides]

    by_size = lines(
        "size",
        lambda r: f"{r['total_ms']:.1f}",
        lambda r: f"{r['own_ms']:.1f}",
        lambda r: f"{r['total_ms'] / r['limit_ms']:.1f}",
    )
    by_core = lines(
        "cores",
        lambda r: f"{r['one_s']:.1f}",
        lambda r: f"{r['all_s']:.1f}",
        lambda r: f"{100 * r['share']:.0f} %",
        lambda r: f"{100 * r['most']:.0f} %",
    )
    others = [
        ["fresh process to a first result with a rule", *cells("start:", _first)],
        ["compiling the kernels, once", *cells("start:", _compile)],
        *(
            [f"the most above 200,000 rows of 20 features, {name} each", *shown]
            for name, *shown in lines("memory", _most)
        ),
    ]
    sized = ["model and table", *header("total (ms/row)", "own (ms/row)", "total ÷ limit")]
    shares = header("one worker (s)", "all (s)", "share of the cores", "searches apart")
    cored = ["model and table", *shares]
    return "\n\n".join(
        [
            table_of(sized, by_size),
            table_of(cored, by_core),
            table_of(["what", *header("")], others),
        ]
    )


def _first(record: dict[str, float]) -> str:
    return f"{record['first_s']:.2f} s"


def _compile(record: dict[str, float]) -> str:
    return f"{record['compile_s']:.1f} s"


def _most(record: dict[str, float]) -> str:
    return (
        f"{record['most_mib']:.0f} MiB (the explainer {record['explainer_mib']:.0f}, "
        f"{record['rows']:.0f} rows kept), and {record['helper_mib']:.0f} in a process that helps"
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--against", type=Path, help="another checkout, measured in turns")
    parser.add_argument("--quick", action="store_true", help="two tables, few rows")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on convergence, which is not the subject
            print(json.dumps(measure_one(given.one, given.quick)))
        return
    print(as_markdown(measure(given.against, given.quick)))


if __name__ == "__main__":
    main()
