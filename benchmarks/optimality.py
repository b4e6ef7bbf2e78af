"""How far our searches stay from the exact optimum, where it can be computed.

    python -m benchmarks.optimality [--rows 10] [--write FILE]

For a linear classifier and small ensembles of trees, mixed-integer programs give the least distance
and the fewest changes a counterfactual can have, and the least distance for each number of changes
(`benchmarks/methods/optimum.py`). Searches are asked for the same rows, targets and space, with the
paper's budget of 3,520 evaluations. NICE stands beside them: it is fast, and not on its optimum.
"""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from benchmarks import proofs
from benchmarks.methods import METHODS, Background, Case
from benchmarks.methods.optimum import Best, optimum
from benchmarks.methods.ours import BUDGET, Counterpoint
from counterpoint import Search
from counterpoint.datasets import load_credit

REPORT = Path(__file__).parents[1] / "docs" / "study" / "optimality.md"
PROVED = Counterpoint("counterpoint, proved", Search(evaluations=BUDGET, prove=True))
ASKED = {"counterpoint": METHODS["counterpoint"], PROVED.name: PROVED} | {
    name: METHODS[name] for name in ("mocmod", "nice sparsity")
}
SEARCHES = tuple(ASKED)
SAME = 1e-6  # relative: what tells a better row from rounding
ROUNDING = 1e-4  # relative: how far a solver's tolerance lets an optimum be from the true one
OTHERS = "\n## Two solvers"  # begins what other commands write
NEVER = np.inf  # the distance of a search that found nothing
MODELS = {
    "logistic regression": LogisticRegression(max_iter=1000),
    "tree": DecisionTreeClassifier(max_depth=5, random_state=0),
    "forest of 5": RandomForestClassifier(5, max_depth=4, random_state=0),
    "boosting of 20": GradientBoostingClassifier(n_estimators=20, max_depth=2, random_state=0),
}


@dataclass(frozen=True)
class Gap:
    """One search on one row: its least distances and fewest changes beside the best possible."""

    table: str
    model: str
    search: str
    distance: float
    best_distance: float
    changes: float
    best_changes: int
    ratios: tuple[float, ...]  # least distance by the optimum's, for each number of changes
    seconds: float  # of all the row's programs
    margin: float  # by which the optimum's score had to pass the boundary


def tables() -> dict[str, tuple[pd.DataFrame, pd.Series[Any]]]:
    """Return the embedded credit data and three of scikit-learn's bundled tables."""
    bundled = {"breast cancer": load_breast_cancer, "wine": load_wine, "iris": load_iris}
    loaded = {name: load(as_frame=True) for name, load in bundled.items()}
    return {"credit": load_credit()} | {name: (t.data, t.target) for name, t in loaded.items()}


def fit(name: str, data: pd.DataFrame, classes: Any) -> Any:
    """Return a fitted pipeline: levels one-hot, numbers scaled for the linear model."""
    levels = list(data.select_dtypes("category").columns)
    numbers = [column for column in data.columns if column not in levels]
    scale = StandardScaler() if name == "logistic regression" else "passthrough"
    encode = make_column_transformer((OneHotEncoder(), levels), (scale, numbers))
    return make_pipeline(encode, MODELS[name]).fit(data, classes)


def cases(n_rows: int) -> Iterator[tuple[str, str, Case]]:
    """Yield the rows to explain, spread over each table; the target is the runner-up class."""
    for table, (data, classes) in tables().items():
        for name in MODELS:
            if name == "logistic regression" and classes.nunique() > 2:
                continue  # its score is not one, but one per class
            model = fit(name, data, classes)
            background = Background(model, data, classes)
            for i in np.linspace(0, len(data) - 1, n_rows).astype(int):
                row = data.iloc[[i]]
                order = np.argsort(model.predict_proba(row)[0], kind="stable")
                target = next(c for c in model.classes_[order[::-1]] if c != model.predict(row)[0])
                yield table, name, Case(background, row, target)


def measure(case: Case, search: str, best: list[Best]) -> tuple[float, float, tuple[float, ...]]:
    """Return a search's least distance, fewest changes, and ratios to the optimum."""
    genomes = case.codec.encode(ASKED[search].explain(case))
    valid = genomes[case.reaches(genomes)]
    distances, changes = case.gower(valid), (valid != case.genome).sum(axis=1)

    def least(n: int) -> float:
        """Return the least distance of at most n changes."""
        return float(distances[changes <= n].min(initial=NEVER))

    ratios = tuple(least(b.changes) / b.distance for b in best)
    if min(ratios) < 1.0 - ROUNDING:
        raise RuntimeError(f"{search} beats the optimum by {min(ratios)}, so that is none.")
    fewest = float(changes.min()) if len(changes) else NEVER
    return least(len(case.genome)), fewest, ratios


def gaps(n_rows: int) -> list[Gap]:
    """Measure every search on every row that has a counterfactual at all."""
    found = []
    for table, model, case in cases(n_rows):
        start = time.perf_counter()
        best = optimum(case)
        seconds = time.perf_counter() - start
        for search in SEARCHES if best else ():
            distance, changes, ratios = measure(case, search, best)
            ends = (distance, best[-1].distance, changes, best[0].changes)
            margin = max(b.margin for b in best)
            found.append(Gap(table, model, search, *ends, ratios, seconds, margin))
        print(f"{table}, {model}: {seconds:.1f} s", flush=True)
    return found


def summarize(rows: list[Gap]) -> str:
    """Return the cells of one search on one table and model."""
    excess = np.array([g.distance / g.best_distance - 1.0 for g in rows])
    more = np.array([g.changes - g.best_changes for g in rows])
    ratios = np.concatenate([g.ratios for g in rows])
    found = np.isfinite(excess)
    if not found.any():
        return f"0 of {len(rows)} | | | | |"
    within = np.median(ratios[np.isfinite(ratios)]) - 1.0 if np.isfinite(ratios).any() else np.nan
    return (
        f"{found.sum()} of {len(rows)} | {(excess < SAME).mean():.0%} | "
        f"{np.median(excess[found]):.1%} | {excess[found].max():.1%} | {(more == 0).mean():.0%} | "
        f"{'' if np.isnan(within) else f'{within:.1%}'} ({np.isfinite(ratios).mean():.0%})"
    )


def sentence(search: str, rows: list[Gap]) -> str:
    """Return in words how near a search comes to the least distance."""
    excess = np.array([g.distance / g.best_distance - 1.0 for g in rows])
    near = [f"{(excess <= limit).mean():.0%}" for limit in (SAME, 0.01, 0.1)]
    worst = max(rows, key=lambda g: g.distance / g.best_distance)
    return (
        f"- **{search}** finds the nearest possible counterfactual of {near[0]} of the {len(rows)} "
        f"rows, one at most 1% farther of {near[1]} and 10% of {near[2]}. It does worst on a row "
        f"of {worst.table} with the {worst.model}: {worst.distance:.4f}, where "
        f"{worst.best_distance:.4f} is possible."
    )


def as_markdown(found: list[Gap], large: list[proofs.Proved], n_rows: int) -> str:
    """Return the report."""
    lines = [
        "| table | model | search | rows valid | distance optimal | excess, median | largest "
        "| fewest changes | per number of changes |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    keys = dict.fromkeys((g.table, g.model, g.search) for g in found)
    for key in keys:
        rows = [g for g in found if (g.table, g.model, g.search) == key]
        lines.append(f"| {' | '.join(key)} | {summarize(rows)} |")
    for search in SEARCHES:
        rows = [g for g in found if g.search == search]
        lines.append(f"| **all** | | **{search}** | {summarize(rows)} |")
    seconds = [g.seconds for g in found if g.search == SEARCHES[0]]
    return TEXT.format(
        table="\n".join(lines),
        words="\n".join(sentence(s, [g for g in found if g.search == s]) for s in SEARCHES),
        n_rows=n_rows,
        large=proofs.as_markdown(large),
        claims=proofs.count_claims(large),
        median=np.median(seconds),
        most=max(seconds),
        margin=max(g.margin for g in found),
        day=datetime.now(UTC).date(),
        machine=f"{platform.machine()}, Python {platform.python_version()}",
        versions=", ".join(f"{p} {version(p)}" for p in ("numpy", "scipy", "scikit-learn")),
    )


TEXT = """# How far from the optimum?

For linear classifiers and small ensembles of trees the best counterfactual can be computed, by
mixed-integer programs (`benchmarks/methods/optimum.py`, tested against trying all rows). Here are
{n_rows} rows of each table, spread over it; the target is the runner-up class, the space that of
our searches. Every search gets the model and 3,520 evaluations; seed 0.
`make -C benchmarks optimality` writes this page.

- **distance optimal**: share of rows whose nearest counterfactual is the nearest possible.
- **excess**: by how much its distance exceeds the least possible; median and largest over the rows.
- **fewest changes**: share of rows for which the fewest possible changes are found.
- **per number of changes**: median excess of the least distance, for each number of changes that
  allows a nearer row than fewer do; in brackets the share of those for which anything is found.

{words}

{table}

The programs took {median:.1f} s per row in the median and {most:.0f} s at most, all numbers of
changes together. Three classes have no linear score of their own, so wine and iris are without the
linear model. Optima are exact up to the single precision in which trees compare numbers; where
a solver's row was not confirmed by the model, the score had to pass the boundary by a margin, of
{margin:g} at most.

## A hundred trees

Ensembles as large as those in practice, and linear models of two and of three classes: the
default search alone, and with `Search(prove=True)`, which is given ten seconds a row for the
nearest, the fewest changes, each number of changes and each way, in that order. **Excess** is
that of the search alone over the least distance that is known; **proved nearest** the share of
rows of which the solver proved that no nearer counterfactual exists, and **at worst within** how
far it may be from the optimum where it did not ("no bound" where it knew none in time). Seconds
are CPU time of a row: in the median alone and with the proof, and at most.

{large}

What the solver was asked of these rows, and how often it said what ("within" some share of the
optimum, which is that of the table for the nearest):

{claims}

Measured on {day}: {machine}, {versions}; `python -m benchmarks.optimality --rows {n_rows}`.
"""


def main() -> None:
    """Measure and write the report."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=10, help="rows of each table")
    parser.add_argument("--write", type=Path, default=REPORT, help="the report's file")
    arguments = parser.parse_args()
    with threadpool_limits(1):
        found = gaps(arguments.rows)
        few = {name: table for name, table in tables().items() if name != "iris"}
        large = list(proofs.measure(few, arguments.rows))
    arguments.write.parent.mkdir(parents=True, exist_ok=True)
    kept = others(arguments.write.read_text()) if arguments.write.exists() else ""
    arguments.write.write_text(as_markdown(found, large, arguments.rows) + kept)


def others(page: str) -> str:
    """Return the sections of a page that other commands write, which are kept."""
    start = page.find(OTHERS)
    return "" if start < 0 else page[start:]


if __name__ == "__main__":
    main()
