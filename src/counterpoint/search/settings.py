"""Search: the settings of one search, frozen and checked; the paper's variants by name."""

from __future__ import annotations

import time
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, get_args

import numpy as np

from counterpoint.arrays import Ints
from counterpoint.errors import InvalidInput, did_you_mean, listed
from counterpoint.streams import MAX_GENERATIONS, MAX_INDIVIDUALS

Initialization = Literal["random", "ice", "deviation", "observed"]
Mutation = Literal["conditional", "gaussian"]
Step = Literal["deviation", "deviation_times_range"]
Method = Literal["explore", "nsga2", "random"]
Variant = Literal["mocmod", "moc", "mocice", "moccond", "random"]

PAPER_GENERATIONS = 175  # after the initial population: 20 + 175 * 20 = 3520 candidates
PAPER_BUDGET = 3520
EARLY_WAVES = 24  # generations of "explore" that are small, to learn quickly from the first answers


@dataclass(frozen=True, kw_only=True)
class Search:
    """How to search: budget, population, operators and their probabilities.

    The settings of "nsga2" default to the configuration tuned by iterated F-racing in the paper's
    appendix ("mocmod"; three digits from the authors' stored configuration).

    Parameters
    ----------
    method : {"explore", "nsga2", "random"}, optional
        Our own search, whose population is the archive; the paper's evolutionary search; or its
        random baseline. None chooses "explore", or "nsga2" if one of its settings (from `epsilon`
        on) is given.
    evaluations : int or None, default=None
        Rows the model may be asked to explain one row, everything included: the row itself,
        ICE curves, initial population. None leaves the end to `generations`.
    generations : int or None, default=None
        Generations after the initial population. None means 175, or with `evaluations` as many
        as the budget allows.
    population : int, default=0
        Candidates made per generation, and by "nsga2" also kept (mu and lambda of the paper). 0
        stands for 20, or 24 for "explore", which makes a third of it in its first generations.
    patience : int or None, default=50
        Stop after this many generations that did not improve the archive's hypervolume.
    seconds : float or None, default=None
        Stop after this time and return the best so far.
    epsilon : float or None, default=0.0
        Candidates whose gap exceeds it are ranked behind all others; None penalises nobody.
    initialization : {"ice", "random", "deviation", "observed"}, default="ice"
        First population: features changed by the spread of their ICE curves; half of them at
        random; values within one standard deviation of the row; or mixed from observed rows.
    p_min, p_max : float, default=0.01, 0.99
        Least and greatest probability that the ICE start changes a feature.
    mutation : {"conditional", "gaussian"}, default="conditional"
        Draw from the conditional distribution given the other features, or take a Gaussian step
        (numbers) and redraw or flip (levels).
    step : {"deviation", "deviation_times_range"}, default="deviation"
        Scale of the Gaussian step: the feature's standard deviation, or that times its range, as
        the authors' code has it, which sends most steps to the bounds.
    p_recombine : float, default=0.57
        Probability that a pair of parents recombines.
    p_recombine_gene : float, default=0.849
        Probability that a feature of a recombining pair is recombined.
    p_recombine_keep : float, default=0.878
        Probability that the pair's use-original indicators of a feature are swapped.
    p_mutate : float, default=0.794
        Probability that a child mutates.
    p_mutate_gene : float, default=0.557
        Probability that a feature of a mutating child is mutated.
    p_mutate_keep : float, default=0.317
        Half the probability that a use-original indicator of a mutating child is redrawn.

    Examples
    --------
    >>> Search(evaluations=3520).population
    24
    >>> Search.paper("moc").initialization
    'random'
    """

    method: Method | None = None
    evaluations: int | None = None
    generations: int | None = None
    population: int = 0
    patience: int | None = 50
    seconds: float | None = None
    epsilon: float | None = 0.0
    initialization: Initialization = "ice"
    p_min: float = 0.01
    p_max: float = 0.99
    mutation: Mutation = "conditional"
    step: Step = "deviation"
    p_recombine: float = 0.570
    p_recombine_gene: float = 0.849
    p_recombine_keep: float = 0.878
    p_mutate: float = 0.794
    p_mutate_gene: float = 0.557
    p_mutate_keep: float = 0.317

    def __post_init__(self) -> None:
        self._settle_method()
        for name, options in _CHOICES.items():
            _check_choice(name, getattr(self, name), options)
        for name, (least, most) in _WHOLE.items():
            check_whole(name, getattr(self, name), least, most)
        for field in fields(self):
            if field.name.startswith("p_"):
                _check_number(field.name, getattr(self, field.name), 0.0, 1.0)
        _check_number("p_mutate_keep", self.p_mutate_keep, 0.0, 0.5)
        if self.p_min > self.p_max:
            raise InvalidInput(
                f"Search.p_min must not exceed p_max, got {self.p_min} and {self.p_max}."
            )
        if self.epsilon is not None:
            _check_number("epsilon", self.epsilon, 0.0, np.inf)
        if self.seconds is not None:
            _check_number("seconds", self.seconds, 0.0, np.inf)
        least = self.first_wave if self.method == "explore" else self.population
        if self.evaluations is not None and self.evaluations <= least:
            raise InvalidInput(
                f"Search.evaluations must exceed the first generation of {least} (the row itself "
                f"is asked too), got {self.evaluations}; raise it or lower population."
            )

    def _settle_method(self) -> None:
        """Choose the method where none is named; refuse settings that it would not look at."""
        given = [f.name for f in fields(self)[_N_COMMON:] if getattr(self, f.name) != f.default]
        if self.method is None:
            object.__setattr__(self, "method", "nsga2" if given else "explore")
        if isinstance(self.population, int) and self.population == 0:
            object.__setattr__(self, "population", 24 if self.method == "explore" else 20)
        if self.method != "nsga2" and given:
            raise InvalidInput(
                f"Search.{given[0]} is a setting of method 'nsga2', which {self.method!r} does not "
                "look at; leave it out, or leave out method."
            )

    @classmethod
    def paper(cls, variant: Variant = "mocmod") -> Search:
        """Return one of the five published configurations.

        Parameters
        ----------
        variant : {"mocmod", "moc", "mocice", "moccond", "random"}, default="mocmod"
            "moc" starts at random and mutates by Gaussian steps; "mocice" starts from ICE curves;
            "moccond" mutates conditionally; "mocmod" does both; "random" is the baseline.

        Returns
        -------
        Search
            Population 20, 175 generations after the initial one, epsilon 0.

        Raises
        ------
        InvalidInput
            If there is no such variant.
        """
        _check_choice("paper", variant, get_args(Variant), argument="variant")
        is_ice, is_conditional = variant in ("mocice", "mocmod"), variant in ("moccond", "mocmod")
        if variant == "random":
            return cls(method="random", generations=PAPER_GENERATIONS, population=20, patience=None)
        return cls(
            method="nsga2",
            generations=PAPER_GENERATIONS,
            population=20,
            patience=None,
            initialization="ice" if is_ice else "random",
            mutation="conditional" if is_conditional else "gaussian",
        )

    def continued(self, more: int, n_asked: int, stopped: str) -> Search:
        """Return the settings of a search that goes on for `more` evaluations.

        Parameters
        ----------
        more : int
            How many more rows the model may be asked.
        n_asked : int
            How many answers the search had, the row's own included.
        stopped : str
            Why it ended.
        """
        patience = None if stopped == "patience" else self.patience
        if self.method != "nsga2":
            budget = self.evaluations if self.evaluations and stopped == "budget" else n_asked
            return self.with_(
                evaluations=budget + more, generations=None, seconds=None, patience=patience
            )
        if self.evaluations is not None:
            raise InvalidInput(
                "a search by 'nsga2' whose budget is given in evaluations may start differently "
                "with a larger budget, so it cannot be continued; give its budget in generations."
            )
        done = PAPER_GENERATIONS if self.generations is None else self.generations
        generations = done + more // self.population
        return self.with_(generations=generations, seconds=None, patience=patience)

    def with_(self, **changes: Any) -> Search:
        """Return the same settings with some replaced, checked again."""
        unknown = [name for name in changes if name not in {field.name for field in fields(self)}]
        if unknown:
            known = [field.name for field in fields(self)]
            hint = did_you_mean(unknown[0], known) or f"the settings are {listed(known, 99)}."
            raise InvalidInput(f"Search has no setting {unknown[0]!r}; {hint}")
        own = {field.name for field in fields(self)[_N_COMMON:]}
        if self.method == "explore" and own & set(changes):  # as if they had been given at first
            changes = {"method": "nsga2", **changes}
        return replace(self, **changes)

    @property
    def most_candidates(self) -> int:
        """The most candidates one row's search can evaluate."""
        if self.evaluations is not None:
            return self.evaluations
        if self.generations is None:
            return PAPER_BUDGET
        return (1 + self.generations) * self.population

    @property
    def most_ice_points(self) -> int | None:
        """The most rows ICE curves may ask: half of a budget, or any number without one.

        The row itself and the initial population are asked too and come first.
        """
        if self.evaluations is None:
            return None
        return min(self.evaluations // 2, self.evaluations - 1 - self.population)

    @property
    def first_wave(self) -> int:
        """How many candidates the first generations of "explore" make."""
        return max(1, self.population // 3)

    def wave_sizes(self) -> Ints:
        """Return how many candidates each generation of "explore" makes; only whole ones are made.

        The sizes do not depend on the budget, so a longer search begins like a shorter one.
        """
        early = self.first_wave
        n_most = (
            self.most_candidates // early + 1 if self.generations is None else self.generations + 1
        )
        sizes = np.where(np.arange(n_most + 1) < EARLY_WAVES, early, self.population)
        if self.generations is not None and self.evaluations is None:
            return sizes
        return sizes[1 + np.cumsum(sizes) <= self.most_candidates]

    def deadline(self) -> float:
        """Return when a search that starts now must stop, on the clock of `time.monotonic`."""
        return time.monotonic() + (np.inf if self.seconds is None else float(self.seconds))

    def last_generation(self, asked: Ints) -> Ints:
        """Return the last generation of each row, given the rows its start has asked (r,)."""
        wanted = self.generations
        if wanted is None:
            wanted = PAPER_GENERATIONS if self.evaluations is None else MAX_GENERATIONS
        if self.evaluations is None:
            return np.full(len(asked), wanted)
        return np.minimum(wanted, (self.evaluations - asked) // self.population)


_N_COMMON = 6  # method, evaluations, generations, population, patience, seconds
_CHOICES: dict[str, tuple[str, ...]] = {
    "method": get_args(Method),
    "initialization": get_args(Initialization),
    "mutation": get_args(Mutation),
    "step": get_args(Step),
}
_WHOLE: dict[str, tuple[int, int]] = {
    "evaluations": (1, 2**40),
    "generations": (0, MAX_GENERATIONS),
    "population": (2, MAX_INDIVIDUALS),
    "patience": (1, MAX_GENERATIONS),
}


def _check_choice(
    name: str, value: object, options: tuple[str, ...], argument: str | None = None
) -> None:
    """Refuse a setting that is not one of its options."""
    if value not in options:
        label = f"Search.{name}({argument})" if argument else f"Search.{name}"
        hint = did_you_mean(value, options)
        raise InvalidInput(
            f"{label} must be one of {listed(options)}, got {value!r}"
            + (f"; {hint}" if hint else ".")
        )


def check_whole(name: str, value: object, least: int, most: int, owner: str = "Search") -> None:
    """Refuse a setting that is neither None (where allowed) nor a whole number in its range."""
    if value is None and name != "population" and owner == "Search":
        return
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise InvalidInput(f"{owner}.{name} must be a whole number, got {value!r}.")
    if not least <= value <= most:
        raise InvalidInput(f"{owner}.{name} must lie between {least} and {most}, got {value}.")


def _check_number(name: str, value: object, least: float, most: float) -> None:
    """Refuse a setting that is not a number in its range."""
    is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not is_number or not least <= float(value) <= most:  # type: ignore[arg-type]
        limit = "be at least 0" if most == np.inf else f"lie between {least:g} and {most:g}"
        raise InvalidInput(f"Search.{name} must {limit}, got {value!r}.")
