"""The exact finish: what it is asked, what it refuses, and how it ends."""

from __future__ import annotations

import re
import time
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from tests.strategies import generator

import counterpoint as cp
from counterpoint.search.exact import program
from counterpoint.search.exact.finish import MOST_ROWS

ROWS = 200


def table(n_features: int = 6) -> pd.DataFrame:
    """Return a table of whole numbers."""
    numbers = generator(3).integers(0, 30, (ROWS, n_features))
    return pd.DataFrame(numbers, columns=[f"x{j}" for j in range(n_features)])


DATA = table()
LEARNT = (DATA["x0"] + DATA["x1"] > 30).to_numpy()


@pytest.fixture(scope="module")
def explainer() -> cp.Explainer:
    model = RandomForestClassifier(15, max_depth=4, random_state=0).fit(DATA, LEARNT)
    return cp.Explainer(model, DATA)


def test_the_solver_alone_proves_what_it_proves_after_a_search(explainer: cp.Explainer) -> None:
    searched = explainer.explain(DATA[:1], "opposite", cp.Search(prove=True))

    alone = explainer.explain(DATA[:1], "opposite", cp.Exact(seconds=60))

    assert searched.proof is not None
    assert alone.proof is not None
    assert alone.proof.nearest == searched.proof.nearest
    assert alone.proof.by_changes == searched.proof.by_changes
    assert (alone.proof.nearest.status, alone.stopped) == ("optimal", "proved")
    assert alone.proof.nearest.value == alone.to_frame()["distance"].min()


def test_rows_are_proved_alike_in_any_company(explainer: cp.Explainer) -> None:
    alone = [explainer.explain(DATA[i : i + 1], "opposite", cp.Exact()) for i in range(3)]

    together = list(explainer.explain_many(DATA[:3], "opposite", search=cp.Exact()))

    assert [each.proof for each in together] == [each.proof for each in alone]
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one.genomes, other.genomes)


def test_without_time_nothing_is_claimed(explainer: cp.Explainer) -> None:
    found = explainer.explain(DATA[:1], "opposite", cp.Exact(seconds=0))

    assert found.proof is not None
    assert (found.proof.nearest.status, found.stopped) == ("unknown", "seconds")
    assert found.proof.reason == "The time was up before all was proved."
    assert len(found) == 1  # the observed row it began with


def test_a_program_that_is_too_large_is_not_solved(explainer: cp.Explainer) -> None:
    with mock.patch.object(program, "MOST_ENTRIES", 0):
        found = explainer.explain(DATA[:1], "opposite", cp.Search(prove=True, generations=1))

    assert found.proof is not None
    assert found.proof.nearest.status == "unknown"


def test_an_interrupt_returns_what_is_known_so_far(explainer: cp.Explainer) -> None:
    asked: list[Any] = []

    def interrupt(*_: Any, **__: Any) -> Any:
        asked.append(1)
        raise KeyboardInterrupt

    with mock.patch.object(program.RowProgram, "solve", interrupt):
        found = explainer.explain(DATA[:1], "opposite", cp.Search(prove=True, generations=1))

    assert asked
    assert found.proof is not None
    assert found.proof.nearest.status == "unknown"
    assert len(found) > 0


def test_a_search_that_was_proved_goes_on_like_one_that_was_not(explainer: cp.Explainer) -> None:
    settings: dict[str, Any] = {"evaluations": 300, "patience": None}
    plain = explainer.explain(DATA[:1], "opposite", cp.Search(**settings))
    proved = explainer.explain(DATA[:1], "opposite", cp.Search(**settings, prove=True))

    longer, proved_longer = plain.continue_search(200), proved.continue_search(200)

    np.testing.assert_array_equal(plain.trace.replies, proved.trace.replies)
    np.testing.assert_array_equal(longer.trace.replies, proved_longer.trace.replies)
    assert proved_longer.proof is not None


def test_small_tables_of_any_model_are_asked_one_by_one() -> None:
    data = table(3)

    found = cp.Explainer(lambda rows: rows["x0"] * rows["x1"] / 900, data).explain(
        {"x0": 3, "x1": 4, "x2": 5}, (0.5, None), cp.Exact(), max_changed=2
    )

    assert found.proof is not None
    assert found.proof.fewest.status == "optimal"
    best = min((x - 3 + y - 4, x) for x in range(30) for y in range(30) if x * y >= 450)
    assert found.proof.nearest.value == pytest.approx(best[0] / 29 / 3)


def test_what_cannot_be_proved_says_why() -> None:
    found = cp.Explainer(lambda rows: rows["x0"] / 30, DATA).explain(
        {**DATA.iloc[0].to_dict(), "x0": 3}, (0.5, None), cp.Search(prove=True, generations=1)
    )

    assert found.proof is not None
    assert found.proof.reason == (
        "The model is no ensemble of trees and no linear model that is known. There are more than "
        f"{MOST_ROWS:,} rows, too many to ask about all of them."
    )
    assert found.proof.nearest.status == "unknown"


def test_limits_that_leave_nothing_are_proved_to(explainer: cp.Explainer) -> None:
    found = explainer.explain(DATA[:1], "opposite", cp.Exact(), vary=["x5"])

    assert found.proof is not None
    assert (found.proof.nearest.status, found.proof.fewest.status) == ("none", "none")
    assert (found.status, found.stopped) == ("infeasible", "proved")
    assert len(found) == 0


def test_exact_has_seconds_only() -> None:
    assert repr(cp.Exact(seconds=3)) == "Exact(seconds=3)"
    assert cp.Exact().with_(seconds=3) == cp.Exact(seconds=3)
    assert cp.Exact().with_(method="random") == cp.RandomSearch()
    text = "Exact.evaluations is 99, but a solver looks at seconds only; leave it out"
    with pytest.raises(cp.InvalidInput, match=re.escape(text)):
        cp.Exact(evaluations=99)
    with pytest.raises(cp.InvalidInput, match=re.escape("Exact.seconds must be")):
        cp.Exact(seconds=-1)


def test_a_result_of_exact_is_not_continued(explainer: cp.Explainer) -> None:
    found = explainer.explain(DATA[:1], "opposite", cp.Exact())

    with pytest.raises(cp.InvalidInput, match="cannot be continued; call explain again with more"):
        found.continue_search(100)


def test_the_seconds_of_a_search_are_the_solvers_too(explainer: cp.Explainer) -> None:
    start = time.monotonic()
    found = explainer.explain(DATA[:1], "opposite", cp.Search(prove=True, seconds=0))

    assert time.monotonic() - start < 5.0
    assert found.proof is not None
    assert found.proof.nearest.status == "unknown"
