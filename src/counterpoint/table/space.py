"""The space genomes live in, as arrays a kernel can read, and which genomes are the same."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from counterpoint.arrays import MISSING, Bools, Floats, Ints, Keys
from counterpoint.errors import InvalidInput, listed
from counterpoint.kernels import fetch, inner, kernel
from counterpoint.table.features import Kind
from counterpoint.table.schema import Schema

# One feature of one row: one argument of a kernel instead of nine, which it compiles faster.
FEATURE = np.dtype(
    [
        ("anchor", np.float64),  # what "unchanged" means
        ("lower", np.float64),  # the search box
        ("upper", np.float64),
        ("grid", np.float64),  # see `Space`
        ("is_level", np.bool_),
        ("is_binary", np.bool_),
        ("is_single", np.bool_),
        ("may_change", np.bool_),
        ("is_forced", np.bool_),  # the anchor is not the row's own value
        ("may_miss", np.bool_),  # a counterfactual may lack it
    ],
    align=True,
)
Features: TypeAlias = NDArray[np.void]


class Space(NamedTuple):
    """What is known of the d features, each of shape (d,)."""

    is_level: Bools  # whether equality is all that counts: categorical and binary features
    is_binary: Bools  # whether the feature has exactly two levels
    is_single: Bools  # whether the column is float32, so that values must survive the cast
    grid: Floats  # grid points per unit, 10**decimals; 1 for integers and codes; 0 for the reals
    n_levels: Ints  # 0 for numbers
    # the observed box
    low: Floats
    high: Floats
    deviation: Floats  # standard deviation of each gene in the data
    may_miss: Bools  # whether a counterfactual may lack it, even if the row does not
    # how far apart numbers count 1 in Gower's distance; 0 where that is their range, which holds
    # the explained row, too
    width: Floats


def describe_space(
    schema: Schema,
    observed: Floats,
    may_miss: Bools | None = None,
    width: Sequence[float] = (),
) -> Space:
    """Return the space of `schema`, with scales from the encoded data `observed` (n, d).

    `may_miss` (d,) tells what counterfactuals may lack: nothing if it is None. `width` (d,) is what
    distances are measured in: the ranges if it is empty.
    """
    features = schema.features
    kinds = [feature.kind for feature in features]
    spread = np.zeros(len(features))
    if schema.has_missing:
        there = [genes[genes != MISSING] for genes in observed.T]
        spread = np.array([genes.std(ddof=1) if len(genes) > 1 else 0.0 for genes in there])
    elif len(observed) > 1:
        spread = observed.std(axis=0, ddof=1)
    return Space(
        is_level=np.array([kind in (Kind.CATEGORICAL, Kind.BINARY) for kind in kinds]),
        is_binary=np.array([kind is Kind.BINARY for kind in kinds]),
        is_single=np.array([feature.is_single for feature in features]),
        grid=np.array([_grid(feature.kind, feature.decimals) for feature in features]),
        n_levels=np.array([len(feature.levels) for feature in features], dtype=np.int64),
        low=np.array([feature.low for feature in features]),
        high=np.array([feature.high for feature in features]),
        deviation=np.ascontiguousarray(spread),
        may_miss=np.zeros(len(features), dtype=np.bool_) if may_miss is None else may_miss,
        width=np.array(width or [0.0] * len(features)),
    )


def _grid(kind: Kind, decimals: int | None) -> float:
    if kind is not Kind.REAL:
        return 1.0
    return 0.0 if decimals is None else 10.0**decimals


def onto_grid(values: Floats, space: Space, inwards: float = 0.0) -> Floats:
    """Return values (r, d) on the nearest grid point, or the next one inwards; forgive round-off.

    Inwards is up for 1 and down for -1; for 0 the nearest will do.
    """
    per_unit = np.where(space.grid > 0, space.grid, 1.0)
    steps = np.rint(values * per_unit)
    overshoot = (values - as_emitted(steps / per_unit, space)) * inwards
    steps += np.where(overshoot * per_unit > 1e-6, inwards, 0.0)
    on_grid = as_emitted(steps / per_unit + 0.0, space)  # no -0.0
    return np.ascontiguousarray(np.where(space.grid > 0, on_grid, values))


def as_emitted(values: Floats, space: Space) -> Floats:
    """Return values (r, d) in each column's own precision: float32 where it is."""
    emitted = values.copy()
    emitted[:, space.is_single] = values[:, space.is_single].astype(np.float32)
    return emitted


def observed_on_grid(genomes: Floats, space: Space) -> Floats:
    """Return observed rows (n, d) on the grid, within the data's range: as they could be returned.

    They are off it only where fewer decimals were declared than the data have; where there are no
    such columns, these are the genomes themselves, not a copy.
    """
    moved = genomes
    for j in np.flatnonzero(~space.is_level & (space.grid > 0.0)):  # one by one, to save memory
        alone: Any = (known[[j]] for known in space)
        own, column = Space(*alone), genomes[:, [j]]
        known = np.where(column == MISSING, own.low, column)
        ends = onto_grid(own.low[None], own, 1.0), onto_grid(own.high[None], own, -1.0)
        inside = np.clip(onto_grid(known, own), np.minimum(*ends), np.maximum(*ends))
        if (is_off := (inside != known) & (column != MISSING)).any():
            moved = genomes.copy() if moved is genomes else moved
            moved[:, [j]] = np.where(is_off, inside, column)
    return moved


@inner
def snap(value: float, feature: Any) -> float:
    """Return `value` put on a feature's grid and into its box, as it will be emitted."""
    if feature.grid > 0.0:
        value = np.rint(value * feature.grid) / feature.grid + 0.0  # no -0.0
    value = min(max(value, feature.lower), feature.upper)
    if feature.is_single:
        value = float(np.float32(value))
    return value


@inner
def from_uniform(u: float, feature: Any) -> float:
    """Return a feature's value at share u of its box; grid points are equally likely."""
    lower, span = feature.lower, feature.upper - feature.lower
    if feature.grid > 0.0:
        n_steps = np.floor(span * feature.grid + 0.5)
        step = np.floor(u * (n_steps + 1.0))
        # The last step is the upper end itself: in single precision both may be off the grid.
        value = lower + step / feature.grid if step < n_steps else feature.upper
    else:
        value = lower + u * span
    return snap(value, feature)


class Box(NamedTuple):
    """Where each of r rows may be searched; all arrays have shape (r, d) but `max_free`."""

    # the search box, on each feature's grid
    lower: Floats
    upper: Floats
    # what "unchanged" means: the row's value, or the nearest allowed one if a range excludes it
    anchor: Floats
    may_change: Bools  # False for fixed features and those with a single value
    # features whose range excludes the row's own value: every counterfactual changes them
    is_forced: Bools
    max_free: Ints  # (r,): how many features may change besides the forced ones

    def of_rows(self, which: Ints) -> Box:
        """Return the boxes of some of the rows only."""
        own: Any = (each[which] for each in self)
        return Box(*own)


class FeatureLimits(Protocol):
    """What the caller's limits say of the d features."""

    @property
    def names(self) -> tuple[Hashable, ...]:
        """Their names."""

    @property
    def is_fixed(self) -> Bools:
        """Which of them must keep the row's value."""

    @property
    def low(self) -> Floats:
        """Where the ranges of numbers and dates begin; NaN where none was given."""

    @property
    def high(self) -> Floats:
        """Where they end."""

    @property
    def max_changed(self) -> int:
        """The most features a counterfactual may change."""


def ranges_around(rows: Floats, space: Space, limits: FeatureLimits) -> tuple[Floats, Floats]:
    """Return the ends of each feature's range: the caller's, or the data's widened to the row."""
    has_range, known = ~np.isnan(limits.low), np.where(rows == MISSING, space.low, rows)
    low = np.where(has_range, limits.low, np.minimum(space.low, known))
    return low, np.where(has_range, limits.high, np.maximum(space.high, known))


def search_box(rows: Floats, space: Space, limits: FeatureLimits) -> Box:
    """Return the box of each row: the data's range widened to the row, or the caller's range.

    Raises InvalidInput if it leaves a row nothing.
    """
    is_missing = rows == MISSING
    lower, upper = (as_emitted(ends, space) for ends in ranges_around(rows, space, limits))
    is_inside = is_missing | ((lower <= rows) & (rows <= upper))
    lower, upper = onto_grid(lower, space, inwards=1.0), onto_grid(upper, space, inwards=-1.0)
    if (crossed := (lower > upper).any(axis=0)).any():
        empty = [limits.names[j] for j in np.flatnonzero(crossed)]
        raise InvalidInput(
            f"ranges leave no value of the data's precision for {listed(empty)}; widen them."
        )
    anchor = np.where(is_inside, rows, np.clip(rows, lower, upper))
    is_forced = anchor != rows
    max_free = limits.max_changed - is_forced.sum(axis=1)
    if (max_free < 0).any():
        forced = [limits.names[j] for j in np.flatnonzero(is_forced[np.argmin(max_free)])]
        raise InvalidInput(
            f"max_changed is {limits.max_changed}, but ranges exclude the row's own values of "
            f"{listed(forced)}, which must all change; raise max_changed or widen the ranges."
        )
    may_change = ~limits.is_fixed & ((lower < upper) | is_missing)
    return Box(lower, upper, anchor, may_change, is_forced, max_free.astype(np.int64))


_START = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_ZERO, _ONE = np.uint64(0), np.uint64(1)
_S29, _S32 = np.uint64(29), np.uint64(32)


@inner
def are_equal(a: Floats, b: Floats) -> bool:
    """Whether two lists of numbers are the same."""
    is_same = True
    for j in range(len(a)):
        is_same &= a[j] == b[j]
    return is_same


@inner
def hash_genome(genome: Floats) -> Any:
    """Return a 64-bit hash of a genome's values, never 0; -0.0 counts as 0.0.

    Genes are mixed each with its place and added up, so that none waits for the one before it.
    """
    total, place = _ONE, _START
    for j in range(len(genome)):
        word = np.float64(genome[j] + 0.0).view(np.uint64) + place
        word = (word ^ (word >> _S32)) * _MIX_1
        total = total + (word ^ (word >> _S29))
        place = place + _START
    total = (total ^ (total >> _S32)) * _MIX_2
    return (total ^ (total >> _S32)) | _ONE


def hash_all(genomes: Floats) -> Keys:
    """Return the hash of each of the genomes (n, d): the same function, on whole columns."""
    compiled: Any = getattr(hash_genome, "dispatcher", None)  # None where kernels run as Python
    by_column: Any = hash_genome if compiled is None else compiled.py_func
    with np.errstate(over="ignore"):
        hashes: Keys = by_column(genomes.T)
    return hashes


def first_copies(genomes: Floats, k: int) -> Bools:
    """Return which of the genomes (n, d) are among the first k equal ones."""
    size = 1 << max(2, int(2 * len(genomes) - 1).bit_length())
    is_kept = np.zeros(len(genomes), dtype=np.bool_)
    first, n_copies = np.full(size, -1, dtype=np.int64), np.zeros(size, dtype=np.int64)
    read_only = genomes.view()  # whether they may be written to or not: one type for the kernel
    read_only.flags.writeable = False
    _keep_first_copies(read_only, k, first, n_copies, is_kept)
    return is_kept


@kernel
def _keep_first_copies(
    genomes: Floats, k: int, first: Ints, n_copies: Ints, is_kept: Bools
) -> None:
    """Write which genomes are kept; `first` (-1 where empty) is a table by open addressing."""
    last = len(first) - 1
    for i in range(len(genomes)):
        place = np.int64(hash_genome(genomes[i]) >> _S29) & last
        while first[place] >= 0 and not are_equal(genomes[first[place]], genomes[i]):
            place = (place + 1) & last
        if first[place] < 0:
            first[place] = i
        n_copies[place] += 1
        is_kept[i] = n_copies[place] <= k


def empty_memory(r: int, n_genomes: int) -> Keys:
    """Return tables for r rows with room for `n_genomes` each, at most half full."""
    return np.zeros((r, 1 << int(2 * n_genomes - 1).bit_length()), dtype=np.uint64)


@inner
def remember(table: Keys, genome: Floats) -> bool:
    """Return whether the genome is new to the table, and remember it."""
    return remember_hash(table, hash_genome(genome))


@inner
def remember_hash(table: Keys, word: Any) -> bool:
    """Return whether the genome of this hash is new to the table, and remember it."""
    mask = np.uint64(len(table) - 1)
    place = (word >> _S29) & mask
    while table[place] != _ZERO:
        if table[place] == word:
            return False
        place = (place + _ONE) & mask
    table[place] = word
    return True


@inner
def fetch_place(table: Keys, word: Any) -> None:
    """Have the place of a hash in the table fetched; see `fetch`."""
    fetch(table, int((word >> _S29) & np.uint64(len(table) - 1)))


@inner
def is_remembered(table: Keys, genome: Floats) -> bool:
    """Return whether the table knows the genome."""
    return has_hash(table, hash_genome(genome))


@inner
def has_hash(table: Keys, word: Any) -> bool:
    """Return whether the table knows the genome of this hash."""
    mask = np.uint64(len(table) - 1)
    place = (word >> _S29) & mask
    while table[place] != _ZERO and table[place] != word:
        place = (place + _ONE) & mask
    return bool(table[place] == word)


@kernel
def remember_all(
    memory: Keys, rows: Floats, observed: Floats, wanted: Ints, n_wanted: Ints
) -> None:
    """Remember each row (r, d) and the observed rows it starts from."""
    for a in range(len(rows)):
        remember(memory[a], rows[a])
        for k in range(n_wanted[a]):
            remember(memory[a], observed[wanted[a, k]])
