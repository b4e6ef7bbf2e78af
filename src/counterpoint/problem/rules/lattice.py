"""Evenly spaced points, in exact arithmetic: grids of steps that meet are solved, not guessed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction


def exact(value: float) -> Fraction:
    """Return the decimal number that `value` stands for.

    Examples
    --------
    >>> exact(0.1)
    Fraction(1, 10)
    """
    return Fraction(repr(float(value)))


@dataclass(frozen=True)
class Lattice:
    """The points a whole number of steps from an origin.

    Examples
    --------
    >>> sixes, grid = Lattice.of(4.5, 6.0), Lattice.of(0.0, 1.0)
    >>> sixes.meet(grid) is None
    True
    >>> even = Lattice.of(4.5, 1.5).meet(grid)
    >>> even.ceil(5.0), even.floor(5.0)
    (6.0, 3.0)
    """

    origin: Fraction
    step: Fraction

    @classmethod
    def of(cls, origin: float, step: float) -> Lattice:
        """Return the points from an origin, both read as decimal numbers."""
        return cls(exact(origin), exact(step))

    def meet(self, other: Lattice) -> Lattice | None:
        """Return the points of both, or None if there are none."""
        parts = (self.origin, self.step, other.origin, other.step)
        unit = math.lcm(*(part.denominator for part in parts))
        origin, step, other_origin, other_step = (int(part * unit) for part in parts)
        shared = math.gcd(step, other_step)
        apart, rest = divmod(other_origin - origin, shared)
        if rest:
            return None
        # origin + n * step is a point of the other where n solves a linear congruence
        modulus = other_step // shared
        n = apart * pow(step // shared, -1, modulus) % modulus
        return Lattice(Fraction(origin + n * step, unit), Fraction(step * modulus, unit))

    def floor(self, value: float, *, is_strict: bool = False) -> float:
        """Return the last point up to `value`, or before it."""
        n = (exact(value) - self.origin) / self.step
        return self.point(math.ceil(n) - 1 if is_strict else math.floor(n))

    def ceil(self, value: float, *, is_strict: bool = False) -> float:
        """Return the first point from `value` on, or after it."""
        n = (exact(value) - self.origin) / self.step
        return self.point(math.floor(n) + 1 if is_strict else math.ceil(n))

    def point(self, n: int) -> float:
        """Return the point n steps from the origin."""
        return float(self.origin + n * self.step)

    def has(self, value: float, slack: float) -> bool:
        """Whether `value` is a point, or within a share `slack` of a step from one."""
        n = (exact(value) - self.origin) / self.step
        return abs(n - round(n)) <= slack
