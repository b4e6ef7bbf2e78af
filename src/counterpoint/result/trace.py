"""Trace: how a search went."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from counterpoint.arrays import Floats, Ints

Stopped = Literal["budget", "patience", "exhausted", "seconds", "interrupt", ""]


@dataclass(frozen=True, eq=False)
class Trace:
    """How a search went: the candidates that ever were non-dominated, and what they cost.

    Parameters
    ----------
    objectives : ndarray of shape (n, m)
        Candidates that were non-dominated when they came.
    generation : ndarray of shape (n,)
        The generation each came in.
    evaluations : ndarray of shape (generations,)
        Rows the model had been asked after each generation.
    replies : ndarray of shape (n,)
        What the model said of every candidate it was asked about, in order.
    stopped : str
        Why the search ended: its budget, patience or time was used up, every candidate had been
        tried ("exhausted"), or it was interrupted; empty if none was needed.
    """

    objectives: Floats
    generation: Ints
    evaluations: Ints
    replies: Floats
    stopped: Stopped
