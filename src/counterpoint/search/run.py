"""Run: which function runs which settings. A new method has a line here and one in `settings`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from counterpoint.problem.problem import Problem
from counterpoint.search.archive import Archive
from counterpoint.search.baselines import search_randomly, take_nearest
from counterpoint.search.explore.loop import explore
from counterpoint.search.nsga2.loop import evolve
from counterpoint.search.settings import NSGA2, Explore, RandomSearch, Search, WhatIf
from counterpoint.search.watch import Watch

RUNS: dict[type, Callable[[Problem, Any, Watch | None], Archive]] = {
    Explore: explore,
    NSGA2: evolve,
    RandomSearch: search_randomly,
    WhatIf: take_nearest,
}


def run(problem: Problem, search: Search | WhatIf, watch: Watch | None = None) -> Archive:
    """Search the counterfactuals of every row of `problem`; return all that was evaluated."""
    return RUNS[type(search)](problem, search, watch)
