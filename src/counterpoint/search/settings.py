"""Settings: one frozen class per method, checked when it is made; the paper's variants by name."""

from __future__ import annotations

from dataclasses import InitVar, dataclass, field, fields
from typing import Any, Literal, TypedDict, Unpack, cast, get_args, overload

import numpy as np

from counterpoint.arrays import Ints
from counterpoint.checks import check_choice, check_number, check_whole
from counterpoint.errors import InvalidInput, did_you_mean, listed
from counterpoint.streams import MAX_GENERATIONS, MAX_INDIVIDUALS

Initialization = Literal["random", "ice", "deviation", "observed"]
Mutation = Literal["conditional", "gaussian"]
Step = Literal["deviation", "deviation_times_range"]
Method = Literal["explore", "nsga2", "random"]
Effort = Literal["quick", "normal", "thorough"]
Variant = Literal["mocmod", "moc", "mocice", "moccond", "random"]

PAPER_GENERATIONS = 175  # after the initial population: 20 + 175 * 20 = 3520 candidates
PAPER_BUDGET = 3520
EFFORTS = {"quick": PAPER_BUDGET // 4, "normal": None, "thorough": PAPER_BUDGET * 4}


class SearchSettings(TypedDict, total=False):
    """The keywords of `Search`: the settings of all its methods."""

    method: Method | None
    evaluations: int | None
    generations: int | None
    population: int
    patience: int | None
    seconds: float | None
    effort: Effort | None
    epsilon: float | None
    initialization: Initialization
    p_min: float
    p_max: float
    mutation: Mutation
    step: Step
    p_recombine: float
    p_recombine_gene: float
    p_recombine_keep: float
    p_mutate: float
    p_mutate_gene: float
    p_mutate_keep: float
    prove: bool


@dataclass(frozen=True, kw_only=True, init=False)
class Search:
    """How to search: makes `Explore`, `NSGA2` or `RandomSearch`, all of which are a `Search`.

    `method` says which. Without it, a setting that only `NSGA2` has chooses `NSGA2`, and else it is
    `Explore`. A setting that the method does not have is refused.

    Parameters
    ----------
    method : {"explore", "nsga2", "random"}, optional
        `Explore`, our own search, whose population is the archive; `NSGA2`, the paper's
        evolutionary search; or `RandomSearch`, its baseline.
    evaluations : int, optional
        Rows the model may be asked to explain one row, everything included: the row itself,
        ICE curves, initial population. None leaves the end to `generations`.
    generations : int, optional
        Generations after the initial population. None means 175, or with `evaluations` as many
        as the budget allows.
    population : int, optional
        Candidates made per generation; `Explore` has another default than the others.
    patience : int, optional
        Stop after this many generations that did not improve the archive's hypervolume, nor, with
        `Explore`, found a new way; 50 if it is not given, and None has no end.
    seconds : float, optional
        Stop after this time and return the best so far.
    effort : {"quick", "normal", "thorough"}, optional
        In place of `evaluations`: 880, as by default, or 14,080.
    prove : bool, optional
        Of `Explore`: whether a solver proves what it can.
    epsilon, initialization, p_min, … : optional
        The settings of `NSGA2`.

    Examples
    --------
    >>> type(Search(evaluations=3520)).__name__
    'Explore'
    >>> Search.paper("moc").initialization
    'random'
    """

    method: Method = field(repr=False)
    evaluations: int | None = None
    generations: int | None = None
    population: int = 20
    patience: int | None = 50
    seconds: float | None = None
    effort: InitVar[Effort | None] = None
    # What follows from the settings is told once, when they are made. It is no setting: a name
    # without an annotation is no field.
    most_candidates = PAPER_BUDGET  # the most candidates one row's search can evaluate
    first_generation = 20  # how many candidates the first generation has
    _first_share = 1  # of a population that is no smaller than this: what part that is

    def __new__(cls, **settings: Unpack[SearchSettings]) -> Search:
        """Make the settings of the method that these belong to."""
        made = _class_of(settings) if cls is Search else cls
        _refuse_others(made, list(settings))
        return object.__new__(made)

    def __post_init__(self, effort: Effort | None) -> None:
        own: Method = _default(type(self), "method")
        if effort is not None:
            check_choice("Search.effort", effort, tuple(EFFORTS))
            if (self.evaluations, self.generations) != (None, None):
                raise InvalidInput("Search.effort stands for evaluations or generations; give one.")
            object.__setattr__(self, "evaluations", EFFORTS[effort])
        if cast(Method | None, self.method) is None:  # which is how `Search` is told to choose
            object.__setattr__(self, "method", own)
        check_choice("Search.method", self.method, (own,))
        check_choice("Search.prove", getattr(self, "prove", False), (False, True))
        for name, (least, most) in _WHOLE.items():
            if (value := getattr(self, name)) is not None or name == "population":
                check_whole(f"Search.{name}", value, least, most)
        if self.seconds is not None:
            check_number("Search.seconds", self.seconds, 0.0, finite=False)
        first = max(1, self.population // self._first_share)
        object.__setattr__(self, "first_generation", first)
        object.__setattr__(self, "most_candidates", self._count_most())
        if self.evaluations is not None and self.evaluations <= first:
            raise InvalidInput(
                f"Search.evaluations must exceed the first generation of {first} "
                f"(the row itself is asked too), got {self.evaluations}; raise it or lower "
                "population."
            )

    @overload
    @staticmethod
    def paper(variant: Literal["random"]) -> RandomSearch: ...
    @overload
    @staticmethod
    def paper(variant: Literal["mocmod", "moc", "mocice", "moccond"] = "mocmod") -> NSGA2: ...
    @overload
    @staticmethod
    def paper(variant: Variant) -> NSGA2 | RandomSearch: ...
    @staticmethod
    def paper(variant: Variant = "mocmod") -> NSGA2 | RandomSearch:
        """Return one of the five published configurations.

        Parameters
        ----------
        variant : {"mocmod", "moc", "mocice", "moccond", "random"}, default="mocmod"
            "moc" starts at random and mutates by Gaussian steps; "mocice" starts from ICE curves;
            "moccond" mutates conditionally; "mocmod" does both; "random" is the baseline.

        Returns
        -------
        NSGA2 or RandomSearch
            Population 20, 175 generations after the initial one, epsilon 0.
        """
        check_choice("Search.paper(variant)", variant, get_args(Variant))
        if variant == "random":
            return RandomSearch(generations=PAPER_GENERATIONS, patience=None)
        return NSGA2(
            generations=PAPER_GENERATIONS,
            patience=None,
            initialization="ice" if variant in ("mocice", "mocmod") else "random",
            mutation="conditional" if variant in ("moccond", "mocmod") else "gaussian",
        )

    def with_(self, **changes: Unpack[SearchSettings]) -> Search:
        """Return the same settings with some replaced, checked again.

        It is `Search` with the changes and with all settings that differ from their defaults. So a
        method can be replaced, too: what was at its default then has that of the new method.

        Examples
        --------
        >>> Search(evaluations=900).with_(method="random")
        RandomSearch(evaluations=900, generations=None, population=20, patience=50, seconds=None)
        """
        known = {each.name: getattr(self, each.name) for each in fields(self)}
        given = {n: value for n, value in known.items() if value != _default(type(self), n)}
        if not isinstance(self, Explore) and "method" not in changes:
            given["method"] = self.method
        return Search(**cast(SearchSettings, {**given, **changes}))

    def continued(self, more: int, n_asked: int, stopped: str) -> Search:
        """Return the settings of a search that goes on for `more` evaluations.

        It had `n_asked` answers, the row's own included, and ended for the reason `stopped`.
        """
        budget = self.evaluations if self.evaluations and stopped == "budget" else n_asked
        return self.with_(
            evaluations=budget + more,
            generations=None,
            seconds=None,
            patience=None if stopped == "patience" else self.patience,
        )

    def _count_most(self) -> int:
        """Return the most candidates one row's search can evaluate."""
        if self.evaluations is not None:
            return self.evaluations
        if self.generations is None:
            return PAPER_BUDGET
        return (1 + self.generations) * self.population

    def last_generation(self, asked: Ints) -> Ints:
        """Return the last generation of each row, given the rows its start has asked (r,)."""
        wanted = self.generations
        if wanted is None:
            wanted = PAPER_GENERATIONS if self.evaluations is None else MAX_GENERATIONS
        if self.evaluations is None:
            return np.full(len(asked), wanted)
        return np.minimum(wanted, (self.evaluations - asked) // self.population)


@dataclass(frozen=True, kw_only=True)
class Explore(Search):
    """The default search: an evolutionary search whose population is the archive.

    Parameters
    ----------
    method : {"explore"}, default="explore"
        The name `Search` knows it by.
    evaluations, generations, patience, seconds : optional
        When to stop; see `Search`. With `prove`, `seconds` are the solver's, too.
    population : int, default=24
        Candidates made per generation; in the first 24 generations a third of it.
    prove : bool, default=False
        Whether a solver completes the search and proves what it can, as `Exact` does.

    Examples
    --------
    >>> Explore(evaluations=3520, patience=None, prove=True).population
    24
    """

    method: Literal["explore"] = field(default="explore", repr=False)
    population: int = 24
    prove: bool = False
    _first_share = 3


@dataclass(frozen=True, kw_only=True)
class NSGA2(Search):
    """The paper's search: NSGA-II as changed by Dandl et al. (2020).

    The defaults are the configuration tuned by iterated F-racing in the paper's appendix ("mocmod";
    three digits from the authors' stored configuration).

    Parameters
    ----------
    method : {"nsga2"}, default="nsga2"
        The name `Search` knows it by.
    evaluations, generations, patience, seconds : optional
        When to stop; see `Search`.
    population : int, default=20
        Candidates made per generation, and kept (mu and lambda of the paper).
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
    p_recombine, p_recombine_gene, p_recombine_keep : float, default=0.57, 0.849, 0.878
        Probabilities that a pair of parents recombines; that a feature of such a pair does; and
        that the pair's use-original indicators of a feature are swapped.
    p_mutate, p_mutate_gene : float, default=0.794, 0.557
        Probabilities that a child mutates, and that a feature of such a child does.
    p_mutate_keep : float, default=0.317
        Half the probability that a use-original indicator of a mutating child is redrawn.

    Examples
    --------
    >>> NSGA2(generations=10) == Search(method="nsga2", generations=10)
    True
    """

    method: Literal["nsga2"] = field(default="nsga2", repr=False)
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

    def __post_init__(self, effort: Effort | None) -> None:
        super().__post_init__(effort)
        for name, options in _CHOICES.items():
            check_choice(f"Search.{name}", getattr(self, name), options)
        for each in fields(self):
            if each.name.startswith("p_"):
                check_number(f"Search.{each.name}", getattr(self, each.name), 0.0, 1.0)
        check_number("Search.p_mutate_keep", self.p_mutate_keep, 0.0, 0.5)
        if self.p_min > self.p_max:
            raise InvalidInput(
                f"Search.p_min must not exceed p_max, got {self.p_min} and {self.p_max}."
            )
        if self.epsilon is not None:
            check_number("Search.epsilon", self.epsilon, 0.0, finite=False)

    def continued(self, more: int, n_asked: int, stopped: str) -> Search:  # noqa: ARG002
        """Return the settings of a search that goes on for `more` evaluations; see `Search`."""
        if self.evaluations is not None:
            raise InvalidInput(
                "a search by 'nsga2' whose budget is given in evaluations may start differently "
                "with a larger budget, so it cannot be continued; give its budget in generations."
            )
        done = PAPER_GENERATIONS if self.generations is None else self.generations
        return self.with_(
            generations=done + more // self.population,
            seconds=None,
            patience=None if stopped == "patience" else self.patience,
        )

    @property
    def most_ice_points(self) -> int | None:
        """The most rows ICE curves may ask: half of a budget, or any number without one.

        The row itself and the initial population are asked too and come first.
        """
        if self.evaluations is None:
            return None
        return min(self.evaluations // 2, self.evaluations - 1 - self.population)


@dataclass(frozen=True, kw_only=True)
class RandomSearch(Search):
    """The paper's random baseline: candidates drawn from the box, half of their features kept.

    Parameters
    ----------
    method : {"random"}, default="random"
        The name `Search` knows it by.
    evaluations, generations, patience, seconds : optional
        When to stop; see `Search`.
    population : int, default=20
        Candidates drawn per generation.

    Examples
    --------
    >>> RandomSearch(evaluations=2000).most_candidates
    2000
    """

    method: Literal["random"] = field(default="random", repr=False)


@dataclass(frozen=True, kw_only=True)
class WhatIf:
    """Instead of searching, take the nearest observed rows that have the wanted prediction.

    The paper's baseline, after the What-If Tool (Wexler et al. 2019). It asks the model about the
    explained row only: the observed rows were scored when the explainer was made.

    Parameters
    ----------
    n : int, default=1
        How many observed rows: the nearest of those within the limits, repeated ones once. The
        column `observed` of `to_frame` says which they are, by the data's index.

    Examples
    --------
    >>> WhatIf(n=10)
    WhatIf(n=10)
    """

    n: int = 1

    def __post_init__(self) -> None:
        check_whole(f"{type(self).__name__}.n", self.n, 1)

    @property
    def most_candidates(self) -> int:
        """The most candidates of one row."""
        return self.n


METHODS: dict[str, type[Search]] = {"explore": Explore, "nsga2": NSGA2, "random": RandomSearch}
_CHOICES: dict[str, tuple[str, ...]] = {
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


def _class_of(settings: SearchSettings) -> type[Search]:
    """Return the class that `Search` makes of these settings: this is the one rule."""
    method = settings.get("method")
    if method is None:
        is_papers = any(name in _names(NSGA2) - _names(Explore) for name in settings)
        method = "nsga2" if is_papers else "explore"
    check_choice("Search.method", method, tuple(METHODS))
    return METHODS[method]


def _refuse_others(made: type[Search], names: list[str]) -> None:
    """Refuse settings that a class does not have, with the method that has them."""
    for name in names:
        if name in _names(made):
            continue
        for method, other in METHODS.items():
            if name in _names(other):
                raise InvalidInput(
                    f"Search.{name} is a setting of method {method!r}, which "
                    f"{_default(made, 'method')!r} does not look at; leave it out, or leave out "
                    "method."
                )
        known = list(dict.fromkeys(each.name for kind in METHODS.values() for each in fields(kind)))
        hint = did_you_mean(name, known) or f"the settings are {listed(known, 99)}."
        raise InvalidInput(f"Search has no setting {name!r}; {hint}")


def _names(made: type[Search]) -> set[str]:
    """Return the names of a method's settings."""
    return {each.name for each in fields(made)} | {"effort"}


def _default(made: type[Search], name: str) -> Any:
    """Return the default of one of a method's settings."""
    return next(each.default for each in fields(made) if each.name == name)
