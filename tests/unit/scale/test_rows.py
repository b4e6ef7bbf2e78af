"""The pure function from rows to counterfactuals: columns, lines, failures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import counterpoint as cp
from counterpoint.scale.order import Order
from counterpoint.scale.rows import explain_rows, failed_rows

FEW = cp.Search(evaluations=60)


def score(rows: pd.DataFrame) -> Any:
    """Return a score that is higher for the old and the rich."""
    return rows["age"] / 100 + (rows["job"] == "clerk") * 0.2 - rows["debt"] / 50


DATA = pd.DataFrame(
    {
        "age": [20, 30, 40, 50, 60, 70],
        "job": ["clerk", "nurse", "clerk", "cook", "cook", "nurse"],
        "debt": [9.5, 5.0, 3.0, 1.0, 2.0, 4.5],
    }
)
EXPLAINER = cp.Explainer(score, DATA)
ORDER = Order((0.5, 1.0), FEW, id="loan")


def rows_of(n: int = 6) -> pd.DataFrame:
    """Return rows with an id and a column that is nobody's business."""
    rows = DATA.iloc[:n].assign(loan=[f"L{i}" for i in range(n)], note="?")
    return rows[["note", "debt", "loan", "job", "age"]]


def test_lines_are_what_explain_finds() -> None:
    found = EXPLAINER.explain(DATA.iloc[[0]], (0.5, 1.0), FEW)

    frame = explain_rows(EXPLAINER, rows_of(1), ORDER)

    few = found.select(10)
    assert frame["counterfactual"].tolist() == list(range(1, len(few) + 1))
    assert set(frame["loan"]) == {"L0"}
    assert set(frame["status"]) == {"found"}
    assert set(frame["message"]) == {found.message}
    assert set(frame["evaluations"]) == {found.evaluations}
    assert frame["valid"].tolist() == few.reaches.tolist()
    expected = few.to_frame()
    for name in expected.columns:
        assert frame[name].tolist() == expected[name].tolist()
    changed = [[str(n) for n in np.array(["age", "job", "debt"])[line]] for line in few.changed]
    assert frame["changed"].tolist() == changed


def test_a_row_that_needs_nothing_has_one_line() -> None:
    frame = explain_rows(EXPLAINER, rows_of(6).iloc[4:5], ORDER)

    (line,) = frame.to_dict("records")
    assert (line["status"], line["counterfactual"], line["valid"]) == ("already_met", 0, False)
    assert (line["row"], line["changed"]) == (4, [])
    assert pd.isna(line["age"])
    assert pd.isna(line["prediction"])


def test_a_bad_row_fails_alone() -> None:
    rows = rows_of()
    spoilt = rows.assign(job=["clerk", "nurse", "baker", "cook", "cook", "nurse"])
    clean = explain_rows(EXPLAINER, rows, ORDER)

    frame = explain_rows(EXPLAINER, spoilt, ORDER)

    bad = frame["loan"] == "L2"
    (message,) = frame.loc[bad, "message"]
    assert message.startswith("rows column 'job' has the level 'baker', which the data do not have")
    assert frame.loc[bad, "status"].tolist() == ["failed"]
    others = clean[clean["loan"] != "L2"].reset_index(drop=True)
    pd.testing.assert_frame_equal(frame[~bad].reset_index(drop=True), others)


def test_rows_that_were_lost_are_lines_of_the_same_columns() -> None:
    rows = rows_of(2)
    schema = ORDER.schema_of(EXPLAINER, rows["loan"].dtype)

    frame = failed_rows(schema, rows, "its worker died while it was explained")

    pd.testing.assert_series_equal(frame.dtypes, schema.meta().dtypes)
    assert frame["loan"].tolist() == ["L0", "L1"]
    assert frame["message"].unique().tolist() == ["its worker died while it was explained"]


def test_rows_that_lack_columns_are_refused() -> None:
    with pytest.raises(cp.InvalidInput, match=r"rows lack the columns 'age' and 'debt'"):
        explain_rows(EXPLAINER, rows_of().drop(columns=["age", "debt"]), ORDER)
    with pytest.raises(cp.InvalidInput, match=r"id='loan' is not a column of the rows"):
        explain_rows(EXPLAINER, rows_of().drop(columns="loan"), ORDER)
