"""The trees that conditional mutation draws from."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import counterpoint as cp
from counterpoint.search.nsga2.loop import fit_trees

COMPLETE = pd.DataFrame({"age": [20.0, 30.0, 40.0, 50.0], "pay": [1.0, 2.0, 3.0, 4.0]})


def test_the_conditional_sampler_needs_complete_data() -> None:
    data = COMPLETE.assign(pay=[1.0, np.nan, 3.0, 4.0])
    observed = cp.Explainer(lambda rows: rows["age"] / 100, data).observed

    with pytest.raises(cp.InvalidInput, match="with missing values; use mutation='gaussian'"):
        fit_trees(observed)
