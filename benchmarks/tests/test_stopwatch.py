"""The stopwatch of the benchmarks names functions of the engine: they must be there, and count."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from benchmarks.stopwatch import PHASES, watched

import counterpoint as cp

DATA = pd.DataFrame({"a": np.arange(40), "b": np.linspace(0.0, 1.0, 40).round(2)})


@pytest.mark.parametrize("search", [cp.Search(evaluations=200), cp.Search.paper("moc")])
def test_every_phase_takes_some_of_the_time(search: cp.Search) -> None:
    explainer = cp.Explainer(lambda rows: rows["a"] / 40, DATA)

    with watched(keeps_candidates=True) as watch:
        found = explainer.explain(DATA[:1], (0.5, 1.0), search)

    assert {phase for phase, seconds in watch.seconds.items() if seconds > 0.0} == set(PHASES)
    assert sum(map(len, watch.candidates)) >= found.evaluations - 1


def test_the_engine_is_as_before_afterwards() -> None:
    before = [[owner.__dict__[name] for owner, name in functions] for functions in PHASES.values()]

    with watched():
        pass

    after = [[owner.__dict__[name] for owner, name in functions] for functions in PHASES.values()]
    assert after == before
