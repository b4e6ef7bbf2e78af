"""A proof speaks of what the result holds, whatever a solver found before."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

import counterpoint as cp
from counterpoint.result.ways import settled
from counterpoint.search.exact.proof import Claim


@pytest.fixture(scope="module")
def found() -> cp.Counterfactuals:
    data = pd.DataFrame({"age": [20, 25, 30, 35, 40, 45, 50, 55], "debt": [9, 8, 7, 6, 4, 3, 2, 1]})
    model = RandomForestClassifier(20, max_depth=3, random_state=0).fit(data, data["age"] > 36)
    return cp.Explainer(model, data).explain(data[:1], "opposite", cp.Search(prove=True))


def test_what_was_denied_counts_no_longer_and_bounds_stay(found: cp.Counterfactuals) -> None:
    proof = found.proof
    assert proof is not None
    nearest, sure = proof.nearest.value, Claim(0.0, 0.0)
    claimed = replace(proof, nearest=Claim(nearest / 2, nearest / 2), ways={("age",): sure})

    again = settled(replace(found, proof=claimed)).proof

    assert again is not None
    assert again.nearest == Claim(nearest, nearest / 2)
    assert again.nearest.status == "within"
    assert all(claim.value > 0.0 for claim in again.ways.values())


def test_ways_know_that_no_part_of_them_is_one(found: cp.Counterfactuals) -> None:
    proof = found.proof
    assert proof is not None

    assert {way.features for way in found.ways() if way.minimality == "proved"} >= proof.minimal
    assert proof.minimal == set(proof.ways)


def test_what_is_proved_is_said_and_no_more(found: cp.Counterfactuals) -> None:
    frame = found.to_frame()
    nearest = frame["distance"] <= frame["distance"].min() * (1 + 1e-9)

    farther = found.valid().take(np.flatnonzero(~nearest))

    assert "; proved: no nearer counterfactual exists, and none changes fewer" in found.message
    assert "proved: no nearer counterfactual exists" in str(found)
    assert (frame["proof"].str.contains("no nearer counterfactual exists") == nearest).all()
    assert "no nearer" not in farther.message
    assert not farther.to_frame()["proof"].str.contains("no nearer").any()
    misses = found.to_frame(near_misses=True)
    assert (misses["proof"][~misses["valid"]] == "").all()


def test_without_a_proof_there_is_no_column_and_no_word_of_it(found: cp.Counterfactuals) -> None:
    plain = replace(found, proof=None)

    assert "proof" not in plain.to_frame()
    assert "proved" not in plain.message


def test_that_none_exists_is_said_where_it_is_proved() -> None:
    data = pd.DataFrame({"x": [0.125 * i for i in range(400)], "y": [1.0 * i for i in range(400)]})
    model = RandomForestClassifier(10, max_depth=3, random_state=0).fit(data, data["x"] > 20.0)
    explainer = cp.Explainer(model, data, precision="full")

    found = explainer.explain(
        data[:1], True, cp.Search(prove=True), ranges={"x": (0.0, 1.0), "y": (0.0, 2.0)}
    )

    assert found.status == "infeasible"
    assert found.message.startswith("no counterfactual reaches class True")
    assert "proved: no counterfactual exists within the limits" in found.message
