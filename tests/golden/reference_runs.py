"""Reference runs: one search of every kind, and the hashes of what it finds.

`scripts/reference_bits.py` stores the hashes and `test_reference_bits.py` compares with them. The
first two functions are all that knows how a result names its parts: if those names change, the
functions follow and the hashes stay.
"""

from __future__ import annotations

import hashlib
import platform
import tempfile
from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from tests.strategies import generator, loans

import counterpoint as cp

Parts = dict[str, bytes]
Hashes = dict[str, str | list[int]]


def parts_of_result(found: cp.Counterfactuals) -> Parts:
    """Return the bytes of what was found for one row, under names of our own."""
    columns = ("generation", "evaluations", "hypervolume")
    history = np.column_stack([as_floats(found.history[name]) for name in columns])
    return {
        "genomes": as_floats(found.genomes).tobytes(),
        "predictions": as_floats(found.predictions).tobytes(),
        "objectives": as_floats(found.objectives).tobytes(),
        "evaluations": as_floats([found.evaluations]).tobytes(),
        "stopped": f"{found.trace.stopped};".encode(),
        "history": history.tobytes(),
    }


def parts_of_lines(lines: pd.DataFrame) -> Parts:
    """Return the bytes of a long table's values; its messages are words, which may be bettered."""
    objectives = ("gap", "distance", "changes", "implausibility")
    numbers = ("row", "counterfactual", "prediction", *objectives, "evaluations", *NUMBERS)
    texts = ("name", "status", "valid", "changed", *LEVELS)
    return {
        "numbers": b"".join(numbers_of(lines[name]).tobytes() for name in numbers),
        "texts": "\n".join(text_of(cell) for name in texts for cell in lines[name]).encode(),
    }


def as_floats(values: Any) -> Any:
    """Return numbers as float64 in C order, each bit as it is."""
    return np.ascontiguousarray(values, dtype=np.float64)


def numbers_of(column: pd.Series[Any]) -> Any:
    """Return a column as floats, with the one NaN for what is missing."""
    return as_floats(column.astype("Float64").to_numpy(dtype=np.float64, na_value=np.nan))


def text_of(cell: Any) -> str:
    """Return a cell in words: a list by its items, and nothing for what is missing."""
    if isinstance(cell, list | np.ndarray):
        return " ".join(map(str, cell))
    return "" if pd.isna(cell) else str(cell)


def hashes_of(name: str) -> Hashes:
    """Run what has this name; return how much each result holds, and a short hash of each part."""
    results = RUNS[name]()
    parts = [
        parts_of_lines(found) if isinstance(found, pd.DataFrame) else parts_of_result(found)
        for found in results
    ]
    short = {
        part: hashlib.sha256(b"".join(each[part] for each in parts)).hexdigest()[:16]
        for part in parts[0]
    }
    sizes = [len(found if isinstance(found, pd.DataFrame) else found.genomes) for found in results]
    return {"found": sizes, **short}


def versions() -> dict[str, str]:
    """Return what else the bits depend on."""
    packages = ("numpy", "numba", "scikit-learn", "scipy", "moocore")
    return {package: version(package) for package in packages} | {"machine": platform.machine()}


# The data and the models. What is fitted by numerics is rounded, so that the last bits of a fit,
# which depend on the linear algebra at hand, do not reach the searches.


NUMBERS, LEVELS = ["age", "amount", "debt", "rate"], ["job", "city", "owns"]
FEW = cp.Search(evaluations=400)
FEWER = cp.Search(evaluations=200)  # where there are many objectives, whose history takes long
SHORT = cp.Search(method="nsga2", generations=12)
VARIANTS: tuple[Any, ...] = ("mocmod", "moc", "mocice", "moccond", "random")
MODELS = ("forest", "linear", "network")
SEED = 7


DATA = loans()
NOISE = generator(1).normal(0.0, 0.3, len(DATA))
WORTH = DATA["amount"] / 900 + DATA["owns"] + (DATA["job"] == "nurse") - DATA["debt"] / 2 + NOISE
WORTH = WORTH.round(6)
LABELS = np.where(WORTH.gt(WORTH.median()), "good", "bad")
REFUSED = DATA[LABELS == "bad"]


def fitted(estimator: Any, labels: Any = LABELS) -> Any:
    """Return a pipeline of an estimator fitted to the table, with its numbers rounded."""
    columns = make_column_transformer((StandardScaler(), NUMBERS), (OneHotEncoder(), LEVELS))
    pipeline = make_pipeline(columns, estimator).fit(DATA, labels)
    inner = getattr(estimator, "estimator_", estimator)
    for owner in (columns.named_transformers_["standardscaler"], inner):
        for name in ("mean_", "scale_", "coef_", "intercept_", "coefs_", "intercepts_"):
            if hasattr(owner, name):
                setattr(owner, name, rounded(getattr(owner, name)))
    return pipeline


def rounded(numbers: Any) -> Any:
    """Return fitted numbers with three decimals."""
    return [each.round(3) for each in numbers] if isinstance(numbers, list) else numbers.round(3)


class RoundedLogistic(LogisticRegression):  # type: ignore[misc] # scikit-learn has no types
    """A logistic regression of several classes whose probabilities have nine decimals.

    They are exponentials of NumPy's, whose last bit depends on the processor.
    """

    def predict_proba(self, rows: Any) -> Any:
        """Return the probabilities of each class."""
        return super().predict_proba(rows).round(9)


def forest(**settings: Any) -> RandomForestClassifier:
    """Return a small forest, to be fitted."""
    return RandomForestClassifier(20, max_depth=8, random_state=0, **settings)


@cache
def model(name: str) -> Any:
    """Return one of the fitted models."""
    thirds = np.array(["low", "middle", "high"])[pd.qcut(WORTH, 3, labels=False)]
    network = MLPClassifier((16,), max_iter=60, random_state=0, early_stopping=True)
    makers: dict[str, Callable[[], Any]] = {
        "forest": lambda: fitted(forest()),
        "linear": lambda: fitted(LogisticRegression()),
        "network": lambda: fitted(network),
        "threshold": lambda: fitted(FixedThresholdClassifier(LogisticRegression(), threshold=0.65)),
        "three classes": lambda: fitted(forest(), thirds),
        "three classes linear": lambda: fitted(RoundedLogistic(), thirds),
        "regression": lambda: fitted(RandomForestRegressor(20, random_state=0), WORTH),
        "regression linear": lambda: fitted(LinearRegression(), WORTH),
    }
    return makers[name]()


@cache
def explainer(name: str) -> cp.Explainer:
    """Return an explainer of one of the models that has no settings of its own."""
    return cp.Explainer(model(name), DATA)


def one(
    name: str, search: Any = FEW, target: object = "opposite", i: int = 0, **limits: Any
) -> list[cp.Counterfactuals]:
    """Return what is found for one row of those refused."""
    return [explainer(name).explain(REFUSED.iloc[[i]], target, search, SEED, **limits)]


def with_own(search: Any = FEW, name: str = "linear", **settings: Any) -> list[cp.Counterfactuals]:
    """Return what an explainer with settings of its own finds for two rows."""
    own = cp.Explainer(model(name), DATA, **settings)
    return own.explain_many(REFUSED.iloc[:2], "good", search, SEED)


def beyond_the_data() -> list[cp.Counterfactuals]:
    """Return what is found for rows older and deeper in debt than any observed."""
    rows = REFUSED.iloc[:3].assign(age=[95, 30, 99], debt=[4.0, 40.0, 30.5])
    return explainer("linear").explain_many(rows, ("good", (0.9, 1.0)), FEW, SEED)


def many(name: str, search: Any, n: int = 7, **settings: Any) -> list[cp.Counterfactuals]:
    """Return what is found for several rows, searched side by side."""
    return explainer(name).explain_many(REFUSED.iloc[:n], "opposite", search, SEED, **settings)


def each(name: str, search: Any, **settings: Any) -> list[cp.Counterfactuals]:
    """Return the same, yielded one after the other."""
    rows = REFUSED.iloc[:7]
    return list(explainer(name).explain_each(rows, "opposite", search, SEED, **settings))


def continued(search: cp.Search, more: int) -> list[cp.Counterfactuals]:
    """Return a search before and after it went on."""
    (first,) = one("linear", search)
    return [first, first.continue_search(more)]


# Rules, objectives and distances of the caller's.


RULES = [
    "amount <= 150 * age",
    "job = nurse implies debt in 1..5",
    "at most 4 changes",
    "city, rate change together",
    "age increases",
]


def is_owner_or_old(rows: pd.DataFrame) -> Any:
    """Say which candidates own or are sixty."""
    return (rows["owns"] | (rows["age"] >= 60)).to_numpy()


def price(rows: pd.DataFrame, row: pd.DataFrame) -> Any:
    """Return what a change costs: the amount is dear to raise, and debt gives money back."""
    return (rows["amount"] - row["amount"].iloc[0]) / 64 - (rows["debt"] - row["debt"].iloc[0])


def youth(rows: pd.DataFrame, _: pd.DataFrame) -> Any:
    """Return the age."""
    return rows["age"]


def effort(rows: pd.DataFrame, row: pd.DataFrame) -> Any:
    """Return a sum of steps, one column after the other."""
    steps = ((rows[name] - row[name].iloc[0]).abs() for name in NUMBERS)
    return sum(steps, start=0.5 * (rows["job"] != row["job"].iloc[0]))


def rarity(rows: pd.DataFrame, _: pd.DataFrame) -> Any:
    """Return a share that grows with the amount."""
    return (rows["amount"] / 8192).clip(upper=1.0)


LIMITS: dict[str, Any] = {
    "fixed": ["age", "city"],
    "ranges": {"amount": (500, 6000), "debt": (None, 6)},
    "max_changed": 3,
}
DEMANDS: dict[str, dict[str, Any]] = {
    "rules-of-texts": {"constraints": RULES},
    "rules-and-a-function": {"constraints": [*RULES, is_owner_or_old]},
    "limits": LIMITS,
    "costs": {"costs": {"amount": 3.0, "job": 0.25}},
    "limits-rules-costs": {**LIMITS, "constraints": RULES[:2], "costs": {"debt": 2.0}},
}
SEARCHES = {"explore": FEW, "nsga2": SHORT, "random": SHORT.with_(method="random")}
OBJECTIVES = [cp.Objective("price", price), cp.Objective("youth", youth, worst=100)]
DISTANCE, RARITY = cp.Distance("effort", effort), cp.Objective("rarity", rarity)


# Missing values.


@cache
def gappy() -> pd.DataFrame:
    """Return a table a fifth of whose incomes, debts and jobs are missing."""
    rng, n = generator(1), 300
    data = pd.DataFrame(
        {
            "income": rng.integers(10, 100, n).astype(float),
            "age": rng.integers(18, 80, n),
            "debt": rng.normal(10, 4, n).round(1),
            "job": pd.Categorical(rng.choice(["clerk", "nurse", "smith"], n)),
        }
    )
    for name in ("income", "debt", "job"):
        data.loc[rng.random(n) < 0.2, name] = np.nan
    return data


@cache
def gappy_explainer(*, allow_missing: bool) -> cp.Explainer:
    """Return an explainer of a model that takes missing values as they are."""
    data = gappy()
    worth = data["income"].fillna(30.0) - 3.0 * data["debt"].fillna(8.0) + 0.1 * data["age"]
    boosting = HistGradientBoostingClassifier(
        categorical_features="from_dtype", max_iter=20, random_state=0
    )
    boosting.fit(data, (worth > 20.0).astype(int))
    return cp.Explainer(boosting, data, allow_missing=allow_missing)


def missing(search: Any, *, allow_missing: bool = False) -> list[cp.Counterfactuals]:
    """Return what is found for two rows that are complete and two that are not."""
    data = gappy()
    poor = data[data["income"].lt(40) | data["income"].isna() & data["debt"].gt(8)]
    is_complete = poor.notna().all(axis=1)
    rows = pd.concat([poor[is_complete].iloc[:2], poor[~is_complete].iloc[:2]])
    return gappy_explainer(allow_missing=allow_missing).explain_many(rows, 1, search, SEED)


# Tables of other kinds and columns of other kinds. Their models are functions of few operations.


GRADES = ["low", "middle", "high"]


def squashed(score: Any) -> Any:
    """Return a score as a share, without the exponential function."""
    return 0.5 + 0.5 * score / (1.0 + np.abs(score))


def score_of_polars(rows: pl.DataFrame) -> Any:
    """Score a frame of polars."""
    nurse = (rows["job"] == "nurse").to_numpy()
    return squashed(rows["amount"].to_numpy() / 1024 + nurse - rows["debt"].to_numpy() / 2)


def score_of_arrow(rows: pa.Table) -> Any:
    """Score a table of Arrow."""
    owns = rows["owns"].to_numpy().astype(float)
    return squashed(rows["amount"].to_numpy() / 1024 + owns - rows["debt"].to_numpy() / 2)


def score_of_array(rows: Any) -> Any:
    """Score an array."""
    return squashed(rows[:, 1] / 1024 - rows[:, 2] / 2 + rows[:, 3])


def score_of_kinds(rows: pd.DataFrame) -> Any:
    """Score rows with a date, a grade and one-hot columns."""
    days = (rows["since"] - pd.Timestamp("2020-01-01")).dt.days
    grade = rows["grade"].map({"low": -1.0, "middle": 0.0, "high": 1.0}).astype(float)
    return squashed(days / 512 + grade - 2 * rows["is_a"] + rows["is_b"] - 1.5).to_numpy()


def score_of_pandas(rows: pd.DataFrame) -> Any:
    """Score a frame of pandas."""
    nurse = (rows["job"] == "nurse").astype(float)
    return squashed(rows["amount"] / 1024 + nurse - rows["debt"] / 2).to_numpy()


def score_by_batch(rows: pd.DataFrame) -> Any:
    """Score rows so that it matters a little which are asked together."""
    return squashed(rows["amount"] / 1024 - rows["debt"] / 2 + rows["rate"].max() / 1024)


def of_function(score: Callable[[pd.DataFrame], Any]) -> list[cp.Counterfactuals]:
    """Return what is found for a model that is a function."""
    return cp.Explainer(score, DATA).explain_many(REFUSED.iloc[:3], (0.75, 1.0), FEW, SEED)


def in_polars(search: Any) -> list[cp.Counterfactuals]:
    """Return what is found in a frame of polars, with the Categorical as polars has it."""
    data = pl.from_pandas(DATA)
    rows = data.filter(pl.Series(LABELS == "bad")).head(3)
    return cp.Explainer(score_of_polars, data).explain_many(rows, (0.75, 1.0), search, SEED)


def in_arrow() -> list[cp.Counterfactuals]:
    """Return what is found in a table of Arrow."""
    data = pa.Table.from_pandas(DATA, preserve_index=False)
    rows = pa.Table.from_pandas(REFUSED.iloc[:3], preserve_index=False)
    return cp.Explainer(score_of_arrow, data).explain_many(rows, (0.75, 1.0), FEW, SEED)


def in_array() -> list[cp.Counterfactuals]:
    """Return what is found in an array."""
    data, rows = DATA[NUMBERS].to_numpy(), REFUSED[NUMBERS].to_numpy()[:3]
    return cp.Explainer(score_of_array, data).explain_many(rows, (0.75, 1.0), FEW, SEED)


def of_kinds(search: Any) -> list[cp.Counterfactuals]:
    """Return what is found with a date, an ordered feature and a one-hot group."""
    rng, n = generator(2), 200
    which = rng.integers(0, 3, n)
    data = pd.DataFrame(
        {
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D"),
            "grade": rng.choice(GRADES, n),
            "is_a": (which == 0).astype(int),
            "is_b": (which == 1).astype(int),
            "is_c": (which == 2).astype(int),
            "share": rng.random(n).round(2),
        }
    )
    own = cp.Explainer(
        score_of_kinds,
        data,
        features={"grade": cp.Ordered(GRADES), "share": cp.Real(0, 1, decimals=2)},
        groups={"kind": ["is_a", "is_b", "is_c"]},
    )
    return own.explain_many(data[score_of_kinds(data) < 0.3].iloc[:3], (0.6, 1.0), search, SEED)


# Many rows: frames and files.


def named(n: int = 12) -> pd.DataFrame:
    """Return rows with a name, most of them refused."""
    return DATA.iloc[:n].assign(name=[f"N{i:03d}" for i in range(n)])


def by_frame(*, is_dask: bool, **limits: Any) -> list[pd.DataFrame]:
    """Return the long table of a frame's rows, by Dask's threads or at once."""
    rows: Any = named()
    if is_dask:
        frames: Any = import_module("dask.dataframe")
        rows = frames.from_pandas(rows, npartitions=3)
    lines: Any = cp.explain_frame(
        explainer("linear"), rows, "good", FEW, SEED, id="name", keep=5, **limits
    )
    return [lines.compute(scheduler="threads", num_workers=2) if is_dask else lines]


def by_files(engine: Any, workers: int = 2, **limits: Any) -> list[pd.DataFrame]:
    """Return the parts that a batch job writes for two files of rows."""
    with tempfile.TemporaryDirectory() as place:
        folder, rows = Path(place), named()
        (folder / "in").mkdir()
        rows.iloc[:7].to_parquet(folder / "in" / "a.parquet", row_group_size=3)
        rows.iloc[7:].to_parquet(folder / "in" / "b.parquet")
        cp.explain_files(
            explainer("linear"),
            folder / "in",
            "good",
            FEW,
            SEED,
            out=folder / "out",
            id="name",
            engine=engine,
            workers=workers,
            part_rows=5,
            progress=False,
            **limits,
        )
        return [pd.read_parquet(part) for part in sorted((folder / "out").glob("part-*.parquet"))]


RUNS: dict[str, Callable[[], Any]] = {
    **{f"default/{name}": partial(one, name, cp.Search()) for name in MODELS},
    **{
        f"paper/{variant}/{name}": partial(one, name, cp.Search.paper(variant), i=1)
        for variant in VARIANTS
        for name in MODELS
    },
    "search/evaluations": partial(one, "forest", FEW, i=2),
    "search/patience": partial(
        many, "linear", cp.Search(method="nsga2", population=12, generations=60, patience=2)
    ),
    "search/nsga2-of-a-budget": partial(one, "linear", SHORT.with_(evaluations=301)),
    "search/random": partial(one, "linear", cp.Search(method="random", evaluations=400), i=2),
    "search/whatif": partial(many, "linear", cp.WhatIf(n=4)),
    "search/mutation-conditional": partial(
        one, "linear", SHORT.with_(mutation="conditional", initialization="random"), i=3
    ),
    "search/mutation-gaussian": partial(one, "linear", SHORT.with_(mutation="gaussian"), i=3),
    "search/step-times-range": partial(
        one, "linear", SHORT.with_(mutation="gaussian", step="deviation_times_range")
    ),
    "search/start-observed": partial(one, "linear", SHORT.with_(initialization="observed")),
    "search/start-deviation": partial(one, "linear", SHORT.with_(initialization="deviation")),
    "search/no-penalty": partial(one, "linear", SHORT.with_(epsilon=None)),
    "model/function": partial(of_function, score_of_pandas),
    "model/sees-its-batch": partial(of_function, score_by_batch),
    "model/threshold": partial(many, "threshold", FEW),
    "row/already-met": partial(one, "linear", target="bad"),
    "row/out-of-reach": partial(one, "regression linear", target=(1000.0, None)),
    "row/beyond-the-data": beyond_the_data,
    "classes/label": partial(one, "three classes", target="middle"),
    "classes/probability": partial(one, "three classes linear", target=("high", (0.6, 1.0))),
    "classes/nsga2": partial(one, "three classes linear", SHORT, target="high"),
    "regression/interval": partial(one, "regression", target=(3.0, 4.0)),
    "regression/open": partial(one, "regression linear", target=(2.5, None)),
    "regression/nsga2": partial(one, "regression linear", SHORT, target=(2.0, 2.5)),
    **{
        f"{demand}/{name}": partial(one, "linear", search, "good", i=2, **settings)
        for demand, settings in DEMANDS.items()
        for name, search in SEARCHES.items()
    },
    "limits/whatif": partial(
        many, "linear", cp.WhatIf(n=2), fixed=["city"], ranges=LIMITS["ranges"], max_changed=6
    ),
    "limits/nice": partial(
        many, "linear", cp.NICE(n=2), fixed=["city"], ranges=LIMITS["ranges"], max_changed=6
    ),
    "missing/nice": partial(missing, cp.NICE(variant="proximity", n=3)),
    "missing/explore": partial(missing, FEW),
    "missing/gaussian": partial(missing, SHORT.with_(mutation="gaussian")),
    "missing/random": partial(missing, SHORT.with_(method="random")),
    "missing/whatif": partial(missing, cp.WhatIf(n=3)),
    "missing-allowed/explore": partial(missing, FEW, allow_missing=True),
    "missing-allowed/nsga2": partial(missing, SHORT.with_(mutation="gaussian"), allow_missing=True),
    "own/objective": partial(with_own, objectives=OBJECTIVES[:1]),
    "own/objective-by-nsga2": partial(with_own, SHORT, objectives=OBJECTIVES[:1]),
    "own/distance": partial(with_own, distance=DISTANCE),
    "own/distance-by-nsga2": partial(with_own, SHORT, distance=DISTANCE),
    "own/scale": partial(with_own, distance=cp.Gower("mad")),
    "own/scale-by-nsga2": partial(with_own, SHORT, distance=cp.Gower("percentile")),
    "own/plausibility": partial(with_own, plausibility=RARITY),
    "own/everything": partial(
        with_own, FEWER, objectives=OBJECTIVES, distance=DISTANCE, plausibility=RARITY
    ),
    "own/forest-plausibility": partial(
        with_own, plausibility=cp.ForestPlausibility(trees=20, rounds=3)
    ),
    "own/forest-plausibility-by-nsga2": partial(
        with_own, SHORT, plausibility=cp.ForestPlausibility(trees=20, rounds=3)
    ),
    "own/nearest-rows": partial(with_own, k=3, weights=[3.0, 2.0, 1.0]),
    "own/full-precision": partial(with_own, precision="full"),
    "own/full-precision-by-nsga2": partial(with_own, SHORT, precision="full"),
    **{f"many/{name}": partial(many, name, FEW, workers=1) for name in MODELS},
    "many/two-workers": partial(many, "forest", FEW, workers=2),
    "many/nsga2-in-small-groups": partial(many, "linear", SHORT, workers=2, memory=0.0006),
    "many/each-in-small-groups": partial(each, "linear", FEW, workers=2, memory=0.001),
    "many/rules": partial(many, "linear", FEW, constraints=[*RULES, is_owner_or_old]),
    "continued/explore": partial(continued, FEW, 300),
    "continued/nsga2": partial(continued, SHORT, 100),
    "continued/random": partial(continued, cp.Search(method="random", evaluations=200), 200),
    "tables/polars": partial(in_polars, FEW),
    "tables/polars-by-nsga2": partial(in_polars, SHORT),
    "tables/arrow": in_arrow,
    "tables/array": in_array,
    "tables/date-grade-group": partial(of_kinds, FEW),
    "tables/date-grade-group-by-nsga2": partial(of_kinds, SHORT),
    "frame/pandas": partial(by_frame, is_dask=False),
    "frame/dask": partial(by_frame, is_dask=True),
    "frame/dask-with-limits": partial(by_frame, is_dask=True, **LIMITS, constraints=RULES[:2]),
    "files/threads": partial(by_files, "threads"),
    "files/threads-with-limits": partial(by_files, "threads", **LIMITS, constraints=RULES[:2]),
    "files/dask": partial(by_files, "dask", workers=1),
}
