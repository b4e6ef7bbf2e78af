"""Interview: a few "A or B?" questions that find the counterfactual somebody likes best."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from counterpoint.arrays import Floats
from counterpoint.errors import InvalidInput, listed
from counterpoint.result.choosing import preference
from counterpoint.result.choosing.attributes import Attributes, attributes_of
from counterpoint.streams import check_seed

if TYPE_CHECKING:
    from counterpoint.result.counterfactuals import Counterfactuals

Answer = Literal["A", "B", "equal"]


@dataclass(frozen=True)
class Pair:
    """A question: which of two counterfactuals is liked better?

    Parameters
    ----------
    positions : (int, int)
        The positions of A and B in the result.
    texts : (str, str)
        Both in a sentence.
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

    Made by `Counterfactuals.prefer`.

    Parameters
    ----------
    found : Counterfactuals
        What there is to choose from: those that reach the target, or all if none does.
    seed : int
        Same seed and answers, same questions.
    lang : {"en", "de"}
        The language of the questions.
    """

    def __init__(self, found: Counterfactuals, seed: int, lang: str) -> None:
        if len(found) == 0:
            raise InvalidInput(
                "prefer needs at least one counterfactual to choose from, but none was found; "
                "see message."
            )
        self.found, self.lang = found, lang
        self.attributes: Attributes = attributes_of(found)
        self._particles = preference.draw_particles(
            len(self.attributes.aims),
            len(self.attributes.features),
            preference.N_PARTICLES,
            check_seed(seed),
        )
        self._worth = preference.utilities(self._particles, self.attributes.values)
        n = len(self._particles)
        self._beliefs: list[Floats] = [np.full(n, 1.0 / n)]
        self._answers: list[tuple[preference.Question, Answer]] = []
        self._question: preference.Question | None = None
        self._choose()

    def _choose(self) -> None:
        """Find the next question."""
        asked = {(min(q.a, q.b), max(q.a, q.b)) for q, _ in self._answers}
        self._question = preference.ask(self._beliefs[-1], self._worth, asked)

    @property
    def question(self) -> Pair | None:
        """The next question; None if there is nothing left to ask."""
        if self._question is None:
            return None
        return self._pair(self._question)

    def _pair(self, question: preference.Question) -> Pair:
        """Return a question with its texts."""
        places = self.attributes.candidates
        a, b = int(places[question.a]), int(places[question.b])
        return Pair((a, b), ("", ""), "")

    def answer(self, answer: Answer) -> Interview:
        """Take the answer to `question` and find the next one; return the interview itself."""
        if answer not in preference.ANSWERS:
            raise InvalidInput(f"answer must be {listed(preference.ANSWERS)}, got {answer!r}.")
        if self._question is None:
            raise InvalidInput("there is no question left to answer; see best.")
        a, b = self._worth[:, self._question.a], self._worth[:, self._question.b]
        code = preference.ANSWERS.index(answer)
        self._beliefs.append(preference.update(self._beliefs[-1], a, b, code))
        self._answers.append((self._question, answer))
        self._choose()
        return self

    @property
    def position(self) -> int:
        """The position of what is recommended now."""
        place = preference.recommend(self._beliefs[-1], self._worth)
        return int(self.attributes.candidates[place])
