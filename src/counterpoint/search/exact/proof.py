"""Proof: what is known of the best counterfactuals that exist, as plain data."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from counterpoint.arrays import Bools, Floats
from counterpoint.table.values import counted

Status = Literal["optimal", "within", "none", "unknown"]
CLOSE = 1e-9  # a bound this near to the value, as a share of it, is the value


@dataclass(frozen=True)
class Claim:
    """What was found, and below what nothing can be found.

    Examples
    --------
    >>> for bound in (0.25, 0.2, 0.0):
    ...     print(Claim(0.25, bound))
    0.25, optimal
    0.25, within 25 %
    0.25, unknown
    """

    value: float  # the least that was found; infinite if nothing was
    bound: float  # nothing below it exists; infinite if nothing exists at all, 0 if nobody knows

    @classmethod
    def of(cls, value: float, bound: float) -> Claim:
        """Return the claim with a bound that is the value where both are close, or it is larger."""
        is_met = np.isfinite(value) and bound >= value * (1.0 - CLOSE)
        return cls(value, value if is_met else bound)

    @property
    def status(self) -> Status:
        """What is known: "optimal", "within" some share of the optimum, "none", or "unknown"."""
        if np.isinf(self.bound):
            return "none"
        if np.isinf(self.value):
            return "unknown"
        if self.bound >= self.value:
            return "optimal"
        return "within" if self.bound > 0.0 else "unknown"

    @property
    def gap(self) -> float:
        """How far the value may be from the optimum, as a share of it; infinite if unknown."""
        match self.status:
            case "optimal" | "none":
                return 0.0
            case "within":
                return self.value / self.bound - 1.0
            case _:
                return float("inf")

    def is_met_by(self, value: float) -> bool:
        """Whether a value is proved to be the least there is."""
        return bool(0.0 < self.bound < np.inf and value <= self.bound * (1.0 + CLOSE))

    def __str__(self) -> str:
        match self.status:
            case "none":
                return "none exists"
            case "within":
                return f"{self.value:.6g}, within {100.0 * self.gap:.3g} %"
            case _:
                found = "nothing found" if np.isinf(self.value) else f"{self.value:.6g}"
                return f"{found}, {self.status}"


UNKNOWN = Claim(float("inf"), 0.0)


@dataclass(frozen=True)
class Proof:
    """What is proved of the counterfactuals of one row.

    Distances are compared in the solver's arithmetic: "optimal" says that its bound meets the value
    within a share of 1e-9.

    Parameters
    ----------
    nearest : Claim
        The least distance of all counterfactuals within the limits.
    fewest : Claim
        The least number of changes.
    by_changes : mapping of int to Claim
        The least distance with at most so many changes, from the fewest that is known to the
        changes of the nearest.
    ways : mapping of tuple to Claim
        The least distance of each way that was found, by its features.
    minimal : frozenset of tuple
        The ways no part of which is a way, as far as that is proved.
    reason : str
        Why something is not known; empty if all is.

    Examples
    --------
    >>> print(Proof(Claim(0.25, 0.25), Claim(1.0, 1.0), {1: Claim(0.25, 0.25)}))
    nearest: 0.25, optimal
    fewest changes: 1, optimal
    with at most 1: 0.25, optimal
    """

    nearest: Claim = UNKNOWN
    fewest: Claim = UNKNOWN
    by_changes: Mapping[int, Claim] = field(default_factory=dict)
    ways: Mapping[tuple[Hashable, ...], Claim] = field(default_factory=dict)
    minimal: frozenset[tuple[Hashable, ...]] = frozenset()
    reason: str = ""

    def of_all(self, distances: Floats, changes: Floats) -> str:
        """Say what is proved of counterfactuals with these distances and changes, (n,) each.

        Examples
        --------
        >>> proof = Proof(Claim(0.25, 0.25), Claim(2.0, 1.0))
        >>> proof.of_all(np.array([0.25, 0.5]), np.array([2.0, 3.0]))
        'proved: no nearer counterfactual exists'
        >>> proof.of_all(np.array([0.5]), np.array([1.0]))
        'proved: at most 100 % farther than the nearest there is, and none changes fewer features'
        """
        if self.nearest.status == "none":
            return "proved: no counterfactual exists within the limits"
        said, nearest = [], float(distances.min(initial=np.inf))
        if self.nearest.is_met_by(nearest):
            said.append("no nearer counterfactual exists")
        elif self.nearest.bound > 0.0 and np.isfinite(nearest):
            share = 100.0 * (nearest / self.nearest.bound - 1.0)
            said.append(f"at most {share:.3g} % farther than the nearest there is")
        if self.fewest.is_met_by(float(changes.min(initial=np.inf))):
            said.append("none changes fewer features")
        return f"proved: {', and '.join(said)}" if said else "nothing is proved"

    def of_rows(
        self, names: Sequence[Hashable], changed: Bools, distances: Floats
    ) -> tuple[str, ...]:
        """Say what is proved of each counterfactual, by what changes (n, d); or infinitely far."""
        sets = [tuple(names[j] for j in np.flatnonzero(each).tolist()) for each in changed]
        return tuple(map(self._of_row, sets, distances.tolist()))

    def _of_row(self, features: tuple[Hashable, ...], distance: float) -> str:
        """Say what is proved of one counterfactual."""
        said, n = [], len(features)
        if np.isinf(distance):
            return ""
        if self.nearest.is_met_by(distance):
            said.append("no nearer counterfactual exists")
        elif self.by_changes.get(n, UNKNOWN).is_met_by(distance):
            said.append(f"none is nearer with at most {counted(n, 'change')}")
        elif self.ways.get(features, UNKNOWN).is_met_by(distance):
            said.append("none is nearer that changes the same features")
        if self.fewest.is_met_by(n):
            said.append("none changes fewer features")
        return "; ".join(said)

    def __str__(self) -> str:
        lines = [f"nearest: {self.nearest}", f"fewest changes: {self.fewest}"]
        lines += [f"with at most {n}: {claim}" for n, claim in self.by_changes.items()]
        lines += [
            f"{' + '.join(map(str, names))}: {claim}"
            + (", no part of it is a way" if names in self.minimal and len(names) > 1 else "")
            for names, claim in self.ways.items()
        ]
        return "\n".join([*lines, self.reason] if self.reason else lines)
