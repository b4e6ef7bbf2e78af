from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import counterpoint as cp
from counterpoint.arrays import Floats

SEARCH = cp.Search(evaluations=300)


def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)  # noqa: TID251
    return pd.DataFrame({"a": rng.integers(0, 50, 80), "b": rng.normal(0, 1, 80).round(1)})


DATA = table()


class Steps:
    """A classifier whose probabilities come in steps of a twentieth, so that ties are common."""

    classes_ = np.array(["bad", "good"])

    def predict_proba(self, rows: pd.DataFrame) -> Any:
        """Return P(good), with a tie at 0.5."""
        steps = np.clip(np.round(rows["a"].to_numpy() / 4 + rows["b"].to_numpy()), 0, 20)
        return np.column_stack([20 - steps, steps]) / 20

    def predict(self, rows: pd.DataFrame) -> Any:
        """Name the likelier class, the first of a tie."""
        return self.classes_.take(np.argmax(self.predict_proba(rows), axis=1))


def accelerated(noise: Any, tolerance: float = 1e-4) -> cp.Explainer:
    """Return an explainer whose candidates are scored by the model with `noise` added."""
    explainer = cp.Explainer(Steps(), DATA)
    own = explainer.predictor

    def ask(genomes: Floats) -> Any:
        outputs = own.outputs(genomes)
        return np.clip(outputs + noise(genomes)[:, None] * [-1.0, 1.0], 0.0, 1.0)

    explainer.predictor = own.scored_by(ask, tolerance)
    return explainer


def waves(frequency: float, height: float) -> Any:
    return lambda genomes: height * np.sin(frequency * (genomes[:, 0] + 10.0 * genomes[:, 1]))


def bits(found: cp.Counterfactuals) -> tuple[Any, ...]:
    arrays = (found.genomes, found.predictions, found.objectives, found.history.to_numpy())
    return found.evaluations, found.stopped, *(array.tobytes() for array in arrays)


@given(frequency=st.floats(0.5, 9.0), height=st.floats(0.0, 9e-5), i=st.integers(0, 79))
@example(frequency=1.0, height=2.4778405984519046e-05, i=9)  # more ties than are asked alone
@settings(max_examples=15, deadline=None)
def test_what_is_returned_is_what_the_model_says_and_nothing_dominates_it(
    frequency: float, height: float, i: int
) -> None:
    found = accelerated(waves(frequency, height)).explain(DATA.iloc[[i]], "opposite", SEARCH)

    frame = found.to_frame(near_misses=True)
    own = Steps().predict_proba(frame)[:, found.target.column]
    np.testing.assert_array_equal(found.predictions, own)
    is_valid = Steps().predict(frame) == found.target.label
    np.testing.assert_array_equal(found.reaches, is_valid)
    values = found.objectives
    is_better = (values[:, None] <= values).all(axis=2) & (values[:, None] < values).any(axis=2)
    assert not is_better.any()
    assert found.evaluations <= 300


def test_an_accelerator_without_a_difference_changes_nothing_but_the_note() -> None:
    rows = DATA.iloc[:5]

    together = accelerated(lambda genomes: np.zeros(len(genomes))).explain_many(
        rows, "opposite", SEARCH
    )

    plain = cp.Explainer(Steps(), DATA).explain_many(rows, "opposite", SEARCH)
    assert [bits(found) for found in together] == [bits(found) for found in plain]
    for found in together:
        assert found.notes == (
            "candidates were scored by ONNX Runtime, and those returned again by the model itself; "
            "the greatest difference was 0.",
        )


@pytest.mark.parametrize("method", ["explore", "nsga2", "random"])
def test_ties_that_seemed_to_be_valid_make_room_for_others(method: Any) -> None:
    """Every tie at 0.5 seems valid and hides what is a little farther; in the end it does not."""
    rows = DATA[Steps().predict(DATA) == "bad"].iloc[:4]
    search = SEARCH.with_(method=method)

    together = accelerated(lambda genomes: np.full(len(genomes), 9e-5)).explain_many(
        rows, "good", search
    )

    for found in together:
        assert len(found.valid()) > 0
        assert (found.valid().predictions > 0.5).all()
        assert "the greatest difference was 9e-05." in found.notes[-1]


def test_a_search_that_goes_on_recalls_what_the_accelerator_said() -> None:
    explainer = accelerated(waves(3.0, 9e-5))
    short = explainer.explain(DATA.iloc[[0]], "opposite", cp.Search(evaluations=150))

    longer = short.continue_search(100)

    search = cp.Search(evaluations=short.evaluations + 100)
    assert bits(longer) == bits(explainer.explain(DATA.iloc[[0]], "opposite", search))


def test_measures_that_ask_again_ask_the_model() -> None:
    found = accelerated(waves(3.0, 9e-5)).explain(DATA.iloc[[0]], "opposite", SEARCH)

    assert found.problem.predictor.own is found.problem.predictor
    assert found.minimality().shape == (len(found.genomes),)


def test_a_difference_beyond_the_tolerance_ends_in_the_models_own_search() -> None:
    explainer = accelerated(waves(3.0, 0.04))
    row = DATA.iloc[[0]]

    with pytest.warns(cp.AcceleratorWarning, match=r"not believed: of {'a': .*, 'b': .*} it says"):
        found = explainer.explain(row, "opposite", SEARCH)

    assert bits(found) == bits(cp.Explainer(Steps(), DATA).explain(row, "opposite", SEARCH))
    longer = found.continue_search(50)
    assert longer.notes == found.notes == ()
