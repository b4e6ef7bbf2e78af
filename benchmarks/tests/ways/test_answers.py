"""What methods tell: the sets of features that their valid rows change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from benchmarks.methods import Background, Case
from benchmarks.ways import answers
from benchmarks.ways.answers import Answer, told
from benchmarks.ways.subjects import Subject

DATA = pd.DataFrame(
    {"a": [-4.0, 0.0, 2.0, 4.0], "b": [0.0, 1.0, 2.0, 4.0], "kind": pd.Categorical(list("xyyx"))}
)


class Sum:
    """Says 1 where a + b is above 3."""

    classes_ = np.array([0, 1])

    def predict(self, rows: pd.DataFrame) -> Any:
        """Return the classes of rows."""
        return (rows["a"].to_numpy() + rows["b"].to_numpy() > 3).astype(int)

    def predict_proba(self, rows: pd.DataFrame) -> Any:
        """Return the classes of rows as probabilities."""
        return np.eye(2)[self.predict(rows)]


CASE = Case(Background(Sum(), DATA), DATA.iloc[[1]], 1)  # a 0, b 1, kind y


def rows_of(*rows: tuple[float, float, str]) -> pd.DataFrame:
    """Return a frame as a method would."""
    return pd.DataFrame(list(rows), columns=["a", "b", "kind"])


def test_a_set_has_the_least_distance_of_its_valid_rows() -> None:
    found = told(CASE, rows_of((4, 1, "y"), (3, 1, "y"), (2, 1, "y"), (2, 2, "x"), (-4, 8, "y")))

    assert found == pytest.approx(
        {(0,): 3 / 8 / 3, (0, 1, 2): (2 / 8 + 1 / 4 + 1) / 3, (0, 1): (4 / 8 + 7 / 4) / 3}
    )


def test_moves_by_rounding_are_no_change_and_unknown_levels_no_answer() -> None:
    found = told(CASE, rows_of((4, 1 + 1e-9, "y"), (4, 2, "z"), (0, 1, "y")))

    assert found == pytest.approx({(0,): 4 / 8 / 3})


class Clumsy:
    """A package that raises on every row and counts how often it was asked."""

    name, n_asked = "clumsy", 0

    def explain(self, _case: Case) -> pd.DataFrame:
        """Fail."""
        self.n_asked += 1
        raise KeyError("no column of that name")


def test_what_a_package_raises_is_its_answer_and_it_is_asked_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = Clumsy()
    monkeypatch.setitem(answers.PEERS, "clumsy", package)
    monkeypatch.setitem(answers.MOST_ROWS, "clumsy", 2)
    subject = Subject("made", "forest", Sum(), DATA, pd.Series([0, 0, 1, 1]), DATA[:2], 1)

    first = answers.answers(subject, "clumsy", 2, tmp_path)
    second = answers.answers(subject, "clumsy", 2, tmp_path)

    assert first == second
    assert first[0] == Answer({}, first[0].seconds, "KeyError: 'no column of that name'")
    assert package.n_asked == 2
