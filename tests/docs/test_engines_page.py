"""The recipes of docs/scale.md for other engines, run as they stand: all find the same rows."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tests.frameworks import framework

import counterpoint as cp

PAGE = (Path(__file__).parents[2] / "docs" / "scale.md").read_text()
SECTION = PAGE[PAGE.index("## Other engines") :]
EXAMPLES = re.findall(r"```py(?:thon)?\n(.*?)```", SECTION, flags=re.DOTALL)


def example(mark: str) -> str:
    """Return the one example that has a mark in it."""
    (text,) = [each for each in EXAMPLES if mark in each]
    return str(text)


class Share:
    """A share of the age; it takes no ages below 0."""

    def __call__(self, rows: pd.DataFrame) -> Any:
        """Score rows."""
        if (rows["age"] < 0).any():
            raise ValueError("nobody is that young")
        return rows["age"] / 100


@pytest.fixture(scope="module")
def begun() -> dict[str, Any]:
    """Run the beginning that the examples share, and explain the rows here."""
    scope: dict[str, Any] = {}
    exec(example("load_credit()"), scope)  # noqa: S102 - our own text
    scope["expected"] = cp.explain_frame(
        scope["explainer"], scope["declined"], "good", scope["search"], id="loan", keep=3
    )
    return scope


def assert_same(found: pd.DataFrame, scope: dict[str, Any]) -> None:
    """Compare what an engine found with what explain_frame does here: as written in Arrow.

    Engines choose pandas' dtypes themselves, and hand over rows in any order.
    """
    by = ["loan", "counterfactual"]
    schema = scope["explainer"].output_schema("loan", "int64")
    expected = scope["expected"].sort_values(by)
    same = found.sort_values(by).drop(columns="row")
    same["changed"] = [list(names) for names in same["changed"]]
    ours = schema.table(same.assign(row=expected["row"].to_numpy())[expected.columns])
    assert ours.equals(schema.table(expected))


def test_dask(begun: dict[str, Any]) -> None:
    framework("dask.dataframe")
    scope = dict(begun)

    exec(example("dask.dataframe"), scope)  # noqa: S102 - our own text

    assert_same(scope["found"], scope)
    assert scope["lazy"].npartitions == 4


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    """Start a small Spark, and end it."""
    framework("pyspark")
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )
    yield session
    session.stop()


@pytest.mark.usefixtures("spark")
@pytest.mark.filterwarnings("ignore")  # Spark's own
def test_spark(begun: dict[str, Any]) -> None:
    scope = dict(begun)

    exec(example("mapInPandas"), scope)  # noqa: S102 - our own text

    assert_same(scope["found"], scope)


@pytest.mark.filterwarnings("ignore")  # Spark's own
def test_spark_takes_every_type(spark: Any) -> None:
    """Days, truth values, whole numbers and texts, all of them missing where nothing is found."""
    data = pd.DataFrame(
        {
            "age": [20, 30, 40, 50],
            "debt": [9.5, 5.0, 3.0, 1.0],
            "owns": [True, False, True, False],
            "since": pd.to_datetime(["2024-01-01", "2024-02-02", "2024-03-03", "1969-04-04"]),
            "job": ["cook", "nurse", "cook", "nurse"],
        }
    )
    explainer = cp.Explainer(Share(), data)
    rows = data.assign(loan=["a", "b", "c", "d"], age=[20, 30, 40, -1])
    order: dict[str, Any] = {"target": (0.5, 1.0), "id": "loan", "keep": 2, "progress": False}
    search = cp.Search(evaluations=60)
    carried = spark.sparkContext.broadcast(explainer)

    def explain_frames(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for frame in frames:
            yield cp.explain_frame(carried.value, frame, search=search, **order)

    schema = explainer.output_schema("loan", "str")
    done = spark.createDataFrame(rows).repartition(4).mapInPandas(explain_frames, schema.ddl())

    expected = cp.explain_frame(explainer, rows, search=search, **order)
    by = ["loan", "counterfactual"]
    found = done.drop("row").toPandas().sort_values(by).assign(row=expected["row"].to_numpy())
    found["changed"] = [list(names) for names in found["changed"]]
    assert schema.table(found[expected.columns]).equals(schema.table(expected))
    assert expected["status"].iloc[-1] == "failed"


@pytest.fixture
def ray() -> Iterator[None]:
    """Start a small Ray, and end it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        library = framework("ray")
        framework("ray.data")
    library.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield
    library.shutdown()


@pytest.mark.usefixtures("ray")
@pytest.mark.filterwarnings("ignore")  # Ray's own
def test_ray(begun: dict[str, Any]) -> None:
    scope = dict(begun)

    exec(example("map_batches"), scope)  # noqa: S102 - our own text

    assert_same(scope["found"], scope)
