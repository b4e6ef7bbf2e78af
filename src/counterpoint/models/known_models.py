"""Known models: tree ensembles of several libraries, read into additive models.

Each reader returns sums over the estimator's own columns; what stands before the estimator in a
pipeline is rewritten in `additive`. XGBoost and LightGBM are read from the texts they export. A
core is the inside of such an estimator, asked like the estimator itself.
"""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from counterpoint.arrays import Bools, Floats
from counterpoint.kernels import kernel
from counterpoint.models.additive import AdditiveModel, Link, columns_of, in_genes, of_trees
from counterpoint.models.inspection import awake, is_known
from counterpoint.models.trees import (
    BY_THRESHOLD,
    Forest,
    children_of,
    doubled,
    of_boosting,
    of_forest,
    small,
    starts,
)
from counterpoint.table.schema import Encoding

ZERO = float(np.float32(1e-35))  # up to which LightGBM takes numbers for 0
BY_CATEGORY, DEFAULT_LEFT = 1, 2  # bits of LightGBM's `decision_type`; the next two tell …
AS_ZERO, ZERO_IS_MISSING = 0, 1  # … that NaN is taken for 0, or 0 for missing
NUMBERS = {"reg:squarederror", "reg:absoluteerror", "reg:pseudohubererror", "reg:quantileerror"}
NUMBERS |= {"regression", "regression_l1", "huber", "fair", "quantile", "mape"}

# Losses of scikit-learn's linear models whose link is the logarithm.
COUNTED = {"HalfPoissonLoss", "HalfGammaLoss", "HalfTweedieLoss"}


def additive_of(
    model: Any, rows_of: Callable[[Floats], Any], encoding: Encoding, observed: Floats
) -> AdditiveModel | None:
    """Return a model as sums over genes; None if it is none that is known, or cannot be rewritten.

    `rows_of` returns the rows that the model, an estimator or a pipeline that ends with one, takes
    for genomes (n, d).
    """
    if not is_known(model):
        return None
    steps = steps_of(model)

    def encode(genomes: Floats) -> Floats:
        rows = rows_of(genomes)
        for step in steps[:-1]:
            rows = step.transform(rows)
        return as_numbers(steps[-1], rows)

    try:
        n_levels = max(1, *(len(feature.levels) for feature in encoding.schema.features))
        own = own_sums(steps[-1], n_levels)
        return own if own is None else in_genes(own, columns_of(encode, encoding, observed))
    except Exception:  # whatever an encoder makes of rows it does not expect: then there is none
        return None


def best_of(model: Any) -> Any:
    """Return the best that a search over settings found: it is asked in the place of the search."""
    while hasattr(model, "best_estimator_"):
        model = model.best_estimator_
    return model


def steps_of(model: Any) -> list[Any]:
    """Return the steps of a pipeline that do something; any other model is its only step."""
    model = awake(best_of(model))
    return [step for _, step in model.steps] if hasattr(model, "steps") else [model]


def as_numbers(model: Any, rows: Any) -> Floats:
    """Return rows as an estimator that encodes categories itself sees them."""
    if getattr(model, "_preprocessor", None) is not None:  # of histogram boosting
        rows = model._preprocessor.transform(rows)
    if isinstance(rows, pd.DataFrame):
        known = getattr(getattr(model, "booster_", None), "pandas_categorical", None) or []
        is_level = [isinstance(dtype, pd.CategoricalDtype) for dtype in rows.dtypes]
        for k, j in enumerate(np.flatnonzero(is_level).tolist()):
            column = rows.iloc[:, j]
            column = column.cat.set_categories(known[k]) if known else column
            codes = column.cat.codes.to_numpy().astype(np.float64)
            rows = rows.assign(**{rows.columns[j]: np.where(codes < 0.0, np.nan, codes)})
    return np.asarray(as_dense(rows), dtype=np.float64)


def own_sums(model: Any, n_levels: int) -> AdditiveModel | None:
    """Return an estimator as sums over its own columns; None if it is none that is known."""
    if hasattr(model, "get_booster"):
        return of_xgboost(model, n_levels)
    if hasattr(model, "booster_"):
        return of_lightgbm(model.booster_, n_levels)
    if hasattr(model, "coef_") and hasattr(model, "intercept_"):
        return of_linear(model)
    has_classes = hasattr(model, "classes_")
    if hasattr(model, "_predictors") and hasattr(model, "_raw_predict"):
        base = np.broadcast_to(model._baseline_prediction, (1, model.n_trees_per_iteration_))
        return of_boosted(of_boosting(model), base[0], model._loss, has_classes=has_classes)
    trees = [model] if hasattr(model, "tree_") else getattr(model, "estimators_", None)
    if isinstance(trees, np.ndarray) and hasattr(model, "_raw_predict_init"):
        return of_gradient_boosting(model)
    if not isinstance(trees, list) or not all(hasattr(tree, "tree_") for tree in trees):
        return None
    forest = of_forest([tree.tree_ for tree in trees])
    base, n_trees = np.zeros(forest.value.shape[1]), float(len(trees))
    return of_trees(forest, base, n_trees, "mean" if has_classes else "identity")


def of_linear(model: Any) -> AdditiveModel | None:
    """Return a linear model as sums; whether the link is right is tried out later."""
    weights = np.atleast_2d(np.asarray(as_dense(model.coef_), dtype=np.float64)).T
    n_outputs = weights.shape[1]
    base = np.broadcast_to(np.asarray(model.intercept_, dtype=np.float64), n_outputs)
    if hasattr(model, "classes_"):
        of_one: Link = "logistic" if n_outputs == 1 else "softmax"
        link: Link = of_one if hasattr(model, "predict_proba") else "labels"
    else:
        link = "exp" if type(getattr(model, "_base_loss", None)).__name__ in COUNTED else "identity"
    return AdditiveModel(None, base, weights, np.zeros((0, 1, n_outputs)), 1.0, link)


def of_boosted(
    forest: Forest, base: Floats, loss: Any, *, has_classes: bool
) -> AdditiveModel | None:
    """Return scikit-learn's boosting by its trees and its loss, which says what sums mean."""
    of_numbers: dict[str, Link] = {"IdentityLink": "identity", "LogLink": "exp"}
    of_classes: dict[str, Link] = {"LogitLink": "logistic", "MultinomialLogit": "softmax"}
    link = (of_classes if has_classes else of_numbers).get(type(loss.link).__name__)
    base = np.array(base, dtype=np.float64)
    return None if link is None else of_trees(forest, base, 1.0, link)


def of_gradient_boosting(model: Any) -> AdditiveModel | None:
    """Return scikit-learn's gradient boosting, if it begins with the same for all rows."""
    start = model.init_ if isinstance(model.init_, str) else type(model.init_).__name__
    if start not in ("zero", "DummyClassifier", "DummyRegressor"):
        return None
    n_outputs = model.estimators_.shape[1]
    trees = [tree.tree_ for tree in model.estimators_.reshape(-1)]
    forest = of_forest(trees)
    sizes = [tree.node_count for tree in trees]
    added = model.learning_rate * forest.value[:, 0]
    forest = forest._replace(value=by_output(added, np.arange(len(trees)) % n_outputs, sizes))
    base = model._raw_predict_init(np.zeros((1, model.n_features_in_)))[0]
    return of_boosted(forest, base, model._loss, has_classes=hasattr(model, "classes_"))


def by_output(added: Floats, output: Any, sizes: list[int]) -> Floats:
    """Return what nodes (n,) of trees of one output each add to every output, shape (n, c)."""
    value = np.zeros((len(added), int(max(output, default=0)) + 1))
    value[np.arange(len(added)), np.repeat(output, sizes)] = added
    return value


def of_xgboost(model: Any, n_levels: int) -> AdditiveModel | None:
    """Return an XGBoost estimator, which compares and adds up in single precision."""
    if not np.isnan(model.missing):
        return None
    booster = model.get_booster()
    best = getattr(model, "best_iteration", None) if model.early_stopping_rounds else None
    booster = booster if best is None else booster[: best + 1]
    learner = json.loads(booster.save_raw("json"))["learner"]
    grown, name = learner["gradient_booster"], learner["objective"]["name"]
    parts = grown.get("model", {})
    trees = parts.get("trees", [])
    has_vectors = any(int(t["tree_param"]["size_leaf_vector"]) > 1 for t in trees)
    if (
        grown["name"] != "gbtree" or "weight_drop" in parts or has_vectors
    ):  # dropped trees weigh less
        return None
    is_two = name == "binary:logistic"
    if not (is_two or name == "multi:softprob" or name in NUMBERS):
        return None
    forest = forest_of_xgboost(trees, parts["tree_info"], n_levels)
    said = np.array(json.loads(learner["learner_model_param"]["base_score"]), dtype=np.float32)
    if is_two:  # a probability
        odds = np.float32(1.0) / said.reshape(-1)[0] - np.float32(1.0)
        said = np.array(-math.log(odds), dtype=np.float32)
    n_outputs = max(1, int(learner["learner_model_param"]["num_class"]))
    base = np.broadcast_to(said.reshape(-1), n_outputs).astype(np.float64)
    link = "logistic" if is_two else "softmax" if n_outputs > 1 else "identity"
    return of_trees(forest, base, 1.0, link)._replace(is_single=True)  # type: ignore[arg-type]


def forest_of_xgboost(trees: list[Any], output: list[int], n_levels: int) -> Forest:
    """Return the trees of XGBoost's JSON: a row goes left below the threshold, not at it."""

    def each(name: str, dtype: Any) -> Any:
        return np.concatenate([np.asarray(tree[name], dtype=dtype) for tree in trees])

    sizes = [len(tree["left_children"]) for tree in trees]
    roots, shift = starts(sizes)
    left, right = each("left_children", np.int64), each("right_children", np.int64)
    is_end, condition = left < 0, each("split_conditions", np.float32)
    below = np.nextafter(condition, np.float32(-np.inf)).astype(np.float64)
    goes_left: list[Bools] = []
    category_set = np.full(len(left), BY_THRESHOLD)
    for root, tree in zip(roots.tolist(), trees, strict=True):
        parts = (tree[f"categories_{name}"] for name in ("nodes", "segments", "sizes"))
        for node, first, size in zip(*parts, strict=True):
            category_set[root + node] = len(goes_left)
            goes_left.append(np.ones(n_levels, dtype=np.bool_))  # also of unknown ones
            known = np.array(tree["categories"][first : first + size], dtype=np.int64)
            goes_left[-1][known[known < n_levels]] = False
    return Forest(
        small(roots),
        children_of(is_end, left + shift, right + shift),
        small(np.where(is_end, 0, each("split_indices", np.int64))),
        doubled(np.where(is_end, 0.0, below)),
        small(category_set),
        each("default_left", np.bool_),
        np.array(goes_left, dtype=np.bool_).reshape(-1, n_levels),
        by_output(condition.astype(np.float64), output, sizes),
    )


def of_lightgbm(booster: Any, n_levels: int) -> AdditiveModel | None:
    """Return a LightGBM booster, whose first trees hold what sums begin with."""
    head, *texts = booster.model_to_string().split("\nTree=")
    trees = [fields_of(text.split("\n\n")[0]) for text in texts]
    about = fields_of(head)
    n_outputs = int(about["num_tree_per_iteration"])
    name, *details = about.get("objective", "").split()
    if any(int(tree.get("is_linear", "0")) for tree in trees):
        return None
    if name == "binary" and details == ["sigmoid:1"]:
        link: Any = "logistic"
    else:
        link = {"multiclass": "softmax"}.get(name, "identity" if name in NUMBERS else None)
    if link is None or (link == "identity" and "sqrt" in details):
        return None
    is_mean = "average_output" in head.split("\n")
    divisor = float(len(trees) // n_outputs) if is_mean else 1.0
    forest = forest_of_lightgbm(trees, n_outputs, n_levels)
    return None if forest is None else of_trees(forest, np.zeros(n_outputs), divisor, link)


def fields_of(text: str) -> dict[str, str]:
    """Return the fields of a part of LightGBM's text: a name and what it is in each line."""
    return {name: value for name, _, value in (line.partition("=") for line in text.split("\n"))}


def forest_of_lightgbm(trees: list[dict[str, str]], n_outputs: int, n_levels: int) -> Forest | None:
    """Return the trees of LightGBM's text, splits first and then leaves; None if 0 is missing."""

    def each(name: str, end: Any) -> Any:
        """Return numbers of splits, and what leaves have in their place."""
        parts = [np.array(tree.get(name, "").split(), dtype=type(end)) for tree in trees]
        n_ends = [int(tree["num_leaves"]) for tree in trees]
        filled = [np.append(part, [end] * n) for part, n in zip(parts, n_ends, strict=True)]
        return np.concatenate(filled)

    n_splits = [int(tree["num_leaves"]) - 1 for tree in trees]
    sizes = [2 * n + 1 for n in n_splits]
    roots, shift = starts(sizes)
    first_end = shift + np.repeat(n_splits, sizes)
    is_end = np.arange(len(shift)) >= first_end
    left, right = each("left_child", 0), each("right_child", 0)
    left, right = (np.where(to < 0, first_end + ~to, shift + to) for to in (left, right))
    kind, threshold = each("decision_type", 0), each("threshold", 0.0)
    by_set, of_missing = ~is_end & (kind & BY_CATEGORY != 0), kind >> 2
    if (~is_end & ~by_set & (of_missing == ZERO_IS_MISSING)).any():
        return None
    leaves = np.concatenate([np.array(t["leaf_value"].split(), dtype=np.float64) for t in trees])
    value = np.zeros(len(shift))
    value[is_end] = leaves
    low, high = (threshold >= -ZERO) & (threshold < 0.0), (threshold >= 0.0) & (threshold <= ZERO)
    apart = np.where(low, np.nextafter(-ZERO, -np.inf), np.where(high, ZERO, threshold))
    default_left = np.where(of_missing == AS_ZERO, threshold >= 0.0, kind & DEFAULT_LEFT != 0)
    return Forest(
        small(roots),
        children_of(is_end, left, right),
        small(each("split_feature", 0)),
        np.where(by_set, 0.0, apart),
        small(np.where(by_set, np.cumsum(by_set) - 1, BY_THRESHOLD)),
        default_left & ~by_set,
        sets_of_lightgbm(trees, n_levels),
        by_output(value, np.arange(len(trees)) % n_outputs, sizes),
    )


def sets_of_lightgbm(trees: list[dict[str, str]], n_levels: int) -> Bools:
    """Return which categories go left at each split by category; all others go right."""
    goes_left = [np.zeros((0, n_levels), dtype=np.bool_)]
    for tree in trees:
        if int(tree.get("num_cat", "0")) == 0:
            continue
        ends = np.array(tree["cat_boundaries"].split(), dtype=np.int64)
        words = np.array(tree["cat_threshold"].split(), dtype=np.uint32)
        bits = np.unpackbits(words.astype("<u4").view(np.uint8), bitorder="little") != 0
        kinds = np.array(tree["decision_type"].split(), dtype=np.int64)
        numbers = np.array(tree["threshold"].split(), dtype=np.float64)[kinds & BY_CATEGORY != 0]
        for at in numbers.astype(np.int64).tolist():
            known = bits[32 * ends[at] : 32 * ends[at + 1]][:n_levels]
            goes_left.append(np.pad(known, (0, n_levels - len(known)))[None])
    return np.concatenate(goes_left)


def as_dense(made: Any) -> Any:
    """Return the output of a transformer as an array."""
    return made.toarray() if hasattr(made, "toarray") else np.asarray(made)


class Core:
    """The inside of an estimator, asked like the estimator.

    `score` returns scores (n, c) or (n,) of an array (n, d).
    """

    def __init__(self, score: Callable[[Any], Any], classes: Any) -> None:
        self.score, self.classes = score, classes

    def predict_proba(self, rows: Any) -> Any:
        """Return the probability of each class, shape (n, c)."""
        scores = self.score(rows)
        return scores if scores.ndim == 2 else np.vstack([1.0 - scores, scores]).T

    def predict(self, rows: Any) -> Any:
        """Return the likeliest class, or the score of a regressor, shape (n,)."""
        if self.classes is None:
            return self.score(rows).reshape(-1)
        return self.classes.take(np.argmax(self.predict_proba(rows), axis=1), axis=0)


class LinearCore:
    """A linear model of scikit-learn without its checks: the same operations, in the same order.

    It is a regressor, or a classifier of two classes.
    """

    def __init__(self, model: Any) -> None:
        self.weights, self.intercept = model.coef_.T, model.intercept_
        self.classes = getattr(model, "classes_", None)

    def decision_function(self, rows: Any) -> Any:
        """Return the sums (n,); what is not finite is left to the model itself."""
        sums = rows @ self.weights + self.intercept
        if not np.isfinite(sums).all():
            raise ValueError("what is not finite is the model's own business")
        return sums.reshape(-1) if sums.shape[1:] == (1,) else sums

    def predict_proba(self, rows: Any) -> Any:
        """Return the probability of each of two classes, shape (n, 2)."""
        from scipy.special import expit  # which the model has loaded

        second = expit(self.decision_function(rows))
        return np.stack([1.0 - second, second], axis=1)

    def predict(self, rows: Any) -> Any:
        """Return the class decided for, or the sum of a regressor, shape (n,)."""
        sums = self.decision_function(rows)
        return sums if self.classes is None else self.classes.take((sums > 0).astype(np.intp))


def core_of(model: Any, sums: AdditiveModel | None) -> Any:
    """Return what scores by the sums of an estimator, or its booster; None if it shows neither.

    What becomes of the sums is the business of scikit-learn's boosting itself. All other links are
    written here with the operations of the library, in its precision.
    """
    classes = getattr(model, "classes_", None)
    if sums is None:
        booster: Any = getattr(model, "booster_", None)
        return Core(booster.predict, classes) if hasattr(booster, "predict") else None
    if hasattr(model, "_raw_predict") and (hasattr(model, "_predictors") or classes is not None):
        core = copy.copy(model)  # what it is made of stays; only the walk is ours
        core._raw_predict = lambda rows, n_threads=None: np.asfortranarray(sums.raw(rows))  # noqa: ARG005
        core.decision_function = lambda rows: squeezed(sums.raw(rows))
        return core
    return Core(lambda rows: linked(sums, rows), classes)


def squeezed(raw: Floats) -> Floats:
    """Return raw scores (n, c), or (n,) if there is one of each row."""
    return raw[:, 0] if raw.shape[1] == 1 else raw


def linked(sums: AdditiveModel, rows: Floats) -> Any:
    """Return scores in the precision of the sums: of two classes that of the second."""
    raw: Any = sums.raw(rows)
    if sums.link == "softmax":
        powers = raw - raw.max(axis=1, keepdims=True)
        _exponentiate(powers.reshape(-1), sums.is_single)
        whole = np.cumsum(powers, axis=1)[:, -1:]  # one after the other
        dtype = np.float32 if sums.is_single else np.float64
        return powers.astype(dtype) / whole.astype(dtype)
    raw = raw.astype(np.float32) if sums.is_single else raw
    if sums.link != "logistic":
        return raw
    from scipy.special import expit  # which the model has loaded

    return expit(raw[:, 0])


@kernel
def _exponentiate(values: Floats, is_single: bool) -> None:
    """Replace values (n,) by their exponentials, as the C library has them in one precision."""
    for i in range(len(values)):
        values[i] = math.exp(np.float32(values[i])) if is_single else math.exp(values[i])
