"""Whatever happens to a job: the ids out are the ids in, and the bytes are those of a quiet run.

The command runs with real processes. A row at the gate holds each run open, and so a fault is
injected when the run surely is under way, whatever the machine is doing besides.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from tests.cluster import world
from tests.cluster.jobs import (
    ENVIRONMENT,
    PART_ROWS,
    Job,
    bytes_of_parts,
    ended,
    explained,
    killed,
    parts,
)
from tests.cluster.world import CALM, HANGS, KILLS, RAISES, WAITS, applicants, open_gate, wait_until

pytest.importorskip("distributed", reason="the Dask engine needs counterpoint[dask]")

N_ROWS, AT_GATE = 48, 20
DASK = ("--engine", "dask", "--workers", "2")
THREADS = ("--engine", "threads")
DONE = 0


@pytest.fixture
def job(tmp_path: Path) -> Job:
    """Return a job with one row that waits at the gate."""
    return Job(tmp_path / "job", applicants(N_ROWS, **{f"r{AT_GATE}": WAITS}))


@pytest.fixture(scope="module")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Return the parts of the same rows when nothing happens, by one thread."""
    calm = Job(
        tmp_path_factory.mktemp("quiet") / "job", applicants(N_ROWS, **{f"r{AT_GATE}": WAITS})
    )
    open_gate(calm.folder)
    return explained(calm.folder / "rows", calm.out)


def waiting_process(job: Job) -> int:
    """Return the process that has the row at the gate, once other chunks are done as well."""
    wait_until(lambda: world.those_who(job.folder, "waits"), "a row is at the gate")
    wait_until(lambda: len(job.journal()) >= 2, "chunks are done")
    return world.those_who(job.folder, "waits")[0]


def check(job: Job, quiet: dict[str, bytes]) -> None:
    """Hold what a job has written against the quiet run."""
    assert bytes_of_parts(job.out) == quiet
    assert sorted(set(job.written()["id"])) == sorted(job.rows["id"])
    assert not (job.out / "work").exists()


def alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_worker_is_killed(job: Job, quiet: dict[str, bytes]) -> None:
    run = job.start(*DASK)
    os.kill(waiting_process(job), signal.SIGKILL)
    open_gate(job.folder)

    status, said = ended(run)

    assert status == DONE, said
    assert [line["reason"] for line in job.log("lost")] == ["its worker died"]
    check(job, quiet)


def test_a_worker_is_paused(job: Job, quiet: dict[str, bytes]) -> None:
    run = job.start(*DASK, "--row-timeout", "8")
    paused = waiting_process(job)
    os.kill(paused, signal.SIGSTOP)
    open_gate(job.folder)

    status, said = ended(run)

    assert status == DONE, said
    assert not alive(paused)
    check(job, quiet)


def test_the_client_is_killed_and_its_workers_go_with_it(job: Job, quiet: dict[str, bytes]) -> None:
    run = job.start(*DASK)
    worker = waiting_process(job)
    killed(run)
    wait_until(lambda: not alive(worker), "its worker is gone")
    n_done = len(job.journal())
    open_gate(job.folder)

    status, said = job.run(*DASK)

    assert status == DONE, said
    assert n_done >= 2
    check(job, quiet)


@pytest.mark.parametrize("asked", [signal.SIGINT, signal.SIGTERM])
def test_all_processes_are_asked_to_end_and_no_row_is_blamed(
    job: Job, quiet: dict[str, bytes], asked: signal.Signals
) -> None:
    run = job.start(*DASK)
    waiting_process(job)
    os.killpg(run.pid, asked)  # as a terminal does on Ctrl-C, and whoever ends a service
    open_gate(job.folder)

    status, said = ended(run)
    again, said_again = job.run(*THREADS)

    assert status == 130, said
    assert "Traceback" not in said
    assert job.log("lost") == []
    assert again == DONE, said_again
    check(job, quiet)


@contextmanager
def small_disk(place: Path) -> Iterator[None]:
    """Mount a disk of half a megabyte, or skip."""
    place.mkdir(parents=True)
    mount, umount = shutil.which("mount"), shutil.which("umount")
    if mount is None or umount is None or os.geteuid() != 0:
        pytest.skip("mounting a small disk needs root")
    options = [mount, "-t", "tmpfs", "-o", "size=512k", "counterpoint-test", str(place)]
    if subprocess.run(options, capture_output=True, check=False).returncode != 0:  # noqa: S603
        pytest.skip("this machine lets nobody mount a disk")
    try:
        yield
    finally:
        subprocess.run([umount, "-l", str(place)], check=True)  # noqa: S603


def test_the_disk_is_full(job: Job, quiet: dict[str, bytes]) -> None:
    with small_disk(job.out):
        run = job.start(*DASK)
        waiting_process(job)
        fill(job.out / "filler")
        open_gate(job.folder)

        status, said = ended(run)
        (job.out / "filler").unlink()
        again, said_again = job.run(*THREADS)

        assert (status, again) == (2, DONE), said + said_again
        assert "No space left on device. What is done is kept" in said
        assert "Traceback" not in said
        check(job, quiet)


def fill(file: Path) -> None:
    """Write until nothing fits."""
    with file.open("wb", buffering=0) as filler:
        for size in (4096, 1):
            try:
                while True:
                    filler.write(b"x" * size)
            except OSError:
                pass


def test_an_input_is_truncated_before_the_start(job: Job, quiet: dict[str, bytes]) -> None:
    file = job.folder / "rows" / "1.parquet"
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    open_gate(job.folder)

    status, said = job.run(*THREADS)
    was_begun = job.out.exists()
    file.write_bytes(whole)
    again, said_again = job.run(*THREADS)

    assert (status, again) == (2, DONE), said + said_again
    assert "1.parquet' cannot be read" in said
    assert not was_begun
    check(job, quiet)


def test_an_input_is_truncated_between_a_killed_run_and_the_next(
    job: Job, quiet: dict[str, bytes]
) -> None:
    run = job.start(*DASK)
    waiting_process(job)
    killed(run)
    file = job.folder / "rows" / "1.parquet"
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    open_gate(job.folder)

    status, said = job.run(*THREADS)
    file.write_bytes(whole)
    again, said_again = job.run(*THREADS)

    assert (status, again) == (2, DONE), said + said_again
    assert "1.parquet'" in said
    check(job, quiet)


def chunk_beside_the_gate(job: Job) -> Path | None:
    """Return a chunk that is done and of the same part as the row at the gate: it is kept."""
    for line in job.journal():
        if "chunk" in line and line["chunk"][0] // PART_ROWS == AT_GATE // PART_ROWS:
            start, stop = line["chunk"]
            return job.out / "work" / f"chunk-{start}-{stop}.arrow"
    return None


def test_a_chunk_is_damaged_between_a_killed_run_and_the_next(
    job: Job, quiet: dict[str, bytes]
) -> None:
    run = job.start(*DASK)
    waiting_process(job)
    chunk = wait_until(lambda: chunk_beside_the_gate(job), "one is kept")
    killed(run)
    content = bytearray(chunk.read_bytes())
    content[len(content) // 2] ^= 0xFF
    chunk.write_bytes(content)
    open_gate(job.folder)

    status, said = job.run(*THREADS)

    assert status == DONE, said
    assert [line["file"] for line in job.log("damaged")] == [chunk.name]
    check(job, quiet)


def check_but_for(job: Job, failed: dict[int, str]) -> None:
    """Hold the lines of all rows against a quiet run in which the failed ones are calm."""
    calm_rows = job.rows.copy()
    calm_rows.loc[list(failed), "deed"] = CALM
    calm = Job(job.folder / "calm", calm_rows)
    open_gate(calm.folder)
    explained(calm.folder / "rows", calm.out)
    written, others = pq.read_table(list(parts(job.out))), pq.read_table(list(parts(calm.out)))

    marked = written.filter(pc.is_in(written["row"], pa.array(failed))).to_pylist()
    assert {line["row"]: line["message"] for line in marked} == failed
    assert {(line["status"], line["counterfactual"], line["a"]) for line in marked} == {
        ("failed", 0, None)
    }
    assert sorted(set(written["id"].to_pylist())) == sorted(job.rows["id"])
    rest = [
        table.filter(pc.invert(pc.is_in(table["row"], pa.array(failed))))
        for table in (written, others)
    ]
    assert rest[0].equals(rest[1])


def test_a_model_raises_on_some_rows_and_hangs_on_one(tmp_path: Path) -> None:
    job = Job(tmp_path / "job", applicants(N_ROWS, r3=RAISES, r30=HANGS, r31=RAISES))

    status, said = job.run(*DASK, "--row-timeout", "4")

    assert status == 3, said
    check_but_for(job, {30: "no answer within 4 s"})
    raised = job.written().query("status == 'failed' and row != 30")
    assert list(raised["row"]) == [3, 31]
    assert all("the model raised ArithmeticError" in text for text in raised["message"])


def test_a_row_that_kills_its_process_is_marked_and_no_other(tmp_path: Path) -> None:
    job = Job(tmp_path / "job", applicants(N_ROWS, r21=KILLS, r40=KILLS))

    status, said = job.run(*DASK)

    assert status == 3, said
    died = "its worker died while it was explained"
    check_but_for(job, {21: died, 40: died})


@contextmanager
def cluster(*workers: list[str]) -> Iterator[tuple[str, list[subprocess.Popen[str]]]]:
    """Start a scheduler and workers as an operator does; yield its address and all processes."""
    processes = [
        dask(
            "scheduler", "--host", "127.0.0.1", "--port", "0", "--dashboard-address", "127.0.0.1:0"
        )
    ]
    try:
        address = told_address(processes[0])
        processes += [worker_of(address, *options) for options in workers]
        yield address, processes
    finally:
        for process in processes:
            with_children_killed(process)


def dask(*words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(  # noqa: S603 - our own interpreter
        [sys.executable, "-m", "dask", *words],
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
        start_new_session=True,
    )


def worker_of(address: str, *options: str) -> subprocess.Popen[str]:
    """Start a worker."""
    return dask("worker", address, "--nthreads", "1", "--host", "127.0.0.1", *options)


def told_address(scheduler: subprocess.Popen[str]) -> str:
    """Return the address a scheduler says it has."""
    assert scheduler.stderr is not None
    for line in scheduler.stderr:
        if "Scheduler at:" in line:
            return line.split()[-1]
    raise AssertionError("the scheduler did not start")


def with_children_killed(process: subprocess.Popen[str]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if process.stderr is not None:
        process.stderr.close()


def test_a_cluster_of_others_whose_workers_come_and_go(job: Job, quiet: dict[str, bytes]) -> None:
    with cluster([]) as (address, processes):
        run = job.start("--engine", "dask", "--scheduler", address)
        waits = waiting_process(job)
        processes.append(worker_of(address))
        os.killpg(processes[1].pid, signal.SIGTERM)  # the first leaves, with the row at the gate
        wait_until(lambda: not alive(waits), "it has left")
        open_gate(job.folder)

        status, said = ended(run)

        assert status == DONE, said
        check(job, quiet)
        assert processes[0].poll() is None  # the cluster is left as it was


def test_the_scheduler_dies(job: Job, quiet: dict[str, bytes]) -> None:
    with cluster([]) as (address, processes):
        run = job.start("--engine", "dask", "--scheduler", address)
        waiting_process(job)
        with_children_killed(processes[0])

        status, said = ended(run)

    open_gate(job.folder)
    again, said_again = job.run(*THREADS)
    assert (status, again) == (2, DONE), said + said_again
    assert "the connection to Dask's scheduler is lost. What is done is kept" in said
    assert "Traceback" not in said
    check(job, quiet)


def test_a_worker_without_a_nanny_is_paused_and_left_behind(
    job: Job, quiet: dict[str, bytes]
) -> None:
    with cluster(["--no-nanny"]) as (address, processes):
        run = job.start("--engine", "dask", "--scheduler", address, "--row-timeout", "8")
        os.kill(waiting_process(job), signal.SIGSTOP)
        processes.append(worker_of(address))
        open_gate(job.folder)

        status, said = ended(run)

    assert status == DONE, said
    assert said.count("has no nanny that could replace it") == 1
    check(job, quiet)
