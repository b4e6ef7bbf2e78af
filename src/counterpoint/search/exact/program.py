"""The mixed-integer program of one row: cells, the leaves that can still be reached, the target.

Of every tree one leaf is chosen, and leaves that need a gene on one side of a split are chosen no
more than the gene is there. Which cell a gene is in is binary: numbers step outwards from the row's
value, so that each step costs what it adds to the distance, and levels are chosen one by one. A
target is linear conditions on the raw scores of the model.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from counterpoint.arrays import MISSING, Bools, Floats
from counterpoint.models.additive import AdditiveModel
from counterpoint.problem.target import Target
from counterpoint.progress import Watch
from counterpoint.search.exact.cells import Options, Reached, WeightedSum

SCALE = 1e3  # what the largest distance becomes: the solver's own tolerance is absolute
POLL = 0.05  # seconds between looks at whether the search should stop
INFEASIBLE = 2  # as SciPy says that there is no solution
MOST_ENTRIES = 4_000_000  # of the matrix: above, nothing is claimed
# How far raw scores may miss a goal, as a share of what leaves add: no counterfactual is lost by
# rounding, the model's or the solver's, and what the model then refuses is forbidden one by one.
SLACK = 4e-6
LEAST = 1e-300  # above 0, whose logarithm is infinite
ROUNDED = 2e-7  # how far a probability in single precision may be from what its score gives


class Goal(NamedTuple):
    """What is wanted of the raw scores: all of `low <= weights @ raw <= high`."""

    weights: Floats  # (k, c): one row for each condition
    # (k,): its ends, which may be infinite
    low: Floats
    high: Floats


class Solution(NamedTuple):
    """What the solver says of a program."""

    # the option of each gene that has several; None if nothing was found
    places: dict[int, int] | None
    bound: float  # no solution has a lower objective; infinite if there is none
    is_whole: bool  # whether the solver was done, so that the solution is the best one


NO_SOLUTION = Solution(None, np.inf, is_whole=True)
NOT_KNOWN = Solution(None, 0.0, is_whole=False)


class MatrixRows:
    """The rows of a sparse matrix, filled one after the other."""

    def __init__(self) -> None:
        self.starts: list[int] = [0]
        self.columns: list[int] = []
        self.entries: list[float] = []
        self.low: list[float] = []
        self.high: list[float] = []

    def copied(self) -> MatrixRows:
        """Return the same rows, to be added to."""
        same = MatrixRows()
        for name, known in vars(self).items():
            setattr(same, name, known.copy())
        return same

    def add(self, columns: list[int], entries: list[float], low: float, high: float) -> None:
        """Add `low <= sum of entries * columns <= high`."""
        self.columns += columns
        self.entries += entries
        self.starts.append(len(self.columns))
        self.low.append(low)
        self.high.append(high)

    def add_scaled(self, columns: list[int], entries: list[float], low: float, high: float) -> None:
        """Add such a row divided by its largest entry, if that is more than 1."""
        size = max(1.0, max(map(abs, entries), default=0.0))
        self.add(columns, [entry / size for entry in entries], low / size, high / size)


class GeneColumns:
    """The binary columns of one gene, and each of its options as a sum of them.

    `mask` says which options are left, `own` is the row's value, `first` the number of the first
    column; where it `is_level`, equality is all that counts.
    """

    def __init__(self, options: Options, mask: int, own: float, is_level: bool, first: int) -> None:
        self.places = np.array([i for i in range(mask.bit_length()) if mask >> i & 1])
        values, is_own = options.values[self.places], options.is_own[self.places]
        self.first, self.shares, self.has_own = first, options.shares[self.places], is_own.any()
        self.values = values
        is_step = ~is_own & (values != MISSING) & (not is_level)
        ups, downs = (
            np.flatnonzero(is_step & (values > own)),
            np.flatnonzero(is_step & (values < own)),
        )
        chains = [ups[np.argsort(values[ups])], downs[np.argsort(-values[downs])]]
        chains += list(np.flatnonzero(~is_own & ~is_step)[:, None])
        self.chains = [chain for chain in chains if len(chain)]
        sizes = [len(chain) for chain in self.chains]
        self.n, self.heads = sum(sizes), np.cumsum([0, *sizes])[:-1]
        self.sums = np.zeros((len(values), self.n))
        for at, chain in zip(self.heads, self.chains, strict=True):
            self.sums[chain, at + np.arange(len(chain))] = 1.0
            self.sums[chain[:-1], at + np.arange(1, len(chain))] = -1.0
        self.sums[np.ix_(is_own, self.heads)] = -1.0
        self.constants = is_own.astype(np.float64)
        self._known: dict[int, tuple[list[int], list[float], float]] = {}

    def one_of(self, mask: int) -> tuple[list[int], list[float], float]:
        """Return columns, entries and constant of "the gene is one of these options"."""
        if mask not in self._known:
            which = np.array([mask >> int(i) & 1 for i in self.places], dtype=np.bool_)
            total = self.sums[which].sum(axis=0)
            columns = np.flatnonzero(total)
            constant = float(self.constants[which].sum())
            self._known[mask] = ((self.first + columns).tolist(), total[columns].tolist(), constant)
        return self._known[mask]

    def add_to(self, rows: MatrixRows) -> None:
        """Say that one option is chosen: who steps farther has stepped before."""
        for head, chain in zip(self.heads.tolist(), self.chains, strict=True):
            for k in range(self.first + head, self.first + head + len(chain) - 1):
                rows.add([k, k + 1], [1.0, -1.0], 0.0, np.inf)
        heads = (self.first + self.heads).tolist()
        if len(heads) > 1 or not self.has_own:
            rows.add(heads, [1.0] * len(heads), 0.0 if self.has_own else 1.0, 1.0)

    def chosen(self, x: Floats) -> int:
        """Return the place of the option that a solution chooses."""
        indicators = self.sums @ np.rint(x[self.first : self.first + self.n]) + self.constants
        return int(self.places[np.argmax(indicators)])


class RowProgram:
    """The program of one row as a matrix.

    `trees` are what of each tree can be reached, `masks` which options of each gene are left, and
    `value` (nodes, c) what each leaf adds; where a gene `is_level`, equality is all that counts.
    """

    def __init__(
        self,
        trees: list[Reached],
        masks: list[int],
        options: list[Options],
        row: Floats,
        is_level: Bools,
        value: Floats,
    ) -> None:
        self.masks, self.rows, self.n_columns = masks, MatrixRows(), 0
        self.genes: dict[int, GeneColumns] = {}
        self.values: list[Floats] = []  # that are left of each gene
        self.distance = 0.0  # of the genes that have one option only
        self.is_changed = np.zeros(len(masks), dtype=np.int64)
        for j, mask in enumerate(masks):
            if mask & (mask - 1):
                gene = GeneColumns(
                    options[j], mask, float(row[j]), bool(is_level[j]), self.n_columns
                )
                self.genes[j] = gene
                self.n_columns += gene.n
                gene.add_to(self.rows)
                self.values.append(gene.values)
            else:
                self.values.append(options[j].values[[mask.bit_length() - 1]])
                self.distance += float(options[j].shares[mask.bit_length() - 1])
                self.is_changed[j] = not options[j].is_own[mask.bit_length() - 1]
        self.n_binary, self.constant = self.n_columns, np.zeros(value.shape[1])
        values = [np.zeros((0, value.shape[1]))]
        for tree in trees:
            if len(tree.leaves) == 1:
                self.constant += value[tree.leaves[0]]
            else:
                self._add_tree(tree)
                values.append(value[tree.leaves])
        self.leaf_values = np.concatenate(values)

    def _add_tree(self, tree: Reached) -> None:
        """Say that one leaf is chosen, and only where all genes lead to it."""
        first, n = self.n_columns, len(tree.leaves)
        self.n_columns += n
        self.rows.add(list(range(first, first + n)), [1.0] * n, 1.0, 1.0)
        # Sorted, for the order of a set is not the same in every process.
        for j, goes in sorted({(j, goes & self.masks[j]) for j, goes in tree.splits}):
            if j not in self.genes or goes in (0, self.masks[j]):
                continue
            columns, entries, constant = self.genes[j].one_of(goes)
            inside, outside = [], []
            for k, known in enumerate(tree.masks):
                mask = known.get(j, self.masks[j]) & self.masks[j]
                if mask & ~goes == 0:
                    inside.append(first + k)
                elif mask & goes == 0:
                    outside.append(first + k)
            if inside:
                minus = [-entry for entry in entries]
                self.rows.add(inside + columns, [1.0] * len(inside) + minus, -np.inf, constant)
            if outside:
                ones = [1.0] * len(outside)
                self.rows.add(outside + columns, ones + entries, -np.inf, 1.0 - constant)

    def want(self, goal: Goal, base: Floats) -> None:
        """Add the conditions on the raw scores, to which `base` (c,) is added."""
        leaves = list(range(self.n_binary, self.n_columns))
        for weights, low, high in zip(*goal, strict=True):
            entries, known = self.leaf_values @ weights, float((self.constant + base) @ weights)
            self.rows.add_scaled(leaves, entries.tolist(), low - known, high - known)

    def limit_changes(self, most: int, features: Iterable[int]) -> None:
        """Let no more of some features change."""
        columns, n_fixed = self.changes(features)
        if len(columns) + n_fixed > most:
            self.rows.add(columns, [1.0] * len(columns), -np.inf, most - n_fixed)

    def bound_sum(self, total: WeightedSum) -> None:
        """Keep a sum of genes between its ends, unless one of them may be missing."""
        columns, entries, known = list[int](), list[float](), 0.0
        for j, weight in total.weights.items():
            values = self.values[j]
            if MISSING in values:
                return
            if j in self.genes:
                gene = self.genes[j]
                columns += range(gene.first, gene.first + gene.n)
                entries += (weight * values @ gene.sums).tolist()
                known += weight * float(values @ gene.constants)
            else:
                known += weight * float(values[0])
        self.rows.add_scaled(columns, entries, total.low - known, total.high - known)

    def change_together(self, features: Sequence[int]) -> None:
        """Let all of some features change, or none."""
        columns, n_fixed = self.changes(features[:1])
        for j in features[1:]:
            others, n_other = self.changes([j])
            entries = [1.0] * len(columns) + [-1.0] * len(others)
            self.rows.add(columns + others, entries, n_other - n_fixed, n_other - n_fixed)

    def forbid(self, places: dict[int, int]) -> None:
        """Forbid one combination of options; the genes that are not named may be anything."""
        every: tuple[list[int], list[float]] = ([], [])
        total = 0.0
        for j, place in places.items():
            if j in self.genes:
                columns, entries, constant = self.genes[j].one_of(1 << place)
                every[0].extend(columns)
                every[1].extend(entries)
                total += 1.0 - constant
        self.rows.add(*every, -np.inf, total - 1.0)

    def changes(self, features: Iterable[int]) -> tuple[list[int], int]:
        """Return the columns that count which of some features change, and what they leave out."""
        columns, n_fixed = list[int](), 0
        for j in features:
            if j in self.genes:
                columns += (self.genes[j].first + self.genes[j].heads).tolist()
            else:
                n_fixed += self.is_changed[j]
        return columns, n_fixed

    def solve(self, seconds: float, scale: float, watch: Watch) -> Solution:
        """Return the solution with the least distance, which the solver gets times `scale`."""
        if len(self.rows.entries) > MOST_ENTRIES or seconds <= 0.0:
            return NOT_KNOWN
        costs, fixed = np.zeros(self.n_columns), self.distance
        for gene in self.genes.values():
            costs[gene.first : gene.first + gene.n] = gene.shares @ gene.sums
        if self.n_columns == 0:
            is_kept = all(
                low <= 0.0 <= high for low, high in zip(self.rows.low, self.rows.high, strict=True)
            )
            return Solution({}, fixed, is_whole=True) if is_kept else NO_SOLUTION
        is_whole = np.arange(self.n_columns) < self.n_binary
        upper = np.ones(self.n_columns)
        x, bound, is_best = solve_rows(
            self.rows, costs * scale, is_whole, upper, TimeLimit(seconds, watch)
        )
        places = None
        if x is not None:
            places = {j: gene.chosen(x) for j, gene in self.genes.items()}
        return Solution(places, max(bound / scale + fixed, 0.0), is_best)


class TimeLimit(NamedTuple):
    """How long the solver may take, and who may ask it to stop before."""

    seconds: float
    watch: Watch


def solve_rows(
    rows: MatrixRows, costs: Floats, is_whole: Bools, upper: Floats, limit: TimeLimit
) -> tuple[Floats | None, float, bool]:
    """Return the columns of least cost, a bound on the cost of all, and whether they are the best.

    The columns are from 0 to `upper`. They are None if none are found, and the bound is infinite
    if there are none. The solver is asked in a thread, so that who asks can be interrupted; what
    it raises is raised here.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array

    shape = (len(rows.low), len(costs))
    # SciPy's solver takes indices of 32 bits, and before 1.15 does not convert wider ones itself.
    columns, starts = (np.array(of, dtype=np.int32) for of in (rows.columns, rows.starts))
    matrix = csr_array((rows.entries, columns, starts), shape=shape)
    asked: dict[str, Any] = {
        "constraints": LinearConstraint(matrix, rows.low, rows.high),
        "integrality": is_whole.astype(np.int64),
        "bounds": Bounds(0.0, upper),
        "options": {"time_limit": limit.seconds, "mip_rel_gap": 0.0},
    }
    answer = in_thread(lambda: milp(costs, **asked), limit.watch)
    if answer is None:
        return None, -np.inf, False
    if answer.status == INFEASIBLE:
        return None, np.inf, True
    bound = answer.mip_dual_bound
    is_known = bound is not None and np.isfinite(bound)
    return answer.x, float(bound) if is_known else -np.inf, answer.status == 0


def in_thread(ask: Callable[[], Any], watch: Watch) -> Any:
    """Return or raise what a function does in a thread; None if `watch` is stopped before."""
    answers, errors = list[Any](), list[Exception]()

    def run() -> None:
        try:
            answers.append(ask())
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(POLL)
        if watch.is_stopped:
            return None
    if errors:
        raise errors[0]
    return answers[0]


def goals_of(target: Target, model: AdditiveModel, n_outputs: int) -> list[Goal] | None:
    """Return linear goals, one of which every score that reaches the target meets; or None.

    Several are needed where any of several classes will do.
    """
    c = len(model.base)
    if model.link == "labels" and not target.is_decision:  # outputs are 0 and 1
        return None
    if c == 1 and model.link in ("logistic", "labels"):
        return [_of_logistic(target, n_outputs)]
    if target.is_decision:
        others = [a for a in range(c) if a not in target.wanted]
        return [_ahead(b, others, c) for b in target.wanted]
    if model.link == "softmax":
        return None
    weights = np.zeros((1, c))
    weights[0, target.column] = 1.0
    ends = [np.array([end]) for end in (target.low, target.high)]
    if model.link == "exp":
        ends = [np.where(end > 0.0, np.log(np.maximum(end, LEAST)), -np.inf) for end in ends]
    return [Goal(weights, *ends)]


def _ahead(b: int, others: list[int], c: int) -> Goal:
    """Return the goal that class b is no less likely than the others."""
    weights = np.zeros((len(others), c))
    weights[:, b] = 1.0
    weights[np.arange(len(others)), others] = -1.0
    return Goal(weights, np.zeros(len(others)), np.full(len(others), np.inf))


def _of_logistic(target: Target, n_outputs: int) -> Goal:
    """Return the goal of a score whose logistic function is the probability of the second class."""
    low, high = (0.5, 1.0) if target.is_decision else (target.low, target.high)
    if n_outputs == 2 and target.column == 0:
        low, high = 1.0 - high, 1.0 - low
    ends = _logit(low - ROUNDED), _logit(high + ROUNDED)
    return Goal(np.ones((1, 1)), np.array([ends[0]]), np.array([ends[1]]))


def _logit(p: float) -> float:
    """Return what the logistic function takes to p; infinite at its ends and beyond."""
    if p <= 0.0 or p >= 1.0:
        return -np.inf if p <= 0.0 else np.inf
    return float(np.log(p) - np.log1p(-p))


def widened(goal: Goal, sizes: Floats, rounding: Floats | float = 0.0) -> Goal:
    """Return a goal that scores of these sizes (k,) do not miss by rounding, or by more of it."""
    slack = SLACK * np.maximum(1.0, sizes) + rounding
    return Goal(goal.weights, goal.low - slack, goal.high + slack)
