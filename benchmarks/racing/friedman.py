"""Who leaves a race: Friedman's test with Conover's comparison to the best; two by Wilcoxon's.

The tests are those of irace (López-Ibáñez et al. 2016, section 2.3); the formulas are Conover's
(Practical Nonparametric Statistics, 1999, sections 5.7 and 5.8).
"""

from __future__ import annotations

import numpy as np
from scipy.special import chdtrc, ndtr, stdtrit
from scipy.stats import rankdata

from counterpoint.arrays import Bools, Floats


def rank_sums(costs: Floats) -> Floats:
    """Return the sum of each configuration's ranks over tasks; 1 is best, ties share.

    Parameters
    ----------
    costs : ndarray of shape (t, k)
        Cost of k configurations on t tasks.

    Returns
    -------
    ndarray of shape (k,)
        The sums.

    Examples
    --------
    >>> rank_sums(np.array([[1.0, 2.0, 3.0], [1.0, 1.0, 5.0]]))
    array([2.5, 3.5, 6. ])
    """
    sums: Floats = _ranks(costs).sum(axis=0)
    return sums


def friedman(costs: Floats) -> tuple[float, float]:
    """Return Friedman's statistic, corrected for ties, and its p-value.

    Parameters
    ----------
    costs : ndarray of shape (t, k)
        Cost of k > 2 configurations on t tasks.

    Returns
    -------
    tuple of float
        Statistic and p-value; 0 and 1 if all configurations tie on all tasks.
    """
    t, k = costs.shape
    ranks = _ranks(costs)
    sums = ranks.sum(axis=0)
    spread = (ranks**2).sum() - t * k * (k + 1) ** 2 / 4
    if spread <= 0.0:
        return 0.0, 1.0
    statistic = float((k - 1) * ((sums - t * (k + 1) / 2) ** 2).sum() / spread)
    return statistic, float(chdtrc(k - 1, statistic))


def critical_difference(costs: Floats, confidence: float) -> float:
    """Return by how much a rank sum must exceed the best one to be called worse (Conover's t).

    Parameters
    ----------
    costs : ndarray of shape (t, k)
        Cost of k configurations on t > 1 tasks.
    confidence : float
        Of the two-sided comparison.
    """
    t, k = costs.shape
    ranks = _ranks(costs)
    freedom = (t - 1) * (k - 1)
    left = t * (ranks**2).sum() - (ranks.sum(axis=0) ** 2).sum()
    quantile = float(stdtrit(freedom, 0.5 + confidence / 2))
    return quantile * float(np.sqrt(max(0.0, 2.0 * left / freedom)))


def wilcoxon(first: Floats, second: Floats) -> float:
    """Return the two-sided p-value of the signed-rank test, by the corrected normal approximation.

    Parameters
    ----------
    first, second : ndarray of shape (t,)
        Costs on the same tasks; tasks on which they tie do not count.
    """
    difference = first - second
    difference = difference[difference != 0.0]
    n = len(difference)
    if n == 0:
        return 1.0
    ranks = np.asarray(rankdata(np.abs(difference)), dtype=float)
    ahead = ranks[difference > 0.0].sum() - n * (n + 1) / 4
    _, ties = np.unique(ranks, return_counts=True)
    variance = n * (n + 1) * (2 * n + 1) / 24 - (ties**3 - ties).sum() / 48
    score = max(0.0, abs(ahead) - 0.5) / np.sqrt(variance)
    return float(min(1.0, 2.0 * ndtr(-score)))


def survivors(costs: Floats, confidence: float = 0.95) -> Bools:
    """Return which configurations a race goes on with.

    Parameters
    ----------
    costs : ndarray of shape (t, k)
        Cost of k configurations on t tasks; infinite ones are worst.
    confidence : float, default=0.95
        Of the tests.

    Returns
    -------
    ndarray of shape (k,)
        False where a configuration is worse than the best; the best is always among them.

    Examples
    --------
    >>> worse_and_worse = np.arange(8.0)[:, None] + np.array([0.0, 0.1, 3.0])
    >>> survivors(worse_and_worse)
    array([ True, False, False])
    """
    t, k = costs.shape
    sums = rank_sums(costs)
    everyone = np.ones(k, dtype=bool)
    if k < 2 or t < 2:
        return everyone
    if k == 2:
        differs = wilcoxon(_finite(costs[:, 0]), _finite(costs[:, 1])) < 1.0 - confidence
        return np.asarray(sums <= sums.min()) if differs else everyone
    if friedman(costs)[1] >= 1.0 - confidence:
        return everyone
    # The slack forgives rounding: configurations with equal ranks must share their fate.
    return np.asarray(sums - sums.min() <= critical_difference(costs, confidence) + 1e-9)


def _ranks(costs: Floats) -> Floats:
    """Return each task's ranks, shape (t, k)."""
    return np.asarray(rankdata(costs, axis=1), dtype=float)


def _finite(costs: Floats) -> Floats:
    """Return costs with the largest number there is in place of infinity, which has no sum."""
    return np.nan_to_num(costs, posinf=1e300, neginf=-1e300)
