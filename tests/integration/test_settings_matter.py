"""No setting is documented, stored and never used."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import pandas as pd
import pytest

import counterpoint as cp

BASE = cp.Search(method="nsga2", population=6, generations=4)

SETTINGS = sorted({each.name for kind in (cp.Explore, cp.NSGA2) for each in fields(kind)})

# For every setting of a search: what to change it to, on which base; None is `BASE`.
CASES: dict[str, tuple[Any, cp.Search | None]] = {
    "method": ("random", None),
    "evaluations": (60, None),
    "generations": (2, None),
    "population": (5, None),
    "patience": (1, BASE.with_(generations=40)),
    "seconds": (0.0, None),
    "prove": (True, cp.Search(evaluations=50)),
    "epsilon": (None, None),
    "initialization": ("deviation", None),
    "p_min": (0.9, None),
    "p_max": (0.1, None),
    "mutation": ("gaussian", None),
    "step": ("deviation_times_range", BASE.with_(mutation="gaussian")),
    "p_recombine": (0.0, None),
    "p_recombine_gene": (0.0, None),
    "p_recombine_keep": (0.0, None),
    "p_mutate": (0.0, None),
    "p_mutate_gene": (0.0, None),
    "p_mutate_keep": (0.0, None),
}


def accept(rows: pd.DataFrame) -> Any:
    score = 0.1 * rows["income"] - 0.8 * rows["debt"] + (rows["job"] == "nurse") - 3.0
    return 1.0 / (1.0 + np.exp(-score))


@pytest.fixture(scope="module")
def explainer() -> cp.Explainer:
    rng = np.random.default_rng(0)  # noqa: TID251
    data = pd.DataFrame(
        {
            "income": rng.integers(10, 60, 150),
            "debt": rng.normal(4.0, 2.0, 150).round(1),
            "job": rng.choice(["clerk", "nurse", "smith"], 150),
            "owns": rng.random(150) < 0.5,
        }
    )
    return cp.Explainer(accept, data)


def search(explainer: cp.Explainer, settings: cp.Search) -> tuple[Any, ...]:
    row = {"income": 12, "debt": 6.5, "job": "clerk", "owns": False}
    found = explainer.explain(row, (0.5, 1.0), settings, seed=3)
    history = found.history["hypervolume"].tolist()
    return found.genomes.tolist(), found.evaluations, history, found.proof


@pytest.mark.parametrize("name", SETTINGS)
def test_every_setting_changes_the_result_or_the_length(explainer: cp.Explainer, name: str) -> None:
    value, base = CASES[name]  # a new field needs a case
    settings = base or BASE

    changed = search(explainer, settings.with_(**{name: value}))

    assert changed != search(explainer, settings)


def test_there_is_no_case_for_a_setting_that_is_gone() -> None:
    assert sorted(CASES) == SETTINGS
