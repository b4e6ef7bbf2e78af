from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import counterpoint as cp
from counterpoint.arrays import MISSING
from counterpoint.search.explore.loop import MOST_EMPTY, all_points, has_few_points, values_of
from counterpoint.search.feasibility import SearchSpace
from counterpoint.table.space import FEATURE, empty_memory, hash_all, remember_all

LEVELS = pd.DataFrame(list(product("abcd", "xyz", [False, True])), columns=["k", "l", "m"])
ROW = {"k": "a", "l": "x", "m": False}


class Asked:
    """A model that remembers what it was asked; one row of all reaches 0.5."""

    def __init__(self, hit: tuple[Any, ...] = ("d", "z", True)) -> None:
        self.hit = hit
        self.rows: list[tuple[Any, ...]] = []

    def __call__(self, rows: pd.DataFrame) -> Any:
        """Return what it says of each row."""
        asked = list(rows.itertuples(index=False, name=None))
        self.rows += asked
        return np.array([0.9 * (row == self.hit) for row in asked])


def features_of(*given: dict[str, Any]) -> Any:
    """Return records of features of levels, with some fields as given."""
    features = np.zeros(len(given), FEATURE)
    features["grid"], features["may_change"] = 1.0, True
    for feature, fields in zip(features, given, strict=True):
        for name, value in fields.items():
            feature[name] = value
    return features


# Values and points


@pytest.mark.parametrize(
    ("feature", "expected"),
    [
        ({"anchor": 1, "upper": 3}, [1, 0, 2, 3]),
        ({"anchor": 1, "upper": 3, "may_change": False}, [1]),
        ({"anchor": 0.25, "upper": 0.4, "grid": 10}, [0.25, 0.2, 0.3, 0.1, 0.4, 0.0]),
        ({"anchor": MISSING, "lower": 2, "upper": 3}, [MISSING, 2, 3]),
        ({"anchor": 2, "lower": 2, "upper": 3, "may_miss": True}, [2, 3, MISSING]),
        ({"anchor": MISSING, "lower": 7.5, "upper": 7.5, "grid": 0}, [MISSING, 7.5]),
        ({"anchor": 1, "upper": 3, "grid": 0}, None),
        ({"anchor": 0, "lower": -1e308, "upper": 1e308, "grid": 1e12}, None),
    ],
)
def test_the_values_of_a_feature_begin_with_its_own(
    feature: dict[str, Any], expected: list[float] | None
) -> None:
    values = values_of(features_of(feature)[0])

    assert (None if values is None else values.tolist()) == expected


def test_single_precision_counts_as_it_is_emitted() -> None:
    lower, upper = float(np.float32(0.1)), float(np.float32(0.3))
    feature = {"anchor": lower, "lower": lower, "upper": upper, "grid": 10, "is_single": True}

    values = values_of(features_of(feature)[0])

    assert values is not None
    assert values.tolist() == [float(np.float32(value)) for value in (0.1, 0.2, 0.3)]


sizes_and_forced = st.lists(st.tuples(st.integers(1, 4), st.booleans()), min_size=1, max_size=5)


@given(sizes_and_forced, st.integers(0, 5))
def test_all_points_are_those_of_the_product_with_few_changes(
    given_features: list[tuple[int, bool]], max_free: int
) -> None:
    sizes, is_forced = (list(each) for each in zip(*given_features, strict=True))
    fields = [{"upper": n - 1, "is_forced": forced} for n, forced in given_features]
    space = SearchSpace(np.zeros((1, len(sizes))), features_of(*fields)[None], np.array([max_free]))
    free = ~np.array(is_forced)
    expected = [
        point
        for point in product(*map(range, sizes))
        if (np.array(point)[free] != 0).sum() <= max_free
    ]

    points = all_points(space, 0)

    assert points is not None
    assert sorted(map(tuple, points.tolist())) == expected
    assert (np.diff((points[:, free] != 0).sum(axis=1)) >= 0).all()
    assert has_few_points(sizes, is_forced, max_free, len(expected))
    assert not has_few_points(sizes, is_forced, max_free, len(expected) - 1)


def test_a_space_of_many_points_is_not_listed() -> None:
    fields = [{"upper": 9}] * 5

    space = SearchSpace(np.zeros((2, 5)), features_of(*fields * 2).reshape(2, 5), np.array([5, 4]))

    assert all_points(space, 0) is None
    assert all_points(space._replace(max_free=np.array([2, 2])), 0) is not None


@given(st.lists(st.lists(st.sampled_from([0.0, -0.0, 1.5, MISSING, 1e99]), min_size=2, max_size=2)))
def test_columns_hash_as_kernels_do(rows: list[list[float]]) -> None:
    genomes = np.array([[7.0, 7.0], *rows])
    memory, n = empty_memory(1, len(genomes)), len(genomes)

    remember_all(memory, genomes[:1], genomes, np.arange(n)[None], np.array([n]))

    assert set(hash_all(genomes).tolist()) == set(memory[memory != 0].tolist())


# Searches


@pytest.mark.parametrize("max_changed", [1, 2, 3])
@pytest.mark.parametrize("seed", range(6))
def test_an_exhausted_search_has_tried_all_that_is_allowed(seed: int, max_changed: int) -> None:
    model = Asked()
    explainer = cp.Explainer(
        model, LEVELS[LEVELS["k"] != "d"], features={"k": cp.Categorical(list("abcd"))}
    )
    model.rows.clear()

    found = explainer.explain(ROW, (0.5, 1.0), seed=seed, max_changed=max_changed)

    own = tuple(ROW.values())
    every = LEVELS.itertuples(index=False, name=None)
    allowed = {
        row for row in every if sum(a != b for a, b in zip(row, own, strict=True)) <= max_changed
    }
    assert found.stopped == "exhausted"
    assert found.evaluations == len(allowed)
    assert set(model.rows) == allowed
    assert found.status == ("found" if max_changed == 3 else "infeasible")


def test_what_rules_and_functions_refuse_need_not_be_tried() -> None:
    model = Asked(("d", "z", False))

    def is_new_or_owned(rows: pd.DataFrame) -> Any:
        return ((rows["l"] != "y") | rows["m"]).to_numpy()

    rules: list[Any] = ["k = d implies l = z", is_new_or_owned]
    explainer = cp.Explainer(
        model, LEVELS[LEVELS["l"] != "z"], features={"l": cp.Categorical(list("xyz"))}
    )
    model.rows.clear()

    found = explainer.explain(ROW, (0.5, 1.0), constraints=rules, seed=1)

    allowed = LEVELS[((LEVELS["k"] != "d") | (LEVELS["l"] == "z")) & is_new_or_owned(LEVELS)]
    assert (found.stopped, found.status) == ("exhausted", "found")
    assert found.evaluations == len(allowed)
    assert set(model.rows) == set(allowed.itertuples(index=False, name=None))


def test_a_gap_in_the_row_is_filled_or_left_in_all_ways() -> None:
    data = pd.DataFrame({"n": [0.0, 1.0, 2.0, np.nan] * 3, "k": list("aabbcc") * 2})
    explainer = cp.Explainer(lambda rows: np.zeros(len(rows)), data, features={"n": cp.Integer()})

    found = explainer.explain({"n": np.nan, "k": "a"}, (0.5, 1.0))

    assert (found.stopped, found.evaluations) == ("exhausted", 4 * 3)
    assert found.status == "infeasible"


def test_a_large_space_that_gives_nothing_new_ends_by_repeats() -> None:
    """No whole number has this square, and propagation does not see it."""
    data = pd.DataFrame({"age": [22, 35, 41, 58], "rate": [0.51234, 1.25, 0.75, 2.0]})
    explainer = cp.Explainer(lambda rows: rows["age"] / 100, data)

    found = explainer.explain(
        {"age": 30, "rate": 1.0}, (0.5, 1.0), constraints=["age * age = 1000"]
    )

    assert found.stopped == "repeats"
    assert len(found.history) == MOST_EMPTY
    assert found.status == "best_effort"
    assert (
        "; nothing new was made any more, though not all that is allowed was tried; "
        in found.message
    )


ROWS = LEVELS.iloc[[0, 5, 9, 16]]


def bits(found: cp.Counterfactuals) -> tuple[bytes, bytes, int, str]:
    return found.genomes.tobytes(), found.objectives.tobytes(), found.evaluations, found.stopped


@pytest.mark.parametrize("workers", [1, 2])
def test_what_is_left_to_try_is_tried_alike_in_any_company(workers: int) -> None:
    explainer = cp.Explainer(Asked(), LEVELS)
    alone = [explainer.explain(ROWS.iloc[[i]], (0.5, 1.0)) for i in range(len(ROWS))]

    together = explainer.explain_many(ROWS, (0.5, 1.0), workers=workers)

    assert {found.stopped for found in alone} == {"exhausted"}
    assert list(map(bits, together)) == list(map(bits, alone))


@settings(max_examples=10, deadline=None)
@given(st.integers(9, 40), st.integers(0, 99))
def test_a_search_that_goes_on_tries_what_it_would_have_tried(evaluations: int, seed: int) -> None:
    explainer = cp.Explainer(Asked(), LEVELS)
    whole = explainer.explain(ROW, (0.5, 1.0), seed=seed)
    part = explainer.explain(ROW, (0.5, 1.0), cp.Search(evaluations=evaluations), seed=seed)

    assert bits(part.continue_search(200)) == bits(whole)
