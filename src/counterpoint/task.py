"""Task: rows to explain, checked and encoded, and what is asked of them."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from counterpoint.arrays import Floats
from counterpoint.errors import InvalidInput
from counterpoint.evolution.baselines import WhatIf
from counterpoint.evolution.search import Search
from counterpoint.problem.limits import Limits, search_box
from counterpoint.problem.rules.rules import Rules
from counterpoint.problem.ruling import Ruling
from counterpoint.problem.target import Target
from counterpoint.table.space import Space


@dataclass(frozen=True)
class Task:
    """Rows to explain, checked and encoded, with what the model says of them now.

    Parameters
    ----------
    frame : DataFrame
        The rows as they were given.
    genomes : ndarray of shape (n, d)
        The same, encoded.
    outputs : ndarray of shape (n, c)
        What the model says of them.
    targets : list of Target
        The wanted outcome of each.
    search : Search or WhatIf
        The settings.
    seed : int
        The seed.
    limits : Limits
        What may change.
    rules : Rules
        What counterfactuals must satisfy.
    """

    frame: pd.DataFrame
    genomes: Floats
    outputs: Floats
    targets: list[Target]
    search: Search | WhatIf
    seed: int
    limits: Limits
    rules: Rules


def check_rules(
    rules: Rules, limits: Limits, genomes: Floats, frame: pd.DataFrame, space: Space
) -> None:
    """Refuse rules that one of the rows (n, d) cannot satisfy, before any row is searched."""
    if not len(rules):
        return
    for i in range(len(genomes)):
        row = genomes[i : i + 1]
        box = search_box(row, space, limits, rules.schema.names)
        try:
            Ruling.of(rules, row, box, space, limits.max_changed)
        except InvalidInput as error:
            if len(genomes) == 1:
                raise
            raise InvalidInput(f"of row {frame.index[i]!r}: {error}") from error
