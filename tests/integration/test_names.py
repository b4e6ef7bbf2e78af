"""Features may have the names of the result's own columns."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import counterpoint as cp

OWN = ["valid", "class", "prediction", "gap", "distance", "changes", "implausibility"]


def table(name: str) -> pd.DataFrame:
    values = np.arange(60)
    return pd.DataFrame({"age": values, name: values * 7 % 13})


def explained(name: str) -> cp.Counterfactuals:
    data = table(name)
    model = LogisticRegression().fit(data, data["age"] + data[name] > 40)
    return cp.Explainer(model, data).explain(data.iloc[[5]], True, cp.Search(evaluations=200))


@pytest.mark.parametrize("name", [*OWN, "way"])
def test_a_feature_may_have_any_name(name: str, tmp_path: Any) -> None:
    found = explained(name)

    frame = found.to_frame()

    prefix = "cf_" if name in OWN else ""
    assert list(frame.columns) == ["age", name, *(f"{prefix}{own}" for own in OWN)]
    pd.testing.assert_frame_equal(frame[["age", name]], found.to_rows())
    assert frame[f"{prefix}valid"].all()
    assert found.to_frame(only_changes=True).columns.equals(frame.columns)
    assert list(pd.read_csv(io.StringIO(found.to_csv())).columns) == list(frame.columns)
    found.save(tmp_path / "found.json")
    pd.testing.assert_frame_equal(cp.load(tmp_path / "found.json").to_frame(), frame)


def test_a_feature_called_as_the_prefix_makes_it_is_kept_apart_too() -> None:
    data = table("gap").assign(cf_age=1, cf_gap=np.arange(60) % 3)
    found = cp.Explainer(lambda rows: rows["age"] / 60, data).explain(data[:1], (0.5, None))

    assert list(found.to_frame().columns[-2:]) == ["cf_cf_changes", "cf_cf_implausibility"]


def test_the_caller_may_give_a_prefix_that_makes_no_feature() -> None:
    found = explained("distance")

    assert list(found.to_frame(prefix="my_").columns[2:4]) == ["my_valid", "my_class"]
    with pytest.raises(cp.InvalidInput, match="prefix='' makes 'distance', which is the name of a"):
        found.to_frame(prefix="")
    with pytest.raises(cp.InvalidInput, match="prefix must be a text, such as 'cf_', got 3"):
        found.to_csv(prefix=3)  # type: ignore[arg-type]
