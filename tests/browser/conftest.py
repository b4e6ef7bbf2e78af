"""Reports to visit, and a browser to visit them with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.browser.browser import Visit, chromium

import counterpoint as cp

EVIL_LEVEL = "<img src=x onerror=alert(1)>"
EVIL_NAME = "</script><script>alert(2)</script>"


def observed() -> pd.DataFrame:
    """Return a table of all kinds, with names and levels that would be markup."""
    n = np.arange(120)
    return pd.DataFrame(
        {
            "age": 20 + (n * 7) % 40,
            "income": np.round(900.0 + (n * 37) % 2400 + 0.5 * (n % 2), 1),
            "duration": 6 * (1 + (n * 5) % 10),
            EVIL_NAME: pd.Categorical([["clerk", "cook", EVIL_LEVEL][i % 3] for i in n]),
            "since": pd.to_datetime("2020-01-01") + pd.to_timedelta((n * 13) % 900, unit="D"),
            "sex": [["f", "m"][i % 2] for i in n],
        }
    )


def score(rows: pd.DataFrame) -> Any:
    """Return a probability that depends on most columns."""
    raw = (
        (rows["income"] - 900.0) / 5000.0
        - rows["duration"] / 200.0
        + (rows["age"] - 20) / 400.0
        + (rows[EVIL_NAME].astype(str) == EVIL_LEVEL) * 0.5  # much, or nobody would change it
        + (rows["sex"] == "m") * 0.1
        - 0.4
    )
    return 1.0 / (1.0 + np.exp(-3.0 * raw))


@pytest.fixture(scope="session")
def found() -> cp.Counterfactuals:
    """Return a result to report."""
    data = observed()
    explainer = cp.Explainer(
        score, data, units={"duration": "months", "income": "EUR"}, protected=["sex"]
    )
    row = data.iloc[[0]].assign(age=30, income=1500.0, duration=36, sex="f")
    return explainer.explain(row, target=(0.5, 1.0), seed=0)


@pytest.fixture(scope="session")
def report(found: cp.Counterfactuals, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a report with figures on disk."""
    place = tmp_path_factory.mktemp("report") / "row.html"
    found.report(place)
    return place


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Return a browser."""
    with chromium() as running:
        yield running


@pytest.fixture
def visit(browser: Any) -> Iterator[Callable[..., Visit]]:
    """Return a function that opens a page; afterwards nothing may have gone wrong."""
    visits: list[Visit] = []

    def open_page(place: Path | str, **options: Any) -> Visit:
        address = place.as_uri() if isinstance(place, Path) else place
        visits.append(Visit(browser, address, options))
        return visits[-1]

    yield open_page
    for each in visits:
        each.context.close()
        assert each.errors == []
        assert [url for url in each.requests if not url.startswith(each.allowed)] == []
