"""Laws of the archive: what is a member, when a search is stale, and what it has asked."""

from __future__ import annotations

from functools import cache
from typing import Any, get_args

import moocore
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import generator

import counterpoint as cp
from counterpoint.arrays import Floats, Ints
from counterpoint.problem.problem import Evaluation, Problem
from counterpoint.search.archive import Archive
from counterpoint.search.front import hypervolume, hypervolume_history
from counterpoint.search.settings import Initialization, Method

STARTS: tuple[Initialization, ...] = get_args(Initialization)
COMPILED = settings(deadline=None)  # the first call compiles
REFERENCE = np.array([0.5, 1.0, 4.0, 1.0])


def as_floats(rows: Any) -> Floats:
    return np.array(rows, dtype=np.float64)


def nothing(rows: pd.DataFrame) -> Floats:
    return np.zeros(len(rows))


def problem_of(n_rows: int = 1) -> Problem:
    """Set up problems whose reference point is `REFERENCE`."""
    data = pd.DataFrame(np.arange(8.0).reshape(2, 4), columns=list("abcd"))
    search = cp.Search(population=2, generations=0, initialization="random")
    found = cp.Explainer(nothing, data).explain(data[:1], (0.5, 1.0), search)
    np.testing.assert_array_equal(found.problem.reference, [REFERENCE])
    return found.problem.take(np.zeros(n_rows, dtype=np.int64))


PROBLEM, PAIR = problem_of(), problem_of(2)
genomes_strategy = st.lists(st.tuples(*[st.integers(0, 4)] * 4), min_size=1, max_size=40).map(
    lambda rows: np.array(rows, dtype=np.float64)
)


def objectives_of(genomes: Floats) -> Floats:
    """Return objectives in exact binary fractions; 0 and 1 share one, so that ties are common."""
    return as_floats(np.maximum(genomes - 1.0, 0.0) * [0.25, 0.5, 2.0, 0.5])


def filled(waves: list[Floats], problem: Problem = PROBLEM) -> Archive:
    """Return an archive the waves were added to, one per generation."""
    archive = Archive(problem, sum(map(len, waves)))
    for generation, wave in enumerate(waves):
        judged = Evaluation(np.zeros((1, len(wave))), objectives_of(wave)[None])
        archive.add(wave[None], judged, np.array([0]), generation)
    return archive


def members_of(archive: Archive, row: int = 0) -> Ints:
    return np.sort(archive.members[row, : archive.n_members[row]])


def expected_members(genomes: Floats) -> Ints:
    """Return non-dominated vectors, equal ones kept unless the genome repeats an earlier one."""
    is_best = moocore.is_nondominated(objectives_of(genomes), keep_weakly=True)
    _, first = np.unique(genomes, axis=0, return_index=True)
    return np.flatnonzero(is_best & np.isin(np.arange(len(genomes)), first))


def volume(genomes: Floats) -> float:
    points = objectives_of(genomes)
    inside = points[(points < REFERENCE).all(axis=1)]
    return float(moocore.hypervolume(inside, ref=REFERENCE)) if len(inside) else 0.0


def cut(genomes: Floats, size: int) -> list[Floats]:
    return [genomes[i : i + size] for i in range(0, len(genomes), size)]


@COMPILED
@given(genomes_strategy, st.integers(1, 9))
def test_members_are_what_nothing_else_dominates(genomes: Floats, size: int) -> None:
    archive = filled(cut(genomes, size))

    np.testing.assert_array_equal(members_of(archive), expected_members(genomes))
    np.testing.assert_array_equal(archive.genomes[0], genomes)
    assert archive.size.tolist() == [len(genomes)]


@pytest.mark.parametrize("seed", range(6))
def test_members_of_a_large_front_are_those_of_moocore(seed: int) -> None:
    """Points that sum to about one dominate each other seldom; later ones are a little better."""
    rng, n = generator(seed), 800
    objectives = rng.dirichlet(np.ones(4), n) * np.linspace(1.1, 0.9, n)[:, None]
    objectives[:, 2] = objectives[:, 2].round(1)
    objectives[rng.integers(0, n, 50)] = objectives[rng.integers(0, n, 50)]  # equal, not repeated
    genomes, archive = rng.random((n, 4)), Archive(PROBLEM, n)

    for generation, start in enumerate(range(0, n, 20)):
        wave = slice(start, start + 20)
        judged = Evaluation(np.zeros((1, 20)), objectives[None, wave])
        archive.add(genomes[None, wave], judged, np.array([0]), generation)

    is_best = moocore.is_nondominated(objectives, keep_weakly=True)
    assert is_best.sum() > 100
    np.testing.assert_array_equal(members_of(archive), np.flatnonzero(is_best))


@COMPILED
@given(genomes_strategy, st.randoms())
def test_members_do_not_depend_on_the_order_of_coming(genomes: Floats, shuffler: Any) -> None:
    order = shuffler.sample(range(len(genomes)), len(genomes))

    shuffled = genomes[order][members_of(filled([genomes[order]]))]

    kept = genomes[members_of(filled([genomes]))]
    assert sorted(map(tuple, shuffled)) == sorted(map(tuple, kept))


@COMPILED
@given(genomes_strategy, st.integers(1, 9))
def test_a_search_is_stale_while_the_hypervolume_does_not_grow(genomes: Floats, size: int) -> None:
    archive, last_grown, before = Archive(PROBLEM, len(genomes)), 0, 0.0
    for generation, wave in enumerate(cut(genomes, size)):
        now = volume(genomes[: generation * size + len(wave)])
        last_grown, before = (generation if now > before else last_grown), now
        judged = Evaluation(np.zeros((1, len(wave))), objectives_of(wave)[None])

        archive.add(wave[None], judged, np.array([0]), generation)

        assert archive.stale[0] == generation - last_grown


def test_the_initial_population_is_no_generation_however_it_comes() -> None:
    """Curves and first candidates are two waves of generation 0; neither makes a row stale."""
    dull = np.full((1, 3, 4), 4.0)
    judged = Evaluation(np.zeros((1, 3)), objectives_of(dull))
    archive = Archive(PROBLEM, 9)

    archive.add(dull, judged, np.array([0]), 0).add(dull, judged, np.array([0]), 0)

    assert archive.stale.tolist() == [0]
    assert archive.add(dull, judged, np.array([0]), 1).stale.tolist() == [1]


@COMPILED
@given(genomes_strategy, st.integers(1, 9))
def test_what_entered_has_the_hypervolume_of_everything(genomes: Floats, size: int) -> None:
    archive, waves = filled(cut(genomes, size)), cut(genomes, size)
    entered = archive.entered[0]

    history = hypervolume_history(
        archive.objectives[0, entered], archive.generation[0, entered], len(waves), REFERENCE
    )

    expected = [volume(np.concatenate(waves[: g + 1])) for g in range(len(waves))]
    np.testing.assert_array_equal(history, expected)


@COMPILED
@given(genomes_strategy, st.data())
def test_a_candidate_that_does_not_count_is_as_if_it_never_came(
    genomes: Floats, data: st.DataObject
) -> None:
    size = st.lists(st.booleans(), min_size=len(genomes), max_size=len(genomes))
    counts = np.array(data.draw(size), dtype=np.bool_)
    judged = Evaluation(np.zeros((1, len(genomes))), objectives_of(genomes)[None])
    archive = Archive(PROBLEM, len(genomes))

    archive.add(genomes[None], judged, np.array([0]), 0, counts[None])

    members = genomes[members_of(archive)]
    expected = genomes[counts][expected_members(genomes[counts])] if counts.any() else members[:0]
    np.testing.assert_array_equal(members, expected)


@COMPILED
@given(genomes_strategy)
def test_rows_of_one_archive_do_not_see_each_other(genomes: Floats) -> None:
    """Row 1 gets everything; row 0 stops after the first wave."""
    n = (len(genomes) + 1) // 2
    both = np.stack([genomes[::-1][:n], genomes[:n]])
    archive = Archive(PAIR, 2 * n)

    judged = Evaluation(np.zeros((2, n)), objectives_of(both))
    archive.add(both, judged, np.array([0, 1]), 0)
    judged = Evaluation(np.zeros((1, n)), objectives_of(both[:1]))
    archive.add(both[:1], judged, np.array([1]), 1)

    np.testing.assert_array_equal(members_of(archive, 0), expected_members(both[0]))
    everything = np.concatenate([both[1], both[0]])
    np.testing.assert_array_equal(members_of(archive, 1), expected_members(everything))
    assert archive.size.tolist() == [n, 2 * n]


@COMPILED
@given(genomes_strategy)
def test_all_can_be_kept_dominated_or_not(genomes: Floats) -> None:
    archive = filled([genomes])

    archive.keep_all(0)

    np.testing.assert_array_equal(members_of(archive), np.arange(len(genomes)))


def test_each_row_remembers_why_it_stopped() -> None:
    archive = Archive(problem_of(4), 1)
    archive.stale[:] = [3, 0, 0, 5]

    going = archive.still_going(np.arange(4), 7, np.array([9, 7, 9, 9]), 4, deadline=np.inf)

    assert going.tolist() == [0, 2]
    assert archive.stopped == ["", "budget", "", "patience"]
    assert archive.still_going(np.array([0, 2]), 7, np.full(4, 9), None, deadline=-np.inf).size == 0
    assert archive.stopped == ["seconds", "budget", "seconds", "patience"]


class Counting:
    """A smooth model that remembers every frame it was asked about."""

    def __init__(self) -> None:
        self.calls: list[pd.DataFrame] = []

    def __call__(self, rows: pd.DataFrame) -> Any:
        """Return scores between 0 and 1."""
        self.calls.append(rows.copy())
        return 1.0 / (1.0 + np.exp(1.0 - rows.mean(axis=1)))

    @property
    def n_distinct(self) -> int:
        """How many different rows were asked, over all calls."""
        return len(pd.concat(self.calls).drop_duplicates())

    @property
    def n_distinct_per_call(self) -> int:
        """How many different rows were asked, repeats in later calls counted again."""
        return sum(len(rows.drop_duplicates()) for rows in self.calls)


SEARCHES = [
    *(cp.Search(method=method, patience=None) for method in get_args(Method)),
    *(cp.Search(initialization=start, patience=None) for start in STARTS if start != "ice"),
]


def numbers(d: int) -> pd.DataFrame:
    values = generator(0).normal(size=(60, d))
    return pd.DataFrame(values, columns=[f"x{j}" for j in range(d)])


def mixed() -> pd.DataFrame:
    rng = generator(1)
    return pd.DataFrame(
        {
            "a": rng.integers(0, 4, 80),
            "b": rng.integers(0, 2, 80),
            "c": rng.normal(size=80).round(1),
        }
    )


@cache
def counted(kind: str) -> tuple[cp.Explainer, Counting]:
    """Return an explainer and its model; what is learnt of the data is learnt once."""
    model = Counting()
    if kind == "mixed":
        return cp.Explainer(model, mixed()), model
    return cp.Explainer(model, numbers(12), precision="full"), model


@pytest.mark.parametrize("method", ["random", "nsga2"])
@pytest.mark.parametrize("evaluations", [17, 18, 33, 300, 301, 481, 500])
def test_evaluations_are_the_rows_the_model_was_asked(method: Any, evaluations: int) -> None:
    """Blocks of 16 candidates and 240 points of curves need no padding: calls tell the count."""
    explainer, model = counted("numbers")
    search = cp.Search(method=method, evaluations=evaluations, population=16, patience=None)
    model.calls.clear()

    found = explainer.explain(numbers(12).iloc[0], (0.9, 1.0), search)

    first, *others = model.calls
    assert len(first.drop_duplicates()) == 1  # the row itself
    n_again = found.confirmations + -len(found.genomes) % 8  # the last of them padded
    assert found.evaluations + n_again == 1 + sum(map(len, others))
    assert 0 <= evaluations - found.evaluations < 16


@pytest.mark.parametrize(
    "search", SEARCHES, ids=lambda s: f"{s.method}-{getattr(s, 'initialization', None)}"
)
@pytest.mark.parametrize("evaluations", [3, 5, 9, 12, 13, 17, 30, 31, 45, 60, 150])
@pytest.mark.parametrize("limits", [{}, {"ranges": {"c": (5.0, 5.0), "a": (6, 9)}}])
def test_a_budget_is_never_exceeded(
    search: cp.Search, evaluations: int, limits: dict[str, Any]
) -> None:
    explainer, model = counted("mixed")
    budget = search.with_(evaluations=evaluations, population=min(8, evaluations - 1))
    model.calls.clear()

    found = explainer.explain({"a": 0, "b": 0, "c": 0.0}, (0.95, 1.0), budget, **limits)

    assert model.n_distinct <= found.evaluations <= evaluations
    assert found.evaluations <= sum(map(len, model.calls))
    assert found.trace.stopped in ("budget", "exhausted")
    if (
        search.method == "random" or getattr(search, "initialization", "ice") != "ice"
    ):  # no place needs filling
        assert model.n_distinct_per_call <= found.evaluations + found.confirmations


@pytest.mark.parametrize("method", get_args(Method))
@pytest.mark.parametrize("evaluations", [9, 17, 18, 19, 22, 30, 31, 40, 45])
def test_rows_with_different_costs_spend_the_same_budget_alone_and_together(
    method: Method, evaluations: int
) -> None:
    """The second row widens the box, so its curves have more points and may not fit."""
    rows = pd.DataFrame({"a": [0, 12], "b": [0, 0], "c": [0.0, 9.5]})
    explainer, _ = counted("mixed")
    search = cp.Search(method=method, evaluations=evaluations, population=8)

    together = explainer.explain_many(rows, (0.2, 0.3), search)

    for i, found in enumerate(together):
        alone = explainer.explain(rows.iloc[[i]], (0.2, 0.3), search)
        np.testing.assert_array_equal(found.genomes, alone.genomes)
        pd.testing.assert_frame_equal(found.history, alone.history)
        assert found.evaluations <= evaluations


@pytest.mark.parametrize(
    "search",
    [
        *(cp.Search(method=method, generations=15) for method in get_args(Method)),
        *(cp.Search(method=method, generations=0) for method in get_args(Method)),
        *(cp.Search(method=method, generations=60, patience=3) for method in get_args(Method)),
        cp.Search(generations=15, initialization="observed", mutation="gaussian"),
        cp.WhatIf(n=5),
    ],
)
@pytest.mark.parametrize("seed", [0, 1])
def test_history_grows_to_the_hypervolume_of_the_result(
    search: cp.Search | cp.WhatIf, seed: int
) -> None:
    data = mixed()
    explainer = cp.Explainer(Counting(), data)

    found = explainer.explain({"a": 0, "b": 0, "c": 0.0}, (0.55, 1.0), search, seed)

    history, reference = found.history, found.reference
    assert history.columns.to_list() == ["generation", "evaluations", "hypervolume"]
    assert history["generation"].to_list() == list(range(len(history)))
    assert (history["hypervolume"].diff().dropna() >= -1e-12).all()
    assert (history["evaluations"].diff().dropna() > 0).all()
    assert history["evaluations"].iloc[-1] == found.evaluations
    last = history["hypervolume"].iloc[-1]
    inside = found.objectives[(found.objectives < reference).all(axis=1)]
    assert last == pytest.approx(found.hypervolume(), rel=1e-9)
    assert last == pytest.approx(moocore.hypervolume(inside, ref=reference), rel=1e-9)
    assert last == pytest.approx(hypervolume(found.objectives, reference), rel=1e-9)
    assert last > 0.0


def test_patience_ends_a_search_that_no_longer_improves() -> None:
    explainer = cp.Explainer(Counting(), mixed())
    search = cp.Search(method="nsga2", generations=500, patience=4)

    found = explainer.explain({"a": 0, "b": 0, "c": 0.0}, (0.55, 1.0), search)

    volumes = found.history["hypervolume"].to_numpy()
    assert found.trace.stopped == "patience"
    assert len(volumes) < 500
    assert (volumes[-5:] == volumes[-1]).all()
    assert volumes[-6] < volumes[-5]
    grew = np.flatnonzero(np.diff(volumes) > 0)
    assert np.diff(grew).max(initial=0) <= 4  # it never waited longer before


@pytest.mark.parametrize("method", get_args(Method))
def test_no_seconds_leave_the_initial_population(method: Any) -> None:
    explainer = cp.Explainer(Counting(), mixed())
    search = cp.Search(seconds=0.0, method=method)

    found = explainer.explain({"a": 0, "b": 0, "c": 0.0}, (0.55, 1.0), search)

    assert found.trace.stopped == "seconds"
    assert len(found.history) == 1
