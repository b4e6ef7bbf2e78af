"""The default search against the paper's at equal budget, on models that are not the paper's nets.

    python -m benchmarks.models [--study benchmark] [--seeds 1]

Trains each kind of model on each dataset, explains the ten rows with both searches, and prints the
mean ratio of hypervolumes and the share of rows on which the default is better, worse or equal.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

import counterpoint as cp
from benchmarks import tables

MODELS = ("logistic regression", "forest", "gradient boosting", "support vectors", "network")
BUDGET = 3520


def compare(name: str, model: str, seeds: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the hypervolumes of the default and the paper's search, one entry per row and seed."""
    table = tables.load(name)
    explainer = cp.Explainer(tables.train(model, table), table.data)
    searches = (cp.Search(evaluations=BUDGET), cp.Search(method="nsga2", evaluations=BUDGET))
    volumes = [
        [
            found.hypervolume()
            for seed in range(seeds)
            for found in explainer.explain_many(table.rows, "opposite", search=search, seed=seed)
        ]
        for search in searches
    ]
    return np.array(volumes[0]), np.array(volumes[1])


def report(label: str, ours: np.ndarray, theirs: np.ndarray) -> None:
    """Print ratio, wins, losses and ties."""
    both = theirs > 0
    slack = 1e-6 * np.maximum(1.0, theirs)
    wins, losses = (ours > theirs + slack).mean(), (ours < theirs - slack).mean()
    ratio = (ours[both] / theirs[both]).mean() if both.any() else float("nan")
    print(f"{label:36} ratio {ratio:.4f}  wins {wins:.2f}  losses {losses:.2f}", flush=True)


def main() -> None:
    """Run every dataset with every model."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--study", choices=["benchmark", "tuning"], default="benchmark")
    parser.add_argument("--seeds", type=int, default=1)
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")  # scikit-learn on convergence, which is not the subject
    for model in MODELS:
        pairs = []
        for name in tables.names(arguments.study):
            pairs.append(compare(name, model, arguments.seeds))
            report(f"  {name}", *pairs[-1])
        report(model, *(np.concatenate(part) for part in zip(*pairs, strict=True)))


if __name__ == "__main__":
    main()
