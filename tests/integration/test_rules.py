"""Rules through the public API: every returned row satisfies them, whatever searches."""

from __future__ import annotations

import itertools
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import counterpoint as cp
from counterpoint.arrays import Floats
from counterpoint.datasets import load_credit
from counterpoint.result.facts import Live
from counterpoint.rules.rules import Rules
from counterpoint.search.archive import Archive
from counterpoint.search.front import hypervolume
from counterpoint.table.schema import Encoding

DATA, RISK = load_credit()
OTHERS = DATA[20:]
TARGET = ("good", (0.6, 1.0))
RULES = [
    "fixed sex",
    "age increases by at most 5",
    "credit_amount <= 150 * duration",
    "purpose = car implies duration in {12, 24, 36}",
    "at most 4 changes",
]
SEARCHES: dict[str, Any] = {
    "the default": cp.Search(evaluations=800),
    "the paper's": cp.Search(method="nsga2", evaluations=800),
    "by steps": cp.Search(method="nsga2", mutation="gaussian", evaluations=500),
    "from observed rows": cp.Search(method="nsga2", initialization="observed", evaluations=500),
    "near the row": cp.Search(method="nsga2", initialization="deviation", evaluations=500),
    "random": cp.Search(method="random", evaluations=800),
    "what-if": cp.WhatIf(n=3),
}


@cache
def explainer() -> cp.Explainer:
    levels = [name for name in DATA.columns if DATA[name].dtype == "category"]
    encode = make_column_transformer((OneHotEncoder(), levels), remainder="passthrough")
    model = make_pipeline(encode, RandomForestClassifier(20, random_state=0))
    return cp.Explainer(model.fit(OTHERS, RISK[20:]), OTHERS)


def refused(n: int) -> pd.DataFrame:
    """Return the first n rows the model refuses."""
    said: Floats = explainer().predictor.model.predict_proba(DATA[:20])[:, 1]
    return DATA[:20].loc[said < 0.5].iloc[:n]


def judged(found: cp.Counterfactuals, texts: list[str]) -> Any:
    """Return which rules hold, as read off the frame the user gets."""
    schema = explainer().schema
    encode = Encoding(schema).encode
    genomes = encode(found.to_frame(near_misses=True)[DATA.columns])
    return Rules.parse(texts, schema).verdicts(genomes, encode(found.row)[0])


@pytest.mark.parametrize("name", SEARCHES)
def test_every_returned_row_satisfies_every_rule(name: str) -> None:
    found = [
        explainer().explain(refused(5)[i : i + 1], TARGET, SEARCHES[name], constraints=RULES)
        for i in range(5)
    ]

    assert sum(len(each) for each in found) > 0
    for each in found:
        assert judged(each, RULES).all()
        assert each.constraints == (
            *RULES[:3],
            "purpose = car implies duration in {12, 24, 36}",
            "at most 4 changes",
        )


@pytest.mark.parametrize("name", [name for name in SEARCHES if name != "what-if"])
def test_the_model_is_asked_about_nothing_else(name: str) -> None:
    """The search is within the rules, not of everything with the rest thrown away."""
    asked: list[pd.DataFrame] = []

    def watched(rows: pd.DataFrame) -> Any:
        asked.append(rows)
        return explainer().predictor.model.predict_proba(rows)[:, 1]

    watcher, row = cp.Explainer(watched, OTHERS), refused(1)
    asked.clear()

    found = watcher.explain(row, (0.6, 1.0), SEARCHES[name], constraints=RULES)

    encode = Encoding(watcher.schema).encode
    genomes, own = encode(pd.concat(asked)), encode(row)[0]
    timed = encode(OTHERS[:1])[0]  # the observed row that tells how long the model takes
    others = genomes[(genomes != own).any(axis=1) & (genomes != timed).any(axis=1)]
    assert Rules.parse(RULES, watcher.schema).holds(others, own).all()
    assert len(np.unique(others, axis=0)) > 0.5 * found.evaluations > 100


@pytest.mark.parametrize("name", SEARCHES)
def test_each_of_these_rules_matters(name: str) -> None:
    found = [explainer().explain(refused(5)[i : i + 1], TARGET, SEARCHES[name]) for i in range(5)]

    verdicts = np.concatenate([judged(each, RULES) for each in found])
    assert (~verdicts).any(axis=0).sum() >= 3


@pytest.mark.parametrize("name", SEARCHES)
def test_a_function_is_asked_in_batches_and_obeyed(name: str) -> None:
    asked: list[int] = []

    def is_even(rows: pd.DataFrame) -> Any:
        assert rows.dtypes.equals(DATA.dtypes)
        asked.append(len(rows))
        return (rows["duration"] % 2 == 0).to_numpy()

    found = explainer().explain(
        refused(1), TARGET, SEARCHES[name], constraints=[is_even, "job increases"]
    )

    assert len(found.genomes) > 0
    assert (found.to_frame(near_misses=True)["duration"] % 2 == 0).all()
    assert judged(found, ["job increases"]).all()
    assert found.constraints == ("function is_even", "job increases")
    assert max(asked) > 1


def test_a_function_that_refuses_nearly_everything_does_not_starve_the_search() -> None:
    def is_rare(rows: pd.DataFrame) -> Any:
        return (rows["credit_amount"] % 50 == 0).to_numpy()

    found = explainer().explain(refused(1), TARGET, cp.Search(), constraints=[is_rare])

    assert len(found.genomes) > 10
    assert (found.to_frame(near_misses=True)["credit_amount"] % 50 == 0).all()
    assert found.evaluations <= 3600


def test_a_row_that_breaks_a_rule_gets_counterfactuals_that_do_not() -> None:
    row = refused(1)
    rule = f"duration <= {int(row['duration'].iloc[0]) - 6}"

    found = explainer().explain(row, TARGET, constraints=[rule])

    assert len(found.genomes) > 0
    assert judged(found, [rule]).all()
    assert found.changed[:, list(DATA.columns).index("duration")].all()
    value = row["duration"].iloc[0]
    assert found.notes == (
        f"the constraints exclude the row's own 'duration' = {value}, so every counterfactual "
        "changes it.",
    )


def test_limits_and_rules_add_up() -> None:
    found = explainer().explain(
        refused(1),
        TARGET,
        cp.Search(evaluations=800),
        fixed=["age"],
        ranges={"duration": (6, 30)},
        max_changed=3,
        constraints=["credit_amount <= 150 * duration", "duration >= 10"],
    )

    frame = found.to_frame(near_misses=True)
    assert len(found.genomes) > 0
    assert (frame["age"] == found.row["age"].iloc[0]).all()
    assert frame["duration"].between(10, 30).all()
    assert (frame["changes"] <= 3).all()
    assert (frame["credit_amount"] <= 150 * frame["duration"]).all()


def test_a_repair_never_changes_more_than_max_changed() -> None:
    rules = ["credit_amount <= 100 * duration", "age, job change together"]

    found = explainer().explain(
        refused(1), TARGET, cp.Search(evaluations=800), max_changed=2, constraints=rules
    )

    assert len(found.genomes) > 0
    assert (found.to_frame(near_misses=True)["changes"] <= 2).all()
    assert judged(found, rules).all()


TIGHT = [
    "fixed sex, age, purpose, job",
    "credit_amount in steps of 500 from 0",
    "duration in steps of 6 from 0",
    "credit_amount >= 90 * duration and credit_amount <= 110 * duration",
    "housing, saving_accounts change together",
]


def region(found: cp.Counterfactuals) -> Floats:
    """Return every genome the tight rules allow."""
    problem = found.problem
    assert problem.row_rules is not None
    columns = []
    domains = problem.row_rules.domains
    for it, allowed in zip(domains.features[0], domains.allowed[0], strict=True):
        values = np.array([it["anchor"]])
        if it["may_change"] and it["n_levels"]:
            values = np.flatnonzero(allowed[: it["n_levels"]]).astype(float)
        elif it["may_change"]:
            values = np.union1d(values, np.arange(it["lower"], it["upper"] + 1.0, it["pitch"]))
        columns.append(values)
    genomes: Floats = np.array(list(itertools.product(*columns)))
    return np.compress(problem.obeys(genomes[None])[0], genomes, axis=0)


@pytest.mark.parametrize("i", range(4))
def test_tight_rules_do_not_starve_the_search(i: int) -> None:
    """So tight that the whole region can be tried: the search finds what there is."""
    found = explainer().explain(refused(4)[i : i + 1], TARGET, constraints=TIGHT)

    everything = region(found)
    best = found.problem.evaluate(everything[None]).objectives[0]
    volume = hypervolume(best, found.reference)
    assert 200 < len(everything) < 2000
    assert found.hypervolume() >= 0.999 * volume


def test_a_search_within_rules_can_be_continued() -> None:
    row, rules = refused(1), RULES
    short, long = cp.Search(evaluations=300, patience=None), cp.Search(evaluations=900)

    found = explainer().explain(row, TARGET, short, constraints=rules).continue_search(600)

    expected = explainer().explain(row, TARGET, long.with_(patience=None), constraints=rules)
    np.testing.assert_array_equal(found.genomes, expected.genomes)


def test_rules_that_leave_no_observed_row_are_named() -> None:
    rules = ["age = was(age) + 1", "credit_amount in steps of 7", "duration > 60"]

    found = explainer().explain(
        refused(1), ("good", (0.999, 1.0)), cp.WhatIf(), constraints=rules, fixed=["sex"]
    )

    assert found.status == "best_effort"  # observed rows only were tried
    assert found.message.endswith(
        'but the limits and rules exclude all of them: drop "duration > 60".'
    )


def test_written_rules_of_many_rows_are_checked_before_any_is_searched() -> None:
    rows = refused(3).assign(age=[30, 40, 74])

    with pytest.raises(cp.InvalidInput) as raised:
        explainer().explain_many(rows, TARGET, constraints=["age increases", "age <= 70"])

    assert str(raised.value).startswith(
        f"of row {rows.index[2]!r}: constraints contradict each other or the limits:\n"
        '"age increases" and "age <= 70" cannot hold together: '
    )


def raising(rows: pd.DataFrame) -> Any:
    raise RuntimeError(f"no {len(rows.columns)} columns")


def counting(rows: pd.DataFrame) -> Any:
    return np.ones(len(rows), dtype=int)


@pytest.mark.parametrize(
    ("constraints", "message"),
    [
        ("age increases", "constraints must be a list of rules, got 'age increases'; for example"),
        ([3], "constraints must hold texts or functions over rows, got 3; for example"),
        (["age rises"], 'rule "age rises": what follows age is not understood; write for'),
        (["agee increases"], "'agee' is not a column of the data; did you mean 'age'?"),
        (["purpose = bus"], "'bus' is not a level of 'purpose'; its levels are 'car',"),
        (["sex increases"], "'sex' is binary: its levels have no order"),
        (["age > 200"], "\"age > 200\" can never hold: no value of 'age' from"),
        (["fixed age", "age >= 70"], '"fixed age" and "age >= 70" cannot hold together'),
        (
            [f"fixed {', '.join(DATA.columns)}"],
            "constraints and limits leave every feature at the row's value, so nothing could",
        ),
        ([raising], "rule 'raising' raised RuntimeError for"),
        ([counting], "rule 'counting' must return one truth value per row, booleans of shape ("),
    ],
)
def test_what_cannot_be_a_rule_is_said(constraints: Any, message: str) -> None:
    with pytest.raises(cp.CounterpointError) as raised:
        explainer().explain(refused(1), TARGET, constraints=constraints)

    assert message in str(raised.value)


def test_an_error_points_at_its_place() -> None:
    with pytest.raises(cp.InvalidInput) as raised:
        explainer().explain(refused(1), TARGET, constraints=["age > 3 and job = = 2"])

    _, shown, carets = str(raised.value).splitlines()
    assert shown[carets.index("^") :] == "= 2"
    assert len(carets.strip()) == 1


def test_rules_are_streamed_too() -> None:
    rows = refused(3)
    options: dict[str, Any] = {"search": cp.Search(evaluations=300), "constraints": RULES}

    each = list(explainer().explain_each(rows, TARGET, **options))

    many = explainer().explain_many(rows, TARGET, **options)
    assert [found.genomes.tobytes() for found in each] == [
        found.genomes.tobytes() for found in many
    ]


def test_a_result_without_rules_has_none() -> None:
    assert explainer().explain(refused(1), TARGET, cp.WhatIf()).constraints == ()


def test_a_summary_says_the_rules() -> None:
    found = explainer().explain(
        refused(1), TARGET, cp.WhatIf(), constraints=["age  increases", "fixed sex"]
    )

    assert str(found).splitlines()[1] == "Rules: age increases; fixed sex."


def test_the_rules_themselves_have_the_last_word() -> None:
    """Even if a search evaluated what breaks them, it is not returned."""
    found = explainer().explain(refused(1), TARGET, cp.Search(evaluations=200))
    bound = explainer().explain(refused(1), TARGET, cp.WhatIf(), constraints=RULES)
    archive = Archive(bound.problem, len(found.genomes))
    judged_all = bound.problem.evaluate(found.genomes[None])
    archive.add(found.genomes[None], judged_all, np.array([0]), generation=0)

    drawn = cp.Counterfactuals.of(archive, 0, bound.row, bound.facts, Live(bound.problem))

    obeys = judged(found, RULES).all(axis=1)
    assert 0 < obeys.sum() < len(found.genomes)
    assert {*map(tuple, drawn.genomes)} == {*map(tuple, found.genomes[obeys])}
