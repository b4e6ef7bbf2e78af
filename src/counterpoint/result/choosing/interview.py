"""Interview: a few "A or B?" questions that find the counterfactual somebody likes best."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from counterpoint.arrays import Floats, Ints
from counterpoint.errors import InvalidInput, listed
from counterpoint.result.choosing import preference
from counterpoint.result.choosing.attributes import Attributes, attributes_of
from counterpoint.result.choosing.orders import best_of
from counterpoint.result.wording.language import Grammar, Lang, Reader
from counterpoint.result.wording.sentences import changes_of, changes_protected, grammar_of
from counterpoint.streams import check_seed

if TYPE_CHECKING:
    from counterpoint.result.counterfactuals import Counterfactuals

Answer = Literal["A", "B", "equal"]


@dataclass(frozen=True)
class Pair:
    """A question: which of two counterfactuals suits somebody better.

    Parameters
    ----------
    positions : (int, int)
        The positions of A and B in the result.
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


class Interview:
    """Questions about one result, the answers so far, and what they recommend.

    Made by `Counterfactuals.prefer`; docs/choosing.md says how it learns. Print it, `answer` it,
    `undo` what was a slip, and look at `best` whenever it seems enough: five answers usually are.

    Parameters
    ----------
    found : Counterfactuals
        What there is to choose from: those that reach the target, or all if none does.
    seed : int
        Same seed and answers, same questions.
    lang : {"en", "de"}
        The language of the questions.
    reader : {"customer", "analyst"}
        A customer is not asked about counterfactuals that change protected features.

    Attributes
    ----------
    attributes : Attributes
        The candidates, and what tells them apart.
    particles : ndarray of shape (512, k)
        The weights of the k attributes that are thought possible; `preference` has the rest.

    Raises
    ------
    InvalidInput
        If there is nothing to choose from.
    """

    def __init__(self, found: Counterfactuals, seed: int, lang: Lang, reader: Reader) -> None:
        self.found = found
        self._grammar: Grammar = grammar_of(lang, reader)
        self.attributes: Attributes = attributes_of(found, _candidates(found, reader))
        n = preference.N_PARTICLES
        self.particles = preference.draw_particles(
            len(self.attributes.aims), len(self.attributes.features), n, check_seed(seed)
        )
        self._worth = preference.utilities(self.particles, self.attributes.shares)
        # One more belief than answers; the last one is what is believed now.
        self._beliefs: list[Floats] = [np.full(n, 1.0 / n)]
        self._asked: list[preference.Question | None] = [self._next([])]
        self._answers: list[Answer] = []

    def _next(self, asked: list[preference.Question | None]) -> preference.Question | None:
        """Return the question that tells most now."""
        pairs = {(min(q.a, q.b), max(q.a, q.b)) for q in asked if q is not None}
        return preference.ask(self._beliefs[-1], self._worth, pairs)

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

    def _pair(self, question: preference.Question) -> Pair:
        """Return a question with its texts."""
        # Wording's text module chooses what it tells, so it cannot be imported before this one.
        from counterpoint.result.wording.text import measures_of

        places, grammar = self.attributes.candidates, self._grammar
        a, b = int(places[question.a]), int(places[question.b])
        texts = [
            f"{grammar.condition(changes_of(self.found, i, grammar.signs))} "
            f"({', '.join(measures_of(self.found, i, grammar))})"
            for i in (a, b)
        ]
        return Pair((a, b), (texts[0], texts[1]), grammar.question(*texts))

    def answer(self, answer: Answer) -> Interview:
        """Take the answer to `question`; the next one follows from it.

        Parameters
        ----------
        answer : {"A", "B", "equal"}
            Which suits better, or that neither does.

        Returns
        -------
        Interview
            The interview itself.

        Raises
        ------
        InvalidInput
            If it is no answer, or there is nothing left to answer.
        """
        if answer not in preference.ANSWERS:
            raise InvalidInput(
                f"answer must be one of {listed(preference.ANSWERS)}, got {answer!r}."
            )
        question = self._asked[-1]
        if question is None:
            raise InvalidInput("there is no question left to answer; best is what you prefer.")
        worth, code = self._worth, preference.ANSWERS.index(answer)
        after = preference.update(
            self._beliefs[-1], worth[:, question.a], worth[:, question.b], code
        )
        self._beliefs.append(after)
        self._answers.append(answer)
        self._asked.append(self._next(self._asked))
        return self

    def undo(self) -> Interview:
        """Take the last answer back, as if it had not been given; return the interview itself."""
        if not self._answers:
            raise InvalidInput("there is no answer to undo.")
        for kept in (self._answers, self._beliefs, self._asked):
            kept.pop()
        return self

    @property
    def position(self) -> int:
        """The position of what the answers so far recommend."""
        place = preference.recommend(self._beliefs[-1], self._worth)
        return int(self.attributes.candidates[place])

    @property
    def best(self) -> Counterfactuals:
        """What the answers so far recommend."""
        return self.found.take(self.position)

    @property
    def weights(self) -> dict[str, dict[Any, float]]:
        """What matters by the answers so far, as shares that sum to one.

        Under "objectives" those of the objectives in which candidates differ, which `select` takes;
        under "features" how much a change of each feature is minded.
        """
        mean = preference.expected(self._beliefs[-1], self.particles)
        aims, features = self.attributes.aims, self.attributes.features
        of_aims, rest = mean[: len(aims)], mean[len(aims) :]
        minded = rest[: len(features)] + rest[len(features) :]
        names: tuple[Hashable, ...] = features
        return {
            "objectives": dict(zip(aims, of_aims.tolist(), strict=True)),
            "features": dict(zip(names, minded.tolist(), strict=True)),
        }

    def __str__(self) -> str:
        question = self.question
        if question is not None:
            return str(question)
        condition = self._grammar.condition(
            changes_of(self.found, self.position, self._grammar.signs)
        )
        return f"{self.position + 1}. {condition}"

    def __repr__(self) -> str:
        return f"<Interview: {len(self._answers)} answers, best is position {self.position}>"


def _candidates(found: Counterfactuals, reader: Reader) -> Ints:
    """Return the positions somebody may choose from."""
    pool = best_of(found)
    if reader == "customer":
        pool = pool & ~changes_protected(found)
    if not pool.any():
        why = "all of them change protected features" if len(found) else "none was found"
        raise InvalidInput(f"prefer has no counterfactual to choose from: {why}; see message.")
    return np.flatnonzero(pool)
