"""The trial of a quick way: on rows like those of a search it must answer bit for bit as asked."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from counterpoint.arrays import Floats
from counterpoint.models.ways import Ask, Way

MOST_ROWS = 1024  # observed rows in a trial, evenly spaced
SIZES = (8, 24, 40)  # rows of the calls a search makes


def quickest(method: str, plain: Ask, ways: list[Way], observed: Floats) -> Ask:
    """Return the first way that answers as `plain` does in every bit and does not warn.

    It is `plain` if none does, or if `plain` itself fails on rows that mix the observed ones.
    """
    asks = [ask for way in ways if (ask := way.ask(method)) is not None]
    try:
        questions = trial_rows(observed) if asks else []
        expected = [plain(rows) for rows in questions]
    except Exception:
        return plain
    return next((ask for ask in asks if is_exact(ask, questions, expected)), plain)


def is_exact(ask: Ask, questions: list[Floats], expected: list[Any]) -> bool:
    """Whether `ask` gives the expected answers bit for bit, and raises or warns of nothing."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return all(
                are_same(ask(rows), answers)
                for rows, answers in zip(questions, expected, strict=True)
            )
    except Exception:
        return False


def are_same(answers: Any, expected: Any) -> bool:
    """Whether two answers have the same form and bits."""
    answers, expected = np.asarray(answers), np.asarray(expected)
    return answers.dtype == expected.dtype and np.array_equal(answers, expected)


def trial_rows(observed: Floats) -> list[Floats]:
    """Return observed rows, and rows that mix their columns, at once and in blocks of a search."""
    n = len(observed)
    some = np.ascontiguousarray(observed[np.linspace(0, n - 1, min(n, MOST_ROWS)).astype(np.int64)])
    mixed = mix_columns(some)
    long = np.resize(mixed, (3 * max(SIZES), observed.shape[1]))  # a small table is repeated
    blocks = [long[i * size : (i + 1) * size] for size in SIZES for i in range(2)]
    return [some, mixed, *blocks]


def mix_columns(genomes: Floats) -> Floats:
    """Return genomes (n, d) with every column shifted by another number of rows.

    Each column keeps its values; which of them meet is new.
    """
    n, d = genomes.shape
    shifts = 1 + np.arange(d) * max(1, n // (d + 1)) + np.arange(d) ** 2
    return np.ascontiguousarray(genomes[(np.arange(n)[:, None] + shifts) % n, np.arange(d)])
