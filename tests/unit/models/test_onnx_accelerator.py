from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier

from counterpoint.models.onnx import TOLERANCE, accelerated, tolerance_of
from counterpoint.models.predictor import Predictor
from counterpoint.table.schema import Encoding, Schema

DATA = pd.DataFrame({"a": np.arange(40.0), "b": np.arange(40.0)[::-1] % 7})
LABELS = np.where(DATA["a"] > 20, "good", "bad")


def predictor_of(model: Any) -> Predictor:
    encoding = Encoding(Schema.infer(DATA))
    return Predictor(model, encoding, encoding.encode(DATA))


@pytest.fixture(scope="module")
def tree() -> Predictor:
    model = DecisionTreeClassifier(min_samples_leaf=3, max_depth=2, random_state=0)
    return predictor_of(model.fit(DATA, np.roll(LABELS, 3)))


def test_without_an_accelerator_a_predictor_asks_the_model_itself(tree: Predictor) -> None:
    assert tree.own is tree
    assert not tree.is_accelerated


def test_an_accelerated_predictor_knows_the_one_that_asks_the_model(tree: Predictor) -> None:
    quick = accelerated(tree, "onnx")

    assert quick.is_accelerated
    assert quick.own is tree
    assert quick.tolerance == TOLERANCE
    assert quick.observed_outputs is tree.observed_outputs
    np.testing.assert_allclose(quick.outputs(tree.observed), tree.observed_outputs, atol=1e-6)


def test_probabilities_are_rounded_so_that_single_precision_breaks_no_tie(tree: Predictor) -> None:
    outputs = accelerated(tree, "onnx").outputs(tree.observed)

    np.testing.assert_array_equal(outputs, np.round(outputs, 6))


def test_labels_are_the_models_own(tree: Predictor) -> None:
    def fail(genomes: Any) -> Any:
        raise AssertionError(f"the accelerator was asked about {len(genomes)} rows")

    quick = tree.scored_by(fail, TOLERANCE)

    genomes = tree.observed[None, :16]
    np.testing.assert_array_equal(quick.label_blocks(genomes), tree.label_blocks(genomes))


def test_an_accelerator_that_fails_leaves_the_question_to_the_model(tree: Predictor) -> None:
    def fail(genomes: Any) -> Any:
        raise ValueError(f"no {len(genomes)} rows")

    quick = tree.scored_by(fail, TOLERANCE)

    np.testing.assert_array_equal(quick.outputs(tree.observed), tree.observed_outputs)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_a_regressor_is_allowed_a_share_of_its_range(scale: float) -> None:
    predictor = predictor_of(LinearRegression().fit(DATA, scale * DATA["a"]))

    assert tolerance_of(predictor) == pytest.approx(39.0 * scale * TOLERANCE)
    assert accelerated(predictor, "onnx").is_accelerated
