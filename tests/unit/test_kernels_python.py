"""With NUMBA_DISABLE_JIT kernels run as Python, and say the same as when they are compiled."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
from tests.golden.reference_runs import hashes_of

from counterpoint.rules.rules import Rules
from counterpoint.table.schema import Schema

TEXTS = ["a <= 5", "a + b > 7 or changed(a)", "b in steps of 2", "at most 1 change"]
RULES = """
import numpy as np
import pandas as pd
from counterpoint.rules.program import judge
from counterpoint.rules.rules import Rules
from counterpoint.table.schema import Schema

data = pd.DataFrame({"a": range(10), "b": range(10)})
rules = Rules.parse(%r, Schema.infer(data))
genomes = np.array([[i, j] for i in range(10) for j in range(10)], dtype=float)
print(judge(rules.program, genomes, np.array([4.0, 4.0])).astype(int).ravel().tolist())
"""
# Those of the reference runs that are quick as Python, and together reach most kernels. The density
# of forests is not among them: NumPy's exp and that of compiled code may differ in the last bit.
SEARCHES = ["rules-of-texts/explore", "limits-rules-costs/nsga2", "own/nearest-rows"]
SEARCH = """
import json
from tests.golden.reference_runs import hashes_of

print(json.dumps({name: hashes_of(name) for name in %r}))
"""


def printed_as_python(code: str) -> str:
    """Return what a process prints whose kernels run as Python."""
    return subprocess.run(  # noqa: S603 - our own interpreter and code
        [sys.executable, "-c", code],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def test_rules_hold_for_the_same_rows_as_python_and_compiled() -> None:
    data = pd.DataFrame({"a": range(10), "b": range(10)})
    rules, row = Rules.parse(TEXTS, Schema.infer(data)), np.array([4.0, 4.0])
    genomes = np.array([[i, j] for i in range(10) for j in range(10)], dtype=float)

    as_python = printed_as_python(RULES % TEXTS)

    known = rules.verdicts(genomes, row).astype(int).ravel().tolist()
    assert as_python.strip() == str(known)


def test_searches_find_the_same_bits_as_python_and_compiled() -> None:
    as_python = json.loads(printed_as_python(SEARCH % SEARCHES))

    assert as_python == {name: hashes_of(name) for name in SEARCHES}
