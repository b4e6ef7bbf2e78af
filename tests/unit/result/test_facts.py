"""The facts of a result: data only, so functions of the caller's are names."""

from __future__ import annotations

import pandas as pd
import pytest

import counterpoint as cp

DATA = pd.DataFrame({"age": [20, 30, 40, 50], "debt": [9.5, 5.0, 3.5, 1.0]})


def test_functions_are_kept_by_name_and_say_so_when_they_are_asked() -> None:
    more = cp.Objective("more debt", lambda rows, _: rows["debt"], worst=20.0)
    explainer = cp.Explainer(lambda rows: rows["age"] / 60, DATA, objectives=[more])

    facts = explainer.explain(
        DATA[:1], (0.5, None), constraints=[lambda rows: rows["age"] > 0]
    ).facts

    (kept,) = facts.aims.objectives
    assert (kept.name, kept.worst, facts.worst.tolist()) == ("more debt", 20.0, [1.0, 1.0, 20.0])
    assert facts.limits.rules.texts == ("function <lambda>",)
    assert facts.limits.rules.functions == ()
    with pytest.raises(cp.InvalidInput, match="'more debt' is a function, of which a result keeps"):
        kept.function(DATA, DATA[:1])
