"""Aims in a saved result: names and where hypervolume ends; functions cannot be kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from counterpoint.arrays import Floats
from counterpoint.errors import InvalidInput
from counterpoint.problem.aims import MOST_OBJECTIVES, PLAIN, Aims, Score, check_names
from counterpoint.problem.custom import Distance, Objective
from counterpoint.problem.objectives import CHANGES
from counterpoint.problem.problem import Problem
from counterpoint.result.document import Node
from counterpoint.table.schema import Schema


def write_aims(problem: Problem) -> dict[str, Any] | None:
    """Return the aims of one row's problem as JSON; None if it has the built-in objectives only.

    Of a function its name is kept, its `worst` as given, and where hypervolume ends for the row; of
    a plausibility that was fitted, what it is.
    """
    aims = problem.observed.aims
    if aims == PLAIN or problem.worst is None:
        return None
    distance, plausibility, *own = problem.worst[0].tolist()
    score = aims.plausibility
    o4 = score if isinstance(score, Objective) else None
    return {
        "distance": _write(aims.distance, distance),
        "plausibility": _write(o4, plausibility),
        "score": None if score is None or isinstance(score, Objective) else score.words,
        "objectives": [
            _write(objective, end) for objective, end in zip(aims.objectives, own, strict=True)
        ],
    }


def _write(function: Objective | None, end: float) -> dict[str, Any] | None:
    """Return a function of the caller's as JSON."""
    if function is None:
        return None
    kind = "distance" if isinstance(function, Distance) else "objective"
    given = None if function.worst is None else float(function.worst)
    return {"name": function.name, "kind": kind, "worst": given, "end": end}


def read_aims(node: Node, schema: Schema) -> tuple[Aims, Floats]:
    """Return the aims, and where hypervolume ends in them, shape (1, m - 2).

    A function is its name only, and says so when it is asked.
    """
    if node.value is None:
        return PLAIN, np.ones((1, 2))
    keys = ("distance", "plausibility", "score", "objectives")
    distance, plausibility, score, objectives = node.fields(*keys)
    entries = objectives.items()
    if len(entries) > MOST_OBJECTIVES:
        raise InvalidInput(f"{objectives.path} must have at most {MOST_OBJECTIVES} entries.")
    o2, o2_end = _read(distance, {"distance"})
    o4, o4_end = _read(plausibility, {"distance", "objective"})
    if o4 is not None and score.value is not None:
        score.refuse("null, where a function tells plausibility")
    own = [_read(entry, {"distance", "objective"}, is_needed=True) for entry in entries]
    fitted: Objective | Score | None = o4
    if score.value is not None:
        fitted = Gone(score.text())
    aims = Aims(tuple(each for each, _ in own if each is not None), o2, fitted)
    if aims == PLAIN:
        node.refuse("null where there are only the built-in objectives")
    check_names(aims, schema)
    return aims, np.array([[o2_end, o4_end, *(end for _, end in own)]])


def _read(node: Node, kinds: set[str], *, is_needed: bool = False) -> tuple[Any, float]:
    """Return a function by its name, and where hypervolume ends in it; 1 if there is none."""
    if node.value is None and not is_needed:
        return None, 1.0
    name, kind, worst, end = node.fields("name", "kind", "worst", "end")
    made = {"distance": Distance, "objective": Objective}[kind.one_of(kinds)]
    given = None if worst.value is None else worst.number()
    return made(name.text(), gone(name.text()), given), end.number()


def read_values(node: Node, n: int | None, aims: Aims) -> Floats:
    """Return objectives (n, m), none below the least it can be."""
    values = node.table(n, len(aims.names))
    if (values < aims.least).any():
        i, m = np.argwhere(values < aims.least)[0].tolist()
        Node(values[i, m].item(), f"{node.path}[{i}][{m}]").refuse("at least 0")
    return values


def read_objectives(node: Node, genomes: Floats, problem: Problem) -> Floats:
    """Return the objectives of the counterfactuals; the changes must be those of the genomes."""
    objectives = read_values(node, len(genomes), problem.observed.aims)
    n_changed = (genomes != problem.rows[0]).sum(axis=1)
    if wrong := np.flatnonzero(objectives[:, CHANGES] != n_changed).tolist():
        i = wrong[0]
        Node(objectives[i, CHANGES].item(), f"{node.path}[{i}][{CHANGES}]").refuse(
            f"{n_changed[i]}, the number of features that differ from the row"
        )
    return objectives


def gone(name: str) -> Callable[[Any, Any], Any]:
    """Return what stands where a function was."""

    def refuse(rows: Any, row: Any) -> NoReturn:  # noqa: ARG001 - as functions are asked
        raise InvalidInput(
            f"{name!r} was loaded from a file, which keeps the name of a function only; make an "
            "Explainer with it and call explain again with the same seed."
        )

    return refuse


@dataclass(frozen=True)
class Gone:
    """Stands where a fitted plausibility was: a loaded result cannot score anew."""

    words: str

    def score(self, genomes: Floats) -> Floats:  # noqa: ARG002 - there is nobody to ask
        """Say that the score is not here."""
        raise InvalidInput(
            f"the plausibility ({self.words}) was not saved with the result; make an Explainer "
            "with it and call explain again with the same seed."
        )
