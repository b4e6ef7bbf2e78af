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
