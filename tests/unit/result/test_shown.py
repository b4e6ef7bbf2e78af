"""What shows a result: other labels, and lines that fit a terminal."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import counterpoint as cp

DATA = pd.DataFrame(
    {"the_first_of_several_names": np.arange(12), "another_long_name": np.arange(12) % 5}
)


@pytest.fixture(scope="module")
def found() -> cp.Counterfactuals:
    explainer = cp.Explainer(lambda rows: rows.sum(axis=1) / 15, DATA)
    return explainer.explain(DATA[:1], (0.5, None), cp.Search(evaluations=200))


def test_a_result_takes_other_labels(found: cp.Counterfactuals) -> None:
    labels = cp.Labels(features={"the_first_of_several_names": "rank"})

    named = found.labelled(labels)

    assert named.labels == labels
    assert "rank" in str(named)
    assert "the first of several names" not in str(named)
    assert list(named.to_frame().columns) == list(found.to_frame().columns)
    assert np.array_equal(named.genomes, found.genomes)


def test_labels_of_something_else_are_refused(found: cp.Counterfactuals) -> None:
    with pytest.raises(cp.InvalidInput, match="labels: features names 'x', which is not a feature"):
        found.labelled(cp.Labels(features={"x": "y"}))
    with pytest.raises(cp.InvalidInput, match="the model has no classes"):
        found.labelled(cp.Labels(classes={"x": "y"}))


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_no_line_is_wider_than_the_terminal_and_no_word_is_broken(
    found: cp.Counterfactuals, width: int
) -> None:
    wide, narrow = found.summary(3), found.summary(3, width)

    assert max(map(len, narrow.splitlines())) <= width
    is_table = "\nrow " in narrow
    assert is_table == (width >= 80)
    if is_table:
        assert narrow.split() == wide.split()
    else:
        assert "   the first of several names: 0 → " in narrow
