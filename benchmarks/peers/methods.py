"""Methods: what is compared, and what each did."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version

from benchmarks.peers.scoring import Score
from benchmarks.peers.subjects import Explain


@dataclass(frozen=True)
class Method:
    """One way to explain a row: a package, the module that wires it, and a setting of it."""

    name: str
    package: str
    module: str
    setting: str = ""

    @property
    def version(self) -> str:
        """The installed version of the package."""
        try:
            return version(self.package)
        except PackageNotFoundError:
            return "not installed"


METHODS = (
    Method("counterpoint, default", "counterpoint", "with_counterpoint", "default"),
    Method("counterpoint, 500 evaluations", "counterpoint", "with_counterpoint", "brief"),
    Method("counterpoint, paper's mocmod", "counterpoint", "with_counterpoint", "mocmod"),
    Method("counterpoint, WhatIf", "counterpoint", "with_counterpoint", "whatif"),
    Method("DiCE random", "dice-ml", "with_dice", "random"),
    Method("DiCE genetic", "dice-ml", "with_dice", "genetic"),
    Method("DiCE kd-tree", "dice-ml", "with_dice", "kdtree"),
    Method("NICE sparsity", "NICEx", "with_nice", "sparsity"),
    Method("NICE proximity", "NICEx", "with_nice", "proximity"),
    Method("CFNOW random, limit 5 s", "cfnow", "with_cfnow", "random"),
    Method("CFNOW greedy, limit 5 s", "cfnow", "with_cfnow", "greedy"),
    # Two settings, because neither is the better one in both time and hypervolume.
    Method("pymoo NSGA-II by hand, reset 0.5", "pymoo", "with_pymoo", "0.5"),
    Method("pymoo NSGA-II by hand, reset 0.9", "pymoo", "with_pymoo", "0.9"),
)


@dataclass
class Runs:
    """What one method did on one subject; lists have an entry per row."""

    method: Method
    explain: Explain | None = None
    first_seconds: float = 0.0
    seconds: list[float | None] = field(default_factory=list)
    scores: list[Score] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
