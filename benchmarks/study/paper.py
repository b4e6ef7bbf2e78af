"""Numbers of the paper: Dandl, Molnar, Binder, Bischl (2020), Multi-Objective Counterfactual
Explanations, PPSN XVI, for tables that stand beside ours.
"""  # noqa: D205 - the title of the paper does not fit on one line

from __future__ import annotations

# The appendix' table of accuracies by nested resampling; no logistic regression on four datasets.
_KINDS = ("randomforest", "xgboost", "svm", "logreg", "neuralnet")
_ACCURACY: dict[str, tuple[float | None, ...]] = {
    "boston": (0.90, 0.89, 0.87, 0.86, 0.87),
    "cmc": (0.70, 0.72, 0.67, None, 0.68),
    "diabetes": (0.76, 0.74, 0.75, 0.63, 0.68),
    "ilpd": (0.69, 0.67, 0.65, 0.53, 0.58),
    "kc2": (0.81, 0.80, 0.79, 0.75, 0.72),
    "kr-vs-kp": (0.99, 0.99, 0.97, None, 0.99),
    "no2": (0.63, 0.59, 0.58, 0.55, 0.54),
    "pc1": (0.93, 0.93, 0.91, 0.91, 0.88),
    "plasma_retinol": (0.53, 0.52, 0.58, None, 0.55),
    "tic-tac-toe": (0.99, 0.99, 0.98, None, 0.97),
}
ACCURACY = {
    (dataset, kind): value
    for dataset, row in _ACCURACY.items()
    for kind, value in zip(_KINDS, row, strict=True)
    if value is not None
}

VARIANTS = ("moc", "random", "mocice", "moccond", "mocmod")

# Mean ranks of the final hypervolumes per dataset over its models, from the published logs; the
# columns are VARIANTS.
FINAL_RANKS = {
    "boston": (2.62, 1.00, 2.88, 4.18, 4.32),
    "cmc": (2.55, 1.72, 2.32, 4.10, 4.30),
    "diabetes": (2.32, 1.28, 2.68, 4.42, 4.30),
    "ilpd": (2.48, 1.16, 2.70, 4.30, 4.36),
    "kc2": (3.58, 1.00, 3.78, 3.26, 3.38),
    "kr-vs-kp": (2.84, 1.00, 3.50, 3.95, 3.71),
    "no2": (2.28, 1.58, 2.16, 4.56, 4.42),
    "pc1": (2.90, 1.02, 3.28, 3.54, 4.26),
    "plasma_retinol": (2.43, 1.05, 2.68, 4.38, 4.47),
    "tic-tac-toe": (2.90, 3.21, 2.96, 2.96, 2.96),
}

# The first appendix table: Recourse and the first six of MOC for row 741 of diabetes.
ROW_741 = {
    "MOC 1": (11.00, 27.78, 80, 37.00, 150.00, 42.30, 0.78, 48.00, 0.06, 1, 0.10),
    "MOC 2": (6.35, 3.29, 80, 37.00, 150.00, 42.30, 0.78, 41.61, 0.12, 3, 0.05),
    "MOC 3": (11.00, 79.75, 80, 37.00, 17.13, 29.17, 0.31, 44.42, 0.10, 5, 0.03),
    "MOC 4": (11.00, 94.85, 80, 37.00, 150.00, 15.36, 0.78, 48.00, 0.07, 2, 0.07),
    "MOC 5": (11.00, 79.75, 80, 37.00, 40.61, 29.17, 0.17, 48.00, 0.10, 4, 0.04),
    "MOC 6": (6.35, 3.18, 80, 37.00, 150.00, 42.30, 0.78, 48.00, 0.11, 2, 0.07),
    "Recourse 1": (11.00, 57.00, 80, 37.00, 150.00, 42.30, 0.78, 28.36, 0.08, 2, 0.09),
    "Recourse 2": (11.00, 57.00, 80, 36.81, 150.00, 42.30, 0.78, 28.36, 0.08, 3, 0.09),
    "Recourse 3": (10.92, 57.00, 80, 37.00, 150.00, 42.30, 0.78, 28.36, 0.08, 3, 0.09),
}

# The second: Tweaking and the first six of MOC for row 268 of diabetes.
ROW_268 = {
    "MOC 1": (2.00, 121.50, 64, 42, 0.00, 40, 1.10, 24.00, 0.00, 1, 0.05),
    "MOC 2": (2.00, 90.21, 64, 42, 0.00, 40, 0.48, 24.00, 0.06, 2, 0.02),
    "MOC 3": (2.00, 126.83, 64, 42, 0.00, 40, 1.10, 24.00, 0.00, 1, 0.05),
    "MOC 4": (2.00, 128.00, 64, 42, 0.00, 40, 0.17, 24.00, 0.05, 1, 0.04),
    "MOC 5": (2.00, 88.44, 64, 42, 0.00, 40, 0.46, 25.85, 0.06, 3, 0.01),
    "MOC 6": (2.00, 120.64, 64, 42, 90.93, 40, 1.10, 24.00, 0.02, 2, 0.03),
    "Tweaking 1": (1.53, 119.71, 64, 42, 0.00, 40, 1.10, 28.29, 0.02, 3, 0.06),
}
