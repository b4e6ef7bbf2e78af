"""What is printed, and what a notebook shows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.unit.result.words.small import DATA, FIRST, by_age

import counterpoint as cp
from counterpoint.cli.showing import more_flags
from counterpoint.result.words import speaking


@pytest.fixture(scope="module")
def explainer() -> cp.Explainer:
    return cp.Explainer(by_age, DATA, units={"amount": "€"})


def lines_of(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines()]


def test_a_result_prints_as_sentences_and_a_table_of_changes(explainer: cp.Explainer) -> None:
    found = explainer.explain(FIRST, (0.4, 1.0), cp.WhatIf(n=2))

    assert lines_of(str(found)) == [
        "2 counterfactuals reach prediction between 0.4 and 1 (now 0.22) with 4 or more "
        "changes; 1 model evaluation.",
        "",
        "The row: age 22, amount 5,951.25 €, share 0.10, job clerk, owns no, fix 1.",
        "",
        "1. Prediction between 0.4 and 1 if *age* were 51 instead of 22, *amount* 80.75 instead of "
        "5,951.25 €, *share* 0.50 instead of 0.10 and *job* “smith” instead of “clerk”.",
        "",
        "    age amount (€) share    job prediction distance changes implausibility",
        "row  22   5,951.25  0.10  clerk       0.22",
        "1    51      80.75  0.50  smith       0.51   0.6667       4              0",
        "2 counterfactuals in to_frame().",
    ]


def test_a_long_result_shows_a_few_and_counts_the_rest(explainer: cp.Explainer) -> None:
    found = explainer.explain(FIRST, (0.4, 1.0), cp.Search(method="nsga2", generations=20))
    n, n_missed = int(found.reaches.sum()), int((~found.reaches).sum())
    assert min(n, n_missed) > 2

    default, short = lines_of(str(found)), lines_of(found.summary(2))

    assert default[0].startswith(f"{n} counterfactuals reach")
    assert f"; {n_missed} near misses; " in default[0]
    assert short[-2] == f"{n} counterfactuals in to_frame()."
    assert short[-1] == f"{n_missed} near misses in to_frame(near_misses=True)."


def test_ways_that_are_not_shown_are_counted() -> None:
    data = pd.DataFrame(np.arange(40).reshape(10, 4) % 9, columns=list("abcd"))
    explainer = cp.Explainer(lambda rows: rows.max(axis=1) / 8, data)
    found = explainer.explain(dict.fromkeys("abcd", 0), (0.9, None))

    lines = lines_of(found.summary(3))

    sentences = [line for line in lines if ". Prediction at least 0.9 if *" in line]
    assert [line[0] for line in sentences] == ["1", "2", "3"]
    assert f"{len(found.ways()) - 3} more way" in "\n".join(lines[-3:])
    assert len(found.ways()) == 4


def test_only_features_that_change_are_in_the_table(explainer: cp.Explainer) -> None:
    found = explainer.explain(
        FIRST, (0.4, 1.0), cp.Search(method="nsga2", generations=5), max_changed=1
    ).select(1)

    header = lines_of(str(found))[6]

    assert header.split() == ["age", "prediction", "distance", "changes", "implausibility"]


def test_notes_follow_the_message(explainer: cp.Explainer) -> None:
    row = FIRST.assign(age=15, amount=7000.123)

    text = lines_of(str(explainer.explain(row, (0.5, 1.0), cp.WhatIf())))

    assert text[1] == (
        "Note: the row's 'age' = 15 lies outside the data's range, 22 to 51; the search box was "
        "widened to it."
    )
    assert text[2].startswith("Note: the row's 'amount' = 7,000.12 lies outside")
    assert text[3] == ""
    assert text[4].startswith("The row: age 15, amount 7,000.12 €, ")
    assert text[9].split()[:3] == ["row", "15", "7,000.12"]


def test_a_wide_row_is_cut_short() -> None:
    data = pd.DataFrame({f"x{j}": [0, 1, 2, 3] for j in range(15)})
    found = cp.Explainer(lambda rows: rows["x0"] / 3, data).explain(data[:1], (0.5, 1.0))

    line = str(found).splitlines()[2]

    assert line.endswith("x10 0, x11 0 and 3 more features.")


def test_a_notebook_shows_the_same_with_names_emphasised(explainer: cp.Explainer) -> None:
    found = explainer.explain(FIRST, (0.4, 1.0), cp.WhatIf(n=2))

    html = found._repr_html_()

    assert html.startswith('<div class="counterpoint"><p>2 counterfactuals reach')
    assert "<li>Prediction between 0.4 and 1 if <em>age</em> were" in html
    assert "amount (€)</th>" in html
    assert "<script" not in html
    assert html.count("<tr>") == 3


def test_a_notebook_shows_levels_names_and_units_as_text() -> None:
    evil = "<img src=x onerror=alert(1)>"
    data = pd.DataFrame({evil: [1.5, 2.5, 3.5, 4.5], "b&<i>": [evil, "b", "c", "d"]})
    explainer = cp.Explainer(lambda rows: rows[evil] / 5, data, units={evil: "<b>€</b>"}, groups={})

    html = explainer.explain(data[:1], (0.6, 1.0), cp.WhatIf(n=2))._repr_html_()

    assert "<img" not in html
    assert "<b>" not in html
    assert "<i>" not in html
    assert "&lt;img src=x onerror=alert(1)&gt;" in html


def test_a_notebook_shows_a_result_without_counterfactuals(explainer: cp.Explainer) -> None:
    html = explainer.explain(FIRST, (0.1, 0.3))._repr_html_()

    assert html == (
        '<div class="counterpoint"><p>The row already reaches prediction between 0.1 and 0.3: its '
        "prediction is 0.22, 0.08 inside.</p></div>"
    )


def of_twelve(row_value: float) -> cp.Counterfactuals:
    """Explain a row whose first feature alone is enough, or the other eleven together."""
    names = [f"m{j}" for j in range(12)]
    values = np.arange(720).reshape(60, 12) * 7919 % 101 % 10  # all of 0 to 9, in no order
    data = pd.DataFrame(values, columns=names)
    data.loc[0] = 0

    def score(rows: pd.DataFrame) -> Any:
        alone, others = rows["m0"] - row_value, rows[names[1:]].min(axis=1) - 1.0
        return np.maximum(alone, others)

    rows = pd.DataFrame([[0, *([2] * 11)], [9, *([0] * 11)]], columns=names)
    explainer = cp.Explainer(score, pd.concat([data, rows], ignore_index=True))
    return explainer.explain(data[:1], (0.0, None), seed=0)


def test_ways_of_very_many_changes_are_counted_and_not_told_beside_short_ones() -> None:
    found = of_twelve(row_value=5.0)
    sizes = sorted(len(way.features) for way in found.ways())
    assert sizes == [1, 11]

    text = str(found)

    assert "\n1. Prediction at least 0 if *m0* were" in text
    assert "\n2. " not in text
    assert "1 more way in ways()." in text
    assert found.explain_text("en", "analyst").count("\n2. ") == 0
    assert more_flags(found, n_shown=1)[0] == "1 way of more than eight changes: --report FILE"
    with speaking("de"):
        assert more_flags(found, n_shown=1)[0].startswith("1 Weg mit mehr als acht Änderungen")


def test_where_all_ways_are_long_they_are_told() -> None:
    found = of_twelve(row_value=99.0)
    assert [len(way.features) for way in found.ways()] == [11]

    assert "*m11*" in str(found).splitlines()[4]
