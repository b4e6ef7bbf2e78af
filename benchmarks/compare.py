"""Two checkouts side by side: time, start-up and memory of the same work, in one run.

    python -m benchmarks.compare --before DIR [--rounds 5] [--most 1.03]

Every piece of work runs in a fresh process, in turns: before, after, after, before, and so on, so
that a machine that grows slower harms both. What counts is the least CPU time of all rounds, since
noise only adds. Memory is the highest resident size of the process. Prints a table of ratios, after
to before, and ends with status 1 if one of them is above ``--most``.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
N_MANY = 150


def table(n: int, d: int) -> Any:
    """Return a table of d features, every third of them categorical."""
    import numpy as np
    import pandas as pd

    rng = np.random.default_rng(d)  # noqa: TID251 - the data of a benchmark, not a search
    columns: dict[str, Any] = {}
    for j in range(d):
        values = rng.normal(50.0, 12.0, n).round(1)
        is_level = j % 3 == 2
        columns[f"x{j}"] = rng.choice(["a", "b", "c", "d"], n) if is_level else values
    return pd.DataFrame(columns)


def fitted(kind: str, data: Any) -> Any:
    """Return a model of one kind, fitted to labels that follow the first features."""
    import numpy as np
    import pandas as pd
    from sklearn.compose import make_column_transformer
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    levels = [name for name in data if not pd.api.types.is_numeric_dtype(data[name])]
    numbers = [name for name in data if name not in levels]
    classifiers = {
        "linear": LogisticRegression(),
        "forest": RandomForestClassifier(50, max_depth=8, random_state=0),
        "boosting": HistGradientBoostingClassifier(max_iter=50, random_state=0),
    }
    encode = make_column_transformer(
        (StandardScaler(), numbers),
        (OneHotEncoder(sparse_output=False), levels),
    )
    score = data["x0"] - data["x1"] + 10.0 * (data["x2"] == "a")
    labels = np.where(score > score.median(), "yes", "no")
    return make_pipeline(encode, classifiers[kind]).fit(data, labels)


def many(kind: str, d: int, **settings: Any) -> Callable[[], None]:
    """Return the work of explaining many rows to one model."""
    import counterpoint as cp

    data = table(1000, d)
    explainer = cp.Explainer(fitted(kind, data), data)
    search = cp.Search.paper("mocmod") if settings.pop("paper", False) else cp.Search()
    rows = data.iloc[: 10 if search.method == "nsga2" else N_MANY]
    explainer.explain_many(rows[:2], "opposite", search, workers=1, progress=False, **settings)

    def work() -> None:
        explainer.explain_many(rows, "opposite", search, workers=1, progress=False, **settings)

    return work


def alone() -> Callable[[], None]:
    """Return the work of explaining rows one by one, with words and a frame."""
    import counterpoint as cp

    data = table(1000, 8)
    explainer = cp.Explainer(fitted("forest", data), data)
    explainer.explain(data.iloc[[0]], "opposite", progress=False)

    def work() -> None:
        for i in range(1, 11):
            found = explainer.explain(data.iloc[[i]], "opposite", progress=False)
            found.select(5).to_frame()
            str(found)

    return work


def first_result() -> Callable[[], None]:
    """Return the work of a fresh process: import, fit and explain one row, kernels cached."""

    def work() -> None:
        import pandas as pd

        import counterpoint as cp

        data = pd.DataFrame({"a": [0.5, 1.5, 2.5, 3.5], "b": [1, 2, 3, 4]})
        explainer = cp.Explainer(lambda rows: rows["a"] / 4, data)
        explainer.explain({"a": 0.5, "b": 1}, (0.6, 1.0), progress=False)

    return work


def large() -> Callable[[], None]:
    """Return the work of explaining a few rows over many observed ones, for its memory."""
    import counterpoint as cp

    data = table(200_000, 20)

    def work() -> None:
        explainer = cp.Explainer(lambda rows: rows["x0"] / 100.0, data)
        rows = data.iloc[:20]
        explainer.explain_many(rows, (0.8, 1.0), cp.Search(), workers=1, progress=False)

    return work


WORK: dict[str, Callable[[], Callable[[], None]]] = {
    "many rows, linear, 8 features": lambda: many("linear", 8),
    "many rows, linear, 21 features": lambda: many("linear", 21),
    "many rows, forest, 8 features": lambda: many("forest", 8),
    "many rows, forest, 21 features": lambda: many("forest", 21),
    "many rows, boosting, 21 features": lambda: many("boosting", 21),
    "many rows, rules, 8 features": lambda: many(
        "linear", 8, constraints=["x0 + x1 <= 130", "x3 increases"]
    ),
    "the paper's search, forest, 8 features": lambda: many("forest", 8, paper=True),
    "rows one by one, with words": alone,
    "first result of a fresh process": first_result,
    "200,000 observed rows": large,
}


def measure(name: str) -> dict[str, float]:
    """Do one piece of work in this process; return its CPU seconds and the process's memory."""
    started = time.process_time()
    work = WORK[name]()
    if name != "first result of a fresh process":
        started = time.process_time()
    work()
    spent = time.process_time() - started
    return {"cpu": spent, "mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0}


def run_in(checkout: Path, name: str) -> dict[str, float]:
    """Measure one piece of work in a fresh process that imports a checkout's package."""
    command = [sys.executable, str(Path(__file__)), "--one", name]
    environment = {**os.environ, "PYTHONPATH": str(checkout / "src")}
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        environment[variable] = "1"
    done = subprocess.run(  # noqa: S603 - our own module
        command, capture_output=True, text=True, check=True, env=environment
    )
    return dict(json.loads(done.stdout.splitlines()[-1]))


def compare(before: Path, after: Path, name: str, rounds: int) -> dict[str, float]:
    """Return the least CPU time and memory of both checkouts over all rounds."""
    sides: dict[str, list[dict[str, float]]] = {"before": [], "after": []}
    places = {"before": before, "after": after}
    for side in places:
        run_in(places[side], name)  # compiles what is not in the cache yet
    for i in range(rounds):
        for side in ("before", "after") if i % 2 == 0 else ("after", "before"):
            sides[side].append(run_in(places[side], name))
    return {
        f"{side} {what}": min(each[what] for each in measured)
        for side, measured in sides.items()
        for what in ("cpu", "mib")
    }


def main() -> int:
    """Compare two checkouts; return 1 if something grew by more than is allowed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", type=Path, help="the checkout to compare with")
    parser.add_argument("--after", type=Path, default=ROOT)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--most", type=float, default=1.03)
    parser.add_argument("--only", default="")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measure(given.one)))
        return 0
    worst = 0.0
    print("| work | CPU s before | after | ratio | MiB before | after | ratio |")
    print("|---|---|---|---|---|---|---|")
    for name in (name for name in WORK if given.only in name):
        seen = compare(given.before.resolve(), given.after.resolve(), name, given.rounds)
        cpu = seen["after cpu"] / seen["before cpu"]
        mib = seen["after mib"] / seen["before mib"]
        worst = max(worst, cpu, mib)
        print(
            f"| {name} | {seen['before cpu']:.3f} | {seen['after cpu']:.3f} | {cpu:.3f} "
            f"| {seen['before mib']:.0f} | {seen['after mib']:.0f} | {mib:.3f} |",
            flush=True,
        )
    return int(worst > given.most)


if __name__ == "__main__":
    sys.exit(main())
