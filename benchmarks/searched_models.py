"""The paper's five kinds of model, each with hyperparameters from a small random search.

The paper tries 100 or more settings by five-fold cross-validation; here it is `TRIES` per
hyperparameter by threefold, on tables of at most 2,000 rows. Differences in kind: logistic
regression is scikit-learn's and its penalty is searched, where the paper trains a network without
a hidden layer and searches its learning rate; trees are 200 at most instead of 1,000; the support
vectors' probabilities are calibrated by cross-validation.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import joblib
import sklearn
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler
from sklearn.svm import SVC

from benchmarks.racing.draws import uniform
from benchmarks.tables import Table

TRIES = 4  # settings per hyperparameter; the paper's tuning instances had 20
FOLDS = 3
SEED = 1234  # the paper's


class Kind(NamedTuple):
    """One kind of model: its hyperparameters with their ranges, and how it is made of them."""

    ranges: dict[str, tuple[float, float]]  # drawn on a logarithmic scale
    make: Callable[[dict[str, float]], Any]


def _network(chosen: dict[str, float]) -> Any:
    """Return one hidden layer, trained as the paper's: Adam, batches of 32, early stopping."""
    return MLPClassifier(
        (round(chosen["units"]),),
        learning_rate_init=chosen["rate"],
        batch_size=32,
        early_stopping=True,
        validation_fraction=1 / 3,
        n_iter_no_change=5,
        max_iter=1000,
        random_state=SEED,
    )


def _boosting(chosen: dict[str, float]) -> Any:
    """Return XGBoost on one thread."""
    from xgboost import XGBClassifier

    return XGBClassifier(n_estimators=round(chosen["rounds"]), random_state=SEED, n_jobs=1)


KINDS: dict[str, Kind] = {
    "logistic regression": Kind(
        {"C": (0.01, 100.0)}, lambda chosen: LogisticRegression(C=chosen["C"], max_iter=2000)
    ),
    "random forest": Kind(
        {"trees": (10, 200)},
        lambda chosen: RandomForestClassifier(round(chosen["trees"]), random_state=SEED),
    ),
    "XGBoost": Kind({"rounds": (10, 200)}, _boosting),
    "support vectors": Kind(
        {"C": (0.01, 1.0)},
        lambda chosen: CalibratedClassifierCV(SVC(C=chosen["C"]), ensemble=False, cv=FOLDS),
    ),
    "network": Kind({"rate": (0.0005, 0.1), "units": (2, 64)}, _network),
}


def model_of(name: str, table: Table, dataset: str, folder: Path) -> Any:
    """Return the model of one kind for a dataset: from the folder, or searched and put there."""
    version = repr((name, dataset, TRIES, FOLDS, SEED, sklearn.__version__, len(table.data)))
    key = blake2b(version.encode(), digest_size=6).hexdigest()
    file = folder / f"{dataset}-{name.replace(' ', '-')}-{key}.joblib"
    if file.exists():
        return joblib.load(file)
    folder.mkdir(parents=True, exist_ok=True)
    model = search(name, table)
    partial = file.with_suffix(".partial")
    joblib.dump(model, partial)
    partial.replace(file)  # in one step: an interrupted run leaves no half file
    return model


def search(name: str, table: Table) -> Any:
    """Return a fitted model with the best of the settings tried, by cross-validated accuracy."""
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=SEED)
    classes = (table.classes == 1).to_numpy().astype(int)
    tried = [drawn(name, i) for i in range(TRIES * len(KINDS[name].ranges))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on convergence: such settings lose by their accuracy
        scores = [
            float(cross_val_score(_pipeline(name, t, table), table.data, classes, cv=folds).mean())
            for t in tried
        ]
        best = tried[max(range(len(tried)), key=scores.__getitem__)]
        return _pipeline(name, best, table).fit(table.data, classes)


def drawn(name: str, i: int) -> dict[str, float]:
    """Return the settings of one try, log-uniform in their ranges.

    Examples
    --------
    >>> 0.01 <= drawn("support vectors", 0)["C"] <= 1.0
    True
    """
    ranges = KINDS[name].ranges
    return {
        parameter: low * (high / low) ** uniform(SEED, name, parameter, i)
        for parameter, (low, high) in ranges.items()
    }


def _pipeline(name: str, chosen: dict[str, float], table: Table) -> Any:
    """Return an untrained model with the paper's preprocessing."""
    levels = list(table.data.select_dtypes("category").columns)
    numbers = [column for column in table.data.columns if column not in levels]
    scale = StandardScaler() if name == "random forest" else MinMaxScaler()
    encode = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), levels), (scale, numbers)
    )
    return make_pipeline(encode, KINDS[name].make(chosen))
