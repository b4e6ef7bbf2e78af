"""NICE: the walk of the paper, step by step, within limits, rules and missing values."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from tests.strategies import mixed_table

import counterpoint as cp
from counterpoint.problem.target import Target
from counterpoint.progress import Watch
from counterpoint.search.run import NICE, Reward, merits, walk_to_neighbours

NUMBERS, FEATURES = ["age", "debt"], ["age", "debt", "job", "owns"]
STEPPING: tuple[Reward, ...] = ("sparsity", "proximity", "plausibility")


DATA = mixed_table(200, seed=5)


def fitted() -> Any:
    good = DATA["age"] / 20 - DATA["debt"] + DATA["owns"] + (DATA["job"] == "a") > 0.9
    encode = make_column_transformer((OneHotEncoder(), ["job"]), remainder="passthrough")
    forest = RandomForestClassifier(20, max_depth=4, random_state=0)
    return make_pipeline(encode, forest).fit(DATA, np.where(good, "good", "bad"))


MODEL = fitted()
EXPLAINER = cp.Explainer(MODEL, DATA)
REFUSED = DATA[MODEL.predict(DATA) == "bad"]


def distances(rows: pd.DataFrame, row: pd.Series[Any]) -> Any:
    """Return Gower's distances by their definition; all rows are observed."""
    total: Any = np.zeros(len(rows))
    for name in NUMBERS:
        total = total + (rows[name] - row[name]).abs().to_numpy() / np.ptp(DATA[name])
    for name in ("job", "owns"):
        total = total + (rows[name] != row[name]).to_numpy()
    return total / len(FEATURES)


def by_hand(row: pd.Series[Any], variant: Reward) -> dict[Any, Any]:
    """Return the end of the paper's walk, in plain pandas."""
    good = DATA[MODEL.predict(DATA) == "good"]
    neighbour = good.iloc[int(np.argmin(distances(good, row)))].to_dict()
    here: dict[Any, Any] = row.to_dict()

    def seen(each: list[dict[Any, Any]]) -> Any:
        frame = pd.DataFrame(each)[FEATURES]
        near = [distances(DATA, one).min() for _, one in frame.iterrows()]
        return MODEL.predict_proba(frame)[:, 1], distances(frame, row), np.array(near)

    while True:
        others = [name for name in FEATURES if here[name] != neighbour[name]]
        steps = [{**here, name: neighbour[name]} for name in others]
        now, later = seen([here]), seen(steps)
        gain, farther, rarer = (new - old for new, old in zip(later, now, strict=True))
        reward = {
            "sparsity": gain,
            "proximity": gain / np.maximum(farther, 1e-300),
            "plausibility": np.where((gain < 0) & (rarer > 0), -1, 1) * gain * -rarer,
        }[variant]
        here = steps[int(np.argmax(reward))]
        if MODEL.predict(pd.DataFrame([here])[FEATURES])[0] == "good":
            return here


@pytest.mark.parametrize("variant", STEPPING)
def test_the_walk_is_the_papers(variant: Reward) -> None:
    rows = REFUSED.iloc[::7]

    found = EXPLAINER.explain_many(rows, "good", NICE(variant=variant))

    for each, (_, row) in zip(found, rows.iterrows(), strict=True):
        (end,) = each.to_frame()[FEATURES].to_dict("records")
        assert end == by_hand(row, variant)


def test_without_steps_it_is_what_if() -> None:
    for search in ({"n": 1}, {"n": 4}):
        plain = EXPLAINER.explain(REFUSED[:1], "good", cp.WhatIf(**search))

        found = EXPLAINER.explain(REFUSED[:1], "good", NICE(variant="none", **search))

        pd.testing.assert_frame_equal(found.to_frame(), plain.to_frame())
        assert found.evaluations == plain.evaluations == 1


@pytest.mark.parametrize("variant", get_args(Reward))
@settings(deadline=None, max_examples=15)
@given(
    position=st.integers(0, 10**6),
    n=st.integers(1, 4),
    limits=st.sampled_from(
        [
            {},
            {"fixed": ["job"]},
            {"max_changed": 2},
            {"ranges": {"age": (30, 70)}},
            {"constraints": ["age increases"]},
            {"constraints": ["job = a implies owns = true"]},
            {"constraints": ["debt <= 0.1 * age"]},
            {"vary": ["age", "debt", "owns"], "costs": {"age": 5.0}},
        ]
    ),
)
def test_ends_lie_between_the_row_and_an_observed_one_and_obey_what_is_asked(
    position: int, n: int, limits: Any, variant: Reward
) -> None:
    row = REFUSED.iloc[[position % len(REFUSED)]]
    near = EXPLAINER.explain(row, "good", cp.WhatIf(n=n), **limits)

    found = EXPLAINER.explain(row, "good", NICE(variant=variant, n=n), **limits)

    assert 1 <= len(found.genomes) <= len(near.genomes) or len(near.genomes) == 0
    assert found.reaches.all()
    for genome in found.genomes:
        is_between = (near.genomes == genome) | (genome == found.genome)
        assert is_between.all(axis=1).any()
    assert len({genome.tobytes() for genome in found.genomes}) == len(found.genomes)
    if variant != "none" and len(found.genomes):
        assert 1 < found.evaluations <= 1 + n * 10


def test_company_changes_no_bit_and_files_keep_it(tmp_path: Path) -> None:
    together = EXPLAINER.explain_many(REFUSED[:5], "good", NICE(n=2))

    for i, found in enumerate(together):
        assert found == EXPLAINER.explain(REFUSED.iloc[[i]], "good", NICE(n=2))
    together[0].save(tmp_path / "found.json")
    assert cp.load(tmp_path / "found.json") == together[0]
    assert cp.load(tmp_path / "found.json").search == NICE(n=2)


def test_a_row_that_lacks_values_is_filled_from_the_neighbour() -> None:
    gappy = DATA.assign(debt=DATA["debt"].where(np.arange(len(DATA)) % 9 > 0))

    def scores(rows: pd.DataFrame) -> Any:
        return 1.0 / (1.0 + np.exp(rows["debt"].fillna(9.0) - rows["age"] / 20))

    explainer = cp.Explainer(scores, gappy)
    row = gappy[gappy["debt"].isna()].iloc[[0]]

    found = explainer.explain(row, (0.6, 1.0), NICE())

    near = explainer.explain(row, (0.6, 1.0), cp.WhatIf())
    assert found.reaches.tolist() == [True]
    assert found.to_frame()["debt"].iloc[0] == near.to_frame()["debt"].iloc[0]


def test_numbers_are_asked_in_their_interval_too() -> None:
    explainer = cp.Explainer(lambda rows: rows["age"] * 10 + rows["debt"], DATA)

    found = explainer.explain(DATA[:1], (400.0, 450.0), NICE())

    near = explainer.explain(DATA[:1], (400.0, 450.0), cp.WhatIf())
    assert found.reaches.tolist() == [True]
    assert found.objectives[0, 2] <= near.objectives[0, 2]


def test_where_no_observed_row_will_do_nothing_is_found() -> None:
    found = EXPLAINER.explain(REFUSED[:1], ("good", (0.9999, 1.0)), NICE(), vary=["owns"])

    assert len(found.genomes) == 0
    assert found.stopped == "budget"


def test_an_interrupt_returns_the_neighbour() -> None:
    calls = []

    def interrupted(rows: pd.DataFrame) -> Any:
        calls.append(len(rows))
        if len(calls) > n_before + 1:
            raise KeyboardInterrupt
        return MODEL.predict_proba(rows)[:, 1]

    n_before = 10**9
    explainer = cp.Explainer(interrupted, DATA)
    near = explainer.explain(REFUSED[:1], (0.6, 1.0), cp.WhatIf())
    n_before = len(calls) - 1

    archive = walk_to_neighbours(near.problem, NICE(), Watch())

    assert archive.stopped == ["interrupt"]
    np.testing.assert_array_equal(archive.genomes[0, :1], near.genomes)


def test_how_near_a_score_is_to_its_target() -> None:
    scores = np.array([0.2, 0.6, 0.9])
    assert merits(Target(0.5, np.inf), scores).tolist() == [0.2, 0.6, 0.9]
    assert merits(Target(-np.inf, 0.5), scores).tolist() == [-0.2, -0.6, -0.9]
    assert merits(Target(0.5, 1.0, label="good"), scores).tolist() == [0.2, 0.6, 0.9]
    assert merits(Target(0.0, 0.5, label="good"), scores).tolist() == [-0.2, -0.6, -0.9]
    np.testing.assert_allclose(merits(Target(0.5, 0.7), scores), [-0.3, 0.0, -0.2])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"variant": "sparse"}, r"NICE.variant must be .*'sparsity'.* got 'sparse'"),
        ({"n": 0}, r"NICE.n must be a whole number of at least 1, got 0"),
    ],
)
def test_other_settings_are_refused(arguments: Any, message: str) -> None:
    with pytest.raises(cp.InvalidInput, match=message):
        NICE(**arguments)
