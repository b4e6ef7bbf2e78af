"""The default search keeps its promises: asks once, always answers, stops and goes on exactly."""

from __future__ import annotations

import re
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from tests.strategies import generator

import counterpoint as cp
from counterpoint.arrays import Floats
from counterpoint.search.explore.loop import wave_sizes

COMPILED = settings(deadline=None, max_examples=40)  # the first call compiles
MOCMOD = cp.Search.paper("mocmod")
Row = tuple[Any, ...]


class Witness:
    """A model that remembers the rows of every call, and may be interrupted in one of them."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.calls: list[list[Row]] = []
        self.interrupted_call: int | None = None

    def __call__(self, rows: pd.DataFrame) -> Floats:
        """Return the probability of the second class."""
        self.calls.append(list(rows.itertuples(index=False, name=None)))
        if len(self.calls) == self.interrupted_call:
            raise KeyboardInterrupt
        scores: Floats = self.model.predict_proba(rows)[:, 1]
        return scores

    @property
    def distinct_per_call(self) -> list[Row]:
        """Every row asked, once per call: repeats within a call only pad it."""
        return [row for call in self.calls for row in dict.fromkeys(call)]

    def forget(self) -> None:
        """Start counting anew."""
        self.calls.clear()


def mixed_table(n: int = 120) -> pd.DataFrame:
    rng = generator(0)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "amount": rng.gamma(3.0, 900.0, n).round(2),
            "debt": rng.normal(4.0, 2.0, n).round(1),
            "job": rng.choice(["clerk", "nurse", "smith", "none"], n),
            "owns": rng.random(n) < 0.4,
        }
    )


MIXED = mixed_table()
SCORE = MIXED["amount"] / 900 + 2 * MIXED["owns"] + (MIXED["job"] == "nurse") - MIXED["debt"] / 2
LABELS = SCORE.gt(SCORE.median()).to_numpy().astype(np.int64)
DENIED = MIXED[LABELS == 0]


def fitted(classifier: Any) -> Any:
    encode = make_column_transformer(
        (StandardScaler(), ["age", "amount", "debt"]), (OneHotEncoder(), ["job", "owns"])
    )
    return make_pipeline(encode, classifier).fit(MIXED, LABELS)


@cache
def model_of(name: str) -> Any:
    classifiers = {
        "forest": RandomForestClassifier(20, random_state=0),
        "logistic": LogisticRegression(),
    }
    return fitted(classifiers[name])


class Formula:
    """A model that is a formula: a search asks it in a tenth of the time that a pipeline takes."""

    def predict_proba(self, rows: pd.DataFrame) -> Floats:
        """Return the probabilities of both classes."""
        merits = 2.0 * rows["owns"].to_numpy() + (rows["job"] == "nurse").to_numpy()
        score = rows["amount"].to_numpy() / 900 - rows["debt"].to_numpy() / 2 + merits
        good = 1.0 / (1.0 + np.exp(SCORE.median() - score))
        return np.column_stack([1.0 - good, good])


@cache
def witness() -> tuple[Witness, cp.Explainer]:
    model = Witness(Formula())
    return model, cp.Explainer(model, MIXED)


def bits(found: cp.Counterfactuals) -> tuple[Any, ...]:
    """Return everything that must not differ in a single bit."""
    arrays = (found.genomes, found.predictions, found.objectives, found.history.to_numpy())
    return found.evaluations, *(array.tobytes() for array in arrays)


# (a) No row is asked twice, and never more than the budget.


@COMPILED
@given(
    i=st.integers(0, len(DENIED) - 1),
    budget=st.integers(30, 400),
    population=st.sampled_from([4, 20]),
    seed=st.integers(0, 99),
)
def test_no_row_is_asked_twice_nor_more_than_the_budget_allows(
    i: int, budget: int, population: int, seed: int
) -> None:
    model, explainer = witness()
    search = cp.Search(evaluations=budget, population=population)
    model.forget()

    found = explainer.explain(DENIED.iloc[[i]], (0.5, 1.0), search, seed)

    own = model.calls[0][0]
    others = [row for row in model.distinct_per_call if row != own]
    searched = others[: found.evaluations - 1]  # what comes then confirms what was asked before
    assert len(searched) == len(set(searched)) == found.evaluations - 1 <= budget - 1
    assert set(others) <= {*searched, *MIXED.itertuples(index=False, name=None)}


@pytest.mark.parametrize("seed", range(3))
def test_an_exhausted_search_asked_about_every_row_at_most_once(seed: int) -> None:
    levels = pd.DataFrame(list(product("abcd", "xyz", [False, True])), columns=["k", "l", "m"])
    wanted = ((levels["k"] == "d") & (levels["l"] == "z")).astype(int)
    tree = make_pipeline(OneHotEncoder(), DecisionTreeClassifier(random_state=0))
    model = Witness(tree.fit(levels, wanted))
    explainer = cp.Explainer(model, levels)
    model.forget()

    found = explainer.explain({"k": "a", "l": "x", "m": False}, (0.5, 1.0), seed=seed)

    own = model.calls[0][0]
    others = [row for row in model.distinct_per_call if row != own]
    searched = others[: found.evaluations - 1]
    assert found.stopped == "exhausted"
    assert len(searched) == len(set(searched)) == found.evaluations - 1
    assert {own, *searched, *(known for known in others if known not in searched)} == set(
        levels.itertuples(index=False, name=None)
    )
    assert found.status == "found"


# (b) Always an answer.


@st.composite
def small_problems(draw: st.DrawFn) -> tuple[pd.DataFrame, Any, pd.DataFrame, dict[str, Any]]:
    """Return a small table, a model fitted to it, a row to explain and limits."""
    rng, n = generator(draw(st.integers(0, 10_000))), draw(st.integers(6, 30))
    data = pd.DataFrame(
        {
            "whole": rng.integers(0, 6, n),
            "tenth": rng.uniform(-1.0, 1.0, n).round(1),
            "real": rng.normal(0.0, 1.0, n),
            "flag": rng.random(n) < 0.5,
        }
    )
    labels = np.arange(n) % 2
    rng.shuffle(labels)
    classifier = DecisionTreeClassifier(max_depth=4, random_state=0)
    model = draw(st.sampled_from([classifier, LogisticRegression(C=10.0)])).fit(data, labels)
    row = data.iloc[[draw(st.integers(0, n - 1))]]
    beyond = draw(st.one_of(st.none(), st.floats(-2.0, 2.0)))  # off the grid, out of the range
    row = row if beyond is None else row.assign(tenth=beyond)
    fixed = draw(st.sets(st.sampled_from(["whole", "flag"]), max_size=2))
    ranges = {"tenth": (-0.7, 0.8)} if draw(st.booleans()) else {}
    limits = {"fixed": sorted(fixed), "ranges": ranges}
    return data, model, row, limits | {"max_changed": draw(st.sampled_from([None, 2, 3]))}


def obeys(data: pd.DataFrame, row: pd.DataFrame, limits: dict[str, Any]) -> pd.Series[bool]:
    """Return which observed rows the limits allow, in the caller's own terms."""
    own = row.iloc[0]
    allowed = pd.Series(True, index=data.index)
    for name in limits["fixed"]:
        allowed &= data[name] == own[name]
    for name, (low, high) in limits["ranges"].items():
        allowed &= data[name].between(low, high)
    return allowed & ((data != own).sum(axis=1) <= (limits["max_changed"] or 99))


@COMPILED
@given(
    problem=small_problems(),
    seed=st.integers(0, 2**64 - 1),
    search=st.sampled_from([cp.Search(population=4, evaluations=9), cp.Search(evaluations=60)]),
)
def test_if_an_observed_row_will_do_there_is_an_answer(
    problem: tuple[pd.DataFrame, Any, pd.DataFrame, dict[str, Any]], seed: int, search: cp.Search
) -> None:
    data, model, row, limits = problem
    now = int(model.predict(row)[0])
    will_do = (model.predict(data) != now) & obeys(data, row, limits)

    found = cp.Explainer(model, data).explain(row, 1 - now, search, seed, **limits)

    if will_do.any():
        assert found.status == "found"
        assert len(found.valid()) > 0


# (c) Nothing found, and what would help.


def loans() -> pd.DataFrame:
    grid = product(range(10, 110, 10), np.arange(6.0), [False, True])
    return pd.DataFrame(list(grid), columns=["income", "debt", "owns"])


LOANS = loans()
POOR = {"income": 30, "debt": 4.0, "owns": False}
INFEASIBLE: list[tuple[dict[str, Any], str]] = [
    ({"fixed": ["owns"]}, "free 'owns'"),
    ({"ranges": {"income": (None, 50)}}, "widen ranges['income'] to 60"),
    ({"ranges": {"debt": (3.0, 4.0)}}, "widen ranges['debt'] to 2"),
    ({"max_changed": 2}, "raise max_changed to 3"),
    (
        {"fixed": ["owns"], "ranges": {"debt": (3.0, None)}},
        "widen ranges['debt'] to 2 and free 'owns'",
    ),
    (
        {"fixed": ["owns"], "ranges": {"income": (20, 40)}, "max_changed": 1},
        "widen ranges['income'] to 60, free 'owns' and raise max_changed to 3",
    ),
]


@cache
def loan_explainer() -> cp.Explainer:
    granted = (LOANS["income"] >= 60) & (LOANS["debt"] <= 2.0) & LOANS["owns"]
    return cp.Explainer(DecisionTreeClassifier(random_state=0).fit(LOANS, granted), LOANS)


def relaxed(limits: dict[str, Any], message: str) -> dict[str, Any]:
    """Return the limits with what the message advises done, read from its words alone."""
    freed = re.findall(r"free '(\w+)'", message)
    fixed = [name for name in limits.get("fixed", []) if name not in freed]
    ranges = dict(limits.get("ranges", {}))
    for name, text in re.findall(r"widen ranges\['(\w+)'\] to (-?\d+(?:\.\d+)?)", message):
        value, (low, high) = float(text), ranges[name]
        low, high = (LOANS[name].min() if low is None else low), high
        ranges[name] = (min(low, value), high if high is None else max(high, value))
    most = re.search(r"raise max_changed to (\d+)", message)
    max_changed = int(most[1]) if most else limits.get("max_changed")
    return {"fixed": fixed, "ranges": ranges, "max_changed": max_changed}


@pytest.mark.parametrize(("limits", "advice"), INFEASIBLE)
def test_limits_that_exclude_every_wanted_row_are_named(
    limits: dict[str, Any], advice: str
) -> None:
    found = loan_explainer().explain(POOR, True, cp.Search(evaluations=200), **limits)

    assert found.status == ("infeasible" if found.stopped == "exhausted" else "best_effort")
    assert len(found.valid()) == 0
    assert found.message.endswith(
        f"15 observed rows do reach it, but the limits exclude all of them: {advice}."
    )


@pytest.mark.parametrize(("limits", "advice"), INFEASIBLE)
def test_the_advised_relaxation_helps(limits: dict[str, Any], advice: str) -> None:
    enough = relaxed(limits, advice)

    found = loan_explainer().explain(POOR, True, cp.Search(evaluations=60), **enough)

    assert found.status == "found"


def test_an_unreachable_target_gets_the_closest_miss() -> None:
    model, explainer = witness()
    highest = model.model.predict_proba(MIXED)[:, 1].max()

    found = explainer.explain(DENIED.iloc[[0]], (1.5, None), cp.Search(evaluations=200))

    assert found.status == "best_effort"
    assert len(found.genomes) > 0
    assert len(found.valid()) == 0
    best = found.predictions.max()
    assert found.message == (
        f"no counterfactual was found for prediction >= 1.5 (now {found.row_prediction:.4g}): the "
        f"nearest of {len(found.genomes)} near misses is at {best:.4g} and lacks {1.5 - best:.4g}; "
        f"{found.evaluations} model evaluations; no observed row reaches it either (the nearest "
        f"is at {highest:.4g}): ask for a target the model does give."
    )


@pytest.mark.parametrize("max_changed", [1, 2])
def test_what_ranges_force_to_change_may_be_all_that_changes(max_changed: int) -> None:
    """The least change the ranges allow is a candidate like any other, here the best."""
    explainer = cp.Explainer(lambda rows: rows["income"] / 100.0, LOANS)
    ranges: dict[Any, Any] = {"income": (65, 100)}

    found = explainer.explain(POOR, (0.6, 1.0), ranges=ranges, max_changed=max_changed)

    best = found.valid().to_frame().nsmallest(1, "distance").iloc[0]
    assert best[["income", "debt", "owns"]].to_dict() == POOR | {"income": 65}


# (d) Anytime.


def test_without_time_the_best_so_far_is_returned() -> None:
    _, explainer = witness()

    found = explainer.explain(DENIED.iloc[[0]], (0.5, 1.0), cp.Search(seconds=0))

    assert found.stopped == "seconds"
    assert found.status == "found"
    assert found.evaluations <= 25
    assert found.message.endswith("; the time ran out, so this is the best so far.")


def test_without_time_a_miss_is_the_best_so_far_too() -> None:
    _, explainer = witness()

    found = explainer.explain(DENIED.iloc[[0]], (1.5, None), cp.Search(seconds=0))

    assert found.stopped == "seconds"
    assert "best so far" in found.message


@pytest.mark.parametrize("call", [2, 3, 7])
def test_an_interrupt_returns_the_best_so_far(call: int) -> None:
    """The first call is the row itself, each further one a wave of candidates."""
    model, _ = witness()
    impatient = Witness(model.model)
    explainer = cp.Explainer(impatient, MIXED)
    row, search = DENIED.iloc[[0]], cp.Explore(evaluations=400)
    whole = explainer.explain(row, (0.5, 1.0), search)
    impatient.forget()
    impatient.interrupted_call = call

    found = explainer.explain(row, (0.5, 1.0), search)

    assert found.stopped == "interrupt"
    assert found.status == "found"
    assert found.evaluations == 1 + wave_sizes(search)[: call - 2].sum()
    assert found.message.endswith("; the search was interrupted, so this is the best so far.")
    if call > 2:
        pd.testing.assert_frame_equal(found.history, whole.history[: call - 2])


def test_an_interrupted_paper_search_returns_the_best_so_far() -> None:
    impatient = Witness(model_of("logistic"))
    explainer = cp.Explainer(impatient, MIXED)
    impatient.forget()
    impatient.interrupted_call = 6

    found = explainer.explain(DENIED.iloc[[0]], (0.5, 1.0), MOCMOD)

    assert found.stopped == "interrupt"
    assert len(found.genomes) > 0


def test_an_interrupted_search_goes_on_as_if_nothing_had_happened() -> None:
    impatient = Witness(model_of("logistic"))
    explainer = cp.Explainer(impatient, MIXED)
    row = DENIED.iloc[[0]]
    whole = explainer.explain(row, (0.5, 1.0), cp.Search(evaluations=301))
    impatient.forget()
    impatient.interrupted_call = 6
    found = explainer.explain(row, (0.5, 1.0), cp.Search(evaluations=400))
    impatient.interrupted_call = None

    continued = found.continue_search(301 - found.evaluations)

    assert bits(continued) == bits(whole)


# (e) Going on.


@pytest.mark.parametrize("name", ["forest", "logistic"])
@pytest.mark.parametrize(
    ("few", "many"), [(101, 301), (110, 333), (200, 1000), (41, 121), (25, 99)]
)
def test_a_continued_search_is_the_longer_search(name: str, few: int, many: int) -> None:
    explainer, row = cp.Explainer(model_of(name), MIXED), DENIED.iloc[[3]]
    whole = explainer.explain(row, 1, cp.Search(evaluations=many), seed=5)
    part = explainer.explain(row, 1, cp.Search(evaluations=few), seed=5)

    continued = part.continue_search(many - few)

    assert bits(continued) == bits(whole)
    assert continued.stopped == whole.stopped


@cache
def wide_explainer() -> tuple[cp.Explainer, pd.DataFrame]:
    """Return a model of 15 features, which only scores, and a row it denies."""
    table = pd.DataFrame(generator(3).normal(size=(60, 15)), columns=list("abcdefghijklmno"))
    labels = (table.sum(axis=1) > 0).astype(int)
    model = Witness(LogisticRegression().fit(table, labels))
    return cp.Explainer(model, table), table[labels == 0].iloc[[0]]


@pytest.mark.parametrize("budget", [25, 41, 61])
def test_a_search_of_many_features_is_continued_from_any_budget(budget: int) -> None:
    """With more features than early candidates a short search must start like a long one."""
    explainer, row = wide_explainer()
    whole = explainer.explain(row, (0.5, 1.0), cp.Search(evaluations=budget + 100))
    part = explainer.explain(row, (0.5, 1.0), cp.Search(evaluations=budget))

    continued = part.continue_search(100)

    assert bits(continued) == bits(whole)


def test_a_search_continued_twice_is_the_longer_search() -> None:
    explainer, row = cp.Explainer(model_of("forest"), MIXED), DENIED.iloc[[3]]
    whole = explainer.explain(row, 1, cp.Search(evaluations=500))
    part = explainer.explain(row, 1, cp.Search(evaluations=100))

    continued = part.continue_search(150).continue_search(250)

    assert bits(continued) == bits(whole)


def test_a_continued_paper_search_is_the_longer_search() -> None:
    explainer, row = cp.Explainer(model_of("logistic"), MIXED), DENIED.iloc[[3]]
    whole = explainer.explain(row, 1, MOCMOD.with_(generations=22))
    part = explainer.explain(row, 1, MOCMOD.with_(generations=20))

    continued = part.continue_search(2 * 20)

    assert bits(continued) == bits(whole)


def test_a_short_paper_search_of_many_features_is_continued_too() -> None:
    explainer, row = wide_explainer()
    whole = explainer.explain(row, (0.5, 1.0), MOCMOD.with_(generations=4))
    part = explainer.explain(row, (0.5, 1.0), MOCMOD.with_(generations=2))

    continued = part.continue_search(2 * 20)

    assert bits(continued) == bits(whole)


@pytest.mark.parametrize("search", [cp.Search(evaluations=101), MOCMOD.with_(generations=20)])
def test_a_continued_search_asks_about_new_rows_only(search: cp.Search) -> None:
    model, explainer = witness()
    model.forget()
    part = explainer.explain(DENIED.iloc[[1]], (0.5, 1.0), search)
    before = {row for call in model.calls for row in call}
    model.forget()

    continued = part.continue_search(100)

    n_new = continued.evaluations - part.evaluations
    assert 75 < n_new <= 100
    if search.method == "explore":  # the paper's repeats itself
        asked = set(model.distinct_per_call[:n_new])  # then what is found is confirmed
        assert len(asked) == n_new
        assert not asked & before
    else:
        n_calls = n_new // search.population
        assert {len(call) for call in model.calls[:n_calls]} == {search.population + 4}


def test_a_search_without_time_is_continued_as_if_it_had_had_it() -> None:
    _, explainer = witness()
    row = DENIED.iloc[[2]]
    whole = explainer.explain(row, (0.5, 1.0), cp.Search(evaluations=301))
    part = explainer.explain(row, (0.5, 1.0), cp.Search(evaluations=900, seconds=0))

    continued = part.continue_search(301 - part.evaluations)

    assert part.stopped == "seconds"
    assert bits(continued) == bits(whole)


def test_an_exhausted_search_that_goes_on_loses_nothing() -> None:
    levels = pd.DataFrame(list(product("abcd", "xyz", [False, True])), columns=["k", "l", "m"])
    explainer = cp.Explainer(lambda rows: (rows["k"] == "d") * 0.9, levels)
    part = explainer.explain({"k": "a", "l": "x", "m": False}, (0.5, 1.0), seed=0)

    continued = part.continue_search(5)

    assert part.stopped == "exhausted"
    assert continued.evaluations >= part.evaluations
    assert len(continued) >= len(part)


def test_what_was_recalled_is_not_taken_for_an_answer_afterwards() -> None:
    """A continuation that stops before its past ends must still ask the model for minimality."""
    levels = pd.DataFrame(list(product("abcd", "xyz", [False, True])), columns=["k", "l", "m"])
    explainer = cp.Explainer(lambda rows: (rows["k"] == "d") * 0.9, levels)
    part = explainer.explain({"k": "a", "l": "x", "m": False}, (0.5, 1.0), seed=0)

    continued = part.continue_search(1)

    past = continued.problem.past
    assert past is None or past.n_recalled == len(past.predictions)


def test_what_if_cannot_be_continued() -> None:
    _, explainer = witness()
    found = explainer.explain(DENIED.iloc[[0]], (0.5, 1.0), cp.WhatIf(n=3))

    with pytest.raises(cp.InvalidInput) as caught:
        found.continue_search(100)

    assert str(caught.value) == (
        "this result of WhatIf cannot be continued; only the result of a Search can."
    )


@pytest.mark.parametrize("more", [0, 2.5, None])
def test_a_search_is_continued_by_a_whole_number_only(more: Any) -> None:
    _, explainer = witness()
    found = explainer.explain(DENIED.iloc[[0]], (0.5, 1.0), cp.Search(evaluations=30))

    with pytest.raises(cp.InvalidInput) as caught:
        found.continue_search(more)

    assert str(caught.value) == (
        "continue_search.evaluations must be a whole number from 1 to 1,099,511,627,776, "
        f"got {more!r}."
    )


# (f) Same seed, same bits.


@cache
def alone(name: str) -> list[tuple[Any, ...]]:
    explainer, search = cp.Explainer(model_of(name), MIXED), cp.Search(evaluations=300)
    return [bits(explainer.explain(MIXED.iloc[[i]], "opposite", search, 11)) for i in range(7)]


@pytest.mark.parametrize("name", ["forest", "logistic"])
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("order", [range(7), [4, 0, 6, 2, 5, 1, 3]])
def test_a_row_gets_the_same_bits_alone_and_in_company(
    name: str, workers: int, order: list[int]
) -> None:
    explainer, search = cp.Explainer(model_of(name), MIXED), cp.Search(evaluations=300)
    rows = MIXED.iloc[list(order)]

    together = explainer.explain_many(rows, "opposite", search, 11, workers=workers)

    assert [bits(found) for found in together] == [alone(name)[i] for i in order]


def test_another_seed_searches_differently() -> None:
    explainer, search = cp.Explainer(model_of("forest"), MIXED), cp.Search(evaluations=300)

    found = [explainer.explain(DENIED.iloc[[0]], 1, search, seed) for seed in (0, 1)]

    assert bits(found[0]) != bits(found[1])


# (g) Better than the paper's.


def test_the_default_beats_the_tuned_search_of_the_paper() -> None:
    features, labels = make_classification(300, 6, random_state=0)
    table = pd.DataFrame(features, columns=list("abcdef"))
    explainer = cp.Explainer(LogisticRegression().fit(table, labels), table)
    paper = MOCMOD.with_(generations=None, evaluations=1500)

    theirs = explainer.explain_many(table[:10], "opposite", paper)
    ours = explainer.explain_many(table[:10], "opposite", cp.Search(evaluations=1500))

    pairs = zip(ours, theirs, strict=True)
    assert sum(own.hypervolume() > other.hypervolume() for own, other in pairs) >= 8
    assert max(found.evaluations for found in ours) <= 1500


class Contrary:
    """A classifier whose `predict` denies, where no row was observed, what its probability says."""

    classes_ = np.array(["no", "yes"])

    def predict_proba(self, rows: pd.DataFrame) -> Floats:
        """Give 'yes' a probability that grows with x and y."""
        likely = 1.0 / (1.0 + np.exp(-(rows["x"] + rows["y"] - 10.0).to_numpy()))
        return np.column_stack([1.0 - likely, likely])

    def predict(self, rows: pd.DataFrame) -> Any:
        """Name the likelier class, but never 'yes' between the observed values of x."""
        likely = self.predict_proba(rows)[:, 1] > 0.5
        return self.classes_[(likely & (rows["x"] % 1.0 == 0.0)).astype(int)]


def test_a_search_whose_classes_were_denied_is_continued_as_it_was_searched() -> None:
    observed = pd.DataFrame({"x": np.arange(12.0), "y": np.arange(12.0)[::-1]})
    explainer = cp.Explainer(Contrary(), observed, precision="full")
    row = {"x": 2.0, "y": 3.0}
    whole = explainer.explain(row, "yes", cp.Search(evaluations=600))
    part = explainer.explain(row, "yes", cp.Search(evaluations=300))

    continued = part.continue_search(300)

    assert bits(continued) == bits(whole)
    assert len(whole.valid()) > 0
    assert (Contrary().predict(whole.valid().to_frame()) == "yes").all()
