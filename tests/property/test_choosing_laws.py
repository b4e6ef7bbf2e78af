"""Laws of choosing: each is chosen once, valid before invalid, and answers can be undone."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import counterpoint as cp
from counterpoint.result.choosing import interview as preference
from counterpoint.result.choosing import orders
from counterpoint.result.choosing.orders import select_positions
from counterpoint.rules.rules import Rules

CRITERIA: Any = ("hypervolume", "knee", "closest", "fewest", "plausible", "safest")
DATA = pd.DataFrame(
    {
        "age": [20, 25, 30, 35, 40, 45, 50, 55],
        "debt": [9.5, 5.0, 3.5, 1.0, 2.5, 8.0, 0.5, 4.0],
        "job": ["a", "b", "c", "a", "b", "c", "a", "b"],
        "sex": ["f", "m", "f", "m", "f", "m", "f", "m"],
    }
)


def score(rows: pd.DataFrame) -> Any:
    """Return a smooth probability in which every feature counts."""
    z = rows["age"] / 10 - rows["debt"] / 2 + (rows["job"] == "b") + 0.5 * (rows["sex"] == "m")
    return 1 / (1 + np.exp(2.5 - z))


@cache
def explained(row: int, low: float) -> cp.Counterfactuals:
    explainer = cp.Explainer(score, DATA, protected=["sex"], units={"debt": "k€"})
    return explainer.explain(DATA[row : row + 1], (low, 1.0), cp.Search(evaluations=400))


@st.composite
def results(draw: st.DrawFn) -> cp.Counterfactuals:
    """Return some counterfactuals of a result, in any order; some of them reach the target."""
    found = explained(draw(st.sampled_from([0, 5])), draw(st.sampled_from([0.7, 0.9])))
    places = draw(
        st.lists(st.integers(0, len(found.genomes) - 1), min_size=1, max_size=12, unique=True)
    )
    return found.take(places)


@given(found=results(), n=st.integers(1, 14), by=st.sampled_from(CRITERIA))
@settings(deadline=None)
def test_positions_are_distinct_and_valid_ones_come_first(
    found: cp.Counterfactuals, n: int, by: Any
) -> None:
    chosen = select_positions(found, n, by, None)

    assert len(chosen) == min(n, len(found.genomes)) == len(set(chosen.tolist()))
    if (
        by != "hypervolume" or len(found.genomes) > n
    ):  # the paper's choice of all is all, as they are
        reaches = found.reaches[chosen].astype(int)
        assert (np.diff(reaches) <= 0).all()
        assert reaches.sum() == min(n, found.reaches.sum())


@given(found=results(), n=st.integers(1, 14), by=st.sampled_from(["ways", "diverse"]))
@settings(deadline=None)
def test_ways_come_first_and_near_misses_last(found: cp.Counterfactuals, n: int, by: Any) -> None:
    chosen, n_ways = found.select(n, by=by), len(found.ways())

    genomes = {genome.tobytes() for genome in chosen.genomes}
    assert len(chosen.genomes) == len(genomes) == min(n, len(found.genomes))
    reaches = chosen.reaches.astype(int)
    assert (np.diff(reaches) <= 0).all()
    assert reaches.sum() == min(n, found.reaches.sum())
    assert len({tuple(row) for row in chosen.changed[: min(n, n_ways)]}) == min(n, n_ways)


@given(found=results(), by=st.sampled_from(CRITERIA[1:]), data=st.data())
@settings(deadline=None)
def test_a_shorter_choice_is_the_beginning_of_a_longer_one(
    found: cp.Counterfactuals, by: Any, data: st.DataObject
) -> None:
    longer = select_positions(found, len(found.genomes), by, None)
    n = data.draw(st.integers(1, len(found.genomes)))

    assert select_positions(found, n, by, None).tolist() == longer[:n].tolist()


@given(
    found=results(),
    weights=st.dictionaries(
        st.sampled_from(["gap", "distance", "changes", "implausibility"]),
        st.floats(0.1, 10.0),
        min_size=1,
    ),
)
def test_no_valid_one_has_a_smaller_weighted_sum_than_the_first(
    found: cp.Counterfactuals, weights: dict[str, float]
) -> None:
    first = int(select_positions(found, 1, "ways", weights)[0])

    share = orders.normalised(found.objectives, orders.best_of(found))
    sums = share @ np.array([weights.get(name, 0.0) for name in found.objective_names])
    pool = (
        found.reaches
        if found.reaches.any()
        else found.objectives[:, 0] == min(found.objectives[:, 0])
    )
    assert sums[first] <= sums[pool].min() + 1e-12


@given(found=results())
@settings(deadline=None)
def test_representatives_are_the_best_of_their_kind(found: cp.Counterfactuals) -> None:
    names = found.representatives()
    least_gap = found.objectives[:, 0].min()
    pool = found.objectives[:, 0] == least_gap

    assert list(names) == ["closest", "fewest changes", "most typical", "safest", "balanced"]
    assert all(pool[position] for position in names.values())
    for name, m in (("closest", 1), ("fewest changes", 2), ("most typical", 3)):
        assert found.objectives[names[name], m] == found.objectives[pool, m].min()


CONDITIONS = ["age >= 30", "debt decreases", "job = b implies age > 25", "at most 2 changes"]


@given(
    found=results(),
    texts=st.lists(st.sampled_from(CONDITIONS), max_size=3),
    keep=st.lists(st.sampled_from(list(DATA.columns)), max_size=2),
)
def test_a_filter_keeps_exactly_what_the_evaluator_says(
    found: cp.Counterfactuals, texts: list[str], keep: list[str]
) -> None:
    schema = found.encoding.schema

    kept = found.filter(texts, keep=keep)

    rules = Rules.parse([*texts, *(f"fixed {name}" for name in keep)], schema)
    fits = rules.holds(found.genomes, found.genome)
    np.testing.assert_array_equal(kept.genomes, found.genomes[fits])


@given(found=results(), answers=st.lists(st.sampled_from(["A", "B", "equal"]), max_size=6))
@settings(deadline=None, max_examples=50)
def test_undoing_restores_exactly_what_was(found: cp.Counterfactuals, answers: list[Any]) -> None:
    interview = found.prefer(reader="analyst")
    states = []
    for answer in answers:
        if interview.question is None:
            break
        states.append((interview.question, interview.position, interview.weights))
        interview.answer(answer)

    for state in reversed(states):
        interview.undo()
        assert (interview.question, interview.position, interview.weights) == state
    assert interview.answers == []


@given(found=results(), answers=st.lists(st.sampled_from(["A", "B", "equal"]), max_size=4))
@settings(deadline=None, max_examples=30)
def test_no_pair_is_asked_twice_and_equal_answers_give_equal_interviews(
    found: cp.Counterfactuals, answers: list[Any]
) -> None:
    one, two = found.prefer(seed=3), found.prefer(seed=3)
    for answer in answers:
        if one.question is None:
            break
        one.answer(answer)
        two.answer(answer)

    assert one.answers == two.answers
    pairs = [frozenset(pair.positions) for pair, _ in one.answers]
    assert len(set(pairs)) == len(pairs)
    assert one.position == two.position
    assert one.found.reaches[one.position] or not found.reaches.any()


unit = st.floats(0.0, 1.0)


@given(
    attributes=st.lists(st.tuples(unit, unit, unit), min_size=2, max_size=8),
    who=st.integers(0, 63),
    n_questions=st.integers(1, 6),
)
@settings(deadline=None)
def test_truthful_answers_never_raise_the_odds_against_the_truth(
    attributes: list[tuple[float, ...]], who: int, n_questions: int
) -> None:
    """Somebody of the prior who answers as they feel gains on all who would answer otherwise.

    And what they lose by taking the recommendation stays within the bound that belief gives: the
    expected loss divided by the belief in them.
    """
    worth = preference.utilities(preference.draw_particles(3, 0, 64, seed=0), np.array(attributes))
    belief = np.full(64, 1.0 / 64)
    asked: set[tuple[int, int]] = set()
    for _ in range(n_questions):
        question = preference.ask(belief, worth, asked)
        if question is None:
            break
        asked.add((min(question.a, question.b), max(question.a, question.b)))
        ahead = worth[:, question.a] - worth[:, question.b]
        answer = 2 if ahead[who] == 0.0 else int(ahead[who] < 0.0)

        after = preference.update(belief, worth[:, question.a], worth[:, question.b], answer)

        others = ahead * ahead[who] < 0.0 if answer < 2 else ahead != 0.0
        odds_before, odds_after = belief[others] / belief[who], after[others] / after[who]
        assert (odds_after <= odds_before * (1 + 1e-9)).all()
        losses = 1.0 - worth[:, preference.recommend(after, worth)]
        assert losses[who] <= after @ losses / after[who] + 1e-9
        belief = after
    assert belief.sum() == pytest.approx(1.0)


def test_the_beliefs_that_all_begin_with_are_made_once_and_nobody_can_change_them() -> None:
    particles = preference.draw_particles(3, 2, 8, seed=0)

    assert preference.draw_particles(3, 2, 8, seed=0) is particles
    assert preference.draw_particles(3, 2, 8, seed=1) is not particles
    with pytest.raises(ValueError, match="read-only"):
        particles[0] = 1.0


@given(
    attributes=st.lists(st.tuples(unit, unit), min_size=2, max_size=6),
    n=st.integers(1, 40),
)
def test_utilities_lie_between_nought_and_one(
    attributes: list[tuple[float, float]], n: int
) -> None:
    particles = preference.draw_particles(2, 0, n, seed=1)

    worth = preference.utilities(particles, np.array(attributes))

    assert worth.shape == (n, len(attributes))
    assert ((worth >= 0.0) & (worth <= 1.0)).all()
    assert (worth.max(axis=1) == 1.0).all()
    np.testing.assert_allclose(particles.sum(axis=1), 1.0)


@given(
    attributes=st.lists(st.tuples(unit, unit, unit), min_size=3, max_size=8, unique=True),
)
@settings(deadline=None)
def test_a_question_is_expected_to_help(attributes: list[tuple[float, ...]]) -> None:
    """The value of information is never negative: asking cannot make the best choice worse."""
    particles = preference.draw_particles(3, 0, 64, seed=0)
    worth = preference.utilities(particles, np.array(attributes))
    belief = np.full(64, 1.0 / 64)

    question = preference.ask(belief, worth, set())

    assert question is not None
    assert question.worth >= (belief @ worth).max() - 1e-9
