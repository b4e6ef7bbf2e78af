"""Confirmation: what a search returns is asked of the model again, as its user would ask.

Whatever way the search asked, that answer counts. What is returned as valid must hold in one frame
with the rest, and alone; which class each candidate is of, the model's own `predict` says.

Where an accelerator answered in place of the model, the members of a result and of its ways are
scored again by the model. Their new gaps may let other candidates in, which are scored too, until
every one carries the model's own score.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from counterpoint.arrays import Bools, Floats, Ints
from counterpoint.errors import PredictorError
from counterpoint.models.predictor import Predictor
from counterpoint.problem.objectives import CHANGES, GAP, JUST_MISSED, denied_gaps
from counterpoint.problem.problem import Problem
from counterpoint.problem.target import Target, safety_margins
from counterpoint.search.archive import Archive
from counterpoint.search.settings import Explore, Search, WhatIf
from counterpoint.search.ways import WayFinder, WayRows
from counterpoint.streams import Stage, uniforms

EDGE = 1e-4  # this near to an edge of its target, or this share of it, a row is asked about alone …
EXACT_EDGE = 1e-9  # … and this near if the model is known to look at each row by itself
ROUND_OFF = 1e-9  # how far two ways to ask in double precision may be apart, as a share
N_DRAWN = 32  # near misses of a known model that the model itself scores
# Calls that ask alone, for one explained row; at 50 ms a call they and those for the frames take a
# second. The number may not depend on the time of a call: a seed gives the same on every machine.
N_ALONE, N_DRAWN_ALONE = 14, 8
N_SPREADS = 4.0  # what could not be asked alone stands if it is that much clearer than it must be


def is_close(scores: Floats, others: Floats) -> Bools:
    """Return which scores differ by no more than what rounding explains in double precision."""
    close: Bools = np.abs(scores - others) <= ROUND_OFF * np.maximum(1.0, np.abs(others))
    return close


def complaint(own: Predictor, genomes: Floats) -> str:
    """Say of which of genomes (n, d) the quick way and the model differ most; empty if of none."""
    quick, plain = own.uneven_blocks([genomes])[0], own.plain.uneven_blocks([genomes])[0]
    if np.array_equal(quick, plain):
        return ""
    i, c = np.unravel_index(np.argmax(np.abs(quick - plain)), quick.shape)
    return disagreement(own, genomes[[i]], quick[i, c], plain[i, c])


def disagreement(own: Predictor, genome: Floats, quick: float, plain: float) -> str:
    """Say what a quick way to ask and the model answer to a genome (1, d)."""
    values = own.encoding.by_feature(genome).to_dict("records")[0]
    return f"of {values} it says {quick:.6g}, the model {plain:.6g}"


def margins(target: Target, predictions: Floats) -> Floats:
    """Return how far predictions (n,) are from an edge of the target that they could cross."""
    return np.abs(safety_margins(target, predictions))


def is_at_edge(target: Target, predictions: Floats, edge: float) -> Bools:
    """Return which predictions (n,) are near an edge of the target, for large ones as a share."""
    sizes = [abs(bound) for bound in (target.low, target.high) if np.isfinite(bound)]
    near: Bools = margins(target, predictions) <= edge * max(1.0, *sizes)
    return near


def edge_of(predictor: Predictor) -> float:
    """Return how near to its target's edge a row must be to be asked about alone."""
    return EXACT_EDGE if predictor.is_known else EDGE


class Confirmation:
    """The candidates of one row; what is returned as valid must hold however the model is asked.

    All that is returned is asked in one frame, and alone what is near an edge of the target, with
    8 drawn ones of a model that nobody knows; where one does not hold, all are asked alone, as far
    as 14 calls go. Only rows are asked about that a search has asked about before.

    `archive` has all that a search evaluated for `row`, and later the same without what was denied.
    `ways` are those of all that seems valid, `members` (n,) the candidates that are returned, those
    of ways included.
    """

    def __init__(
        self, archive: Archive, row: int, problem: Problem, search: Search | WhatIf
    ) -> None:
        self.archive, self.row, self.problem = archive, row, problem
        self.predictor, self.target = problem.predictor.own, problem.targets[0]
        self.keeps_all = isinstance(search, WhatIf)
        self.doubt = ""  # where the quick way and the model disagree
        self.n_asked = 0  # how many rows the model was asked about
        self.n_denied = 0  # candidates that seemed valid and are not, or the other way round
        self.denies_label = False  # whether `predict` said another thing than the probabilities
        n = int(archive.size[row])
        self._is_asked, self._is_alone = np.zeros((2, n), dtype=np.bool_)
        self._codes = np.zeros(n, dtype=np.int64)
        self._predictions = archive.predictions[row, :n].copy()
        self._scores: dict[int, float] = {}  # of what does not hold
        self._is_named = np.zeros(n, dtype=np.bool_)  # by `predict`, though it did not seem valid
        self._spread = 0.0
        self._repeats = not isinstance(search, Explore)
        self._find_ways()

    @property
    def values(self) -> Floats:
        """The objectives of all candidates, shape (n, m)."""
        values: Floats = self.archive.objectives[self.row, : len(self._is_asked)]
        return values

    @property
    def unasked(self) -> Ints:
        """What must be asked in a frame: members; all that seem valid once something is denied.

        Once `predict` has said another thing than the probabilities, it is all there is.
        """
        if not self.n_denied:
            return self.members[~self._is_asked[self.members]]
        is_candidate = self.archive.is_candidate[self.row, : len(self._is_asked)]
        is_wanted = is_candidate & ((self.values[:, GAP] <= 0.0) | self.denies_label)
        is_wanted[self.members] = True
        return np.flatnonzero(is_wanted & ~self._is_asked)

    def is_scored_again(self, which: Ints) -> Bools:
        """Return which of the candidates the model itself scores.

        Of the near misses of a known model those that are drawn: for the others what the search
        was told stands. So does what was told of observed rows that are clear of the edge.
        """
        is_missed = self.values[:, GAP].take(which) > 0.0
        is_scored: Bools = np.logical_not(is_missed)
        if not self.predictor.is_known:
            return np.logical_not(self.is_clear(which))
        is_scored[is_missed] = self._is_drawn(int(is_missed.sum()), N_DRAWN)
        return is_scored & ~self.is_clear(which)

    def is_clear(self, which: Ints) -> Bools:
        """Return which candidates are observed rows far from the edge, which no search asks about.

        They were asked about when the explainer was made. What-If has no others; and where company
        was seen to change more than they are clear of the edge by, they are asked about, too.
        """
        if self.keeps_all:
            return np.zeros(len(which), dtype=np.bool_)
        clear: Bools = ~self.archive.is_asked[self.row].take(which)
        observed = np.flatnonzero(clear)  # few
        predictions = self.archive.predictions[self.row].take(which[observed])
        is_near = is_at_edge(self.target, predictions, EDGE)
        is_near |= margins(self.target, predictions) <= N_SPREADS * self._spread
        clear[observed] = ~is_near
        return clear

    def genomes(self, which: Ints) -> Floats:
        """Return some of the candidates, shape (n, d)."""
        some: Floats = self.archive.genomes[self.row].take(which, axis=0)
        return some

    def seeming(self, which: Ints) -> Ints:
        """Return those of the candidates that are valid as far as is known."""
        valid: Ints = which[self.values[:, GAP].take(which) <= 0.0]
        return valid

    def hear(self, which: Ints, outputs: Floats, codes: Ints) -> None:
        """Take what the model says of candidates in a frame; NaN is what the search knows."""
        self._is_asked[which], self._codes[which] = True, codes
        known = self.archive.predictions[self.row].take(which)
        scores, told = known.copy(), np.flatnonzero(~np.isnan(outputs[:, 0]))
        self.n_asked += len(which) if self.predictor.has_decision else len(told)
        answers = outputs.take(told, axis=0)
        scores[told] = self.target.score(answers)
        self._predictions[which[told]] = self.target.prediction(answers)
        if self.predictor.is_quick and not is_close(known, scores).all():
            self.doubt = complaint(self.predictor, self.genomes(which[told]))
        self._judge(which, scores, codes)

    def told(self, genomes: Floats) -> tuple[Ints, Floats]:
        """Return the class codes and predictions of members, given as genomes (n, d) in order."""
        which = self.archive.changed_members(self.row)
        if len(which) != len(genomes):  # rules allow only some of them
            places = {self.archive.genomes[self.row, k].tobytes(): k for k in which.tolist()}
            which = np.array([places[genome.tobytes()] for genome in genomes], dtype=np.int64)
        return self._codes[which], self._predictions[which]

    def _judge(self, which: Ints, scores: Floats, codes: Ints) -> None:
        """Note which candidates are valid by these scores or class codes and were not, or not."""
        is_valid = self.values[:, GAP].take(which) <= 0.0
        holds = self.target.gaps(scores) <= 0.0
        if self.problem.wants_labels:
            holds = np.asarray(self.target.accepts_label(codes))
            self.denies_label |= bool((holds != is_valid).any())
            self._is_named[which[holds & ~is_valid]] = True
        is_off = is_valid & ~holds
        self._scores |= zip(which[is_off].tolist(), scores[is_off].tolist(), strict=True)

    def ask_alone(self) -> None:
        """Ask alone about what is near an edge or drawn; about all where one did not hold.

        Those that the calls do not suffice for are not valid if company may change more than what
        they are clear of the edge by.
        """
        valid = self.seeming(self.members)
        valid = valid[~self.is_clear(valid)]
        predictions = self.archive.predictions[self.row, valid]
        apart = margins(self.target, predictions)
        is_near = is_at_edge(self.target, predictions, edge_of(self.predictor))
        has_doubts = is_near.any() and self.predictor.adds_columns  # else company changes nothing
        if self.predictor.is_known and not self.n_denied and not has_doubts:
            return  # mostly
        if is_near.any():  # the frame that is returned, of just these rows
            self._ask(valid)
            if self.predictor.adds_columns:
                self._ask(valid, is_by_column=True)
        wanted = valid[self._order_alone(apart, is_near)]
        wanted = wanted[~self._is_alone[wanted]]
        n_calls = 1 + self.problem.wants_labels
        most = N_ALONE // n_calls - int(self._is_alone.sum())
        for k in wanted[:most]:
            self._ask(np.array([k]))
        self._is_alone[wanted[:most]] = True
        left = wanted[most:]
        apart = margins(self.target, self.archive.predictions[self.row, left])
        if self.n_denied or (self._spread > 0.0 and not self.predictor.is_known):
            is_doubtful = apart < N_SPREADS * self._spread  # none, if company changed no score
            self._scores |= dict.fromkeys(left[is_doubtful].tolist(), np.nan)

    def _order_alone(self, apart: Floats, is_near: Bools) -> Ints:
        """Return which of the valid ones are to be asked alone, in that order.

        The nearest to the edge take up to half of the calls, then come the drawn ones, then others
        that are near; the rest follows only if one did not hold.
        """
        most = N_ALONE // (2 + 2 * self.problem.wants_labels)
        nearest = np.argsort(np.argsort(apart, kind="stable")) < most
        is_drawn = np.zeros(len(apart), dtype=np.bool_)
        if len(apart) and not self.predictor.is_known:
            is_drawn = self._is_drawn(len(apart), N_DRAWN_ALONE)
        turns = np.select([is_near & nearest, is_drawn, is_near], [0, 1, 2], 3)
        order = np.lexsort((apart, turns))
        return order[(turns[order] < 3) | (self.n_denied > 0)]

    def _ask(self, which: Ints, *, is_by_column: bool = False) -> None:
        """Ask about candidates as a frame of just these; by the quick way if the model is known.

        Numbers that lie in memory by columns, as those read from a file do, are added up in another
        order: the model itself is asked about such.
        """
        asker = self.predictor.plain if is_by_column else self.predictor.trusted
        genomes = self.genomes(which)
        genomes = np.asfortranarray(genomes) if is_by_column else genomes
        scores = np.asarray(self.target.score(asker.outputs(genomes)))
        codes = asker.labels(genomes) if self.problem.wants_labels else self._codes[which]
        self.n_asked += len(which)
        known = self.archive.predictions[self.row, which]
        self._spread = max(self._spread, float(np.abs(scores - known).max()))
        self._judge(which, scores, codes)

    def _is_drawn(self, n: int, most: int) -> Bools:
        """Return which of n candidates are drawn, most at most."""
        draws = uniforms(self.problem.keys, Stage.ASKED_ALONE, 0, n, 1)[0, :, 0]
        is_drawn = np.ones(n, dtype=np.bool_)
        if n > most:
            is_drawn[np.argpartition(draws, most)[most:]] = False
        return is_drawn

    def redraw(self) -> bool:
        """Find the members again by what the model said; return whether it denied anything."""
        named = np.flatnonzero(self._is_named)
        if not self._scores and not len(named):
            return False
        which = np.array(list(self._scores), dtype=np.int64)
        scores = np.array(list(self._scores.values()))
        predictions = self.archive.predictions[self.row, : len(self._is_asked)].copy()
        scores = np.where(np.isnan(scores), predictions[which], scores)
        gaps = self.target.gaps(scores)
        predictions[which] = np.where(gaps > 0.0, scores, predictions[which])
        least = denied_gaps(gaps, scores) if self.target.is_decision else JUST_MISSED
        objectives = self.values.copy()
        objectives[named, GAP] = 0.0
        objectives[which, GAP] = np.maximum(gaps, least)
        self.archive = self.archive.of_scores(self.row, self.problem, predictions, objectives)
        self.row, self._scores, self._is_named[:] = 0, {}, False
        self.n_denied += len(which) + len(named)
        if self.keeps_all:
            self.archive.keep_all(0)
        self._find_ways()
        return True

    def _find_ways(self) -> None:
        """Find the ways of all that seems valid, and what is returned."""
        self.ways = WayFinder.of(self.archive, self.row, self.problem, repeats=self._repeats)
        is_member = np.zeros(len(self._is_asked), dtype=np.bool_)
        is_member[self.archive.members[self.row, : self.archive.n_members[self.row]]] = True
        is_member[self.ways.candidates] = True
        self.members: Ints = np.flatnonzero(is_member & (self.values[:, CHANGES] > 0))

    def ways_told(self) -> WayRows:
        """Return the ways, with what the model said of their candidates."""
        scores = self.archive.predictions[self.row, : len(self._is_asked)]
        return self.ways.take(self._codes, self._predictions if self.target.is_lead else scores)


def confirm(checks: list[Confirmation]) -> None:
    """Confirm what was found for several rows; the frames of all rows are asked in one call."""
    waiting = checks
    while waiting:
        ask_in_frames(waiting)
        waiting = [check for check in waiting if not check.doubt]
        for check in waiting:
            check.ask_alone()
        waiting = [check for check in waiting if check.redraw()]


def ask_in_frames(checks: list[Confirmation]) -> None:
    """Let the model itself score what is returned, and say which class each is of."""
    asked = [(check, which) for check in checks if len(which := check.unasked)]
    if not asked:
        return
    predictor = checks[0].predictor
    blocks = [check.genomes(which) for check, which in asked]
    masks = [check.is_scored_again(which) for check, which in asked]
    try:
        outputs = scored_parts(predictor.plain, blocks, masks)
    except PredictorError as error:
        if not predictor.is_quick:
            raise
        for check, _ in asked:  # the quick way had an answer
            check.doubt = str(error).rstrip(".")
        return
    has_argmax = predictor.classes is not None and not predictor.has_decision
    if checks[0].target.is_lead or has_argmax:  # all probabilities are needed
        others = scored_parts(predictor.trusted, blocks, [~mask for mask in masks])
        outputs = [
            np.where(np.isnan(own), other, own) for own, other in zip(outputs, others, strict=True)
        ]
    if predictor.has_decision:
        codes = predictor.trusted.uneven_labels(blocks)
    elif has_argmax:
        codes = [np.argmax(answers, axis=1) for answers in outputs]
    else:
        codes = [np.zeros(len(block), dtype=np.int64) for block in blocks]
    for (check, which), answers, labels in zip(asked, outputs, codes, strict=True):
        check.hear(which, answers, labels)


def scored_parts(predictor: Predictor, blocks: list[Floats], masks: list[Bools]) -> list[Floats]:
    """Return the outputs (n, c) of the marked rows of blocks (n, d); NaN for the others."""
    n_outputs = predictor.observed_outputs.shape[1]
    outputs = [np.full((len(block), n_outputs), np.nan) for block in blocks]
    some = [q for q, mask in enumerate(masks) if mask.any()]
    parts = [np.ascontiguousarray(blocks[q][masks[q]]) for q in some]
    for q, answers in zip(some, predictor.uneven_blocks(parts) if some else (), strict=True):
        outputs[q][masks[q]] = answers
    return outputs


class Draft:
    """The candidates of one row, of which the model itself scores those that would be returned.

    They are an accelerator's; `problem` has the model itself as predictor. `archive` gets its
    scores as they become known; `difference` is the greatest of both scores so far, and `complaint`
    names the candidate where they differ so.
    """

    def __init__(self, archive: Archive, row: int, problem: Problem) -> None:
        self.archive, self.row, self.problem = archive, row, problem
        self.difference, self.complaint = 0.0, ""
        self._is_own = np.arange(archive.size[row]) < archive.n_learnt  # observed: scored before

    @property
    def unscored(self) -> Ints:
        """The members, and candidates of ways, that the model itself has not scored yet."""
        members = self.archive.members[self.row, : self.archive.n_members[self.row]]
        ways = WayFinder.of(self.archive, self.row, self.problem, repeats=True)
        returned = np.union1d(members, ways.candidates)
        return returned[~self._is_own[returned]]

    def learn(self, which: Ints, outputs: Floats) -> None:
        """Take the model's outputs (n, c) of the given candidates and draw the members again."""
        n, target = len(self._is_own), self.problem.targets[0]
        genomes = self.archive.genomes[self.row, :n]
        predictions = self.archive.predictions[self.row, :n].copy()
        objectives = self.archive.objectives[self.row, :n].copy()
        scores = np.asarray(target.score(outputs))
        self._compare(genomes[which], predictions[which], scores)
        predictions[which] = scores
        objectives[which, GAP] = self._gaps(genomes[which], scores)
        self._is_own[which] = True
        self.archive = self.archive.of_scores(self.row, self.problem, predictions, objectives)
        self.row = 0

    def _compare(self, genomes: Floats, quick: Floats, own: Floats) -> None:
        """Note where the accelerator and the model differ most."""
        differences = np.abs(quick - own)
        worst = int(np.argmax(differences))
        if differences[worst] >= self.difference:
            self.difference = float(differences[worst])
            asker = self.problem.predictor
            self.complaint = disagreement(asker, genomes[[worst]], quick[worst], own[worst])

    def _gaps(self, genomes: Floats, predictions: Floats) -> Floats:
        """Return the gaps of genomes (n, d); a class is reached only if `predict` says so."""
        problem = self.problem
        gaps = problem.targets[0].gaps(predictions)
        if problem.wants_labels:
            confirmed = problem.confirmed(np.ascontiguousarray(genomes[None]))[0]
            is_denied = (gaps <= 0.0) | problem.asks_labels
            missed = np.where(is_denied, denied_gaps(gaps, predictions), gaps)
            gaps = np.where(confirmed, 0.0, missed)
        return gaps


def rescore(archive: Archive, problem: Problem) -> list[Draft]:
    """Let the model itself score the members of every row; the calls of all rows are merged."""
    predictor = problem.predictor
    own = replace(problem, predictor=predictor.own)
    drafts = [Draft(archive, a, own.alone(np.array([a]))) for a in range(len(problem.rows))]
    while True:
        unscored = [(d, d.unscored) for d in drafts if d.difference <= predictor.tolerance]
        unscored = [(draft, which) for draft, which in unscored if len(which)]
        if not unscored:
            return drafts
        blocks = [draft.archive.genomes[draft.row, which] for draft, which in unscored]
        outputs = predictor.own.uneven_blocks(blocks)
        for (draft, which), answers in zip(unscored, outputs, strict=True):
            draft.learn(which, answers)
