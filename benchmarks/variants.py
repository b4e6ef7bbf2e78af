"""The paper's five variants beside its published runs: hypervolume, ratio and mean rank.

    python -m benchmarks.variants [--seeds 1]

Hypervolumes of different rows are not comparable, so besides their mean there is the mean rank of
the five variants on each row (1 = worst, ties share), which is how the paper compares them.
"""

from __future__ import annotations

import argparse

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

import counterpoint as cp
from benchmarks import published
from counterpoint.search.settings import Variant

VARIANTS: tuple[Variant, ...] = ("random", "moc", "mocice", "moccond", "mocmod")
Table = NDArray[np.float64]


def ours(run: published.Run, seeds: int) -> Table:
    """Return the mean hypervolume over seeds of each row and variant, shape (rows, 5)."""
    explainer = cp.Explainer(run.network, run.train, precision="full")
    return np.column_stack(
        [
            np.mean(
                [
                    [
                        found.hypervolume()
                        for found in explainer.explain_many(
                            run.rows, "opposite", search=cp.Search.paper(variant), seed=seed
                        )
                    ]
                    for seed in range(seeds)
                ],
                axis=0,
            )
            for variant in VARIANTS
        ]
    )


def theirs(run: published.Run) -> Table:
    """Return the published final hypervolume of each row and variant, shape (rows, 5)."""
    log = run.stored("hypervolume").query("generation == 175").set_index("x_interest_row")
    return log.loc[run.rows.index, [f"hv_{variant}" for variant in VARIANTS]].to_numpy()


def show(name: str, found: Table, stored: Table) -> None:
    """Print ratio to the published mocmod and mean ranks, ours and theirs."""
    ratio = (found / stored[:, -1:]).mean(axis=0)
    ranks = [rankdata(table.round(6), axis=1).mean(axis=0) for table in (found, stored)]
    cells = [" ".join(f"{value:6.3f}" for value in row) for row in (ratio, *ranks)]
    print(f"{name:24} | {' | '.join(cells)}", flush=True)


def main() -> None:
    """Run every published network at hand and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=1)
    arguments = parser.parse_args()
    header = " ".join(f"{variant[:6]:>6}" for variant in VARIANTS)
    print(f"{'':24} | {'our ratio to mocmod':34} | {'our mean rank':34} | published mean rank")
    print(f"{'':24} | {header} | {header} | {header}")
    pairs = []
    for name in published.NETWORKS:
        run = published.load(name)
        pairs.append((ours(run, arguments.seeds), theirs(run)))
        show(name, *pairs[-1])
    show("all", *(np.concatenate(tables) for tables in zip(*pairs, strict=True)))


if __name__ == "__main__":
    main()
