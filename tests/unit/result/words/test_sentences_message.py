from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.unit.result.words.small import DATA, FIRST, by_age

import counterpoint as cp
from counterpoint.result.words import speaking
from counterpoint.result.words.sentences import message


def by_amount(rows: pd.DataFrame) -> Any:
    return rows["amount"] * 100.0


@pytest.fixture(scope="module")
def explainer() -> cp.Explainer:
    return cp.Explainer(by_age, DATA)


def explain(target: Any, search: Any, model: Any = by_age, **limits: Any) -> cp.Counterfactuals:
    return cp.Explainer(model, DATA).explain(FIRST, target, search, **limits)


def test_large_predictions_are_written_out() -> None:
    found = explain((None, 300_000), cp.WhatIf(n=1), by_amount)

    assert "(now 595,125)" in found.message
    assert str(found).splitlines()[-1].endswith("120,000   0.5846       5              0")


def test_one_of_many_is_singular(explainer: cp.Explainer) -> None:
    one = explainer.explain(FIRST, (0.4, 1.0), cp.WhatIf(n=1))

    assert one.message == (
        "1 counterfactual reaches prediction between 0.4 and 1 (now 0.22) with 4 or more "
        "changes; 1 model evaluation."
    )


def test_the_representation_is_the_message(explainer: cp.Explainer) -> None:
    found = explainer.explain(FIRST, (0.4, 1.0), cp.WhatIf())

    assert repr(found) == f"<Counterfactuals: {found.message}>"


def test_a_row_that_needs_no_change_says_so(explainer: cp.Explainer) -> None:
    found = explainer.explain(FIRST, (0.1, 0.3))

    assert found.message == (
        "the row already reaches prediction between 0.1 and 0.3: its prediction is 0.22, 0.08 "
        "inside."
    )
    assert str(found) == found.message[0].upper() + found.message[1:]


def test_a_missed_target_says_how_close_the_search_came() -> None:
    found = explain((None, -1.0), cp.Search(method="nsga2", generations=1), by_amount)

    assert found.message == (
        "no counterfactual was found for prediction <= -1 (now 595,125): the nearest of "
        f"{len(found.genomes)} near misses is at 8,075 and lacks 8,076; 106 model evaluations; no "
        "observed row reaches it either (the nearest is at 8,075): ask for a target "
        "the model does give."
    )
    assert "5,951.25    595,125" in str(found)


def test_a_missed_target_is_told_in_german_with_the_nearest() -> None:
    found = explain((None, -1.0), cp.Search(method="nsga2", generations=1), by_amount)

    with speaking("de"):
        said = message(found)

    assert f": {len(found.genomes)} Beinahe-Treffer, der nächste liegt bei 8.075, es" in said


def test_a_target_others_reach_says_what_to_free(explainer: cp.Explainer) -> None:
    found = explainer.explain(
        FIRST, (0.5, 1.0), cp.Search(method="nsga2", generations=1), ranges={"age": (22, 40)}
    )

    assert found.message.startswith(
        f"no counterfactual was found for prediction between 0.5 and 1 (now 0.22): the nearest of "
        f"{len(found.genomes)} near misses is at 0.4 and lacks 0.1; "
    )
    assert found.message.endswith(
        "; 1 observed row does reach it, but the limits exclude it: widen ranges['age'] to 51."
    )


def test_nothing_at_all_is_explained_too(explainer: cp.Explainer) -> None:
    found = explainer.explain(FIRST, (0.4, 1.0), cp.WhatIf(), max_changed=2)

    assert str(found) == (
        "No counterfactual was found for prediction between 0.4 and 1 (now 0.22); 1 model "
        "evaluation; 2 observed rows do reach it, but the limits exclude all of them: "
        "raise max_changed to 4."
    )


@pytest.mark.parametrize(
    ("limits", "advice"),
    [
        ({"fixed": ["job"]}, "free 'job'"),
        ({"fixed": ["job", "owns"]}, "free 'job'"),
        ({"fixed": ["age", "job"]}, "free 'age' and free 'job'"),
        ({"fixed": ["job"], "max_changed": 3}, "free 'job' and raise max_changed to 4"),
        ({"ranges": {"amount": (100, 200)}}, "widen ranges['amount'] to 80.75"),
        (
            {"fixed": ["age"], "ranges": {"amount": (100, 200)}, "max_changed": 2},
            "free 'age', widen ranges['amount'] to 80.75 and raise max_changed to 4",
        ),
    ],
)
def test_the_least_that_would_have_to_give_way_is_named(
    explainer: cp.Explainer, limits: dict[str, Any], advice: str
) -> None:
    """Of the two observed rows above 0.4 the older is nearer and differs in four features."""
    found = explainer.explain(FIRST, (0.4, 1.0), cp.WhatIf(), **limits)

    assert found.status == "best_effort"
    assert found.message.endswith(f", but the limits exclude all of them: {advice}.")


def test_valid_ones_of_a_missed_target_are_described_as_none(explainer: cp.Explainer) -> None:
    found = explainer.explain(
        FIRST, (0.5, 1.0), cp.Search(method="nsga2", generations=1), ranges={"age": (22, 40)}
    )

    assert found.valid().message.startswith(
        "no counterfactual was found for prediction between 0.5 and 1 (now"
    )


def test_the_hint_counts_only_rows_that_predict_puts_into_the_class() -> None:
    class Strict:
        """A classifier whose `predict` wants more than half."""

        classes_ = np.array(["no", "yes"])

        def predict_proba(self, rows: pd.DataFrame) -> Any:
            """Return P(yes) by age."""
            return np.column_stack([1.0 - by_age(rows) * 1.5, by_age(rows) * 1.5])

        def predict(self, rows: pd.DataFrame) -> Any:
            """Say yes from 0.76 on: at an age of 51 only."""
            return np.where(by_age(rows) * 1.5 > 0.76, "yes", "no")

    found = explain("yes", cp.WhatIf(), Strict(), max_changed=1)

    assert "; 1 observed row does reach it" in found.message


def test_a_filter_that_leaves_nothing_is_not_blamed_on_the_search(explainer: cp.Explainer) -> None:
    found = explainer.explain(FIRST, (0.4, 1.0), cp.Search(evaluations=300))

    none_left = found.filter(f"age < {FIRST['age'].iloc[0]}")

    assert len(found) > len(none_left) == 0
    assert none_left.message == (
        "none of the counterfactuals that were found for prediction between 0.4 and 1 (now 0.22) "
        "is left; ask less of them, or look at the result before it was filtered."
    )
    n = len(found)
    assert none_left.notes[-1] == (f'the filter leaves none of {n} counterfactuals: "age < 22".')
    kept = found.filter(["age < 22", "age > 0"], keep=["fix"])
    assert kept.notes[-1].endswith(
        f'each condition by itself leaves: "age < 22": 0, "age > 0": {n}, keep=\'fix\': {n}.'
    )
