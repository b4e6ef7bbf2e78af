"""The optimality report: what is measured, and that no search beats the optimum."""

from __future__ import annotations

from dataclasses import replace

import pytest
from benchmarks.methods.optimum import optimum
from benchmarks.optimality import SEARCHES, Gap, as_markdown, cases, measure, others, summarize
from benchmarks.proofs import Proved
from sklearn.tree import DecisionTreeClassifier
from tests.cases import fitted, other_class

GAP = Gap("credit", "tree", "counterpoint", 0.12, 0.1, 2.0, 1, (1.0, 1.2), 0.5, 0.0)


def test_our_default_is_measured_beside_the_optimum() -> None:
    case = other_class(fitted(DecisionTreeClassifier(max_depth=3, random_state=0), 0), 0)
    best = optimum(case)

    distance, changes, ratios = measure(case, "counterpoint", best)

    assert distance >= best[-1].distance - 1e-9
    assert changes >= best[0].changes
    assert len(ratios) == len(best)


def test_a_search_that_beats_the_optimum_disproves_it() -> None:
    case = other_class(fitted(DecisionTreeClassifier(max_depth=3, random_state=0), 0), 0)
    wrong = [replace(best, distance=2.0) for best in optimum(case)]

    with pytest.raises(RuntimeError, match=r"counterpoint beats the optimum by 0\.\d+, so"):
        measure(case, "counterpoint", wrong)


def test_a_row_of_the_report_says_what_was_measured() -> None:
    exact = replace(GAP, distance=0.1, changes=1.0, ratios=(1.0,))
    failed = replace(GAP, distance=float("inf"), changes=float("inf"), ratios=(float("inf"),) * 2)

    assert summarize([GAP, exact]) == "2 of 2 | 50% | 10.0% | 20.0% | 50% | 0.0% (100%)"
    assert summarize([failed]) == "0 of 1 | | | | |"
    assert summarize([exact, failed]).startswith("1 of 2 | 50% | 0.0% | 0.0% | 50%")


def test_the_report_names_the_worst_row() -> None:
    others = [replace(GAP, search=name) for name in SEARCHES[1:]]
    large = [Proved("credit", "forest", 0.1, 0.1, 0.1, True, 0.1, 0.3)]

    text = as_markdown([GAP, replace(GAP, distance=0.1), *others], large, 2)

    assert "nearest possible counterfactual of 50% of the 2 rows" in text
    assert "a row of credit with the tree: 0.1200, where 0.1000 is possible" in text


def test_the_target_is_never_the_predicted_class() -> None:
    seen = set()
    for table, model, case in cases(1):
        assert case.model.predict(case.row)[0] != case.target
        seen.add((table, model))

    assert len(seen) == 14  # four tables and four models, but two linear ones


def test_sections_of_other_commands_are_kept() -> None:
    page = "# How far?\n\nMeasured.\n\n## Two solvers\n\nBoth.\n"

    assert others(page) == "\n## Two solvers\n\nBoth.\n"
    assert others("# How far?\n\nMeasured.\n") == ""
