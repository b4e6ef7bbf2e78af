"""Coverage: which of a method's counterfactuals MOC's dominate, as the paper's table counts them.

    python -m benchmarks.study.coverage

Of a method's answers for one row, repeated ones are dropped (as the authors' code did, only if
there are at least two repetitions), then dominated ones; those that reach the target are counted.
One is covered if a counterfactual of MOC's dominates it; equal objectives do not cover. Rows for
which MOC has none that reaches the target do not count. A star marks a share of covered ones that a
one-sided binomial test at 5% puts above one half.

The published answers of DiCE and Recourse are at hand, so all counts of the table follow from
them. MOC's are at hand as a sample of up to eight per row, not as the ten that answered in the
paper: by them the covered share can only be estimated, which this command does. Where all are at
hand, or by the ten that `ten_of` chooses of any set, it is the paper's measure.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import moocore
import numpy as np
import pandas as pd
from scipy.stats import binomtest

from benchmarks import published
from benchmarks.peers.scoring import hypervolume
from benchmarks.peers.subjects import Bools, Floats

OBJECTIVES = ["o1", "o2", "o3", "o4"]
METHODS = ("dice", "recourse")
LEVEL = 0.05
DIGITS = 10  # objectives that agree to as many digits are equal
Answers = Callable[[published.Run, int], Floats]  # a run and the number of a row -> objectives

# The paper's table: share, count, star; the fields it leaves empty are left out.
PUBLISHED: dict[str, dict[str, tuple[float, int, bool]]] = {
    "boston": {"dice": (1, 36, True), "recourse": (0.92, 24, True), "tweaking": (0.9, 10, True)},
    "cmc": {"dice": (1, 17, True), "tweaking": (0.75, 8, False)},
    "diabetes": {"dice": (1, 64, True), "recourse": (0.45, 40, False), "tweaking": (1, 3, False)},
    "ilpd": {"dice": (1, 26, True), "recourse": (1, 37, True), "tweaking": (0.83, 6, False)},
    "kc2": {"dice": (1, 53, True), "recourse": (0.31, 55, False), "tweaking": (1, 2, False)},
    "kr-vs-kp": {"dice": (1, 8, True), "tweaking": (0.2, 10, False)},
    "no2": {"dice": (1, 58, True), "recourse": (0.5, 12, False), "tweaking": (0.9, 10, True)},
    "pc1": {"dice": (1, 60, True), "recourse": (0.66, 38, True)},
    "plasma_retinol": {"dice": (1, 7, True), "tweaking": (0.89, 9, True)},
    "tic-tac-toe": {"dice": (1, 20, True), "tweaking": (0.75, 8, False)},
}


@dataclass(frozen=True)
class Coverage:
    """How many of a method's counterfactuals are covered, of how many."""

    covered: int = 0
    count: int = 0

    @property
    def share(self) -> float:
        """The covered share; not a number if nothing is counted."""
        return self.covered / self.count if self.count else float("nan")

    @property
    def is_significant(self) -> bool:
        """Whether the binomial test puts the share above one half: the table's star."""
        if self.count == 0:
            return False
        test: Any = binomtest(self.covered, self.count, 0.5, alternative="greater")
        return bool(test.pvalue < LEVEL)

    def __add__(self, other: Coverage) -> Coverage:
        return Coverage(self.covered + other.covered, self.count + other.count)

    def __str__(self) -> str:
        if self.count == 0:
            return ""  # as the table leaves such fields
        return f"{self.share:.2g}{'*' if self.is_significant else ''} ({self.count})"


def is_covered(points: Floats, by: Floats, digits: int | None = DIGITS) -> Bools:
    """Return which points (n, m) are dominated by one of others (k, m), shape (n,).

    Objectives that agree to so many digits are equal; None compares bit by bit.
    """
    if digits is not None:
        points, by = points.round(digits), by.round(digits)
    points, by = points[:, None], by[None]
    dominates = np.logical_and((by <= points).all(axis=2), (by < points).any(axis=2))
    return np.asarray(np.any(dominates, axis=1))


def counted(answers: pd.DataFrame, features: list[str]) -> Floats:
    """Return the objectives (n, 4) of a method's answers for one row that count in the table."""
    if answers.duplicated(features).sum() >= 2:
        answers = answers.drop_duplicates(features)
    objectives = answers[OBJECTIVES].to_numpy(dtype=np.float64)
    kept = objectives[moocore.is_nondominated(objectives, keep_weakly=True)]
    return np.asarray(kept[kept[:, 0] == 0.0])


def coverage(
    runs: list[published.Run], method: str, answers: Answers, digits: int | None = None
) -> Coverage:
    """Return how much of a published method's answers others cover, over all models and rows.

    The authors compared bit by bit, so that of points that are equal but for rounding one covers
    the other; on tic-tac-toe three of DiCE's twenty are covered so. `digits` calls them equal.
    """
    total = Coverage()
    for run in runs:
        stored = run.stored("peers")
        for number, theirs in stored[stored["method"] == method].groupby("x_interest_row"):
            ours = answers(run, int(str(number)))
            ours = ours[ours[:, 0] == 0.0]
            if len(ours):
                points = counted(theirs, list(run.train.columns))
                total += Coverage(int(is_covered(points, ours, digits).sum()), len(points))
    return total


def sample_of(variant: str) -> Answers:
    """Return the published counterfactuals of a variant as answers: the paper's ten, if more."""

    def answers(run: published.Run, number: int) -> Floats:
        stored = run.stored("candidates")
        chosen = stored[(stored["method"] == variant) & (stored["x_interest_row"] == number)]
        return ten_of(chosen[OBJECTIVES].to_numpy(dtype=np.float64))

    return answers


def ten_of(objectives: Floats, n: int = 10) -> Floats:
    """Return the paper's choice of ten (or n) of a set's objectives (k, 4); one may repeat."""
    return np.asarray(objectives[places_of_ten(objectives, n)])


def places_of_ten(objectives: Floats, n: int = 10) -> list[int]:
    """Return where in a set the paper's choice of ten (or n) of its objectives (k, 4) is.

    Those that reach the target come first; if they are more, or fewer, the choice is greedy by
    hypervolume below (0.5, 1, most changes + 1, 1), among them or among all. A place may repeat.
    """
    if len(objectives) <= n:
        return list(range(len(objectives)))
    reached = [int(i) for i in np.flatnonzero(objectives[:, 0] <= 0.0)]
    is_plenty = len(reached) > n
    pool = reached if is_plenty else list(range(len(objectives)))
    chosen = [] if is_plenty else reached
    reference = np.array([0.5, 1.0, objectives[pool, 2].max() + 1.0, 1.0])
    while len(chosen) < n:
        volumes = [hypervolume(objectives[[*chosen, i]], reference) for i in pool]
        chosen.append(pool[int(np.argmax(volumes))])
    return chosen


def main() -> None:
    """Print the table for the runs at hand: covered by the sample, and as published."""
    runs = [published.load(name) for name in published.names()]
    print("| dataset | method | covered by the sample | published |\n|---|---|---|---|")
    for dataset in dict.fromkeys(run.dataset for run in runs):
        for method in METHODS:
            if method in PUBLISHED[dataset]:
                share, count, star = PUBLISHED[dataset][method]
                mine = [run for run in runs if run.dataset == dataset]
                found = coverage(mine, method, sample_of("mocmod"))
                print(f"| {dataset} | {method} | {found} | {share}{'*' * star} ({count}) |")


if __name__ == "__main__":
    main()
