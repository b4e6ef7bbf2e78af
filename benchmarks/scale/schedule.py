"""The schedule of a batch job, simulated: what a cluster of any size would do with chunks.

Workers take chunks one after the other. One driver hands them out and takes what comes back, one
thing at a time: that is where a large job must end. Workers die at a given rate; what they worked
on is lost and done again, and another worker takes their place after a while. Times of chunks are
those that were measured, drawn again and again.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil, inf, log

from benchmarks.racing.draws import uniform

HOUR = 3600.0


@dataclass(frozen=True)
class Cluster:
    """What a job meets.

    Parameters
    ----------
    workers : int
        Processes of one core each.
    spread : sequence of float
        Measured times of chunks divided by their mean, which chunks draw from.
    driver_seconds : float
        What the driver needs to hand out a chunk and to take it back.
    start_seconds : float
        What a worker needs before its first chunk.
    failures : float, default=0
        Deaths of one worker per hour.
    restart_seconds : float, default=30
        Until another takes its place.
    queued : int, default=1
        Chunks waiting for each worker, so that none idles while the driver is busy.
    """

    workers: int
    spread: Sequence[float]
    driver_seconds: float
    start_seconds: float
    failures: float = 0.0
    restart_seconds: float = 30.0
    queued: int = 1


@dataclass(frozen=True)
class Job:
    """What is to be done.

    Parameters
    ----------
    rows : int
        To explain.
    row_seconds : float
        Mean time of one row on one core.
    chunk_seconds : float, default=5
        Wanted time of a chunk.
    """

    rows: int
    row_seconds: float
    chunk_seconds: float = 5.0

    @property
    def chunk_rows(self) -> int:
        """Rows of a chunk."""
        return max(1, min(self.rows, round(self.chunk_seconds / self.row_seconds)))

    @property
    def chunks(self) -> int:
        """Chunks of the job."""
        return ceil(self.rows / self.chunk_rows)


@dataclass
class Outcome:
    """How it went.

    Attributes
    ----------
    seconds : float
        Until the last chunk was taken back.
    work : float
        Seconds of work that was kept.
    lost : int
        Chunks that were lost with their worker.
    wasted : float
        Seconds of work lost with them.
    driver : float
        Seconds the driver was busy.
    """

    seconds: float = 0.0
    work: float = 0.0
    lost: int = 0
    wasted: float = 0.0
    driver: float = 0.0

    def efficiency(self, workers: int) -> float:
        """Return the share of the workers' time that became results."""
        return self.work / (workers * self.seconds)

    @property
    def driver_load(self) -> float:
        """The share of the time the driver was busy."""
        return self.driver / self.seconds


@dataclass
class _State:
    """Where a simulation stands: chunks by number, events by time."""

    job: Job
    cluster: Cluster
    seed: int
    waiting: deque[int]  # not handed out
    ready: deque[int] = field(default_factory=deque)  # handed out, not begun
    idle: list[int] = field(default_factory=list)
    events: list[tuple[float, int, str, int, int]] = field(default_factory=list)
    begun: dict[int, float] = field(default_factory=dict)  # by worker
    deaths: dict[int, float] = field(default_factory=dict)  # by worker
    generation: dict[int, int] = field(default_factory=dict)  # how often a worker was replaced
    driver_free: float = 0.0
    n_events: int = 0
    outcome: Outcome = field(default_factory=Outcome)

    def post(self, when: float, kind: str, worker: int = -1, chunk: int = -1) -> None:
        """Let something happen at a time."""
        self.n_events += 1
        heapq.heappush(self.events, (when, self.n_events, kind, worker, chunk))

    def by_driver(self, now: float) -> float:
        """Let the driver do one thing as soon as it can; return when it is done."""
        cost = self.cluster.driver_seconds / 2  # handing out is one half, taking back the other
        self.driver_free = max(now, self.driver_free) + cost
        self.outcome.driver += cost
        return self.driver_free

    def duration(self, chunk: int) -> float:
        """Return how long a chunk takes: the same each time it is tried."""
        rows = min(self.job.chunk_rows, self.job.rows - chunk * self.job.chunk_rows)
        place = int(uniform(self.seed, "time", chunk) * len(self.cluster.spread))
        return rows * self.job.row_seconds * self.cluster.spread[place]

    def next_death(self, worker: int, now: float) -> float:
        """Return when a worker that begins now dies."""
        if not self.cluster.failures:
            return inf
        u = uniform(self.seed, "death", worker, self.generation.get(worker, 0))
        return now - log(1.0 - u) * HOUR / self.cluster.failures


def simulate(job: Job, cluster: Cluster, seed: int = 0) -> Outcome:
    """Return how a job goes on a cluster.

    Examples
    --------
    Two workers without overhead share ten chunks of five seconds evenly.

    >>> quick = Cluster(workers=2, spread=[1.0], driver_seconds=0.0, start_seconds=0.0)
    >>> simulate(Job(rows=50, row_seconds=1.0), quick).seconds
    25.0
    """
    state = _State(job, cluster, seed, deque(range(job.chunks)))
    for worker in range(cluster.workers):
        state.post(cluster.start_seconds, "join", worker)
    for _ in range(min(job.chunks, cluster.workers * (1 + cluster.queued))):
        _hand_out(state, 0.0)
    n_left = job.chunks
    while n_left:
        now, _, kind, worker, chunk = heapq.heappop(state.events)
        if kind == "join":
            _join(state, now, worker)
        elif kind == "handed out":
            state.ready.append(chunk)
        elif kind == "done":
            _finish(state, now, worker, chunk)
        elif kind == "died":
            _lose(state, now, worker, chunk)
        elif kind == "taken back":
            n_left -= 1
            state.outcome.seconds = now
        _begin(state, now)
    return state.outcome


def _hand_out(state: _State, now: float) -> None:
    """Let the driver hand out the next chunk, if there is one."""
    if state.waiting:
        state.post(state.by_driver(now), "handed out", chunk=state.waiting.popleft())


def _join(state: _State, now: float, worker: int) -> None:
    """Let a worker, or the one that replaces it, wait for chunks."""
    state.deaths[worker] = state.next_death(worker, now)
    state.idle.append(worker)


def _begin(state: _State, now: float) -> None:
    """Give chunks that are handed out to workers that wait; some die before they are done."""
    while state.ready and state.idle:
        worker, chunk = state.idle.pop(), state.ready.popleft()
        if state.deaths[worker] <= now:  # it died waiting
            state.ready.appendleft(chunk)
            _replace(state, now, worker)
            continue
        state.begun[worker] = now
        end = now + state.duration(chunk)
        kind, when = ("done", end) if state.deaths[worker] > end else ("died", state.deaths[worker])
        state.post(when, kind, worker, chunk)


def _finish(state: _State, now: float, worker: int, chunk: int) -> None:
    """Keep what a worker did; the driver takes it back and hands out another chunk."""
    state.outcome.work += now - state.begun.pop(worker)
    state.idle.append(worker)
    state.post(state.by_driver(now), "taken back", chunk=chunk)
    _hand_out(state, now)


def _lose(state: _State, now: float, worker: int, chunk: int) -> None:
    """Lose what a worker did; its chunk is handed out again first."""
    state.outcome.lost += 1
    state.outcome.wasted += now - state.begun.pop(worker)
    state.waiting.appendleft(chunk)
    _hand_out(state, now)
    _replace(state, now, worker)


def _replace(state: _State, now: float, worker: int) -> None:
    """Let another worker take the place of one that died."""
    state.generation[worker] = state.generation.get(worker, 0) + 1
    cluster = state.cluster
    state.post(now + cluster.restart_seconds + cluster.start_seconds, "join", worker)
