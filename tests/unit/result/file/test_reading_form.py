from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tests.documents import load_changed

import counterpoint as cp

DATA = pd.DataFrame(
    {
        "job_b": [0, 1, 0, 0, 1, 0],
        "age": [20, 30, 40, 50, 60, 25],
        "job_a": [1, 0, 0, 1, 0, 0],
    }
)
GROUPS = {"job": ["job_a", "job_b"]}
TABLES: dict[str, Callable[[], Any]] = {
    "pandas": lambda: DATA,
    "polars": lambda: pl.DataFrame(DATA.to_dict("list")),
    "pyarrow": lambda: pa.table(DATA.to_dict("list")),
}


def judge(rows: Any) -> Any:
    return np.asarray(rows["age"]) / 100.0 + np.asarray(rows["job_b"]) / 10.0


def explain(kind: str, *, is_fixed: bool = False) -> cp.Counterfactuals:
    data = TABLES[kind]()
    return cp.Explainer(judge, data, groups=GROUPS).explain(
        data[:1], (0.45, None), fixed=["age"] if is_fixed else []
    )


def document_of(found: cp.Counterfactuals, path: Path) -> Any:
    found.save(path)
    return json.loads(path.read_text())


@pytest.mark.parametrize("kind", TABLES)
def test_a_group_whose_columns_lie_apart_is_saved_in_any_kind_of_table(
    kind: str, tmp_path: Path
) -> None:
    found = explain(kind)
    found.save(tmp_path / "found.json")

    loaded = cp.load(tmp_path / "found.json")

    assert type(loaded.to_rows(near_misses=True)) is type(found.to_rows(near_misses=True))
    assert loaded.to_rows(near_misses=True).equals(found.to_rows(near_misses=True))
    assert loaded.to_frame(near_misses=True).equals(found.to_frame(near_misses=True))
    assert loaded.row.equals(found.row)
    assert str(loaded) == str(found)
    assert "job" in str(explain(kind, is_fixed=True))


def test_a_plain_pandas_frame_needs_no_form(tmp_path: Path) -> None:
    found = cp.Explainer(lambda rows: rows["age"] / 100, DATA, groups={}).explain(
        DATA[:1], (0.4, 1.0)
    )

    assert document_of(found, tmp_path / "found.json")["form"] is None


def test_the_kind_of_table_is_part_of_the_datas_fingerprint() -> None:
    prints = {explain(kind).fingerprints.data for kind in TABLES}

    assert len(prints) == 3


def put(*keys: Any) -> Callable[[Any], Any]:
    *way, last, value = keys

    def change(document: Any) -> None:
        for key in way:
            document = document[key]
        document[last] = value

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (put("form", []), "$.form must be an object, got []."),
        (put("form", "kind", "spark"), "$.form.kind must be one of 'numpy', 'pandas', 'polars'"),
        (put("form", "types", []), "$.form.types must have 3 entries, got 0."),
        (put("form", "types", 0, "Object"), "$.form.types[0] must be one of"),
        (put("form", "types", 0, 3), "$.form.types[0] must be one of"),
        (put("form", "order", [0, 0, 1]), "$.form.order must name each of 3 columns once."),
        (put("form", "order", [0, 1, 9]), "$.form.order[2] must be a whole number from 0 to 2"),
        (put("form", "order", [0]), "$.form.order must name each of 3 columns once."),
        (put("form", "eval", 1), "$.form has the unknown key 'eval'."),
        (put("features", 0, "columns", []), "$.features[0] describes no one-hot group"),
        (put("features", 0, "levels", ["a"]), "$.features[0] describes no column"),
        (put("features", 0, "kind", "ordered"), "$.features[0] describes no one-hot group"),
        (put("features", 0, "columns", 0, "name", "age"), "each with a name of its own"),
        (put("features", 0, "name", "age"), "each with a name of its own"),
        (put("genomes", 0, 0, 3.0), "$.genomes[0][0] must be the code of a level that 'job'"),
    ],
)
def test_a_wrong_form_is_refused_by_its_place(
    change: Callable[[Any], Any], message: str, tmp_path: Path
) -> None:
    document = document_of(explain("polars"), tmp_path / "found.json")

    with pytest.raises(cp.InvalidInput, match=re.escape(message)):
        load_changed(document, tmp_path / "changed.json", change)


@pytest.mark.parametrize("name", ["int7", "complex128", "datetime64[xx]", "str", 3])
def test_an_array_of_no_known_dtype_is_refused(name: Any, tmp_path: Path) -> None:
    data = DATA.to_numpy()
    found = cp.Explainer(lambda rows: rows[:, 1] / 100, data).explain(data[0], (0.4, None))
    document = document_of(found, tmp_path / "found.json")

    with pytest.raises(cp.InvalidInput, match="cannot be loaded"):
        load_changed(document, tmp_path / "changed.json", put("form", "types", 0, name))


@pytest.mark.parametrize(
    "data",
    [
        DATA.to_numpy(np.float32),
        DATA.to_numpy(object),
        DATA.astype(str).to_numpy(str),
        DATA.to_numpy() > 20,
    ],
)
def test_an_array_is_saved_with_its_dtype(data: Any, tmp_path: Path) -> None:
    def model(rows: Any) -> Any:
        return rows[:, 1].astype(float) / 100.0

    found = cp.Explainer(model, data).explain(data[0], (0.25, None))
    found.save(tmp_path / "found.json")

    loaded = cp.load(tmp_path / "found.json")

    assert (
        loaded.to_rows(near_misses=True).dtype
        == found.to_rows(near_misses=True).dtype
        == data.dtype
    )
    np.testing.assert_array_equal(loaded.to_rows(near_misses=True), found.to_rows(near_misses=True))
