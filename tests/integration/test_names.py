"""Features may have the names of the result's own columns."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pandas as pd
import polars
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


DOORS: dict[str, Any] = {
    "a frame": lambda explainer, row, *asked: explainer.explain(row, *asked),
    "a series": lambda explainer, row, *asked: explainer.explain(row.iloc[0], *asked),
    "a dict": lambda explainer, row, *asked: explainer.explain(row.iloc[0].to_dict(), *asked),
    "many": lambda explainer, row, *asked: explainer.explain_many(row, *asked)[0],
    "each": lambda explainer, row, *asked: next(explainer.explain_each(row, *asked)),
    "polars": lambda explainer, row, *asked: explainer.explain(polars.from_pandas(row), *asked),
}


@pytest.mark.parametrize("door", DOORS.values(), ids=[*DOORS])
def test_columns_of_the_row_that_the_data_do_not_have_are_ignored_with_a_remark(door: Any) -> None:
    data = table("debt")
    explainer = cp.Explainer(lambda rows: (rows["age"] - rows["debt"]) / 60, data)
    row, wanted = data.iloc[[5]], ((0.5, None), cp.Search(evaluations=200))

    with pytest.warns(cp.DataWarning, match="^rows? has the column 'id', which the data") as told:
        found = door(explainer, row.assign(id=7), *wanted)

    assert told[0].filename == __file__
    pd.testing.assert_frame_equal(found.to_frame(), explainer.explain(row, *wanted).to_frame())
    assert list(found.row.columns) == ["age", "debt"]


def test_a_name_that_only_the_row_has_is_told_as_a_wrong_one_where_another_is_lacking() -> None:
    data = table("debt")
    explainer = cp.Explainer(lambda rows: (rows["age"] - rows["debt"]) / 60, data)

    with pytest.raises(cp.UnknownFeatureError, match="did you mean 'debt'"):
        explainer.explain(data.iloc[[5]].rename(columns={"debt": "dept"}), (0.5, None))
