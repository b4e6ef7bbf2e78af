"""Who enters a race: at first anyone, later configurations like the elites, ever more so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from scipy.special import ndtr, ndtri

from benchmarks.racing.draws import Part, pick, uniform
from benchmarks.racing.space import (
    Choice,
    Configuration,
    Parameter,
    Space,
    Value,
    is_similar,
    text_of,
)

SIMILAR = 1e-4  # share of a range below which two numbers are the same; irace's default


@dataclass(frozen=True)
class Belief:
    """How the descendants of a configuration are drawn.

    Attributes
    ----------
    spread : float
        Standard deviation of numbers, as a share of half their range.
    shares : dict of name to list of float
        For each choice the probabilities of its options.
    """

    spread: float
    shares: Mapping[str, list[float]]

    @classmethod
    def at_first(cls, space: Space) -> Belief:
        """Return the belief before anything is known: half the range, all options alike."""
        choices = {n: p.options for n, p in space.items() if isinstance(p, Choice)}
        return cls(1.0, {n: [1 / len(options)] * len(options) for n, options in choices.items()})

    def sharpened(self, space: Space, values: Configuration, progress: float, n_new: int) -> Belief:
        """Return the belief of an elite with these values, narrower than it was.

        Parameters
        ----------
        space : dict of name to parameter
            What is tuned; d parameters.
        values : dict of name to value
            The elite's.
        progress : float
            Share of the iterations that are over: weight of the elite's own options.
        n_new : int
            Configurations about to be drawn; the spread shrinks by (1 / n_new) ** (1 / d).
        """
        d = len(space)
        most = 0.2 ** (1 / d)  # no option may become so likely that no other is ever tried
        shares = {}
        for name, before in self.shares.items():
            own = _options(space, name).index(str(values[name]))
            moved = [p * (1 - progress) + progress * (i == own) for i, p in enumerate(before)]
            capped = [min(p, most) for p in moved]
            shares[name] = [p / sum(capped) for p in capped]
        return Belief(self.spread * (1 / n_new) ** (1 / d), shares)

    def relaxed(self, space: Space, n_new: int) -> Belief:
        """Return the belief of a soft restart: two iterations wider, never as wide as at first."""
        d = len(space)
        shares = {}
        for name, before in self.shares.items():
            raised = [0.9 * p + 0.1 * max(before) for p in before]
            shares[name] = [p / sum(raised) for p in raised]
        widest = (1 / n_new) ** (1 / d)
        return Belief(min(self.spread * n_new ** (2 / d), max(self.spread, widest)), shares)


@dataclass(frozen=True)
class Candidate:
    """A configuration in a race: its number, its values, and how its descendants are drawn."""

    number: int
    values: Configuration
    belief: Belief


def first_candidates(space: Space, n: int, seed: int) -> list[Candidate]:
    """Return up to n different configurations drawn uniformly; fewer if draws coincide."""
    belief = Belief.at_first(space)
    drawn = [
        {name: _anywhere(p, uniform(seed, "first", i, name)) for name, p in space.items()}
        for i in range(n)
    ]
    return [Candidate(i, values, belief) for i, values in enumerate(_distinct([], drawn))]


def next_candidates(
    space: Space, elites: Sequence[Candidate], n_new: int, first_number: int, address: list[Part]
) -> tuple[list[Candidate], bool]:
    """Return elites and up to n_new new configurations around them, and whether it restarted.

    If some configurations are nearly the same, the beliefs they came from are relaxed and all new
    ones drawn again, once (irace's soft restart). Exact copies are left out.

    Parameters
    ----------
    space : dict of name to parameter
        What is tuned.
    elites : sequence of Candidate
        From best to worst, their beliefs sharpened.
    n_new : int
        How many to draw.
    first_number : int
        Number of the first new configuration.
    address : list
        Seed and iteration, where the draws are.
    """
    parents = [_parent(len(elites), [*address, "parent", i]) for i in range(n_new)]
    drawn = _children(space, elites, parents, [*address, "draw"])
    alike = _too_similar(space, [e.values for e in elites] + drawn)
    if alike:
        n = len(elites)
        blamed = {parents[i - n] if i >= n else i for i in alike}
        elites = [
            replace(e, belief=e.belief.relaxed(space, n_new)) if i in blamed else e
            for i, e in enumerate(elites)
        ]
        drawn = _children(space, elites, parents, [*address, "again"])
    fresh = _distinct([e.values for e in elites], drawn)
    origin = {text_of(values): parent for values, parent in zip(drawn, parents, strict=True)}
    new = [
        Candidate(first_number + i, values, elites[origin[text_of(values)]].belief)
        for i, values in enumerate(fresh)
    ]
    return [*elites, *new], bool(alike)


def around(
    parameter: Parameter, value: Value, shares: list[float], spread: float, u: float
) -> Value:
    """Return a value near another: truncated normal for numbers, by probabilities for choices.

    Parameters
    ----------
    parameter : Whole, Real or Choice
        What is drawn.
    value : int, float or str
        The parent's.
    shares : list of float
        Of a choice: probabilities of the options.
    spread : float
        Of a number: standard deviation as a share of half the range.
    u : float
        A draw in [0, 1).
    """
    if isinstance(parameter, Choice):
        return parameter.options[pick(shares, u)]
    low, high = parameter.span
    deviation, centre = spread * (high - low) / 2, parameter.centre(value)
    below, above = ndtr((low - centre) / deviation), ndtr((high - centre) / deviation)
    return parameter.at(centre + deviation * float(ndtri(below + u * (above - below))))


def _anywhere(parameter: Parameter, u: float) -> Value:
    """Return the value at a draw, all values alike."""
    if isinstance(parameter, Choice):
        return parameter.options[int(u * len(parameter.options))]
    low, high = parameter.span
    return parameter.at(low + u * (high - low))


def _children(
    space: Space, elites: Sequence[Candidate], parents: list[int], address: list[Part]
) -> list[Configuration]:
    """Return a configuration around each parent."""
    children: list[Configuration] = []
    for i, parent in enumerate(parents):
        elite = elites[parent]
        children.append(
            {
                name: around(
                    parameter,
                    elite.values[name],
                    elite.belief.shares.get(name, []),
                    elite.belief.spread,
                    _at([*address, i, name]),
                )
                for name, parameter in space.items()
            }
        )
    return children


def _parent(n: int, address: list[Part]) -> int:
    """Return the place of an elite; the best is n times as likely as the last."""
    return pick([float(n - i) for i in range(n)], _at(address))


def _at(address: list[Part]) -> float:
    """Return the draw at an address that begins with the seed."""
    return uniform(int(address[0]), *address[1:])


def _too_similar(space: Space, configurations: list[Configuration]) -> set[int]:
    """Return the places of configurations that nearly repeat another one."""
    found: set[int] = set()
    for i, one in enumerate(configurations):
        for j in range(i):
            if is_similar(space, one, configurations[j], SIMILAR):
                found |= {i, j}
    return found


def _distinct(known: list[Configuration], drawn: Sequence[Configuration]) -> list[Configuration]:
    """Return those drawn that repeat neither a known one nor each other, in order."""
    seen = {text_of(values) for values in known}
    fresh = []
    for values in drawn:
        if text_of(values) not in seen:
            seen.add(text_of(values))
            fresh.append(values)
    return fresh


def _options(space: Space, name: str) -> tuple[str, ...]:
    """Return the options of a choice."""
    parameter = space[name]
    assert isinstance(parameter, Choice)
    return parameter.options
