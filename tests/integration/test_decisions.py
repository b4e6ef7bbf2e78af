"""A class as target means the model's own decision, whatever the model and however many classes."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from tests.strategies import generator

import counterpoint as cp

GRID = pd.DataFrame(list(product(range(6), range(5), [0, 1])), columns=["a", "b", "c"])
CLASSES = ("w", "x", "y", "z")
ALL = cp.Search(evaluations=400, patience=None)  # more than the grid has rows


class Tuned:
    """Says "z" from a probability of 0.3 on, as after tuning; else the likeliest of the others."""

    def __init__(self, model: Any) -> None:
        self.model, self.classes_ = model, model.classes_

    def predict_proba(self, rows: Any) -> Any:
        """Return what the model says."""
        return self.model.predict_proba(rows)

    def predict(self, rows: Any) -> Any:
        """Return the label."""
        shares = self.predict_proba(rows)
        likeliest = self.classes_[np.argmax(shares[:, :-1], axis=1)]
        return np.where(shares[:, -1] >= 0.3, self.classes_[-1], likeliest)


class Vectors(GaussianNB):  # type: ignore[misc]
    """Decides as a support vector machine does, whose probabilities are another model's."""

    def fit(self, rows: Any, labels: Any) -> Any:
        """Fit both."""
        self.machine_ = SVC(random_state=0).fit(rows, labels)
        return super().fit(rows, labels)

    def predict(self, rows: Any) -> Any:
        """Return the label."""
        return self.machine_.predict(rows)


MODELS = {
    "forest": lambda: RandomForestClassifier(5, max_depth=4, random_state=0),
    "tree": lambda: DecisionTreeClassifier(max_depth=4, random_state=0),
    "linear": lambda: LogisticRegression(C=10.0, max_iter=500),
    "bayes": GaussianNB,
    "vectors": Vectors,
    "labels": RidgeClassifier,
    "tuned": lambda: DecisionTreeClassifier(max_depth=3, random_state=0),
}


def fitted(name: str, seed: int, n_classes: int) -> tuple[Any, pd.DataFrame]:
    """Return a model of noisy classes, and the rows it was fitted to."""
    rng = generator(seed)
    data = GRID.sample(60, replace=True, random_state=seed).reset_index(drop=True)
    signal = data["a"] + rng.integers(0, 3, len(data)) * data["c"] + rng.integers(0, 3, len(data))
    labels = np.array(CLASSES)[-n_classes:][np.argsort(np.argsort(signal)) * n_classes // len(data)]
    model = MODELS[name]().fit(data, labels)
    return (Tuned(model) if name == "tuned" else model), data


def changes(row: pd.DataFrame) -> Any:
    return (GRID.to_numpy() != row.to_numpy()).sum(axis=1)


@settings(max_examples=60)
@given(
    name=st.sampled_from(list(MODELS)),
    seed=st.integers(0, 999),
    n_classes=st.sampled_from([2, 3, 4]),
    place=st.integers(0, len(GRID) - 1),
    data=st.data(),
)
def test_the_fewest_changes_that_turn_predict_are_found(
    name: str, seed: int, n_classes: int, place: int, data: st.DataObject
) -> None:
    model, observed = fitted(name, seed, n_classes)
    row, labels = GRID.iloc[[place]], model.predict(GRID)
    others = [label for label in CLASSES[-n_classes:] if label != labels[place]]
    wanted = data.draw(st.sets(st.sampled_from(others), min_size=1))
    target: Any = (
        data.draw(st.sampled_from([wanted, "opposite"])) if len(wanted) > 1 else min(wanted)
    )
    is_wanted = np.isin(labels, others if target == "opposite" else list(wanted))
    explainer = cp.Explainer(model, observed)

    found = explainer.explain(row, target, ALL)

    shown = found.to_frame(near_misses=True)
    assert np.array_equal(shown["class"], model.predict(found.to_rows(near_misses=True)))
    assert np.array_equal(shown["valid"], shown["gap"] == 0.0)
    assert np.array_equal(shown["valid"], np.isin(shown["class"], list(set(labels[is_wanted]))))
    if np.isin(model.predict(observed), list(set(labels[is_wanted]))).any():
        assert found.status == "found"
        low, high = observed.min().to_numpy(), observed.max().to_numpy()
        within = ((GRID.to_numpy() >= low) & (GRID.to_numpy() <= high)).all(axis=1)
        assert found.to_frame()["changes"].min() == changes(row)[is_wanted & within].min()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_function_that_returns_labels_is_a_model_with_classes(n_classes: int) -> None:
    model, observed = fitted("forest", 1, n_classes)
    classes = list(CLASSES[-n_classes:])
    row = observed[model.predict(observed) != "z"].iloc[[0]]

    found = cp.Explainer(lambda rows: model.predict(rows), observed, classes=classes).explain(
        row, "z", ALL
    )

    assert len(found) > 0
    assert (model.predict(found.to_rows()) == "z").all()
    assert "the model gives labels only, so a gap is either 0 or 0.5." in found.notes


def test_numbers_are_labels_where_they_are_the_classes_and_no_probabilities() -> None:
    def stars(rows: pd.DataFrame) -> Any:
        return 1 + (rows["a"] + rows["b"]) // 3

    found = cp.Explainer(stars, GRID, classes=[1, 2, 3, 4]).explain(GRID[:1], {3, 4}, ALL)

    assert found.to_frame()["class"].isin([3, 4]).all()
    assert found.to_frame()["changes"].min() == 2


def test_results_say_where_each_lands() -> None:
    model, observed = fitted("forest", 2, 4)

    found = cp.Explainer(model, observed).explain(observed[:1], "opposite", ALL)

    now = str(model.predict(observed[:1])[0])
    assert set(found.to_frame()["class"]) <= set(CLASSES) - {now}
    assert str(found.target) == f"any class but {now!r}"


def test_a_saved_decision_is_loaded_equal(tmp_path: Any) -> None:
    model, observed = fitted("forest", 3, 4)
    row = observed[model.predict(observed) == "w"].iloc[[0]]
    found = cp.Explainer(model, observed).explain(row, {"y", "z"}, ALL)

    found.save(tmp_path / "found.json")

    assert cp.load(tmp_path / "found.json") == found
    assert found.target.labels == ("y", "z")


def test_texts_name_every_class_of_a_set() -> None:
    model, observed = fitted("forest", 3, 4)
    row = observed[model.predict(observed) == "w"].iloc[[0]]

    found = cp.Explainer(model, observed).explain(row, {"y", "z"}, ALL)

    assert "This case was not assessed as “y” or “z”." in found.explain_text()
    assert "nicht als „y“ oder „z“ bewertet" in found.explain_text(lang="de")
    assert "Class “y” or “z”" in found.explain_text(reader="analyst").replace("class", "Class")
