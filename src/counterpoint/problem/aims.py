"""Aims: what the caller wants minimised besides the built-in objectives, or in place of two.

An `Objective` joins the built-in four; a `Distance` stands in for Gower's, and a `Plausibility` or
another objective for the nearness of observed rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from counterpoint.arrays import MISSING, Floats
from counterpoint.errors import InvalidInput, listed
from counterpoint.problem.custom import Distance, Objective, check_company
from counterpoint.problem.gaps import whole_rows
from counterpoint.problem.objectives import DISTANCE, IMPLAUSIBILITY, OBJECTIVES
from counterpoint.table.encoding import Encoding
from counterpoint.table.schema import OBJECTIVE_COLUMNS, Schema
from counterpoint.table.space import Space

MOST_OBJECTIVES = 8  # besides the built-in four: fronts of more hold nearly everything
N_SURVEYED = 256  # observed rows that tell how bad an objective gets


class Score(Protocol):
    """How implausible candidates are, fitted to the observed rows."""

    @property
    def words(self) -> str:
        """What it is, for readers of a result."""

    def score(self, genomes: Floats) -> Floats:
        """Return for each of the genomes (n, d) a number from 0, plausible, to 1; alone or not."""


@runtime_checkable
class Plausibility(Protocol):
    """A way to score plausibility: `ForestPlausibility`, or anything that has its `fit`."""

    def fit(self, genomes: Floats, space: Space) -> Score:
        """Return the score that observed rows (n, d) teach."""


@dataclass(frozen=True)
class Aims:
    """What is minimised other than the built-in objectives.

    Parameters
    ----------
    objectives : tuple of Objective
        They come after the built-in ones.
    distance : Distance, optional
        Stands for o2.
    plausibility : Objective or Score, optional
        Stands for o4.
    """

    objectives: tuple[Objective, ...] = ()
    distance: Distance | None = None
    plausibility: Objective | Score | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all objectives, in order."""
        names = list(OBJECTIVES)
        if self.distance is not None:
            names[DISTANCE] = self.distance.name
        if isinstance(self.plausibility, Objective):
            names[IMPLAUSIBILITY] = self.plausibility.name
        return (*names, *(objective.name for objective in self.objectives))

    @property
    def least(self) -> Floats:
        """The least each objective can be, shape (m,)."""
        least = np.zeros(len(self.names))
        for m, function in self._places():
            least[m] = function.least
        return least

    @property
    def shares(self) -> tuple[str, ...]:
        """The names of the built-in objectives that are shares of a range, from 0 to 1."""
        places = ((DISTANCE, self.distance), (IMPLAUSIBILITY, self.plausibility))
        return tuple(OBJECTIVES[m] for m, each in places if not isinstance(each, Objective))

    def __str__(self) -> str:
        """Return all objectives in words; nothing if they are the built-in four."""
        if self == PLAIN:
            return ""
        names = list(self.names)
        if self.distance is not None:
            names[DISTANCE] += " (the distance)"
        if isinstance(self.plausibility, Objective):
            names[IMPLAUSIBILITY] += " (the implausibility)"
        elif self.plausibility is not None:
            names[IMPLAUSIBILITY] += f" ({self.plausibility.words})"
        return ", ".join(names)

    @property
    def functions(self) -> tuple[Objective, ...]:
        """All that are functions of the caller's: those in place of built-in ones first."""
        stand_ins = (self.distance, self.plausibility)
        return (*(each for each in stand_ins if isinstance(each, Objective)), *self.objectives)

    def n_bytes(self, n_candidates: int) -> int:
        """Return what the own objectives of one row's candidates take: each is kept twice."""
        return 16 * len(self.objectives) * n_candidates

    def applied(
        self, genomes: Floats, rows: Floats, measured: Floats, encoding: Encoding
    ) -> Floats:
        """Return the objectives (r, n, m) of genomes (r, n, d), given the built-in (r, n, 4)."""
        r, n, d = genomes.shape
        answers = np.empty((r, n, len(self.names)))
        answers[..., : len(OBJECTIVES)] = measured
        if n == 0:
            return answers
        if self.plausibility is not None and not isinstance(self.plausibility, Objective):
            flat = np.ascontiguousarray(genomes.reshape(-1, d))
            answers[..., IMPLAUSIBILITY] = self.plausibility.score(flat).reshape(r, n)
        for a, row in enumerate(rows):
            for m, function in self._places():
                answers[a, :, m] = function.ask(genomes[a], row, encoding)
        return answers

    def _places(self) -> list[tuple[int, Objective]]:
        """Return which objective each function is."""
        places: list[tuple[int, Any]] = [
            (DISTANCE, self.distance),
            (IMPLAUSIBILITY, self.plausibility),
            *enumerate(self.objectives, len(OBJECTIVES)),
        ]
        return [(m, each) for m, each in places if isinstance(each, Objective)]

    def worst(self, rows: Floats, observed: Floats, encoding: Encoding) -> Floats:
        """Return where hypervolume ends for rows (r, d): distance, implausibility, own ones."""
        worst = np.ones((len(rows), 2 + len(self.objectives)))
        if not self.functions:
            return worst
        n = min(N_SURVEYED, len(observed))
        surveyed = observed[np.arange(n) * len(observed) // n]  # spread evenly
        at = {DISTANCE: 0, IMPLAUSIBILITY: 1}
        for a, row in enumerate(rows):
            for m, function in self._places():
                worst[a, at.get(m, m - 2)] = function.worst_of(row, surveyed, encoding)
        return worst


PLAIN = Aims()


def check_aims(
    objectives: object,
    distance: object,
    plausibility: object,
    encoding: Encoding,
    observed: Floats,
    space: Space,
) -> Aims:
    """Return the caller's aims, each tried on a few observed rows; a plausibility is fitted."""
    own = check_objectives(objectives)
    has_missing, observed = bool((observed == MISSING).any()), whole_rows(observed)
    if distance is not None and not isinstance(distance, Distance):
        raise InvalidInput(
            f"distance must be a Distance or None, got {distance!r}; for example "
            "distance=Distance('effort', function)."
        )
    fitted: Objective | Score | None = None
    if isinstance(plausibility, Objective):
        fitted = plausibility
    elif isinstance(plausibility, Plausibility) and not isinstance(plausibility, type):
        if has_missing:
            raise InvalidInput(
                f"plausibility={type(plausibility).__name__} cannot learn from data with missing "
                "values; leave it out, which takes the nearness of observed rows, or fill them."
            )
        fitted = plausibility.fit(observed, space)
    elif plausibility is not None:
        raise InvalidInput(
            f"plausibility must be a ForestPlausibility, an Objective or None, got "
            f"{plausibility!r}."
        )
    aims = Aims(own, distance, fitted)
    if aims == PLAIN:
        return PLAIN  # it is told by its identity: nothing is asked then
    check_names(aims, encoding.schema)
    for function in aims.functions:
        check_company(function, observed, encoding)
    return aims


def check_objectives(objectives: object) -> tuple[Objective, ...]:
    """Return the caller's objectives as a tuple."""
    example = "for example objectives=[Objective('cost', function)]."
    if isinstance(objectives, Objective) or not isinstance(objectives, Iterable):
        raise InvalidInput(f"objectives must be a list of Objective, got {objectives!r}; {example}")
    own = tuple(objectives)
    if wrong := [each for each in own if not isinstance(each, Objective)]:
        raise InvalidInput(f"objectives must hold Objective only, got {wrong[0]!r}; {example}")
    if len(own) > MOST_OBJECTIVES:
        raise InvalidInput(f"objectives must be at most {MOST_OBJECTIVES}, got {len(own)}.")
    return own


def check_costs_apply(costs: Floats | None, aims: Aims) -> None:
    """Refuse costs where there is no Gower distance for them to weigh."""
    if costs is not None and aims.distance is not None:
        raise InvalidInput(
            f"costs weigh Gower's distance, which distance={aims.distance.name!r} replaces; put "
            "them into its function."
        )


def check_names(aims: Aims, schema: Schema) -> None:
    """Refuse names that the result's table has already: of columns, of others, or of its own."""
    taken = {*schema.names, *(column.name for column in schema.columns)}
    own = [function.name for function in aims.functions]
    reserved = [name for name in own if name in OBJECTIVE_COLUMNS]
    stand_ins = {"distance": aims.distance, "implausibility": aims.plausibility}
    reserved = [name for name in reserved if getattr(stand_ins.get(name), "name", None) != name]
    twice = [name for name in own if aims.names.count(name) > 1]
    clash = [name for name in own if name in taken]
    if bad := [*reserved, *twice, *clash]:
        raise InvalidInput(
            f"the name {bad[0]!r} of an objective is taken: by a column of the data, another "
            f"objective, or one of {listed(OBJECTIVE_COLUMNS)}; give it another name."
        )
