"""What is recalled of earlier searches of a row, so that the model need not be asked again."""

from __future__ import annotations

from typing import NamedTuple

from counterpoint.arrays import Floats


class Past:
    """What the model said in an earlier search of one row, to be recalled in the same order.

    A search is a deterministic function of its answers. So one that is to go on is run again with
    the answers it had, which asks the model nothing, and continues where these end.

    Parameters
    ----------
    predictions : ndarray of shape (n,)
        The answers, in the order they were given.
    """

    def __init__(self, predictions: Floats) -> None:
        self.predictions = predictions
        self.n_recalled = 0

    def knows(self, n: int) -> bool:
        """Whether the next n answers are known."""
        return self.n_recalled + n <= len(self.predictions)

    def recall(self, n: int) -> Floats:
        """Return the next n answers, shape (1, n)."""
        self.n_recalled += n
        return self.predictions[None, self.n_recalled - n : self.n_recalled].copy()


class Recalled(NamedTuple):
    """Candidates of an earlier search of one row, to start another from.

    Attributes
    ----------
    genomes : ndarray of shape (n, d)
        The candidates.
    predictions : ndarray of shape (n,)
        What the model said of them, in terms of the row's target.
    """

    genomes: Floats
    predictions: Floats
