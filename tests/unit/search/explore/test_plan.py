from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.strategies import generator

import counterpoint as cp
from counterpoint.problem.problem import Problem
from counterpoint.progress import Watch
from counterpoint.search.explore.loop import explore, start
from counterpoint.search.explore.niches import Niches
from counterpoint.search.settings import Explore

DATA = pd.DataFrame(np.arange(200.0).reshape(40, 5) % 11, columns=list("abcde"))


def searched(text: str, evaluations: int = 1500, **limits: object) -> Niches:
    """Return the niches after a search of the first row for a sum of columns."""
    weights = np.array([float(text.count(name)) for name in "abcde"])
    explainer = cp.Explainer(lambda rows: rows.to_numpy() @ weights / 10, DATA)
    row = DATA[:1] * 0.0
    problem = explainer.explain(row, (1.5, None), cp.WhatIf(), **limits).problem  # type: ignore[arg-type]
    return niches_after(problem, evaluations)


def niches_after(problem: Problem, evaluations: int) -> Niches:
    """Return the niches after a search."""
    made: list[Niches] = []

    def keep(*given: object) -> object:
        archive, source, plans = start(*given)  # type: ignore[arg-type]
        made.append(plans.niches)
        return archive, source, plans

    from counterpoint.search.explore import loop

    loop.start, kept = keep, loop.start  # type: ignore[assignment]
    try:
        explore(problem, Explore(evaluations=evaluations, patience=None), Watch())
    finally:
        loop.start = kept
    return made[0]


def of_size(niches: Niches, size: int) -> np.ndarray:
    own = niches.table.niche[0, : niches.table.rows["n_niches"][0]]
    return np.flatnonzero(own["size"] == size)


def test_pairs_that_promise_most_are_tried_first() -> None:
    niches = searched("ab", evaluations=330)
    pairs = of_size(niches, 2)

    wanted = [n for n in pairs if niches.table.features[0, n].tolist() == [0, 1, -1]]

    assert niches.table.niche[0, wanted[0]]["is_way"]
    assert not niches.table.niche[0, of_size(niches, 1)]["is_way"].any()


def test_sets_with_a_way_inside_are_left_alone() -> None:
    niches = searched("aab")
    ways = [
        set(niches.table.features[0, n]) - {-1}
        for n in range(niches.table.rows["n_niches"][0])
        if niches.table.niche[0, n]["is_way"]
    ]

    for n in of_size(niches, 2).tolist() + of_size(niches, 3).tolist():
        own = set(niches.table.features[0, n].tolist()) - {-1}
        assert niches.table.niche[0, n]["is_shut"] == any(way < own for way in ways)
    assert {0} in ways


def test_triples_follow_pairs_and_limits_forbid_them() -> None:
    assert len(of_size(searched("abcde"), 3))
    assert not len(of_size(searched("abcde", max_changed=2), 3))
    assert not len(of_size(searched("abcde", max_changed=1), 2))


def test_pairs_that_promise_little_do_not_hold_up_triples() -> None:
    """Of twenty features six gain something, of which four are needed; most pairs gain nothing."""
    data = pd.DataFrame(generator(0).random((200, 20))).rename(columns=str)
    data.iloc[0], data.iloc[1] = 0.0, 1.0
    weights = np.where(np.arange(20) < 6, 0.3, 0.0)
    explainer = cp.Explainer(lambda rows: rows.to_numpy() @ weights, data)
    problem = explainer.explain(data[:1], (1.0, None), cp.WhatIf()).problem

    niches = niches_after(problem, evaluations=3520)

    assert (niches.table.niche[0, of_size(niches, 2)]["n_tries"] == 0).any()
    assert niches.table.niche[0, of_size(niches, 3)]["n_tries"].sum() > 100


def test_what_a_pair_has_gained_is_known_before_pairs_are_tried() -> None:
    """Else a triple could not build on what moves have made, since nothing is asked twice."""
    niches = searched("a", evaluations=200)  # which is not enough by itself

    pairs = of_size(niches, 2)

    assert niches.table.rows["stage"][0] < 2
    assert (niches.table.niche[0, pairs]["best"] >= 0).all()
    assert len(pairs) > 0


@pytest.mark.parametrize("seed", [0, 4, 5])
def test_patience_does_not_end_a_search_that_still_finds_ways(seed: int) -> None:
    """Any three of nine features are a way; the hypervolume has stopped to grow long before."""
    levels = generator(0).integers(0, 4, (60, 9)).astype(str)
    data = pd.DataFrame(levels, columns=list("abcdefghi")).astype("category")
    explainer = cp.Explainer(lambda rows: (rows == "3").to_numpy().mean(axis=1), data)
    row = data[:1].assign(**dict.fromkeys("abcdefghi", pd.Categorical(["0"], list("0123"))))

    found = explainer.explain(row, (3 / 9, None), cp.Search(evaluations=3520, patience=25), seed)

    assert [len(way.features) for way in found.ways()] == [3] * 84
