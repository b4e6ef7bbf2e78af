"""Searching for the explorer: from scratch as `explain` does, or from what was found before."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.served import Gated, explainer_of, observed

import counterpoint as cp
from counterpoint.explorer.requests import Rows, SearchRequest, read_question, search_row
from counterpoint.progress import Watch
from counterpoint.result.report.summary import value_of

ROW = 2


@pytest.fixture(scope="module")
def explainer() -> cp.Explainer:
    return explainer_of(Gated())


@pytest.fixture(scope="module")
def earlier(explainer: cp.Explainer) -> cp.Counterfactuals:
    return search_row(explainer, ask(explainer), Watch())


def ask(explainer: cp.Explainer, row: int = ROW, **changes: Any) -> SearchRequest:
    """Return the question what would make a row good."""
    rows = Rows.of(explainer, observed(), None)
    values = [value_of(gene) for gene in rows.genomes[row]]
    sent = {"row": row, "values": values, "target": "good:0.7..1", "seed": 5} | changes
    return read_question(sent, explainer, rows, 60.0)


def test_from_scratch_it_is_what_explain_finds_bit_for_bit(
    explainer: cp.Explainer, earlier: cp.Counterfactuals
) -> None:
    plain = explainer.explain(observed().iloc[[ROW]], ("good", (0.7, 1.0)), seed=5)

    np.testing.assert_array_equal(earlier.genomes, plain.genomes)
    np.testing.assert_array_equal(earlier.objectives, plain.objectives)
    assert earlier.message == plain.message


@pytest.mark.parametrize(
    "changes",
    [
        {"rules": ["age increases"]},
        {"fixed": ["age"]},
        {"max_changed": 2},
        {"target": "good:0.6..0.9"},
        {"rules": ["job != cook", "income <= 2500"], "max_changed": 3},
    ],
)
def test_nothing_found_before_and_still_allowed_is_lost(
    explainer: cp.Explainer, earlier: cp.Counterfactuals, changes: dict[str, Any]
) -> None:
    question = ask(explainer, **changes)

    found = search_row(explainer, question, Watch(), earlier)

    limits, rules = question.limits, question.limits.rules
    kept = (earlier.changed.sum(axis=1) <= limits.max_changed) & ~earlier.changed[
        :, limits.is_fixed
    ].any(axis=1)
    if len(rules):
        kept &= found.problem.obeys(earlier.genomes[None])[0]
    judged = found.problem.judge(earlier.genomes[None, kept], earlier.predictions[None, kept])
    assert kept.any()
    for objectives in judged.objectives[0]:
        assert (found.objectives <= objectives + 1e-12).all(axis=1).any()
    assert found.problem.obeys(found.genomes[None]).all()


def test_a_search_from_an_earlier_one_says_so_and_asks_about_nothing_known(
    explainer: cp.Explainer, earlier: cp.Counterfactuals
) -> None:
    asked: list[int] = []
    question = ask(explainer, rules=["age increases"])

    found = search_row(explainer, question, Watch(lambda n, _: asked.append(n)), earlier)

    assert any("started from the" in note for note in found.notes)
    assert found.evaluations == 1 + sum(asked)
    again = found.continue_search(50)
    assert any("started from the" in note for note in again.notes)


@pytest.mark.parametrize("changes", [{"row": 4}, {"target": "bad:0.7..1"}])
def test_another_row_or_another_output_is_searched_from_scratch(
    explainer: cp.Explainer, earlier: cp.Counterfactuals, changes: dict[str, Any]
) -> None:
    question = ask(explainer, **changes)

    warm, cold = (search_row(explainer, question, Watch(), each) for each in (earlier, None))

    np.testing.assert_array_equal(warm.genomes, cold.genomes)
    assert not any("started from" in note for note in warm.notes)


def test_a_stopped_watch_ends_it_with_what_there_is(explainer: cp.Explainer) -> None:
    watch = Watch()
    watch.stop()

    found = search_row(explainer, ask(explainer), watch)

    assert found.stopped == "interrupt"


def test_a_watch_sees_the_archive_grow(explainer: cp.Explainer) -> None:
    sizes: list[int] = []

    search_row(explainer, ask(explainer), Watch(seen=lambda archive: sizes.append(archive.size[0])))

    assert sizes == sorted(sizes)
    assert len(set(sizes)) > 1
