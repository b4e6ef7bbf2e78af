"""With NUMBA_DISABLE_JIT kernels run as Python, and say the same as when they are compiled."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier
from tests.golden import reference_runs as runs

import counterpoint as cp
from counterpoint.rules.rules import Rules
from counterpoint.table.schema import Schema

TEXTS = ["a <= 5", "a + b > 7 or changed(a)", "b in steps of 2", "at most 1 change"]
LONG = cp.Search(evaluations=1_000)  # long enough to come to the small steps at the end
AS_PYTHON = """
import json
from tests.unit import test_kernels_python as own

print(json.dumps([own.verdicts(), own.searches()]))
"""


@pytest.fixture(scope="module")
def said_as_python() -> Any:
    """Return what functions of this module say in a process whose kernels run as Python."""
    done = subprocess.run(  # noqa: S603 - our own interpreter and code
        [sys.executable, "-c", AS_PYTHON],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def verdicts() -> list[int]:
    """Return which of all small genomes keep the rules."""
    rules = Rules.parse(TEXTS, Schema.infer(pd.DataFrame({"a": range(10), "b": range(10)})))
    genomes = np.array([[i, j] for i in range(10) for j in range(10)], dtype=float)
    found: list[int] = rules.verdicts(genomes, np.array([4.0, 4.0])).astype(int).ravel().tolist()
    return found


def searches() -> dict[str, str]:
    """Return a hash of what is found, of models that are known to the search and of others.

    The density of forests is not looked at: NumPy's exp and that of compiled code may differ in the
    last bit.
    """
    data, refused = runs.DATA[runs.NUMBERS], runs.REFUSED[runs.NUMBERS]
    tree = DecisionTreeClassifier(max_depth=4, random_state=0).fit(data, runs.LABELS)
    by_tree = cp.Explainer(tree, data)
    found = {
        "rules": runs.RUNS["rules-of-texts/explore"](),
        "nsga2": runs.RUNS["limits-rules-costs/nsga2"](),
        "linear": runs.one("linear", LONG),
        "tree": [by_tree.explain(refused.iloc[[0]], "opposite", LONG, runs.SEED)],
    }
    return {name: _hash_of(results) for name, results in found.items()}


def _hash_of(results: list[cp.Counterfactuals]) -> str:
    parts = (part for each in results for part in runs.parts_of_result(each).values())
    return hashlib.sha256(b"".join(parts)).hexdigest()


def test_rules_hold_for_the_same_rows_as_python_and_compiled(said_as_python: Any) -> None:
    assert said_as_python[0] == verdicts()


def test_searches_find_the_same_bits_as_python_and_compiled(said_as_python: Any) -> None:
    assert said_as_python[1] == searches()
