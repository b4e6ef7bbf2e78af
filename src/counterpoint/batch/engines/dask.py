"""The Dask engine: chunks explained by the worker processes of a cluster, here or elsewhere.

What happens in the cluster arrives in one inbox, in the order the scheduler saw it: a chunk begins,
a worker is gone, a future has ended. What follows from it is a call that waits there until the job
looks: one thread makes all of them, so nothing here needs a lock.

Who is to blame. Dask counts a worker's death against every task that worker had, begun or not. We
count it against the chunk that was being worked on and no other: a worker works on one chunk at a
time and has the scheduler confirm that it begins. What only waited there is run elsewhere, and so
is what was begun on a worker that left in good order or that we have ended for another chunk.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
import time
import uuid
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import pandas as pd

from counterpoint.batch.engines.cluster import (
    EXTRA,
    Attempt,
    ChunkWorker,
    Outcome,
    Quiet,
    Stage,
    client_of,
    explain_at_worker,
    local_cluster,
    replace_worker,
)
from counterpoint.batch.engines.engine import Chunk, Done, Lost, Recipe
from counterpoint.batch.rows import Order
from counterpoint.checks import require_package
from counterpoint.errors import EngineError, InvalidInput
from counterpoint.models.files import pickled
from counterpoint.version import __version__

QUEUED = 2  # chunks per worker worth having in flight: one at work and one to go on with
SECONDS_BETWEEN_COUNTS = 2.0  # of the workers
SECONDS_WITHOUT_WORKERS = 300.0
SECONDS_TO_BUILD = 900.0  # an explainer
SECONDS_TO_CLOSE = 20.0
MOST_BUILDS_THAT_DIE = 3
MOST_UNBEGUN = 100  # times a chunk is sent again because it was never begun

DIED = "its worker died"
RERUN = "What is done is kept: run the same command again to go on."


class DaskEngine:
    """Has chunks explained by the workers of a Dask cluster.

    The recipe is sent once to each worker process. `workers` are processes to start on this
    machine, one per core if None; `scheduler` is the address of a cluster to use instead, such as
    "tcp://10.0.0.5:8786". Raises InvalidInput if the scheduler cannot be reached, or its workers
    have other versions, MissingDependency if Dask is not installed.
    """

    name = "dask"

    def __init__(
        self,
        recipe: Recipe,
        order: Order,
        workers: int | None = None,
        scheduler: str | None = None,
    ) -> None:
        if scheduler is not None and workers is not None:
            raise InvalidInput(
                f"workers={workers!r} says how many processes to start here, and scheduler="
                f"{scheduler!r} has workers of its own; leave one out."
            )
        require_package("distributed", "engine='dask'", EXTRA)
        self._name = f"counterpoint-{uuid.uuid4().hex[:12]}"
        self._attempts: dict[str, Attempt] = {}
        self._inbox: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._reports: list[Done | Lost] = []
        self._condemned: set[str] = set()  # workers we end: what else they had is not to blame
        self._notes: set[str] = set()
        self._workers: dict[str, int] = {}
        self._has_built, self._n_died_building = False, 0
        self._n_sent, self._seen_workers = 0, time.monotonic()
        self._quiet = Quiet()
        self._cluster: Any = None
        self._client: Any = None
        try:
            self._cluster = local_cluster(workers) if scheduler is None else None
            self._client = client_of(scheduler or self._cluster)
            self._open(recipe, order)
        except BaseException:
            self.close()
            raise

    def _open(self, recipe: Recipe, order: Order) -> None:
        client = self._client
        packed = pickled((recipe, order), "what the job asks for", "use functions of modules")
        is_local = self._cluster is not None
        plugin = ChunkWorker(self._name, packed, __version__, is_local)
        client.subscribe_topic(self._name, self._hear_began)
        client.subscribe_topic("all", self._hear_all)
        client.register_plugin(plugin, name=self._name)
        self._count(client.nthreads())
        self._n_wanted = len(self._cluster.worker_spec) if is_local else 0
        self._counting = self._in_loop(self._keep_counting())

    @property
    def dashboard(self) -> str | None:
        """The address of Dask's dashboard; None if the cluster has none."""
        return self._client.dashboard_link or None

    def slots(self) -> int:
        """Return how many chunks are worth having in flight: two per worker there is now."""
        self._drain()
        return QUEUED * max(1, len(self._workers))

    def submit(self, chunk: Chunk, rows: pd.DataFrame) -> None:
        """Have a chunk worked on."""
        self._send(Attempt(chunk, rows))

    def wait(self, seconds: float) -> list[Done | Lost]:
        """Return what has become of chunks: as soon as there is news, at the latest after a time.

        Raises EngineError if nothing can be worked on any more; what was reported until then is
        good.
        """
        deadline = time.monotonic() + seconds
        self._drain()
        while not self._reports and (left := deadline - time.monotonic()) > 0:
            with contextlib.suppress(queue.Empty):
                self._inbox.get(timeout=min(left, 1.0))()
            self._drain()
            self._check_hopes()
        reports, self._reports = self._reports, []
        return reports

    def running(self) -> dict[Chunk, float]:
        """Return the chunks that are worked on, until their results are here, and how long."""
        self._drain()
        now = time.monotonic()
        at_work = [attempt for attempt in self._attempts.values() if attempt.stage == "works"]
        return {attempt.chunk: now - attempt.since for attempt in at_work}

    def give_up(self, chunk: Chunk) -> None:
        """Stop a chunk: its worker's process is ended by force and replaced."""
        self._drain()
        self._reports = [report for report in self._reports if report.chunk != chunk]
        for attempt in [one for one in self._attempts.values() if one.chunk == chunk]:
            self._drop(attempt)
            if attempt.worker is not None:
                self._condemned.add(attempt.worker)
                replacing = threading.Thread(target=self._replace, args=(attempt.worker,))
                replacing.daemon = True  # takes seconds if the worker does not answer
                replacing.start()

    def close(self) -> None:
        """End our workers, or leave those of others as they were."""
        with contextlib.suppress(Exception):  # of a cluster that may be gone
            self._counting.cancel()
            if self._cluster is None:
                self._client.cancel([one.future for one in self._attempts.values()])
                self._client.unregister_worker_plugin(self._name)
        self._attempts.clear()
        for part in (self._client, self._cluster):
            with contextlib.suppress(Exception):
                if part is not None:
                    part.close(timeout=SECONDS_TO_CLOSE)
        self._quiet.end()

    # What the cluster says, heard in the thread of Dask's client.

    def _hear_began(self, event: tuple[float, dict[str, Any]]) -> None:
        told = event[1]
        began = told["key"], told["worker"], told["stage"], time.monotonic()
        self._inbox.put(partial(self._begin, *began))

    def _hear_all(self, event: tuple[float, dict[str, Any]]) -> None:
        told = event[1]
        if isinstance(told, dict) and told.get("action") == "remove-worker":
            is_expected = bool(told.get("expected", False))
            self._inbox.put(partial(self._judge, told["worker"], is_expected))

    async def _follow(self, key: str, future: Any) -> None:
        try:
            outcome = await future
        except BaseException as error:  # the error is the outcome
            outcome = error
        self._inbox.put(partial(self._settle, key, outcome))

    async def _keep_counting(self) -> None:
        while True:
            await asyncio.sleep(SECONDS_BETWEEN_COUNTS)
            with contextlib.suppress(Exception):  # the connection is looked after elsewhere
                workers = await self._client.scheduler.ncores()
                self._inbox.put(partial(self._count, workers))
                if len(workers) < self._n_wanted:
                    self._cluster.scale(self._n_wanted)  # where a nanny is lost with its worker

    def _in_loop(self, coroutine: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self._client.loop.asyncio_loop)

    # What we make of it, in the thread of the job.

    def _drain(self) -> None:
        """Do what waits in the inbox."""
        while True:
            try:
                follow = self._inbox.get_nowait()
            except queue.Empty:
                return
            follow()

    def _count(self, workers: dict[str, int]) -> None:
        """Take the workers there are, and the threads of each."""
        self._workers = workers
        self._seen_workers = time.monotonic() if workers else self._seen_workers
        if any(n > 1 for n in workers.values()):
            self._say(
                "the cluster has workers of several threads, of which one is used: start them with "
                "--nthreads 1, and as many as there are cores."
            )

    def _begin(self, key: str, worker: str, stage: Stage, at: float) -> None:
        self._has_built = self._has_built or stage == "works"
        if attempt := self._attempts.get(key):
            attempt.worker, attempt.stage, attempt.since = worker, stage, at

    def _judge(self, worker: str, is_expected: bool) -> None:
        """Decide which of a worker's chunks is to blame for its end, if any is."""
        is_innocent = is_expected or worker in self._condemned
        self._condemned.discard(worker)
        self._workers = {name: n for name, n in self._workers.items() if name != worker}
        for attempt in [one for one in self._attempts.values() if one.worker == worker]:
            has_ended = attempt.future.status in ("finished", "lost")  # its result was there
            if is_innocent or has_ended:
                attempt.forget_worker()  # Dask runs it again
            else:
                self._blame(attempt)

    def _blame(self, attempt: Attempt) -> None:
        """Have the worker of an attempt died of it: of its work, or of building what it needs."""
        if attempt.stage == "works":
            self._lose(attempt, DIED)
            return
        self._n_died_building += 1
        if not self._has_built and self._n_died_building >= MOST_BUILDS_THAT_DIE:
            raise EngineError(
                f"{self._n_died_building} workers died while they built the explainer, and none "
                f"has built it: try the factory, or the model and the data, in one process. {RERUN}"
            )
        self._send_again(attempt)

    def _settle(self, key: str, outcome: Outcome | BaseException) -> None:
        """Take what a future ended with: an outcome of the plugin, or an error of Dask's."""
        if (attempt := self._attempts.get(key)) is None:
            return
        if isinstance(outcome, BaseException):
            self._settle_error(attempt, outcome)
        elif outcome.word == "done":
            self._drop(attempt, cancel=False)
            self._reports.append(Done(attempt.chunk, outcome.payload, outcome.seconds))
        elif outcome.word == "fell":
            self._lose(attempt, outcome.text)
        elif outcome.word == "unheard":
            self._send_again(attempt)
        else:
            raise EngineError(
                f"the worker {attempt.worker} cannot explain rows ({outcome.text}). {RERUN}"
            )

    def _settle_error(self, attempt: Attempt, error: BaseException) -> None:
        """Take an error of Dask's: none of them is about a row."""
        self._check_connection()
        last = getattr(getattr(error, "last_worker", None), "address", None)  # of KilledWorker
        if last is not None and last == attempt.worker and last not in self._condemned:
            self._blame(attempt)
        elif last is not None or type(error).__name__.endswith("CancelledError"):
            self._send_again(attempt)
        else:
            raise EngineError(f"Dask failed ({type(error).__name__}: {error}). {RERUN}") from error

    def _send(self, attempt: Attempt) -> None:
        self._n_sent += 1
        attempt.key = f"{self._name}-{attempt.chunk.start}-{attempt.chunk.stop}-{self._n_sent}"
        attempt.forget_worker()
        try:
            attempt.future = self._client.submit(
                explain_at_worker,
                self._name,
                attempt.key,
                attempt.rows,
                key=attempt.key,
                pure=False,
                retries=0,
            )
            self._attempts[attempt.key] = attempt
            self._in_loop(self._follow(attempt.key, attempt.future))
        except Exception:
            self._check_connection()
            raise

    def _send_again(self, attempt: Attempt) -> None:
        """Send what was never begun, or not by its own fault ended, once more."""
        self._drop(attempt)
        attempt.n_unbegun += 1
        if attempt.n_unbegun > MOST_UNBEGUN:
            raise EngineError(
                f"rows {attempt.chunk.start} to {attempt.chunk.stop - 1} were sent "
                f"{MOST_UNBEGUN} times, and their workers were lost before they began. {RERUN}"
            )
        self._send(attempt)

    def _lose(self, attempt: Attempt, reason: str) -> None:
        self._drop(attempt)
        self._reports.append(Lost(attempt.chunk, reason))

    def _drop(self, attempt: Attempt, *, cancel: bool = True) -> None:
        """Let go of an attempt: whatever comes of it is not heeded, and Dask may forget it."""
        del self._attempts[attempt.key]
        future, attempt.future = attempt.future, None
        if cancel:
            with contextlib.suppress(Exception):  # of a cluster that may be gone
                self._client.cancel([future])

    def _check_hopes(self) -> None:
        """Give up where waiting is in vain."""
        self._check_connection()
        now = time.monotonic()
        if not self._workers and now - self._seen_workers > SECONDS_WITHOUT_WORKERS:
            raise EngineError(
                f"the Dask cluster has had no worker for {SECONDS_WITHOUT_WORKERS:.0f} s. {RERUN}"
            )
        for one in self._attempts.values():
            if one.stage == "builds" and now - one.since > SECONDS_TO_BUILD:
                raise EngineError(
                    f"the worker {one.worker} has not built the explainer within "
                    f"{SECONDS_TO_BUILD:.0f} s. {RERUN}"
                )

    def _check_connection(self) -> None:
        if self._client.status != "running":
            raise EngineError(f"the connection to Dask's scheduler is lost. {RERUN}")

    def _replace(self, worker: str) -> None:
        """End a worker's process by force, and have its nanny start another."""
        if not replace_worker(self._client, self._cluster, worker):
            text = (
                "a worker did not end a row in time and has no nanny that could replace it; the "
                "job goes on without it. Start workers with --nanny, which is Dask's own choice."
            )
            self._inbox.put(partial(self._say, text))

    def _say(self, text: str) -> None:
        """Tell something once."""
        if text not in self._notes:
            self._notes.add(text)
            warnings.warn(text, UserWarning, stacklevel=2)
