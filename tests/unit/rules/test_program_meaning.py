from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.unit.rules import oracle

from counterpoint.arrays import Floats
from counterpoint.rules.rules import Rules
from counterpoint.table.schema import Encoding, Schema

DATA = pd.DataFrame(
    {
        "age": [20, 30, 40],
        "pay": [0.0, 0.1, 0.3],
        "job": ["clerk", "nurse", "smith"],
        "rank": pd.Categorical(["low", "mid", "top"], ["low", "mid", "top"], ordered=True),
        "thin": np.array([0.1, 0.2, 0.7], dtype=np.float32),
    }
)
SCHEMA = Schema.infer(DATA)
GENOMES = Encoding(SCHEMA).encode(DATA)
GENOMES.setflags(write=False)
ROW: Floats = GENOMES[1]


def answers(text: str, genomes: Floats = GENOMES) -> list[bool]:
    """Return for which genomes a rule holds; the program must agree with the oracle."""
    rules = Rules.parse([text], SCHEMA)
    found = rules.holds(genomes, ROW)
    np.testing.assert_array_equal(found, oracle.verdicts(rules, genomes, ROW).all(axis=1))
    return [bool(answer) for answer in found]


YES, NO = True, False


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("age = 30", [NO, YES, NO]),
        ("age != 30", [YES, NO, YES]),
        ("age < 30", [YES, NO, NO]),
        ("age <= 30", [YES, YES, NO]),
        ("age > 30", [NO, NO, YES]),
        ("age >= 30", [NO, YES, YES]),
        ("age increases", [NO, YES, YES]),
        ("age decreases", [YES, YES, NO]),
        ("age increases by at most 9", [NO, YES, NO]),
        ("age decreases by at most 10", [YES, YES, NO]),
        ("age changes by at most 10", [YES, YES, YES]),
        ("age changes by at most 9.5", [NO, YES, NO]),
        ("age in 20..30", [YES, YES, NO]),
        ("age in 30..", [NO, YES, YES]),
        ("age in ..20", [YES, NO, NO]),
        ("age in {20, 40}", [YES, NO, YES]),
        ("age not in {20, 40}", [NO, YES, NO]),
        ("job in {smith, clerk}", [YES, NO, YES]),
        ("job not in {clerk}", [NO, YES, YES]),
        ("job = nurse", [NO, YES, NO]),
        ("job != was(job)", [YES, NO, YES]),
        ("rank >= mid", [NO, YES, YES]),
        ("rank increases", [NO, YES, YES]),
        ("rank > was(rank)", [NO, NO, YES]),
        ("rank changes by at most 1", [YES, YES, YES]),
        ("age in steps of 20", [NO, YES, NO]),
        ("age in steps of 20 from 0", [YES, NO, YES]),
        ("pay in steps of 0.1", [YES, YES, YES]),
        ("pay in steps of 0.2", [NO, YES, YES]),
        ("thin in steps of 0.5", [NO, YES, YES]),
        ("fixed age", [NO, YES, NO]),
        ("fixed age, job", [NO, YES, NO]),
        ("changed(age)", [YES, NO, YES]),
        ("at most 4 changes", [NO, YES, NO]),
        ("at most 2 changes among age, job", [YES, YES, YES]),
        ("age, job change together", [YES, YES, YES]),
        ("age - was(age) = 10", [NO, NO, YES]),
        ("-age < -20 and 2 * (age - 1) / 2 > 30", [NO, NO, YES]),
        ("age = 20 implies job = smith", [NO, YES, YES]),
        ("age = 20 or age = 30 and job = smith", [YES, NO, NO]),
        ("not age = 20", [NO, YES, YES]),
        ("1 < 2", [YES, YES, YES]),
        ("was(age) > 30", [NO, NO, NO]),
        # round-off
        ("pay + 0.2 <= 0.3", [YES, YES, NO]),
        ("pay + 0.2 < 0.3", [YES, NO, NO]),
        ("pay + 0.2 = 0.3", [NO, YES, NO]),
        ("pay + 0.2 - 0.3 = 0", [NO, YES, NO]),
        ("thin <= 0.1", [YES, NO, NO]),
        ("thin < 0.1", [NO, NO, NO]),
        ("thin = 0.7 or thin in {0.2}", [NO, YES, YES]),
        # division by zero
        ("1 / pay > 5", [NO, YES, NO]),
        ("not 1 / pay > 5", [NO, NO, YES]),
        ("pay = 0 or 1 / pay > 5", [YES, YES, NO]),
        ("1 / pay > 5 implies age = 1", [NO, NO, YES]),
        ("1 / (1 / pay) = pay", [NO, YES, YES]),
        ("1 / (pay + 0.2 - 0.3) > 0", [NO, NO, YES]),
        ("1e99 * 1e99 * 1e99 * 1e99 * age > 1", [NO, NO, NO]),
    ],
)
def test_rules_hold_where_they_should(text: str, expected: list[bool]) -> None:
    assert answers(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("age, pay change together", [YES, NO, NO, YES]),
        ("at most 1 change", [YES, YES, YES, NO]),
        ("at most 1 change among age, pay, job", [YES, YES, YES, NO]),
    ],
)
def test_changes_are_counted(text: str, expected: list[bool]) -> None:
    genomes = np.repeat(ROW[None], 4, axis=0)
    genomes[1, 0], genomes[2, 1], genomes[3, :2] = 20.0, 0.3, (20.0, 0.3)

    assert answers(text, genomes) == expected


def test_no_genomes_and_no_rules() -> None:
    nothing = Rules.parse([], SCHEMA)

    assert answers("age > 1", GENOMES[:0]) == []
    assert nothing.holds(GENOMES, ROW).tolist() == [YES, YES, YES]
