"""The exact optimum of a case, by mixed-integer programs: least distance and fewest changes.

For linear classifiers and for scikit-learn's trees, forests and gradient boosting of classes. The
space is that of our searches: numbers on their grid inside the box of data and row, observed
levels. Distances are exact up to the single precision in which trees compare numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.methods.case import Case
from benchmarks.methods.inputs import unwrap
from benchmarks.methods.optimum_linear import write_linear
from benchmarks.methods.optimum_trees import ENSEMBLES, write_trees
from benchmarks.methods.spaces import SAME, Setup
from benchmarks.peers.subjects import Floats

MARGINS = (0.0, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5)  # tried until the model confirms the solver's row
MOST_CUTS = 200  # ties of an ensemble's classes refused by the model before a margin is tried


@dataclass(frozen=True)
class Best:
    """The nearest counterfactual that changes at most `changes` features.

    `margin` is by how much the score had to pass the boundary; what lies nearer to it was given up.
    """

    changes: int
    distance: float
    genome: Floats
    margin: float


def optimum(case: Case) -> list[Best]:
    """Return the nearest counterfactual for each number of changes, the fewest first.

    Numbers of changes that allow nothing nearer than fewer do are left out; the first has the
    fewest changes of all, the last the least distance of all. Empty if there is none at all.
    """
    nearest, fewest = solve(case, None), solve(case, 0)
    if nearest is None or fewest is None:
        return []
    found: list[Best] = []
    for limit in range(fewest.changes, nearest.changes + 1):
        best = solve(case, limit)
        if best is not None and (not found or best.distance < found[-1].distance - SAME):
            found.append(best)
        if found and found[-1].distance <= nearest.distance + SAME:
            break
    return found


def solve(case: Case, limit: int | None) -> Best | None:
    """Return the nearest counterfactual of at most `limit` changes; 0 asks for the fewest."""
    for margin in MARGINS:
        setup = write(case, margin)
        costs = costs_of(setup, limit)
        if limit:
            setup.program.require(dict.fromkeys(setup.changed, 1.0), high=float(limit))
        for _ in range(MOST_CUTS if setup.fates else 1):
            answer = setup.program.solve(costs)
            if answer is None:
                return None
            genome = setup.genome(answer)
            if case.reaches(genome[None])[0]:
                changes = int((genome != case.genome).sum())
                return Best(changes, float(case.gower(genome[None])[0]), genome, margin)
            exclude_fate(setup, answer)
    raise RuntimeError("the model does not confirm what the solver found, for any margin.")


def costs_of(setup: Setup, limit: int | None) -> Floats:
    """Return what each variable costs: changes if the limit is 0, else distance."""
    aim = dict.fromkeys(setup.changed, 1.0) if limit == 0 else setup.distance
    costs = np.zeros(len(setup.program.costs))
    costs[list(aim)] = list(aim.values())
    return costs


def exclude_fate(setup: Setup, answer: Floats) -> None:
    """Forbid all rows that end in the same leaves, since the model decides them alike."""
    taken = [group[int(np.argmax(answer[group]))] for group in setup.fates]
    setup.program.require(dict.fromkeys(taken, 1.0), high=len(taken) - 1.0)


def write(case: Case, margin: float) -> Setup:
    """Return the program of a case, for the kind of its model."""
    estimator, _ = unwrap(case.model, case.codec)
    write_ = write_trees if isinstance(estimator, ENSEMBLES) else write_linear
    return write_(case, margin)
