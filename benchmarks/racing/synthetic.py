"""Problems whose best configuration is known, to see whether a tuning finds it.

Instances differ in difficulty (a shift and a scale of their own) and runs are noisy, so costs can
be compared on the same instance only. `excess` is what a configuration costs more than the best
on average, noise apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from scipy.special import ndtri

from benchmarks.racing.draws import shuffled, uniform
from benchmarks.racing.space import Choice, Configuration, Real, Space, Whole, text_of

Kind = Literal["bowl", "level", "interaction"]
UNIT = Real(0.0, 1.0)
SPACES: dict[Kind, Space] = {
    "bowl": {"x": UNIT, "y": UNIT, "z": UNIT, "w": UNIT, "n": Whole(1, 40)},
    "level": {"kind": Choice(("a", "b", "c", "d", "e", "f")), "x": UNIT, "y": UNIT, "z": UNIT},
    "interaction": {"kind": Choice(("up", "down")), "x": UNIT, "y": UNIT, "z": UNIT, "w": UNIT},
}
BEST = {"x": 0.65, "y": 0.2, "z": 0.9, "w": 0.4}


@dataclass(frozen=True)
class Problem:
    """A cost function of one kind.

    Parameters
    ----------
    kind : {"bowl", "level", "interaction"}
        A quadratic bowl; a choice with one good option; or a choice that decides where the number
        x is good, and x where y is.
    noise : float, default=0.05
        Standard deviation of a run's noise, before the instance's scale.
    """

    kind: Kind
    noise: float = 0.05

    def __call__(self, values: Configuration, instance: int, seed: int) -> float:
        """Return the cost of a run."""
        shift = 10.0 * uniform(instance, "shift")
        scale = 0.5 + 4.5 * uniform(instance, "scale")
        luck = float(ndtri(uniform(seed, "noise", instance, text_of(values)) + 2.0**-54))
        return shift + scale * (self.excess(values) + self.noise * luck)

    def excess(self, values: Configuration) -> float:
        """Return what a configuration costs more than the best, which costs 0."""
        numbers = {name: float(values[name]) for name in BEST if name in values}
        far = {name: (number - BEST[name]) ** 2 for name, number in numbers.items()}
        if self.kind == "bowl":
            return sum(far.values()) + ((int(values["n"]) - 12) / 40) ** 2
        if self.kind == "level":
            return sum(far.values()) + (0.0 if values["kind"] == "d" else 0.4)
        is_up = values["kind"] == "up"
        far["x"] = (numbers["x"] - (0.9 if is_up else 0.1)) ** 2
        far["y"] = (numbers["y"] - numbers["x"]) ** 2
        return sum(far.values()) + (0.0 if is_up else 0.2)


def random_search(problem: Problem, n_instances: int, budget: int, seed: int) -> Configuration:
    """Return the best on average of random configurations, each run on the same five instances."""
    from benchmarks.racing.sampling import first_candidates

    chosen = shuffled(seed, n_instances, "baseline")[:5]
    drawn = first_candidates(SPACES[problem.kind], budget // len(chosen), seed)
    return min(
        (c.values for c in drawn),
        key=lambda values: sum(problem(values, i, seed) for i in chosen),
    )
