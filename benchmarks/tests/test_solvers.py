"""Programs in whole numbers lose no solution, and the section finds its place."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.solvers import whole, with_section
from tests.strategies import generator


@pytest.mark.parametrize("seed", range(20))
def test_no_solution_is_lost_by_rounding(seed: int) -> None:
    rng = generator(seed)
    entries, chosen = rng.normal(size=30), rng.integers(0, 2, (200, 30))
    totals = chosen @ entries
    low, high = np.quantile(totals, [0.2, 0.7])

    rounded, (least, most) = whole(entries, low, high)

    inside = (totals >= low) & (totals <= high)
    kept = chosen[inside] @ np.array(rounded)
    assert inside.any()
    assert ((kept >= least) & (kept <= most)).all()


def test_whole_conditions_stay_as_they_are() -> None:
    assert whole(np.array([1.0, -1.0]), 0.0, np.inf) == ([1, -1], (0, 10**15))


def test_a_section_takes_the_place_of_the_one_before() -> None:
    page = "# A\n\n## Two solvers\n\nold\n\n## Ranks\n\nkept\n"

    assert with_section(page, "\n## Two solvers\n\nnew\n") == page.replace("old", "new")
    assert with_section("# A\n", "\n## Two solvers\n\nnew\n") == "# A\n\n## Two solvers\n\nnew\n"
