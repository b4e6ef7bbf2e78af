"""Which genomes are the same: equality, hashes, and the first copies of repeated ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterpoint.arrays import Bools, Floats
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


@kernel
def first_copies(genomes: Floats, k: int) -> Bools:
    """Return which of the genomes (n, d) are among the first k equal ones."""
    n, size = len(genomes), 4
    while size < 2 * n:
        size *= 2
    first = np.full(size, -1)  # open addressing: the first genome of each kind
    n_copies, is_kept = np.zeros(size, dtype=np.int64), np.zeros(n, dtype=np.bool_)
    for i in range(n):
        place = np.int64((hash_genome(genomes[i]) >> _S29) & np.uint64(size - 1))
        while first[place] >= 0 and not are_equal(genomes[first[place]], genomes[i]):
            place = (place + 1) & (size - 1)
        if first[place] < 0:
            first[place] = i
        n_copies[place] += 1
        is_kept[i] = n_copies[place] <= k
    return is_kept
