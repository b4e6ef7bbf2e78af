"""Claims say what value and bound tell, and nothing stronger."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.search.exact.proof import UNKNOWN, Claim, Proof


@given(value=st.floats(1e-6, 1.0), share=st.floats(0.0, 1.0))
def test_a_claim_is_as_strong_as_its_bound(value: float, share: float) -> None:
    claim = Claim.of(value, value * share)

    assert (claim.status == "optimal") == (share >= 1.0 - 1e-9)
    assert claim.status in ("optimal", "within", "unknown")
    if claim.status == "within":
        assert claim.bound * (1.0 + claim.gap) >= value * (1.0 - 1e-12)


def test_what_nobody_knows_and_what_does_not_exist_are_told_apart() -> None:
    assert (UNKNOWN.status, UNKNOWN.gap) == ("unknown", np.inf)
    assert Claim(np.inf, np.inf).status == "none"
    assert Claim(np.inf, 0.5).status == "unknown"
    assert str(Claim(np.inf, np.inf)) == "none exists"
    assert str(UNKNOWN) == "nothing found, unknown"


def test_a_proof_prints_a_line_for_each_claim() -> None:
    sure = Claim(0.5, 0.5)
    proof = Proof(sure, Claim(1.0, 1.0), {1: sure}, {("a", "b"): sure}, frozenset({("a", "b")}))

    assert str(proof).splitlines() == [
        "nearest: 0.5, optimal",
        "fewest changes: 1, optimal",
        "with at most 1: 0.5, optimal",
        "a + b: 0.5, optimal, no part of it is a way",
    ]
    assert str(Proof(reason="the time was up.")).endswith("the time was up.")


@given(
    distances=st.lists(st.floats(1e-3, 1.0), min_size=1, max_size=5),
    nearest=st.floats(0.0, 1.0),
    fewest=st.integers(0, 3),
)
def test_nothing_is_said_that_the_bounds_do_not_tell(
    distances: list[float], nearest: float, fewest: int
) -> None:
    held, changes = np.array(distances), np.arange(2.0, 2.0 + len(distances))
    bound = min(nearest, float(held.min()))
    proof = Proof(Claim(float(held.min()), bound), Claim(2.0, min(2.0, fewest)))

    said = proof.of_all(held, changes)

    assert ("no nearer counterfactual exists" in said) == (bound >= held.min() * (1.0 - 1e-9))
    assert ("none changes fewer features" in said) == (fewest >= 2)
    farther = proof.of_all(held * 2.0, changes + 1.0)
    assert "no nearer" not in farther
    assert "fewer features" not in farther


def test_each_counterfactual_is_told_the_strongest_that_is_proved_of_it() -> None:
    proof = Proof(
        Claim(0.1, 0.1),
        Claim(1.0, 1.0),
        {1: Claim(0.4, 0.4), 2: Claim(0.1, 0.1)},
        {("a",): Claim(0.4, 0.4), ("c",): Claim(0.5, 0.5)},
    )
    changed = np.array([[1, 1, 0], [1, 0, 0], [0, 0, 1], [0, 0, 1], [0, 1, 0]], dtype=np.bool_)

    said = proof.of_rows(["a", "b", "c"], changed, np.array([0.1, 0.4, 0.5, 0.6, np.inf]))

    assert said == (
        "no nearer counterfactual exists",
        "none is nearer with at most 1 change; none changes fewer features",
        "none is nearer that changes the same features; none changes fewer features",
        "none changes fewer features",
        "",
    )
    assert Proof().of_all(np.array([0.5]), np.array([1.0])) == "nothing is proved"
    none = Claim(np.inf, np.inf)
    assert Proof(none, none).of_all(np.empty(0), np.empty(0)) == (
        "proved: no counterfactual exists within the limits"
    )
