"""No kernel reads or writes outside of its arrays: searches whose every index is looked at."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import counterpoint

# Numbers and levels, rules, missing values, trees that are known, and the paper's search.
SEARCHES = """
import hashlib
import numpy as np, pandas as pd, counterpoint as cp
from sklearn.ensemble import RandomForestClassifier
at = np.arange(200)
data = pd.DataFrame({
    "age": at % 61, "pay": at * 7919 % 2011 / 10.0, "sum": at * 31 % 97 / 7.0,
    "home": pd.Categorical.from_codes(at * 5 % 3, ["own", "rent", "free"]),
})
numbers, found = data[["age", "pay", "sum"]], []
forest = RandomForestClassifier(10, random_state=0).fit(numbers, data["pay"] + data["sum"] > 110)
search = cp.Search(evaluations=1500)
found += cp.Explainer(forest, numbers).explain_many(numbers[:4], "opposite", search)
score = lambda rows: rows["pay"].fillna(0) / 202 + 0.1 * (rows["home"] == "own")
ruled = {"constraints": ["age increases", "pay <= 3 * age + 150", "home = own implies age > 2"]}
found.append(cp.Explainer(score, data).explain(data[:1], (0.9, 2.0), search, **ruled))
missing = data.mask((at[:, None] + np.arange(4)) % 17 == 0)
found.append(cp.Explainer(score, missing).explain(missing[1:2], (0.9, 2.0), search))
paper = cp.Search.paper("mocmod").with_(generations=5)
found.append(cp.Explainer(forest, numbers).explain(numbers[:1], "opposite", paper))
for each in found:
    print(len(each), hashlib.sha256(each.to_csv().encode()).hexdigest())
"""


def run(**environment: str) -> str:
    """Run the searches in a fresh process; return what they found."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA")}
    source = str(Path(counterpoint.__file__).parents[1])
    done = subprocess.run(  # noqa: S603 - our own interpreter and code
        [sys.executable, "-W", "ignore", "-c", SEARCHES],
        env={**kept, "PYTHONPATH": source, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow  # which compiles all kernels, into a folder of its own
def test_no_kernel_leaves_its_arrays_and_looking_changes_no_bit(tmp_path: Path) -> None:
    plain = run()

    looking = run(NUMBA_BOUNDSCHECK="1", NUMBA_CACHE_DIR=str(tmp_path))

    assert len(plain.splitlines()) == 7
    assert looking == plain
