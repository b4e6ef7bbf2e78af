"""Who enters a race: configurations of the space, ever nearer to the elites."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from benchmarks.racing.draws import uniform
from benchmarks.racing.sampling import (
    Belief,
    Candidate,
    around,
    first_candidates,
    next_candidates,
)
from benchmarks.racing.space import (
    Choice,
    Configuration,
    Parameter,
    Real,
    Space,
    Whole,
    check_configuration,
    text_of,
)
from hypothesis import given
from hypothesis import strategies as st

SPACE: Space = {"n": Whole(1, 9), "rate": Real(-1.0, 1.0), "way": Choice(("a", "b", "c"))}

parameters: st.SearchStrategy[Parameter] = st.one_of(
    st.integers(-5, 5).flatmap(lambda a: st.builds(Whole, st.just(a), st.integers(a + 1, a + 9))),
    st.integers(-5, 5).flatmap(
        lambda a: st.builds(Real, st.just(a / 3), st.floats(0.01, 9.0).map(lambda w: a / 3 + w))
    ),
    st.integers(2, 5).map(lambda n: Choice(tuple("abcde"[:n]))),
)
spaces = st.lists(parameters, min_size=1, max_size=5).map(
    lambda found: {f"p{i}": parameter for i, parameter in enumerate(found)}
)


def elite_of(space: Space, values: Configuration, rounds: int = 0, n_new: int = 10) -> Candidate:
    """Return an elite that was sharpened some times."""
    belief = Belief.at_first(space)
    for j in range(rounds):
        belief = belief.sharpened(space, values, j / (j + 1), n_new)
    return Candidate(0, values, belief)


@given(space=spaces, seed=st.integers(0, 99), rounds=st.integers(0, 12), n=st.integers(1, 15))
def test_all_that_is_drawn_lies_in_the_space_and_nothing_twice(
    space: Space, seed: int, rounds: int, n: int
) -> None:
    first = first_candidates(space, n, seed)
    elites = [elite_of(space, c.values, rounds, n) for c in first[:3]]

    later, _ = next_candidates(space, elites, n, first_number=50, address=[seed, 2])

    for candidate in [*first, *later]:
        check_configuration(space, candidate.values)
    for drawn in (first, later):
        assert len({text_of(c.values) for c in drawn}) == len(drawn) <= n + 3
    assert [c.values for c in later[: len(elites)]] == [e.values for e in elites]
    assert [c.number for c in later[len(elites) :]] == list(
        range(50, 50 + len(later) - len(elites))
    )


@given(space=spaces, rounds=st.integers(0, 8), n=st.integers(2, 20))
def test_beliefs_stay_probabilities_and_spreads_shrink(space: Space, rounds: int, n: int) -> None:
    values = first_candidates(space, 1, 0)[0].values
    before = elite_of(space, values, rounds, n).belief

    after = before.sharpened(space, values, 0.5, n)
    relaxed = after.relaxed(space, n)

    assert after.spread == pytest.approx(before.spread * (1 / n) ** (1 / len(space)))
    assert after.spread <= relaxed.spread < 1.0
    for belief in (after, relaxed):
        for shares in belief.shares.values():
            assert sum(shares) == pytest.approx(1.0)
            assert min(shares) > 0.0
    for name, shares in after.shares.items():
        own = space[name].options.index(str(values[name]))  # type: ignore[union-attr]
        assert shares[own] == max(shares)
        assert max(relaxed.shares[name]) <= max(shares) + 1e-12


def test_the_own_option_gains_by_progress_up_to_a_limit() -> None:
    """0.5 becomes 0.75 halfway; with one parameter both are cut to 0.2 at most, then sum to 1."""
    pair: Space = {"way": Choice(("a", "b"))}
    both: Space = {"way": Choice(("a", "b")), "n": Whole(0, 9)}

    alone = Belief.at_first(pair).sharpened(pair, {"way": "b"}, 0.9, 10)
    beside = Belief.at_first(both).sharpened(both, {"way": "b", "n": 3}, 0.5, 10)

    assert alone.shares["way"] == pytest.approx([0.05 / 0.25, 0.2 / 0.25])
    most = np.sqrt(0.2)
    assert beside.shares["way"] == pytest.approx([0.25 / (0.25 + most), most / (0.25 + most)])


def test_the_first_are_uniform() -> None:
    drawn = [c.values for c in first_candidates(SPACE, 3000, 1)]

    rates = np.array([v["rate"] for v in drawn], dtype=float)
    counts = np.unique([str(v["way"]) for v in drawn], return_counts=True)[1]
    numbers = np.unique([int(v["n"]) for v in drawn], return_counts=True)[1]

    assert scipy.stats.kstest(rates, "uniform", (-1.0, 2.0)).pvalue > 0.01
    assert scipy.stats.chisquare(counts).pvalue > 0.01
    assert scipy.stats.chisquare(numbers).pvalue > 0.01


@pytest.mark.parametrize(("centre", "spread"), [(0.0, 0.2), (0.9, 0.5), (-1.0, 1.0)])
def test_numbers_near_an_elite_follow_the_truncated_normal(centre: float, spread: float) -> None:
    drawn = [around(SPACE["rate"], centre, [], spread, uniform(5, "u", i)) for i in range(3000)]

    low, high = (-1.0 - centre) / spread, (1.0 - centre) / spread
    law = scipy.stats.truncnorm(low, high, loc=centre, scale=spread)
    assert scipy.stats.kstest(np.array(drawn, dtype=float), law.cdf).pvalue > 0.01


def test_whole_numbers_are_drawn_around_the_elites_and_reach_both_ends() -> None:
    drawn = [around(SPACE["n"], 5, [], 0.6, uniform(5, "u", i)) for i in range(3000)]

    values, counts = np.unique(drawn, return_counts=True)

    assert values.tolist() == list(range(1, 10))
    law = scipy.stats.truncnorm(-4.5 / 2.7, 4.5 / 2.7, loc=5.5, scale=2.7)
    expected = 3000 * np.diff(law.cdf(np.arange(1, 11)))
    assert scipy.stats.chisquare(counts, expected).pvalue > 0.01


def test_options_are_drawn_by_their_probabilities() -> None:
    drawn = [around(SPACE["way"], "a", [0.7, 0.3, 0.0], 1.0, uniform(5, i)) for i in range(2000)]

    assert abs(drawn.count("a") / 2000 - 0.7) < 0.03
    assert "c" not in drawn


def test_better_elites_have_more_descendants() -> None:
    space: Space = {"x": Real(0.0, 1.0)}
    elites = [elite_of(space, {"x": x}, rounds=3, n_new=30) for x in (0.2, 0.5, 0.8)]

    drawn, _ = next_candidates(space, elites, 300, first_number=3, address=[1, 2])

    near = [round((float(c.values["x"]) - 0.2) / 0.3) for c in drawn[3:]]
    counts = [near.count(i) for i in range(3)]
    assert counts[0] > counts[1] > counts[2] > 0


def test_a_race_of_copies_restarts_softly() -> None:
    space: Space = {"x": Real(0.0, 1.0), "y": Real(0.0, 1.0)}
    values: Configuration = {"x": 0.5, "y": 0.5}
    narrow = elite_of(space, values, rounds=12)
    wide = elite_of(space, values, rounds=1)

    drawn, is_restart = next_candidates(space, [narrow], 10, first_number=1, address=[1, 2])
    _, is_other = next_candidates(space, [wide], 10, first_number=1, address=[1, 2])

    assert is_restart
    assert not is_other
    assert drawn[0].belief.spread > narrow.belief.spread
    assert all(c.belief == drawn[0].belief for c in drawn)
