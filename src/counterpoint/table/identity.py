"""Which genomes are the same: equality, hashes, and the first copies of repeated ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterpoint.arrays import Bools, Floats, Ints
from counterpoint.kernels import inner, kernel

_START = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_ONE = np.uint64(1)
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
    """Return a 64-bit hash of a genome's values, never 0; -0.0 counts as 0.0."""
    word = _START
    for j in range(len(genome)):
        bits = np.float64(genome[j] + 0.0).view(np.uint64)
        word = (word ^ bits) * _MIX_1
        word = word ^ (word >> _S29)
    word = word * _MIX_2
    return (word ^ (word >> _S32)) | _ONE


def first_copies(genomes: Floats, k: int) -> Bools:
    """Return which of the genomes (n, d) are among the first k equal ones."""
    size = 1 << max(2, int(2 * len(genomes) - 1).bit_length())
    is_kept = np.zeros(len(genomes), dtype=np.bool_)
    first, n_copies = np.full(size, -1, dtype=np.int64), np.zeros(size, dtype=np.int64)
    _keep_first_copies(genomes, k, first, n_copies, is_kept)
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
