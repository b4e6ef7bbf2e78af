"""The default search: an evolutionary search whose population is the archive.

Every non-dominated candidate found so far may become a parent. A wave of children is made by small
moves that know what counterfactuals need (put changes back, step to the decision boundary, follow
observed rows …), no candidate is evaluated twice, and what the explainer knows already, the scores
of the observed rows, is used before the model is asked anything.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np

from counterpoint.arrays import MISSING, Bools, Floats, Ints
from counterpoint.problem.problem import Evaluation, Problem, Recalled
from counterpoint.progress import Watch, deadline_of
from counterpoint.search.archive import Archive
from counterpoint.search.exact.finish import Deadline, finish
from counterpoint.search.explore.finish import finish_wave
from counterpoint.search.explore.knowledge import (
    MoveWeights,
    Plans,
    empty_scratch,
    first_candidates,
    know,
    memory_of,
    plans_of,
    probabilities_of,
    recalled_of,
)
from counterpoint.search.explore.moves import ArchiveView
from counterpoint.search.explore.niches import EvaluatedWave, Niches, learn_niches
from counterpoint.search.explore.offspring import (
    FIRST_FINISH,
    FIRST_WAYS,
    NEAR,
    SHARE,
    Knowledge,
    OffspringSource,
    Planned,
    fill_offspring,
)
from counterpoint.search.explore.plan import WaySource, plan_wave, try_planned
from counterpoint.search.explore.small_steps import FinishSource
from counterpoint.search.feasibility import (
    RETRIES,
    SearchSpace,
    draws_of,
    observed_predictions,
    repairs_of,
    search_space,
)
from counterpoint.search.settings import Explore
from counterpoint.table.space import hash_all, remember_all

WEIGHTS = MoveWeights()
EARLY_WAVES = 24  # waves that are small, to learn quickly from the first answers
MOST_POINTS = 20_000  # of a space that is tried to the end
MOST_NUMBERS = 2_000_000  # in all of its points together
MOST_EMPTY = 10  # waves in a row that make nothing new of a space that is too large for that


def explore(problem: Problem, search: Explore, watch: Watch) -> Archive:
    """Search the counterfactuals of every row of `problem`; return all that was evaluated.

    With `prove`, a solver completes it in the time that is left, and proves what it can.
    """
    start_time = time.monotonic()
    archive = search_in_waves(problem, search, watch)
    if not search.prove:
        return archive
    left = None if search.seconds is None else start_time + search.seconds - time.monotonic()
    return finish(problem, archive, Deadline(left), watch)


def search_in_waves(problem: Problem, search: Explore, watch: Watch) -> Archive:
    """Make waves of candidates until no row may go on; return all that was evaluated."""
    deadline, sizes = deadline_of(search.seconds), wave_sizes(search)
    rows = np.arange(len(problem.rows))  # those still searched
    last, untried = len(sizes) - 1, Untried(len(rows))
    archive, source, plans = start(problem, int(sizes.sum()), search.population)

    for wave, size in enumerate(sizes.tolist()):
        try:
            plan_candidates(source, plans, wave)
            children, is_new, is_made = make_wave(source, problem, wave, size)
            ended = untried.fill(children, is_new, is_made, source, problem)
            judged = problem.evaluate(children)
        except KeyboardInterrupt:
            archive.stop(rows, "interrupt")
            break
        learn(children, is_new, judged, source, plans.niches)
        archive.add(children, judged, rows, wave, counts=is_new)
        if search.patience is not None:
            archive.renew(rows[plans.niches.table.rows["has_found"][rows]])
        source = after(source, size)

        going = archive.still_going(
            rows, wave, last, search.patience, deadline, ended, is_stopped=watch.is_stopped
        )
        watch.hear(int(np.count_nonzero(is_new)), len(rows) - len(going), archive)
        if len(going) == 0:
            break
        if len(going) < len(rows):
            rows, problem = rows[going], problem.take(going)
            source = of_rows(source, going, problem)
    return archive


def wave_sizes(search: Explore) -> Ints:
    """Return how many candidates each wave has; only whole ones are made.

    The sizes do not depend on the budget, so a longer search begins like a shorter one.
    """
    early, most = search.first_generation, search.most_candidates
    n_most = most // early + 1 if search.generations is None else search.generations + 1
    sizes = np.where(np.arange(n_most + 1) < EARLY_WAVES, early, search.population)
    if search.generations is not None and search.evaluations is None:
        return sizes
    return sizes[1 + np.cumsum(sizes) <= most]


def start(
    problem: Problem, n_candidates: int, population: int
) -> tuple[Archive, OffspringSource, Plans]:
    """Return the archive with all that is known beforehand, what offspring are made of, and plans.

    Known are the predictions of the observed rows, and of what an earlier search of the same row
    has found; the model is asked about neither.
    """
    knowledge = know(problem)
    recalled = recalled_of(problem, knowledge)
    n_known = knowledge.wanted.shape[1] + len(recalled.genomes)
    archive = Archive(problem, n_known + n_candidates)
    add_observed(archive, problem, knowledge)
    add_recalled(archive, problem, recalled)
    plans = plans_of(problem, knowledge, archive, -(-population // SHARE))
    source = OffspringSource(
        archive=ArchiveView(
            archive.genomes,
            archive.predictions,
            archive.front,
            archive.members,
            archive.n_members,
            archive.size,
        ),
        places=np.arange(len(problem.rows)),
        rows=problem.rows,
        keys=problem.keys,
        space=search_space(problem.space, problem.box),
        near_rows=problem.near_rows,
        repairs=repairs_of(problem),
        knowledge=knowledge,
        first=first_candidates(problem, knowledge),
        memory=memory_of(problem, knowledge, recalled, archive.genomes.shape[1]),
        probabilities=probabilities_of(WEIGHTS, problem.rows.shape[1]),
        planned=Planned(
            plans.niches.candidate, plans.finish.candidate, plans.niches.plan, plans.finish.parent
        ),
        scratch=empty_scratch(problem.near_rows, archive.members.shape[1]),
    )
    return archive, source, plans


def add_observed(archive: Archive, problem: Problem, knowledge: Knowledge) -> None:
    """Put the nearest observed rows that reach the target into the archive; their scores are known.

    So a row for which any observed row will do always gets an answer.
    """
    observed, wanted, n = knowledge.observed, knowledge.wanted, knowledge.wanted.shape[1]
    is_known = np.arange(n) < knowledge.n_wanted[:, None]
    genomes = np.where(is_known[..., None], observed[wanted], problem.rows[:, None])
    predictions = np.where(is_known, 0.0, problem.row_scores[:, None])
    for a in range(len(predictions)):
        known = wanted[a, : knowledge.n_wanted[a]]
        predictions[a, : len(known)] = observed_predictions(problem, a, known)
    judged = problem.judge(genomes, predictions)
    archive.add(genomes, judged, np.arange(len(genomes)), 0, counts=is_known, is_known=True)
    archive.n_learnt = n


def add_recalled(archive: Archive, problem: Problem, recalled: Recalled) -> None:
    """Put what is recalled of an earlier search into the archive, without asking the model."""
    if len(recalled.genomes):
        judged = problem.judge(recalled.genomes[None], recalled.predictions[None])
        archive.add(recalled.genomes[None], judged, np.arange(1), 0, is_known=True)
        archive.n_learnt += len(recalled.genomes)


class Wave(NamedTuple):
    """The candidates of one wave."""

    children: Floats  # (r, n, d): the candidates; the row itself where none could be made
    is_new: Bools  # (r, n): which of them are new and feasible
    is_made: Bools  # (r, n): which of them could be made and are new, feasible or not


def make_wave(source: OffspringSource, problem: Problem, wave: int, size: int) -> Wave:
    """Return a wave of feasible candidates; what functions refuse is made again, a few times.

    Functions are asked about the candidates of all rows in one call. For a row only the candidates
    it lacks are made again, so that it never notices its company.
    """
    children, is_new = make_offspring(source, wave, size)
    if problem.row_rules is None or not problem.row_rules.rules.functions:
        return Wave(children, is_new, is_new)
    is_good = problem.accepts(children, is_new)
    is_refused = is_new & ~is_good
    for retry in range(1, RETRIES + 1):
        is_tried = np.zeros_like(is_refused)
        for w in np.flatnonzero(is_refused.any(axis=1)).tolist():
            places, alone = np.flatnonzero(is_refused[w]), of_row(source, w, problem)
            again = make_offspring(alone, draws_of(wave, retry), len(places))
            children[w, places], is_tried[w, places] = again[0][0], again[1][0]
        if not is_tried.any():
            break
        accepted = problem.accepts(children, is_tried)
        is_good |= accepted
        is_refused &= ~accepted
    children = np.where(is_good[..., None], children, problem.rows[:, None])
    return Wave(children, is_good, is_new)


def make_offspring(source: OffspringSource, wave: int, size: int) -> tuple[Floats, Bools]:
    """Return candidates (r, size, d) with the draws of a wave, and which of them are new.

    What breaks the rules is repaired; if that fails, it is not new. First candidates come first.
    Where no new candidate can be made, the row itself fills the place: it was asked already.
    """
    r, d = source.rows.shape
    children, is_new = np.empty((r, size, d)), np.zeros((r, size), dtype=np.bool_)
    fill_offspring(source, wave, children, is_new, np.empty((3, size), dtype=np.uint64))
    return children, is_new


def learn(
    children: Floats, is_new: Bools, judged: Evaluation, source: OffspringSource, niches: Niches
) -> None:
    """Note what a wave that is to enter the archive tells of sets of features.

    What single changes of numbers have gained per unit is noted in `source.knowledge.slopes`, too.
    """
    start = int(source.archive.size[source.places[0]])  # rows in one wave have the same age
    room = np.empty((children.shape[1], 3), dtype=np.int64)
    wave = EvaluatedWave(children, is_new, judged.predictions, judged.objectives, start, room)
    table, singles, known = niches.table, niches.singles, source.knowledge
    learn_niches(table, singles, wave, source.places, source.space, known.origin, known.slopes)


def after(source: OffspringSource, size: int) -> OffspringSource:
    """Return the source after so many candidates; it is the same once all first ones were tried."""
    first = source.first
    if first.n_tried >= len(first.feature):
        return source
    return source._replace(first=first._replace(n_tried=first.n_tried + size))


def of_rows(source: OffspringSource, which: Ints, some: Problem) -> OffspringSource:
    """Return the source of some of the rows, whose problem is `some`."""
    known = source.knowledge
    return source._replace(
        places=source.places[which],
        rows=some.rows,
        keys=some.keys,
        space=search_space(some.space, some.box),
        near_rows=some.near_rows,
        repairs=repairs_of(some),
        knowledge=known._replace(
            wanted=known.wanted[which],
            n_wanted=known.n_wanted[which],
            origin=known.origin[which],
            boundary=known.boundary[which],
            slopes=known.slopes[which],
        ),
        first=source.first._replace(value=source.first.value[which]),
        memory=source.memory[which],
    )


def of_row(source: OffspringSource, w: int, problem: Problem) -> OffspringSource:
    """Return the source of one row after its first candidates; its memory stays the same."""
    which = np.array([w])
    alone = of_rows(source, which, problem.take(which))
    return after(alone, len(source.first.feature))._replace(memory=source.memory[w : w + 1])


def plan_candidates(source: OffspringSource, plans: Plans, wave: int) -> None:
    """Plan the candidates of a wave that look for ways and for the nearest counterfactual."""
    if wave >= FIRST_WAYS:
        look_for_ways(source, plans, wave)
    if wave >= FIRST_FINISH:
        given = FinishSource(
            source.places,
            source.keys,
            source.space,
            plans.steps,
            source.archive,
            plans.niches.table.rows,
            plans.niches.singles,
            source.memory,
        )
        finish_wave(plans.finish, given, wave, NEAR, SHARE)


def look_for_ways(source: OffspringSource, plans: Plans, wave: int) -> None:
    """Plan which sets of features the wave tries, and make a candidate of each."""
    space, near = source.space, source.near_rows
    plan_wave(plans.niches, source.places, plans.trials, space.features, space.max_free)
    given = WaySource(
        source.places,
        source.keys,
        space,
        plans.trials,
        source.archive.genomes,
        near.weight,
        near.cap,
        near.at,
    )
    try_planned(plans.niches, given, wave)


class Untried:
    """What is left to try for each of r rows, where the moves have made nothing new.

    Moves are drawn at random. A wave of them that makes nothing new may have had bad luck, so the
    rows of a small space that are left are listed then, where all of them can be, and fill this
    wave and those after it. Only when none is left was everything tried.

    `points` are by row what was left when all of its space was listed, less what was tried since;
    `is_listed` tells whose was, and `n_empty` counts waves in a row that made nothing new.
    """

    def __init__(self, r: int) -> None:
        self.points: dict[int, Floats] = {}
        self.is_listed: Bools = np.zeros(r, dtype=np.bool_)
        self.n_empty: Ints = np.zeros(r, dtype=np.int64)

    def fill(
        self,
        children: Floats,
        is_new: Bools,
        is_made: Bools,
        source: OffspringSource,
        problem: Problem,
    ) -> dict[str, Bools]:
        """Fill vacant places of a wave with what is left to try, in place; tell whose search ends.

        Rows that are "exhausted" have tried all they may become. Those that end by "repeats" have a
        space too large to be listed, and several waves in a row made only what was there before.
        """
        if not self.points and np.count_nonzero(is_made) == is_made.size:  # mostly
            self.n_empty.fill(0)
            return {}
        rows, has_new = source.places, is_made.any(axis=1)
        self.n_empty[rows] = np.where(has_new, 0, self.n_empty[rows] + 1)
        is_exhausted = np.zeros(len(rows), dtype=np.bool_)
        for w in np.flatnonzero(~has_new | self.is_listed[rows]).tolist():
            a, memory = int(rows[w]), source.memory[w : w + 1]
            if not self.is_listed[a]:
                if (everything := all_points(source.space, w)) is None:
                    continue
                left = everything[~np.isin(hash_all(everything), memory)]
                self.points[a] = left[problem.alone(np.array([w])).obeys(left[None])[0]]
                self.is_listed[a] = True
            left = self.points[a]
            left = left[~np.isin(hash_all(left), memory)]
            vacant = np.flatnonzero(~is_new[w])[: len(left)]
            taken, self.points[a] = left[: len(vacant)].copy(), left[len(vacant) :]
            children[w, vacant], is_new[w, vacant] = taken, True
            taken.flags.writeable = source.knowledge.observed.flags.writeable  # the kernel's type
            every, n = np.arange(len(taken))[None], np.array([len(taken)])
            remember_all(memory, source.rows[w : w + 1], taken, every, n)
            is_exhausted[w] = len(self.points[a]) == 0
        is_stuck = ~self.is_listed[rows] & (self.n_empty[rows] >= MOST_EMPTY)
        return {"exhausted": is_exhausted, "repeats": is_stuck}


def all_points(space: SearchSpace, w: int) -> Floats | None:
    """Return all that row w may become by its box, fewest changes first; None if it is too much.

    The row itself is among them, and so is what rules forbid.
    """
    features, max_free = space.features[w], int(space.max_free[w])
    values = []
    for feature in features:
        if (own := values_of(feature)) is None:
            return None
        values.append(own)
    sizes = [len(own) for own in values]
    most = min(MOST_POINTS, MOST_NUMBERS // len(sizes))
    if not has_few_points(sizes, features["is_forced"].tolist(), max_free, most):
        return None
    points, n_free = space.anchor[[w]], np.zeros(1, dtype=np.int64)
    for j in np.flatnonzero(np.array(sizes) > 1).tolist():
        points, n_free = np.repeat(points, sizes[j], axis=0), np.repeat(n_free, sizes[j])
        points[:, j] = np.tile(values[j], len(points) // sizes[j])
        n_free += (points[:, j] != values[j][0]) & ~features["is_forced"][j]
        points, n_free = points[n_free <= max_free], n_free[n_free <= max_free]
    return np.ascontiguousarray(points[np.argsort(n_free, kind="stable")])


def values_of(feature: Any) -> Floats | None:
    """Return the values of one feature by their distance to its anchor; None if there are too many.

    `feature` is a record; see `FEATURE`. The values are those that moves make, bit for bit.
    """
    anchor, grid = float(feature["anchor"]), float(feature["grid"])
    lower, upper = float(feature["lower"]), float(feature["upper"])
    if not feature["may_change"]:
        return np.array([anchor])
    if lower < upper and (grid == 0.0 or (upper - lower) * grid > MOST_POINTS):
        return None
    values = np.array([lower, upper])
    if grid > 0.0:
        first = np.rint(lower * grid)
        steps = first + np.arange(np.rint(upper * grid) - first + 1.0)
        values = np.clip(steps / grid + 0.0, lower, upper)
    if feature["is_single"]:
        values = values.astype(np.float32).astype(np.float64)
    missing = [MISSING] if feature["may_miss"] else []
    distinct = {anchor, *values.tolist(), *missing}
    return np.array(sorted(distinct, key=lambda value: (abs(value - anchor), value)))


def has_few_points(sizes: list[int], is_forced: list[bool], max_free: int, most: int) -> bool:
    """Whether features of so many values, at most `max_free` of them changed, have few points.

    What is forced changes besides.

    Examples
    --------
    >>> has_few_points([3, 4], [False, False], 1, most=6)  # the row, two and three changes
    True
    >>> has_few_points([3, 4], [False, False], 2, most=11), 3 * 4
    (False, 12)
    """
    n_points = [1] + [0] * min(max_free, sum(size > 1 for size in sizes))  # by number of changes
    for size, forced in zip(sizes, is_forced, strict=True):
        if forced:
            n_points = [n * size for n in n_points]
        elif size > 1:
            fewer = [0, *n_points[:-1]]
            n_points = [n + (size - 1) * m for n, m in zip(n_points, fewer, strict=True)]
        if sum(n_points) > most:
            return False
    return True
