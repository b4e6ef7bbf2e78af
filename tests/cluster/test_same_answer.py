"""One row, a thousand, any engine, any number of workers, any chunk size: the same bytes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.cluster import world
from tests.cluster.jobs import Job, explained, parts
from tests.cluster.world import ORDER, RAISES, applicants

import counterpoint as cp
from counterpoint.batch.engines.dask import DaskEngine
from counterpoint.batch.engines.engine import Recipe, Threads
from counterpoint.batch.rows import Order

distributed = pytest.importorskip("distributed", reason="needs counterpoint[dask]")

CHUNKS = [1, 7, None]


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Job:
    return Job(tmp_path_factory.mktemp("same") / "job", applicants(40, r11=RAISES, r12=RAISES))


@pytest.fixture(scope="module")
def one_by_one(job: Job) -> dict[str, bytes]:
    """Return the parts if every row is explained alone, by one thread."""
    return explained(job.folder / "rows", job.out, chunk=1)


@pytest.fixture(scope="module", params=[1, 3])
def cluster(request: pytest.FixtureRequest) -> Iterator[Any]:
    with distributed.LocalCluster(
        n_workers=request.param,
        threads_per_worker=1,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        silence_logs=50,
    ) as cluster:
        yield cluster


@pytest.mark.parametrize("chunk", CHUNKS)
@pytest.mark.parametrize("workers", [1, 3])
def test_threads(
    job: Job, one_by_one: dict[str, bytes], tmp_path: Path, workers: int, chunk: int | None
) -> None:
    def threads(recipe: Recipe, order: Order) -> Threads:
        return Threads(recipe, order, workers)

    assert explained(job.folder / "rows", tmp_path / "out", threads, chunk=chunk) == one_by_one


@pytest.mark.parametrize("chunk", CHUNKS)
def test_processes_of_dask(
    job: Job, one_by_one: dict[str, bytes], tmp_path: Path, cluster: Any, chunk: int | None
) -> None:
    def engine(recipe: Recipe, order: Order) -> DaskEngine:
        return DaskEngine(recipe, order, scheduler=cluster.scheduler_address)

    assert explained(job.folder / "rows", tmp_path / "out", engine, chunk=chunk) == one_by_one


@pytest.mark.parametrize("kind", ["pandas", "dask"])
def test_a_frame(job: Job, one_by_one: dict[str, bytes], kind: str) -> None:
    assert one_by_one
    rows: Any = job.rows
    if kind == "dask":
        rows = pytest.importorskip("dask.dataframe").from_pandas(job.rows, npartitions=3)

    found = cp.explain_frame(
        world.Factory(job.folder),
        rows,
        ORDER.target,
        ORDER.search,
        limits=ORDER.limits,
        keep=ORDER.keep,
        id=ORDER.id,
    )

    frame = found.compute(scheduler="synchronous") if kind == "dask" else found
    written = pq.read_table(parts(job.out))
    assert pa.Table.from_pandas(frame, written.schema, preserve_index=False).equals(written)


def test_verdicts_of_processes(job: Job, cluster: Any) -> None:
    frames = pytest.importorskip("dask.dataframe")
    rows = frames.from_pandas(job.rows, npartitions=3)
    asked: dict[str, Any] = {"limits": ORDER.limits, "id": ORDER.id}
    lazy = cp.verify_frame(world.Factory(job.folder), rows, ORDER.target, **asked)

    with distributed.Client(cluster) as client:
        found = client.compute(lazy).result()

    known = cp.verify_frame(world.Factory(job.folder), job.rows, ORDER.target, **asked)
    assert known["verdict"].tolist().count("unknown") == 2  # the rows that raise
    for name in known:
        assert found[name].astype("string").tolist() == known[name].astype("string").tolist()
