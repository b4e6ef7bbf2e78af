"""The pure function from rows to counterfactuals: columns, lines, failures."""

from __future__ import annotations

import signal
from typing import Any

import numpy as np
import pandas as pd
import pytest

import counterpoint as cp
from counterpoint.batch.rows import Order, explain_rows, failed_rows

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

    few = found.select(10).valid()
    assert frame["counterfactual"].tolist() == list(range(1, len(few.genomes) + 1))
    assert set(frame["loan"]) == {"L0"}
    assert set(frame["status"]) == {"found"}
    assert set(frame["message"]) == {found.message}
    assert set(frame["evaluations"]) == {found.evaluations}
    assert frame["valid"].tolist() == few.reaches.tolist()
    expected = few.to_frame(near_misses=True)
    for name in expected.columns:
        assert frame[name].tolist() == expected[name].tolist()
    changed = [[str(n) for n in np.array(["age", "job", "debt"])[line]] for line in few.changed]
    assert frame["changed"].tolist() == changed
    assert frame["way"].tolist() == [" + ".join(names) for names in changed]


@pytest.mark.parametrize("keep", [1, 3, 10])
@pytest.mark.parametrize("row", [0, 1, 3])
def test_the_first_lines_are_of_the_ways_that_were_found(row: int, keep: int) -> None:
    ways = EXPLAINER.explain(DATA.iloc[[row]], (0.5, 1.0), FEW).ways()

    frame = explain_rows(EXPLAINER, DATA.iloc[[row]], Order((0.5, 1.0), FEW, keep=keep))

    names = [" + ".join(map(str, way.features)) for way in ways[:keep]]
    assert names
    assert frame["way"].tolist()[: len(names)] == names


def test_near_misses_say_what_they_change() -> None:
    frame = explain_rows(EXPLAINER, DATA.iloc[[0]], Order((3.0, 4.0), FEW))

    assert not frame["valid"].any()
    assert frame["way"].tolist() == [" + ".join(names) for names in frame["changed"]]
    assert (frame["way"] != "").all()


def test_a_feature_called_way_puts_a_prefix_before_our_columns() -> None:
    data = DATA.rename(columns={"job": "way"})
    explainer = cp.Explainer(lambda rows: rows["age"] / 100 - rows["debt"] / 50, data)

    frame = explain_rows(explainer, data[:1], Order((0.5, 1.0), FEW))

    assert set(frame["way"]) <= set(data["way"])
    assert frame["cf_way"].iloc[0] == "age"


def test_a_row_that_needs_nothing_has_one_line() -> None:
    frame = explain_rows(EXPLAINER, rows_of(6).iloc[4:5], ORDER)

    (line,) = frame.to_dict("records")
    assert (line["status"], line["counterfactual"], line["valid"]) == ("already_met", 0, False)
    assert (line["row"], line["changed"]) == (4, [])
    assert all(pd.isna(line[name]) for name in ("age", "prediction", "way"))


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


def test_a_model_that_fails_amid_the_search_fails_for_those_rows_only() -> None:
    """It takes observed rows and those given, but no cook younger than he was."""

    def touchy(rows: pd.DataFrame) -> Any:
        if ((rows["job"] == "cook") & (rows["age"] < 50)).any():
            raise RuntimeError(f"too young {object()!r}")
        return score(rows)

    explainer = cp.Explainer(touchy, DATA)
    order = Order((0.5, 1.0), FEW, id="loan", limits=cp.Limits(fixed=["job"]))

    frame = explain_rows(explainer, rows_of(), order)

    alone = [explain_rows(explainer, rows_of().iloc[[i]], order) for i in range(6)]
    pd.testing.assert_frame_equal(frame, pd.concat(alone, ignore_index=True))
    failed = frame[frame["status"] == "failed"]
    assert failed["loan"].tolist() == ["L3"]
    assert "rows: too young <object object>; asked row by row" in failed["message"].item()
    assert frame["loan"].drop_duplicates().tolist() == rows_of()["loan"].tolist()


def test_running_out_of_memory_is_no_rows_failure() -> None:
    def hungry(rows: pd.DataFrame) -> Any:
        if (rows["age"] == 21).any():
            raise MemoryError("no room")
        return score(rows)

    rows = rows_of().assign(age=[21, 30, 40, 50, 60, 70])

    with pytest.raises(MemoryError, match="no room"):
        explain_rows(cp.Explainer(hungry, DATA), rows, ORDER)


def test_an_interrupt_is_one() -> None:
    """Never half a result: what is found must not depend on when somebody presses Ctrl-C."""
    asked: list[int] = []

    def interrupted(rows: pd.DataFrame) -> Any:
        asked.append(len(rows))
        if len(asked) == n_before + 4:
            signal.raise_signal(signal.SIGINT)
        return score(rows)

    n_before = 10**9
    explainer = cp.Explainer(interrupted, DATA)
    n_before = len(asked)

    with pytest.raises(KeyboardInterrupt):
        explain_rows(explainer, rows_of(), ORDER)


def test_what_if_finds_observed_rows() -> None:
    frame = explain_rows(EXPLAINER, rows_of(2), Order((0.5, 1.0), cp.WhatIf(n=2), keep=1))

    assert frame["counterfactual"].tolist() == [1, 1]
    assert set(frame["age"]) <= set(DATA["age"])


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


@pytest.mark.parametrize("index", [range(10, 16), list("uvwxyz")])
def test_lines_of_what_if_say_which_observed_rows_they_are(index: Any) -> None:
    explainer = cp.Explainer(score, DATA.set_index(pd.Index(index)))
    order = Order((0.5, 1.0), cp.WhatIf(n=2), keep=None)
    expected = explainer.explain(DATA.iloc[[0]], (0.5, 1.0), cp.WhatIf(n=2)).to_frame()

    frame = explain_rows(explainer, DATA.iloc[[0, 4]], order)

    of_first = frame[frame["row"] == 0]
    assert of_first["observed"].tolist() == expected["observed"].tolist()
    assert frame[frame["counterfactual"] == 0]["observed"].isna().all()
    assert frame.dtypes.equals(order.schema_of(explainer).meta().dtypes)
    assert "observed" not in ORDER.schema_of(explainer).names
