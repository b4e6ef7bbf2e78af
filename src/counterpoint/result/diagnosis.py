"""Diagnosis: why no observed row will do, and the least that would have to give way."""

from __future__ import annotations

import numpy as np

from counterpoint.arrays import Bools, Floats
from counterpoint.neighbours.gower import distances_to, gower_weights
from counterpoint.problem.limits import search_box
from counterpoint.problem.problem import Problem
from counterpoint.search.baselines import is_reaching, is_wanted


def limits_bind(problem: Problem) -> bool:
    """Whether observed rows reach the target, but the caller's limits exclude all of them."""
    everything = slice(None)
    return bool(
        is_reaching(problem, 0, everything).any() and not is_wanted(problem, 0, everything).any()
    )


def smallest_relaxation(problem: Problem) -> str:
    """Say what would admit the observed row that breaks the fewest limits, the nearest of these.

    Returns
    -------
    str
        For example "free 'sex' and raise max_changed to 4".
    """
    genomes = problem.observed.genomes[is_reaching(problem, 0, slice(None))]
    is_broken, n_surplus = broken_limits(problem, genomes)
    weight, cap = gower_weights(problem.rows, problem.space)
    distances = distances_to(problem.rows[0], genomes, weight[0], cap)
    is_against = broken_rules(problem, genomes)
    n_broken = is_broken.sum(axis=1) + (n_surplus > 0) + is_against.sum(axis=1)
    best = int(np.lexsort((distances, n_broken))[0])
    steps = [_relax(problem, int(j), genomes[best]) for j in np.flatnonzero(is_broken[best])]
    if n_surplus[best] > 0:
        steps.append(f"raise max_changed to {problem.limits.max_changed + int(n_surplus[best])}")
    if problem.row_rules is not None:
        rules = problem.row_rules.rules.rules
        steps += [f'drop "{rules[k]}"' for k in np.flatnonzero(is_against[best])]
    return " and ".join([", ".join(steps[:-1]), steps[-1]] if len(steps) > 1 else steps)


def broken_limits(problem: Problem, genomes: Floats) -> tuple[Bools, Floats]:
    """Return which features of genomes (n, d) break a limit, and their changes beyond the most."""
    row, box, is_fixed = problem.rows[0], problem.box, problem.limits.is_fixed
    if problem.row_rules is not None:  # the box is the rules' too, which are judged by themselves
        names = problem.predictor.encoding.schema.names
        box = search_box(problem.rows, problem.space, problem.limits, names)
    is_broken = is_fixed & (genomes != row)
    is_broken |= ~is_fixed & ((genomes < box.lower[0]) | (genomes > box.upper[0]))
    surplus = (genomes != row).sum(axis=1) - problem.limits.max_changed
    return is_broken, np.maximum(surplus, 0).astype(np.float64)


def broken_rules(problem: Problem, genomes: Floats) -> Bools:
    """Return which of the k rules genomes (n, d) break, shape (n, k)."""
    if problem.row_rules is None:
        return np.zeros((len(genomes), 0), dtype=np.bool_)
    rules = problem.row_rules.rules
    frame = problem.predictor.encoding.to_rows(genomes.copy()) if rules.functions else None
    return ~rules.all_verdicts(genomes, problem.rows[0], frame)


def _relax(problem: Problem, j: int, genome: Floats) -> str:
    """Say what lets feature j take the value of this genome."""
    encoding = problem.predictor.encoding
    name = encoding.schema.names[j]
    if problem.limits.is_fixed[j]:
        return f"free {name!r}"
    feature = encoding.schema.features[j]
    return f"widen ranges[{name!r}] to {feature.shown(genome[j])}"
