"""Front: the candidates that no other dominates, how much they dominate, and who adds most to it.

The objectives of a row's front lie in blocks (n_blocks, m, LANES), so that a candidate is compared
with sixteen members at once. Places without a member in a block that is in use are NaN, which
compares with nothing.

The greedy choice by hypervolume keeps the region that no chosen point dominates yet, cut into
boxes: what a point adds is a few hundred products. A whole hypervolume is asked only of points that
are equally good but for rounding.
"""

from __future__ import annotations

import numpy as np

from counterpoint.arrays import Bools, Floats, Ints
from counterpoint.checks import check_whole
from counterpoint.kernels import inner, kernel, part

LANES = 16
N_BUILT_IN = 4  # objectives there are at least; they are compared by vector instructions


@inner
def compare_block(point: Floats, block: Floats) -> tuple[int, int, int]:
    """Return how many of a block (m, LANES) are no worse, are no better, or equal the point.

    In each of the first four objectives, that is; places without a member count nowhere. They are
    written out because only so do they become vector instructions.
    """
    gap, distance, changes, implausibility = block[0], block[1], block[2], block[3]
    n_no_worse, n_no_better, n_equal = 0, 0, 0
    for q in range(LANES):
        is_no_worse = (
            (gap[q] <= point[0])
            & (distance[q] <= point[1])
            & (changes[q] <= point[2])
            & (implausibility[q] <= point[3])
        )
        is_no_better = (
            (gap[q] >= point[0])
            & (distance[q] >= point[1])
            & (changes[q] >= point[2])
            & (implausibility[q] >= point[3])
        )
        n_no_worse += is_no_worse
        n_no_better += is_no_better
        n_equal += is_no_worse & is_no_better
    return n_no_worse, n_no_better, n_equal


@inner
def compare_wide(point: Floats, block: Floats) -> tuple[int, int, int]:
    """Return what `compare_block` does, for all m objectives."""
    n_no_worse, n_no_better, n_equal = 0, 0, 0
    for q in range(LANES):
        is_no_worse, is_no_better = True, True
        for m in range(len(point)):
            is_no_worse &= block[m, q] <= point[m]
            is_no_better &= block[m, q] >= point[m]
        n_no_worse += is_no_worse
        n_no_better += is_no_better
        n_equal += is_no_worse & is_no_better
    return n_no_worse, n_no_better, n_equal


@part
def admit(point: Floats, front: Floats, members: Ints, n_members: int, new: int) -> tuple[int, int]:
    """Put candidate `new` last among the members if none dominates it, and drop those it dominates.

    Returned are the new number of members, 0 if it was refused, and how many have the same
    objectives.
    """
    n_blocks = (n_members + LANES - 1) // LANES
    first_below, n_equal = n_blocks, 0  # the first block of which it dominates a member
    for b in range(n_blocks):
        no_worse, no_better, equal = compare_block(point, front[b])
        if len(point) > N_BUILT_IN and no_worse + no_better > 0:  # else all m cannot be either
            no_worse, no_better, equal = compare_wide(point, front[b])
        if no_worse > equal:
            if 0 < b < n_blocks - 1:
                swap_blocks(front, members, b, b // 2)
            return 0, 0
        if no_better > equal:
            first_below = min(first_below, b)
        n_equal += equal
    if first_below < n_blocks:
        n_members = drop_dominated(point, front, members, n_members, first_below)
    members[n_members] = new
    block, lane = n_members // LANES, n_members % LANES
    if lane == 0:
        front[block] = np.nan
    for m in range(len(point)):
        front[block, m, lane] = point[m]
    return n_members + 1, n_equal


@inner
def swap_blocks(front: Floats, members: Ints, i: int, j: int) -> None:
    """Move a block that refused a candidate forwards: it is likely to refuse the next one too."""
    for q in range(LANES):
        a, b = i * LANES + q, j * LANES + q
        members[a], members[b] = members[b], members[a]
    for m in range(front.shape[1]):
        for q in range(LANES):
            front[i, m, q], front[j, m, q] = front[j, m, q], front[i, m, q]


@inner
def drop_dominated(point: Floats, front: Floats, members: Ints, n_members: int, first: int) -> int:
    """Close the ranks over the members the point dominates, none of which is before a block.

    Return how many are left.
    """
    n_kept = first * LANES
    for b in range(first, (n_members + LANES - 1) // LANES):
        _, no_better, _ = compare_block(point, front[b])
        for q in range(min(LANES, n_members - b * LANES)):
            if no_better == 0 or not is_dominated(point, front[b], q):
                members[n_kept] = members[b * LANES + q]
                for m in range(len(point)):
                    front[n_kept // LANES, m, n_kept % LANES] = front[b, m, q]
                n_kept += 1
    for k in range(n_kept, n_members):
        clear_place(front, k)
    return n_kept


@inner
def is_dominated(point: Floats, block: Floats, q: int) -> bool:
    """Whether the point dominates a member of a block."""
    is_better, is_worse = False, False
    for m in range(len(point)):
        is_better |= point[m] < block[m, q]
        is_worse |= point[m] > block[m, q]
    return is_better and not is_worse


@inner
def clear_place(front: Floats, k: int) -> None:
    """Make the k-th place one without a member."""
    for m in range(front.shape[1]):
        front[k // LANES, m, k % LANES] = np.nan


MOST_EXACT = 5  # objectives; with more the exact volume of a large set takes minutes …
FEW = 20  # … but not of so few points
N_DIRECTIONS = 2**14  # by which it is approximated then


def hypervolume(objectives: Floats, reference: Floats) -> float:
    """Return the volume dominated by `objectives` (n, m) up to `reference` (m,).

    Points that are not strictly better than the reference in every objective add nothing. Of more
    than 20 points in more than five objectives it is approximated, the same way every time: to
    about a thousandth with six or seven objectives, a hundredth with twelve.

    Examples
    --------
    >>> hypervolume(np.array([[0.5, 0.5], [0.9, 0.9]]), np.array([1.0, 1.0]))
    0.25
    """
    import moocore  # not at the top: it loads slowly

    inside = objectives[(objectives < reference).all(axis=1)]
    if len(inside) == 0:
        return 0.0
    if not is_exact(len(inside), len(reference)):
        return _approximate(inside, reference)
    return float(moocore.hypervolume(inside, ref=reference))


def is_exact(n: int, m: int) -> bool:
    """Whether the volume of n points in m objectives is measured, not approximated."""
    return n <= FEW or m <= MOST_EXACT


def _approximate(inside: Floats, reference: Floats) -> float:
    """Return about the volume dominated by points that are all better than the reference.

    In units of the best values: directions are spread evenly, and so must be what they measure.
    """
    import moocore  # not at the top: it loads slowly

    span = reference - inside.min(axis=0)
    scaled = (inside - reference) / span + 1.0
    share = moocore.hv_approx(
        scaled, ref=np.ones(len(span)), nsamples=N_DIRECTIONS, method="DZ2019-HW"
    )
    return float(share * np.prod(span))


def hypervolume_history(
    objectives: Floats, generation: Ints, n_generations: int, reference: Floats
) -> Floats:
    """Return the hypervolume after each generation 0 … n_generations - 1.

    The points (n, m) are in the order they came, each in its `generation`, ascending.
    """
    import moocore  # not at the top: it loads slowly

    ends = np.searchsorted(generation, np.arange(n_generations), side="right")
    volumes = np.zeros(n_generations)
    best = objectives[:0]
    for g, (start, stop) in enumerate(zip(np.r_[0, ends][:-1], ends, strict=True)):
        if stop == start:
            volumes[g] = volumes[g - 1] if g else 0.0
            continue
        best = np.concatenate([best, objectives[start:stop]])
        best = best[moocore.is_nondominated(best)]
        volumes[g] = hypervolume(best, reference)
    return np.maximum.accumulate(volumes)  # where it is approximated it could else seem to shrink


def covered(points: Floats, by: Floats) -> Bools:
    """Return which `points` (n, m) some vector of `by` (k, m) dominates.

    Equal vectors do not cover each other (Zitzler and Thiele 1998, as used by Dandl et al.).

    Examples
    --------
    >>> covered(np.array([[1.0, 1.0], [0.0, 2.0]]), np.array([[0.5, 1.0]]))
    array([ True, False])
    """
    nowhere_worse = np.all(by[None] <= points[:, None], axis=2)
    somewhere_better = np.any(by[None] < points[:, None], axis=2)
    return np.asarray(np.any(nowhere_worse & somewhere_better, axis=1))


@inner
def enter_front(objectives: Floats, front: Ints, n: int, i: int) -> int:
    """Let a candidate enter the front of its set if none dominates it; return how many it has."""
    n_left = 0
    for p in range(n):
        k, is_no_better, is_no_worse = front[p], True, True
        for m in range(objectives.shape[1]):
            is_no_better &= objectives[k, m] <= objectives[i, m]
            is_no_worse &= objectives[k, m] >= objectives[i, m]
        if is_no_better and not is_no_worse:
            return n  # and it has dominated none, or that one would be dominated, too
        if is_no_better or not is_no_worse:
            front[n_left] = k
            n_left += 1
    front[n_left] = i
    return n_left + 1


@inner
def sort_rows(order: Ints, n: int, table: Floats, start: int) -> None:
    """Sort n places in a table by its columns from one on, and then by place.

    It is Shell's sort: short, and quick for the tens or hundreds of places there are.
    """
    step = 1
    while 3 * step < n:
        step = 3 * step + 1
    while step > 0:
        for p in range(step, n):
            place, q = order[p], p
            while q >= step and is_before(table, place, order[q - step], start):
                order[q] = order[q - step]
                q -= step
            order[q] = place
        step //= 3


@inner
def is_before(table: Floats, i: int, k: int, start: int) -> bool:
    """Whether place i of a table comes before place k by its columns from one on."""
    for m in range(start, table.shape[1]):
        if table[i, m] != table[k, m]:
            return bool(table[i, m] < table[k, m])
    return i < k


MOST_BOXES = 4096  # beyond it hypervolumes are quicker
SLACK = 1e-9  # what rounding may take from or add to a volume
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
        rest = objectives, chosen, pool, gains, reference
        can_tell = region.is_open and is_exact(n, len(reference))
        best = _next_in(region, *rest) if can_tell else _next(*rest)
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
    return _next(objectives, chosen, near, np.full(len(gains), np.inf), reference)


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
