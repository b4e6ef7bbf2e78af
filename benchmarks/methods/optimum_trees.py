"""The exact optimum's program for trees, forests and gradient boosting of classes.

A number's thresholds cut its range into cells, and all values of a cell are one to the model, so
the nearest allowed one stands for it. Variables say of each threshold whether the value lies above,
and of each tree in which leaf the row ends; the leaves' sums must make the target win.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.tree import DecisionTreeClassifier

from benchmarks.methods.case import Case
from benchmarks.methods.inputs import Input, unwrap
from benchmarks.methods.programs import Program, Terms
from benchmarks.methods.spaces import Range, Setup, add_levels
from benchmarks.methods.tweaking import FORESTS
from benchmarks.peers.subjects import Floats

ENSEMBLES = (DecisionTreeClassifier, *FORESTS, GradientBoostingClassifier)
ACCURACY = 10.0  # the solver accepts violations of 1e-6; scaling the scores lessens them


class Member(NamedTuple):
    """One tree, and what its leaves add to the classes' scores: (nodes, classes)."""

    tree: Any
    values: Floats


@dataclass(frozen=True)
class Cells:
    """A number's cells between thresholds.

    Attributes
    ----------
    cuts : ndarray of shape (k,)
        The thresholds, in units of the input.
    values : list of k + 1 numbers or None
        The allowed value of each cell nearest to the row's; None if it has none.
    own : int
        The row's cell.
    above : list of k variables
        Whether the value lies above each threshold.
    """

    cuts: Floats
    values: list[float | None]
    own: int
    above: list[int]


def write_trees(case: Case, margin: float) -> Setup:
    """Return the program of an ensemble; the target must win by the margin."""
    estimator, inputs = unwrap(case.model, case.codec)
    members, start = members_of(case, estimator, inputs)
    program, distance, changed = Program(), Terms(), []
    cells: dict[int, Cells] = {}
    choices: dict[int, dict[int, int]] = {}
    for j, cuts in thresholds_of(members, inputs).items():
        entry = next(i for i in inputs if i.feature == j and i.level is None)
        cells[j] = add_cells(program, Range.of(case, j), entry, cuts)
        distance |= cell_costs(cells[j], Range.of(case, j))
        changed.append(add_change(program, cells[j]))
    for j in case.codec.levels:
        choices[j], change = add_levels(case, program, j)
        distance[change] = 1.0 / len(case.genome)
        changed.append(change)
    ends = [add_leaves(program, member.tree, inputs, cells, choices) for member in members]
    wanted = list(estimator.classes_).index(case.target)
    for other in range(len(start)):
        if other != wanted:
            terms, lead = lead_of(members, ends, wanted, other), start[wanted] - start[other]
            program.require(terms, low=ACCURACY * (margin - lead))
    fates = [list(leaves.values()) for leaves in ends]
    return Setup(program, distance, changed, lambda x: read(case, cells, choices, x), fates)


def lead_of(members: list[Member], ends: list[dict[int, int]], wanted: int, other: int) -> Terms:
    """Return by how much the leaves put one class before another."""
    return {
        variable: ACCURACY * float(member.values[leaf, wanted] - member.values[leaf, other])
        for member, leaves in zip(members, ends, strict=True)
        for leaf, variable in leaves.items()
    }


def members_of(
    case: Case, estimator: Any, inputs: tuple[Input, ...]
) -> tuple[list[Member], Floats]:
    """Return the trees of an estimator, and the scores (classes,) before any tree."""
    n = len(estimator.classes_)
    if isinstance(estimator, DecisionTreeClassifier):
        return [Member(estimator.tree_, _shares(estimator.tree_))], np.zeros(n)
    if isinstance(estimator, FORESTS):
        trees = [member.tree_ for member in estimator.estimators_]
        return [Member(tree, _shares(tree) / len(trees)) for tree in trees], np.zeros(n)
    rate = estimator.learning_rate
    members = [
        Member(step.tree_, np.eye(n)[[k if n > 2 else 1]] * rate * step.tree_.value[:, 0])
        for steps in estimator.estimators_
        for k, step in enumerate(steps)
    ]
    signal = np.column_stack([entry.value(case.genome[None]) for entry in inputs])
    raw = np.zeros(n)
    raw[1 if n == 2 else 0 :] = np.ravel(case.model.decision_function(case.row))
    return members, raw - sum(m.values[m.tree.apply(signal.astype(np.float32))[0]] for m in members)


def _shares(tree: Any) -> Floats:
    """Return the classes' shares in each node, (nodes, classes)."""
    counts = tree.value[:, 0]
    return np.asarray(counts / counts.sum(axis=1, keepdims=True))


def thresholds_of(members: list[Member], inputs: tuple[Input, ...]) -> dict[int, Floats]:
    """Return each number's thresholds in all trees, sorted, in units of its input."""
    cuts: dict[int, set[float]] = {}
    for tree, _ in members:
        for node in np.flatnonzero(tree.children_left >= 0):
            entry = inputs[tree.feature[node]]
            if entry.level is None:
                cuts.setdefault(entry.feature, set()).add(float(tree.threshold[node]))
    return {j: np.array(sorted(found)) for j, found in cuts.items()}


def add_cells(program: Program, number: Range, entry: Input, cuts: Floats) -> Cells:
    """Add a number: is it above each threshold? Cells without an allowed value are closed."""
    # Trees round inputs to single precision. So a cell ends in the middle between the last float32
    # not above a threshold and the next, or just before: how the middle is rounded is not certain.
    singles = cuts.astype(np.float32)
    last = np.where(singles > cuts, np.nextafter(singles, np.float32(-np.inf)), singles)
    following = np.nextafter(last, np.float32(np.inf)).astype(np.float64)
    rounding = 0.499 * (following - last)
    ends = [e * entry.scale + entry.shift for e in (following - rounding, last + rounding)]
    lows, highs = np.append(-np.inf, ends[0]), np.append(ends[1], np.inf)
    own = int((np.float32((number.value - entry.shift) / entry.scale) > cuts).sum())
    values = [number.nearest(float(a), float(b)) for a, b in zip(lows, highs, strict=True)]
    values[own] = number.value
    above = [program.add() for _ in cuts]
    for first, second in pairwise(above):
        program.require({first: 1.0, second: -1.0}, low=0.0)
    for k, value in enumerate(values):
        if value is None:
            close(program, above, k)
    return Cells(cuts, values, own, above)


def close(program: Program, above: list[int], k: int) -> None:
    """Forbid the k-th cell: above the threshold before it, but not above the next."""
    terms = {above[k - 1]: 1.0} if k > 0 else {}
    if k < len(above):
        terms[above[k]] = -1.0
    program.require(terms, high=0.0 if k > 0 else -1.0)


def cell_costs(cells: Cells, number: Range) -> Terms:
    """Return the number's part of Gower's distance, up to a constant: steps from cell to cell."""
    values = [number.value if value is None else value for value in cells.values]
    costs = np.abs(np.array(values) - number.value) * number.weight
    return {v: float(step) for v, step in zip(cells.above, np.diff(costs), strict=True)}


def add_change(program: Program, cells: Cells) -> int:
    """Add a variable that is 1 if the number leaves its cell."""
    changed = program.add(is_whole=False)
    if cells.own > 0:
        program.require({changed: 1.0, cells.above[cells.own - 1]: 1.0}, low=1.0)
    if cells.own < len(cells.above):
        program.require({changed: 1.0, cells.above[cells.own]: -1.0}, low=0.0)
    return changed


def add_leaves(
    program: Program,
    tree: Any,
    inputs: tuple[Input, ...],
    cells: dict[int, Cells],
    choices: dict[int, dict[int, int]],
) -> dict[int, int]:
    """Add a tree: a variable per leaf, of which one is 1, as its nodes' conditions say."""
    leaves = {
        int(leaf): program.add(is_whole=False) for leaf in np.flatnonzero(tree.children_left < 0)
    }
    program.require(dict.fromkeys(leaves.values(), 1.0), 1.0, 1.0)
    for node in np.flatnonzero(tree.children_left >= 0):
        entry = inputs[tree.feature[node]]
        if entry.level is None:
            place = int(np.searchsorted(cells[entry.feature].cuts, tree.threshold[node]))
            right = cells[entry.feature].above[place]
        else:
            right = choices[entry.feature][entry.level]
        below = [leaves[leaf] for leaf in leaves_below(tree, int(tree.children_left[node]))]
        beyond = [leaves[leaf] for leaf in leaves_below(tree, int(tree.children_right[node]))]
        program.require(dict.fromkeys(below, 1.0) | {right: 1.0}, high=1.0)
        program.require(dict.fromkeys(beyond, 1.0) | {right: -1.0}, high=0.0)
    return leaves


def leaves_below(tree: Any, node: int) -> list[int]:
    """Return the leaves of a node's subtree."""
    left, right = int(tree.children_left[node]), int(tree.children_right[node])
    return [node] if left < 0 else leaves_below(tree, left) + leaves_below(tree, right)


def read(
    case: Case, cells: dict[int, Cells], choices: dict[int, dict[int, int]], answer: Floats
) -> Floats:
    """Return the genome the variables mean."""
    genome = case.genome.copy()
    for j, levels in choices.items():
        genome[j] = next(level for level, v in levels.items() if answer[v] > 0.5)
    for j, known in cells.items():
        value = known.values[int(np.rint(answer[known.above]).sum())]
        assert value is not None, "a closed cell was chosen"
        genome[j] = value
    return genome
