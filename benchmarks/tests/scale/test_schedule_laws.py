"""The simulated schedule of batch jobs: what must hold for any cluster."""

from __future__ import annotations

from math import isclose

import pytest
from benchmarks.scale.schedule import Cluster, Job, simulate
from hypothesis import given
from hypothesis import strategies as st

SPREADS = st.lists(st.floats(0.2, 3.0), min_size=1, max_size=5)
JOBS = st.builds(
    Job, rows=st.integers(1, 400), row_seconds=st.floats(0.01, 2.0), chunk_seconds=st.just(5.0)
)
CLUSTERS = st.builds(
    Cluster,
    workers=st.integers(1, 9),
    spread=SPREADS,
    driver_seconds=st.floats(0.0, 0.5),
    start_seconds=st.floats(0.0, 10.0),
    failures=st.sampled_from([0.0, 1.0, 30.0]),
    restart_seconds=st.floats(0.0, 20.0),
    queued=st.integers(0, 2),
)
SEEDS = st.integers(0, 1000)


@given(job=JOBS, cluster=CLUSTERS, seed=SEEDS)
def test_everything_is_done_once_and_no_faster_than_the_workers_can(
    job: Job, cluster: Cluster, seed: int
) -> None:
    alone = Cluster(1, cluster.spread, 0.0, 0.0)

    found, plain = simulate(job, cluster, seed), simulate(job, alone, seed)

    # The chunks draw the same times anywhere, so the work that is kept is the same.
    assert isclose(found.work, plain.seconds, rel_tol=1e-9)
    assert found.seconds >= cluster.start_seconds + found.work / cluster.workers - 1e-6
    assert 0.0 < found.efficiency(cluster.workers) <= 1.0 + 1e-9
    assert found.driver_load <= 1.0 + 1e-9
    assert (found.lost > 0) == (found.wasted > 0.0)
    assert found == simulate(job, cluster, seed)


@given(job=JOBS, cluster=CLUSTERS, seed=SEEDS)
def test_the_driver_is_asked_twice_per_chunk_and_once_more_per_loss(
    job: Job, cluster: Cluster, seed: int
) -> None:
    found = simulate(job, cluster, seed)

    n_asked = 2 * job.chunks + found.lost
    assert found.driver == pytest.approx(n_asked * cluster.driver_seconds / 2)
    assert found.seconds >= found.driver - 1e-6


def test_without_failures_nothing_is_lost_and_a_slow_driver_is_the_limit() -> None:
    job = Job(rows=1000, row_seconds=1.0)  # 200 chunks of 5 s

    quick = simulate(job, Cluster(10, [1.0], driver_seconds=0.0, start_seconds=2.0))
    slow = simulate(job, Cluster(10, [1.0], driver_seconds=1.0, start_seconds=2.0))

    assert (quick.seconds, quick.lost) == (102.0, 0)  # two seconds, then twenty chunks each
    assert slow.seconds == pytest.approx(200.0, rel=0.05)  # a second of the driver for each chunk
    assert slow.driver_load > 0.95


def test_dying_workers_cost_about_what_they_should() -> None:
    """Ten deaths an hour: a chunk of 36 s is lost one time in ten, with half of its time."""
    job = Job(rows=20_000, row_seconds=3.6, chunk_seconds=36.0)
    cluster = Cluster(4, [1.0], 0.0, 0.0, failures=10.0, restart_seconds=0.0)

    found = simulate(job, cluster, seed=1)

    assert found.lost / job.chunks == pytest.approx(0.1, abs=0.02)
    assert found.wasted / found.lost == pytest.approx(18.0, abs=3.0)
    assert found.efficiency(4) == pytest.approx(1.0 / 1.05, abs=0.01)
