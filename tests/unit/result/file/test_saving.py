"""What a file of a result holds, how it is written, and what the loader refuses."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from dataclasses import fields
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.documents import load_changed

import counterpoint as cp
from counterpoint.result.facts import Trace, round_digits
from counterpoint.result.file.saving import signed
from counterpoint.table.features import Feature

DATA = pd.DataFrame(
    {
        "age": [22, 35, 41, 58, 63, 30],
        "rate": [0.5, 1.25, 0.75, 2.0, 1.5, 1.0],
        "job": ["clerk", "nurse", "smith", "nurse", "clerk", "smith"],
        "size": pd.Categorical(list("SMLSML"), list("SML"), ordered=True),
        "owns": [True, False, True, True, False, False],
    }
)
ROW = {"age": 25, "rate": 1.0, "job": "clerk", "size": "S", "owns": False}
SEARCH = cp.Search(generations=6)


def score(rows: pd.DataFrame) -> Any:
    return (rows["age"] + 10 * rows["owns"] + 5 * (rows["job"] == "nurse")) / 100


def explain(**options: Any) -> cp.Counterfactuals:
    asked: dict[str, Any] = {"row": ROW, "target": (0.4, 0.9), "search": SEARCH} | options
    return cp.Explainer(score, DATA).explain(**asked)


@pytest.fixture(scope="module")
def found() -> cp.Counterfactuals:
    return explain(fixed=["size"], ranges={"age": (20, None)}, max_changed=3)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "found.json"


@pytest.fixture(scope="module")
def document(found: cp.Counterfactuals, tmp_path_factory: pytest.TempPathFactory) -> Any:
    file = tmp_path_factory.mktemp("saved") / "found.json"
    found.save(file)
    return json.loads(file.read_text())


def put(*keys: Any) -> Callable[[Any], Any]:
    """Return the change that puts the last of `keys` where the others lead."""
    *way, last, value = keys

    def change(document: Any) -> None:
        for key in way:
            document = document[key]
        document[last] = value

    return change


# What a document holds


def test_a_document_says_what_it_is_before_anything_else(document: Any) -> None:
    keys = list(document)

    assert keys[:3] == ["format", "version", "counterpoint"]
    assert document["format"] == "counterpoint/counterfactuals"
    assert document["version"] == 1
    assert document["counterpoint"] == cp.__version__


def test_a_document_holds_every_attribute_by_its_name(
    found: cp.Counterfactuals, document: Any
) -> None:
    """An attribute that is added later must be saved too, or be left out on purpose here."""
    of = {
        "target": cp.Target,
        "limits": cp.Limits,
        "trace": Trace,
    }

    saved = {key: set(document[key]) for key in of}

    expected = {key: {field.name for field in fields(kind)} for key, kind in of.items()}
    expected["target"].remove("classes")  # which the row has
    assert saved == expected
    # Of a group only, of what has missing values, and in the remarks.
    elsewhere = {"columns", "missing", "unit", "is_protected"}
    assert {*document["features"][0]} == {field.name for field in fields(Feature)} - elsewhere
    assert {*document["search"]["settings"]} == {field.name for field in fields(found.search)}
    # The data and the model are not saved; what they say of themselves is.
    own = {field.name for field in fields(found)} - {
        "encoding",
        "facts",
        "genome",
        "live",
        "origin",
    }
    asked = {field.name for field in fields(found.facts)} - {"row_outputs", "classes", "worst"}
    known = {field.name for field in fields(found.remembered)} - {"version"}
    assert own | asked | known <= set(document)
    assert {*document["limits"]} == {field.name for field in fields(cp.Limits)}


def test_an_open_side_of_a_target_is_null(path: Path) -> None:
    found = explain(target=(0.4, None))

    found.save(path)

    assert json.loads(path.read_text())["target"]["high"] is None
    assert cp.load(path).target == cp.Target(0.4, np.inf)


def test_a_saved_result_keeps_the_rows_index(path: Path) -> None:
    row = pd.DataFrame([ROW], index=pd.Index(["A-1071"], name="applicant"))

    explain(row=row).save(path)

    pd.testing.assert_frame_equal(cp.load(path).row, row)
    assert cp.load(path).notes == ()


def test_an_index_json_does_not_have_becomes_text_and_a_note(path: Path) -> None:
    row = pd.DataFrame([ROW], index=[pd.Timestamp("2024-05-01")])

    explain(row=row).save(path)

    loaded = cp.load(path)
    assert loaded.row.index.to_list() == ["2024-05-01 00:00:00"]
    assert loaded.notes == ("the row's index Timestamp('2024-05-01 00:00:00') was saved as text.",)


def test_a_level_json_cannot_hold_is_refused_by_name(path: Path) -> None:
    data = DATA.assign(job=pd.Categorical([1j, 2j, 1j, 2j, 1j, 2j]))
    found = cp.Explainer(lambda rows: rows["age"] / 100, data).explain(
        ROW | {"job": 1j}, (0.4, 0.9), SEARCH
    )

    with pytest.raises(cp.InvalidInput, match=r"column 'job': level 1j is a complex, which cannot"):
        found.save(path)
    assert not path.exists()


# What a loaded result can do


def test_a_loaded_result_cannot_be_continued(found: cp.Counterfactuals, path: Path) -> None:
    found.save(path)

    with pytest.raises(
        cp.InvalidInput,
        match=r"loaded from a file or unpickled, .*; make an Explainer and call explain again with "
        r"the same seed\.",
    ):
        cp.load(path).continue_search(100)


def test_a_loaded_result_cannot_ask_the_model(found: cp.Counterfactuals, path: Path) -> None:
    found.save(path)

    with pytest.raises(cp.InvalidInput, match="without its model and data; make an Explainer"):
        cp.load(path).minimality()


def test_fingerprints_tell_data_and_models_apart(found: cp.Counterfactuals) -> None:
    def fingerprints(model: Any, data: pd.DataFrame) -> Any:
        return cp.Explainer(model, data).explain(ROW, (0.4, 0.9), SEARCH).fingerprints

    same = fingerprints(score, DATA.copy())
    other_data = fingerprints(score, DATA.assign(rate=DATA["rate"] + 0.25))
    other_model = fingerprints(lambda rows: score(rows) + 1e-3, DATA)
    nearly = fingerprints(lambda rows: score(rows) * (1 + 1e-15), DATA)

    assert found.fingerprints == same == nearly
    assert other_data.data != same.data
    assert other_data.model == same.model  # it says the same of each
    assert (other_model.data, other_model.model != same.model) == (same.data, True)


def test_scores_are_rounded_to_six_digits_at_any_size() -> None:
    values = np.array([[1e-300, 123456.7, -9.9999999e20, 0.0]])

    assert round_digits(values) == pytest.approx(np.array([[1e-300, 123457.0, -1e21, 0.0]]))


# How a file is written


def test_an_existing_file_is_replaced_and_keeps_its_mode(
    found: cp.Counterfactuals, path: Path
) -> None:
    path.write_text("old")
    path.chmod(0o640)

    found.save(path)

    assert cp.load(path) == found
    assert path.stat().st_mode & 0o777 == 0o640
    assert os.listdir(path.parent) == [path.name]


def test_a_link_stays_a_link(found: cp.Counterfactuals, path: Path) -> None:
    link = path.with_name("link.json")
    link.symlink_to(path)

    found.save(link)

    assert link.is_symlink()
    assert path.read_text() == link.read_text()


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failed_save_leaves_the_old_file_and_nothing_else(
    found: cp.Counterfactuals, path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def fail(*_: Any) -> None:
        raise OSError("no space left")

    path.write_text("old")
    monkeypatch.setattr(os, step, fail)

    with pytest.raises(
        cp.CannotWrite, match=r"^cannot write '.*json': no space left\. What was th"
    ):
        found.save(path)

    assert path.read_text() == "old"
    assert os.listdir(path.parent) == [path.name]


def test_a_missing_folder_is_named(found: cp.Counterfactuals, tmp_path: Path) -> None:
    path = tmp_path / "nowhere" / "found.json"

    with pytest.raises(cp.CounterpointError, match=r"no folder '.*nowhere' to save into") as caught:
        found.save(path)
    assert isinstance(caught.value, FileNotFoundError)


def test_a_folder_is_no_file(found: cp.Counterfactuals, tmp_path: Path) -> None:
    with pytest.raises(cp.InvalidInput, match="is a folder; give the name of a file in it"):
        found.save(tmp_path)
    with pytest.raises(cp.InvalidInput, match="is not a file that could hold a result"):
        cp.load(tmp_path)


@pytest.mark.parametrize("name", [3, "", b"found.json", "a\0b", None])
def test_a_path_must_name_a_file(found: cp.Counterfactuals, name: Any) -> None:
    with pytest.raises(cp.InvalidInput, match="path must be the name of a file, got"):
        found.save(name)
    with pytest.raises(cp.InvalidInput, match="path must be the name of a file, got"):
        cp.load(name)


# What the loader refuses


def test_a_file_is_no_folder(found: cp.Counterfactuals, path: Path) -> None:
    found.save(path)

    for load in (cp.load, cp.load_many):
        with pytest.raises(cp.NoSuchFile, match=r"^there is no file '.*found\.json/x'\.$"):
            load(path / "x")
    with pytest.raises(cp.NoSuchFile, match=r"^there is no folder '.*json' to save into"):
        found.save(path / "x")


def test_a_name_no_file_can_have_is_told(found: cp.Counterfactuals, tmp_path: Path) -> None:
    name = tmp_path / ("x" * 300)

    with pytest.raises(cp.InvalidInput, match=r"x' cannot be read: File name too long\."):
        cp.load(name)
    with pytest.raises(cp.CannotWrite, match=r"x': File name too long\."):
        found.save(name)


NANS = {
    "float": pd.Index(["age", np.nan], dtype=object),
    "text": pd.Index(["age", np.nan], dtype="str"),
    "decimal": pd.Index(["age", Decimal("NaN")], dtype=object),
    "single": pd.Index(["age", np.float32("nan")], dtype=object),
    "date": pd.DatetimeIndex(["2020-01-01", None]),
    "none": pd.Index(["age", None], dtype=object),
}


@pytest.mark.parametrize("kind", NANS)
def test_a_column_whose_name_is_missing_is_loaded(path: Path, kind: str) -> None:
    data = pd.DataFrame({"age": range(20), "pay": range(20)}).set_axis(NANS[kind], axis=1)
    explainer = cp.Explainer(lambda rows: np.asarray(rows.iloc[:, 1]) / 20.0, data)
    name = explainer.schema.names[0]
    found = explainer.explain(data.iloc[[0]], (0.5, 1.0), SEARCH, fixed=[name])
    found.save(path)

    loaded = cp.load(path)

    pd.testing.assert_frame_equal(loaded.to_frame(), found.to_frame())
    pd.testing.assert_frame_equal(loaded.row, found.row)
    assert str(loaded) == str(found)


def test_a_fixed_column_whose_name_is_missing_is_loaded(path: Path) -> None:
    data = pd.DataFrame({"age": range(20), "pay": range(20)}).set_axis(NANS["float"], axis=1)
    explainer = cp.Explainer(lambda rows: np.asarray(rows.iloc[:, 0]) / 20.0, data)
    found = explainer.explain(data.iloc[[0]], (0.5, 1.0), SEARCH, fixed=[np.nan])
    found.save(path)

    assert str(cp.load(path)) == str(found)


def test_a_newer_version_asks_for_an_update(document: Any, path: Path) -> None:
    def change(document: Any) -> None:
        document |= {"version": 5, "novelty": []}

    with pytest.raises(
        cp.InvalidInput,
        match=r"found\.json' cannot be loaded: it was written by a newer counterpoint "
        r"\(format version 5\); update counterpoint\.",
    ):
        load_changed(document, path, change)


def test_a_tuple_without_end_is_refused(document: Any, path: Path) -> None:
    text = json.dumps(signed(document | {"notes": "HERE"}))
    path.write_text(text.replace('"HERE"', '{"tuple":[' * 400 + "]}" * 400))

    with pytest.raises(cp.InvalidInput, match=r"\$\.notes must be a list"):
        cp.load(path)


REFUSED = [
    (put("objectives", 0, 1, "a"), "$.objectives[0][1] must be a finite number, got 'a'."),
    (put("objectives", 0, 1, True), "$.objectives[0][1] must be a finite number, got True."),
    (put("objectives", 0, 1, 10**400), "$.objectives[0][1] must be a finite number, got 1000"),
    (put("objectives", 0, 1, -1.0), "$.objectives[0][1] must be at least 0, got -1.0."),
    (put("objectives", 0, 2, 4.0), "the number of features that differ from the row, got 4.0."),
    (put("objectives", 0, [1.0]), "$.objectives[0] must have 4 entries, got 1."),
    (put("predictions", []), "$.predictions must have "),
    (put("predictions", {}), "$.predictions must be a list, got {}."),
    (put("genomes", 0, 2, 3.0), "$.genomes[0][2] must be the code of a level that 'job' can have"),
    (put("genomes", 0, 2, 0.5), "$.genomes[0][2] must be the code of a level that 'job' can have"),
    (put("genomes", 0, 0, 30.5), "$.genomes[0][0] must be a number that 'age' can have, got 30.5."),
    (put("genomes", 0, 0, 1e300), "$.genomes[0][0] must be a number that 'age' can have"),
    (put("genomes", 0, []), "$.genomes[0] must have 5 entries, got 0."),
    (put("seed", -1), "$.seed must be a whole number from 0 to 18446744073709551615, got -1."),
    (put("seed", 1.0), "$.seed must be a whole number"),
    (put("novelty", 1), "$ has the unknown key 'novelty'."),
    (put("target", "hight", 1), "$.target has the unknown key 'hight'."),
    (lambda document: document.pop("seed"), "$ lacks the key 'seed'."),
    (put("target", "low", 2.0), "is upside down"),
    (put("target", "column", 1), "$.target.column must be a whole number from 0 to 0, got 1."),
    (put("target", "is_complement", 0), "$.target.is_complement must be true or false, got 0."),
    (put("target", "wanted", [0]), "$.target.wanted[0] must be a whole number"),
    (put("codes", 0, 1), "$.codes[0] must be a whole number from 0 to 0, got 1."),
    (put("row", "classes", ["a"] * 9), "$.row.classes must be a list with one class for each"),
    (put("limits", "fixed", ["age"]), "'age' is both in fixed and in ranges"),
    (put("limits", "max_changed", 1.5), "$.limits.max_changed must be a whole number from 1 to"),
    (put("limits", "max_changed", 6), "$.limits.max_changed must be a whole number from 1 to 5"),
    (put("search", "type", "Popen"), "$.search.type must be one of 'Exact', 'Explore', 'NICE'"),
    (put("search", "settings", []), "$.search.settings must be an object, got []."),
    (put("search", "settings", "speed", 1), "$.search.settings has the unknown key 'speed'."),
    (put("search", "settings", "method", "magic"), "Search.method must be 'explore', got 'magic'"),
    (put("search", "settings", "p_min", 0.5), "$.search.settings has the unknown key 'p_min'"),
    (put("features", []), "$.features must be a list of at least one feature"),
    (put("features", 1, "name", "age"), "each with a name of its own"),
    (put("features", 1, "dtype", "int64"), "$.features[1] describes no column"),
    (put("features", 1, "decimals", 13), "$.features[1].decimals must be a whole number"),
    (put("features", 1, "low", 3.0), "$.features[1] describes no column"),
    (put("features", 2, "levels", []), "$.features[2] describes no column"),
    (put("features", 2, "levels", 0, "nurse"), "$.features[2] describes no column"),
    (put("features", 2, "levels", 0, {}), "$.features[2].levels[0] must be a label"),
    (put("features", 2, "levels", 0, {"pickle": "gAS"}), "must be a label of a known type"),
    (put("features", 2, "levels", 0, {"decimal": "x"}), "$.features[2].levels[0] is no decimal"),
    (put("features", 2, "levels", 0, {"numpy": ["int8", 300]}), "levels[0] is no numpy"),
    (put("features", 2, "levels", 0, {"numpy": ["int8", True]}), "must be a value of int8"),
    (put("features", 3, "dtype", "of", "int64"), "cannot be loaded: "),
    (put("features", 3, "kind", "binary"), "$.features[3] describes no column"),
    (put("features", 0, "dtype", "datetime64[ns]"), "$.features[0] describes no column"),
    (put("features", 0, "dtype", "os.system"), "$.features[0].dtype must be one of"),
    (put("row", "columns", 0, "name", "agee"), "$.row.columns[0].name must be the name of a"),
    (put("row", "columns", 0, "value", "x"), "cannot be loaded: "),
    (put("row", "columns", 2, "value", "miner"), "$.row column 'job' has the level 'miner'"),
    (put("row", "columns", []), "$.row.columns must have 5 entries, got 0."),
    (put("row", "outputs", []), "$.row.outputs must be a list of at least one number, got []."),
    (
        put("row", "index", "values", [1.5]),
        "$.row.index.values[0] must be a whole number or a text",
    ),
    (put("shares", [-1.0]), "$.shares must be a list of weights of at least 0, got [-1.0]."),
    (put("trace", "stopped", "bored"), "$.trace.stopped must be one of"),
    (put("trace", "generation", 0, 99), "$.trace.generation[0] must be a whole number from 0 to 7"),
    (put("trace", "evaluations", 0, 2**60), "$.trace.evaluations[0] must be a whole number"),
    (put("notes", [1]), "$.notes[0] must be a text, got 1."),
    (put("fingerprints", "data", None), "$.fingerprints.data must be a text, got None."),
]


@pytest.mark.parametrize(("change", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_a_wrong_field_is_refused_by_its_place(
    document: Any, path: Path, change: Callable[[Any], Any], message: str
) -> None:
    with pytest.raises(cp.InvalidInput, match=re.escape(message)):
        load_changed(document, path, change)


def test_a_change_that_makes_sense_is_told_by_the_checksum(document: Any, path: Path) -> None:
    path.write_text(json.dumps(document | {"predictions": [0.5] * len(document["predictions"])}))

    with pytest.raises(cp.InvalidInput, match="changed since it was saved: its checksum does not"):
        cp.load(path)


def test_a_setting_newer_than_the_file_has_its_default(
    found: cp.Counterfactuals, document: Any, path: Path
) -> None:
    loaded = load_changed(document, path, lambda d: d["search"]["settings"].pop("patience"))

    assert loaded.search == found.search


def test_another_layout_of_the_same_document_is_the_same(
    found: cp.Counterfactuals, document: Any, path: Path
) -> None:
    path.write_text(json.dumps(document, indent=2, sort_keys=True))

    assert str(cp.load(path)) == str(found)
