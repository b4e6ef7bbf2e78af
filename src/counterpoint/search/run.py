"""Run: which function runs which settings, and the short methods: random search, What-If, NICE.

A new method has a line in `RUNS` and a class in `settings`, or beside the function that runs it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any, Literal, get_args

import numpy as np

from counterpoint.arrays import Floats
from counterpoint.checks import check_choice
from counterpoint.problem.objectives import DISTANCE, GAP, IMPLAUSIBILITY
from counterpoint.problem.problem import Evaluation, Problem
from counterpoint.problem.target import Target
from counterpoint.progress import Watch, deadline_of
from counterpoint.search.archive import Archive
from counterpoint.search.exact.finish import Exact, ask_solver
from counterpoint.search.explore.loop import explore
from counterpoint.search.feasibility import feasible, nearest_wanted, observed_predictions
from counterpoint.search.nsga2.loop import evolve, random_candidates
from counterpoint.search.settings import NSGA2, Explore, RandomSearch, WhatIf

Reward = Literal["none", "sparsity", "proximity", "plausibility"]


def search_randomly(problem: Problem, search: RandomSearch, watch: Watch) -> Archive:
    """Draw candidates at random, half of their features kept: the paper's random search."""
    deadline = deadline_of(search.seconds)
    size, rows = search.population, np.arange(len(problem.rows))
    last = search.last_generation(np.full(len(rows), 1 + size))
    archive = Archive(problem, (1 + int(last.max())) * size)
    for generation in range(int(last.max()) + 1):
        draw = partial(random_candidates, problem, problem.box, size)
        try:
            candidates, counts = feasible(problem, draw, generation)
            judged = problem.evaluate(candidates.genomes)
        except KeyboardInterrupt:
            archive.stop(rows, "interrupt")
            break
        archive.add(candidates.genomes, judged, rows, generation, counts)
        going = archive.still_going(
            rows, generation, last, search.patience, deadline, is_stopped=watch.is_stopped
        )
        watch.hear(len(rows) * size, len(rows) - len(going), archive)
        if len(going) == 0:
            break
        if len(going) < len(rows):
            rows, problem = rows[going], problem.take(going)
    return archive


def take_nearest(problem: Problem, search: WhatIf, watch: Watch) -> Archive:
    """Return the nearest observed rows that reach each row's target within its limits."""
    archive = Archive(problem, search.n)
    wanted, n_wanted = nearest_wanted(problem, search.n)
    archive.places = wanted
    for a in range(len(problem.rows)):
        known = wanted[a, : n_wanted[a]]
        if len(known):
            genomes = problem.observed.genomes[known][None]
            judged = problem.take(np.array([a])).judge(
                genomes, observed_predictions(problem, a, known)[None]
            )
            archive.add(genomes, judged, np.array([a]), generation=0, is_known=True)
            archive.keep_all(a)
        archive.stopped[a] = "budget"
    watch.hear(0, len(problem.rows))
    return archive


@dataclass(frozen=True, kw_only=True)
class NICE(WhatIf):
    """Walk from the row towards the nearest observed row that has the wanted prediction.

    Nearest Instance Counterfactual Explanations (Brughmans, Leyman, Martens 2023). The nearest
    unlike neighbour is the row that `WhatIf` takes: it reaches the target by the model's own answer
    and obeys limits and rules; whether its true label is the same is not asked, because an
    explainer knows no labels. Starting at the row, one feature at a time takes over the neighbour's
    value, the one with the best reward, until the target is reached. A step that breaks a rule is
    taken only where all do, and what breaks one is no end.

    Parameters
    ----------
    variant : {"sparsity", "proximity", "plausibility", "none"}, default="sparsity"
        The reward of a step: how much nearer the prediction comes to the target; that, divided by
        how much farther from the row; or that, times how much `implausibility` falls, whatever the
        explainer measures it by (the paper trains an autoencoder), and nothing where both get
        worse. "none" takes no step and returns the neighbour.
    n : int, default=1
        How many neighbours are walked to, the nearest first; walks that end alike count once.

    References
    ----------
    Brughmans, Leyman, Martens (2023). NICE: an algorithm for nearest instance counterfactual
    explanations. Data Mining and Knowledge Discovery.

    Examples
    --------
    >>> import pandas as pd
    >>> import counterpoint as cp
    >>> data = pd.DataFrame({"income": [10, 20, 30, 40], "debt": [5.0, 4.0, 2.5, 1.0]})
    >>> explainer = cp.Explainer(lambda rows: (rows["income"] / 50).round(2), data)
    >>> row = {"income": 12, "debt": 4.5}
    >>> explainer.explain(row, (0.5, 1.0), cp.WhatIf()).to_frame()[["income", "debt"]]
       income  debt
    0      30   2.5
    >>> explainer.explain(row, (0.5, 1.0), cp.NICE()).to_frame()[["income", "debt"]]
       income  debt
    0      30   4.5
    """

    variant: Reward = "sparsity"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("NICE.variant", self.variant, get_args(Reward))


def walk_to_neighbours(problem: Problem, search: NICE, watch: Watch) -> Archive:
    """Walk from each row to its nearest unlike neighbours; all walks share the model's calls."""
    archive = Archive(problem, search.n)
    wanted, n_wanted = nearest_wanted(problem, search.n)
    archive.places = wanted if search.variant == "none" else None
    walks = []
    for a in range(len(problem.rows)):
        alone = problem.take(np.array([a]))
        walks.append(
            [NeighbourWalk(alone, int(i), search.variant) for i in wanted[a, : n_wanted[a]]]
        )
    going = [walk for walk in chain(*walks) if not walk.is_done]
    try:
        while going and not watch.is_stopped:
            blocks = [walk.steps for walk in going]
            outputs = problem.predictor.uneven_blocks(blocks)
            for walk, steps, answers in zip(going, blocks, outputs, strict=True):
                walk.go(steps, answers)
            going = [walk for walk in going if not walk.is_done]
    except KeyboardInterrupt:
        pass  # the walks that are going end at their neighbours
    archive.stop(np.arange(len(walks)), "interrupt" if going else "budget")
    for a, of_row in enumerate(walks):
        enter_ends(archive, a, of_row)
    watch.hear(0, len(walks))
    return archive


def enter_ends(archive: Archive, a: int, walks: list[NeighbourWalk]) -> None:
    """Put the ends of a row's walks into the archive, equal ones once, and what they asked."""
    ends: dict[bytes, NeighbourWalk] = {}
    for walk in walks:
        if not walk.is_done:
            walk.end_at_neighbour()
        ends.setdefault(walk.genome.tobytes(), walk)
    for walk in ends.values():
        archive.add(walk.genome[None, None], walk.judged, np.array([a]), generation=0)
    archive.n_passed[a] = sum(walk.n_asked for walk in walks) - len(ends)
    archive.keep_all(a)


class NeighbourWalk:
    """One row's way towards one observed row.

    `variant` is the reward; see `NICE`. It is at `genome` (d,), of which `judged` has prediction
    and objectives, of shapes (1, 1) and (1, 1, m), and `is_done` if it reached the target.
    """

    def __init__(self, problem: Problem, neighbour: int, variant: Reward) -> None:
        self.problem, self.place, self.variant = problem, neighbour, variant
        self.neighbour = problem.observed.genomes[neighbour]
        self.genome = np.where(problem.box.is_forced[0], self.neighbour, problem.rows[0])
        self.n_asked, self.is_done = 0, False
        self.judged = problem.judge(problem.rows[None], problem.row_scores[None])
        if variant == "none" or np.array_equal(self.neighbour, problem.rows[0]):
            self.end_at_neighbour()

    @property
    def steps(self) -> Floats:
        """What it can be next, shape (n, d): one more feature with the neighbour's value.

        The first step may be the start itself, where ranges or rules forbid values of the row.
        """
        if self.n_asked == 0 and self.problem.box.is_forced[0].any():
            return np.ascontiguousarray(self.genome[None])
        others = np.flatnonzero(self.genome != self.neighbour)
        steps = np.repeat(self.genome[None], len(others), axis=0)
        steps[np.arange(len(others)), others] = self.neighbour[others]
        return steps

    def go(self, steps: Floats, outputs: Floats) -> None:
        """Take the best of the steps (n, d), given what the model says of them."""
        problem = self.problem
        scores = problem.targets[0].score(outputs)
        judged = problem.judge(steps[None], scores[None])
        keeps = problem.obeys(steps[None])[0]
        best = int(np.lexsort((-self._rewards(judged), ~keeps))[0])
        self.n_asked += len(steps)
        self.genome = steps[best]
        self.judged = Evaluation(judged.predictions[:, [best]], judged.objectives[:, [best]])
        self.is_done = bool(keeps[best] and judged.objectives[0, best, GAP] <= 0.0)
        if not self.is_done and np.array_equal(self.genome, self.neighbour):
            self.end_at_neighbour()  # which reached the target when it was asked among others

    def _rewards(self, judged: Evaluation) -> Floats:
        """Return the reward of each step, shape (n,)."""
        target, before = self.problem.targets[0], self.judged.objectives[0, 0]
        now = merits(target, self.judged.predictions[0])
        gains = merits(target, judged.predictions[0]) - now
        objectives = judged.objectives[0]
        if self.variant == "proximity":
            farther = objectives[:, DISTANCE] - before[DISTANCE]
            return np.asarray(gains / np.maximum(farther, np.finfo(np.float64).tiny))
        if self.variant == "plausibility":
            fall = before[IMPLAUSIBILITY] - objectives[:, IMPLAUSIBILITY]
            return np.asarray(np.where((gains < 0.0) & (fall < 0.0), -1.0, 1.0) * gains * fall)
        return np.asarray(gains)

    def end_at_neighbour(self) -> None:
        """End where the model's answer is known to reach the target."""
        known = observed_predictions(self.problem, 0, np.array([self.place]))
        self.genome, self.is_done = self.neighbour, True
        self.judged = self.problem.judge(self.neighbour[None, None], known[None])


def merits(target: Target, scores: Floats) -> Floats:
    """Return how near scores (n,) come to a target, and how far inside if one end is open.

    Examples
    --------
    >>> merits(Target(0.5, np.inf), np.array([0.25, 0.75])).tolist()
    [0.25, 0.75]
    >>> merits(Target(0.5, 0.75), np.array([0.25, 0.75])).tolist()
    [-0.25, 0.0]
    """
    is_class = target.label is not None or target.is_decision
    if target.high == np.inf or (is_class and target.high >= 1.0):
        return scores
    if target.low == -np.inf or (is_class and target.low <= 0.0):
        return -scores
    return 0.0 - target.gaps(scores)


RUNS: dict[type, Callable[[Problem, Any, Watch], Archive]] = {
    Explore: explore,
    NSGA2: evolve,
    RandomSearch: search_randomly,
    WhatIf: take_nearest,
    NICE: walk_to_neighbours,
    Exact: ask_solver,
}
