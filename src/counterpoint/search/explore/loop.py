"""The default search: an evolutionary search whose population is the archive.

Every non-dominated candidate found so far may become a parent. A wave of children is made by small
moves that know what counterfactuals need (put changes back, step to the decision boundary, follow
observed rows …), no candidate is evaluated twice, and what the explainer knows already, the scores
of the observed rows, is used before the model is asked anything.
"""

from __future__ import annotations

import time

import numpy as np

from counterpoint.arrays import MISSING, Floats, Ints, Keys
from counterpoint.problem.problem import Problem, Recalled
from counterpoint.search.archive import Archive
from counterpoint.search.baselines import is_allowed, nearest_wanted, observed_predictions
from counterpoint.search.explore.breeding import (
    Habits,
    Outlook,
    Steps,
    chances_of,
    empty_room,
    learn_slopes,
)
from counterpoint.search.explore.parents import Pool
from counterpoint.search.explore.screening import Nursery, breed_wave, scene_of
from counterpoint.search.feasibility import RETRIES, mender_of
from counterpoint.search.settings import Explore
from counterpoint.search.watch import Watch
from counterpoint.table.space import empty_memory, remember_all

HABITS = Habits()
EARLY_WAVES = 24  # waves that are small, to learn quickly from the first answers
N_WANTED = 20  # nearest observed rows with the wanted outcome that a search starts from
MOST_LEVELS = 20  # levels of one feature tried in the first steps
N_COPIED = 1  # of these, so many lend their values to the first steps


def explore(
    problem: Problem, search: Explore, watch: Watch | None = None, habits: Habits = HABITS
) -> Archive:
    """Search the counterfactuals of every row of `problem`; return all that was evaluated."""
    watch = watch or Watch()
    deadline, sizes = search.deadline(), wave_sizes(search)
    rows = np.arange(len(problem.rows))  # those still searched
    last = np.full(len(rows), len(sizes) - 1)
    outlook = look_around(problem)
    recalled = recalled_of(problem, outlook)
    n_known = outlook.wanted.shape[1] + len(recalled.genomes)
    archive = Archive(problem, n_known + int(sizes.sum()))
    learn_observed(archive, problem, outlook)
    learn_recalled(archive, problem, recalled)
    memory = empty_memory(len(rows), most_seen(problem, archive.genomes.shape[1]))
    remember_known(memory, problem, outlook)
    remember_recalled(memory, problem, recalled)
    pool = Pool(
        archive.genomes, archive.predictions, archive.front, archive.members, archive.n_members
    )

    chances = chances_of(habits, problem.rows.shape[1])
    room = empty_room(problem.near_rows.cap, problem.near_rows.n_near, archive.members.shape[1])

    nursery = Nursery(
        *(pool, rows, outlook, scene_of(problem), chances, first_steps(problem, outlook)),
        *(memory, problem.keys, room, mender_of(problem)),
    )
    for wave, size in enumerate(sizes.tolist()):
        try:
            children, is_new, has_new = breed_wave(nursery, problem, wave, size)
            judged = problem.evaluate(children)
        except KeyboardInterrupt:
            archive.stop(rows, "interrupt")
            break
        archive.add(children, judged, rows, wave, counts=is_new)
        learn_slopes(children, is_new, judged.predictions, nursery.outlook, nursery.scene)
        nursery = nursery.after(size)

        is_late = time.monotonic() >= deadline
        going = archive.still_going(
            rows, wave, last, search.patience, is_late, has_new, is_stopped=watch.is_stopped
        )
        watch.hear(int(is_new.sum()), len(rows) - len(going), archive)
        if len(going) == 0:
            break
        if len(going) < len(rows):
            rows, problem = rows[going], problem.take(going)
            nursery = nursery.of_rows(going, problem)
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


def most_seen(problem: Problem, capacity: int) -> int:
    """Return how many genomes a search can see: functions refuse some that are not evaluated."""
    has_functions = problem.row_rules is not None and bool(problem.row_rules.rules.functions)
    return 2 + capacity * (1 + RETRIES * has_functions)


def look_around(problem: Problem) -> Outlook:
    """Return what is known of each row's surroundings without asking the model."""
    wanted, n_wanted = nearest_wanted(problem, N_WANTED)
    is_probability = problem.observed.are_probabilities
    ends = [
        target.low if now < target.low else target.high
        for target, now in zip(problem.targets, problem.row_predictions, strict=True)
    ]
    return Outlook(
        problem.observed.genomes,
        wanted,
        n_wanted,
        problem.row_predictions,
        np.array(ends),
        np.zeros((len(problem.rows), 2, problem.rows.shape[1])),
        is_probability,
    )


def learn_observed(archive: Archive, problem: Problem, outlook: Outlook) -> None:
    """Put the nearest observed rows that reach the target into the archive; their scores are known.

    So a row for which any observed row will do always gets an answer.
    """
    n = outlook.wanted.shape[1]
    is_known = np.arange(n) < outlook.n_wanted[:, None]
    genomes = np.where(is_known[..., None], outlook.observed[outlook.wanted], problem.rows[:, None])
    predictions = np.where(is_known, 0.0, problem.row_predictions[:, None])
    for a in range(len(predictions)):
        known = outlook.wanted[a, : outlook.n_wanted[a]]
        predictions[a, : len(known)] = observed_predictions(problem, a, known)
    judged = problem.judge(genomes, predictions)
    archive.add(genomes, judged, np.arange(len(genomes)), 0, counts=is_known, is_known=True)
    archive.n_learnt = n


def remember_known(memory: Keys, problem: Problem, outlook: Outlook) -> None:
    """Mark the row and the learnt observed rows as seen."""
    remember_all(memory, problem.rows, outlook.observed, outlook.wanted, outlook.n_wanted)


def recalled_of(problem: Problem, outlook: Outlook) -> Recalled:
    """Return what is recalled of an earlier search and allowed in this one; mostly nothing."""
    recalled = problem.recalled
    if recalled is None:
        return Recalled(np.empty((0, problem.rows.shape[1])), np.empty(0))
    learnt = {outlook.observed[i].tobytes() for i in outlook.wanted[0, : outlook.n_wanted[0]]}
    is_new = np.array([genome.tobytes() not in learnt for genome in recalled.genomes], dtype=bool)
    kept = np.flatnonzero(is_new & is_allowed(problem, 0, recalled.genomes))
    return Recalled(np.ascontiguousarray(recalled.genomes[kept]), recalled.predictions[kept])


def learn_recalled(archive: Archive, problem: Problem, recalled: Recalled) -> None:
    """Put what is recalled of an earlier search into the archive, without asking the model."""
    if len(recalled.genomes):
        judged = problem.judge(recalled.genomes[None], recalled.predictions[None])
        archive.add(recalled.genomes[None], judged, np.arange(1), 0, is_known=True)
        archive.n_learnt += len(recalled.genomes)


def remember_recalled(memory: Keys, problem: Problem, recalled: Recalled) -> None:
    """Mark what is recalled as seen."""
    n = len(recalled.genomes)
    if n:
        remember_all(memory, problem.rows, recalled.genomes, np.arange(n)[None], np.array([n]))


def first_steps(problem: Problem, outlook: Outlook) -> Steps:
    """Return single changes to try first: values of wanted rows, bounds and levels."""
    anchor, d = problem.box.anchor, problem.rows.shape[1]
    lent = [
        (j, np.where(outlook.n_wanted > i, outlook.observed[outlook.wanted[:, i], j], anchor[:, j]))
        for i in range(min(N_COPIED, outlook.wanted.shape[1]))
        for j in range(d)
    ]
    steps = lent + [(j, column) for j in range(d) for column in _candidates(problem, j)]
    feature, values = zip(*steps, strict=True)
    return Steps(np.array(feature), np.ascontiguousarray(np.transpose(values)), 0)


def _candidates(problem: Problem, j: int) -> list[Floats]:
    """Return the values (r,) of feature j worth a first step: its levels, or both bounds."""
    n_levels = min(int(problem.space.n_levels[j]), MOST_LEVELS)
    values = [np.full(len(problem.rows), float(level)) for level in range(n_levels)]
    if not n_levels:
        values = [problem.box.lower[:, j], problem.box.upper[:, j]]
    if problem.space.may_miss[j]:
        values.append(np.full(len(problem.rows), MISSING))
    return values
