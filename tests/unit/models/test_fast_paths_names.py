from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from counterpoint.models.fast_paths import without_names

N = 60


def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)  # noqa: TID251
    return pd.DataFrame(rng.normal(size=(N, 3)), columns=["a", "b", "c"])


DATA = table()
LABELS = (DATA["a"] + DATA["b"] > 0).to_numpy()
MODELS = {
    "one": LogisticRegression(),
    "forest": RandomForestClassifier(3, random_state=0),
    "pipeline": make_pipeline(StandardScaler(), "passthrough", LogisticRegression()),
    "nested": make_pipeline(make_pipeline(StandardScaler()), LogisticRegression()),
    "search": GridSearchCV(make_pipeline(StandardScaler(), LogisticRegression()), {}, cv=2),
    "vote": VotingClassifier([("a", LogisticRegression())], voting="soft"),
    "bag": BaggingClassifier(LogisticRegression(), 3, random_state=0),
    "calibrated": CalibratedClassifierCV(LogisticRegression(), cv=2),
    "threshold": FixedThresholdClassifier(LogisticRegression(), threshold=0.3),
}


@pytest.fixture(params=MODELS, scope="module")
def fitted(request: pytest.FixtureRequest) -> Any:
    return MODELS[request.param].fit(DATA, LABELS)


def test_a_copy_without_names_answers_arrays_as_the_estimator_answers_frames(fitted: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")

        bare = without_names(fitted)

        np.testing.assert_array_equal(
            bare.predict_proba(DATA.to_numpy()), fitted.predict_proba(DATA)
        )
        np.testing.assert_array_equal(bare.predict(DATA.to_numpy()), fitted.predict(DATA))


def test_the_estimator_keeps_its_names_and_everything_else(fitted: Any) -> None:
    before = pickle.dumps(fitted)

    bare = without_names(fitted)

    bare.predict_proba(DATA.to_numpy())
    assert pickle.dumps(fitted) == before
    assert list(fitted.feature_names_in_) == ["a", "b", "c"]
    assert not hasattr(bare, "feature_names_in_")


def test_what_knows_no_names_is_shared() -> None:
    forest = RandomForestClassifier(3, random_state=0).fit(DATA, LABELS)

    bare = without_names(forest)

    assert bare.estimators_ is forest.estimators_
    assert without_names(forest.estimators_[0]) is forest.estimators_[0]
    assert without_names(DATA) is DATA
