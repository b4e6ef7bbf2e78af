"""Recourse (Ustun, Spangher, Liu 2019): the cheapest actions that flip a linear classifier.

Each number may move over a grid of a hundred steps between the observed 1st and 99th percentile
(integers in whole steps), towards the target; a level may be exchanged. An action costs what it
shifts the feature's percentile: ``|log((1 - Q(new)) / (1 - Q(old)))|``, with Q from a kernel
density on the grid. A mixed-integer program finds the cheapest set of actions; for the next item of
the flipset, that set of features is excluded. These are the published package's defaults, as the
paper used them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import gaussian_kde

from benchmarks.methods.case import Case, NotApplicable
from benchmarks.methods.inputs import LinearScore, linear_score
from benchmarks.methods.programs import Program
from benchmarks.peers.subjects import Floats

STEPS = 100
LOWEST, HIGHEST = 1.0, 99.0  # percentiles between which a number may move
TAIL = 1e-6  # probability of each side beyond the grid, so that no percentile is 0 or 1
MARGIN = 1e-9  # by how much the score must be positive
ACCURACY = 1e3  # the solver accepts violations of 1e-6; scaling the score lessens them


class Actions(NamedTuple):
    """What one feature may become: genes, what each costs, and what it adds to the score; (k,)."""

    genes: Floats
    costs: Floats
    gains: Floats


@dataclass(frozen=True)
class Percentiles:
    """The share of observed values below a value, from a kernel density on a grid."""

    grid: Floats
    shares: Floats

    @classmethod
    def of(cls, values: Floats, grid: Floats) -> Percentiles:
        """Estimate from observed values (n,) that are not all equal."""
        sums = np.cumsum(gaussian_kde(values)(grid))
        return cls(grid, (TAIL + sums) / (sums[-1] + 2 * TAIL))

    def at(self, values: Floats) -> Floats:
        """Return the share below each value."""
        return np.interp(values, self.grid, self.shares, left=TAIL, right=1 - TAIL)

    def cost(self, start: float, ends: Floats) -> Floats:
        """Return what moving from `start` to each of `ends` costs."""
        from_, to = 1.0 - self.at(np.array([start])), 1.0 - self.at(ends)
        return np.abs(np.log(to / from_))


@dataclass(frozen=True)
class Recourse:
    """The flipset of a row: up to `n_items` actions that change different sets of features."""

    n_items: int = 10
    name: str = "recourse"

    def explain(self, case: Case) -> pd.DataFrame:
        """Return the flipset, the cheapest first; none if no action turns the classifier."""
        score = linear_score(case)
        actions = [feasible_actions(case, score, j) for j in range(len(case.genome))]
        needed = -float(score.at(case.genome[None])[0]) + MARGIN
        found = enumerate_flipset(case, actions, needed, self.n_items)
        return case.frame(found) if len(found) else case.none("no action turns the classifier")


def grid_of(case: Case, j: int) -> Floats:
    """Return the places a number may move to; a column of integers moves in whole steps."""
    low, high = np.percentile(case.background.observed[:, j], [LOWEST, HIGHEST])
    if not case.codec.is_whole[j]:
        return np.linspace(low, high, STEPS + 1)
    low, high = np.floor(low), np.ceil(high)
    return np.arange(low, high + 1.0, max(np.ceil((high - low) / STEPS), 1.0))


def percentiles_of(case: Case, j: int) -> Percentiles:
    """Return the percentiles of a number."""
    return Percentiles.of(case.background.observed[:, j], grid_of(case, j))


def feasible_actions(case: Case, score: LinearScore, j: int) -> Actions:
    """Return the actions on feature j that cost something and bring the row nearer."""
    gene, none = case.genome[j], np.zeros(0)
    if j in case.codec.levels:
        genes = np.arange(len(case.codec.levels[j]), dtype=np.float64)
        gains = score.levels[j] - score.levels[j][int(gene)]
        costs = level_costs(case, j)
    else:
        genes = grid_of(case, j)
        if genes[0] == genes[-1]:
            return Actions(none, none, none)
        gains = score.slopes[j] * (genes - gene)
        costs = percentiles_of(case, j).cost(float(gene), genes)
    kept = (gains > 0) & (costs > 0)
    return Actions(genes[kept], costs[kept], gains[kept])


def level_costs(case: Case, j: int) -> Floats:
    """Return what the row's level of feature j costs to exchange for each level.

    As in reference coding each level but the first is an indicator, whose percentiles are those of
    zeros and ones; leaving one level and entering another shifts two of them.
    """
    codes, own = case.background.observed[:, j], int(case.genome[j])
    costs = np.zeros(len(case.codec.levels[j]))
    for level in range(1, len(costs)):
        is_level = (codes == level).astype(np.float64)
        if is_level.min() == is_level.max():
            continue
        shift = Percentiles.of(is_level, np.array([0.0, 1.0])).cost(0.0, np.array([1.0]))[0]
        if level == own:
            costs += shift
        else:
            costs[level] += shift
    costs[own] = 0.0
    return costs


def enumerate_flipset(case: Case, actions: list[Actions], needed: float, n_items: int) -> Floats:
    """Return the genomes of up to n items, each of another set of features."""
    if needed <= 0:
        raise NotApplicable("the row reaches the target already.")
    program, choices = write_program(actions, needed)
    found: list[Floats] = []
    while len(found) < n_items and (chosen := program.solve()) is not None:
        picks = {j: k for (j, k), v in choices.items() if chosen[v] > 0.5}
        genome = case.genome.copy()
        for j, k in picks.items():
            genome[j] = actions[j].genes[k]
        if case.reaches(genome[None])[0]:
            found.append(genome)
            exclude(program, {v: j in picks for (j, _), v in choices.items()}, len(picks))
        else:  # within the solver's tolerance of the boundary, but on its wrong side
            exclude(program, {v: picks.get(j) == k for (j, k), v in choices.items()}, len(picks))
    return np.reshape(found, (-1, len(case.genome)))


def write_program(
    actions: list[Actions], needed: float
) -> tuple[Program, dict[tuple[int, int], int]]:
    """Return the program of the cheapest item, and the variable of each feature's k-th action."""
    program, choices, gains = Program(presolve=True), {}, {}  # all its variables are whole
    for j, (genes, costs, worth) in enumerate(actions):
        for k in range(len(genes)):
            variable = choices[j, k] = program.add(cost=float(costs[k]))
            gains[variable] = ACCURACY * float(worth[k])
        if len(genes):
            program.require({choices[j, k]: 1.0 for k in range(len(genes))}, high=1.0)
    program.require(gains, low=ACCURACY * needed)
    return program, choices


def exclude(program: Program, members: dict[int, bool], n: int) -> None:
    """Forbid items that choose n actions among the members and none among the others."""
    terms = {variable: 1.0 if is_member else -1.0 for variable, is_member in members.items()}
    program.require(terms, high=n - 1.0)


def total_cost(case: Case, genomes: Floats) -> Floats:
    """Return what it costs to get from the row to each genome (n, d), shape (n,)."""
    total = np.zeros(len(genomes))
    for j, gene in enumerate(case.genome):
        is_moved = np.abs(genomes[:, j] - gene) > 1e-9
        if j in case.codec.levels:
            costs = level_costs(case, j)[genomes[:, j].astype(int)]
        elif not is_moved.any():
            continue
        else:
            costs = percentiles_of(case, j).cost(float(gene), genomes[:, j])
        total += np.where(is_moved, costs, 0.0)
    return total
