"""With NUMBA_DISABLE_JIT kernels run as Python, and say the same as when they are compiled."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pandas as pd

from counterpoint.rules.rules import Rules
from counterpoint.table.schema import Schema

TEXTS = ["a <= 5", "a + b > 7 or changed(a)", "b in steps of 2", "at most 1 change"]
CODE = """
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


def test_rules_hold_for_the_same_rows_as_python_and_compiled() -> None:
    data = pd.DataFrame({"a": range(10), "b": range(10)})
    rules, row = Rules.parse(TEXTS, Schema.infer(data)), np.array([4.0, 4.0])
    genomes = np.array([[i, j] for i in range(10) for j in range(10)], dtype=float)

    answers = [
        subprocess.run(  # noqa: S603 - our own interpreter and code
            [sys.executable, "-c", CODE % TEXTS],
            env=os.environ | {"NUMBA_DISABLE_JIT": jit},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for jit in ("0", "1")
    ]

    assert answers[0] == answers[1]
    known = rules.verdicts(genomes, row).astype(int).ravel().tolist()
    assert answers[1].strip() == str(known)
