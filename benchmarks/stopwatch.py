"""Where the time goes: times functions of the engine by phase while a block runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from counterpoint.models.predictor import Predictor
from counterpoint.problem import problem
from counterpoint.result.data import ResultData
from counterpoint.search import archive
from counterpoint.search.explore import loop as explore
from counterpoint.search.nsga2 import loop as nsga2
from counterpoint.table.schema import Encoding

# Phase: the functions it consists of. Times are exclusive: what one phase spends inside another
# counts for the inner one.
PHASES: dict[str, list[tuple[Any, str]]] = {
    "model": [(Predictor, "_ask")],
    "frames": [(Encoding, "decode"), (Encoding, "encode"), (ResultData, "of")],
    "variation": [
        (explore, "plan_candidates"),
        (explore, "make_wave"),
        (explore, "learn"),
        (nsga2, "vary"),
        (nsga2, "initialize"),
    ],
    "distances": [(problem, "closeness"), (problem, "find_near_rows")],
    "selection": [(archive, "_enter"), (nsga2, "select_survivors"), (nsga2, "select_mates")],
}


class Stopwatch:
    """Seconds by phase, on any clock, and the candidates the model was asked about."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self.clock = clock
        self.seconds: dict[str, float] = dict.fromkeys(PHASES, 0.0)
        self.candidates: list[np.ndarray] = []
        self._inside: list[float] = []

    def timed(self, phase: str, function: Any) -> Any:
        """Return the function on the clock of a phase."""

        def timed(*arguments: Any, **named: Any) -> Any:
            self._inside.append(0.0)
            start = self.clock()
            try:
                return function(*arguments, **named)
            finally:
                spent = self.clock() - start
                self.seconds[phase] += spent - self._inside.pop()
                if self._inside:
                    self._inside[-1] += spent

        return timed

    def keep(self, function: Any) -> Any:
        """Return `Predictor._ask` that also keeps what it was asked."""

        def kept(predictor: Any, question: Any, genomes: np.ndarray) -> Any:
            self.candidates.append(genomes.copy())
            return function(predictor, question, genomes)

        return kept


@contextmanager
def watched(
    *, keeps_candidates: bool = False, clock: Callable[[], float] = time.perf_counter
) -> Iterator[Stopwatch]:
    """Time the engine while the block runs; one thread only."""
    watch, originals = Stopwatch(clock), []
    for phase, functions in PHASES.items():
        for owner, name in functions:
            original = owner.__dict__[name]
            originals.append((owner, name, original))
            if isinstance(original, classmethod):
                setattr(owner, name, classmethod(watch.timed(phase, original.__func__)))
            else:
                setattr(owner, name, watch.timed(phase, original))
    if keeps_candidates:
        Predictor._ask = watch.keep(Predictor._ask)  # type: ignore[method-assign]
    try:
        yield watch
    finally:
        for owner, name, original in originals:
            setattr(owner, name, original)
