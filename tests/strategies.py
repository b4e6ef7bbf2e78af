"""What several tests draw from: made-up tables, rows and limits, and strategies for Hypothesis."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from hypothesis import strategies as st

FEATURES = ["whole", "tenth", "real", "single", "kind", "two", "grade"]


def generator(seed: int) -> np.random.Generator:  # noqa: TID251 - made-up data, not a search
    """Return a source of random numbers for made-up data."""
    return np.random.default_rng(seed)  # noqa: TID251


def mixed_table(n: int, seed: int) -> pd.DataFrame:
    """Return rows of two numbers, a level and a truth value."""
    rng = generator(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 60, n),
            "debt": rng.normal(2.0, 1.0, n).round(1),
            "job": rng.choice(list("abc"), n),
            "owns": rng.random(n) < 0.5,
        }
    )


def every_kind() -> pd.DataFrame:
    """Return a table with a feature of every kind, named after what it is."""
    rng, n = generator(1), 120
    return pd.DataFrame(
        {
            "whole": rng.integers(0, 10, n),
            "tenth": rng.uniform(-2.0, 2.0, n).round(1),
            "real": rng.normal(0.0, 1.0, n),
            "single": rng.uniform(0.0, 1.0, n).astype(np.float32),
            "kind": rng.choice(["a", "b", "c", "d"], n),
            "two": rng.choice(["no", "yes"], n),
            "grade": pd.Categorical(rng.choice(["lo", "mid", "hi"], n), ["lo", "mid", "hi"], True),
        }
    )


def rows_of_every_kind(widest: float = 20.0) -> st.SearchStrategy[dict[str, Any]]:
    """Draw rows of that table: within the data, beyond its range and off its grid."""
    return st.fixed_dictionaries(
        {
            "whole": st.integers(-3, 14),
            "tenth": st.one_of(st.integers(-30, 30).map(lambda i: i / 10), st.floats(-3.0, 3.0)),
            "real": st.floats(-widest, widest),
            "single": st.floats(-1.0, 2.0, width=32),
            "kind": st.sampled_from("abcd"),
            "two": st.sampled_from(["no", "yes"]),
            "grade": st.sampled_from(["lo", "mid", "hi"]),
        }
    )


@st.composite
def limits_of_every_kind(draw: st.DrawFn) -> dict[str, Any]:
    """Draw limits of that table that some candidate can keep."""
    fixed = draw(st.sets(st.sampled_from(FEATURES), max_size=5))
    given_ranges = {"whole": (2, 7), "tenth": (-1.0, None), "real": (-5.0, 5.0)}
    ranges = {name: given_ranges[name] for name in given_ranges if name not in fixed}
    chosen = draw(st.sets(st.sampled_from(sorted(ranges)), max_size=2)) if ranges else set()
    return {
        "fixed": sorted(fixed),
        "ranges": {name: ranges[name] for name in sorted(chosen)},
        "max_changed": draw(st.one_of(st.none(), st.integers(max(1, len(chosen)), 7))),
    }


def loans(n: int = 300) -> pd.DataFrame:
    """Return a table of whole numbers, decimals, reals, texts, levels and truth values."""
    rng = generator(0)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "amount": rng.gamma(3.0, 900.0, n).round(2),
            "debt": rng.normal(4.0, 2.0, n).round(1),
            "rate": rng.random(n),
            "job": rng.choice(["clerk", "nurse", "smith", "none"], n),
            "city": pd.Categorical(rng.choice(["Bonn", "Oslo", "Rome"], n)),
            "owns": rng.random(n) < 0.4,
        }
    )
