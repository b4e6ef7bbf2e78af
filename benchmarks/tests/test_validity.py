from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.validity.__main__ import as_markdown, measured
from benchmarks.validity.asking import WAYS, explained, is_on_grid, keeps_limits, tally
from benchmarks.validity.setups import SETUPS, build

import counterpoint as cp

FEW = [
    setup._replace(search=cp.Search(evaluations=200))
    for setup in SETUPS
    if (setup.table, setup.model)
    in {("iris", "float32 function"), ("one-hot", "boosting"), ("fine", "logistic")}
]

pytestmark = pytest.mark.filterwarnings("ignore::counterpoint.errors.DataWarning")


def test_there_are_thirty_set_ups_of_every_table_model_and_form() -> None:
    assert len({tuple(setup.words) for setup in SETUPS}) >= 30
    assert {setup.form for setup in SETUPS} == {"pandas", "polars", "numpy", "dict"}


def test_returned_rows_of_some_set_ups_are_valid_in_every_way() -> None:
    counts = measured(FEW, 100)

    assert len(counts) == len(FEW) == 3
    assert all(own["rows"] > 20 for own in counts)
    assert all(own[way] == 0 for own in counts for way in WAYS)
    assert len(as_markdown(FEW, counts).splitlines()) == 2 + 3 + 1


def test_a_model_that_denies_what_was_returned_is_noticed_in_every_way(tmp_path: Path) -> None:
    trial = build(FEW[0])
    row, found = next(explained(trial, 0))

    def deny(rows: Any) -> Any:
        return np.full(len(rows), "the same")

    counts = tally(trial._replace(model=trial.model._replace(answer=deny)), row, found, tmp_path)

    assert counts["rows"] > 0
    assert [counts[way] for way in WAYS[:4]] == [counts["rows"]] * 4


def test_two_levels_a_broken_limit_and_decimals_too_many_are_noticed() -> None:
    onehot, fine = (build(setup) for setup in FEW[1:])
    data = onehot.table.data
    row, rows = data.iloc[0], data[1:4].reset_index(drop=True)
    assert keeps_limits(onehot, rows, row).all()
    rows.loc[0, list(onehot.table.groups[0])] = 1
    rows.loc[1, "age"] = 200

    assert keeps_limits(onehot, rows, row).tolist() == [False, False, True]
    assert not is_on_grid(fine, fine.table.data[1:4], fine.table.data.iloc[0]).any()
    assert is_on_grid(fine, fine.table.data[1:4].round(2), fine.table.data.iloc[0]).all()
