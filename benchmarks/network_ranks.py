"""What rank in L2 the nearest counterfactual by Gower has, where others are ranked by L2.

    python -m benchmarks.network_ranks FOLDER [--rows 20] [--seconds 3] [--only Iris,Adult]

FOLDER holds the networks, rows and published results of a public benchmark of counterfactual
methods, with the script `score.py` that ranks a method among them. Its networks have one hidden
layer, so that the nearest counterfactual by Gower's distance is a mixed-integer program: a step
down and one up of every number, a binary for each level and for each hidden unit that may be on or
off within reach of what our search found. Printed are the mean ranks in L2 of what `closest` takes,
of the least L2 in the set that the search returned, of the nearest by the program (of ours, where
it is not proved in time), and of that one of equally near ones which changes fewest columns.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

import counterpoint as cp
from counterpoint.search.exact.program import INFEASIBLE, MatrixRows

MARGIN = 1e-5  # by which the wanted score must be ahead
EQUAL = 1e-7  # relative: what tells equally near ones
KEYS = ["dataset", "factual_class", "factual_index"]


class Steps(NamedTuple):
    """Steps away from a row: every column of the program moves columns of the network.

    Attributes
    ----------
    moves : ndarray of shape (n, d)
        By how much each step, taken whole, moves the inputs.
    costs : ndarray of shape (n,)
        What it adds to the sum of Gower's parts.
    most : ndarray of shape (n,)
        How much of it may be taken.
    is_level : ndarray of shape (n,)
        Whether it is taken whole or not at all.
    owner : ndarray of shape (n,)
        Which feature it changes.
    """

    moves: Any
    costs: Any
    most: Any
    is_level: Any
    owner: Any


def steps_of(task: Any, row: Any, low: Any, high: Any, reach: float) -> Steps:
    """Return the steps of a row within reach, which is a distance times the features."""
    made: list[tuple[Any, float, float, bool, int]] = []
    for k, feature in enumerate(task.features):
        columns = feature["columns"]
        if feature["kind"] == "numeric":
            j = columns[0]
            span = max(high[j], row[j]) - min(low[j], row[j]) or 1.0
            for sign, room in ((1.0, max(high[j] - row[j], 0)), (-1.0, max(row[j] - low[j], 0))):
                made.append((moved(row, {j: sign}), 1.0 / span, min(room, reach * span), False, k))
        elif len(columns) == 1:
            made.append((moved(row, {columns[0]: 1.0 - 2.0 * row[columns[0]]}), 1.0, 1.0, True, k))
        else:
            own = columns[int(np.argmax(row[columns]))]
            others = [j for j in columns if j != own]
            made += [(moved(row, {own: -1.0, j: 1.0}), 1.0, 1.0, True, k) for j in others]
    return Steps(*(np.array(part) for part in zip(*made, strict=True)))


def moved(row: Any, by: dict[int, float]) -> Any:
    """Return how inputs of the size of a row are moved."""
    move = np.zeros(len(row))
    for j, much in by.items():
        move[j] = much
    return move


def spread(gains: Any, steps: Steps, reach: float) -> float:
    """Return the most that steps of these gains give together within reach: a knapsack's bound."""
    left, total = reach, 0.0
    for i in np.argsort(-gains / steps.costs):
        if gains[i] <= 0.0 or left <= 0.0:
            break
        taken = min(steps.most[i], left / steps.costs[i])
        total, left = total + taken * gains[i], left - taken * steps.costs[i]
    return total


def program(weights: Any, row: Any, target: int, steps: Steps, reach: float) -> tuple[Any, ...]:
    """Return rows, upper ends and which columns are whole, of the steps and the hidden units."""
    first, bias, second, last = (np.asarray(part, dtype=float) for part in weights)
    rows, n = MatrixRows(), len(steps.costs)
    upper, is_whole = steps.most.tolist(), steps.is_level.tolist()
    ahead, known = second[:, target] - second[:, 1 - target], float(last[target] - last[1 - target])
    score = np.zeros(n)
    units: list[tuple[int, float]] = []
    for h in range(first.shape[1]):
        gains, at = steps.moves @ first[:, h], float(row @ first[:, h] + bias[h])
        top, bottom = at + spread(gains, steps, reach), at - spread(-gains, steps, reach)
        if top <= 0.0:
            continue
        if bottom >= 0.0:
            known, score = known + ahead[h] * at, score + ahead[h] * gains
            continue
        value, is_on = len(upper), len(upper) + 1
        upper, is_whole = [*upper, top, 1.0], [*is_whole, False, True]
        columns, minus = [value, *range(n)], [1.0, *(-gains).tolist()]
        rows.add(columns, minus, at, np.inf)
        rows.add([*columns, is_on], [*minus, -bottom], -np.inf, at - bottom)
        rows.add([value, is_on], [1.0, -top], -np.inf, 0.0)
        units.append((value, float(ahead[h])))
    columns, entries = [*range(n), *(k for k, _ in units)], [*score, *(w for _, w in units)]
    rows.add(columns, entries, MARGIN - known, np.inf)
    for k in np.unique(steps.owner[steps.is_level]).tolist():
        own = np.flatnonzero(steps.owner == k).tolist()
        rows.add(own, [1.0] * len(own), 0.0, 1.0)
    rows.add([*range(n)], steps.costs.tolist(), -np.inf, reach)
    return rows, np.array(upper), np.array(is_whole)


def solved(rows: MatrixRows, costs: Any, upper: Any, is_whole: Any, seconds: float) -> Any:
    """Return SciPy's answer."""
    shape = (len(rows.low), len(upper))
    matrix = csr_array((rows.entries, rows.columns, rows.starts), shape=shape)
    full = np.concatenate([costs, np.zeros(len(upper) - len(costs))])
    return milp(
        full,
        constraints=LinearConstraint(matrix, rows.low, rows.high),
        integrality=is_whole.astype(int),
        bounds=Bounds(0.0, upper),
        options={"time_limit": seconds, "mip_rel_gap": 1e-7},
    )


def nearest(
    weights: Any, row: Any, target: int, steps: Steps, reach: float, seconds: float
) -> tuple[Any, ...] | None:
    """Return the nearest row, and that of equally near ones which changes fewest columns.

    None if it is not proved in time; nothing if it is proved that there is none within reach.
    """
    rows, upper, is_whole = program(weights, row, target, steps, reach)
    first = solved(rows, steps.costs, upper, is_whole, seconds)
    if first.status != 0:
        return () if first.status == INFEASIBLE else None
    n = len(steps.costs)
    rows.add([*range(n)], steps.costs.tolist(), -np.inf, first.fun * (1.0 + EQUAL) + 1e-9)
    squares = np.where(steps.is_level, (steps.moves**2).sum(axis=1), 0.0)
    second = solved(rows, squares, upper, is_whole, seconds)
    best = first.x if second.x is None else second.x
    return tuple(row + taken(x[:n], steps) @ steps.moves for x in (first.x, best))


def taken(x: Any, steps: Steps) -> Any:
    """Return how much of each step is taken, levels rounded."""
    return np.where(steps.is_level, np.rint(x), x)


def measure(score: Any, folder: Path, names: list[str], n_rows: int, seconds: float) -> Any:
    """Return one line per row: the L2 of each choice."""
    schema, lines = json.loads((folder / "schema.json").read_text()), []
    asked = argparse.Namespace(rows=n_rows, which=None)
    for name in names or [*schema]:
        task = score.Task(folder, name, schema[name])
        low, high = (getattr(task.train, end)().to_numpy(float) for end in ("min", "max"))
        explainer = cp.Explainer(task.network, task.train, classes=[0, 1], groups=task.groups())
        for k in score.chosen_rows(task, asked):
            row, target = task.factuals.iloc[k].to_numpy(float), 1 - int(task.classes[k])
            found = explainer.explain(task.factuals.iloc[[k]], target, progress=False).valid()
            one = found.select(1, by="closest")
            judged = [task.judge(row, each)["l2"] for each in found.to_rows().to_numpy(float)]
            ours = task.judge(row, one.to_rows().to_numpy(float)[0])["l2"]
            reach = float(one.objectives[0, 1]) * len(task.features) * (1.0 + 1e-6) + 1e-9
            steps = steps_of(task, row, low, high, reach)
            best = nearest(task.weights, row, target, steps, reach, seconds)
            proved = [task.judge(row, each)["l2"] for each in best or ()] or [ours, ours]
            key = (name, int(task.classes[k]), int(task.indices[k]))
            lines.append((*key, ours, np.nanmin(judged), *proved, best is not None))
        print(name, flush=True)
    return pd.DataFrame(lines, columns=[*KEYS, *CHOICES, "proved"])


CHOICES = ["closest", "least L2 returned", "nearest, proved", "and fewest columns"]


def ranks(found: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """Return the mean rank of each choice among the published methods, by table and over all."""
    theirs = published.merge(found[KEYS], on=KEYS)
    theirs.loc[~theirs["valid"].astype(bool), "l2"] = np.nan
    columns = {}
    for choice in CHOICES:
        own = found[KEYS].assign(method="ours", l2=found[choice])
        both = pd.concat([theirs, own])
        both["l2"] = both["l2"].round(5)
        both["rank"] = both.groupby(KEYS)["l2"].rank(na_option="bottom")
        columns[choice] = with_all(both[both["method"] == "ours"], "rank")
    return pd.DataFrame(columns).assign(proved=with_all(found, "proved"))


def with_all(lines: pd.DataFrame, name: str) -> Any:
    """Return the mean of a column by table, and over all lines."""
    every = pd.Series({"all": lines[name].mean()})
    return pd.concat([lines.groupby("dataset")[name].mean(), every])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="of the benchmark")
    parser.add_argument("--rows", type=int, default=20, help="of each table")
    parser.add_argument("--seconds", type=float, default=3.0, help="for each program")
    parser.add_argument("--only", default="", help="tables, separated by commas")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    spec = importlib.util.spec_from_file_location("score", arguments.folder / "score.py")
    assert spec is not None
    assert spec.loader is not None
    score = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(score)
    names = [name for name in arguments.only.split(",") if name]
    found = measure(score, arguments.folder, names, arguments.rows, arguments.seconds)
    published = pd.read_csv(arguments.folder / "published.csv.gz")
    print(ranks(found, published).round(2).to_string())


if __name__ == "__main__":
    main()
