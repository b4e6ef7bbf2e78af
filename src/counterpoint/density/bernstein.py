"""How a feature is distributed in a node of its transformation tree, and the scores of that.

Few-valued numbers and categories have frequencies, many-valued numbers a smooth distribution over
ordered cells, the "most likely transformation" that follows.

The range of a numeric feature is cut into K cells. Cell ``k`` has the probability
``Phi(h(k + 1)) - Phi(h(k))``, where ``h`` is an increasing Bernstein polynomial of order 5 at
the K - 1 borders between cells, and minus or plus infinity at the two ends: the outer cells are
open, so the probabilities sum to one without a normaliser. This is the "most likely
transformation" of Hothorn et al. for observations that are known up to their cell. Cells bound
the likelihood when values repeat, and make the cost of a fit independent of the number of rows.

The log-likelihood is concave in the polynomial's coefficients, because the log of a normal
interval's probability is concave in its two ends and ``h`` is linear in the coefficients. So it
is maximised over the first coefficient and the five increments directly, the latter kept inside
bounds; no logarithm of increments is needed, and there is one maximum.

References
----------
Hothorn, T., Moest, L., Buehlmann, P. (2018). Most likely transformations. Scandinavian Journal
of Statistics 45.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np

from counterpoint.arrays import Floats, Ints
from counterpoint.kernels import assign, inner, kernel, part

ORDER = 5
N_COEFFICIENTS = ORDER + 1

MIN_INCREMENT = 1e-4  # keeps h strictly increasing
MAX_INCREMENT = 400.0  # h can rise by 20 within one of 100 cells: enough for a leaf of one cell
START_INCREMENT = 0.05  # the search starts away from the lower bound

_MAX_STEPS = 60
_MAX_REJECTIONS = 12
_TOLERANCE = 1e-12  # on the log-likelihood per observation that one more step could gain
_TINY_MASS = 1e-290
_RANK_TOLERANCE = 1e-8  # relative to the largest eigenvalue, for pseudo-inverses

MAX_POINTS = 100  # cells of a smooth response, and the values it can be given
MAX_DISTINCT = 10  # a numeric feature with no more values than this is described by frequencies

ResponseKind = Literal["smooth", "values", "levels"]


@lru_cache(maxsize=256)
def basis(n_cells: int) -> Floats:
    """Return the Bernstein basis (K + 1, 6) at the borders of K >= 3 cells; shared and read-only.

    Row ``k`` belongs to the lower border of cell ``k``. The inner borders 1 .. K - 1 divide [0, 1]
    evenly; the rows of the two infinite borders are zero.
    """
    from scipy.special import comb  # not at the top: few searches need it, and it loads slowly

    assert n_cells >= 3, "a polynomial needs at least two inner borders"
    borders = np.linspace(0.0, 1.0, n_cells - 1)[:, None]
    power = np.arange(N_COEFFICIENTS)
    values = np.zeros((n_cells + 1, N_COEFFICIENTS))
    values[1:-1] = comb(ORDER, power) * borders**power * (1.0 - borders) ** (ORDER - power)
    values.setflags(write=False)
    return values


@lru_cache(maxsize=256)
def _increment_basis(n_cells: int) -> Floats:
    """Turn the basis to (first coefficient, increments): suffix sums of the basis."""
    values = np.ascontiguousarray(np.cumsum(basis(n_cells)[:, ::-1], axis=1)[:, ::-1])
    values.setflags(write=False)
    return values


def fit(counts: Floats) -> Floats:
    """Return the maximum likelihood coefficients (6,) of ``h`` for counts (K,) of observations.

    Examples
    --------
    >>> theta = fit(np.array([10.0, 20.0, 40.0, 20.0, 10.0]))
    >>> describe_cells(theta, 5)[0].round(3)
    array([0.1, 0.2, 0.4, 0.2, 0.1])
    """
    weights = counts / counts.sum()
    increments = _start(weights)
    _maximise(increments, weights, _increment_basis(len(counts)), _newton_scratch(len(counts)))
    return np.asarray(np.cumsum(increments))


def describe_cells(theta: Floats, n_cells: int) -> tuple[Floats, Floats]:
    """Return the probability (K,) of each cell, which sum to one, and the scores (K, 6).

    A score is the gradient of a cell's log probability in the coefficients (6,). It is zero for
    cells so improbable that their logarithm is lost to underflow; a cell that holds an observation
    is never one of them at the maximum.
    """
    masses, scores = np.empty(n_cells), np.empty((n_cells, N_COEFFICIENTS))
    _describe_cells(theta, basis(n_cells), np.empty(n_cells + 1), masses, scores)
    return np.asarray(masses / masses.sum()), scores


def _start(weights: Floats) -> Floats:
    """First coefficient and increments of a rough fit: probits of the observed distribution."""
    from scipy.special import ndtri  # not at the top: few searches need it, and it loads slowly

    n_cells = len(weights)
    border = np.rint(np.linspace(1, n_cells - 1, N_COEFFICIENTS)).astype(np.int64)
    below = np.cumsum(weights)[border - 1]
    coefficients = ndtri(0.005 + 0.99 * np.clip(below, 0.0, 1.0))
    increments = np.maximum(np.diff(coefficients), START_INCREMENT)
    return np.concatenate((coefficients[:1], increments))


@inner
def _interval_mass(lower: float, upper: float) -> float:
    """Return the normal probability of an interval, from the tail where both ends are accurate."""
    if lower > 0.0:
        lower, upper = -upper, -lower
    root = math.sqrt(0.5)
    return 0.5 * (math.erfc(-upper * root) - math.erfc(-lower * root))


@inner
def _density(height: float) -> float:
    return math.exp(-0.5 * height * height) / math.sqrt(2.0 * math.pi)


@inner
def _find_heights(parameters: Floats, design: Floats, heights: Floats) -> None:
    """Write h at the K + 1 borders: linear in the parameters, infinite at both ends."""
    for border in range(design.shape[0]):
        height = 0.0
        for j in range(design.shape[1]):
            height += design[border, j] * parameters[j]
        heights[border] = height
    heights[0] = -np.inf
    heights[len(heights) - 1] = np.inf


@inner
def _find_score(cell: int, heights: Floats, design: Floats, score: Floats) -> float:
    """Write the gradient of a cell's log probability, 0 if it has none; return its probability."""
    mass = _interval_mass(heights[cell], heights[cell + 1])
    lower = upper = 0.0
    if mass > _TINY_MASS:
        lower = _density(heights[cell]) / mass
        upper = _density(heights[cell + 1]) / mass
    for j in range(design.shape[1]):
        score[j] = upper * design[cell + 1, j] - lower * design[cell, j]
    return mass


@kernel
def _describe_cells(
    theta: Floats, design: Floats, heights: Floats, masses: Floats, scores: Floats
) -> None:
    """Write probability (K,) and scores (K, 6) of each cell."""
    _find_heights(theta, design, heights)
    for cell in range(len(masses)):
        masses[cell] = max(0.0, _find_score(cell, heights, design, scores[cell]))


class NewtonScratch(NamedTuple):
    """Scratch of one maximisation, with K cells and p parameters."""

    heights: Floats  # (K + 1,): h at the borders
    # (p,): derivatives of one cell's log probability, and of the log-likelihood
    score: Floats
    gradient: Floats
    # (p, p): its negative Hessian (lower triangle), and Cholesky's factor of that, damped
    curvature: Floats
    factor: Floats
    # (p,): 1.0 for the increments that lie on a bound and would leave through it, else 0.0
    blocked: Floats
    # (p,): the next step, and where it ends
    step: Floats
    candidate: Floats


def _newton_scratch(n_cells: int) -> NewtonScratch:
    score, gradient, blocked, step, candidate = np.empty((5, N_COEFFICIENTS))
    curvature, factor = np.empty((2, N_COEFFICIENTS, N_COEFFICIENTS))
    heights = np.empty(n_cells + 1)
    return NewtonScratch(heights, score, gradient, curvature, factor, blocked, step, candidate)


@inner
def _log_likelihood(parameters: Floats, weights: Floats, design: Floats, heights: Floats) -> float:
    """Return the weighted log-likelihood, minus infinity where an observed cell has no mass."""
    _find_heights(parameters, design, heights)
    total = 0.0
    for cell in range(len(weights)):
        if weights[cell] > 0.0:
            mass = _interval_mass(heights[cell], heights[cell + 1])
            if mass <= _TINY_MASS:
                return -np.inf
            total += weights[cell] * math.log(mass)
    return total


@part
def _differentiate(
    parameters: Floats, weights: Floats, design: Floats, scratch: NewtonScratch
) -> None:
    """Write gradient and negative Hessian of the weighted log-likelihood."""
    score, gradient, curvature, heights = (
        scratch.score,
        scratch.gradient,
        scratch.curvature,
        scratch.heights,
    )
    gradient[:] = 0.0
    curvature[:] = 0.0
    _find_heights(parameters, design, heights)
    for cell in range(len(weights)):
        if weights[cell] == 0.0:
            continue
        ratio = weights[cell] / _find_score(cell, heights, design, score)
        lower = upper = 0.0  # h phi(h), whose limit at an infinite border is zero
        if cell > 0:
            lower = ratio * heights[cell] * _density(heights[cell])
        if cell + 1 < len(weights):
            upper = ratio * heights[cell + 1] * _density(heights[cell + 1])
        for i in range(len(parameters)):
            gradient[i] += weights[cell] * score[i]
            for j in range(i + 1):
                curvature[i, j] += weights[cell] * score[i] * score[j]
                curvature[i, j] += upper * design[cell + 1, i] * design[cell + 1, j]
                curvature[i, j] -= lower * design[cell, i] * design[cell, j]


@part
def _block(parameters: Floats, gradient: Floats, blocked: Floats) -> None:
    """Mark the increments that lie on a bound and would leave through it."""
    blocked[0] = 0.0
    for j in range(1, len(parameters)):
        at_floor = parameters[j] <= MIN_INCREMENT and gradient[j] < 0.0
        at_ceiling = parameters[j] >= MAX_INCREMENT and gradient[j] > 0.0
        blocked[j] = 1.0 if at_floor or at_ceiling else 0.0


@part
def _find_step(damping: float, scratch: NewtonScratch) -> None:
    """Write Newton's step of the unblocked parameters, by Cholesky's factorisation of the matrix.

    The diagonal is enlarged in proportion to itself (Levenberg-Marquardt) and by a little more,
    so that the matrix is positive definite even when a leaf has fewer occupied cells than
    parameters.
    """
    curvature, factor, blocked, step = (
        scratch.curvature,
        scratch.factor,
        scratch.blocked,
        scratch.step,
    )
    size = len(step)
    for i in range(size):
        for j in range(i + 1):
            is_free = blocked[i] == 0.0 and blocked[j] == 0.0
            value = curvature[i, j] if is_free else 0.0
            if i == j:
                value = curvature[i, i] * (1.0 + damping) + 1e-12 if is_free else 1.0
            for k in range(j):
                value -= factor[i, k] * factor[j, k]
            factor[i, j] = value / factor[j, j] if i > j else math.sqrt(max(value, 1e-14))
        step[i] = scratch.gradient[i] if blocked[i] == 0.0 else 0.0
        for k in range(i):
            step[i] -= factor[i, k] * step[k]
        step[i] /= factor[i, i]
    for i in range(size - 1, -1, -1):
        for k in range(i + 1, size):
            step[i] -= factor[k, i] * step[k]
        step[i] /= factor[i, i]


@part
def _take_step(parameters: Floats, scratch: NewtonScratch) -> float:
    """Write where the step ends, increments put back inside their bounds; return its promise.

    That is what the log-likelihood would gain if it were linear.
    """
    candidate, promise = scratch.candidate, 0.0
    for j in range(len(parameters)):
        candidate[j] = parameters[j] + scratch.step[j]
        if j > 0:
            candidate[j] = min(max(candidate[j], MIN_INCREMENT), MAX_INCREMENT)
        moved = candidate[j] - parameters[j]
        promise += scratch.gradient[j] * moved * (1.0 - scratch.blocked[j])
    return promise


@kernel
def _maximise(parameters: Floats, weights: Floats, design: Floats, scratch: NewtonScratch) -> None:
    """Climb the concave log-likelihood by damped, projected Newton steps, in place."""
    likelihood = _log_likelihood(parameters, weights, design, scratch.heights)
    damping = 1e-3
    for _ in range(_MAX_STEPS):
        _differentiate(parameters, weights, design, scratch)
        _block(parameters, scratch.gradient, scratch.blocked)
        for _ in range(_MAX_REJECTIONS):
            _find_step(damping, scratch)
            promise = _take_step(parameters, scratch)
            gained = _log_likelihood(scratch.candidate, weights, design, scratch.heights)
            if gained > likelihood:
                break
            damping *= 10.0
        if not gained > likelihood:
            break
        assign(parameters, scratch.candidate)
        likelihood, damping = gained, damping * 0.03
        if promise < _TOLERANCE:
            break


class Fitted(NamedTuple):
    """A response's distribution in one node: cell probabilities (K,), whitened scores (K, r)."""

    probabilities: Floats
    scores: Floats


@dataclass(frozen=True)
class Response:
    """The feature a tree describes."""

    # many-valued numbers (Bernstein polynomial), few-valued numbers, or categories (both:
    # frequencies)
    kind: ResponseKind
    support: Floats  # (K,): the value that stands for each cell, increasing
    cells: Ints  # (n,): cell of each observation

    @classmethod
    def of(cls, values: Floats, *, is_integer: bool, n_levels: int) -> Response:
        """Choose kind and cells for a column; `n_levels` is 0 for numbers."""
        if n_levels > 0:
            return cls("levels", np.arange(n_levels, dtype=np.float64), values.astype(np.int64))
        distinct = np.unique(values)
        is_smooth = len(distinct) > MAX_DISTINCT
        support = _points(values.min(), values.max(), is_integer) if is_smooth else distinct
        return cls("smooth" if is_smooth else "values", support, nearest_cells(support, values))

    def fit(self, rows: Ints) -> Fitted:
        """Distribution and scores in the node that holds these rows."""
        n_cells = len(self.support)
        counts = np.bincount(self.cells[rows], minlength=n_cells).astype(np.float64)
        probabilities = counts / counts.sum()
        if self.kind == "smooth":
            probabilities, scores = describe_cells(fit(counts), n_cells)
        elif self.kind == "levels":
            scores = np.eye(n_cells)[:, counts > 0]
        else:
            scores = (self.support - self.support[0])[:, None]
        return Fitted(probabilities, whiten(scores, counts))


def whiten(scores: Floats, counts: Floats) -> Floats:
    """Return scores (K, q) centred and decorrelated over the observations, `counts` (K,) per cell.

    That is Z (K, r) with ``sum_k counts[k] z_k = 0`` and ``sum_k counts[k] z_k z_k' = I``; r is the
    rank of the scores' covariance, 0 if they are constant.
    """
    centred = scores - counts @ scores / counts.sum()
    spread, directions = np.linalg.eigh(centred.T @ (centred * counts[:, None]))
    scale = np.max(np.abs(scores) * (counts > 0)[:, None]) ** 2 * counts.sum()
    kept = spread > _RANK_TOLERANCE * max(spread[-1], 1e-6 * scale)
    return np.ascontiguousarray(centred @ (directions[:, kept] / np.sqrt(spread[kept])))


def nearest_cells(support: Floats, values: Floats) -> Ints:
    """Index of the nearest support point of each value; halves go to the lower one."""
    middles = support[:-1] + 0.5 * np.diff(support)
    return np.searchsorted(middles, values, side="left").astype(np.int64)


def _points(low: float, high: float, is_integer: bool) -> Floats:
    """Values of a smooth response: every integer if they are few, else an even grid."""
    if is_integer and high - low < MAX_POINTS:
        return np.arange(low, high + 1.0)
    points = np.linspace(low, high, MAX_POINTS)
    return np.unique(np.rint(points)) if is_integer else points
