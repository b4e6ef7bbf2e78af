"""Offspring: the new candidates of a wave, each made of a parent by one move."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from counterpoint.arrays import Bools, Floats, Ints, Keys
from counterpoint.kernels import assign, fetch, inner, kernel, part
from counterpoint.neighbours.gower import gower
from counterpoint.neighbours.index import NearRows, neighbourhood_at
from counterpoint.neighbours.nearest import Neighbours, find_nearest
from counterpoint.search.explore import moves
from counterpoint.search.explore.moves import (
    ArchiveView,
    Draws,
    ParentClasses,
    RowSpace,
    choose_parent,
    classify,
    draw,
    keep_limits,
    list_free,
    pick,
    start_draws,
    straighten,
)
from counterpoint.search.explore.small_steps import NOBODY
from counterpoint.search.feasibility import (
    RowRepairs,
    SearchSpace,
    repair_candidate,
)
from counterpoint.table.space import fetch_place, hash_genome, remember_hash

ATTEMPTS = 10  # tries to make a candidate that was not seen before
N_MOVES = 6
FIRST_WAYS = 24  # from this wave on every third candidate looks for ways …
FIRST_FINISH = 48  # … and from this one on another third for the nearest counterfactual
SHARE = 3  # of candidates: one of so many
WAY, NEAR, ANY, FIRST = 0, 1, 2, 3  # what a candidate is for; two are remainders of its number
STATE, PARENT, HASH = 0, 1, 2  # what is noted of each child
N_NEIGHBOURS = 3  # observed rows nearest to a parent that it may follow


class MoveProbabilities(NamedTuple):
    """`MoveWeights` as kernels read them: cumulative weights, odds by changes, share of valid."""

    limits: Floats
    odds: Floats
    p_valid: float


class Knowledge(NamedTuple):
    """What is known of each of r rows: before anything is asked, and from single changes."""

    observed: Floats  # (n, d): the observed rows
    wanted: Ints  # (r, k): the nearest that reach the target within the limits, nearest first
    n_wanted: Ints  # (r,): how many there are; the rest of `wanted` is padding
    origin: Floats  # (r,): the row's prediction …
    boundary: Floats  # … and the nearer end of its target
    safe: Floats  # (r,): the prediction that is a margin beyond that end
    # What a unit of each feature, below and above the row's value, gains towards the target; 0
    # where that is unknown. It is learnt as single changes are evaluated.
    slopes: Floats  # (r, 2, d)
    is_probability: bool  # whether predictions are probabilities, straightened by the logit


class FirstCandidates(NamedTuple):
    """Single changes to try first."""

    feature: Ints  # (n,): what each changes
    value: Floats  # (r, n): what it becomes
    n_tried: int  # how many were tried already


class OffspringScratch(NamedTuple):
    """Arrays that are written while the children of one row are made."""

    near: Neighbours  # of the parent
    model: Floats  # (d,): the observed row to follow
    free: Ints  # (d,): the features that may change …
    different: Ints  # … and those in which two genomes differ
    state: Keys  # (1,): of the child's draws
    classes: ParentClasses  # the row's members


class Planned(NamedTuple):
    """The planned candidates of the rows of an archive, as the kernel of offspring reads them."""

    way: Floats  # (r, slots, d): candidates that look for ways …
    near: Floats  # … and for the nearest counterfactual
    niche: Ints  # (r, slots): what each of the first is made of; negative where there is none
    parent: Ints  # (r, slots): what each of the others is made of; `NOBODY` where there is none


class OffspringSource(NamedTuple):
    """All that the offspring of r rows are made of."""

    archive: ArchiveView  # everything evaluated so far, which parents are taken from
    places: Ints  # (r,): which rows of the archive these are
    rows: Floats  # (r, d): the explained rows
    keys: Keys  # (r, 2): the keys of their draws
    space: SearchSpace  # where they may be searched
    near_rows: NearRows  # the observed rows near them
    repairs: RowRepairs  # what makes candidates satisfy the rules
    knowledge: Knowledge  # what is known of them
    first: FirstCandidates  # what is tried first
    memory: Keys  # (r, size): which genomes were seen
    probabilities: MoveProbabilities  # how often each move is made
    planned: Planned  # candidates that were planned for the next wave
    scratch: OffspringScratch  # arrays to write to


@inner
def share_to_boundary(prediction: float, origin: float, boundary: float) -> float:
    """Return the share of a parent's change that a straight line needs to reach the boundary."""
    gained, needed = prediction - origin, boundary - origin
    return needed / gained if gained * needed > 0.0 else moves.FARTHEST


@part
def choose_observed(genome: Floats, w: int, source: OffspringSource, draws: Draws) -> None:
    """Choose an observed row: a wanted one near the explained row, or a neighbour of the genome."""
    known, model = source.knowledge, source.scratch.model
    if known.n_wanted[w] > 0 and draw(draws) < 0.5:
        wanted = known.wanted[w, pick(known.n_wanted[w], draws)]
        assign(model, known.observed[wanted])
        return
    row, near = source.rows[w], source.scratch.near
    around = neighbourhood_at(source.near_rows, source.near_rows.at[w], row)
    own = gower(genome, row, around.weight, around.cap)
    near.distances[:] = np.inf
    find_nearest(genome, own, around, near)
    place = near.places[pick(len(near.places), draws)]
    assign(model, around.observed[around.order[place]])


@part
def move(
    child: Floats, parent: int, w: int, source: OffspringSource, space: RowSpace, draws: Draws
) -> None:
    """Change the child, a copy of its parent, by one move, each as likely as its weight says."""
    archive, known, limits = source.archive, source.knowledge, source.probabilities.limits
    a, lot = source.places[w], draw(draws) * limits[len(limits) - 1]
    if lot < limits[0]:
        moves.put_back(child, space, draws)
    elif lot < limits[1]:
        moves.rescale(child, space, draws)
    elif lot < limits[2]:
        now = straighten(archive.predictions[a, parent], known.is_probability)
        boundary = straighten(known.boundary[w], known.is_probability)
        if draw(draws) < 0.5:
            origin = straighten(known.origin[w], known.is_probability)
            share = share_to_boundary(now, origin, boundary)
            moves.step_to_boundary(child, share, space, draws)
        else:
            moves.slide_to_boundary(child, boundary - now, known.slopes[w], space, draws)
    elif lot < limits[3]:
        choose_observed(child, w, source, draws)
        near = source.near_rows
        weight, model = near.weight[near.at[w]], source.scratch.model
        moves.follow(child, model, weight, near.cap, space, draws)
    elif lot < limits[4]:
        mate = archive.members[a, pick(archive.n_members[a], draws)]
        moves.mix(child, archive.genomes[a, mate], space, draws)
    else:
        moves.redraw(child, space, draws)


@kernel
def fill_offspring(
    source: OffspringSource, wave: int, children: Floats, is_new: Bools, words: Keys
) -> None:
    """Write what `make_offspring` returns; `words` (3, size) is space for work on one row."""
    for w in range(len(source.places)):
        make_children(source, w, wave, children[w], is_new[w], words)


@part
def make_children(
    source: OffspringSource, w: int, wave: int, children: Floats, is_new: Bools, words: Keys
) -> None:
    """Make the children (size, d) of one row.

    Most of the time is spent waiting for memory. So all parents are chosen and fetched first; then
    every child is made once, and the place of its hash is fetched; then each that is known already
    is made again, before the next one is looked for. None of this depends on what comes after it.
    """
    scratch, chances, a = source.scratch, source.probabilities, source.places[w]
    memory, features, max_free = (
        source.memory[w],
        source.space.features[w],
        source.space.max_free[w],
    )
    n_free = list_free(features, scratch.free)
    free, different = scratch.free[:n_free], scratch.different
    space = RowSpace(source.space.anchor[w], features, free, max_free, different)
    is_limited = n_free < len(features) or max_free < n_free  # else there is nothing to keep
    n_parents = classify(source.archive, a, chances.odds, scratch.classes)
    draws, size = Draws(scratch.state), len(children)
    choose_parents(source, w, wave, n_parents, words)
    for turn in range(2 * size):
        i, is_again = turn % size, turn >= size
        child, purpose = children[i], purpose_of(i, wave, a, source.first, source.planned)
        # A first or planned candidate comes before the attempts. There is one loop for all, because
        # every call of the repair is written into the kernel, which takes time to compile.
        start, stop = (0 if purpose == ANY else -1), ATTEMPTS * source.repairs.patience
        if is_again:
            is_new[i] = is_new[i] and remember_hash(memory, words[HASH, i])
        draws.state[0] = words[STATE, i]
        for attempt in range(start + is_again, stop if is_again else start + 1):
            if attempt >= 0 and (is_new[i] or n_free == 0):
                break
            if attempt < 0:
                take_planned(child, i, purpose, w, source)
            else:
                parent: Any = np.int64(words[PARENT, i]) if n_parents > 0 else np.int64(NOBODY)
                if is_again and n_parents > 0:
                    parent = choose_parent(scratch.classes, chances.p_valid, chances.odds, draws)
                make_child(child, parent, attempt, w, source, space, draws)
            if is_limited:
                keep_limits(child, space, draws)
            is_new[i] = repair_candidate(child, w, source.repairs, draws.state)
            words[STATE, i], words[HASH, i] = draws.state[0], hash_genome(child)
            if is_again:
                is_new[i] = is_new[i] and remember_hash(memory, words[HASH, i])
            else:
                fetch_place(memory, words[HASH, i])
        if is_again and not is_new[i]:
            assign(child, source.rows[w])


@part
def take_planned(child: Floats, i: int, purpose: int, w: int, source: OffspringSource) -> None:
    """Copy the i-th candidate of a wave, which is tried first or was planned."""
    first, planned, a, slot = source.first, source.planned, source.places[w], i // SHARE
    if purpose == FIRST:
        assign(child, source.space.anchor[w])
        child[first.feature[first.n_tried + i]] = first.value[w, first.n_tried + i]
    else:
        assign(child, planned.way[a, slot] if purpose == WAY else planned.near[a, slot])


@part
def make_child(
    child: Floats,
    parent: int,
    attempt: int,
    w: int,
    source: OffspringSource,
    space: RowSpace,
    draws: Draws,
) -> None:
    """Make a child of its parent by a move, or of the row; where all around is known, stray."""
    n_redrawn = attempt // 2
    if parent == NOBODY:
        assign(child, space.anchor)
        n_redrawn += 1
    else:
        assign(child, source.archive.genomes[source.places[w], parent])
        move(child, parent, w, source, space, draws)
    for _ in range(n_redrawn):
        moves.redraw(child, space, draws)


@part
def choose_parents(source: OffspringSource, w: int, wave: int, n_parents: int, words: Keys) -> None:
    """Start the draws of every child, and choose and fetch the parents of those without purpose."""
    archive, a, chances = source.archive, source.places[w], source.probabilities
    draws, classes = Draws(source.scratch.state), source.scratch.classes
    for i in range(words.shape[1]):
        start_draws(draws, source.keys[w], wave, i)
        if n_parents > 0 and purpose_of(i, wave, a, source.first, source.planned) == ANY:
            parent = choose_parent(classes, chances.p_valid, chances.odds, draws)
            words[PARENT, i] = parent
            fetch(archive.predictions[a], parent)
            for j in range(0, archive.genomes.shape[2], 8):
                fetch(archive.genomes[a, parent], j)
        words[STATE, i] = draws.state[0]


@inner
def purpose_of(i: int, wave: int, a: int, first: FirstCandidates, planned: Planned) -> int:
    """Return what the i-th candidate of a wave is for."""
    if first.n_tried + i < len(first.feature):
        return FIRST
    sort, slot = i % SHARE, min(i // SHARE, planned.niche.shape[1] - 1)
    if wave >= FIRST_WAYS and sort == WAY and planned.niche[a, slot] >= 0:
        return WAY
    if wave >= FIRST_FINISH and sort == NEAR and planned.parent[a, slot] != NOBODY:
        return NEAR
    return ANY
