"""Length, iteration, indices and frames speak of counterfactuals; near misses are asked for."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import counterpoint as cp

DATA = pd.DataFrame(
    {"age": np.arange(20, 60), "debt": np.arange(40) % 9 / 2, "job": list("abcd") * 10}
)
OWN = ["valid", "prediction", "gap", "distance", "changes", "implausibility"]
SEARCH = cp.Search(evaluations=300)


def score(rows: Any) -> Any:
    """Return a share that grows with the age and falls with debts, for each kind of table."""
    return np.asarray(rows["age"]) / 60 - np.asarray(rows["debt"]) / 20


def explain(data: Any, low: float = 0.6) -> cp.Counterfactuals:
    return cp.Explainer(score, data).explain(data[:1], (low, None), SEARCH)


FOUND, EFFORT = explain(DATA), explain(DATA, 5.0)
MIXED = FOUND.take(np.arange(len(FOUND.genomes))[::-1])  # near misses stand first
N, N_MISSED = int(FOUND.reaches.sum()), int((~FOUND.reaches).sum())


def test_the_example_has_both() -> None:
    assert N > 3
    assert N_MISSED > 3
    assert len(EFFORT.genomes) > 3
    assert not EFFORT.reaches.any()


def test_counterfactuals_come_first_and_are_counted() -> None:
    assert len(FOUND) == len(MIXED) == N
    assert FOUND.reaches[:N].all()
    assert (np.diff(FOUND.objectives[:, 0]) >= 0.0).all()
    assert bool(FOUND)
    assert f"{N} counterfactuals" in FOUND.message
    assert f"{N_MISSED} near misses" in FOUND.message


def test_what_holds_only_near_misses_is_empty_and_shows_them() -> None:
    few = EFFORT.select(3)

    assert len(few.genomes) == 3
    assert (len(few), list(few), bool(few)) == (0, [], False)
    assert len(few.to_frame()) == len(few.to_rows()) == 0
    assert not few.to_frame(near_misses=True)["valid"].any()
    assert "3 near misses" in few.message
    assert "3" in str(few).splitlines()[-1]


@pytest.mark.parametrize("found", [FOUND, MIXED, EFFORT])
def test_iterating_yields_each_counterfactual_as_a_result(found: cp.Counterfactuals) -> None:
    each = list(found)

    assert all(len(one) == len(one.genomes) == 1 for one in each)
    assert each == [found[i] for i in range(len(found))]
    assert list(reversed(each)) == [found[-1 - i] for i in range(len(found))]
    genomes = [one.genomes[0] for one in each]
    np.testing.assert_array_equal(
        np.reshape(genomes, (-1, found.genomes.shape[1])), found.valid().genomes
    )


def test_a_number_is_the_position_in_the_arrays() -> None:
    for i in range(N):
        np.testing.assert_array_equal(FOUND[i].genomes, FOUND.genomes[[i]])
        assert FOUND[np.int64(i)] == FOUND.take(i)


@given(st.slices(N + 3))
def test_slices_are_those_of_a_list(some: slice) -> None:
    assert list(FOUND[some]) == list(FOUND)[some]


@pytest.mark.parametrize("index", [N, -N - 1, 10**9])
def test_an_index_beyond_says_what_there_is(index: int) -> None:
    with pytest.raises(IndexError, match=f"there are {N} counterfactuals and {N_MISSED} near mis"):
        FOUND[index]
    with pytest.raises(IndexError, match=f"there are 0 counterfactuals and {len(EFFORT.genomes)}"):
        EFFORT[0]


@pytest.mark.parametrize("index", [True, "a", 1.0, [0], None])
def test_other_indices_are_refused(index: Any) -> None:
    with pytest.raises(cp.InvalidInput, match="takes a whole number or a slice"):
        FOUND[index]


@pytest.mark.parametrize("found", [FOUND, MIXED, EFFORT])
@pytest.mark.parametrize("only_changes", [False, True])
def test_frames_have_the_counterfactuals_and_all_candidates_when_asked(
    found: cp.Counterfactuals, only_changes: bool
) -> None:
    whole = found.to_frame(only_changes=only_changes, near_misses=True)
    frame = found.to_frame(only_changes=only_changes)

    assert list(frame.columns) == list(whole.columns) == [*DATA.columns, *OWN]
    assert frame["valid"].dtype == whole["valid"].dtype == np.bool_
    assert whole["valid"].tolist() == found.reaches.tolist()
    valid = whole[whole["valid"]].reset_index(drop=True)
    pd.testing.assert_frame_equal(frame, valid)
    rows = found.to_rows(near_misses=True)
    assert len(rows) == len(found.genomes)
    pd.testing.assert_frame_equal(found.to_rows(), rows[found.reaches].reset_index(drop=True))


@pytest.mark.parametrize("only_changes", [False, True])
@pytest.mark.parametrize("kind", ["polars", "pyarrow"])
def test_frames_of_other_kinds_have_the_same_rows(kind: str, only_changes: bool) -> None:
    data: Any = pl.from_pandas(DATA)
    if kind == "pyarrow":
        data = pa.Table.from_pandas(DATA, preserve_index=False)
    found = explain(data)

    frame = found.to_frame(only_changes=only_changes)
    whole = found.to_frame(only_changes=only_changes, near_misses=True)

    names = frame.columns if kind == "polars" else frame.column_names
    assert list(names) == [*DATA.columns, *OWN]
    boolean: Any = pl.Boolean() if kind == "polars" else pa.bool_()
    column = whole["valid"]
    assert (column.dtype if kind == "polars" else column.type) == boolean
    assert np.asarray(column).tolist() == FOUND.reaches.tolist()
    assert (len(frame), len(whole)) == (N, N + N_MISSED)
    assert (len(found.to_rows()), len(found.to_rows(near_misses=True))) == (N, N + N_MISSED)
    assert np.asarray(frame["gap"]).tolist() == [0.0] * N


@pytest.mark.parametrize("near_misses", [False, True])
def test_csv_is_the_frame(near_misses: bool, tmp_path: Path) -> None:
    path = tmp_path / "found.csv"

    text = FOUND.to_csv(near_misses=near_misses)

    assert text is not None
    read = pd.read_csv(io.StringIO(text))
    pd.testing.assert_frame_equal(read, FOUND.to_frame(near_misses=near_misses), check_dtype=False)
    assert FOUND.to_csv(path, near_misses=near_misses) is None
    assert path.read_bytes() == text.encode()


def test_csv_is_refused_where_there_is_no_folder(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as raised:
        FOUND.to_csv(tmp_path / "none" / "found.csv")
    assert isinstance(raised.value, cp.CounterpointError)


def test_hypervolume_and_history_are_those_of_the_whole_set() -> None:
    assert FOUND.hypervolume() == pytest.approx(FOUND.history["hypervolume"].iloc[-1])
    assert FOUND.hypervolume() > FOUND.valid().hypervolume()


def test_one_result_is_no_list_of_results(tmp_path: Path) -> None:
    with pytest.raises(cp.InvalidInput, match="takes a list of results, got one"):
        cp.save_many(FOUND, tmp_path / "found.parquet")
