"""The table of what is found and proved of large ensembles."""

from __future__ import annotations

from dataclasses import replace

import pytest
from benchmarks import proofs
from benchmarks.proofs import Proved, as_markdown, cells, count_claims
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier

OPTIMAL = Proved("iris", "forest", 0.1, 0.1, 0.1, True, 0.1, 0.3)


def test_the_search_is_measured_by_what_is_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    forest = RandomForestClassifier(10, max_depth=3, random_state=0)
    monkeypatch.setattr(proofs, "models", lambda: {"forest": forest})
    iris = load_iris(as_frame=True)

    found = list(proofs.measure({"iris": (iris.data, iris.target)}, 3))

    assert len(found) == 3
    for each in found:
        assert each.bound == pytest.approx(each.value, rel=1e-9)
        assert each.alone >= each.value * (1 - 1e-9)
        assert each.fewest
        assert ("the nearest", "optimal") in each.claims


def test_a_line_says_how_far_the_search_and_the_proof_are() -> None:
    far = Proved("iris", "forest", 0.15, 0.1, 0.08, False, 0.3, 0.7)

    assert cells([OPTIMAL, far]) == (
        "2 | 50% | 50% | 50.0% | 50.0% | 50% | 25.0% | 50% | 0.20 | 0.50 | 0.7"
    )
    assert as_markdown([OPTIMAL, far]).count("\n") == 3


def test_what_nobody_bounds_is_said_to_have_no_bound() -> None:
    unknown = Proved("iris", "forest", 0.1, 0.1, 0.0, False, 0.1, 0.3)

    assert "| no bound |" in cells([unknown])


def test_claims_are_counted_by_what_was_asked() -> None:
    claims = (("the nearest", "optimal"), ("the nearest of a way", "within"))
    found = [replace(OPTIMAL, claims=claims), replace(OPTIMAL, claims=claims[:1])]

    lines = count_claims(found).splitlines()

    assert lines[0] == "| asked | optimal | within | none | unknown |"
    assert lines[2:] == [
        "| the nearest | 2 | 0 | 0 | 0 |",
        "| the nearest of a way | 0 | 1 | 0 | 0 |",
    ]
