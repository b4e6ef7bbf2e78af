"""Random numbers addressed by (row, stage, generation, individual, gene), never consumed in turn.

A draw is a hash of its address under the row's key. So what one row draws cannot depend on the
company it is explained in, a new draw in one stage moves no other, and a search can be resumed
without saved state. The key comes from the seed and the row's own values, not from its position.

The hash is SplitMix64's finaliser (Steele, Lea, Flood 2014), applied twice with half of the
128-bit key each time.
"""

from __future__ import annotations

from enum import IntEnum
from hashlib import blake2b
from typing import Any

import numpy as np

from counterpoint.arrays import Floats, Keys, Whole
from counterpoint.checks import check_whole
from counterpoint.kernels import inner, kernel


class Stage(IntEnum):
    """What a draw is for. Append only: the number is part of the address."""

    FIRST_VALUE = 0
    FIRST_KEEP = 1
    OBSERVED_ROW = 2
    OBSERVED_COUNT = 3
    OBSERVED_KEEP = 4
    TOURNAMENT_FIRST = 5
    TOURNAMENT_SECOND = 6
    PAIR = 7
    CROSS_GENE = 8
    CROSS_LOW = 9
    CROSS_HIGH = 10
    CROSS_SWAP = 11
    CROSS_KEEP = 12
    CROSS_SURPLUS_FIRST = 13
    CROSS_SURPLUS_SECOND = 14
    MUTANT = 15
    MUTATE_GENE = 16
    MUTATE_RADIUS = 17
    MUTATE_ANGLE = 18
    MUTATE_KEEP = 19
    MUTATE_KEEP_VALUE = 20
    MUTATE_SURPLUS = 21
    CONDITIONAL_ORDER = 22
    CONDITIONAL_VALUE = 23
    FIRST_SURPLUS = 24
    OFFSPRING = 25
    REPAIR = 26
    FOREST_MARGIN = 27
    FOREST_TREE = 28
    FOREST_VALUE = 29
    FIRST_MISS = 30
    MUTATE_MISS = 31
    TASTE = 32
    NEIGHBOUR = 33
    NEIGHBOUR_VALUE = 34
    ASKED_ALONE = 35
    TRIAL = 36
    WAY = 37
    FINISH = 38


# Bits of the 64-bit address: stage 6, generation 22, individual 18, gene 18.
MAX_GENERATIONS = 2**22 - 1
MAX_INDIVIDUALS = 2**18 - 1
MAX_GENES = 2**18 - 1

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_S11, _S18, _S27, _S30 = np.uint64(11), np.uint64(18), np.uint64(27), np.uint64(30)
_S31, _S32, _S36, _S58 = np.uint64(31), np.uint64(32), np.uint64(36), np.uint64(58)
_LOW = np.uint64(2**32 - 1)
_WHOLE_FLOAT = np.uint64(0x4330000000000000)  # the bits of 2.0**52
_ULP = 2.0**-53

# A kernel takes a Python number for a constant of its own type, and is compiled for each anew.
WHOLE = np.int64(0)  # the gene of draws that concern the whole individual


def check_seed(seed: object) -> int:
    """Return `seed` if it is a whole number from 0 to 2**64 - 1, else say what it should be.

    Examples
    --------
    >>> check_seed(7)
    7
    """
    said = "from 0 to 2**64 - 1"
    return check_whole("seed", seed, 0, 2**64 - 1, said=said, hint="for example seed=0.")


def row_keys(seed: int, genomes: Floats) -> Keys:
    """Return the stream key of each row: a keyed hash of its values, blind to its position.

    Keys of 128 bits are pairs of words of 64. Equal rows get equal keys.
    """
    canonical = np.where(np.isnan(genomes), np.nan, genomes + 0.0)  # one NaN, no -0.0
    secret = seed.to_bytes(8, "little")
    digests = [
        blake2b(row.astype("<f8").tobytes(), key=secret, digest_size=16).digest()
        for row in canonical
    ]
    return np.frombuffer(b"".join(digests), dtype="<u8").reshape(-1, 2).astype(np.uint64)


@inner
def word_at(key: Any, stage: Whole, generation: Whole, individual: Whole, gene: Whole) -> Any:
    """Return the 64 random bits at one address of the stream with this key (two words)."""
    address = (
        (np.uint64(stage) << _S58)
        | (np.uint64(generation) << _S36)
        | (np.uint64(individual) << _S18)
        | np.uint64(gene)
    )
    word = (address + np.uint64(1)) * _GOLDEN + key[0]
    word = (word ^ (word >> _S30)) * _MIX_1
    word = (word ^ (word >> _S27)) * _MIX_2
    word = (word ^ (word >> _S31)) + key[1]
    return finish(word)


@inner
def finish(word: Any) -> Any:
    """Return SplitMix64's finaliser of 64 bits."""
    word = (word ^ (word >> _S30)) * _MIX_1
    word = (word ^ (word >> _S27)) * _MIX_2
    return word ^ (word >> _S31)


@inner
def uniform(key: Any, stage: Whole, generation: Whole, individual: Whole, gene: Whole) -> float:
    """Return the draw in [0, 1) at one address of the stream with this key (two words)."""
    return float(word_at(key, stage, generation, individual, gene) >> _S11) * _ULP


@inner
def next_uniform(state: Keys) -> float:
    """Return the next draw in [0, 1) of the sequence that starts at the word in `state` (1,).

    For draws whose number is not known beforehand: the start is addressed, and the sequence
    (SplitMix64) belongs to that address alone.
    """
    state[0] += _GOLDEN
    return float(finish(state[0]) >> _S11) * _ULP


@inner
def difference_at(start: Any, step: Whole) -> float:
    """Return the difference of two draws in [0, 1), of 32 bits each, of one word of a sequence.

    It is the word so many steps after `start`; none depends on those before it, so that a loop over
    steps becomes vector instructions. Who takes n of them goes on after `skip`.
    """
    word = finish(start + np.uint64(step) * _GOLDEN)
    # Behind these bits a number of 32 bits is a float as it stands: nothing need be converted.
    high, low = np.uint64((word >> _S32) | _WHOLE_FLOAT), np.uint64((word & _LOW) | _WHOLE_FLOAT)
    return float(high.view(np.float64) - low.view(np.float64)) * 2.0**-32


@inner
def skip(state: Keys, n: Whole) -> None:
    """Let the next draw of the sequence in `state` (1,) be the one after n words."""
    state[0] += np.uint64(n) * _GOLDEN


def uniforms(keys: Keys, stage: int, generation: int, n: int, d: int) -> Floats:
    """Return the draws of a whole stage: one per row, individual and gene, shape (r, n, d)."""
    drawn = np.empty((len(keys), n, d))
    _draw(keys, int(stage), generation, drawn)  # a member of `Stage` would be another type
    return drawn


@kernel
def _draw(keys: Keys, stage: int, generation: int, drawn: Floats) -> None:
    """Write the draws of a whole stage (r, n, d)."""
    for a in range(drawn.shape[0]):
        for i in range(drawn.shape[1]):
            for j in range(drawn.shape[2]):
                drawn[a, i, j] = uniform(keys[a], stage, generation, i, j)
