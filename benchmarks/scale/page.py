"""What was measured of batch jobs, and what follows for larger ones, as a page."""

from __future__ import annotations

import datetime
from collections.abc import Sequence

import numpy as np
from scipy.optimize import nnls

from benchmarks.scale.measuring import Run
from benchmarks.scale.schedule import HOUR, Cluster, Job, simulate
from benchmarks.study.store import machine
from benchmarks.study.tables import markdown

MILLION, BILLION = 10**6, 10**9
SIZES = {MILLION: (2, 16, 64, 256, 1024), BILLION: (256, 1024, 4096)}
DEATHS = {MILLION: (0.0, 0.1, 1.0), BILLION: (0.1,)}  # of one worker, per hour
MOST_CHUNKS = 400_000  # of longer jobs a share is simulated
CHUNK_SECONDS = 5.0
LONG_CHUNKS = 60.0
PRICE = 0.05  # of an hour of one core: an assumption, in any currency


def page_of(runs: Sequence[Run]) -> str:
    """Return the page as Markdown."""
    usual = Costs(runs)
    return "\n\n".join(
        [
            "# Growth of batch jobs",
            "Written by `make -C benchmarks scale` "
            f"on {datetime.datetime.now(datetime.UTC):%Y-%m-%d}. "
            f"Run on: {machine()}. Every run is in `runs.json`.",
            "## Measured",
            "A logistic regression of 12 numbers, 2,000 observed rows, ten counterfactuals kept of "
            "each declined row. *rows/s* is of the time chunks were worked on; *start* is the "
            "rest: Python, the model, processes, the manifest. *efficiency*: rows/s of two workers "
            "as a share of twice those of one. Memory is the most that was seen: of the command's "
            "own process, and of the largest it started.",
            measured(runs),
            "## What a chunk costs",
            usual.told(),
            "## The simulated schedule beside the measured one",
            "The simulation is given the times of the chunks that one Dask worker took, and "
            "should then say how long two take.",
            checked(runs, usual),
            "## A million rows and a billion",
            f"At {usual.row_seconds * 1000:.1f} ms per row (the default search of 3,520 "
            f"evaluations, one core) and chunks of {CHUNK_SECONDS:g} s. *driver* is the share of "
            "the time in which the one process that hands out chunks and writes what comes back "
            f"is busy; {PRICE:g} per hour of a core is an assumption. Of jobs of more than "
            f"{MOST_CHUNKS:,} chunks a share is simulated and taken as often as it fits, since "
            "such a schedule is steady.",
            extrapolated(usual, CHUNK_SECONDS),
            f"With chunks of {LONG_CHUNKS:g} s:",
            extrapolated(usual, LONG_CHUNKS, [BILLION]),
            "What moves over the network, and what one scheduler would hold:",
            moved(usual),
            "",
        ]
    )


class Costs:
    """What the measured runs say of a chunk.

    Attributes
    ----------
    row_seconds : float
        Of one row with the default search on one Dask worker.
    spread : list of float
        Times of chunks, divided by what their rows should take.
    chunk_cost, row_cost : float
        Seconds of computing of driver and scheduler per chunk, and per row.
    start_seconds : float
        Until a worker has its first chunk.
    bytes_out : float
        Written per row.
    """

    def __init__(self, runs: Sequence[Run]) -> None:
        dask = [run for run in runs if run.engine == "dask"]
        large = max((run for run in dask if run.workers == 1), key=lambda run: run.rows)
        small = min((run for run in dask if run.workers == 1), key=lambda run: run.rows)
        usual = max(dask, key=lambda run: run.evaluations)
        self.row_seconds = usual.row_seconds
        self.spread = spread_of(large)
        terms = np.array([[1.0, len(run.chunks), run.rows] for run in dask])
        worked = np.array([run.driver_cpu for run in dask])
        # None of start, chunks and rows costs less than nothing.
        _, self.chunk_cost, self.row_cost = nnls(terms, worked)[0].tolist()
        self.start_seconds = small.seconds - small.busy_seconds
        self.bytes_out = large.written / large.rows

    def driver_seconds(self, job: Job) -> float:
        """Return what the driver computes for one chunk of a job."""
        return float(self.chunk_cost + self.row_cost * job.chunk_rows)

    def told(self) -> str:
        """Return it in words."""
        low, high = np.quantile(self.spread, [0.05, 0.95])
        return (
            "Driver and scheduler, which share a process here, compute about "
            f"{1000 * self.chunk_cost:.0f} ms per chunk and {1e6 * self.row_cost:.0f} µs per row "
            "(non-negative least squares over the Dask runs). So one driver cannot hand out more "
            f"than {1 / max(self.row_cost, 1e-9):,.0f} rows a second, whatever the cluster. A job "
            f"starts and ends in {self.start_seconds:.1f} s. "
            f"Nine in ten chunks take {low:.2f} to {high:.2f} times what their number of rows "
            f"lets expect. The parts have {self.bytes_out:,.0f} bytes per explained row."
        )


def spread_of(run: Run) -> list[float]:
    """Return the times of a run's chunks, each divided by its rows' share of all."""
    return [seconds / (n * run.row_seconds) for n, seconds in run.chunks]


def measured(runs: Sequence[Run]) -> str:
    """Return the table of runs."""
    header = ["engine", "evaluations", "rows", "workers", "rows/s", "efficiency", "start, s"]
    header += ["chunks", "longest, s", "driver, MiB", "worker, MiB"]
    alone = {(run.engine, run.evaluations, run.rows): run for run in runs if run.workers == 1}
    lines = []
    for run in sorted(runs, key=lambda r: (r.engine, r.evaluations, r.rows, r.workers)):
        one = alone[run.engine, run.evaluations, run.rows]
        share = "" if run is one else f"{run.rate / (run.workers * one.rate):.0%}"
        worker = f"{run.worker_mib:,.0f}" if run.engine == "dask" else ""
        longest = max(seconds for _, seconds in run.chunks)
        lines.append(
            [
                *(run.engine, f"{run.evaluations:,}", f"{run.rows:,}", run.workers),
                *(f"{run.rate:,.0f}", share, f"{run.seconds - run.busy_seconds:.1f}"),
                *(len(run.chunks), f"{longest:.1f}", f"{run.driver_mib:,.0f}", worker),
            ]
        )
    return markdown(header, lines)


def checked(runs: Sequence[Run], costs: Costs) -> str:
    """Return how long two workers took, and would have by the simulation."""
    lines = []
    few = [run for run in runs if run.engine == "dask" and run.evaluations < max_evaluations(runs)]
    for one in sorted((run for run in few if run.workers == 1), key=lambda run: run.rows):
        two = next(run for run in few if run.workers == 2 and run.rows == one.rows)
        seconds = sum(seconds for _, seconds in one.chunks) / len(one.chunks)
        job = Job(one.rows, one.row_seconds, chunk_seconds=seconds)
        cluster = Cluster(2, spread_of(one), costs.driver_seconds(job), start_seconds=0.0)
        said = simulate(job, cluster).seconds
        took = two.busy_seconds
        lines.append([f"{one.rows:,}", f"{said:.1f}", f"{took:.1f}", f"{took / said:.2f}"])
    return markdown(["rows", "simulated, s", "measured, s", "ratio"], lines)


def max_evaluations(runs: Sequence[Run]) -> int:
    """Return the most evaluations of any run."""
    return max(run.evaluations for run in runs)


def extrapolated(
    costs: Costs, chunk_seconds: float, sizes: Sequence[int] = (MILLION, BILLION)
) -> str:
    """Return the simulated jobs."""
    header = ["rows", "workers", "deaths per worker and hour", "chunks", "hours", "efficiency"]
    header += ["driver", "chunks lost", "core hours", "price"]
    lines = []
    for rows in sizes:
        share = 1 + Job(rows, costs.row_seconds, chunk_seconds).chunks // MOST_CHUNKS
        job = Job(rows // share, costs.row_seconds, chunk_seconds)
        for workers in SIZES[rows]:
            for deaths in DEATHS[rows]:
                cluster = Cluster(
                    *(workers, costs.spread, costs.driver_seconds(job)),
                    *(costs.start_seconds, deaths),
                )
                found = simulate(job, cluster)
                hours = share * found.seconds / HOUR
                lines.append(
                    [
                        *(f"{rows:,}", f"{workers:,}", f"{deaths:g}", f"{share * job.chunks:,}"),
                        *(f"{hours:,.2f}", f"{found.efficiency(workers):.0%}"),
                        *(f"{found.driver_load:.0%}", f"{share * found.lost:,}"),
                        *(f"{hours * workers:,.1f}", f"{hours * workers * PRICE:,.2f}"),
                    ]
                )
    return markdown(header, lines)


def moved(costs: Costs) -> str:
    """Return bytes and tasks of large jobs."""
    bytes_in = 8 * 13  # twelve numbers and an id, as they are sent
    lines = []
    for rows in (MILLION, BILLION):
        job = Job(rows, costs.row_seconds, CHUNK_SECONDS)
        at_most = [f"{workers / CHUNK_SECONDS:,.0f}" for workers in (64, 1024)]
        lines.append(
            [
                *(f"{rows:,}", f"{job.chunks:,}", *at_most),
                *(f"{rows * bytes_in / 1e9:,.1f}", f"{rows * costs.bytes_out / 1e9:,.1f}"),
                f"{rows * costs.row_seconds / HOUR:,.1f}",
            ]
        )
    header = ["rows", "chunks", "chunks/s with 64 workers", "with 1,024", "GB out to workers"]
    return markdown([*header, "GB written", "core hours of work alone"], lines)
