"""Spaces of parameters: what they hold, and what they refuse."""

from __future__ import annotations

import doctest
import importlib
from typing import Any

import pytest
from benchmarks.racing.draws import pick, shuffled, uniform
from benchmarks.racing.space import (
    Choice,
    Configuration,
    Real,
    Space,
    Whole,
    as_plain,
    check_configuration,
    check_space,
    is_similar,
)
from hypothesis import given
from hypothesis import strategies as st

SPACE: Space = {"n": Whole(1, 5), "rate": Real(0.0, 1.0), "way": Choice(("a", "b"))}
FINE: Configuration = {"n": 3, "rate": 0.5, "way": "b"}


@pytest.mark.parametrize("name", ["budget", "draws", "friedman", "space", "tune"])
def test_the_examples_in_the_docstrings_hold(name: str) -> None:
    module = importlib.import_module(f"benchmarks.racing.{name}")

    results = doctest.testmod(module)

    assert results.attempted > 0
    assert results.failed == 0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Whole(3, 3), "Whole needs low < high, got 3 and 3."),
        (lambda: Real(1.0, 0.0), "Real needs finite low < high, got 1.0 and 0.0."),
        (lambda: Real(0.0, float("inf")), "Real needs finite low < high, got 0.0 and inf."),
        (lambda: Choice(("a",)), r"Choice needs two different options or more, got \('a',\)."),
        (lambda: Choice(("a", "a")), "Choice needs two different options or more"),
        (lambda: check_space({}), "space has no parameters; give one at least"),
    ],
)
def test_a_parameter_without_a_range_is_refused(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n": 6}, r"n must be of Whole\(low=1, high=5\), got 6."),
        ({"n": 2.5}, "n must be of Whole.*got 2.5"),
        ({"rate": "much"}, "rate must be of Real.*got 'much'"),
        ({"way": "c"}, "way must be of Choice.*got 'c'"),
        ({"weigh": 1}, "a configuration must give .*, got .*'weigh'.*name each parameter once"),
    ],
)
def test_a_configuration_outside_the_space_is_refused(change: Any, message: str) -> None:
    check_configuration(SPACE, FINE)

    with pytest.raises(ValueError, match=message):
        check_configuration(SPACE, {**FINE, **change})


@pytest.mark.parametrize(
    ("change", "similar"),
    [({}, True), ({"rate": 0.50005}, True), ({"rate": 0.51}, False), ({"way": "a"}, False)],
)
def test_configurations_are_similar_if_nothing_differs_much(change: Any, similar: bool) -> None:
    assert is_similar(SPACE, FINE, {**FINE, **change}, within=1e-4) is similar


def test_spaces_are_told_apart_by_their_plain_form() -> None:
    assert as_plain(SPACE) == {
        "n": ["Whole", 1, 5],
        "rate": ["Real", 0.0, 1.0],
        "way": ["a", "b"],
    }


@given(seed=st.integers(0, 2**64 - 1), n=st.integers(0, 30))
def test_a_shuffle_is_a_permutation_and_draws_lie_in_the_unit_interval(seed: int, n: int) -> None:
    assert sorted(shuffled(seed, n, "order")) == list(range(n))
    assert 0.0 <= uniform(seed, "value", n) < 1.0


@given(
    weights=st.lists(st.floats(0.0, 5.0), min_size=1, max_size=6).filter(lambda w: sum(w) > 0.1),
    u=st.floats(0.0, 1.0, exclude_max=True),
)
def test_what_has_no_weight_is_not_picked(weights: list[float], u: float) -> None:
    assert weights[pick(weights, u)] > 0.0


def test_draws_are_uniform_and_addresses_do_not_touch() -> None:
    draws = [uniform(3, "value", i) for i in range(4000)]

    assert abs(sum(draws) / 4000 - 0.5) < 0.02
    assert len(set(draws)) == 4000
    assert uniform(3, "value", 1) != uniform(4, "value", 1)
