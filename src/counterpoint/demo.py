"""The paper's credit example: what would have had to differ for this applicant to be accepted.

Run it with ``make demo`` or ``python -m counterpoint.demo``.
"""

from __future__ import annotations

from typing import Any

import pandas as pd

import counterpoint as cp
from counterpoint.datasets import load_credit

TARGET = ("good", (0.5, 1.0))
N_SHOWN = 10


def train_model(features: pd.DataFrame, risk: pd.Series[str]) -> Any:
    """Tune and fit a support vector machine with RBF kernel that gives probabilities."""
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler, OneHotEncoder
    from sklearn.svm import SVC

    encode = make_column_transformer(
        (OneHotEncoder(), make_column_selector(dtype_include="category")),
        remainder=MinMaxScaler(),
    )
    machine = make_pipeline(encode, SVC())
    grid = {"svc__C": [0.1, 1.0, 10.0], "svc__gamma": [0.1, 0.5, 1.0]}
    tuned = GridSearchCV(machine, grid, cv=5).fit(features, risk).best_estimator_
    return CalibratedClassifierCV(tuned, ensemble=False).fit(features, risk)


def explain_applicant() -> cp.Counterfactuals:
    """Explain the first applicant to a model trained on all others."""
    features, risk = load_credit()
    applicant, others = features.iloc[[0]], features.iloc[1:]
    model = train_model(others, risk.iloc[1:])
    return cp.Explainer(model, others).explain(applicant, target=TARGET, seed=0)


def main() -> None:
    """Print the applicant, the ten best counterfactuals and how often each feature changes."""
    print("Training a support vector machine on 521 rows of German credit data ...")
    found = explain_applicant()
    applicant = ", ".join(f"{name} {value}" for name, value in found.row.iloc[0].items())
    print(f"\nThe applicant: {applicant}")
    print(f"The model's probability of a good risk: {found.row_prediction:.2f}\n")
    print(found.summary(N_SHOWN))
    print("\nHow often each feature changes in those that reach the target:")
    for name, share in found.valid().change_frequency().items():
        print(f"  {name:<18} {share:>4.0%}  {'#' * round(30 * share)}")


if __name__ == "__main__":
    main()
