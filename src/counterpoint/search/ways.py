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

from counterpoint.arrays import MISSING, Bools, Floats, Ints
from counterpoint.kernels import inner, kernel, part
from counterpoint.problem.objectives import CHANGES, DISTANCE, GAP, IMPLAUSIBILITY
from counterpoint.problem.problem import Problem
from counterpoint.problem.target import Target, safety_margins
from counterpoint.search.archive import Archive
from counterpoint.search.front import enter_front, is_before, sort_rows
from counterpoint.streams import Stage, uniforms
from counterpoint.table.space import Space, first_copies

MOST_WAYS, MOST_LARGER = 96, 64  # sets that are kept: minimal ones, and those with a way inside …
MOST_FEATURES = 3  # … which have so many features at most
HALF = 2**25  # of a feature's lot, which has 50 bits
MOST_ROWS = np.int64(8)  # candidates of a set that are kept
KEY, HEAD, TAIL, IS_MINIMAL, BITS = range(5)  # columns of `SetScratch.sets`
WORD = 62  # features whose bits one number holds
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

    `is_asked` tells which of the pool the model was asked about, `valid` those of them that reach
    the target; `candidates` are the places in the pool of what is kept.
    """

    def __init__(self, pool: Pool, is_asked: Bools, valid: Ints) -> None:
        self.pool, self._is_asked = pool, is_asked
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
        is_asked = archive.is_candidate[a, :n] & (pool.objectives[:, CHANGES] > 0)
        if repeats:
            is_asked[is_asked] = first_copies(pool.genomes[is_asked], 1)
        valid = np.flatnonzero(is_asked & (pool.objectives[:, GAP] <= 0.0))
        if problem.row_rules is not None:  # functions were asked before the model was
            valid = valid[problem.row_rules.holds(pool.genomes[None, valid], problem.rows)[0]]
        return cls(pool, is_asked, valid)

    def _group(self, valid: Ints) -> None:
        """Choose sets of the valid candidates, and the candidates that are kept of each."""
        pool = self.pool
        (n, d), most = (len(valid), len(pool.row)), MOST_WAYS + MOST_LARGER + 1
        self._genomes = pool.genomes.take(valid, axis=0)
        inside = safety_margins(pool.target, pool.scores.take(valid))
        given = Valid(self._genomes, pool.objectives.take(valid, axis=0), inside, pool.row)
        numbers = np.empty((most, 6), dtype=np.int64)
        places = np.full((most, MOST_ROWS), -1, dtype=np.int64)
        kept = KeptSets(numbers, places, np.empty(n * d, dtype=np.int64))
        n_kept = keep_sets(given, feature_lots(d), scratch_of(n, d), kept, pool.margin) if n else 0
        first, self.n_valid, self._ends, is_minimal, shows_front = numbers[:n_kept, 1:].T.copy()
        self.changed, self.is_minimal = self._genomes[first] != pool.row, is_minimal == 1
        self._seen = kept.seen[: self._ends[-1] if n_kept else 0]
        is_row = places[:n_kept] >= 0
        self.way, place = np.nonzero(is_row)
        self.is_front = (place > 0) | (shows_front[self.way] == 1)
        self.candidates = valid[places[:n_kept][is_row]]

    @cached_property
    def is_proved(self) -> Bools:
        """Whether all values of all parts of each way were asked, shape (w,)."""
        sizes, n_others = self.changed.sum(axis=1), self.pool.n_others
        is_proved: Bools = sizes == 1
        may_be = (sizes > 1) & (sizes <= MOST_FEATURES) & self.is_minimal
        may_be &= (self.changed @ (n_others > len(self.pool.genomes))) == 0  # mostly reals
        if may_be.any():
            singles = self._asked_of(1)
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
        is_meant = self._is_asked & (self.pool.objectives[:, CHANGES] == n)
        return np.flatnonzero(is_meant)

    def _changes_of(self, which: Ints) -> Bools:
        """Return which features these candidates change."""
        changes: Bools = self.pool.genomes.take(which, axis=0) != self.pool.row
        return changes

    def values(self) -> tuple[Ints, Ints, Floats]:
        """Return which values of which features of minimal ways are seen to work."""
        way = np.repeat(np.arange(len(self._ends)), np.diff(self._ends, prepend=0))
        return way, self._seen % len(self.pool.row), self._genomes.ravel()[self._seen]

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
            pool.genomes.take(which, axis=0),
            predictions.take(which),
            pool.scores.take(which),
            codes.take(which),
            pool.objectives.take(which, axis=0),
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


class Valid(NamedTuple):
    """The valid candidates of one row, n of them."""

    genomes: Floats  # (n, d)
    objectives: Floats  # (n, m)
    inside: Floats  # (n,): how far each is inside the target
    row: Floats  # (d,): the explained row


class SetScratch(NamedTuple):
    """What `keep_sets` works with; there are at most as many sets as candidates, n."""

    table: Ints  # sets by the last bits of their keys, -1 where there is none
    # (n, 5): size, least distance, size once more and both halves of the key: by these columns
    # sets are sorted, or by all but the first
    ranks: Floats
    # (n, BITS + words): the key of each set, its first and last candidate, whether no part of it is
    # one, and the bits of its features
    sets: Ints
    links: Ints  # (n, 2): the set of each candidate, and the next candidate of the same set, or -1
    minimal: Ints  # (n,): the minimal sets
    order: Ints  # (n,): what is sorted: sets, the front of a set or its candidates


class KeptSets(NamedTuple):
    """The sets that are kept, w at most."""

    # (w, 6): each set, its first candidate, how many it has, where it ends in `seen`, whether no
    # part of it is a way, and whether the candidate to show is on its front
    numbers: Ints
    # (w, MOST_ROWS): the candidates that are kept, the one to show first, -1 where there is none;
    # no other one of the set dominates those behind the first
    places: Ints
    # (n * d,): where in `Valid.genomes` the values stand that are seen to work in minimal sets
    seen: Ints


def scratch_of(n: int, d: int) -> SetScratch:
    """Return scratch for n candidates of d features."""
    table = np.full(1 << int(2 * n).bit_length(), -1, dtype=np.int64)
    sets = np.zeros((n, BITS + 1 + (d - 1) // WORD), dtype=np.int64)
    links, lists = np.empty((n, 2), dtype=np.int64), np.empty((2, n), dtype=np.int64)
    return SetScratch(table, np.empty((n, 5)), sets, links, *lists)


@kernel
def keep_sets(valid: Valid, lots: Ints, scratch: SetScratch, kept: KeptSets, margin: float) -> int:
    """Choose sets of features that candidates change, and candidates of each; return how many."""
    genomes, objectives, inside, row = valid
    ranks, sets, links, minimal, order = scratch[1:]
    numbers, places, seen = kept
    n_sets = list_sets(valid, lots, scratch)
    sort_rows(order, n_sets, ranks, 0)
    n_kept = choose_sets(ranks, sets, minimal, order, n_sets, numbers)
    safest = links[place_of_safest(objectives, inside, ranks, links, margin), 0]
    is_there = False
    for w in range(n_kept):
        is_there |= numbers[w, 0] == safest
    if not is_there:  # no way may have a candidate that is so safe
        numbers[n_kept, 0] = safest
        n_kept += 1
    end = 0
    for w in range(n_kept):
        s = numbers[w, 0]
        numbers[w, 1], numbers[w, 4] = sets[s, HEAD], sets[s, IS_MINIMAL]
        choose_rows(objectives, inside, links, order, margin, numbers[w], places[w])
        if sets[s, IS_MINIMAL] == 1:
            end = list_values(genomes, row, links, order, sets[s, HEAD], seen, end)
        numbers[w, 3] = end
    return n_kept


@part
def list_sets(valid: Valid, lots: Ints, scratch: SetScratch) -> int:
    """List the sets of all candidates, and the candidates of each; return how many there are."""
    genomes, objectives, _, row = valid
    table, ranks, sets, links, _, order = scratch
    n_sets, last = 0, len(table) - 1
    for i in range(len(genomes)):
        key, size = 0, 0
        for j in range(len(row)):
            if genomes[i, j] != row[j]:
                key += lots[j]
                size += 1
        place = key & last
        while table[place] >= 0 and sets[table[place], KEY] != key:
            place = (place + 1) & last
        s = table[place]
        if s < 0:
            s = n_sets
            n_sets += 1
            table[place], order[s], sets[s, KEY], sets[s, HEAD] = s, s, key, i
            ranks[s, 0], ranks[s, 1], ranks[s, 2] = size, objectives[i, DISTANCE], size
            ranks[s, 3], ranks[s, 4] = key // HALF, key % HALF
            for j in range(len(row)):
                if genomes[i, j] != row[j]:
                    sets[s, BITS + j // WORD] |= 1 << (j % WORD)
        else:
            links[sets[s, TAIL], 1] = i
            ranks[s, 1] = min(ranks[s, 1], objectives[i, DISTANCE])
        sets[s, TAIL], links[i, 0], links[i, 1] = i, s, -1
    return n_sets


@part
def choose_sets(
    ranks: Floats, sets: Ints, minimal: Ints, order: Ints, n_sets: int, numbers: Ints
) -> int:
    """Write which sets are kept: minimal ones by least distance, then larger ones; return how many.

    The sets are in order, those of few features first.
    """
    n_minimal, n_larger = 0, 0
    for p in range(n_sets):
        s, is_minimal = order[p], True
        for q in range(n_minimal):
            if is_part(sets, minimal[q], s):
                is_minimal = False
                break
        if is_minimal:
            sets[s, IS_MINIMAL] = 1
            minimal[n_minimal] = s
            n_minimal += 1
    n = min(n_minimal, MOST_WAYS)
    sort_rows(minimal, n, ranks, 1)
    for w in range(n):
        numbers[w, 0] = minimal[w]
    for p in range(n_sets):
        s = order[p]
        is_larger = sets[s, IS_MINIMAL] == 0 and ranks[s, 0] <= MOST_FEATURES
        if is_larger and n_larger < MOST_LARGER:
            numbers[n + n_larger, 0] = s
            n_larger += 1
    return n + n_larger


@inner
def is_part(sets: Ints, some: int, other: int) -> bool:
    """Whether the features of one set are all among those of another."""
    left = 0
    for q in range(BITS, sets.shape[1]):
        left |= sets[some, q] & ~sets[other, q]
    return left == 0


@part
def place_of_safest(
    objectives: Floats, inside: Floats, ranks: Floats, links: Ints, margin: float
) -> int:
    """Return the nearest candidate with the margin, few changes first.

    If none has it, it is the one farthest inside.
    """
    best, least, is_best_small, nearest = 0, np.inf, False, np.inf
    for i in range(len(inside)):
        unsafe, distance = max(margin - inside[i], 0.0), objectives[i, DISTANCE]
        is_small = ranks[links[i, 0], 0] <= MOST_FEATURES
        is_better = distance < nearest if is_small == is_best_small else is_small
        if unsafe < least or (unsafe == least and is_better):
            best, least, is_best_small, nearest = i, unsafe, is_small, distance
    return best


@part
def choose_rows(
    objectives: Floats,
    inside: Floats,
    links: Ints,
    front: Ints,
    margin: float,
    numbers: Ints,
    own: Ints,
) -> None:
    """Write which candidates of a set are kept, and how many it has.

    The first one kept is the nearest that is a margin inside the target, or else the one farthest
    inside; then come the nearest of the front and its most typical one.
    """
    i, shown, n_valid, n_front = numbers[1], numbers[1], 0, 0
    while i >= 0:
        n_valid += 1
        here, there = min(inside[i], margin), min(inside[shown], margin)
        if here > there or (here == there and is_before(objectives, i, shown, DISTANCE)):
            shown = i
        n_front = enter_front(objectives, front, n_front, i)
        i = links[i, 1]
    sort_rows(front, n_front, objectives, DISTANCE)
    n, typical, is_front, is_there = 1, front[0], False, False
    for p in range(n_front):
        i = front[p]
        is_front |= i == shown
        if objectives[i, IMPLAUSIBILITY] < objectives[typical, IMPLAUSIBILITY]:
            typical = i
        if n < len(own) - 1 and i != shown:
            own[n] = i
            n += 1
    own[0], numbers[2], numbers[5] = shown, n_valid, is_front
    for p in range(n):
        is_there |= own[p] == typical
    if not is_there:
        own[n] = typical


@part
def list_values(
    genomes: Floats, row: Floats, links: Ints, order: Ints, first: int, seen: Ints, end: int
) -> int:
    """List where the different values of a set's features stand, ascending; return the end."""
    for j in range(len(row)):
        if genomes[first, j] == row[j]:
            continue
        i, n = first, 0
        while i >= 0:
            order[n] = i
            n += 1
            i = links[i, 1]
        sort_rows(order, n, genomes, j)
        for p in range(n):
            i = order[p]
            if p == 0 or genomes[i, j] != genomes[order[p - 1], j]:
                seen[end] = i * len(row) + j
                end += 1
    return end
