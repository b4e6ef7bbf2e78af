"""Data of the study: from a folder, from OpenML's files, and embedded; preparation for fitting."""

from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from benchmarks.study import data, models, openml
from hypothesis import given
from hypothesis import strategies as st

ARFF = """% a table of our own
@relation weather
@attribute outlook {sunny, 'light rain', fog}
@attribute 'wind(speed)' numeric
@attribute binaryClass {P, N}
@data
sunny,3.5,P
'light rain',12,N
fog,0,N
sunny,7,P
"""
COLUMNS = [("outlook", "nominal"), ("wind(speed)", "numeric"), ("binaryClass", "nominal")]


def write_json(file: Path, content: object) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(gzip.compress(json.dumps(content).encode()))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Fill a cache as OpenML would: task 7 on dataset 70."""
    return fill(tmp_path, ARFF)


def fill(home: Path, arff: str) -> Path:
    answers = home / "openml" / "openml.org" / "api" / "v1" / "json" / "data"
    text = arff.encode()
    features = [
        {
            "index": str(index),
            "name": name,
            "data_type": kind,
            "is_target": str(name == "binaryClass").lower(),
            "is_ignore": "false",
            "is_row_identifier": "false",
            "number_of_missing_values": "0",
        }
        for index, (name, kind) in enumerate(COLUMNS)
    ]
    described = {
        "id": "70",
        "name": "weather",
        "version": "1",
        "status": "active",
        "format": "ARFF",
        "description": "",
        "url": "https://www.openml.org/data/v1/download/700/weather.arff",
        "md5_checksum": hashlib.md5(text, usedforsecurity=False).hexdigest(),
    }
    write_json(answers / "70.gz", {"data_set_description": described})
    write_json(answers / "features" / "70.gz", {"data_features": {"feature": features}})
    quality = [{"name": "NumberOfInstances", "value": "4"}]
    write_json(answers / "qualities" / "70.gz", {"data_qualities": {"quality": quality}})
    file = home / "openml" / "openml.org" / "data" / "v1" / "download" / "700" / "weather.arff.gz"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(gzip.compress(text))
    source = {"data_set_id": "70", "target_feature": "binaryClass"}
    task = {"task_id": "7", "input": [{"name": "source_data", "data_set": source}]}
    tasks = home / "openml" / "tasks" / "7.json"
    tasks.parent.mkdir(parents=True, exist_ok=True)
    tasks.write_text(json.dumps({"task": task}))
    return home


def test_a_task_is_read_by_fetch_openml_from_its_arff_file(home: Path) -> None:
    table, classes = openml.fetch(7, home)

    assert list(table.columns) == ["outlook", "wind.speed."]
    assert list(table["outlook"].cat.categories) == ["sunny", "light rain", "fog"]
    assert list(table["outlook"]) == ["sunny", "light rain", "fog", "sunny"]
    np.testing.assert_array_equal(table["wind.speed."], [3.5, 12.0, 0.0, 7.0])
    assert table["wind.speed."].dtype == np.float64
    assert list(classes) == [1, 0, 0, 1]  # the first declared class is 1


def test_missing_values_are_refused(tmp_path: Path) -> None:
    home = fill(tmp_path, ARFF.replace("fog,0,N", "fog,?,N"))

    with pytest.raises(ValueError, match=r"task 7: values are missing in \['wind\(speed\)'\]"):
        openml.fetch(7, home)


def test_a_task_without_a_dataset_is_refused() -> None:
    with pytest.raises(ValueError, match="task 9: its description names no source_data"):
        openml.source({"task_id": 9, "input": []})


def test_a_folder_gives_rows_classes_and_explained_rows(tmp_path: Path) -> None:
    place = tmp_path / "tae"
    place.mkdir()
    (place / "data.csv").write_text("x,s,y\n1,NA,0\n2,b,1\n3,NA,1\n4,b,0\n")
    schema = {"target": "y", "numeric": ["x"], "categorical": ["s"], "x_interest_rows": [4, 2]}
    (place / "schema.json").write_text(json.dumps(schema))

    dataset = data.load("tae", tmp_path)

    assert list(dataset.rows.index) == [4, 2]
    assert list(dataset.data.index) == [1, 3]
    assert list(dataset.data["s"]) == ["NA", "NA"]  # a level of that name, not a missing value
    assert list(dataset.classes) == [0, 1]
    assert (dataset.numbers, dataset.levels) == (["x"], ["s"])
    assert data.names("tuning", tmp_path) == ["tae"]


def test_an_unknown_dataset_is_named() -> None:
    with pytest.raises(ValueError, match="there is no dataset 'mars'; those of the study are"):
        data.load("mars")


def test_an_unknown_study_is_named() -> None:
    with pytest.raises(ValueError, match="study must be 'benchmark', 'tuning' or 'embedded', got"):
        data.names("all", None)


def test_a_folder_without_the_dataset_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"there is no boston/schema\.json in"):
        data.load("boston", tmp_path)


@pytest.mark.parametrize("name", data.EMBEDDED)
def test_embedded_data_need_no_file(name: str) -> None:
    dataset = data.load(name)

    assert len(dataset.rows) == data.N_EXPLAINED
    assert not set(dataset.rows.index) & set(dataset.data.index)
    assert set(dataset.classes) == {0, 1}


@given(n=st.integers(1, 40), wanted=st.integers(1, 10))
def test_drawn_rows_are_distinct_and_exist(n: int, wanted: int) -> None:
    numbers = data.drawn_rows(pd.DataFrame({"x": range(n)}), wanted)

    assert len(set(numbers)) == len(numbers) == min(n, wanted)
    assert all(1 <= number <= n for number in numbers)


@given(
    classes=st.lists(st.integers(0, 1), min_size=2).filter(lambda c: len(set(c)) == 2),
    rate=st.integers(1, 5),
)
def test_oversampling_repeats_the_rarer_class_only(classes: list[int], rate: int) -> None:
    known = pd.Series(classes)
    rarer = known.value_counts().idxmin()

    table, repeated = models.oversampled(pd.DataFrame({"x": range(len(known))}), known, rate)

    assert (repeated == rarer).sum() == rate * (known == rarer).sum()
    assert (repeated != rarer).sum() == (known != rarer).sum()
    assert set(table["x"]) == set(range(len(known)))
