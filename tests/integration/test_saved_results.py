"""Saved results of real models: read by another process, without the model or the data."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import counterpoint as cp
from counterpoint.datasets import load_credit

DATA, RISK = load_credit()
SEARCH = cp.Search(evaluations=400)


@pytest.fixture(scope="module")
def explainer() -> cp.Explainer:
    levels = [name for name in DATA.columns if DATA[name].dtype == "category"]
    encode = make_column_transformer((OneHotEncoder(), levels), remainder="passthrough")
    model = make_pipeline(encode, RandomForestClassifier(20, random_state=0))
    return cp.Explainer(model.fit(DATA[10:], RISK[10:]), DATA[10:])


def refused(explainer: cp.Explainer) -> Any:
    """Return the first row the model refuses."""
    labels = explainer.predictor.observed_labels
    at = int(np.flatnonzero(labels == list(explainer.classes or ()).index("bad"))[0])
    return DATA[10:].iloc[[at]]


QUESTIONS: dict[str, dict[str, Any]] = {
    "a class": {"target": "good"},
    "an interval": {"target": ("good", (0.8, 1.0)), "max_changed": 2},
    "opposite": {"target": "opposite", "fixed": ["sex", "age"]},
    "already met": {"target": "bad"},
    "bound": {"target": ("good", (0.99, 1.0)), "fixed": [*DATA.columns[1:]]},
    "what-if": {"target": "good", "search": cp.WhatIf(n=3)},
    "the paper's": {"target": "good", "search": cp.Search(generations=3, epsilon=np.inf)},
    "rules": {"target": "good", "constraints": ["age increases", "fixed sex", "job in 1.."]},
    "rules bind": {"target": "good", "search": cp.WhatIf(), "constraints": ["age in {75}"]},
    "forced": {"target": "good", "ranges": {"duration": (70, None)}},
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_loaded_result_says_what_the_saved_one_said(
    explainer: cp.Explainer, tmp_path: Path, question: str
) -> None:
    options = {"search": SEARCH} | QUESTIONS[question]
    found = explainer.explain(refused(explainer), **options, seed=3)

    found.save(tmp_path / "found.json")
    loaded = cp.load(tmp_path / "found.json")

    assert str(loaded) == str(found)
    assert (loaded.status, loaded.search) == (found.status, found.search)
    assert loaded.fingerprints == found.fingerprints
    pd.testing.assert_frame_equal(loaded.row, found.row)
    pd.testing.assert_frame_equal(
        loaded.to_frame(near_misses=True), found.to_frame(near_misses=True)
    )
    pd.testing.assert_frame_equal(loaded.history, found.history)
    assert [str(loaded.take(i)) for i in range(len(found.genomes))] == [
        str(found.take(i)) for i in range(len(found.genomes))
    ]


def test_the_questions_end_in_every_status(explainer: cp.Explainer) -> None:
    row = refused(explainer)
    asked = [{"search": SEARCH} | question for question in QUESTIONS.values()]

    statuses = {explainer.explain(row, **options, seed=3).status for options in asked}

    assert statuses >= {"found", "infeasible", "already_met"}


def test_another_process_reads_a_result_without_model_and_data(
    explainer: cp.Explainer, tmp_path: Path
) -> None:
    found = explainer.explain(refused(explainer), "good", SEARCH)
    found.save(tmp_path / "found.json")
    code = "import sys, counterpoint as cp; print(cp.load(sys.argv[1]), 'sklearn' in sys.modules)"

    told = subprocess.run(  # noqa: S603 - our own interpreter and code
        [sys.executable, "-c", code, str(tmp_path / "found.json")],
        capture_output=True,
        text=True,
        check=True,
    ).stdout

    assert told == f"{found} False\n"


def test_a_result_is_found_again_from_what_its_file_says(
    explainer: cp.Explainer, tmp_path: Path
) -> None:
    """What `continue_search` of a loaded result advises: ask again, with the same seed."""
    found = explainer.explain(refused(explainer), "good", SEARCH, seed=11)
    found.save(tmp_path / "found.json")
    loaded = cp.load(tmp_path / "found.json")

    again = explainer.explain(loaded.row, loaded.target, loaded.search, loaded.seed)

    np.testing.assert_array_equal(again.genomes, found.genomes)
    assert again.fingerprints == loaded.fingerprints


@pytest.mark.parametrize("write", ["save", "to_csv", "save_many", "report"])
def test_a_full_disk_is_told_and_the_old_file_stays(small_disk: Path, write: str) -> None:
    data = pd.DataFrame({"age": range(60)})
    explainer = cp.Explainer(lambda rows: rows["age"] / 60, data)
    found = explainer.explain({"age": 3}, (0.5, 1.0), cp.Search(evaluations=200))
    place = small_disk / "found"
    place.write_bytes(b"old")
    (small_disk / "other").write_bytes(bytes(11 * 4096))  # and nothing is left

    def save() -> None:
        if write == "save_many":
            cp.save_many([found] * 500, place)
        else:
            getattr(found, write)(place)

    with pytest.raises(cp.CannotWrite, match=r"^cannot write '.*found': No space left on device\."):
        save()

    assert place.read_bytes() == b"old"
    assert sorted(path.name for path in small_disk.iterdir()) == ["found", "other"]
