"""Subsets: the first few counterfactuals by one of several criteria.

The greedy choice keeps the region that no chosen point dominates yet, cut into boxes. What a point
adds to the dominated volume is the sum over boxes of what it covers of each: a few hundred products
instead of a whole hypervolume. The greedy choice asks that of many points, and a hypervolume only
of those that are equally good but for rounding.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np

from counterpoint.arrays import Floats, Ints
from counterpoint.checks import check_choice, check_whole, is_number
from counterpoint.errors import InvalidInput, did_you_mean, listed
from counterpoint.kernels import kernel
from counterpoint.neighbours.index import distances_to, gower_weights
from counterpoint.result.choosing import orders
from counterpoint.result.choosing.orders import safest
from counterpoint.result.data import PER_CANDIDATE, ResultData
from counterpoint.result.ways import Result, ways_of
from counterpoint.search.front import hypervolume, is_exact

MOST_BOXES = 4096  # beyond it hypervolumes are quicker
LOW, HIGH = 0, 1


class UndominatedRegion:
    """The space below a reference that chosen points do not dominate.

    `low` and `high` are the corners of all of it: nothing lies below the first, and the second is
    the reference. `volume` is dominated so far. It `is_open` as long as that can be told: not if
    there would be too many boxes, or infinite ones.

    Examples
    --------
    >>> region = UndominatedRegion(np.zeros(2), np.ones(2))
    >>> region.close(np.array([0.5, 0.5]))
    >>> gains = np.full(2, np.inf)
    >>> points = np.array([[0.25, 0.5], [0.5, 0.75]])
    >>> float(region.best_gain(points, gains, np.array([0, 1]), 1e-9)), region.volume
    (0.125, 0.25)
    """

    def __init__(self, low: Floats, high: Floats) -> None:
        self._boxes = np.empty((MOST_BOXES, 2, len(low)))
        self._spare = np.empty_like(self._boxes)
        self._boxes[0, LOW], self._boxes[0, HIGH] = low, high
        self._n = 1
        self.volume = 0.0
        with np.errstate(over="ignore", invalid="ignore"):
            self.is_open = bool(np.isfinite(np.prod(high - low)) and (low < high).all())

    def best_gain(self, points: Floats, gains: Floats, order: Ints, slack: float) -> float:
        """Return the most volume one of the points (k, m) adds; bring `gains` (k,) up to date.

        A point never adds more than it did before, so `gains` are upper bounds. Those that may be
        best, but for a share `slack` of the dominated volume, are measured anew; the others stay as
        they are. `order` says which points to look at, those of the largest gains first.
        """
        return float(_measure(points, gains, order, self._boxes[: self._n], self.volume, slack))

    def close(self, point: Floats) -> None:
        """Take out what a chosen point (m,) dominates."""
        if not self.is_open:
            return
        covered = float(_covered(point, self._boxes[: self._n]))
        n = _cut(self._boxes[: self._n], point, self._spare)
        self.is_open = n >= 0
        self._boxes, self._spare = self._spare, self._boxes
        self._n, self.volume = n, self.volume + covered


@kernel
def _covered(point: Floats, boxes: Floats) -> float:
    """Return what a point (m,) dominates of boxes (b, 2, m)."""
    total = 0.0
    for b in range(boxes.shape[0]):
        covered = 1.0
        for j in range(point.shape[0]):
            covered *= max(0.0, boxes[b, HIGH, j] - max(boxes[b, LOW, j], point[j]))
        total += covered
    return total


@kernel
def _measure(
    points: Floats, gains: Floats, order: Ints, boxes: Floats, volume: float, slack: float
) -> float:
    """Return the largest gain of the points, measured in `order` until no other can be as large."""
    most = -np.inf
    for k in range(order.shape[0]):
        i = order[k]
        total = volume + most
        if volume + gains[i] < total - slack * abs(total):
            break
        gains[i] = _covered(points[i], boxes)
        most = max(most, gains[i])
    return most


@kernel
def _cut(boxes: Floats, point: Floats, into: Floats) -> int:
    """Write what a point (m,) leaves of boxes (b, 2, m) into `into`; return how many, -1 if full.

    Of a box it reaches into, the part below the point in the first objective remains, of the rest
    the part below it in the second, and so on; the last rest is dominated.
    """
    n = 0
    m = point.shape[0]
    for b in range(boxes.shape[0]):
        reaches = True
        for j in range(m):
            reaches = reaches and point[j] < boxes[b, HIGH, j]
        for k in range(m if reaches else 1):
            if reaches and point[k] <= boxes[b, LOW, k]:
                continue
            if n == into.shape[0]:
                return -1
            for j in range(m):
                into[n, LOW, j] = (
                    max(boxes[b, LOW, j], point[j]) if reaches and j < k else (boxes[b, LOW, j])
                )
                into[n, HIGH, j] = boxes[b, HIGH, j]
            if reaches:
                into[n, HIGH, k] = point[k]
            n += 1
    return n


SLACK = 1e-9  # what rounding may take from or add to a volume


def greatest_contribution(objectives: Floats, n: int, worst: Floats | None = None) -> Ints:
    """Return the positions of the paper's choice of n: valid ones first, then by hypervolume.

    `objectives` (k, m) are gap, distance, changes, implausibility, and the caller's own; `worst` (m
    - 2,) is where hypervolume ends in all but gap and changes, 1 if None.
    """
    check_whole("select: n", n, 1)
    if len(objectives) <= n:
        return np.arange(len(objectives))
    valid = np.flatnonzero(objectives[:, 0] <= 0.0)
    is_plenty = len(valid) > n
    pool: Ints = valid if is_plenty else np.arange(len(objectives))
    chosen: list[int] = [] if is_plenty else valid.tolist()
    # The authors' reference: gaps are probabilities around 0.5, one more change than any has.
    ends = np.ones(2) if worst is None else worst
    reference = np.array([0.5, ends[0], objectives[pool, 2].max() + 1.0, *ends[1:]])
    gains = np.full(len(objectives), np.inf)  # at most so much does each add
    gains[chosen] = -np.inf
    region = UndominatedRegion(np.minimum(objectives[pool].min(axis=0), reference - 1.0), reference)
    for i in chosen:
        region.close(objectives[i])
    while len(chosen) < n:
        if region.is_open and is_exact(n, len(reference)):
            best = _next_in(region, objectives, chosen, pool, gains, reference)
        else:
            best = _next(objectives, chosen, pool, gains, reference)
        gains[best] = -np.inf
        chosen.append(best)
        region.close(objectives[best])
    return np.array(chosen, dtype=np.int64)


def _next_in(
    region: UndominatedRegion,
    objectives: Floats,
    chosen: list[int],
    pool: Ints,
    gains: Floats,
    reference: Floats,
) -> int:
    """Return what `_next` does, but measure hypervolumes only where several are about the best."""
    free = pool[gains[pool] > -np.inf]
    order = free[np.argsort(-gains[free], kind="stable")]
    total = region.volume + region.best_gain(objectives, gains, order, SLACK)
    near = np.sort(free[region.volume + gains[free] >= total - SLACK * abs(total)])
    if len(near) == 1:
        return int(near[0])
    totals = [hypervolume(objectives[[*chosen, i]], reference) for i in near.tolist()]
    return int(near[np.argmax(totals)])  # the first of several


def _next(
    objectives: Floats, chosen: list[int], pool: Ints, gains: Floats, reference: Floats
) -> int:
    """Return which of the pool adds most volume to the chosen, the first of several.

    What one adds never grows while others are chosen (hypervolume is submodular), so whoever added
    less before than another does now need not be measured again. `gains` is brought up to date.
    """
    volume = hypervolume(objectives[chosen], reference) if chosen else 0.0
    best, most = -1, -np.inf
    for i in pool[np.argsort(-gains[pool], kind="stable")].tolist():
        if gains[i] == -np.inf or volume + gains[i] < most - SLACK * abs(most):
            break
        total = hypervolume(objectives[[*chosen, i]], reference)
        gains[i] = total - volume
        if total > most or (total == most and i < best):
            best, most = i, total
    return best


By = Literal["ways", "hypervolume", "diverse", "knee", "closest", "fewest", "plausible", "safest"]
BY_WAYS = ("ways", "diverse")


def select(
    found: Result, n: int, by: By, weights: Mapping[str, float] | None, margin: float | None
) -> Result:
    """Return at most n counterfactuals, all different, valid ones first; see `Counterfactuals`."""
    if by not in BY_WAYS or weights is not None:
        if margin is not None:
            chosen = f"by={by!r}" if weights is None else f"weights={weights!r}"
            raise InvalidInput(
                f"select: margin={margin!r} is for by='ways' and by='diverse', not for {chosen}; "
                "leave one out."
            )
        return found.take(select_positions(found, n, by, weights))
    check_whole("select: n", n, 1)
    shown: Result = ways_of(found, margin=margin).safe_first().representatives
    if by == "diverse" and len(shown.genomes):
        shown = shown.take(farthest_first(shown, n))
    shown = shown.take(np.arange(min(n, len(shown.genomes))))
    if len(shown.genomes) < n:
        shown = with_others(shown, found, n)
    if found.observed is None:
        return shown
    at = {genome.tobytes(): i for i, genome in enumerate(found.genomes)}
    return found.take([at[genome.tobytes()] for genome in shown.genomes])  # with their labels


def with_others(shown: Result, found: Result, n: int) -> Result:
    """Return what is shown, filled up to n: other counterfactuals first, then near misses."""
    known = {genome.tobytes() for genome in shown.genomes}
    others = np.array([genome.tobytes() not in known for genome in found.genomes], dtype=np.bool_)
    rest = found.take(np.flatnonzero(others))
    more = greatest_contribution(rest.objectives, n - len(shown.genomes), rest.facts.worst)
    return joined(shown, rest.take(more[np.argsort(~rest.reaches[more], kind="stable")]))


def with_ways(found: Result) -> tuple[Result, Ints]:
    """Return a result and, after its own candidates, the representatives of ways that it lacks.

    Also where the representatives of all ways are in it, as `safe_first` orders them.
    """
    shown: Result = ways_of(found).safe_first().representatives
    places = {genome.tobytes(): i for i, genome in enumerate(found.genomes)}
    keys = [genome.tobytes() for genome in shown.genomes]
    lacking = [i for i, key in enumerate(keys) if key not in places]
    places |= {keys[i]: len(found.genomes) + k for k, i in enumerate(lacking)}
    whole = joined(found, shown.take(lacking)) if lacking else found
    return whole, np.array([places[key] for key in keys], dtype=np.int64)


def joined(first: Result, second: Result) -> Result:
    """Return the candidates of two results of the same row, one after the other."""
    arrays: dict[str, Any] = {
        n: np.concatenate([getattr(first, n), getattr(second, n)]) for n in PER_CANDIDATE
    }
    return replace(first, **arrays, observed=None)


def select_positions(
    found: ResultData, n: int, by: By, weights: Mapping[str, float] | None
) -> Ints:
    """Return the positions of at most n counterfactuals, all different, valid ones first."""
    check_choice("select: by", by, get_args(By))
    check_whole("select: n", n, 1)
    if weights is not None:
        if by != "ways":
            raise InvalidInput(
                f"select takes by or weights, got by={by!r} and weights={weights!r}; leave one out."
            )
        shares = check_weights(weights, found.objective_names)
        return orders.weighted(found, shares)[:n] if len(found.genomes) else np.arange(0)
    if by == "hypervolume":
        return greatest_contribution(found.objectives, n, found.facts.worst)
    if len(found.genomes) == 0:
        return np.arange(0)
    return safest(found, n)[:n] if by == "safest" else orders.ordered(found, by)[:n]


def check_weights(weights: object, names: tuple[str, ...]) -> Floats:
    """Return the weight of each objective, 0 for those not named."""
    if not isinstance(weights, Mapping) or not weights:
        raise InvalidInput(
            f"weights must be a dict of objective to number, got {weights!r}; "
            "for example weights={'distance': 2, 'changes': 1}."
        )
    for name, weight in weights.items():
        if name not in names:
            hint = did_you_mean(name, names) or f"the objectives are {listed(names)}."
            raise InvalidInput(f"weights names {name!r}, which is no objective; {hint}")
        if not is_number(weight) or not 0.0 <= float(weight) < np.inf:
            raise InvalidInput(
                f"weights[{name!r}] must be a finite number of at least 0, got {weight!r}."
            )
    if not any(weights.values()):
        raise InvalidInput("weights must not all be 0.")
    return np.array([float(weights.get(name, 0.0)) for name in names])


def farthest_first(found: ResultData, n: int) -> Ints:
    """Return n positions, each as far as can be from those before it; the knee is the first.

    Far is Gower's distance to the nearest one chosen (Gonzalez 1985). What reaches the target is
    used up before anything else is chosen.
    """
    weight, cap = gower_weights(found.genome[None], found.space)
    chosen = [int(orders.ordered(found, "knee")[0])]
    nearest = np.full(len(found.genomes), np.inf)
    is_free = np.ones(len(found.genomes), dtype=np.bool_)
    while len(chosen) < min(n, len(found.genomes)):
        last = found.genomes[chosen[-1]]
        nearest = np.minimum(nearest, distances_to(last, found.genomes, weight[0], cap))
        is_free[chosen[-1]] = False
        pool = is_free & found.reaches if (is_free & found.reaches).any() else is_free
        chosen.append(int(np.argmax(np.where(pool, nearest, -1.0))))
    return np.array(chosen, dtype=np.int64)
