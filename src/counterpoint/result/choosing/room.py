"""Room: the space that no chosen point dominates yet, cut into boxes.

What a point adds to the dominated volume is the sum over boxes of what it covers of each: a few
hundred products instead of a whole hypervolume. The greedy choice asks that of many points, and a
hypervolume only of those that are equally good but for rounding.
"""

from __future__ import annotations

import numpy as np

from counterpoint.arrays import Floats, Ints
from counterpoint.kernels import kernel

MOST_BOXES = 4096  # beyond it hypervolumes are quicker
LOW, HIGH = 0, 1


class Room:
    """The space below a reference that chosen points do not dominate.

    Parameters
    ----------
    low, high : ndarray of shape (m,)
        The corners of all of it: nothing lies below the first, and the second is the reference.

    Attributes
    ----------
    volume : float
        What is dominated so far.
    is_open : bool
        Whether it can still be told; not if there would be too many boxes, or infinite ones.

    Examples
    --------
    >>> room = Room(np.zeros(2), np.ones(2))
    >>> room.close(np.array([0.5, 0.5]))
    >>> gains = np.full(2, np.inf)
    >>> points = np.array([[0.25, 0.5], [0.5, 0.75]])
    >>> float(room.best_gain(points, gains, np.array([0, 1]), 1e-9)), room.volume
    (0.125, 0.25)
    """

    def __init__(self, low: Floats, high: Floats) -> None:
        self._boxes = np.empty((MOST_BOXES, 2, len(low)))
        self._spare = np.empty_like(self._boxes)
        self._boxes[0, LOW], self._boxes[0, HIGH] = low, high
        self._n = 1
        self.volume = 0.0
        with np.errstate(over="ignore", invalid="ignore"):
            self.is_open = bool(np.isfinite(np.prod(high - low)) and (low < high).all())

    def best_gain(self, points: Floats, gains: Floats, order: Ints, slack: float) -> float:
        """Return the most volume one of the points (k, m) adds; bring `gains` (k,) up to date.

        Parameters
        ----------
        points : ndarray of shape (k, m)
            The points.
        gains : ndarray of shape (k,)
            At most so much does each add, as it never adds more than it did before. Those that may
            be best, or nearly so, are measured anew; the others stay as they are.
        order : ndarray of shape (at most k,)
            Which points to look at, those of the largest gains first.
        slack : float
            The share of the dominated volume by which rounding may mislead.
        """
        return float(_measure(points, gains, order, self._boxes[: self._n], self.volume, slack))

    def close(self, point: Floats) -> None:
        """Take out what a chosen point (m,) dominates."""
        if not self.is_open:
            return
        covered = float(_covered(point, self._boxes[: self._n]))
        n = _cut(self._boxes[: self._n], point, self._spare)
        self.is_open = n >= 0
        self._boxes, self._spare = self._spare, self._boxes
        self._n, self.volume = n, self.volume + covered


@kernel
def _covered(point: Floats, boxes: Floats) -> float:
    """Return what a point (m,) dominates of boxes (b, 2, m)."""
    total = 0.0
    for b in range(boxes.shape[0]):
        covered = 1.0
        for j in range(point.shape[0]):
            covered *= max(0.0, boxes[b, HIGH, j] - max(boxes[b, LOW, j], point[j]))
        total += covered
    return total


@kernel
def _measure(
    points: Floats, gains: Floats, order: Ints, boxes: Floats, volume: float, slack: float
) -> float:
    """Return the largest gain of the points, measured in `order` until no other can be as large."""
    most = -np.inf
    for k in range(order.shape[0]):
        i = order[k]
        total = volume + most
        if volume + gains[i] < total - slack * abs(total):
            break
        gain = 0.0
        for b in range(boxes.shape[0]):
            covered = 1.0
            for j in range(points.shape[1]):
                covered *= max(0.0, boxes[b, HIGH, j] - max(boxes[b, LOW, j], points[i, j]))
            gain += covered
        gains[i] = gain
        most = max(most, gain)
    return most


@kernel
def _cut(boxes: Floats, point: Floats, into: Floats) -> int:
    """Write what a point (m,) leaves of boxes (b, 2, m) into `into`; return how many, -1 if full.

    Of a box it reaches into, the part below the point in the first objective remains, of the rest
    the part below it in the second, and so on; the last rest is dominated.
    """
    n = 0
    m = point.shape[0]
    for b in range(boxes.shape[0]):
        reaches = True
        for j in range(m):
            reaches = reaches and point[j] < boxes[b, HIGH, j]
        for k in range(m if reaches else 1):
            if reaches and point[k] <= boxes[b, LOW, k]:
                continue
            if n == into.shape[0]:
                return -1
            for j in range(m):
                into[n, LOW, j] = (
                    max(boxes[b, LOW, j], point[j]) if reaches and j < k else (boxes[b, LOW, j])
                )
                into[n, HIGH, j] = boxes[b, HIGH, j]
            if reaches:
                into[n, HIGH, k] = point[k]
            n += 1
    return n
