"""Models of the study: what is drawn, how they see a table, and that tuning finds the better."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from benchmarks.study import data, models
from sklearn.preprocessing import MinMaxScaler, StandardScaler


@pytest.fixture(scope="module")
def credit() -> data.Dataset:
    return data.load("credit")


@pytest.mark.parametrize("kind", models.KINDS)
def test_drawn_settings_lie_in_the_papers_ranges_and_do_not_change(kind: str) -> None:
    drawn = models.candidates(kind, 50)

    ends = {"trees": (1, 1000), "cost": (0.01, 1), "C": (0.01, 100), "rate": (0.0005, 0.1)}
    ends |= {"units": (2, 64)}
    assert all(ends[n][0] <= v <= ends[n][1] for settings in drawn for n, v in settings.items())
    assert models.candidates(kind, 50) == drawn
    assert models.candidates(kind, 5) == drawn[:5]  # a larger budget tries the same first


def test_only_the_forest_sees_z_scores_and_only_logistic_regression_drops_a_level(
    credit: data.Dataset,
) -> None:
    settings = {"trees": 5.0, "C": 1.0}
    forest = models.fit("randomforest", settings, credit)[0].named_transformers_
    linear = models.fit("logreg", settings, credit)[0].named_transformers_

    assert isinstance(forest["standardscaler"], StandardScaler)
    assert isinstance(linear["minmaxscaler"], MinMaxScaler)
    assert forest["onehotencoder"].drop_idx_ is None
    assert set(linear["onehotencoder"].drop_idx_) == {0}


def test_tuning_takes_the_more_accurate(credit: data.Dataset) -> None:
    tried = models.candidates("randomforest", 3)

    best = models.tune("randomforest", credit, 3)

    scores = [models.accuracy("randomforest", settings, credit) for settings in tried]
    assert best == tried[int(np.argmax(scores))]


def test_a_tuned_model_is_kept_and_another_budget_is_another_model(
    credit: data.Dataset, tmp_path: Path
) -> None:
    first = models.tuned("logreg", credit, 1, tmp_path)
    (file,) = tmp_path.iterdir()
    stamp = file.stat().st_mtime_ns
    again = models.tuned("logreg", credit, 1, tmp_path)

    assert file.stat().st_mtime_ns == stamp
    np.testing.assert_array_equal(
        first.predict_proba(credit.rows), again.predict_proba(credit.rows)
    )
    assert models.fingerprint(credit, 1) != models.fingerprint(credit, 2)


def test_nested_accuracy_is_a_share(credit: data.Dataset) -> None:
    assert 0.5 < models.nested_accuracy("logreg", credit, 1) < 1.0


def test_an_unknown_kind_is_named() -> None:
    with pytest.raises(ValueError, match=r"kind of model must be one of .* got 'magic'"):
        models.estimator("magic", {})


def test_four_datasets_have_no_logistic_regression() -> None:
    pairs = [(name, kind) for name in data.TASKS["benchmark"] for kind in models.kinds_of(name)]

    assert len(pairs) == 46
