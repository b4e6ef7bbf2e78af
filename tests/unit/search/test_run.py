from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import counterpoint as cp
from counterpoint.progress import Watch
from counterpoint.search.run import RUNS
from counterpoint.search.settings import METHODS

DATA = pd.DataFrame({"a": np.arange(12), "b": np.arange(12) % 5})
FOUND = cp.Explainer(lambda rows: rows["a"] / 12, DATA).explain(DATA[:1], (0.6, 1.0), cp.WhatIf())


def test_every_method_has_a_function() -> None:
    assert set(METHODS.values()) | {cp.WhatIf, cp.NICE, cp.Exact} == set(RUNS)


@pytest.mark.parametrize("made", [made for made in RUNS if made is not cp.Exact])
def test_settings_are_run_within_their_budget(made: Any) -> None:
    search = made(n=3) if issubclass(made, cp.WhatIf) else made(evaluations=90)

    archive = RUNS[made](FOUND.problem, search, Watch())

    assert archive.n_members[0] > 0
    assert archive.evaluations[0] <= {cp.WhatIf: 1, cp.NICE: 10}.get(made, 90)
    assert archive.stopped == ["budget"]


def test_a_solver_has_no_budget_and_ends_when_all_is_proved() -> None:
    archive = RUNS[cp.Exact](FOUND.problem, cp.Exact(), Watch())

    assert archive.n_members[0] > 0
    assert archive.stopped == ["proved"]
