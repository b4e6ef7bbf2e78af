"""The ways of a result: laws on random small tables, with brute force as oracle."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import counterpoint as cp
from counterpoint.streams import Stage, row_keys, uniforms

NAMES = ("a", "b", "c", "d")
Values = dict[str, list[int]]


class Model:
    """A table of answers to all rows of a small discrete space, as a classifier."""

    classes_ = np.array([0, 1])

    def __init__(self, answers: dict[tuple[int, ...], float]) -> None:
        self.answers = answers

    def predict_proba(self, rows: pd.DataFrame) -> Any:
        """Return the probabilities of both classes."""
        good = np.array([self.answers[tuple(map(int, row))] for row in rows.to_numpy()])
        return np.column_stack([1.0 - good, good])

    def predict(self, rows: pd.DataFrame) -> Any:
        """Return the class that leads."""
        return (self.predict_proba(rows)[:, 1] > 0.5).astype(int)


SPACE = list(itertools.product(range(3), range(2), range(3), range(2)))
DATA = pd.DataFrame(SPACE, columns=list(NAMES))


def explained(seed: int, **limits: Any) -> tuple[Model, cp.Counterfactuals]:
    """Return a model of random answers, and the result for its first refused row."""
    lots = uniforms(row_keys(seed, np.zeros((1, 1))), Stage.TRIAL, 0, 1, len(SPACE))[0, 0]
    answers: dict[tuple[int, ...], float] = dict(zip(SPACE, (lots**2).tolist(), strict=True))
    answers[SPACE[0]], answers[SPACE[-1]] = 0.1, 0.9
    model = Model(answers)
    search = cp.Search(evaluations=400, patience=None)
    return model, cp.Explainer(model, DATA).explain(DATA[:1], 1, search, **limits)


def true_ways(model: Model, **limits: Any) -> set[tuple[str, ...]]:
    """Return the minimal ways by asking about all rows."""
    row, found = SPACE[0], set()
    for other in SPACE:
        changed = {n for n, x, y in zip(NAMES, other, row, strict=True) if x != y}
        if model.answers[other] > 0.5 and not changed & set(limits.get("fixed", ())):
            found.add(frozenset(changed))
    return {tuple(sorted(s)) for s in found if not any(part < s for part in found)}


@settings(max_examples=25)
@given(st.integers(0, 10_000))
def test_all_minimal_ways_of_a_small_table_are_found_and_pairs_proved(seed: int) -> None:
    model, found = explained(seed)

    ways = found.ways()

    assert {way.features for way in ways} == true_ways(model)
    assert {way.minimality for way in ways if len(way.features) <= 2} <= {"proved"}


@settings(max_examples=15)
@given(st.integers(0, 10_000))
def test_ways_obey_limits(seed: int) -> None:
    model, found = explained(seed, fixed=["b"])

    assert {way.features for way in found.ways()} == true_ways(model, fixed=["b"])


@settings(max_examples=15)
@given(st.integers(0, 10_000))
def test_the_counterfactuals_of_a_way_change_exactly_its_features(seed: int) -> None:
    model, found = explained(seed)

    for way in found.ways(supersets=True):
        names = np.array(found.encoding.schema.names)
        for own in (way.counterfactuals, way.representative):
            assert all(tuple(names[changed]) == way.features for changed in own.changed)
            assert own.reaches.all()
            assert (model.predict(own.to_rows()) == 1).all()
        distances = way.counterfactuals.objectives[:, 1]
        assert (np.diff(distances) >= 0).all()
        assert way.closest["distance"].item() == distances[0]
        assert way.counterfactuals.coverage_of(way.counterfactuals) == 0.0


@settings(max_examples=15)
@given(st.integers(0, 10_000))
def test_ranges_are_values_that_were_seen_to_work(seed: int) -> None:
    model, found = explained(seed)

    for way in found.ways():
        for name, genes in zip(way.features, way.genes, strict=True):
            assert way.ranges[name][0] in genes
        points = itertools.product(*(genes.tolist() for genes in way.genes))
        rows = [dict(zip(way.features, map(int, point), strict=True)) for point in points]
        frame = pd.DataFrame([DATA.iloc[0].to_dict() | row for row in rows])[list(NAMES)]
        if way.is_whole:
            assert (model.predict(frame) == 1).all()
        else:
            assert len(frame) > way.n_valid or any(np.diff(g).max(initial=0) > 1 for g in way.genes)


@settings(max_examples=15)
@given(st.integers(0, 10_000))
def test_larger_sets_are_given_only_if_asked_for(seed: int) -> None:
    _, found = explained(seed)
    minimal = [set(way.features) for way in found.ways()]

    for way in found.ways(supersets=True, at_most=3):
        has_part = any(part < set(way.features) for part in minimal)
        assert (way.minimality == "has a smaller way") == has_part
        assert len(way.features) <= 3
    assert not any(part < other for part in minimal for other in minimal)


def test_ways_are_a_sequence_with_a_frame() -> None:
    _, found = explained(3)
    ways = found.ways()

    frame = ways.to_frame()

    assert len(frame) == len(ways) > 1
    assert list(frame["way"]) == [" + ".join(map(str, way.features)) for way in ways]
    assert list(frame["counterfactuals"]) == [len(way.counterfactuals) for way in ways]
    assert frame["distance"].is_monotonic_increasing
    assert [way.features for way in ways[:2]] == [ways[0].features, ways[1].features]
    assert ways[-1].features == list(ways)[-1].features
    with pytest.raises(IndexError, match=f"there are {len(ways)} ways"):
        ways[len(ways)]
    with pytest.raises(
        cp.InvalidInput, match=r"takes a whole number or a slice, got 'a'; to_frame"
    ):
        ways["a"]  # type: ignore[call-overload]
    for others in ({"by": "knee"}, {"weights": {"distance": 1}}):
        with pytest.raises(cp.InvalidInput, match=r"select: margin=0.1 is for by='ways'"):
            found.select(2, margin=0.1, **others)


def test_a_choice_by_ways_has_each_way_once_and_near_misses_last() -> None:
    _, found = explained(3)
    n = len(found.ways())

    few, many = found.select(2), found.select(1000)

    assert few.objectives[:, 1].tolist() == [
        way.representative.objectives[0, 1] for way in found.ways().safe_first()[:2]
    ]
    changed = [tuple(row) for row in many.changed[:n]]
    assert len(set(changed)) == n
    assert (np.diff(many.reaches.astype(int)) <= 0).all()
    diverse = found.select(n, by="diverse").changed
    assert len({tuple(row) for row in diverse}) == n


def test_a_larger_set_that_is_safer_comes_first_only_if_it_is_short() -> None:
    """With a score that grows by every column, larger sets are safer without an end."""
    names = [f"sensor {i}" for i in range(20)]
    at = np.arange(120)
    data = pd.DataFrame({name: at * (7 + i) % 101 / 101 for i, name in enumerate(names)})
    explainer = cp.Explainer(lambda rows: rows.sum(axis=1) / 20, data)
    found = explainer.explain(data[:1] * 0, (0.04, None), seed=0)

    ways = found.ways(margin=0.9).safe_first()

    assert ways[0].minimality == "has a smaller way"
    assert 2 <= len(ways[0].features) <= 4
    assert found.changed.sum(axis=1).max() > 4
    assert found.select(1, margin=0.9).changed.sum() <= 4


def test_what_is_shown_stands_a_margin_inside_the_target_if_it_can() -> None:
    data = pd.DataFrame({"x": np.arange(0.0, 100.0), "y": np.arange(100) % 7})
    explainer = cp.Explainer(lambda rows: rows["x"] / 100 + rows["y"] / 1000, data)
    found = explainer.explain(data[:1], (0.5, None))

    way, edge = found.ways()[0], found.ways(margin=0)[0]

    assert 0.01 < found.margin < 0.2
    assert way.representative.predictions[0] >= 0.5 + found.margin
    assert edge.representative.predictions[0] < 0.5 + found.margin
    assert edge.representative.objectives[0, 1] == edge.closest["distance"].item()
    shown = found.select(1, margin=0)
    assert shown.predictions[0] == edge.representative.predictions[0]
    with pytest.raises(cp.InvalidInput, match="ways: margin"):
        found.ways(margin=-1)
    with pytest.raises(cp.InvalidInput, match="ways: at_most"):
        found.ways(at_most=0)


def test_ways_are_beside_the_set_and_not_in_it() -> None:
    _, found = explained(3)

    assert len(found) == len(found.to_frame()) == found.reaches.sum()
    valid = found.valid()
    assert [way.features for way in valid.ways()] == [way.features for way in found.ways()]
    known = {genome.tobytes() for genome in found.genomes}
    assert any(
        way.counterfactuals.genomes[0].tobytes() not in known for way in found.ways(supersets=True)
    )


def test_a_part_of_a_result_has_the_ways_of_its_own_counterfactuals() -> None:
    _, found = explained(3)
    one = found[0]

    assert [way.features for way in one.ways()] == [
        tuple(np.array(found.encoding.schema.names)[one.changed[0]])
    ]
