"""Labels: what is refused, what is shown in which language, and that results keep them."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tests.documents import load_changed

import counterpoint as cp
from counterpoint.table.labels import Noun

DATA = pd.DataFrame(
    {"duration": [1, 12, 24], "job": [2, 3, 2], "since": pd.to_datetime(["2024-03-01"] * 3)}
)
KINDS: dict[str, Any] = {"features": {"job": cp.Categorical()}}
ENGLISH = cp.Labels(
    features={"duration": "the term"},
    levels={"job": {2: "skilled"}},
    classes={"good": "approved"},
    units={"duration": ("month", "months")},
    outcome="the application",
    lang="en",
)
GERMAN = cp.Labels(
    features={"duration": "die Laufzeit"},
    units={"duration": ("Monat", "Monate")},
    outcome="der Antrag",
    lang="de",
)
BOTH = ENGLISH | GERMAN


def explainer(**settings: Any) -> cp.Explainer:
    def score(rows: pd.DataFrame) -> Any:
        share = rows["duration"] / 24
        return pd.DataFrame({"bad": 1 - share, "good": share}).to_numpy()

    return cp.Explainer(score, DATA, classes=["bad", "good"], **KINDS, **settings)


def test_each_language_has_its_own_words() -> None:
    duration, job, since = explainer(labels=BOTH).schema.features

    assert BOTH.feature("duration") == "term"
    assert BOTH.noun("duration", "de") == Noun("die", "Laufzeit")
    assert BOTH.title(duration, "de") == "Laufzeit (Monate)"
    assert [BOTH.unit(duration, "de", value) for value in (1.0, 2.0)] == ["Monat", "Monate"]
    assert [BOTH.value(job, gene) for gene in (0.0, 1.0)] == ["skilled", "3"]
    assert BOTH.value(job, 0.0, quoted=True) == "\u201cskilled\u201d"
    assert BOTH.value(job, 0.0, "de") == "2"  # no German label of it
    assert BOTH.value(since, since.low, "de") == "1. März 2024"
    assert (BOTH.class_("good"), BOTH.class_("good", "de")) == ("approved", "good")
    assert (BOTH.outcome(), BOTH.outcome("de")) == ("the application", "der Antrag")


def test_texts_without_a_language_are_for_all() -> None:
    labels = cp.Labels(features={"duration": "term"}) | GERMAN

    assert labels.feature("duration", "en") == "term"
    assert labels.feature("duration", "de") == "Laufzeit"


def test_what_has_no_label_is_called_by_its_name() -> None:
    assert cp.Labels().feature("credit_amount", "de") == "credit amount"


def test_an_english_unit_loses_its_s_for_one() -> None:
    duration = explainer(units={"duration": "months"}).schema.features[0]

    assert [cp.Labels().unit(duration, "en", value) for value in (1.0, 2.0)] == ["month", "months"]


def test_files_name_levels_and_classes_by_their_texts() -> None:
    labels = cp.Labels.read({"levels": {"job": {"2": "skilled"}}, "de": {"outcome": "der Antrag"}})

    assert labels.level("job", 2) == "skilled"
    assert labels.outcome("de") == "der Antrag"
    explainer(labels=labels)


def test_labels_are_kept_by_files_pickles_and_parts_and_change_no_result(tmp_path: Path) -> None:
    found = explainer(labels=BOTH).explain(DATA[:1], "good")
    found.save(tmp_path / "found.json")

    loaded = cp.load(tmp_path / "found.json")

    assert loaded == found
    assert loaded.encoding.schema.labels == BOTH
    assert pickle.loads(pickle.dumps(found)).encoding.schema.labels == BOTH  # noqa: S301
    plain = explainer().explain(DATA[:1], "good")
    assert (plain.genomes == found.genomes).all()
    assert plain.fingerprints == found.fingerprints


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ({"de": {"features": 3}}, "$.labels.de lacks the key 'levels'"),
        (3, "$.labels must be an object, got 3"),
        ({"fr": {"features": [], "levels": [], "classes": [], "units": [], "outcome": "x"}},
            "Labels.lang must be 'en' or 'de', got 'fr'"),
        ({"": {"features": [["agee", "x"]], "levels": [], "classes": [], "units": [],
            "outcome": ""}}, "labels: features names 'agee', which is not a feature"),
        ({"": {"features": [], "levels": [], "classes": [["x", "y"]], "units": [],
            "outcome": ""}}, "labels: classes names 'x', which is not a class"),
    ],
)  # fmt: skip
def test_nonsense_in_the_labels_of_a_file_is_refused(
    tmp_path: Path, labels: Any, message: str
) -> None:
    explainer().explain(DATA[:1], "good").save(tmp_path / "found.json")
    document = json.loads((tmp_path / "found.json").read_text())

    with pytest.raises(cp.InvalidInput) as raised:
        load_changed(document, tmp_path / "x.json", lambda d: d.update(labels=labels))

    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (lambda: cp.Labels(features=["term"]),  # type: ignore[arg-type]
            "Labels.features must be a dict, got ['term']; for example {\"duration\": \"term\"}."),
        (lambda: cp.Labels(features={"duration": ""}), "Labels.features['duration'] must be a text "
            "of 1 to 120 printable characters, got ''."),
        (lambda: cp.Labels(outcome="a\nb"), "Labels.outcome must be a text of 1 to 120 printable "
            "characters, got 'a\\nb'."),
        (lambda: cp.Labels(units={"duration": ("a", "b", "c")}), "Labels.units['duration'] must be "
            "a text, or the singular and the plural, got ('a', 'b', 'c'); for example ('month', "
            "'months')."),
        (lambda: cp.Labels(lang="fr"),  # type: ignore[arg-type]
            "Labels.lang must be 'en' or 'de', got 'fr'."),
        (lambda: cp.Labels.read({"feature": {}}), "labels has the key 'feature'; it may have "
            "'features', 'levels', 'classes', 'units', 'outcome', 'en' and 'de'; did you mean "
            "'features'?"),
        (lambda: cp.Labels.read({"de": {"x": 1}}), "labels['de'] has the key 'x'; it may have "
            "'features', 'levels', 'classes', 'units' and 'outcome'."),
        (lambda: explainer(labels=cp.Labels(features={"durations": "x"})), "labels: features names "
            "'durations', which is not a feature; did you mean 'duration'?"),
        (lambda: explainer(labels=cp.Labels(levels={"job": {9: "x"}})), "labels: levels['job'] "
            "names 9, which is not a level; there are 2 and 3."),
        (lambda: explainer(labels=cp.Labels(units={"job": "x"})), "labels: units names 'job', which"
            " is binary and has no unit; only numbers have one."),
        (lambda: explainer(labels=cp.Labels(classes={"goood": "x"})), "labels: classes names "
            "'goood', which is not a class; did you mean 'good'?"),
        (lambda: explainer(labels={"duration": "term"}), "labels must be Labels, got {'duration': "
            "'term'}; for example labels=cp.Labels(features={'duration': 'term'})."),
    ],
)  # fmt: skip
def test_labels_that_cannot_be_meant_are_refused(labels: Any, message: str) -> None:
    with pytest.raises(cp.InvalidInput) as raised:
        labels()

    assert str(raised.value) == message


def test_a_model_without_classes_has_no_labels_of_them() -> None:
    labels = cp.Labels(classes={"good": "approved"})

    with pytest.raises(cp.InvalidInput, match="but the model has no classes; outcome says what"):
        cp.Explainer(lambda rows: rows["duration"] / 24, DATA, labels=labels)


def test_labels_are_written_as_they_are_made() -> None:
    assert repr(cp.Labels(outcome="a loan", lang="en")) == "Labels(outcome='a loan', lang='en')"
    assert repr(cp.Labels()) == "Labels()"
