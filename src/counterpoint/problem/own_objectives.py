"""Aims: what the caller wants minimised besides the built-in objectives, or in place of two.

An `Objective` joins the built-in four; a `Distance` stands in for Gower's, and a `Plausibility` or
another objective for the nearness of observed rows.

Objectives of the caller's: a function and a name, asked so that company does not matter.

A function is asked about the candidates of one explained row at a time, in blocks padded as a
model's are: so the rows explained beside it cannot change a bit of what it says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Real
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from counterpoint.arrays import MISSING, Floats
from counterpoint.checks import as_float, is_number
from counterpoint.errors import CounterpointError, InvalidInput, listed, told_by
from counterpoint.models.predictor import BLOCK, pad
from counterpoint.neighbours.gower import RANGES, Gower, complete_rows
from counterpoint.problem.objectives import DISTANCE, IMPLAUSIBILITY, OBJECTIVES
from counterpoint.table.features import RESULT_COLUMNS
from counterpoint.table.schema import Encoding, Schema
from counterpoint.table.space import Space
from counterpoint.table.values import EXACT, write_number, write_numbers

BEYOND = 0.1  # of the spread among observed rows, how far beyond the worst hypervolume ends
ROUND_OFF = 1e-6  # share by which a row's value may differ in other company

Measuring = Callable[[Any, Any], Any]


@dataclass(frozen=True)
class Objective:
    """An objective of the caller's: a function and a name, minimised like the built-in four.

    Parameters
    ----------
    name : str
        What it is called in tables, messages and files.
    function : callable
        Takes a table of candidates and a table of one row, the explained one, both of the data's
        own kind and dtypes; returns a finite number for each candidate, less for better ones. It
        must judge each candidate by itself, and equal ones equally.
    worst : float or None, default=None
        Where hypervolume ends: a candidate that is not below it adds none. None takes, for each
        explained row, the largest value among up to 256 observed rows, spread evenly over the data,
        and the row itself, and goes a tenth of their spread beyond (by 1 if all are equal).

    Examples
    --------
    >>> import pandas as pd
    >>> import counterpoint as cp
    >>> data = pd.DataFrame({"hours": [10, 20, 30, 40], "wage": [9.0, 12.0, 20.0, 31.0]})
    >>> hours = cp.Objective("hours_more", lambda rows, row: rows["hours"] - row["hours"].iloc[0])
    >>> explainer = cp.Explainer(lambda rows: rows["wage"] / 40, data, objectives=[hours])
    >>> found = explainer.explain(data[:1], target=(0.5, 1.0))
    >>> found.to_frame().columns[-1]
    'hours_more'
    """

    name: str
    function: Measuring = field(repr=False)
    worst: float | None = None

    noun: ClassVar[str] = "objective"
    least: ClassVar[float] = -np.inf

    def __post_init__(self) -> None:
        kind = type(self).__name__
        if not isinstance(self.name, str) or not self.name.strip():
            raise InvalidInput(f"{kind}.name must be a text, got {self.name!r}.")
        if not callable(self.function):
            raise InvalidInput(
                f"{kind}.function of {self.name!r} must be callable, got {self.function!r}; it "
                "takes a DataFrame of candidates and one of the explained row."
            )
        is_finite = is_number(self.worst) and np.isfinite(as_float(self.worst))
        if self.worst is not None and not is_finite:
            raise InvalidInput(
                f"{kind}.worst of {self.name!r} must be a finite number or None, got "
                f"{self.worst!r}."
            )

    def ask(self, genomes: Floats, row: Floats, encoding: Encoding) -> Floats:
        """Return the values (n,) of candidates (n, d) of a row (d,), checked.

        Raises
        ------
        InvalidInput
            If the function raises, or does not return one finite number per candidate.
        """
        block = pad(genomes[None])[0]
        frame, own = encoding.to_rows(block.copy()), encoding.to_rows(row[None].copy())
        try:
            answer = self.function(frame, own)
        except CounterpointError:
            raise
        except Exception as error:
            raise InvalidInput(
                f"{self.noun} {self.name!r} raised {type(error).__name__} for "
                f"{len(block)} rows, the first being {_shown(block[0], encoding)}: {told_by(error)}"
            ) from error
        values = self._as_numbers(answer, block, encoding)[: len(genomes)]
        self._check_values(values, genomes, encoding)
        return np.ascontiguousarray(values + 0.0)  # no -0.0

    def _as_numbers(self, answer: Any, block: Floats, encoding: Encoding) -> Floats:
        """Return an answer as floats (n,), or say what it is instead."""
        try:
            values = np.asarray(answer)
            if values.dtype == object and all(isinstance(value, Real) for value in values.flat):
                values = values.astype(np.float64)  # of nullable columns
        except Exception:  # of whatever kind: it is no array
            values = np.array(None)
        if values.shape == (len(block),) and values.dtype.kind in "biuf":
            return values.astype(np.float64)
        raise InvalidInput(
            f"{self.noun} {self.name!r} must return one number per row, shape ({len(block)},); got "
            f"{values.dtype} of shape {values.shape} for {len(block)} rows, the first being "
            f"{_shown(block[0], encoding)}."
        )

    def _check_values(self, values: Floats, genomes: Floats, encoding: Encoding) -> None:
        """Refuse NaN and infinity, and what lies below the least value there may be."""
        is_bad, what = ~np.isfinite(values), "NaN or infinite"
        if not is_bad.any():
            is_bad, what = values < self.least, f"below {write_number(self.least, digits=EXACT)}"
        if is_bad.any():
            raise InvalidInput(
                f"{self.noun} {self.name!r} returned values that are {what} for "
                f"{int(is_bad.sum())} of {len(values)} rows, first for "
                f"{_shown(genomes[np.argmax(is_bad)], encoding)}."
            )

    def worst_of(self, row: Floats, surveyed: Floats, encoding: Encoding) -> float:
        """Return where hypervolume ends for a row (d,): as given, or what observed rows tell."""
        if self.worst is not None:
            return float(self.worst)
        values = self.ask(np.concatenate([row[None], surveyed]), row, encoding)
        highest, lowest = float(values.max()), float(values.min())
        spread = BEYOND * highest - BEYOND * lowest
        beyond = highest + (spread if highest > lowest else max(1.0, abs(highest) * 1e-9))
        return min(beyond, float(np.finfo(np.float64).max))


@dataclass(frozen=True)
class Distance(Objective):
    """A distance of the caller's to the explained row, in place of Gower's (o2).

    It is what `distance` says and what is minimised. Which observed rows are near, for `WhatIf` and
    for `implausibility`, stays Gower's to tell.

    Parameters
    ----------
    name : str
        What it is called in tables, messages and files, instead of "distance".
    function : callable
        Takes a table of candidates and a table of one row, the explained one, both of the data's
        own kind and dtypes; returns a finite number of at least 0 for each candidate.
    worst : float or None, default=None
        Where hypervolume ends; see `Objective`.

    Examples
    --------
    >>> years = Distance("years", lambda rows, row: (rows["age"] - row["age"].iloc[0]).abs())
    >>> years.name, years.worst
    ('years', None)
    """

    noun: ClassVar[str] = "distance"
    least: ClassVar[float] = 0.0


def check_company(function: Objective, observed: Floats, encoding: Encoding) -> None:
    """Refuse a function whose value of a candidate depends on which others it is asked about."""
    few = np.ascontiguousarray(observed[:BLOCK])
    together = function.ask(few, few[0], encoding)
    reverse = function.ask(np.ascontiguousarray(few[::-1]), few[0], encoding)[::-1]
    alone = function.ask(few[:1], few[0], encoding)[0]  # padded with itself
    others = np.stack([reverse, np.r_[alone, reverse[1:]]])
    differs = np.abs(others - together) > ROUND_OFF * np.maximum(1.0, np.abs(together))
    if differs.any():
        k, i = np.argwhere(differs)[0].tolist()
        raise InvalidInput(
            f"{function.noun} {function.name!r} must judge each row by itself and the same every "
            f"time: in other company {_shown(few[i], encoding)} got "
            f"{' instead of '.join(write_numbers(others[k, i], together[i]))}."
        )


def _shown(genome: Floats, encoding: Encoding) -> Any:
    """Return a row as a dict, for messages."""
    return encoding.decode(genome[None].copy()).to_dict("records")[0]


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
    """What is minimised other than the built-in objectives."""

    objectives: tuple[Objective, ...] = ()  # they come after the built-in ones
    distance: Distance | None = None  # stands for o2
    plausibility: Objective | Score | None = None  # stands for o4
    gower: Gower = RANGES  # on which scale Gower's distance is measured
    # what it divides differences by, as the data tell: one for each feature, 0 where that is the
    # range; empty if it is for all
    widths: tuple[float, ...] = ()

    @cached_property
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
        elif self.gower != RANGES:
            names[DISTANCE] += f" ({self.gower.words})"
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
        n = min(N_SURVEYED, len(observed))
        surveyed = observed[np.arange(n) * len(observed) // n]  # spread evenly
        at = {DISTANCE: 0, IMPLAUSIBILITY: 1}
        for a, row in enumerate(rows):
            for m, function in self._places():
                worst[a, at.get(m, m - 2)] = function.worst_of(row, surveyed, encoding)
        return worst


PLAIN = Aims()


def check_aims(
    objectives: tuple[Objective, ...],
    distance: object,
    plausibility: object,
    encoding: Encoding,
    observed: Floats,
    space: Space,
) -> Aims:
    """Return the caller's aims, each tried on a few observed rows; a plausibility is fitted.

    The objectives have been through `check_objectives`.
    """
    all_observed = observed
    has_missing, observed = bool((observed == MISSING).any()), complete_rows(observed)
    if distance is not None and not isinstance(distance, (Distance, Gower)):
        raise InvalidInput(
            f"distance must be a Gower, a Distance or None, got {distance!r}; for example "
            "distance=Gower(scale='mad') or distance=Distance('effort', function)."
        )
    gower = distance if isinstance(distance, Gower) else RANGES
    own = distance if isinstance(distance, Distance) else None
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
    widths = () if gower == RANGES else tuple(gower.widths(all_observed, space).tolist())
    aims = Aims(objectives, own, fitted, gower, widths)
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


def check_costs_apply(aims: Aims) -> None:
    """Refuse costs where there is no Gower distance for them to weigh."""
    if aims.distance is not None:
        raise InvalidInput(
            f"costs weigh Gower's distance, which distance={aims.distance.name!r} replaces; put "
            "them into its function."
        )


def check_names(aims: Aims, schema: Schema) -> None:
    """Refuse names that the result's table has already: of columns, of others, or of its own."""
    taken = {*schema.names, *(column.name for column in schema.columns)}
    own = [function.name for function in aims.functions]
    reserved = [name for name in own if name in RESULT_COLUMNS]
    stand_ins = {"distance": aims.distance, "implausibility": aims.plausibility}
    reserved = [name for name in reserved if getattr(stand_ins.get(name), "name", None) != name]
    twice = [name for name in own if aims.names.count(name) > 1]
    clash = [name for name in own if name in taken]
    if bad := [*reserved, *twice, *clash]:
        raise InvalidInput(
            f"the name {bad[0]!r} of an objective is taken: by a column of the data, another "
            f"objective, or one of {listed(RESULT_COLUMNS)}; give it another name."
        )
