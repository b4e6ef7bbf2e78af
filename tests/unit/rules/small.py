"""A small table, its rules and the fences they make: shared by the tests of the kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from counterpoint.arrays import Bools, Floats, Keys
from counterpoint.problem.limits import Limits, search_box
from counterpoint.rules.bounds import Fences
from counterpoint.rules.program import make_room
from counterpoint.rules.repair import Bench, repair_all
from counterpoint.rules.rules import Rules
from counterpoint.table.encoding import Encoding
from counterpoint.table.schema import Schema
from counterpoint.table.space import Box, describe_space

DATA = pd.DataFrame(
    {
        "age": [20, 40, 60],
        "pay": [1.5, 2.5, 9.0],
        "job": ["clerk", "nurse", "smith"],
        "rank": pd.Categorical(["low", "mid", "top"], ["low", "mid", "top"], ordered=True),
    }
)
SCHEMA = Schema.infer(DATA)
AGE, PAY, JOB, RANK = range(4)
ROW: Floats = np.array([30.0, 2.0, 1.0, 1.0])
ROW.setflags(write=False)


def rules_of(*texts: str) -> Rules:
    """Return rules on the small table."""
    return Rules.parse(texts, SCHEMA)


def narrowed(*texts: str, **limits: Any) -> tuple[Box, Fences]:
    """Return the row's box within the rules, and its fences."""
    space = describe_space(SCHEMA, Encoding(SCHEMA).encode(DATA))
    box = search_box(ROW[None], space, Limits.of(SCHEMA, **limits), SCHEMA.names)
    return rules_of(*texts).narrow(ROW[None], box, space)


def starts(n: int, first: int = 1) -> Keys:
    """Return n different starts of draws."""
    return np.arange(first, first + n, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)


def repaired(*texts: str, genome: Any, n: int = 50, **limits: Any) -> tuple[Floats, Bools]:
    """Return n repairs of one genome, each with draws of its own, and which of them succeeded."""
    genomes = np.repeat(np.array([genome], dtype=np.float64), n, axis=0)
    _, fences = narrowed(*texts, **limits)
    is_good = repair_all(genomes, 0, rules_of(*texts).program, fences, starts(n))
    return genomes, is_good


def bench_of(*texts: str, seed: int = 1) -> Bench:
    """Return what a repair of the row's candidates works with."""
    _, fences = narrowed(*texts)
    program = rules_of(*texts).program
    return Bench(
        program, ROW.copy(), fences.features[0], fences.allowed[0], make_room(program), starts(1)
    )._replace(state=starts(1, seed))
