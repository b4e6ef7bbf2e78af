"""Ruling: the caller's rules as they bind the rows of one search."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from counterpoint.arrays import Bools, Floats, Ints
from counterpoint.errors import InvalidInput
from counterpoint.problem.limits import Box
from counterpoint.problem.rules.core import Count
from counterpoint.problem.rules.fence import Fences
from counterpoint.problem.rules.program import Program, compile_rules
from counterpoint.problem.rules.rules import Rules
from counterpoint.table.space import Space


@dataclass(frozen=True)
class Ruling:
    """Rules, what kernels run to repair candidates, and where each of r rows must stay.

    Parameters
    ----------
    rules : Rules
        The rules; what they say of a candidate is the last word.
    program : Program
        The written ones for kernels, with the most features that may change.
    fences : Fences
        The values left to the features of each row.
    """

    rules: Rules
    program: Program
    fences: Fences

    @classmethod
    def of(
        cls, rules: Rules, rows: Floats, box: Box, space: Space, max_changed: int
    ) -> tuple[Box, Ruling]:
        """Return the boxes of rows (r, d) within the rules, and the ruling on them.

        Raises
        ------
        InvalidInput
            If the rules contradict each other or the limits, or nothing could change.
        """
        narrowed, fences = rules.narrow(rows, box, space)
        if not (narrowed.may_change | narrowed.is_forced).any(axis=1).all():
            raise InvalidInput(
                "constraints and limits leave every feature at the row's value, so nothing could "
                "change; drop a rule."
            )
        d = rows.shape[1]
        count = (Count(max_changed, tuple(range(d))),) if max_changed < d else ()
        return narrowed, cls(rules, compile_rules((*rules.reduced, *count), rules.blur), fences)

    def of_rows(self, which: Ints) -> Ruling:
        """Return the ruling on some of the rows only."""
        return replace(self, fences=self.fences.of_rows(which))

    def holds(self, genomes: Floats, rows: Floats) -> Bools:
        """Return for which of the genomes (r, n, d) of rows (r, d) all written rules hold."""
        answers = np.ones(genomes.shape[:2], dtype=np.bool_)
        for a, row in enumerate(rows):
            answers[a] = self.rules.holds(genomes[a], row)
        return answers
