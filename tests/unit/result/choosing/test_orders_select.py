from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

import counterpoint as cp


@pytest.mark.parametrize("by", ["ways", "diverse", "closest"])
def test_observed_rows_that_are_chosen_keep_their_labels(by: Any) -> None:
    data = pd.DataFrame(
        {"a": range(60), "b": [i % 5 for i in range(60)]}, index=[f"r{i}" for i in range(60)]
    )
    explainer = cp.Explainer(lambda rows: rows["a"] / 60, data)
    found = explainer.explain(data[:1], (0.5, None), cp.WhatIf(n=4))

    chosen = found.select(3, by=by).to_frame()

    assert len(chosen) == 3
    assert data.loc[chosen["observed"], "a"].to_list() == chosen["a"].to_list()
