"""Interview: a few "A or B?" questions that find the counterfactual somebody likes best.

Preference: what "A or B?" tells of somebody's trade-off, in plain loops over arrays.

A candidate i has attributes X[i, k] from 0, the best, to 1. Somebody is a particle: weights w of
the attributes, at least 0. The cost of a candidate is the weighted sum of its attributes, and its
utility u lies between 0, the worst of all candidates, and 1, the best. Asked "A or B?", somebody
answers A, B or "equal" with probabilities in the proportions (Davidson 1970)::

    exp(s u_A) : exp(s u_B) : T exp(s (u_A + u_B) / 2)

where s says how sure people are of a difference. Each particle starts with the same belief; an
answer multiplies it by the answer's probability (Bayes). What is recommended has the largest
expected utility. The pair asked is the one after whose answer the recommendation is expected to be
best (the expected value of information), among pairs of promising candidates. The first questions
are about ways: they are chosen as if the representatives of ways were all there is.

Nothing here needs more than loops, exp and sort, and ties go to the smaller index: a page can do
the same in JavaScript with the particles as numbers.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Generic, Literal, NamedTuple, Self, TypeVar

import numpy as np

from counterpoint.arrays import Floats, Ints
from counterpoint.checks import check_choice
from counterpoint.errors import InvalidInput, joined
from counterpoint.result.choosing.orders import Attributes, attributes_of, best_of, with_ways
from counterpoint.result.data import ResultData
from counterpoint.result.words import Lang, Reader
from counterpoint.result.words.grammars import Grammar
from counterpoint.result.words.sentences import (
    changes_of,
    changes_protected,
    grammar_of,
    measures_of,
)
from counterpoint.streams import Stage, check_seed, row_keys, uniforms

SURE = 16.0  # s: a difference of a tenth of the range is preferred in about three of four answers
TIE = 0.5  # T: how readily candidates are called equal
N_PARTICLES = 512
N_PROMISING = 14  # candidates whose pairs are weighed: 91 pairs
WAYS_FIRST = 2  # questions that are about ways only
STEPS = 65535.0  # of shares: a page is given sixteen bits of each, and both compute with these
Result = TypeVar("Result", bound=ResultData)
ANSWERS = ("A", "B", "equal")
NEITHER = "neither"
MOST_QUESTIONS = 8
GAIN = 0.001  # of the range: where no question is expected to gain more, there is no further one


class AskedPair(NamedTuple):
    """Which two candidates to ask about, by index, and what the answer is expected to be worth."""

    a: int
    b: int
    worth: float


@lru_cache(maxsize=8)  # every interview about results of one explainer begins with the same
def draw_particles(n_aims: int, n_features: int, n: int, seed: int) -> Floats:
    """Return the prior: n particles of weights (n, n_aims + 2 * n_features), each summing to one.

    The attributes are the objectives, whether each feature changes, and by how much. How much of a
    particle's weight goes to each of these groups, and how evenly it is spread within a group, is
    drawn for each particle: some people look at one objective, some dread one change, some mind all
    a little.
    """
    key = row_keys(seed, np.array([[float(n_aims), float(n_features)]]))
    k = n_aims + 2 * n_features
    draws = uniforms(key, Stage.TASTE, 0, n, k + 6)[0]
    sizes = (n_aims, n_features, n_features)
    particles = np.zeros((n, k))
    for s in range(n):
        start = 0
        for group in range(3):
            evenness = 0.5 + 3.5 * draws[s, k + group]  # 0.5 is nearly even, 4 nearly one alone
            weights = (-np.log(1.0 - draws[s, start : start + sizes[group]])) ** evenness
            total = weights.sum()
            share = -np.log(1.0 - draws[s, k + 3 + group])
            if total > 0.0:
                particles[s, start : start + sizes[group]] = share * weights / total
            start += sizes[group]
        particles[s] /= max(particles[s].sum(), 1e-300)
    particles.flags.writeable = False
    return particles


def in_steps(shares: Floats) -> Floats:
    """Return numbers from 0 to 1 as whole steps of sixteen bits; NaN counts as 1."""
    return np.asarray(np.rint(np.clip(np.nan_to_num(shares, nan=1.0), 0.0, 1.0) * STEPS))


def utilities(particles: Floats, attributes: Floats) -> Floats:
    """Return what each candidate is worth to each particle, shape (n_particles, n_candidates).

    Each particle's best candidate has 1 and its worst 0; if all cost the same, all have 1.

    Examples
    --------
    >>> utilities(np.array([[1.0, 0.0]]), np.array([[0.0, 1.0], [0.5, 0.0], [1.0, 0.0]]))
    array([[1. , 0.5, 0. ]])
    """
    costs = particles @ attributes.T
    least, most = costs.min(axis=1, keepdims=True), costs.max(axis=1, keepdims=True)
    span = np.where(most > least, most - least, np.inf)
    return np.asarray(1.0 - (costs - least) / span)


def likelihoods(u_a: Floats, u_b: Floats) -> Floats:
    """Return how likely each particle answers "A", "B" and "equal", shape (n_particles, 3)."""
    half = np.exp(0.5 * SURE * (u_a - u_b))
    parts = np.stack([half, 1.0 / half, np.full(len(u_a), TIE)], axis=1)
    return np.asarray(parts / parts.sum(axis=1, keepdims=True))


def update(belief: Floats, u_a: Floats, u_b: Floats, answer: int) -> Floats:
    """Return the belief (n_particles,) after an answer, 0 for A, 1 for B, 2 for equal."""
    after = belief * likelihoods(u_a, u_b)[:, answer]
    return np.asarray(after / after.sum())


def recommend(belief: Floats, worth: Floats) -> int:
    """Return the candidate with the largest expected utility, the first of several."""
    return int(np.argmax((belief @ worth).round(12)))


def promising(belief: Floats, worth: Floats) -> Ints:
    """Return the few candidates worth asking about, the recommended one first.

    Each next one is that which adds most to what somebody could expect who was offered all chosen
    ones and took the one they like best.
    """
    chosen = [recommend(belief, worth)]
    best = worth[:, chosen[0]].copy()
    while len(chosen) < min(N_PROMISING, worth.shape[1]):
        gains = belief @ np.maximum(worth - best[:, None], 0.0)
        gains[chosen] = -1.0
        chosen.append(int(np.argmax(gains.round(12))))
        best = np.maximum(best, worth[:, chosen[-1]])
    return np.array(chosen, dtype=np.int64)


def ask_next(
    belief: Floats,
    worth: Floats,
    asked: set[tuple[int, int]],
    ways: Ints,
    among: Ints | None = None,
) -> AskedPair | None:
    """Return the pair to ask next: the first few are of the representatives of ways (w,).

    Candidates that are not `among` these are not asked about (None for all).
    """
    question = None
    if among is not None:
        ways = ways[np.isin(ways, among)]
    if len(asked) < WAYS_FIRST and len(ways) > 1:
        question = ask(belief, worth, asked, ways)
    return question or ask(belief, worth, asked, among)


def is_worth_asking(question: AskedPair, belief: Floats, worth: Floats, n_asked: int) -> bool:
    """Whether an answer is expected to gain enough, of at most so many questions."""
    gain = question.worth - float((belief @ worth).max())
    return n_asked < WAYS_FIRST or (n_asked < MOST_QUESTIONS and gain >= GAIN)


def ask(
    belief: Floats, worth: Floats, asked: set[tuple[int, int]], among: Ints | None = None
) -> AskedPair | None:
    """Return the pair whose answer is expected to improve the recommendation most, if any is left.

    It is judged by the belief (n_particles,) and utilities (n_particles, n_candidates). Only
    candidates `among` these are asked about and could be recommended, or all if that is None. Pairs
    that were `asked` before, the smaller index first, are left out.
    """
    among = np.arange(worth.shape[1]) if among is None else among
    some = among[promising(belief, worth[:, among])]
    few = worth[:, some]
    best: AskedPair | None = None
    for i in range(len(some)):
        for j in range(i + 1, len(some)):
            a, b = int(some[i]), int(some[j])
            if (min(a, b), max(a, b)) in asked:
                continue
            value = round(value_of_asking(belief, few, i, j), 12)
            if best is None or value > best.worth:
                best = AskedPair(a, b, value)
    return best


def value_of_asking(belief: Floats, worth: Floats, a: int, b: int) -> float:
    """Return the expected utility of what will be recommended after "A or B?" is answered."""
    joint = belief[:, None] * likelihoods(worth[:, a], worth[:, b])
    return float((joint.T @ worth).max(axis=1).sum())


Answer = Literal["A", "B", "equal", "neither"]


@dataclass(frozen=True)
class Pair:
    """A question: which of two counterfactuals suits somebody better.

    Parameters
    ----------
    positions : (int, int)
        The positions of A and B in the interview's `found`.
    texts : (str, str)
        Both in words.
    text : str
        The whole question, to be printed.
    """

    positions: tuple[int, int]
    texts: tuple[str, str]
    text: str

    def __str__(self) -> str:
        return self.text


class Interview(Generic[Result]):
    """Questions about one result, the answers so far, and what they recommend.

    Made by `Counterfactuals.prefer`; docs/choosing.md says how it learns. Print it, `answer` it,
    `undo` what was a slip, and look at `best` whenever it seems enough. It ends by itself: after
    eight questions, or before that where no answer is expected to gain much.

    Candidates are those that reach the target, or all if none does; `prefer` has the settings. The
    first questions compare representatives of different ways.

    Attributes
    ----------
    found : ResultData
        What there is to choose from: the result, and after its own candidates the representatives
        of ways that it lacks. Positions are those in it.
    attributes : Attributes
        The candidates, and what tells them apart.
    particles : ndarray of shape (512, k)
        The weights of the k attributes that are thought possible; `preference` has the rest.

    Raises
    ------
    InvalidInput
        If there is nothing to choose from.
    """

    def __init__(self, found: Result, seed: int, lang: Lang, reader: Reader) -> None:
        self.found, ways = with_ways(found)
        self._grammar: Grammar = grammar_of(lang, reader)
        candidates = _candidates(self.found, reader)
        self.attributes: Attributes = attributes_of(self.found, candidates)
        self._ways: Ints = np.flatnonzero(np.isin(candidates, ways))
        n = N_PARTICLES
        self.particles = draw_particles(
            len(self.attributes.aims), len(self.attributes.features), n, check_seed(seed)
        )
        self._worth = utilities(
            in_steps(self.particles) / STEPS, in_steps(self.attributes.shares) / STEPS
        )
        # One more belief than answers; the last one is what is believed now.
        self._beliefs: list[Floats] = [np.full(n, 1.0 / n)]
        self._excluded: list[tuple[int, ...]] = [()]  # features that must stay, after each answer
        self._answers: list[Answer] = []
        self._asked: list[AskedPair | None] = [self._next([])]

    @property
    def _among(self) -> Ints:
        """The candidates that change nothing that must stay."""
        changed = self.found.changed[self.attributes.candidates][:, list(self._excluded[-1])]
        return np.flatnonzero(~changed.any(axis=1))

    def _next(self, asked: list[AskedPair | None]) -> AskedPair | None:
        """Return the question that tells most now, if one is worth an answer."""
        pairs = {(min(q.a, q.b), max(q.a, q.b)) for q in asked if q is not None}
        among, belief = self._among, self._beliefs[-1]
        question = ask_next(belief, self._worth, pairs, self._ways, among)
        if question is None:
            return None
        n_asked, worth = len(self._answers), self._worth[:, among]
        return question if is_worth_asking(question, belief, worth, n_asked) else None

    @property
    def question(self) -> Pair | None:
        """The next question; None if there is nothing left to ask."""
        question = self._asked[-1]
        return None if question is None else self._pair(question)

    @property
    def answers(self) -> list[tuple[Pair, Answer]]:
        """The questions answered so far, with the answers."""
        asked = [self._pair(question) for question in self._asked if question is not None]
        return list(zip(asked, self._answers, strict=False))

    def _pair(self, question: AskedPair) -> Pair:
        places, grammar = self.attributes.candidates, self._grammar
        a, b = int(places[question.a]), int(places[question.b])
        texts = [
            f"{grammar.condition(changes_of(self.found, i, grammar))} "
            f"({', '.join(measures_of(self.found, i, grammar))})"
            for i in (a, b)
        ]
        return Pair((a, b), (texts[0], texts[1]), grammar.question(*texts))

    def answer(self, answer: Answer, *, because: Hashable | None = None) -> Self:
        """Take the answer to `question`; the next one follows from it.

        Parameters
        ----------
        answer : {"A", "B", "equal", "neither"}
            Which suits better, that both do alike, or that neither is acceptable.
        because : hashable, optional
            With "neither", the feature that must not change: nothing that changes it is asked
            about or recommended from then on.

        Returns
        -------
        Interview
            The interview itself.

        Raises
        ------
        InvalidInput
            If it is no answer, there is nothing left to answer, or nothing would be left.
        """
        check_choice("answer", answer, (*ANSWERS, NEITHER))
        question = self._asked[-1]
        if question is None:
            raise InvalidInput("there is no question left to answer; best is what you prefer.")
        if (answer == NEITHER) != (because is not None):
            raise InvalidInput(
                f"answer {answer!r} with because={because!r}: say answer('neither', "
                "because='age') to leave out what changes a feature, and no reason otherwise."
            )
        after, excluded = self._beliefs[-1], self._excluded[-1]
        if answer == NEITHER:
            excluded = self._without(because)
        else:
            worth, code = self._worth, ANSWERS.index(answer)
            after = update(after, worth[:, question.a], worth[:, question.b], code)
        self._beliefs.append(after)
        self._excluded.append(excluded)
        self._answers.append(answer)
        self._asked.append(self._next(self._asked))
        return self

    def _without(self, because: Hashable) -> tuple[int, ...]:
        """Return the features that must stay, with one more; refuse one that leaves nothing."""
        place = self.found.encoding.schema.places_of([because], "answer(because=...)")[0]
        excluded = (*self._excluded[-1], place)
        if self.found.changed[self.attributes.candidates][:, list(excluded)].any(axis=1).all():
            raise InvalidInput(
                f"every counterfactual there is to choose from changes {because!r} or what was "
                "left out before; allow one of these, or search again with fixed=[...]."
            )
        return excluded

    def undo(self) -> Self:
        """Take the last answer back, as if it had not been given; return the interview itself."""
        if not self._answers:
            raise InvalidInput("there is no answer to undo.")
        for kept in (self._answers, self._beliefs, self._asked, self._excluded):
            kept.pop()
        return self

    @property
    def position(self) -> int:
        """The position in `found` of what the answers so far recommend."""
        among = self._among
        place = among[recommend(self._beliefs[-1], self._worth[:, among])]
        return int(self.attributes.candidates[place])

    @property
    def learnt(self) -> str:
        """What the answers so far tell of what matters, in words."""
        aims, minded = self.weights["objectives"], self.weights["features"]
        told = []
        if aims:
            most = max(aims, key=aims.__getitem__)
            told.append(f"Of the objectives {most} seems to matter most.")
        if minded:
            least = 0.8 * max(minded.values())
            names = [str(name) for name, share in minded.items() if share >= least > 0.0][:3]
            told.append(f"Changes of {joined(names, 'and')} seem to be minded most.")
        if places := self._excluded[-1]:
            names = [str(self.found.encoding.schema.names[place]) for place in places]
            told.append(f"Nothing that changes {joined(names, 'and')} is shown.")
        return " ".join(told)

    @property
    def best(self) -> Result:
        """What the answers so far recommend."""
        return self.found.take(self.position)

    @property
    def weights(self) -> dict[str, dict[Any, float]]:
        """What matters by the answers so far, as shares that sum to one.

        Under "objectives" those of the objectives in which candidates differ, which `select` takes;
        under "features" how much a change of each feature is minded.
        """
        mean = self._beliefs[-1] @ self.particles
        aims, features = self.attributes.aims, self.attributes.features
        of_aims, rest = mean[: len(aims)], mean[len(aims) :]
        minded = rest[: len(features)] + rest[len(features) :]
        return {
            "objectives": dict(zip(aims, of_aims.tolist(), strict=True)),
            "features": dict(zip(features, minded.tolist(), strict=True)),
        }

    def __str__(self) -> str:
        question = self.question
        if question is not None:
            return str(question)
        condition = self._grammar.condition(changes_of(self.found, self.position, self._grammar))
        return f"{self.position + 1}. {condition}"

    def __repr__(self) -> str:
        return f"<Interview: {len(self._answers)} answers, best is position {self.position}>"


def _candidates(found: ResultData, reader: Reader) -> Ints:
    """Return the positions somebody may choose from."""
    pool = best_of(found)
    if reader == "customer":
        pool = pool & ~changes_protected(found)
    if not pool.any():
        why = "all of them change protected features" if len(found.genomes) else "none was found"
        raise InvalidInput(f"prefer has no counterfactual to choose from: {why}; see message.")
    return np.flatnonzero(pool)
