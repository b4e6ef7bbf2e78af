"""A proof speaks of what the result holds, whatever a solver found before."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

import counterpoint as cp
from counterpoint.result.proof import settled
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
