"""Mending: candidates that break the caller's rules are repaired; if that fails, made anew.

Written rules are repaired in the kernels. Functions can only be asked, which is done for all rows
at once; what they refuse is made again with other draws, a few times. Where nothing feasible was
made, the row itself fills the place: it counts for nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from counterpoint.arrays import Bools, Floats, Keys
from counterpoint.kernels import inner, kernel
from counterpoint.problem.problem import Problem
from counterpoint.rules.program import Program, Records, make_scratch
from counterpoint.rules.repair import Repair, repair_genome
from counterpoint.search.nsga2.selection import Brood
from counterpoint.streams import MAX_GENERATIONS, WHOLE, Stage, word_at

RETRIES = 7  # how often what is not feasible is made anew
PATIENT = 4  # within rules, how many times as often a new candidate is tried for
MEND = np.int64(Stage.MEND)


class Mender(NamedTuple):
    """What the repair of the candidates of r rows works with; see `Repair`.

    Attributes
    ----------
    program : Program
        The rules.
    rows : ndarray of shape (r, d)
        The explained rows.
    features : ndarray of records, of shape (r, d)
        The values the candidates may take.
    allowed : ndarray of shape (r, d, most levels)
        The levels they may take.
    scratch : ndarray of records
        Room for one genome.
    """

    program: Program
    rows: Floats
    features: Records
    allowed: Bools
    scratch: Records


def mender_of(problem: Problem) -> Mender | None:
    """Return the mender of a problem's rows; None without rules, which costs a kernel nothing."""
    row_rules = problem.row_rules
    if row_rules is None:
        return None
    domains, rows = row_rules.domains, np.ascontiguousarray(problem.rows)
    return Mender(
        row_rules.program, rows, domains.features, domains.allowed, make_scratch(row_rules.program)
    )


def draws_of(generation: int, retry: int) -> int:
    """Return the generation whose draws a retry uses: far from those of all others.

    Examples
    --------
    >>> draws_of(3, retry=0), draws_of(3, retry=1)
    (3, 524291)
    """
    n = MAX_GENERATIONS + 1
    return (generation + retry * (n // (RETRIES + 1))) % n


@inner
def mend(genome: Floats, w: int, mender: Mender | None, state: Keys) -> bool:
    """Repair a genome of row w in place; return whether it satisfies the written rules now.

    Without a mender Numba leaves the repair out, since the type of None is known to it.
    """
    if mender is None:
        return True
    repair = Repair(
        mender.program,
        mender.rows[w],
        mender.features[w],
        mender.allowed[w],
        mender.scratch,
        state,
    )
    return repair_genome(genome, repair)


@inner
def n_attempts(mender: Mender | None, plain: int) -> int:
    """Return how often a new candidate is tried for, `plain` times without rules.

    Repair leads many children to the same genome, so that new ones take longer to be found.
    """
    if mender is None:
        return plain
    return PATIENT * plain


@kernel
def _mend_all(
    genomes: Floats, mender: Mender, keys: Keys, generation: int, state: Keys, is_good: Bools
) -> None:
    """Repair genomes (r, n, d) in place, and write which of them are good now."""
    for a in range(genomes.shape[0]):
        for i in range(genomes.shape[1]):
            state[0] = word_at(keys[a], MEND, generation, i, WHOLE)
            is_good[a, i] = mend(genomes[a, i], a, mender, state)


def mended(problem: Problem, brood: Brood, generation: int) -> tuple[Brood, Bools]:
    """Return a brood repaired, and which of its candidates (r, n) are feasible."""
    mender, genomes = mender_of(problem), np.ascontiguousarray(brood.genomes).copy()
    is_good = np.ones(genomes.shape[:2], dtype=np.bool_)
    if mender is not None:
        state = np.zeros(1, dtype=np.uint64)
        _mend_all(genomes, mender, problem.keys, generation, state, is_good)
    is_good &= problem.accepts(genomes, is_good)
    return Brood(genomes, brood.keeps & (genomes == problem.box.anchor[:, None])), is_good


def feasible(
    problem: Problem, make: Callable[[int], Brood], generation: int
) -> tuple[Brood, Bools | None]:
    """Return a brood of feasible candidates, and which of them (r, n) count; None if all do.

    Parameters
    ----------
    problem : Problem
        What binds them.
    make : callable
        Makes a brood with the draws of a generation, always of the same shape.
    generation : int
        Whose draws to begin with.

    Returns
    -------
    Brood, ndarray of shape (r, n) or None
        Where nothing feasible was made, the row itself, which does not count.
    """
    brood = make(generation)
    if problem.row_rules is None:
        return brood, None
    brood, is_good = mended(problem, brood, generation)
    for retry in range(1, RETRIES + 1):
        if is_good.all():
            break
        draws = draws_of(generation, retry)
        other, is_better = mended(problem, make(draws), draws)
        fills = (is_better & ~is_good)[..., None]
        brood = Brood(*(np.where(fills, new, old) for new, old in zip(other, brood, strict=True)))
        is_good |= is_better
    genomes = np.where(is_good[..., None], brood.genomes, problem.rows[:, None])
    return Brood(genomes, brood.keeps | ~is_good[..., None]), is_good
