"""Every compared method behind one adapter: `Method.explain(case)` returns a frame of rows.

A method that finds nothing returns no rows. One that cannot be used with a model raises
`NotApplicable`. Ours and random search return Pareto sets, with rows that miss the target, too;
all others return only what reaches it, but for DiCE and NICEx, whose rows come as the packages
give them.
"""

from __future__ import annotations

from benchmarks.methods import ours, packages
from benchmarks.methods.case import Background, Case, Method, NotApplicable
from benchmarks.methods.nice import Nice
from benchmarks.methods.recourse import Recourse
from benchmarks.methods.spheres import GrowingSpheres
from benchmarks.methods.tweaking import Tweaking

__all__ = ["METHODS", "Background", "Case", "Method", "NotApplicable"]

_ALL: tuple[Method, ...] = (
    ours.DEFAULT,
    *ours.VARIANTS,
    ours.WHAT_IF,
    Recourse(),
    Tweaking(),
    Nice("none"),
    Nice("sparsity"),
    Nice("proximity"),
    GrowingSpheres(),
    packages.DICE_RANDOM,
    packages.DICE_GENETIC,
    packages.DICE_TREE,
    packages.NICEX_SPARSITY,
    packages.NICEX_PROXIMITY,
)
METHODS: dict[str, Method] = {method.name: method for method in _ALL}
