"""What the later questions of a search are for: hypervolume and ways over the budget, and rules.

    python -m benchmarks.budgets [--rows 12]

A search that goes on is the same as one that was never ended, so a search of a smaller budget is
what ending there gives. Prints, for rows of the paper's tables and two models, the mean share of
the full budget's hypervolume and of its ways at each budget; what rules would give that end a
search when little was gained; and when one could end who knows what is still to come.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import counterpoint as cp
from benchmarks import tables

BUDGETS = tuple(range(440, 3521, 440))
MODELS = ("forest", "logistic regression")
ENOUGH = 0.9995  # of the full budget's hypervolume
GAINS = (1e-3, 3e-4, 1e-4)


class Curve(NamedTuple):
    """What one row has at each budget: hypervolume and ways of it, and questions asked."""

    volumes: list[float]
    ways: list[set[frozenset[Any]]]
    asked: list[int]

    def share(self, k: int) -> float:
        """Return the share of the full budget's hypervolume at budget k."""
        return self.volumes[k] / self.volumes[-1]

    def recall(self, k: int) -> float:
        """Return the share of the full budget's ways that are there at budget k."""
        full = self.ways[-1]
        return len(full & self.ways[k]) / len(full) if full else 1.0


Rule = Callable[[Curve, int], bool]  # whether to end at budget k


def curves(table: str, model: str, n_rows: int) -> list[Curve]:
    """Search rows of a table with every budget."""
    loaded = tables.load(table)
    data = loaded.data
    explainer = cp.Explainer(tables.train(model, loaded), data)
    rows = data.iloc[:: max(1, len(data) // n_rows)][:n_rows]
    found = [
        explainer.explain_many(
            rows, "opposite", cp.Search(evaluations=budget), workers=1, progress=False
        )
        for budget in BUDGETS
    ]
    each = [
        Curve(
            [float(result.hypervolume()) for result in of_row],
            [{frozenset(way.features) for way in result.ways()} for result in of_row],
            [len(result.trace.replies) for result in of_row],
        )
        for of_row in zip(*found, strict=True)
    ]
    return [curve for curve in each if curve.volumes[-1] > 0.0]


def ends_at(curve: Curve, rule: Rule) -> int:
    """Return the budget at which a rule ends a search, by position."""
    last = len(BUDGETS) - 1
    return next((k for k in range(last) if rule(curve, k)), last)


def gained_little(gain: float, steps: int, counts_ways: bool) -> Rule:
    """Return the rule that ends when so many steps added at most so much, and no way."""

    def rule(curve: Curve, k: int) -> bool:
        if k < steps:
            return False
        is_less = curve.volumes[k] <= (1.0 + gain) * curve.volumes[k - steps]
        return is_less and (not counts_ways or curve.ways[k] == curve.ways[k - steps])

    return rule


def knows(counts_ways: bool) -> Rule:
    """Return the rule of one who knows what is still to come."""
    return lambda curve, k: curve.share(k) >= ENOUGH and (not counts_ways or curve.recall(k) == 1.0)


def line(name: str, rows: list[Curve], ends: list[int]) -> str:
    """Return what ending there gives, as a line of a table."""
    pairs = list(zip(rows, ends, strict=True))
    asked = np.mean([row.asked[k] for row, k in pairs])
    of_all = asked / np.mean([row.asked[-1] for row in rows])
    share = np.mean([row.share(k) for row, k in pairs])
    recall = np.mean([row.recall(k) for row, k in pairs])
    return f"| {name} | {asked:,.0f} | {100 * of_all:.0f} % | {share:.4f} | {recall:.2f} |"


def as_markdown(rows: list[Curve]) -> str:
    """Return the budgets and the rules as one table."""
    lines = [
        "| ended | questions | of all | hypervolume ÷ full | ways of the full budget |",
        "|---|---|---|---|---|",
    ]
    for k, budget in enumerate(BUDGETS):
        lines.append(line(f"at {budget:,}", rows, [k] * len(rows)))
    for counts_ways in (False, True):
        also = " and no way" if counts_ways else ""
        for steps in (1, 2):
            for gain in GAINS:
                rule = gained_little(gain, steps, counts_ways)
                said = f"{100 * gain:g} %{also} in the last {steps * BUDGETS[0]}"
                lines.append(line(said, rows, [ends_at(row, rule) for row in rows]))
        told = f"by one who knows{' of ways, too' if counts_ways else ''}"
        lines.append(line(told, rows, [ends_at(row, knows(counts_ways)) for row in rows]))
    return "\n".join(lines)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=12, help="rows of each table and model")
    given = parser.parse_args()
    rows: list[Curve] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on convergence, which is not the subject
        for table in tables.names("benchmark"):
            for model in MODELS:
                rows += curves(table, model, given.rows)
                print(f"{table}, {model}: {len(rows)} rows", flush=True)
    print(as_markdown(rows))


if __name__ == "__main__":
    main()
