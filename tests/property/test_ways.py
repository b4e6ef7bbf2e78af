"""Laws of ways, over tables, limits and models of many kinds; the model's own answers judge them.

Every model notes what it is asked, so that ways can be held against all that was asked.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import generator

import counterpoint as cp
from counterpoint.arrays import Bools, Floats
from counterpoint.problem.objectives import GAP
from counterpoint.problem.target import safety_margins

HOMES = ["home_own", "home_rent", "home_free"]
JOBS, SCORED = list("abcd"), ["age", "debt", "rate", "income", "home_own", "home_free"]
SEARCH = cp.Search(evaluations=500, patience=None)
ROW = {"age": 25, "debt": 7, "rate": 2.5, "income": 30.0, "job": "a"}
ROW |= {"home_own": 0, "home_rent": 1, "home_free": 0}


def table(n: int = 90) -> pd.DataFrame:
    """Return a table of whole numbers, decimals, levels, missing values and a one-hot group."""
    rng = generator(5)
    homes = rng.integers(0, 3, n)
    income = rng.integers(2, 9, n) * 10.0
    income[::7] = np.nan
    return pd.DataFrame(
        {
            "age": rng.integers(20, 50, n),
            "debt": rng.integers(0, 9, n),
            "rate": rng.integers(0, 31, n) / 10,
            "income": income,
            "job": rng.choice(list("abcd"), n),
            **{name: (homes == k).astype(int) for k, name in enumerate(HOMES)},
        }
    )


DATA = table()
COMPLETE = DATA.fillna({"income": 50.0})


class Answers:
    """A model of three outputs that notes what it is asked; those of odd seeds have jumps.

    The first output of the row is below a half.
    """

    def __init__(self, seed: int, row: pd.DataFrame) -> None:
        rng = generator(seed)
        self.weights = rng.normal(0.0, 1.0, (3, 6))
        self.jobs = rng.normal(0.0, 0.8, (3, 4))
        self.jumps = seed % 2
        self.sign = 1.0
        self.sign = -np.sign(self.scores(row)[0, 0] - 0.5)
        self.asked: list[pd.DataFrame] = []

    def scores(self, rows: pd.DataFrame) -> Any:
        """Return the outputs (n, k) of rows, as probabilities that need not sum to 1."""
        # Searches ask thousands of times: of arrays, which takes a tenth of what columns take.
        age, debt, rate, income, own, free = (rows[name].to_numpy() for name in SCORED)
        numbers = np.column_stack(
            [
                (age - 35) / 10,
                (4 - debt) / 3,
                (1.5 - rate),
                (np.where(np.isnan(income), 45.0, income) - 50) / 20,
                own - free,
                self.jumps * np.sign((age % 7) - 3.0) * (debt % 3 - 1),
            ]
        )
        codes = [JOBS.index(job) for job in rows["job"]]
        raw = self.sign * (numbers @ self.weights.T + self.jobs[:, codes].T)
        return 1.0 / (1.0 + np.exp(-raw))

    def one(self, rows: pd.DataFrame) -> Any:
        """Return the first output."""
        self.asked.append(rows)
        return self.scores(rows)[:, 0]

    def shares(self, rows: pd.DataFrame) -> Any:
        """Return probabilities of the classes."""
        self.asked.append(rows)
        raw = self.scores(rows)
        return raw / raw.sum(axis=1, keepdims=True)

    def labels(self, rows: pd.DataFrame) -> Any:
        """Return labels only."""
        self.asked.append(rows)
        return np.array(["no", "yes"])[(self.scores(rows)[:, 0] > 0.5).astype(int)]


class Asked(NamedTuple):
    """What was found of a row, all that the model was asked for it, and what is wanted."""

    found: cp.Counterfactuals
    rows: pd.DataFrame
    is_wanted: Callable[[pd.DataFrame], Bools]
    obeys: Callable[[pd.DataFrame], Bools]
    again: Callable[..., Any]

    @property
    def genomes(self) -> Floats:
        """The candidates that were asked, each once; observed rows are asked for other reasons."""
        genomes = np.unique(self.found.encoding.encode(self.rows), axis=0)
        known = np.vstack([self.found.problem.observed.genomes, self.found.genome])
        is_known = (genomes[:, None] == known[None]).all(axis=2).any(axis=1)
        return np.asarray(genomes[~is_known])


def everything(rows: pd.DataFrame) -> Bools:
    """Say of every row that it obeys."""
    return np.ones(len(rows), dtype=np.bool_)


def price(rows: pd.DataFrame, row: pd.DataFrame) -> Any:
    """Return an objective that prefers many changes of age."""
    return 50.0 - (rows["age"] - row["age"].iloc[0]).abs()


def has_even_debt(rows: pd.DataFrame) -> Any:
    """Return which rows have an even debt, or that of the row."""
    return (rows["debt"] % 2 == 0) | (rows["debt"] == ROW["debt"])


RULES = ["age increases", "rate <= debt / 2", "job = b implies age >= 30"]


def obeys_rules(rows: pd.DataFrame) -> Bools:
    """Return what the rules say, written once more in pandas."""
    is_even = has_even_debt(rows).to_numpy()
    is_old = (rows["job"] != "b") | (rows["age"] >= 30)
    in_order = (rows["age"] >= ROW["age"]) & (rows["rate"] <= rows["debt"] / 2 + 1e-9)
    return np.asarray(is_even & is_old.to_numpy() & in_order.to_numpy())


def is_near(rows: pd.DataFrame) -> Bools:
    """Return which rows keep the ranges that exclude the row's own age and job."""
    return np.asarray(rows["age"].between(30, 41) & rows["job"].isin(["b", "c"]))


class Situation(NamedTuple):
    """How a row is asked about: the kind of model, the row, the target, and what must hold."""

    kind: str = "one"
    row: dict[str, Any] = {}  # noqa: RUF012 - never written to
    target: Any = (0.5, 1.0)
    data: pd.DataFrame = COMPLETE
    limits: dict[str, Any] = {}  # noqa: RUF012 - never written to
    settings: dict[str, Any] = {}  # noqa: RUF012 - never written to
    obeys: Callable[[pd.DataFrame], Bools] = everything


SITUATIONS = {
    "plain": Situation(),
    "rules": Situation(limits={"constraints": [*RULES, has_even_debt]}, obeys=obeys_rules),
    "forced": Situation(limits={"ranges": {"age": (30, 41), "job": ["b", "c"]}}, obeys=is_near),
    "off the grid": Situation(row={"rate": 2.513, "age": 63, "debt": 11}),
    "missing": Situation(row={"income": np.nan}, data=DATA, settings={"allow_missing": ["income"]}),
    "own objective": Situation(settings={"objectives": [cp.Objective("price", price)]}),
    "few changes": Situation(
        limits={"max_changed": 2, "fixed": ["job"], "costs": {"age": 3.0}},
        obeys=lambda rows: np.asarray(rows["job"] == "a"),
    ),
    "classes": Situation(kind="shares", target="opposite"),
    "set of classes": Situation(kind="shares", target="the next"),
    "labels": Situation(kind="labels", target="opposite"),
}


@cache
def asked(name: str, seed: int) -> Asked:
    """Return what is found in a situation, with a model that is drawn from a seed."""
    given_ = SITUATIONS[name]
    row = pd.DataFrame([ROW | given_.row]).astype({"income": float})
    answers = Answers(seed, row)
    classes = {"one": None, "shares": ["k0", "k1", "k2"], "labels": ["no", "yes"]}[given_.kind]
    explainer = cp.Explainer(
        lambda rows: getattr(answers, given_.kind)(rows),
        given_.data,
        classes=classes,
        groups={"home": HOMES},
        **given_.settings,
    )
    model = Answers(seed, row)
    now = getattr(model, given_.kind)(row)[0]
    best = int(np.argmax(now)) if given_.kind == "shares" else 0
    target = {f"k{(best + 1) % 3}"} if given_.target == "the next" else given_.target
    answers.asked.clear()
    found = explainer.explain(row, target, SEARCH, **given_.limits)
    rows = pd.concat(answers.asked, ignore_index=True)

    def is_wanted(rows: pd.DataFrame) -> Bools:
        said = getattr(model, given_.kind)(rows)
        if given_.kind == "one":
            return np.asarray((said >= 0.5) & (said <= 1.0))
        if given_.kind == "labels":
            return np.asarray(said != now)
        ahead = np.argmax(said, axis=1)
        is_opposite = given_.target == "opposite"
        return np.asarray(ahead != best if is_opposite else ahead == (best + 1) % 3)

    def again(kind: str) -> Any:
        if kind == "continued":
            short = SEARCH.with_(evaluations=170)
            first = explainer.explain(row, target, short, **given_.limits)
            return first.continue_search(500 - first.evaluations)
        others = COMPLETE.iloc[:4].assign(job="c") if given_.limits else given_.data.iloc[:4]
        many = pd.concat([others[:2], row, others[2:]], ignore_index=True)
        return explainer.explain_many(many, target, SEARCH, workers=2, **given_.limits)[2]

    return Asked(found, rows, is_wanted, given_.obeys, again)


cases = st.builds(asked, st.sampled_from(sorted(SITUATIONS)), st.integers(0, 2))
law = settings(deadline=None, max_examples=30)


def sets_of(found: cp.Counterfactuals, genomes: Floats) -> list[frozenset[Any]]:
    """Return which features each genome changes."""
    names = np.array(found.encoding.schema.names)
    return [frozenset(names[genome != found.genome].tolist()) for genome in genomes]


@law
@given(cases)
def test_what_is_in_a_way_changes_just_its_features_is_wanted_and_obeys(case: Asked) -> None:
    ways = case.found.ways(supersets=True)
    results = [own for way in ways for own in (way.counterfactuals, way.representative)]
    for way in ways:
        for own in (way.counterfactuals, way.representative):
            assert set(sets_of(own, own.genomes)) == {frozenset(way.features)}
            assert own.reaches.all()
    genomes = np.vstack([case.found.genomes[:0], *(own.genomes for own in results)])
    rows = case.found.encoding.to_rows(genomes)  # as each of them gives its own
    assert case.is_wanted(rows).all()
    assert case.obeys(rows).all()


@law
@given(cases)
def test_every_wanted_row_that_was_asked_contains_a_way(case: Asked) -> None:
    ways = [frozenset(way.features) for way in case.found.ways()]
    rows = case.found.encoding.decode(case.genomes)
    wanted = case.genomes[case.is_wanted(rows)]

    for features in sets_of(case.found, wanted):
        assert any(way <= features for way in ways)
    assert not any(way < other for way in ways for other in ways)


@law
@given(cases)
def test_values_that_are_told_were_seen_in_a_wanted_row_that_changes_no_more(case: Asked) -> None:
    """Or in an observed row, about which the model was asked before."""
    found = case.found
    seen = np.vstack([case.genomes, found.problem.observed.genomes])
    wanted = seen[case.is_wanted(found.encoding.decode(seen))]
    sets = sets_of(found, wanted)
    for way in found.ways():
        own = wanted[[features == set(way.features) for features in sets]]
        for name, genes in zip(way.features, way.genes, strict=True):
            j = found.encoding.schema.names.index(name)
            assert set(genes.tolist()) <= set(own[:, j].tolist())
            assert (np.diff(genes) > 0).all()


@law
@given(cases)
def test_all_values_between_hold_where_that_is_said(case: Asked) -> None:
    found = case.found
    for way in found.ways():
        places = [found.encoding.schema.names.index(name) for name in way.features]
        steps = [
            genes if found.space.is_level[j] else grid_between(genes, float(found.space.grid[j]))
            for j, genes in zip(places, way.genes, strict=True)
        ]
        if way.is_whole:
            points = np.stack(np.meshgrid(*steps), axis=-1).reshape(-1, len(places))
            genomes = np.repeat(found.genome[None], len(points), axis=0)
            genomes[:, places] = points
            is_other = (genomes != found.genome).any(axis=1)
            assert case.is_wanted(found.encoding.decode(genomes[is_other])).all()


def grid_between(genes: Floats, grid: float) -> Floats:
    """Return all points of a grid from the first to the last value."""
    if len(genes) == 1:
        return genes
    n = round((genes[-1] - genes[0]) * grid) + 1
    return np.asarray(np.round(genes[0] * grid + np.arange(n)) / grid)


@law
@given(cases)
def test_proved_means_that_no_value_of_any_part_would_do(case: Asked) -> None:
    found, space = case.found, case.found.space
    box = found.problem.box
    for way in found.ways(at_most=2):
        if len(way.features) == 2 and way.minimality == "proved":
            for name in way.features:
                j = found.encoding.schema.names.index(name)
                values = np.arange(space.n_levels[j])
                if not space.is_level[j]:
                    values = grid_between(
                        np.array([box.lower[0, j], box.upper[0, j]]), space.grid[j]
                    )
                genomes = np.repeat(found.genome[None], len(values), axis=0)
                genomes[:, j] = values
                rows = found.encoding.decode(genomes)
                is_wanted = case.is_wanted(rows) & case.obeys(rows)
                assert not is_wanted[genomes[:, j] != found.genome[j]].any()


@law
@given(cases)
def test_what_is_shown_is_the_nearest_of_all_asked_that_is_safe(case: Asked) -> None:
    found = case.found
    rows = found.way_rows
    assert rows is not None
    genomes = case.genomes[case.is_wanted(found.encoding.decode(case.genomes))]
    told = found.problem.evaluate(genomes[None])
    inside = safety_margins(found.target, told.predictions[0])
    sets = sets_of(found, genomes)
    for way in found.ways():
        is_own = np.array([features == set(way.features) for features in sets], dtype=bool)
        shown = safety_margins(found.target, way.representative.scores)[0]
        is_safe = is_own & (inside >= found.margin) & (told.objectives[0, :, GAP] <= 0)
        if not is_safe.any():
            continue
        assert shown >= found.margin
        assert way.representative.objectives[0, 1] <= told.objectives[0, is_safe, 1].min()
    if ((inside >= found.margin) & (told.objectives[0, :, GAP] <= 0)).any():
        first = found.select(1)
        assert safety_margins(found.target, first.scores)[0] >= found.margin


@law
@given(cases)
def test_nothing_that_was_asked_dominates_the_pareto_set(case: Asked) -> None:
    """Whoever proposed it: niches read the archive and are not in it."""
    found = case.found
    told = found.problem.evaluate(case.genomes[None]).objectives[0]
    own = found.objectives
    no_worse = (told[:, None] <= own[None]).all(axis=2)
    better = (told[:, None] < own[None]).any(axis=2)
    assert not (no_worse & better).any()
    is_met = (own[None] <= told[:, None]).all(axis=2).any(axis=1)
    assert is_met.all()


@pytest.mark.parametrize("name", SITUATIONS)
@pytest.mark.parametrize("kind", ["continued", "company"])
def test_ways_are_the_same_in_parts_and_in_company(name: str, kind: str) -> None:
    case = asked(name, 1)

    again = case.again(kind)

    assert again.way_rows is not None
    assert again.ways().to_frame().equals(case.found.ways().to_frame())
    assert again.select(5).to_frame().equals(case.found.select(5).to_frame())
    for one, other in zip(
        vars(again.way_rows).values(), vars(case.found.way_rows).values(), strict=True
    ):
        np.testing.assert_array_equal(one, other)


def test_a_value_off_the_grid_does_not_stand_for_one_of_the_grid() -> None:
    """Of 0.1, 0.2 and 0.3 the second misses the target; the row has 0.15."""
    data = pd.DataFrame({"x": [0.0, 0.1, 0.2, 0.3] * 2, "y": [0, 1] * 4})
    model = lambda rows: np.isin(rows["x"].round(2), [0.1, 0.3]).astype(float)  # noqa: E731
    (way,) = cp.Explainer(model, data).explain({"x": 0.15, "y": 0}, (0.5, 1.0), SEARCH).ways()

    assert way.features == ("x",)
    assert way.genes[0].tolist() == [0.1, 0.3]
    assert not way.is_whole


LOANS = pd.DataFrame(
    itertools.product([12, 24, 36], ["none", "some", "rich"], [1, 2, 3], ["rent", "own"]),
    columns=["months", "savings", "size", "home"],
)
PLANTS = pd.DataFrame(
    itertools.product([0, 1, 2, 3], [0, 1, 2], ["sun", "shade"]), columns=["water", "food", "light"]
)


def loan(rows: pd.DataFrame) -> Any:
    """Return a score of which a half is needed."""
    by_months = rows["months"].map({12: 3, 24: 1}).fillna(0)
    by_savings = rows["savings"].map({"none": 0, "some": 1, "rich": 2})
    own_and_small = (rows["home"] == "own") & (rows["size"] == 1)
    return (by_months + by_savings + 3 - rows["size"] + 2 * own_and_small) / 8


def plant(rows: pd.DataFrame) -> Any:
    """Return which plants live: odd water in the sun, two of water with food, and no water fed."""
    is_sunny, water, food = rows["light"] == "sun", rows["water"], rows["food"]
    lives = (water == 2) & (food > 0) | is_sunny & water.isin([1, 3])
    return (lives | is_sunny & (food == 2) & (water == 0)).astype(float)


Golden = dict[tuple[str, ...], tuple[dict[str, tuple[Any, ...]], int, bool]]


@pytest.mark.parametrize(
    ("model", "data", "rules", "expected"),
    [
        (
            loan,
            LOANS,
            [],
            {
                ("months", "size"): ({"months": (12, 12), "size": (1, 2)}, 2, True),
                ("size", "home"): ({"size": (1, 1), "home": ("own",)}, 1, True),
                ("savings", "size"): ({"savings": ("rich",), "size": (1, 1)}, 1, True),
                ("months", "savings"): (
                    {"months": (12, 12), "savings": ("rich", "some")},
                    2,
                    True,
                ),
            },
        ),
        (
            plant,
            PLANTS,
            [],
            {
                ("water", "food"): ({"water": (2, 2), "food": (1, 2)}, 2, True),
                ("water", "light"): ({"water": (1, 3), "light": ("sun",)}, 2, False),
                ("food", "light"): ({"food": (2, 2), "light": ("sun",)}, 1, True),
            },
        ),
        (
            plant,
            PLANTS,
            ["water + food <= 2"],
            {
                ("water", "light"): ({"water": (1, 1), "light": ("sun",)}, 1, True),
                ("food", "light"): ({"food": (2, 2), "light": ("sun",)}, 1, True),
            },
        ),
    ],
)
def test_the_ways_of_small_tables_are_those_of_asking_about_all_rows(
    model: Any, data: pd.DataFrame, rules: list[str], expected: Golden
) -> None:
    """What is expected was counted by brute force and is kept as it was."""
    row: dict[Any, Any] = {"months": 36, "savings": "none", "size": 3, "home": "rent"}
    row |= {"water": 0, "food": 0, "light": "shade"}
    own = {name: row[name] for name in data}

    found = cp.Explainer(model, data).explain(own, (0.5, None), SEARCH, constraints=rules)

    told = {way.features: (way.ranges, way.n_valid, way.is_whole) for way in found.ways()}
    assert told == expected
    assert {way.minimality for way in found.ways()} == {"proved"}
