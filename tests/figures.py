"""What tests of figures share: a mixed table, its result, and charts drawn without a browser."""

from __future__ import annotations

from functools import cache
from pathlib import PurePosixPath
from typing import Any

import numpy as np
import pandas as pd
import vl_convert
from tests.strategies import generator

import counterpoint as cp

FIELDS = {  # every column a chart may refer to: ours, never the caller's
    *("counterfactual", "outcome", "prediction", "axis", "feature", "value", "position", "label"),
    *("changed", "text", "end", "is_row", "x", "x2", "y", "y2", "x_value", "y_value", "line"),
    *("order", "level", "is_target", "start", "count", "share", "at", "panel", "low"),
    *(
        "high",
        "lane",
        "old",
        "new",
        "old_value",
        "new_value",
        "together",
        "height",
        "top",
        "bottom",
    ),
    *("place", "heading", "generation", "evaluations", "hypervolume"),
}


def mixed_table(n: int = 120) -> pd.DataFrame:
    """Return a table with a column of every kind."""
    rng = generator(0)
    days = pd.to_timedelta(rng.integers(0, 4000, n), unit="D")
    return pd.DataFrame(
        {
            "amount": rng.normal(100.0, 30.0, n).round(2),
            "rooms": rng.integers(1, 8, n),
            "since": pd.Timestamp("2010-01-01") + days,
            "owns": rng.random(n) < 0.5,
            "job": rng.choice(["clerk", "nurse", "smith"], n),
            "size": pd.Categorical(rng.choice(["S", "M", "L"], n), ["S", "M", "L"], ordered=True),
            "same": 1,
        }
    )


def worth(rows: pd.DataFrame) -> Any:
    """Return a price all columns of `mixed_table` have a part in."""
    years = (rows["since"] - pd.Timestamp("2010-01-01")).dt.days / 365.0
    size = rows["size"].astype(str).map({"S": 0.0, "M": 10.0, "L": 25.0})
    levels = 30.0 * (rows["job"] == "nurse") + 15.0 * rows["owns"] + size
    return (rows["amount"] + 8.0 * rows["rooms"] + 2.0 * years + levels).to_numpy(dtype=float)


def explained(target: Any = (170.0, 190.0), **settings: Any) -> cp.Counterfactuals:
    """Return the counterfactuals of a cheap row of `mixed_table`."""
    data = mixed_table()
    row = data.iloc[[int(np.argsort(worth(data))[5])]]
    search = cp.Search(evaluations=settings.pop("evaluations", 400))
    return cp.Explainer(worth, data, **settings).explain(row, target, search=search)


@cache
def explained_once() -> cp.Counterfactuals:
    """Return the same without settings, found once for all who only look at it."""
    return explained()


def with_gaps(row_is_missing: bool) -> cp.Counterfactuals:
    """Return a result of data, and maybe a row, with missing numbers and levels."""
    rng = generator(3)
    data = pd.DataFrame({"a": rng.normal(size=80).round(1), "b": rng.choice(["u", "v"], 80)})
    data.loc[::7, "a"] = np.nan
    data.loc[::5, "b"] = None

    def score(rows: pd.DataFrame) -> Any:
        levels = rows["b"].map({"u": 1.0, "v": 0.0}).fillna(7.0)
        return (rows["a"].fillna(-3.0) + levels.astype(float)).to_numpy()

    row = {"a": np.nan if row_is_missing else -1.0, "b": None if row_is_missing else "v"}
    explainer = cp.Explainer(score, data, allow_missing=True)
    return explainer.explain(row, (5.0, 9.0), search=cp.Search(evaluations=200))


def drawn(chart: Any) -> str:
    """Return a chart, or its specification, as SVG.

    Altair checks a chart against Vega-Lite's schema when it makes the specification, which takes
    as long as drawing does. That each figure passes is tested once, with its specification; here
    Vega-Lite itself compiles it.
    """
    spec = chart if isinstance(chart, dict) else chart.to_dict(validate=False)
    version = "_".join(PurePosixPath(spec["$schema"]).stem.split(".")[:2])
    svg: str = vl_convert.vegalite_to_svg(spec, vl_version=version)
    return svg


def fields_of(spec: Any) -> set[str]:
    """Return every column a specification refers to."""
    found: set[str] = set()
    if isinstance(spec, dict):
        found |= {value for key, value in spec.items() if key == "field"}
        for key, part in spec.items():
            found |= set() if key == "datasets" else fields_of(part)
    elif isinstance(spec, list):
        for part in spec:
            found |= fields_of(part)
    return found
