"""Laws of the searches within rules: what is returned obeys, and what can be found is found."""

from __future__ import annotations

from functools import cache
from typing import Any, get_args

import numpy as np
import pandas as pd
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.property.test_rules_laws import DATA, ROWS, SCHEMAS, genomes_of, rule_sets

import counterpoint as cp
from counterpoint.rules.rules import Rules
from counterpoint.search.settings import Method
from counterpoint.table.schema import Encoding

SEARCHING = settings(deadline=None, max_examples=60)
DTYPES = {"float64": np.float64, "float32": np.float32, "reals": np.float64}


def score(rows: pd.DataFrame) -> Any:
    return rows["n"] / 8 + rows["x"].astype(float) + 0.1 * (rows["job"] == "b")


@cache
def explainer(kind: str) -> cp.Explainer:
    precision: Any = "full" if kind == "reals" else "observed"
    return cp.Explainer(score, DATA.astype({"x": DTYPES[kind]}), precision=precision)


def search(
    texts: list[str], i: int, method: Method, kind: str, evaluations: int
) -> cp.Counterfactuals | None:
    """Return what is found of a row that does not reach the target; None if rules contradict."""
    row = ROWS[i : i + 1].astype({"x": DTYPES[kind]})
    settings = cp.Search(method=method, evaluations=evaluations, population=10)
    try:
        return explainer(kind).explain(row, (5.0, 6.0), settings, constraints=texts)
    except cp.InvalidInput:
        return None


@SEARCHING
@given(
    rule_sets,
    st.integers(0, len(ROWS) - 1),
    st.sampled_from(get_args(Method)),
    st.sampled_from(list(SCHEMAS)),
)
def test_a_search_ends_in_rows_that_obey_or_in_a_clean_error(
    texts: list[str], i: int, method: Method, kind: str
) -> None:
    found = search(texts, i, method, kind, evaluations=150)

    if found is None or len(found.genomes) == 0:
        return
    schema = SCHEMAS[kind]
    encode = Encoding(schema).encode
    genomes, row = (
        encode(found.to_frame(near_misses=True)[list(DATA.columns)]),
        encode(found.row)[0],
    )
    rules = Rules.parse(texts, schema)
    np.testing.assert_array_equal(genomes, found.genomes)
    assert rules.holds(genomes, row).all()
    assert found.constraints == rules.texts


@SEARCHING
@given(rule_sets, st.integers(0, len(ROWS) - 1))
@example(["changed(n) and n decreases by at most 2"], 0)  # nothing is below it
def test_where_the_rules_allow_anything_something_is_found(texts: list[str], i: int) -> None:
    """The table is so small that it is known whether they do."""
    schema = SCHEMAS["float64"]
    row = Encoding(schema).encode(ROWS[i : i + 1])[0]
    genomes = genomes_of(row, schema)
    allowed = genomes[Rules.parse(texts, schema).holds(genomes, row)]
    is_possible = bool((allowed != row).any())

    found = search(texts, i, "explore", "float64", evaluations=100)

    assert (found is not None and len(found.genomes) > 0) == is_possible
