"""A small table, its rules and the domains they leave: shared by the tests of the kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from counterpoint.arrays import Bools, Floats, Keys
from counterpoint.kernels import kernel
from counterpoint.problem.limits import Limits
from counterpoint.rules.domains import RowDomains
from counterpoint.rules.program import Program, make_scratch
from counterpoint.rules.repair import Repair, repair_genome
from counterpoint.rules.rules import Rules
from counterpoint.table.schema import Encoding, Schema
from counterpoint.table.space import Box, describe_space, search_box

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


def narrowed(*texts: str, **limits: Any) -> tuple[Box, RowDomains]:
    """Return the row's box within the rules, and its domains."""
    space = describe_space(SCHEMA, Encoding(SCHEMA).encode(DATA))
    box = search_box(ROW[None], space, Limits(**limits).check(SCHEMA))
    return rules_of(*texts).narrow(ROW[None], box, space)


def starts(n: int, first: int = 1) -> Keys:
    """Return n different starts of draws."""
    return np.arange(first, first + n, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)


def repaired(*texts: str, genome: Any, n: int = 50, **limits: Any) -> tuple[Floats, Bools]:
    """Return n repairs of one genome, each with draws of its own, and which of them succeeded."""
    genomes = np.repeat(np.array([genome], dtype=np.float64), n, axis=0)
    _, domains = narrowed(*texts, **limits)
    is_good = repair_all(genomes, rules_of(*texts).program, domains, starts(n))
    return genomes, is_good


def repair_of(*texts: str, seed: int = 1) -> Repair:
    """Return what a repair of the row's candidates works with."""
    _, domains = narrowed(*texts)
    return _repair_in(rules_of(*texts).program, domains)._replace(state=starts(1, seed))


def repair_all(genomes: Floats, program: Program, domains: RowDomains, states: Keys) -> Bools:
    """Repair genomes (n, d) of one row in place, each with its own start of draws (n,).

    Returns which of them satisfy the rules now.
    """
    is_repaired = np.empty(len(genomes), dtype=np.bool_)
    _repair_all(genomes, _repair_in(program, domains), states, is_repaired)
    return is_repaired


def _repair_in(program: Program, domains: RowDomains) -> Repair:
    """Return what repairs within the domains of the first row work with."""
    features, allowed = domains.features[0], domains.allowed[0]
    row = np.ascontiguousarray(features["row"])
    return Repair(program, row, features, allowed, make_scratch(program), starts(1))


@kernel
def _repair_all(genomes: Floats, repair: Repair, states: Keys, is_repaired: Bools) -> None:
    """Write which of the genomes (n, d) satisfy the rules after their repair."""
    for i in range(len(genomes)):
        repair.state[0] = states[i]
        is_repaired[i] = repair_genome(genomes[i], repair)
