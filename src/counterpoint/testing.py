"""Contracts that objectives, models and engines of anybody's can be tried against.

Each function tries one thing that a search or a job relies on, on a small table of yours, and
raises `AssertionError` with a sentence that says what is wrong. They need no test framework and
work in any.

Examples
--------
>>> import pandas as pd
>>> import counterpoint as cp
>>> from counterpoint.testing import check_objective
>>> data = pd.DataFrame({"hours": [10, 20, 30, 40], "wage": [9.0, 12.0, 20.0, 31.0]})
>>> check_objective(cp.Objective("hours", lambda rows, row: rows["hours"]), data)
>>> check_objective(cp.Objective("rank", lambda rows, row: rows["hours"].rank()), data)
Traceback (most recent call last):
AssertionError: objective 'rank' judges a candidate otherwise in other company.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from counterpoint.arrays import Floats
from counterpoint.batch.engines.engine import Chunk, Done, Engine, Lost, Recipe, work
from counterpoint.batch.rows import Order
from counterpoint.models.adapters.scorer import Scorer
from counterpoint.problem.own_objectives import Distance, Objective
from counterpoint.table.frames import read_data
from counterpoint.table.schema import Encoding, Schema

__all__ = ["check_engine", "check_objective", "check_scorer"]

TOLERANCE = 1e-6  # relative: batches of other sizes may round otherwise
N_ROWS = 24
N_THREADS = 4


def check_objective(objective: Objective, data: Any) -> None:
    """Try an objective or a distance of the caller's on observed rows.

    It must return one finite number for each candidate, the same whenever it is asked and whatever
    else is asked beside it, and must leave its tables alone. A distance is 0 for the row itself.

    Parameters
    ----------
    objective : Objective or Distance
        What an `Explainer` is given.
    data : table
        Observed rows, as an `Explainer` is given them.

    Raises
    ------
    AssertionError
        If it does not keep this.
    InvalidInput
        If its function raises, or does not return one finite number for each candidate.
    """
    called = f"{objective.noun} {objective.name!r}"
    frame, form = read_data(data)
    encoding = Encoding(Schema.infer(frame), form)
    genomes = encoding.encode(frame)[:N_ROWS]
    row, backwards = genomes[0], np.ascontiguousarray(genomes[::-1])
    values = objective.ask(genomes, row, encoding)
    again = objective.ask(genomes, row, encoding)
    _require(_is_equal(values, again), f"{called} answers otherwise when it is asked again.")
    mixed = objective.ask(backwards, row, encoding)[::-1]
    alone = [objective.ask(genome[None], row, encoding)[0] for genome in genomes]
    _require(
        _is_close(values, mixed) and _is_close(values, np.array(alone)),
        f"{called} judges a candidate otherwise in other company.",
    )
    frame, one = encoding.to_rows(genomes), encoding.to_rows(genomes[:1])
    objective.function(frame, one)
    after = [encoding.encode(read_data(table)[0]) for table in (frame, one)]
    is_same = _is_equal(after[0], genomes) and _is_equal(after[1], genomes[:1])
    _require(is_same, f"{called} writes to the tables it is given.")
    if isinstance(objective, Distance):
        _require(values[0] == 0.0, f"{called} is {values[0]:g} from the row to itself, not 0.")


def check_scorer(scorer: Scorer, data: pd.DataFrame) -> None:
    """Try an adapter of a model on observed rows.

    It must have `classes_` and `is_shared`, and its `score` must return finite numbers of the
    promised shape, probabilities if there are classes, the same whenever it is asked, in any order
    of the rows, and from several threads at once if it says so. It must leave its table alone.

    Parameters
    ----------
    scorer : Scorer
        What asks the model.
    data : DataFrame
        Observed rows.

    Raises
    ------
    AssertionError
        If it does not keep this.

    Examples
    --------
    >>> class Rule:
    ...     classes_ = ("bad", "good")
    ...     is_shared = True
    ...
    ...     def score(self, rows):
    ...         return rows["income"].to_numpy(float) / 10
    >>> check_scorer(Rule(), pd.DataFrame({"income": [1.0, 5.0, 20.0]}))
    Traceback (most recent call last):
    AssertionError: score returned 2 for a row, which is no probability although there are classes.
    """
    _require(isinstance(scorer, Scorer), "a scorer has classes_, is_shared and score(rows).")
    _require(isinstance(scorer.is_shared, bool), "is_shared must be True or False.")
    rows = data.iloc[:N_ROWS]
    kept = rows.copy(deep=True)
    scores = _scores_of(scorer, rows)
    _require(rows.equals(kept), "score writes to the table it is given.")
    _check_scores(scores, scorer.classes_)
    again = _scores_of(scorer, rows)
    _require(_is_equal(scores, again), "score answers otherwise when asked again.")
    mixed = _scores_of(scorer, rows.iloc[::-1])[::-1]
    _require(_is_close(scores, mixed), "score answers otherwise for rows in another order.")
    alone = _scores_of(scorer, rows.iloc[:1])
    _require(_is_close(scores[:1], alone), "score answers otherwise for a row that is alone.")
    if scorer.is_shared:
        with ThreadPoolExecutor(N_THREADS) as pool:
            answers = list(pool.map(lambda _: _scores_of(scorer, rows), range(2 * N_THREADS)))
        is_same = all(_is_equal(scores, answer) for answer in answers)
        _require(is_same, "score answers otherwise to several threads; say is_shared = False.")


def _scores_of(scorer: Scorer, rows: pd.DataFrame) -> Floats:
    """Return the scores of rows as a matrix with a line for each."""
    scores = np.asarray(scorer.score(rows), dtype=np.float64)
    _require(
        scores.ndim in (1, 2) and len(scores) == len(rows),
        f"score returned shape {scores.shape} for {len(rows)} rows.",
    )
    return scores.reshape(len(rows), -1)


def _check_scores(scores: Floats, classes: Any) -> None:
    """Fail if scores are not finite, or are no probabilities of the classes there are."""
    _require(bool(np.isfinite(scores).all()), "score returned NaN or infinity.")
    if classes is None:
        return
    width = scores.shape[1]
    _require(
        width in (1, len(classes)), f"score returned {width} columns for {len(classes)} classes."
    )
    outside = scores[(scores < -TOLERANCE) | (scores > 1.0 + TOLERANCE)]
    _require(
        not len(outside),
        f"score returned {outside[0] if len(outside) else 0:g} for a row, which is no probability "
        "although there are classes.",
    )
    sums = scores.sum(axis=1)
    is_one = width == 1 or _is_close(sums, np.ones_like(sums))
    _require(is_one, "the probabilities of a row's classes do not add up to 1.")


def check_engine(
    new_engine: Callable[[Recipe, Order], Engine],
    recipe: Recipe,
    order: Order,
    rows: pd.DataFrame,
    *,
    seconds: float = 60.0,
) -> None:
    """Try an engine of batch jobs on a few rows.

    It must report each chunk once, with the bytes that `work` makes of its rows; it must not report
    what was given up, and it must let go of its workers when it is closed.

    Parameters
    ----------
    new_engine : callable
        Makes the engine of a recipe and an order.
    recipe : Recipe
        How a process gets its explainer.
    order : Order
        What is asked of every row.
    rows : DataFrame
        At least four rows; their positions are taken as the index.
    seconds : float, default=60.0
        How long the engine may take for all of them.

    Raises
    ------
    AssertionError
        If it does not keep this.
    """
    frame = rows.reset_index(drop=True)
    cuts = np.linspace(0, len(frame), 4).astype(int).tolist()
    first, *others = (Chunk(a, b) for a, b in pairwise(cuts))
    expected = {chunk: work(recipe, order, frame.iloc[slice(*chunk)]) for chunk in others}
    engine = new_engine(recipe, order)
    try:
        _require(engine.slots() >= 1, "slots must return at least 1.")
        _require(bool(engine.name), "an engine has a name.")
        for chunk in others:
            engine.submit(chunk, frame.iloc[slice(*chunk)])
        reported = _reported(engine, len(others), seconds)
        _check_reports(reported, expected)
        engine.submit(first, frame.iloc[slice(*first)])
        engine.give_up(first)
        late = [event.chunk for event in engine.wait(0.2)]
        _require(first not in late, "a chunk that was given up is reported all the same.")
        _require(first not in engine.running(), "a chunk that was given up is still running.")
    finally:
        engine.close()


def _reported(engine: Engine, n_chunks: int, seconds: float) -> list[Done | Lost]:
    """Return what an engine reports, until there is a report for each chunk and a moment longer."""
    found: list[Done | Lost] = []
    until = time.monotonic() + seconds
    while len(found) < n_chunks and time.monotonic() < until:
        found += engine.wait(0.2)
    return found + engine.wait(0.05)


def _check_reports(reported: list[Done | Lost], expected: dict[Chunk, bytes]) -> None:
    """Fail if chunks are not reported once each, with the bytes expected."""
    told = sorted(event.chunk for event in reported)
    _require(
        told == sorted(expected), f"of the chunks {sorted(expected)} these were reported: {told}."
    )
    for event in reported:
        _require(isinstance(event, Done), f"{event.chunk} was lost, with nothing wrong about it.")
        if isinstance(event, Done):
            is_same = event.payload == expected[event.chunk]
            _require(is_same, f"{event.chunk} came back with other bytes than `work` makes.")
            _require(event.seconds >= 0.0, f"{event.chunk} took {event.seconds} seconds.")


def _require(holds: bool, otherwise: str) -> None:
    """Fail with a sentence if something does not hold; `python -O` does not take it away."""
    if not holds:
        raise AssertionError(otherwise)


def _is_equal(a: Floats, b: Floats) -> bool:
    """Whether arrays are the same, bit for bit; what is missing is equal to itself."""
    return np.array_equal(a, b, equal_nan=True)


def _is_close(a: Floats, b: Floats) -> bool:
    """Whether arrays are the same but for rounding."""
    return bool(np.allclose(a, b, rtol=TOLERANCE, atol=TOLERANCE))
