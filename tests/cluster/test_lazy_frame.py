"""A lazy frame on the processes of a real cluster: each of them builds its explainer once."""

from __future__ import annotations

import os
from pathlib import Path

import pandas as pd
import pytest
from tests.integration.batch.test_explain_frame import (
    DATA,
    FEW,
    ROWS,
    TARGET,
    Heavy,
    expected,
    lazy_rows,
)

import counterpoint as cp


@pytest.mark.filterwarnings("ignore")  # Dask's own, of ports and of time
def test_a_process_builds_it_once(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    explainer = cp.Explainer(Heavy(str(tmp_path)), DATA)
    lazy = cp.explain_frame(explainer, lazy_rows(12), TARGET, FEW, id="loan")

    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=2, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster),
    ):
        done = lazy.compute()
        again = lazy.compute()

    done["loan"] = done["loan"].astype(ROWS["loan"].dtype)
    pd.testing.assert_frame_equal(done.reset_index(drop=True), expected())
    assert len(again) == len(done)
    lives = {file.name: file.read_text().count("\n") for file in tmp_path.iterdir()}
    lives.pop(str(os.getpid()), None)
    assert 1 <= len(lives) <= 2
    assert set(lives.values()) == {1}
