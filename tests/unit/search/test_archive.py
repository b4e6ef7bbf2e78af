from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from counterpoint.arrays import Bools, Floats
from counterpoint.problem.problem import Evaluation
from counterpoint.search.archive import Archive

FIRST = np.array([0])


def problem_of() -> Any:
    """Return what an archive needs of a problem."""
    return SimpleNamespace(
        rows=np.zeros((1, 2)),
        objective_names=("gap", "distance", "changes", "implausibility"),
        reference=np.array([[0.5, 1.0, 2.0, 1.0]]),
    )


def filled(genomes: Floats, counts: Bools, n_known: int) -> Archive:
    """Return an archive of candidates (n, 2), the first of them known, and the row elsewhere."""
    genomes = np.where(counts[:, None], genomes, 0.0)
    gap = 0.125 * np.maximum(3.0 - genomes.sum(axis=1), 0.0)
    distance, changes = genomes.sum(axis=1) / 8, (genomes != 0.0).sum(axis=1)
    objectives = np.column_stack([gap, distance, changes, np.zeros(len(gap))])
    archive = Archive(problem_of(), len(genomes))
    for part, is_known in ((slice(0, n_known), True), (slice(n_known, None), False)):
        judged = Evaluation(0.5 - gap[None, part], objectives[None, part])
        archive.add(genomes[None, part], judged, FIRST, 0, counts[None, part], is_known=is_known)
    archive.n_learnt = n_known
    return archive


candidates = st.lists(
    st.tuples(st.integers(0, 3), st.integers(1, 3), st.booleans()), min_size=3, max_size=25
)


@given(drawn=candidates, n_known=st.integers(1, 2))
@settings(deadline=None)
def test_scores_that_stay_the_same_change_nothing(drawn: list[Any], n_known: int) -> None:
    """The row itself, which fills places, is no candidate before and none after."""
    genomes = np.array([[a, b] for a, b, _ in drawn], dtype=np.float64)
    archive = filled(genomes, np.array([counts for *_, counts in drawn]), n_known)

    scores = (archive.predictions[0], archive.objectives[0])
    again = archive.of_scores(0, problem_of(), *scores)
    for name in ("genomes", "objectives", "entered", "is_candidate", "is_asked", "n_members"):
        np.testing.assert_array_equal(getattr(again, name), getattr(archive, name))
    n = archive.n_members[0]
    np.testing.assert_array_equal(again.members[0, :n], archive.members[0, :n])
