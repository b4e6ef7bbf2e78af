"""What rules cost the search: hypervolume within the feasible region, on the embedded credit data.

    python -m benchmarks.constrained [--rows 10] [--seeds 3] [--times 20]

For each model and each set of five rules, ten refused applicants are explained at the default
budget. The reference of a row is the best that is known of its feasible region: searches within the
rules with `times` the budget, from `seeds` seeds, and searches of the same size without rules of
which only what satisfies the rules is kept ("filtered"), all merged. As a yardstick the same share
is given for the search without any rules. "Active" is the share of what a search without rules
returns that breaks each rule.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import moocore
import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder

import counterpoint as cp
from counterpoint.datasets import load_credit
from counterpoint.rules.rules import Rules

BUDGET = 3500  # the default's, in rows the model is asked
TARGET = ("good", (0.6, 1.0))
RULES = {
    "everyday": [
        "fixed sex, age",
        "duration in steps of 6 from 0",
        "credit_amount <= 200 * duration",
        "checking_account = little implies credit_amount <= 3000",
        "at most 3 changes",
    ],
    "tight": [
        "fixed sex, age, purpose",
        "credit_amount in steps of 250 from 0",
        "duration in steps of 6 from 0",
        "credit_amount >= 90 * duration and credit_amount <= 110 * duration",
        "checking_account, saving_accounts change together",
    ],
}


def train(name: str, data: pd.DataFrame, risk: pd.Series[Any]) -> Any:
    """Train one kind of model, with plain settings."""
    levels = [column for column in data.columns if data[column].dtype == "category"]
    encode = make_column_transformer((OneHotEncoder(), levels), remainder=MinMaxScaler())
    kinds = {
        "forest": RandomForestClassifier(50, min_samples_leaf=3, random_state=0),
        "logistic regression": LogisticRegression(max_iter=1000),
    }
    return make_pipeline(encode, kinds[name]).fit(data, risk)


def best_known(
    found: Sequence[cp.Counterfactuals], feasible: Rules | None = None
) -> tuple[float, int]:
    """Return the hypervolume and size of several results merged, what breaks rules left out."""
    points = []
    for each in found:
        row, kept = each.genome, each.objectives
        if feasible is not None:
            kept = kept[feasible.holds(each.genomes, row)]
        points.append(kept)
    merged = np.concatenate(points)
    reference = found[0].reference
    inside = merged[(merged < reference).all(axis=1)]
    front = inside[moocore.is_nondominated(inside)] if len(inside) else inside
    return (float(moocore.hypervolume(front, ref=reference)) if len(front) else 0.0), len(front)


class Study:
    """One model, the rows it refuses, and what unlimited searches without rules find for them."""

    def __init__(self, model: str, options: argparse.Namespace) -> None:
        data, risk = load_credit()
        trained = train(model, data[100:], risk[100:])
        refused = data[:100][trained.predict_proba(data[:100])[:, 1] < 0.5]
        self.rows = refused[: options.rows]
        self.explainer = cp.Explainer(trained, data[100:])
        self.options = options
        self.free = self.search(options.times, options.seeds)

    def search(self, times: int, seeds: int, **limits: Any) -> list[list[cp.Counterfactuals]]:
        """Return the results of each seed and row."""
        long = cp.Search(evaluations=BUDGET * times, patience=None)
        search = cp.Search() if times == 1 else long
        return [
            self.explainer.explain_many(
                self.rows, TARGET, search, 1000 * times + seed, **limits, progress=False
            )
            for seed in range(seeds)
        ]

    def compare(self, rules: list[str]) -> pd.DataFrame:
        """Return one line per row: what the default budget reaches of the best known."""
        times, seeds = self.options.times, self.options.seeds
        compiled = Rules.parse(rules, self.explainer.schema)
        ours = self.search(1, seeds, constraints=rules)
        long = self.search(times, seeds, constraints=rules)
        short = self.search(1, seeds)
        lines = []
        for a in range(len(self.rows)):
            free = [run[a] for run in self.free]
            best, _ = best_known([*(run[a] for run in long), *free], compiled)
            filtered, n_filtered = best_known(free, compiled)
            volumes = [best_known([run[a]])[0] for run in ours]
            lines.append(
                {
                    "row": self.rows.index[a],
                    "share": np.mean(volumes) / best,
                    "worst seed": min(volumes) / best,
                    "without rules": np.mean([best_known([run[a]])[0] for run in short])
                    / best_known(free)[0],
                    "filtered": filtered / best,
                    "n filtered": n_filtered,
                    "found": np.mean([len(run[a]) for run in ours]),
                    "valid": np.mean([run[a].reaches.sum() for run in ours]),
                    "evaluations": np.mean([run[a].evaluations for run in ours]),
                }
            )
        return pd.DataFrame(lines)

    def activity(self, rules: list[str]) -> list[float]:
        """Return how much of what is found without rules breaks each rule."""
        compiled = Rules.parse(rules, self.explainer.schema)
        verdicts = [compiled.verdicts(found.genomes, found.genome) for found in self.free[0]]
        shares: list[float] = (1.0 - np.concatenate(verdicts).mean(axis=0)).tolist()
        return shares


def main() -> None:
    """Print a table for each model and set of rules."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=10)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--model", choices=["forest", "logistic regression"], default=None)
    options = parser.parse_args()
    for model in [options.model] if options.model else ["forest", "logistic regression"]:
        study = Study(model, options)
        for name, rules in RULES.items():
            table = study.compare(rules)
            print(f"\n{model}, {name} rules")
            for rule, share in zip(rules, study.activity(rules), strict=True):
                print(f"  active {share:4.0%}  {rule}")
            print(table.to_string(index=False, float_format="{:.3f}".format))
            means = {column: table[column].mean() for column in ("share", "without rules")}
            print(
                f"mean share of the best known: {means['share']:.1%} within the rules, "
                f"{means['without rules']:.1%} without rules",
                flush=True,
            )


if __name__ == "__main__":
    main()
