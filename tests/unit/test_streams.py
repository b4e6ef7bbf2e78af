from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import stats
from tests.kernels import called

from counterpoint import streams
from counterpoint.arrays import Floats, Keys
from counterpoint.errors import InvalidInput
from counterpoint.streams import (
    MAX_GENERATIONS,
    MAX_GENES,
    MAX_INDIVIDUALS,
    Stage,
    check_seed,
    row_keys,
    uniforms,
)

uniform = called(streams.uniform)
next_uniform, skip = called(streams.next_uniform), called(streams.skip)
difference_at = called(streams.difference_at)
words = st.integers(0, 2**64 - 1)
rows = arrays.arrays(
    np.float64,
    st.tuples(st.integers(1, 4), st.integers(1, 5)),
    elements=st.floats(allow_nan=False, allow_infinity=False),
)


def key(seed: int = 0) -> Keys:
    own: Keys = row_keys(seed, np.array([[1.0, 2.0]]))[0]
    return own


def finalise(word: Keys) -> Keys:
    """SplitMix64's finaliser on arrays of 64-bit words."""
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


def reference(key: Keys, stage: int, generation: int, individual: Keys, gene: Keys) -> Floats:
    """Hash addresses under a key in NumPy, as streams.py describes it."""
    head = np.uint64((stage << 58) | (generation << 36))
    address = head | (individual << np.uint64(18)) | gene
    word = (address + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15) + key[:1]
    word = finalise(finalise(word) + key[1:])
    return (word >> np.uint64(11)).astype(np.float64) * 2.0**-53


@settings(deadline=None)
@given(
    first=words,
    second=words,
    stage=st.sampled_from(list(Stage)),
    generation=st.integers(0, MAX_GENERATIONS),
    individual=st.integers(0, MAX_INDIVIDUALS),
    gene=st.integers(0, MAX_GENES),
)
def test_a_draw_equals_the_reference_bit_for_bit(
    first: int, second: int, stage: Stage, generation: int, individual: int, gene: int
) -> None:
    key = np.array([first, second], dtype=np.uint64)

    drawn = uniform(key, int(stage), generation, individual, gene)

    where = np.array([individual], dtype=np.uint64), np.array([gene], dtype=np.uint64)
    assert drawn == reference(key, int(stage), generation, *where)[0]
    assert 0.0 <= drawn < 1.0


def test_a_stage_drawn_at_once_equals_the_reference_bit_for_bit() -> None:
    keys = row_keys(3, np.array([[1.0], [2.0], [3.0]]))
    individual, gene = np.indices((7, 5), dtype=np.uint64)

    drawn = uniforms(keys, int(Stage.MUTANT), 11, 7, 5)

    expected = [reference(own, Stage.MUTANT, 11, individual, gene) for own in keys]
    np.testing.assert_array_equal(drawn, np.stack(expected))


@pytest.mark.parametrize("stage", [Stage.FIRST_VALUE, Stage.FIRST_SURPLUS])
def test_draws_are_uniform(stage: Stage) -> None:
    drawn = uniforms(key()[None], int(stage), 1, 200, 100).ravel()

    assert stats.kstest(drawn, "uniform").pvalue > 1e-3
    assert len(np.unique(drawn)) == drawn.size


def test_draws_of_neighbouring_addresses_are_uncorrelated() -> None:
    keys = np.stack([key(0), key(1)])
    base = uniforms(keys, 4, 7, 200, 101)

    others = {
        "gene": (base[0, :, 1:], base[0, :, :-1]),
        "individual": (base[0, 1:], base[0, :-1]),
        "row": (base[0], base[1]),
        "generation": (base, uniforms(keys, 4, 8, 200, 101)),
        "stage": (base, uniforms(keys, 5, 7, 200, 101)),
    }

    for name, (one, other) in others.items():
        correlation = np.corrcoef(one.ravel(), other.ravel())[0, 1]
        assert abs(correlation) * np.sqrt(one.size) < 4.0, name


def test_no_part_of_an_address_runs_into_the_next() -> None:
    own = key()
    addresses = [
        (int(Stage.FIRST_KEEP), 0, 0, 0),
        (int(Stage.FIRST_VALUE), MAX_GENERATIONS, MAX_INDIVIDUALS, MAX_GENES),
        (int(Stage.FIRST_VALUE), 1, 0, 0),
        (int(Stage.FIRST_VALUE), 0, MAX_INDIVIDUALS, MAX_GENES),
        (int(Stage.FIRST_VALUE), 0, 1, 0),
        (int(Stage.FIRST_VALUE), 0, 0, MAX_GENES),
        (int(Stage.FIRST_VALUE), 0, 0, 0),
    ]

    drawn = {uniform(own, *address) for address in addresses}

    assert len(drawn) == len(addresses)


def test_stages_fit_their_six_bits_and_are_all_different() -> None:
    numbers = [int(stage) for stage in Stage]

    assert len(set(numbers)) == len(Stage.__members__)
    assert max(numbers) < 2**6


@settings(deadline=None)
@given(genomes=rows, seed=words, data=st.data())
def test_a_key_depends_on_the_rows_values_and_not_its_position(
    genomes: Floats, seed: int, data: st.DataObject
) -> None:
    order = np.array(data.draw(st.permutations(range(len(genomes)))))
    keys = row_keys(seed, genomes)

    moved = row_keys(seed, genomes[order])

    np.testing.assert_array_equal(moved, keys[order])
    np.testing.assert_array_equal(row_keys(seed, genomes[:1]), keys[:1])


def test_rows_and_seeds_that_differ_get_different_keys() -> None:
    genomes = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, np.nextafter(1.0, 2.0)]])

    keys = np.concatenate([row_keys(seed, genomes) for seed in (0, 1, 2**64 - 1)])

    assert len(np.unique(keys, axis=0)) == 9


def test_minus_zero_is_zero_and_every_nan_is_one() -> None:
    other_nan = np.array([0x7FF8000000000001], dtype=np.uint64).view(np.float64)[0]
    genomes = np.array([[0.0, np.nan], [-0.0, np.nan], [0.0, other_nan]])

    keys = row_keys(5, genomes)

    assert len(np.unique(keys, axis=0)) == 1


def test_no_rows_get_no_keys() -> None:
    assert row_keys(0, np.empty((0, 3))).shape == (0, 2)


def test_the_keys_of_a_release_stay_the_keys_of_the_next() -> None:
    keys = row_keys(7, np.array([[22.0, 1.0]]))

    assert keys.tolist() == [[6748501223508398369, 13992778911118750828]]


@pytest.mark.parametrize("seed", [0, 7, 2**64 - 1, np.int64(7), np.uint8(7)])
def test_a_whole_number_is_a_seed(seed: int) -> None:
    checked = check_seed(seed)

    assert type(checked) is int
    assert checked == seed


@pytest.mark.parametrize("seed", [None, "0", 1.0, True, np.float64(1.0), [1]])
def test_a_seed_that_is_no_whole_number_is_refused(seed: object) -> None:
    with pytest.raises(InvalidInput, match=r"seed must be a whole number .*, got .*; for example"):
        check_seed(seed)


@pytest.mark.parametrize("seed", [-1, 2**64, np.int64(-5)])
def test_a_seed_that_does_not_fit_64_bits_is_refused(seed: int) -> None:
    with pytest.raises(
        InvalidInput, match=r"seed must be a whole number from 0 to 2\*\*64 - 1, got"
    ):
        check_seed(seed)


@settings(deadline=None)
@given(start=words, n=st.integers(0, 100))
def test_who_skips_words_of_a_sequence_goes_on_after_them(start: int, n: int) -> None:
    drawn, skipped = np.array([start], dtype=np.uint64), np.array([start], dtype=np.uint64)
    for _ in range(n):
        next_uniform(drawn)

    skip(skipped, np.int64(n))

    assert next_uniform(skipped) == next_uniform(drawn)


@settings(deadline=None)
@given(start=words, step=st.integers(0, 100))
def test_a_difference_is_of_both_halves_of_the_word_at_its_step(start: int, step: int) -> None:
    golden = np.array([0x9E3779B97F4A7C15], dtype=np.uint64)
    word = int(finalise(np.array([start], dtype=np.uint64) + np.uint64(step) * golden)[0])

    difference = difference_at(np.uint64(start), np.int64(step))

    assert difference == ((word >> 32) - (word & (2**32 - 1))) / 2**32
