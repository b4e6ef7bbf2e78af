"""Ways: the sets of features whose values alone reach the target, taken from an archive.

Every valid candidate belongs to the set of features that it changes. Of each set the candidates are
kept that no other of the same set dominates, and the one to show first: the nearest that is a
margin inside the target. Sets of which a part is a way come last, so that what is kept is bounded.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from counterpoint.arrays import MISSING, Bools, Floats, Ints
from counterpoint.kernels import inner, kernel
from counterpoint.problem.objectives import CHANGES, DISTANCE, GAP, IMPLAUSIBILITY
from counterpoint.problem.problem import Problem
from counterpoint.problem.target import Target, safety_margins
from counterpoint.search.archive import Archive
from counterpoint.streams import Stage, uniforms
from counterpoint.table.space import Space, first_copies

MOST_WAYS, MOST_LARGER = 96, 64  # sets that are kept: minimal ones, and those with a way inside …
MOST_FEATURES = 3  # … which have so many features at most
HALF = 2**25  # of a feature's lot, which has 50 bits
MOST_ROWS = np.int64(8)  # candidates of a set that are kept
ROUND_OFF = 1e-6  # how far from its grid's point a value may be, as a share of a step


@dataclass(frozen=True, eq=False)
class WayRows:
    """The ways of one row and their candidates."""

    changed: Bools  # (w, d): the features of each way
    # (w,): whether no part of it is a way that was found, and whether all values of all its parts
    # were asked
    is_minimal: Bools
    is_proved: Bools
    n_valid: Ints  # (w,): how many candidates reach the target by it
    # (k,): which values of its features are seen to work, ascending in this order
    value_way: Ints
    value_feature: Ints
    value: Floats
    # (n,): the way of each candidate, and whether no other candidate of the way dominates it
    way: Ints
    is_front: Bools
    # (n, …): The candidates, as in `ResultData`. The first of each way is the one to show.
    genomes: Floats
    predictions: Floats
    scores: Floats
    codes: Ints
    objectives: Floats


class Pool(NamedTuple):
    """Candidates of one row, among which ways are found."""

    row: Floats  # (d,): the explained row
    # (n, …): the candidates; no two are equal
    genomes: Floats
    scores: Floats
    objectives: Floats
    target: Target  # the wanted outcome
    margin: float  # how far inside the target what is shown should be
    # (d,): how many values each feature can change to; infinite for the reals, and if nobody knows
    n_others: Floats


class WayFinder:
    """The valid candidates of one row, by the set of features that they change.

    `asked` are those of the pool that the model was asked about, `valid` those of them that reach
    the target; `candidates` are the places in the pool of what is kept.
    """

    def __init__(self, pool: Pool, asked: Ints, valid: Ints) -> None:
        self.pool, self._asked = pool, asked
        self._group(valid)

    @classmethod
    def of(cls, archive: Archive, a: int, problem: Problem, *, repeats: bool) -> WayFinder:
        """Return the ways of row a of an archive, which may repeat candidates; see `Pool`."""
        n, box = int(archive.size[a]), problem.box
        pool = Pool(
            problem.rows[0],
            archive.genomes[a, :n],
            archive.predictions[a, :n],
            archive.objectives[a, :n],
            problem.targets[0],
            float(problem.margins[0]),
            other_values(problem.space, box.lower[0], box.upper[0], problem.rows[0]),
        )
        is_candidate = archive.is_candidate[a, :n] & (pool.objectives[:, CHANGES] > 0)
        asked = np.flatnonzero(is_candidate)
        if repeats:
            asked = asked[first_copies(pool.genomes[asked], 1)]
        valid = asked[pool.objectives[asked, GAP] <= 0.0]
        if problem.row_rules is not None:  # functions were asked before the model was
            valid = valid[problem.row_rules.holds(pool.genomes[None, valid], problem.rows)[0]]
        return cls(pool, asked, valid)

    def _group(self, valid: Ints) -> None:
        """Sort the valid candidates by set and then by their objectives; choose sets and rows."""
        pool = self.pool
        differs, distances = pool.genomes[valid] != pool.row, pool.objectives[valid, DISTANCE]
        first, group = sets_of(keys_of(differs))
        changed, least = differs[first], np.full(len(first), np.inf)
        np.minimum.at(least, group, distances)
        is_minimal = have_no_part(changed)
        sizes = changed.sum(axis=1)
        kept = kept_sets(sizes, least, is_minimal)
        if len(first):
            kept = with_set(kept, int(group[self._safest(valid, sizes[group], distances)]))
        rank = np.full(len(first), len(kept))
        rank[kept] = np.arange(len(kept))
        is_kept = rank[group] < len(kept)
        valid, ranks = valid[is_kept], rank[group[is_kept]]
        order = in_order(ranks, pool.objectives[valid])
        self._valid, self._ranks = valid[order], ranks[order]
        self.changed, self.is_minimal = changed[kept], is_minimal[kept]
        self.n_valid = np.bincount(self._ranks, minlength=len(kept))
        self._choose()

    def _safest(self, valid: Ints, sizes: Ints, distances: Floats) -> int:
        """Return the nearest of the valid candidates (n,) with the margin, few changes first.

        If none has it, it is the one farthest inside. Its set is kept even if part of it is a way,
        because no way may have such a candidate.
        """
        inside = safety_margins(self.pool.target, self.pool.scores[valid])
        unsafe = np.maximum(self.pool.margin - inside, 0.0)
        safest = np.flatnonzero(unsafe == unsafe.min())
        few = safest[sizes[safest] <= MOST_FEATURES]
        safest = few if len(few) else safest
        return int(safest[np.argmin(distances[safest])])

    def _choose(self) -> None:
        """Choose the candidates that are kept of each set."""
        places = np.full((len(self.changed), MOST_ROWS), -1, dtype=np.int64)
        is_front = np.zeros(places.shape, dtype=np.bool_)
        inside = safety_margins(self.pool.target, self.pool.scores[self._valid])
        values = np.ascontiguousarray(self.pool.objectives[self._valid])
        ends = np.cumsum(self.n_valid)
        front = np.empty(len(values), dtype=np.int64)
        choose_rows(values, inside, ends, self.pool.margin, places, is_front, front)
        is_row = places >= 0
        self.way, self.is_front = np.nonzero(is_row)[0], is_front[is_row]
        self.candidates = self._valid[places[is_row]]

    @cached_property
    def is_proved(self) -> Bools:
        """Whether all values of all parts of each way were asked, shape (w,)."""
        sizes, n_others = self.changed.sum(axis=1), self.pool.n_others
        is_proved: Bools = sizes == 1
        may_be = (sizes > 1) & (sizes <= MOST_FEATURES) & self.is_minimal
        singles = self._asked_of(1)
        may_be &= np.where(self.changed, n_others, 0.0).max(axis=1, initial=0.0) <= len(singles)
        if may_be.any():
            is_full = self._changes_of(singles).sum(axis=0) >= n_others
            is_proved |= may_be & (is_full | ~self.changed).all(axis=1)
        threes = np.flatnonzero(is_proved & (sizes == MOST_FEATURES))
        if len(threes):
            n_asked = Counter(keys_of(self._changes_of(self._asked_of(2))).tolist())
            lots = feature_lots(len(n_others)).tolist()
        for w in threes.tolist():
            pairs = combinations(np.flatnonzero(self.changed[w]).tolist(), 2)
            least = {lots[i] + lots[j]: n_others[i] * n_others[j] for i, j in pairs}
            is_proved[w] = all(n_asked[key] >= n for key, n in least.items())
        return is_proved

    def _asked_of(self, n: int) -> Ints:
        """Return the candidates that change n features and were asked."""
        asked: Ints = self._asked[self.pool.objectives[self._asked, CHANGES] == n]
        return asked

    def _changes_of(self, which: Ints) -> Bools:
        """Return which features these candidates change."""
        changes: Bools = self.pool.genomes[which] != self.pool.row
        return changes

    def values(self) -> tuple[Ints, Ints, Floats]:
        """Return which values of which features of minimal ways are seen to work."""
        some = self.is_minimal[self._ranks]
        member, feature = np.nonzero(self.changed[self._ranks[some]])
        way, value = (
            self._ranks[some][member],
            self.pool.genomes[self._valid[some]][member, feature],
        )
        order = np.lexsort((value, feature, way))
        way, feature, value = way[order], feature[order], value[order]
        is_other = np.ones(len(way), dtype=np.bool_)
        is_other[1:] = (np.diff(way) != 0) | (np.diff(feature) != 0) | (np.diff(value) != 0)
        return way[is_other], feature[is_other], value[is_other]

    def take(self, codes: Ints, predictions: Floats) -> WayRows:
        """Return the ways, given the class codes and predictions (n,) of all of the archive."""
        which, pool = self.candidates, self.pool
        return WayRows(
            self.changed,
            self.is_minimal,
            self.is_proved,
            self.n_valid,
            *self.values(),
            self.way,
            self.is_front,
            pool.genomes[which],
            predictions[which],
            pool.scores[which],
            codes[which],
            pool.objectives[which],
        )


def other_values(space: Space, lower: Floats, upper: Floats, row: Floats) -> Floats:
    """Return how many values each feature can change to, from bounds and the row's values (d,).

    The row's own value is one of those between the bounds only if it is on the grid.
    """
    n_values = np.where(space.is_level, space.n_levels, np.inf)
    known = np.where(row == MISSING, lower, row)
    is_on_grid = is_grid_point(known, space.grid) & (lower <= row) & (row <= upper)
    on_grid = ~space.is_level & (space.grid > 0.0)
    n_values[on_grid] = np.rint((upper - lower) * space.grid)[on_grid] + 1.0
    is_own = np.where(space.is_level, row != MISSING, is_on_grid)
    others: Floats = n_values - is_own + (space.may_miss & (row != MISSING))
    return others


def is_grid_point(values: Floats, grid: Floats) -> Bools:
    """Return which values lie on their feature's grid, but for rounding."""
    points = values * grid
    is_point: Bools = np.abs(points - np.rint(points)) <= ROUND_OFF
    return is_point


def keys_of(changed: Bools) -> Ints:
    """Return a number for each set of features (n, d): different sets have different ones."""
    sums = changed.astype(np.float64) @ half_lots(changed.shape[1])
    keys: Ints = sums.astype(np.int64) @ np.array([HALF, 1])
    return keys


def sets_of(keys: Ints) -> tuple[Ints, Ints]:
    """Return the first candidate of each set, sets ascending by key, and the set of each (n,)."""
    order = np.argsort(keys, kind="stable")
    ordered, is_first = keys[order], np.ones(len(keys), dtype=np.bool_)
    is_first[1:] = ordered[1:] != ordered[:-1]
    group = np.empty(len(keys), dtype=np.int64)
    group[order] = np.cumsum(is_first) - 1
    return order[is_first], group


def in_order(ranks: Ints, objectives: Floats) -> Ints:
    """Return candidates by the rank of their set, then by distance and the other objectives.

    Few of a set are as far from the row as another: only those are compared in all objectives.
    """
    order = np.argsort(objectives[:, DISTANCE], kind="stable")
    order = order[np.argsort(ranks[order].astype(np.int16), kind="stable")]
    ordered, distances = ranks[order], objectives[order, DISTANCE]
    is_next = (ordered[1:] == ordered[:-1]) & (distances[1:] == distances[:-1])
    if is_next.any():
        is_tied = np.append(is_next, values=False) | np.insert(is_next, 0, values=False)
        tied = order[is_tied]
        order[is_tied] = tied[np.lexsort((*objectives[tied][:, :0:-1].T, ranks[tied]))]
    return order


@cache
def feature_lots(d: int) -> Ints:
    """Return a number of 50 bits for each of d features, of which no two sums should be equal."""
    lots = uniforms(np.zeros((1, 2), dtype=np.uint64), Stage.WAY, 0, 1, d)[0, 0]
    whole: Ints = (lots * 2.0**50).astype(np.int64)
    return whole


@cache
def half_lots(d: int) -> Floats:
    """Return the upper and the lower half of each lot (d, 2): their sums are exact, and quick."""
    return np.stack(np.divmod(feature_lots(d), HALF), axis=1).astype(np.float64)


def have_no_part(changed: Bools) -> Bools:
    """Return which sets of features (w, d) contain none of the others.

    Examples
    --------
    >>> have_no_part(np.array([[True, False], [True, True]])).tolist()
    [True, False]
    """
    words = bits_of(changed)
    is_part = np.ones((len(words), len(words)), dtype=np.bool_)  # [i, j]: set j is part of set i
    for word in words.T:
        is_part &= (word[None, :] & ~word[:, None]) == 0
    np.fill_diagonal(is_part, val=False)
    return np.asarray(~is_part.any(axis=1))


def bits_of(changed: Bools) -> NDArray[np.uint32]:
    """Return sets of features (w, d) as the bits of numbers (w, n)."""
    packed = np.packbits(changed, axis=1)
    room = np.zeros((len(changed), -(-packed.shape[1] // 4) * 4), dtype=np.uint8)
    room[:, : packed.shape[1]] = packed
    return room.view(np.uint32)


def kept_sets(sizes: Ints, least: Floats, is_minimal: Bools) -> Ints:
    """Return which sets are kept: minimal ones by least distance, then some larger ones."""
    order = np.lexsort((least, sizes))
    minimal = order[is_minimal[order]][:MOST_WAYS]
    larger = order[~is_minimal[order] & (sizes[order] <= MOST_FEATURES)][:MOST_LARGER]
    kept: Ints = np.concatenate([minimal[np.argsort(least[minimal], kind="stable")], larger])
    return kept


def with_set(kept: Ints, one: int) -> Ints:
    """Return the sets that are kept, and one more if it is not among them."""
    return kept if one in kept else np.append(kept, one)


@kernel
def choose_rows(
    objectives: Floats,
    inside: Floats,
    ends: Ints,
    margin: float,
    places: Ints,
    is_front: Bools,
    front: Ints,
) -> None:
    """Write which candidates of each set are kept, and which of them are on its front.

    The candidates (n, m) of a set follow each other, ascending by their objectives, so that who
    dominates another comes before it; `ends` (w,) is where each set ends. The first one kept is
    the nearest that is a margin inside the target, or else the one farthest inside; then come the
    nearest of the front and its most typical one.
    """
    most, start = places.shape[1], 0
    for g in range(len(ends)):
        own, n_front = places[g], 0
        shown, n, typical = place_to_show(inside, start, ends[g], margin), 1, -1
        for i in range(start, ends[g]):
            if is_dominated(objectives, front[:n_front], i):
                continue
            front[n_front] = i
            n_front += 1
            is_front[g, 0] |= i == shown
            if typical < 0 or objectives[i, IMPLAUSIBILITY] < objectives[typical, IMPLAUSIBILITY]:
                typical = i
            if n < most - 1 and i != shown:
                own[n] = i
                is_front[g, n] = True
                n += 1
        own[0] = shown
        is_there = typical == shown
        for p in range(n):
            is_there |= own[p] == typical
        if not is_there:
            own[n] = typical
            is_front[g, n] = True
        start = ends[g]


@inner
def place_to_show(inside: Floats, start: int, end: int, margin: float) -> int:
    """Return the nearest candidate of a set with the margin, or else the one farthest inside."""
    shown = start
    for i in range(start, end):
        if inside[i] > inside[shown] and inside[shown] < margin:
            shown = i
    return shown


@inner
def is_dominated(objectives: Floats, front: Ints, i: int) -> bool:
    """Whether one of the front is no worse than candidate i and better somewhere."""
    for k in front:
        is_no_worse, is_better = True, False
        for m in range(objectives.shape[1]):
            is_no_worse &= objectives[k, m] <= objectives[i, m]
            is_better |= objectives[k, m] < objectives[i, m]
        if is_no_worse and is_better:
            return True
    return False
