"""Memory: which genomes a search has seen, so that no candidate is evaluated twice.

One table of 64-bit hashes per row, open addressing. Two different genomes of a search share a hash
with a probability of about n**2 / 2**65, a millionth of a millionth for ten thousand candidates;
the second one would then be passed over, nothing worse.
"""

from __future__ import annotations

import numpy as np

from counterpoint.arrays import Floats, Ints, Keys
from counterpoint.kernels import inner, kernel
from counterpoint.table.identity import hash_genome

_ZERO, _ONE = np.uint64(0), np.uint64(1)
_S29 = np.uint64(29)


def empty_memory(r: int, n_genomes: int) -> Keys:
    """Return tables for r rows with room for `n_genomes` each, at most half full."""
    return np.zeros((r, 1 << int(2 * n_genomes - 1).bit_length()), dtype=np.uint64)


@inner
def remember(table: Keys, genome: Floats) -> bool:
    """Return whether the genome is new to the table, and remember it."""
    word = hash_genome(genome)
    mask = np.uint64(len(table) - 1)
    place = (word >> _S29) & mask
    while table[place] != _ZERO:
        if table[place] == word:
            return False
        place = (place + _ONE) & mask
    table[place] = word
    return True


@kernel
def remember_all(
    memory: Keys, rows: Floats, observed: Floats, wanted: Ints, n_wanted: Ints
) -> None:
    """Remember each row (r, d) and the observed rows it starts from."""
    for a in range(len(rows)):
        remember(memory[a], rows[a])
        for k in range(n_wanted[a]):
            remember(memory[a], observed[wanted[a, k]])
