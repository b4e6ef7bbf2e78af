"""Verification: a witness, a proof that there is none, or neither; brute force is the oracle."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier
from tests.strategies import generator

import counterpoint as cp
from counterpoint.search.exact.finish import all_rows

DATA = pd.DataFrame(
    [*product(range(4), [0.0, 0.1, 0.2, 0.3], ["x", "y", "z"])], columns=["a", "b", "c"]
)
CODES = {"x": 0, "y": 1, "z": 2}


def differs_from(row: pd.Series[Any]) -> Any:
    return DATA.ne(row, axis=1).to_numpy()


def numbers(rows: pd.DataFrame) -> Any:
    return rows.assign(c=rows["c"].map(CODES)).to_numpy(dtype=float)


class Wrapped:
    """A forest of three classes that takes the frame as it is."""

    def __init__(self, seed: int) -> None:
        labels = generator(seed).choice(["low", "mid", "high"], len(DATA), p=[0.6, 0.3, 0.1])
        self.forest = RandomForestClassifier(5, max_depth=3, random_state=0)
        self.forest.fit(numbers(DATA), labels)
        self.classes_ = self.forest.classes_

    def predict_proba(self, rows: pd.DataFrame) -> Any:
        """Return the probabilities."""
        return self.forest.predict_proba(numbers(rows))

    def predict(self, rows: pd.DataFrame) -> Any:
        """Return the classes."""
        return self.forest.predict(numbers(rows))


LIMITS: list[tuple[Any, Any]] = [
    ({}, lambda _: np.ones(len(DATA), dtype=bool)),
    ({"fixed": ["a"]}, lambda row: DATA["a"] == row["a"]),
    ({"max_changed": 1}, lambda row: differs_from(row).sum(axis=1) <= 1),
    ({"ranges": {"b": (0.1, 0.2)}}, lambda _: DATA["b"].between(0.1, 0.2)),
    ({"ranges": {"c": ["x", "y"]}}, lambda _: DATA["c"] != "z"),
    ({"constraints": ["a increases"]}, lambda row: DATA["a"] >= row["a"]),
    ({"constraints": ["a <= 10 * b"]}, lambda _: DATA["a"] <= 10 * DATA["b"] + 1e-9),
]


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 200), i=st.integers(0, 47), limits=st.sampled_from(LIMITS))
def test_brute_force_agrees(seed: int, i: int, limits: Any) -> None:
    model, row = Wrapped(seed), DATA.iloc[[i]]
    explainer = cp.Explainer(model, DATA)
    wanted = "high" if "high" in model.classes_ else "mid"
    allowed = np.asarray(limits[1](DATA.iloc[i])) & differs_from(DATA.iloc[i]).any(axis=1)
    reaching = DATA[allowed & (model.predict(DATA) == wanted)]

    verified = explainer.verify(row, wanted, cp.Limits(**limits[0]))

    if model.predict(row)[0] == wanted:
        assert verified.verdicts == ("already met",)
    elif len(reaching):
        assert verified.verdicts == ("witness",)
        witness = verified.witnesses()
        assert len(witness.merge(reaching)) == 1
        assert verified.findings[0].n_asked == allowed.sum()
    else:
        assert verified.verdicts == ("proved none",)
        assert verified.findings[0].n_asked == allowed.sum()


@pytest.mark.parametrize(("limits", "is_allowed"), LIMITS)
def test_all_rows_are_those_that_limits_allow(limits: Any, is_allowed: Any) -> None:
    explainer = cp.Explainer(lambda rows: rows["a"] / 9, DATA)
    row = DATA.iloc[[17]]
    problem = explainer.explain(row, (0.9, 1.0), cp.WhatIf(), **limits).problem

    genomes = all_rows(problem)

    allowed = np.asarray(is_allowed(DATA.iloc[17])) & differs_from(DATA.iloc[17]).any(axis=1)
    assert genomes is not None
    found = explainer.encoding.decode(genomes)
    assert sorted(map(str, found.to_numpy().tolist())) == sorted(
        map(str, DATA[allowed].to_numpy().tolist())
    )


def wide(n: int = 300) -> pd.DataFrame:
    rng = generator(2)
    return pd.DataFrame(
        {"x": rng.normal(size=n).round(3), "y": rng.normal(size=n).round(3), "z": rng.random(n)}
    )


WIDE = wide()
FOREST = RandomForestClassifier(20, max_depth=4, random_state=0).fit(
    WIDE, np.where(WIDE["x"] + WIDE["y"] > 0.5, "good", "bad")
)
REFUSED = WIDE[FOREST.predict(WIDE) == "bad"]


def test_what_cannot_be_counted_out_is_searched_and_proved_by_the_solver() -> None:
    explainer = cp.Explainer(FOREST, WIDE)
    most = FOREST.predict_proba(WIDE)[:, 1].max()

    easy = explainer.verify(REFUSED[:3], "good")
    none = explainer.verify(
        REFUSED[:3], ("good", (min(1.0, most + 0.2), 1.0)), cp.Limits(vary=["z"])
    )

    assert easy.verdicts == ("witness",) * 3
    assert (FOREST.predict(easy.witnesses()) == "good").all()
    assert none.verdicts == ("proved none",) * 3
    assert "the solver proved it" in none.findings[0].how


def test_where_no_solver_helps_nothing_is_claimed() -> None:
    explainer = cp.Explainer(lambda rows: rows["x"] * 0.0 + rows["y"] * 1e-3, WIDE)

    verified = explainer.verify(WIDE[:2], (5.0, 6.0), search=cp.Explore(evaluations=200))

    assert verified.verdicts == ("unknown", "unknown")
    assert 100 < verified.findings[0].n_asked <= 200
    how = verified.findings[0].how
    assert how.startswith("the search found none, and nothing is proved: ")
    assert how.endswith("There are more than 20,000 rows, too many to ask about all of them")


def test_it_is_shown_in_order_in_the_datas_kind_of_table() -> None:
    rows = pl.from_pandas(DATA)
    explainer = cp.Explainer(lambda each: each["a"].to_numpy() / 3, rows)

    verified = explainer.verify(rows[[0, 47, 5]], (0.9, 1.0), cp.Limits(max_changed=1))

    shown = verified.to_frame()
    assert isinstance(shown, pl.DataFrame)
    assert shown["verdict"].to_list() == ["witness", "already met", "witness"]
    assert isinstance(verified.witnesses(), pl.DataFrame)
    assert verified.witnesses()["a"].to_list() == [3, 3]
    assert str(verified).splitlines()[0] == (
        "3 rows verified: 2 witness, 0 proved none, 0 unknown, 1 already met."
    )
    assert repr(verified) == str(verified)
    assert len(explainer.verify(rows[:0], (0.9, 1.0))) == 0


def test_features_that_may_be_missing_are_counted_out_too() -> None:
    gappy = DATA.assign(b=DATA["b"].where(np.arange(len(DATA)) % 7 > 0))
    explainer = cp.Explainer(
        lambda rows: rows["b"].isna().astype(float), gappy, allow_missing=["b"]
    )
    whole = gappy[gappy["b"].notna()].iloc[[0]]

    verified = explainer.verify(whole, (0.9, 1.0))

    assert verified.verdicts == ("witness",)
    assert verified.witnesses()["b"].isna().tolist() == [True]


def test_a_search_that_no_solver_can_finish_is_refused() -> None:
    explainer = cp.Explainer(FOREST, WIDE)

    with pytest.raises(
        cp.InvalidInput, match=r"verify.search must be an Explore, .* WhatIf\(n=1\)"
    ):
        explainer.verify(WIDE[:1], "good", search=cp.WhatIf())  # type: ignore[arg-type]


def test_keywords_join_the_limits_as_in_explain() -> None:
    explainer = cp.Explainer(Wrapped(0), DATA)
    rows, ranges = DATA.iloc[[3, 17]], {"b": (0.1, 0.2)}

    by_keywords = explainer.verify(rows, "high", cp.Limits(fixed=["a"]), ranges=ranges)
    by_limits = explainer.verify(rows, "high", cp.Limits(fixed=["a"], ranges=ranges))

    assert str(by_keywords) == str(by_limits) != str(explainer.verify(rows, "high"))
    with pytest.raises(cp.InvalidInput, match="fixed is given twice"):
        explainer.verify(rows, "high", cp.Limits(fixed=["a"]), fixed=["b"])
    with pytest.raises(TypeError, match=r"verify\(\) got .* argument 'fixd'; did you mean 'fixed'"):
        explainer.verify(rows, "high", fixd=["b"])  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"judge\(\) got .* 'zzz'; it takes 'fixed', 'vary'"):
        explainer.judge(rows, rows[:1], "high", zzz=3)  # type: ignore[call-arg]
