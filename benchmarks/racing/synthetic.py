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
SPACES: dict[Kind, Space] = {
    "bowl": {"x": Real(-1.0, 1.0), "y": Real(-1.0, 1.0), "n": Whole(1, 40)},
    "level": {"kind": Choice(("a", "b", "c", "d", "e", "f")), "x": Real(0.0, 1.0)},
    "interaction": {"kind": Choice(("up", "down")), "x": Real(0.0, 1.0), "y": Real(0.0, 1.0)},
}


@dataclass(frozen=True)
class Problem:
    """A cost function of one kind.

    Parameters
    ----------
    kind : {"bowl", "level", "interaction"}
        A quadratic bowl; a choice with one good option and a number; or a choice that decides at
        which end the number x is good.
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
        x = float(values["x"])
        if self.kind == "bowl":
            y, n = float(values["y"]), int(values["n"])
            return (x - 0.3) ** 2 + (y + 0.6) ** 2 + ((n - 12) / 40) ** 2
        if self.kind == "level":
            return (0.0 if values["kind"] == "d" else 0.4) + (x - 0.8) ** 2
        wanted = 0.9 if values["kind"] == "up" else 0.1
        worse = 0.0 if values["kind"] == "up" else 0.1
        return worse + (x - wanted) ** 2 + (float(values["y"]) - x) ** 2


def random_search(problem: Problem, n_instances: int, budget: int, seed: int) -> Configuration:
    """Return the best on average of random configurations, each run on the same five instances."""
    from benchmarks.racing.sampling import first_candidates

    chosen = shuffled(seed, n_instances, "baseline")[:5]
    drawn = first_candidates(SPACES[problem.kind], budget // len(chosen), seed)
    return min(
        (c.values for c in drawn),
        key=lambda values: sum(problem(values, i, seed) for i in chosen),
    )
