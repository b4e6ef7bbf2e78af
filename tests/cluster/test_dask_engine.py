"""The Dask engine alone: who is told what, who is blamed for what, on real processes."""

from __future__ import annotations

import importlib
import logging
import os
import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tests.cluster import world
from tests.cluster.world import HANGS, HUNGRY, KILLS, LEAVES, ORDER, PATIENCE, WAITS, applicants

from counterpoint.batch.engines import cluster as cluster_module
from counterpoint.batch.engines import dask as engine_module
from counterpoint.batch.engines.dask import DaskEngine
from counterpoint.batch.engines.engine import Chunk, Done, Lost, Recipe, work
from counterpoint.errors import EngineError, InvalidInput

pytest.importorskip("distributed", reason="the Dask engine needs counterpoint[dask]")


@contextmanager
def engine_of(
    make: Any, workers: int | None = 2, scheduler: str | None = None
) -> Iterator[DaskEngine]:
    engine = DaskEngine(Recipe.of(make), ORDER, workers, scheduler)
    try:
        yield engine
    finally:
        engine.close()


def submit_all(engine: DaskEngine, rows: pd.DataFrame, size: int) -> list[Chunk]:
    """Submit rows in chunks."""
    chunks = [Chunk(i, min(i + size, len(rows))) for i in range(0, len(rows), size)]
    for chunk in chunks:
        engine.submit(chunk, rows.iloc[slice(*chunk)])
    return chunks


def reports_of(engine: DaskEngine, n: int) -> dict[Chunk, Done | Lost]:
    """Return what becomes of n chunks."""
    found: dict[Chunk, Done | Lost] = {}
    until = time.monotonic() + PATIENCE
    while len(found) < n:
        assert time.monotonic() < until, f"of {n} chunks there is news of {sorted(found)} only"
        found |= {report.chunk: report for report in engine.wait(0.5)}
    return found


def of_kind(reports: dict[Chunk, Done | Lost], kind: type) -> set[Chunk]:
    return {chunk for chunk, report in reports.items() if isinstance(report, kind)}


def test_results_are_the_bytes_of_work_and_the_recipe_is_unpacked_and_built_once_per_process(
    tmp_path: Path,
) -> None:
    rows = applicants(40)
    with engine_of(world.Factory(tmp_path), 3) as engine:
        processes = set(engine._client.run(os.getpid).values())
        (tmp_path / "built").touch()

        chunks = submit_all(engine, rows, 2)
        reports = reports_of(engine, len(chunks))

        assert engine.running() == {}
        assert not engine._attempts
        world.wait_until(lambda: not engine._client.futures, "Dask may forget them all")
    recipe = Recipe.of(world.Factory(tmp_path))
    for chunk in (chunks[0], chunks[-1]):
        report = reports[chunk]
        assert isinstance(report, Done)
        assert report.payload == work(recipe, ORDER, rows.iloc[slice(*chunk)])
    for trace in ("unpacked", "built"):
        times = Counter(map(int, (tmp_path / trace).read_text().split()))
        assert {times[process] for process in processes} <= {0, 1}
        assert sum(times[process] for process in processes) >= 1


def test_a_row_that_kills_every_worker_it_meets_is_lost_each_time_and_its_neighbours_never(
    tmp_path: Path,
) -> None:
    rows = applicants(4, r0=KILLS)
    with engine_of(world.Factory(tmp_path)) as engine:
        for _ in range(4):  # one more than Dask allows by itself
            submit_all(engine, rows, 1)
            reports = reports_of(engine, len(rows))
            assert of_kind(reports, Lost) == {Chunk(0, 1)}
            assert reports[Chunk(0, 1)] == Lost(Chunk(0, 1), "its worker died")


def test_work_that_would_leave_its_process_or_lacks_memory_is_lost(tmp_path: Path) -> None:
    rows = applicants(4, r1=LEAVES, r2=HUNGRY)
    with engine_of(world.Factory(tmp_path), 1) as engine:
        submit_all(engine, rows, 1)

        reports = reports_of(engine, 4)

        lost = {chunk.start: one.reason for chunk, one in reports.items() if isinstance(one, Lost)}
        assert lost == {1: "its work ended with SystemExit", 2: "its work ended with MemoryError"}


def test_waiting_for_a_turn_is_not_running(tmp_path: Path) -> None:
    rows = applicants(4, r0=WAITS, r1=WAITS, r2=WAITS, r3=WAITS)
    with engine_of(world.Factory(tmp_path), 1) as engine:
        submit_all(engine, rows, 1)
        world.wait_until(engine.running, "one is running")

        assert len(engine.running()) == 1

        world.open_gate(tmp_path)
        assert len(of_kind(reports_of(engine, 4), Done)) == 4


@pytest.mark.parametrize("fault", ["hangs", "paused"])
def test_a_chunk_given_up_is_not_reported_and_its_worker_is_replaced(
    tmp_path: Path, fault: str
) -> None:
    rows = applicants(8, r0=HANGS if fault == "hangs" else WAITS)
    with engine_of(world.Factory(tmp_path)) as engine:
        submit_all(engine, rows, 1)
        at_it = "hangs" if fault == "hangs" else "waits"
        (process,) = world.wait_until(lambda: world.those_who(tmp_path, at_it), "it is at work")
        if fault == "paused":
            os.kill(process, signal.SIGSTOP)

        world.wait_until(lambda: Chunk(0, 1) in engine.running(), "it is known")
        engine.give_up(Chunk(0, 1))

        assert set(reports_of(engine, 7)) == {Chunk(i, i + 1) for i in range(1, 8)}
        assert engine.wait(0.1) == []
        world.wait_until(lambda: not alive(process), "its process is gone")
        world.wait_until(lambda: engine.slots() == 4, "there is another")


def alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_closing_ends_a_paused_worker_too(tmp_path: Path) -> None:
    with engine_of(world.Factory(tmp_path)) as engine:
        processes = list(engine._client.run(os.getpid).values())
        os.kill(processes[0], signal.SIGSTOP)

    assert not any(alive(process) for process in processes)


def test_an_explainer_that_cannot_be_built_stops_the_job(tmp_path: Path) -> None:
    with engine_of(NeedsAnAbsentPackage()) as engine:
        submit_all(engine, applicants(2), 1)

        with pytest.raises(EngineError, match=r"cannot explain rows \(ModuleNotFoundError: No mod"):
            reports_of(engine, 2)
    assert not list(tmp_path.iterdir())


class NeedsAnAbsentPackage:
    """A factory of what is not there."""

    def __call__(self) -> Any:
        """Import what is not there."""
        return importlib.import_module("no_such_package_of_ours")


class Dies:
    """A factory that takes its process along."""

    def __call__(self) -> Any:
        """Die."""
        os.kill(os.getpid(), signal.SIGKILL)


def test_workers_that_die_building_stop_the_job_and_no_row_is_blamed() -> None:
    with engine_of(Dies()) as engine:
        submit_all(engine, applicants(3), 1)

        with pytest.raises(EngineError, match="3 workers died while they built the explainer"):
            reports_of(engine, 1)


class Dawdles:
    """A factory that never comes to an end."""

    def __call__(self) -> Any:
        """Sleep."""
        time.sleep(PATIENCE * 10)


def test_an_explainer_that_is_never_built_stops_the_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_module, "SECONDS_TO_BUILD", 0.5)
    with engine_of(Dawdles(), 1) as engine:
        submit_all(engine, applicants(1), 1)

        with pytest.raises(EngineError, match=r"has not built the explainer within 0 s\. What is"):
            reports_of(engine, 1)


def test_threads_that_lie_idle_are_told_once(tmp_path: Path) -> None:
    make = world.Factory(tmp_path)
    with cluster_of(1, threads=2) as cluster:
        with pytest.warns(UserWarning, match="workers of several threads, of which one is used"):
            engine = DaskEngine(Recipe.of(make), ORDER, scheduler=cluster.scheduler_address)
        try:
            submit_all(engine, applicants(4), 1)
            assert len(of_kind(reports_of(engine, 4), Done)) == 4
        finally:
            engine.close()


@pytest.mark.parametrize(
    ("packages", "told"),
    [
        (
            {"python": "3.8.1.final.0", "counterpoint": "9.9"},
            r"Python 3\.8 and counterpoint 9\.9",
        ),
        (
            {"python": "3.8.1.final.0", "counterpoint": None},
            r"Python 3\.8 and counterpoint none",
        ),
    ],
)
def test_workers_of_other_versions_are_refused(packages: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidInput, match=rf"scheduler 'tcp://s:1' has the worker w with {told}"):
        cluster_module.check_versions("tcp://s:1", {"w": {"packages": packages}})


def test_a_worker_with_another_version_stops_the_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("counterpoint.batch.engines.dask.__version__", "0.0.1")
    with engine_of(world.Factory(tmp_path), 1) as engine:
        submit_all(engine, applicants(1), 1)

        with pytest.raises(EngineError, match=r"and the job 0\.0\.1; install the same version"):
            reports_of(engine, 1)


@contextmanager
def cluster_of(workers: int, threads: int = 1) -> Iterator[Any]:
    """Start a cluster that is not the engine's own."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=workers,
        threads_per_worker=threads,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        silence_logs=50,
    ) as cluster:
        yield cluster


def test_a_cluster_without_workers_is_waited_for_and_not_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = world.Factory(tmp_path)
    with cluster_of(0) as cluster, engine_of(make, None, cluster.scheduler_address) as engine:
        assert engine.slots() == 2
        submit_all(engine, applicants(2), 1)
        assert engine.wait(0.1) == []

        cluster.scale(1)
        assert len(of_kind(reports_of(engine, 2), Done)) == 2

        cluster.scale(0)
        monkeypatch.setattr(engine_module, "SECONDS_WITHOUT_WORKERS", 0.5)
        with pytest.raises(EngineError, match="has had no worker for 0 s"):
            reports_of(engine, 1)


def test_workers_come_and_go_and_nobody_is_blamed(tmp_path: Path) -> None:
    make, rows = world.Factory(tmp_path), applicants(12, r0=WAITS)
    with cluster_of(1) as cluster, engine_of(make, None, cluster.scheduler_address) as engine:
        submit_all(engine, rows, 1)
        world.wait_until(lambda: world.those_who(tmp_path, "waits"), "the first is at work")
        (leaver,) = engine._client.nthreads()

        cluster.scale(2)
        world.wait_until(lambda: engine.slots() == 4, "one has come")
        retired = engine._client.retire_workers([leaver], close_workers=True)
        world.open_gate(tmp_path)

        assert leaver in retired
        assert len(of_kind(reports_of(engine, 12), Done)) == 12


def test_a_worker_that_is_lost_with_its_nanny_is_replaced(tmp_path: Path) -> None:
    soon = pytest.importorskip("dask.config").set({"distributed.deploy.lost-worker-timeout": "1s"})
    with soon, engine_of(world.Factory(tmp_path)) as engine:
        nanny = engine._cluster.workers[0]

        engine._client.sync(nanny.close)

        world.wait_until(lambda: engine.slots() == 2, "it is gone")
        world.wait_until(lambda: engine.slots() == 4, "there is another")


def test_a_scheduler_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_module, "SECONDS_TO_CONNECT", 2)
    with pytest.raises(InvalidInput, match=r"scheduler 'tcp://127\.0\.0\.1:9' cannot be reached"):
        DaskEngine(Recipe.of(Dies()), ORDER, scheduler="tcp://127.0.0.1:9")


def test_an_address_that_is_none_is_refused_at_once_and_in_silence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pytest.importorskip("distributed"), "Client", None)  # is not even made
    with pytest.raises(
        InvalidInput, match=r"scheduler 'nonsense' cannot be reached .*missing port"
    ):
        DaskEngine(Recipe.of(Dies()), ORDER, scheduler="nonsense")


def test_workers_and_scheduler_exclude_each_other() -> None:
    with pytest.raises(InvalidInput, match=r"workers=2 says .* and scheduler='tcp://there:1' has"):
        DaskEngine(Recipe.of(Dies()), ORDER, 2, "tcp://there:1")


def test_logging_is_as_before(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    before = {name: logging.getLogger(name).level for name in ("distributed", "tornado")}
    with engine_of(world.Factory(tmp_path)) as engine:
        submit_all(engine, applicants(6, r2=KILLS), 1)
        reports_of(engine, 6)
        assert engine.dashboard is None or engine.dashboard.startswith("http://127.0.0.1:")

    assert before == {name: logging.getLogger(name).level for name in before}
    out, err = capfd.readouterr()
    assert (out, err) == ("", "")
