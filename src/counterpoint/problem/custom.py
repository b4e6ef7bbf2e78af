"""Objectives of the caller's: a function and a name, asked so that company does not matter.

A function is asked about the candidates of one explained row at a time, in blocks padded as a
model's are: so the rows explained beside it cannot change a bit of what it says.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from counterpoint.arrays import Floats
from counterpoint.errors import CounterpointError, InvalidInput
from counterpoint.problem.predictor import BLOCK, pad
from counterpoint.table.encoding import Encoding
from counterpoint.table.schema import is_number

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
        is_finite = is_number(self.worst) and np.isfinite(float(self.worst))  # type: ignore[arg-type]
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
                f"{len(block)} rows, the first being {_shown(block[0], encoding)}: {error}"
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
            is_bad, what = values < self.least, f"below {self.least:g}"
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
    """Refuse a function that gives a candidate another value in other company."""
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
            f"time: in other company {_shown(few[i], encoding)} got {others[k, i]:g} instead of "
            f"{together[i]:g}."
        )


def _shown(genome: Floats, encoding: Encoding) -> Any:
    """Return a row as a dict, for messages."""
    return encoding.decode(genome[None].copy()).to_dict("records")[0]
