"""The ways in a file: what is read back is what was saved, and what no way could be is refused."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import counterpoint as cp
from counterpoint.result.file.loading import read_document
from counterpoint.result.file.saving import signed, write_document

DATA = pd.DataFrame({"age": np.arange(20, 60), "debt": np.arange(40) % 9, "job": list("abcd") * 10})


@pytest.fixture(scope="module")
def found() -> cp.Counterfactuals:
    explainer = cp.Explainer(lambda rows: rows["age"] / 80 - rows["debt"] / 40, DATA)
    return explainer.explain(DATA[:1], (0.5, None), cp.Search(evaluations=900))


def test_ways_survive_a_file(found: cp.Counterfactuals, tmp_path: Path) -> None:
    found.save(tmp_path / "found.json")

    loaded = cp.load(tmp_path / "found.json")

    assert loaded == found
    assert loaded.margin == found.margin
    assert loaded.ways().to_frame().equals(found.ways().to_frame())
    assert [way.minimality for way in loaded.ways()] == [way.minimality for way in found.ways()]
    assert loaded.select(3).to_frame().equals(found.select(3).to_frame())


def test_a_part_of_a_result_is_saved_without_ways(
    found: cp.Counterfactuals, tmp_path: Path
) -> None:
    found[:2].save(tmp_path / "part.json")

    assert cp.load(tmp_path / "part.json").way_rows is None


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (lambda ways: ways["ways"]["features"].__setitem__(0, []), "at least one"),
        (lambda ways: ways["ways"]["features"].__setitem__(0, [9]), r"features\[0\]"),
        (lambda ways: ways["rows"]["way"].__setitem__(0, 1), "in order"),
        (lambda ways: ways["rows"]["genomes"][0].__setitem__(0, 20.0), "exactly the features"),
        (lambda ways: ways["rows"]["objectives"][0].__setitem__(0, 0.1), "reach the target"),
        (lambda ways: ways["values"][1].__setitem__(0, 2), "features of their ways"),
        (lambda ways: ways["rows"]["is_front"].__setitem__(0, 1), "is_front"),
        (lambda ways: ways["ways"].pop("n_valid"), "n_valid"),
    ],
)
def test_what_no_way_could_be_is_refused(
    found: cp.Counterfactuals, harm: Any, message: str
) -> None:
    document = write_document(found)
    harm(document["way_rows"])

    with pytest.raises(cp.InvalidInput, match=message):
        read_document(signed(document))


@pytest.fixture(scope="module")
def proved() -> cp.Counterfactuals:
    explainer = cp.Explainer(lambda rows: rows["age"] / 80 - rows["debt"] / 40, DATA)
    return explainer.explain(DATA[:1], (0.5, None), cp.Exact())


def test_what_is_proved_survives_files_and_pickles(
    proved: cp.Counterfactuals, tmp_path: Path
) -> None:
    proved.save(tmp_path / "found.json")

    loaded = cp.load(tmp_path / "found.json")
    unpickled = pickle.loads(pickle.dumps(proved))  # noqa: S301 - our own

    assert proved.proof is not None
    assert proved.proof.nearest.status == "optimal"
    assert loaded == proved == unpickled
    assert loaded.proof == proved.proof == unpickled.proof
    assert loaded.search == cp.Exact()


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (lambda proof: proof.__setitem__("nearest", [0.1, 0.2]), "from 0 to the value"),
        (lambda proof: proof["by_changes"][0].__setitem__(0, 0), r"by_changes\[0\]"),
        (lambda proof: proof["ways"][0].__setitem__(0, [9]), r"ways\[0\]"),
        (lambda proof: proof.pop("reason"), "reason"),
    ],
)
def test_what_no_proof_could_be_is_refused(
    proved: cp.Counterfactuals, harm: Any, message: str
) -> None:
    document = write_document(proved)
    harm(document["proof"])

    with pytest.raises(cp.InvalidInput, match=message):
        read_document(signed(document))
