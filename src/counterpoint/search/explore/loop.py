"""The default search: an evolutionary search whose population is the archive.

Every non-dominated candidate found so far may become a parent. A wave of children is made by small
moves that know what counterfactuals need (put changes back, step to the decision boundary, follow
observed rows …), no candidate is evaluated twice, and what the explainer knows already, the scores
of the observed rows, is used before the model is asked anything.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

from counterpoint.arrays import MISSING, Bools, Floats, Ints, Keys
from counterpoint.problem.problem import Problem, Recalled
from counterpoint.progress import Watch
from counterpoint.search.archive import Archive
from counterpoint.search.explore.moves import ArchiveView
from counterpoint.search.explore.niches import (
    EvaluatedWave,
    empty_niches,
    learn_niches,
    trial_values,
)
from counterpoint.search.explore.offspring import (
    SHARE,
    FirstCandidates,
    Knowledge,
    MoveWeights,
    OffspringSource,
    Planned,
    empty_scratch,
    learn_slopes,
    make_offspring,
    probabilities_of,
)
from counterpoint.search.explore.plan import Plans, Untried, plan_candidates
from counterpoint.search.explore.small_steps import empty_finish
from counterpoint.search.explore.step_values import step_costs, step_values
from counterpoint.search.feasibility import (
    RETRIES,
    draws_of,
    is_allowed,
    nearest_wanted,
    observed_predictions,
    repairs_of,
    search_space,
)
from counterpoint.search.settings import Explore
from counterpoint.table.space import empty_memory, remember_all

WEIGHTS = MoveWeights()
EARLY_WAVES = 24  # waves that are small, to learn quickly from the first answers
N_WANTED = 20  # nearest observed rows with the wanted outcome that a search starts from
MOST_LEVELS = 20  # levels of one feature tried as first candidates
N_COPIED = 1  # wanted observed rows whose values are tried as first candidates


def explore(problem: Problem, search: Explore, watch: Watch | None = None) -> Archive:
    """Search the counterfactuals of every row of `problem`; return all that was evaluated."""
    watch = watch or Watch()
    deadline, sizes = search.deadline(), wave_sizes(search)
    rows = np.arange(len(problem.rows))  # those still searched
    last = np.full(len(rows), len(sizes) - 1)
    archive, source, plans = start(problem, int(sizes.sum()), search.population)
    untried, n_forced = Untried(len(rows)), problem.box.is_forced.sum(axis=1)

    for wave, size in enumerate(sizes.tolist()):
        try:
            plan_candidates(source, plans, wave)
            children, is_new, has_new = make_wave(source, problem, wave, size)
            ended = untried.fill(children, is_new, has_new, source, problem)
            judged = problem.evaluate(children)
        except KeyboardInterrupt:
            archive.stop(rows, "interrupt")
            break
        at = int(archive.size[rows[0]])
        archive.add(children, judged, rows, wave, counts=is_new)
        learn_slopes(children, is_new, judged.predictions, source)
        known = judged.predictions, judged.objectives
        learned = EvaluatedWave(children, is_new, *known, at, np.empty((size, 3), dtype=np.int64))
        learn_niches(plans.niches, learned, source.places, source.space.anchor, n_forced)
        archive.renew(rows[plans.niches.has_found[rows]])
        source = source.after(size)

        is_late = time.monotonic() >= deadline
        going = archive.still_going(
            rows, wave, last, search.patience, is_late, ended, is_stopped=watch.is_stopped
        )
        watch.hear(int(is_new.sum()), len(rows) - len(going), archive)
        if len(going) == 0:
            break
        if len(going) < len(rows):
            rows, problem, n_forced = rows[going], problem.take(going), n_forced[going]
            source = source.of_rows(going, problem)
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


def plans_of(problem: Problem, knowledge: Knowledge, archive: Archive, slots: int) -> Plans:
    """Return what candidates are planned by, of which each wave has so many of a sort."""
    return Plans(
        empty_niches(knowledge, problem.rows.shape[1], slots),
        trial_values(problem.observed),
        empty_finish(step_costs(problem), slots, archive.members.shape[1]),
        step_values(problem.observed, problem.predictor.additive),
    )


def know(problem: Problem) -> Knowledge:
    """Return what is known of each row without asking the model."""
    wanted, n_wanted = nearest_wanted(problem, N_WANTED)
    ends = [
        target.low if now < target.low else target.high
        for target, now in zip(problem.targets, problem.row_scores, strict=True)
    ]
    return Knowledge(
        observed=problem.observed.genomes,
        wanted=wanted,
        n_wanted=n_wanted,
        origin=problem.row_scores,
        boundary=np.array(ends),
        safe=np.array(ends) + np.sign(np.array(ends) - problem.row_scores) * problem.margins,
        slopes=np.zeros((len(problem.rows), 2, problem.rows.shape[1])),
        is_probability=problem.observed.are_probabilities,
    )


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


def recalled_of(problem: Problem, knowledge: Knowledge) -> Recalled:
    """Return what is recalled of an earlier search and allowed in this one; mostly nothing."""
    recalled = problem.recalled
    if recalled is None:
        return Recalled(np.empty((0, problem.rows.shape[1])), np.empty(0))
    known = {knowledge.observed[i].tobytes() for i in knowledge.wanted[0, : knowledge.n_wanted[0]]}
    is_new = np.array([genome.tobytes() not in known for genome in recalled.genomes], dtype=bool)
    kept = np.flatnonzero(is_new & is_allowed(problem, 0, recalled.genomes))
    return Recalled(np.ascontiguousarray(recalled.genomes[kept]), recalled.predictions[kept])


def add_recalled(archive: Archive, problem: Problem, recalled: Recalled) -> None:
    """Put what is recalled of an earlier search into the archive, without asking the model."""
    if len(recalled.genomes):
        judged = problem.judge(recalled.genomes[None], recalled.predictions[None])
        archive.add(recalled.genomes[None], judged, np.arange(1), 0, is_known=True)
        archive.n_learnt += len(recalled.genomes)


def memory_of(problem: Problem, knowledge: Knowledge, recalled: Recalled, capacity: int) -> Keys:
    """Return which genomes were seen: the row, and what is in the archive beforehand."""
    rows, n = problem.rows, len(recalled.genomes)
    memory = empty_memory(len(rows), most_seen(problem, capacity))
    remember_all(memory, rows, knowledge.observed, knowledge.wanted, knowledge.n_wanted)
    if n:
        remember_all(memory, rows, recalled.genomes, np.arange(n)[None], np.array([n]))
    return memory


def most_seen(problem: Problem, capacity: int) -> int:
    """Return how many genomes a search can see: functions refuse some that are not evaluated."""
    has_functions = problem.row_rules is not None and bool(problem.row_rules.rules.functions)
    return 2 + capacity * (1 + (1 + RETRIES) * has_functions)


def first_candidates(problem: Problem, knowledge: Knowledge) -> FirstCandidates:
    """Return single changes to try first: values of wanted rows, bounds and levels."""
    anchor, d = problem.box.anchor, problem.rows.shape[1]
    wanted, n_wanted = knowledge.wanted, knowledge.n_wanted
    copied = [
        (j, np.where(n_wanted > i, knowledge.observed[wanted[:, i], j], anchor[:, j]))
        for i in range(min(N_COPIED, wanted.shape[1]))
        for j in range(d)
    ]
    changes = copied + [(j, column) for j in range(d) for column in _first_values(problem, j)]
    feature, values = zip(*changes, strict=True)
    return FirstCandidates(np.array(feature), np.ascontiguousarray(np.transpose(values)), 0)


def _first_values(problem: Problem, j: int) -> list[Floats]:
    """Return the values (r,) of feature j to try first: its levels, or both bounds."""
    n_levels = min(int(problem.space.n_levels[j]), MOST_LEVELS)
    values = [np.full(len(problem.rows), float(level)) for level in range(n_levels)]
    if not n_levels:
        values = [problem.box.lower[:, j], problem.box.upper[:, j]]
    if problem.space.may_miss[j]:
        values.append(np.full(len(problem.rows), MISSING))
    return values


class Wave(NamedTuple):
    """The candidates of one wave.

    Attributes
    ----------
    children : ndarray of shape (r, n, d)
        The candidates; the row itself where none could be made.
    is_new : ndarray of shape (r, n)
        Which of them are new and feasible.
    has_new : ndarray of shape (r,)
        Whether anything new could be made for a row, feasible or not.
    """

    children: Floats
    is_new: Bools
    has_new: Bools


def make_wave(source: OffspringSource, problem: Problem, wave: int, size: int) -> Wave:
    """Return a wave of feasible candidates; what functions refuse is made again, a few times.

    Functions are asked about the candidates of all rows in one call. For a row only the candidates
    it lacks are made again, so that it never notices its company.
    """
    children, is_new = make_offspring(source, wave, size)
    has_new: Bools = np.any(is_new, axis=1)
    if problem.row_rules is None or not problem.row_rules.rules.functions:
        return Wave(children, is_new, has_new)
    is_good = problem.accepts(children, is_new)
    is_refused = is_new & ~is_good
    for retry in range(1, RETRIES + 1):
        is_tried = np.zeros_like(is_refused)
        for w in np.flatnonzero(is_refused.any(axis=1)).tolist():
            places, alone = np.flatnonzero(is_refused[w]), source.of_row(w, problem)
            again = make_offspring(alone, draws_of(wave, retry), len(places))
            children[w, places], is_tried[w, places] = again[0][0], again[1][0]
        if not is_tried.any():
            break
        accepted = problem.accepts(children, is_tried)
        is_good |= accepted
        is_refused &= ~accepted
    children = np.where(is_good[..., None], children, problem.rows[:, None])
    return Wave(children, is_good, has_new)
