"""The Dask cluster: how to get to one, and what its workers do.

A cluster is started here for the job, or is running already. Dask's own log lines are kept off the
terminal: the job prints what its user needs to know.

`ChunkWorker` is a plugin of Dask's workers that explains one chunk at a time. The scheduler hands
it once to every worker process there is and to each that comes later, so that the model and the
data travel once per process and a chunk carries nothing but its rows. The plugin is unpacked when
the first chunk arrives.

Nothing is raised to Dask, which would log the rows of the chunk: the outcome says what went wrong.
Before the work begins the scheduler has confirmed, by an answered call, that it knows of it: so
even a chunk that kills its process at once is known to have been begun.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import pickle
import platform
import signal
import threading
import time
import warnings
from collections.abc import Coroutine, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import pandas as pd

from counterpoint.batch.engines.engine import Chunk
from counterpoint.checks import require_package
from counterpoint.errors import InvalidInput, Signal
from counterpoint.explainer.group import check_workers
from counterpoint.version import __version__

if TYPE_CHECKING:
    from counterpoint.batch.engines.engine import Recipe
    from counterpoint.batch.rows import Order
    from counterpoint.explainer.explainer import Explainer

    WorkerPlugin = object  # so that types do not depend on what is installed
else:
    try:
        from distributed import WorkerPlugin
    except ImportError:  # the module can be read without the extra; no engine can be made
        WorkerPlugin = object

FAMILIES = ("asyncio", "bokeh", "distributed", "tornado")
SILENT = logging.CRITICAL + 1
SECONDS_TO_BE_HEARD = 60.0
N_TO_WARM_UP, EVALUATIONS_TO_WARM_UP = 8, 60

Stage = Literal["builds", "works"]


class Quiet:
    """Silences Dask's loggers, until `end` restores their levels.

    Workers come and go during a job, and Dask tells each loss by a traceback or more.

    Examples
    --------
    >>> logger = logging.getLogger("distributed.some_part")
    >>> quiet = Quiet()
    >>> logger.isEnabledFor(logging.ERROR)
    False
    >>> quiet.end()
    >>> logger.isEnabledFor(logging.ERROR)
    True
    """

    def __init__(self) -> None:
        self._levels = {logger: logger.level for logger in spoken_through()}
        for logger in self._levels:
            logger.setLevel(SILENT)

    def end(self) -> None:
        """Restore the levels there were."""
        for logger, level in self._levels.items():
            logger.setLevel(level)
        self._levels = {}


def spoken_through() -> Iterator[logging.Logger]:
    """Yield the loggers of the families, and those below them that have a level of their own."""
    for name in FAMILIES:
        yield logging.getLogger(name)
    for name, logger in list(logging.root.manager.loggerDict.items()):
        is_below = name.partition(".")[0] in FAMILIES and name not in FAMILIES
        if is_below and isinstance(logger, logging.Logger) and logger.level != logging.NOTSET:
            yield logger


EXTRA = '"counterpoint[dask]"'
SECONDS_TO_CONNECT = 15
SECONDS_TO_REPLACE = 120.0  # a worker that does not answer
ONE_THREAD = {
    f"{library}_NUM_THREADS": "1" for library in ("OMP", "MKL", "OPENBLAS", "NUMBA", "NUMEXPR")
}


def local_cluster(workers: int | None) -> Any:
    """Start worker processes on this machine, seen by nobody outside it.

    No limit of memory: Dask would let a worker above it wait for ever, with its chunk. No failures
    allowed: Dask would send a chunk that killed its worker to the next before we can say no.
    """
    distributed = require_package("distributed", "engine='dask'", EXTRA)
    config = require_package("dask.config", "engine='dask'", EXTRA)
    with config.set({"distributed.scheduler.allowed-failures": 0}):
        return distributed.LocalCluster(
            n_workers=check_workers(workers, is_shared=True),
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            worker_dashboard_address=None,
            memory_limit=0,
            env=ONE_THREAD,
            silence_logs=SILENT,
        )


def client_of(scheduler: Any) -> Any:
    """Connect to a cluster of ours, or to a scheduler at an address."""
    distributed = require_package("distributed", "engine='dask'", EXTRA)
    if not isinstance(scheduler, str):
        return distributed.Client(scheduler, set_as_default=False)
    try:
        distributed.comm.get_address_host_port(scheduler)  # a client of none would never close
        client = distributed.Client(scheduler, timeout=SECONDS_TO_CONNECT, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        told = str(error).strip().partition("\n")[0] or type(error).__name__
        raise InvalidInput(
            f"scheduler {scheduler!r} cannot be reached within {SECONDS_TO_CONNECT} s ({told}); "
            "give the address 'dask scheduler' prints, such as tcp://10.0.0.5:8786."
        ) from error
    try:
        versions = client.get_versions(check=False, packages=["counterpoint"])
        check_versions(scheduler, versions["workers"])
    except BaseException:
        client.close()
        raise
    return client


def replace_worker(client: Any, cluster: Any, worker: str) -> bool:
    """End a worker's process by force, that its nanny starts another; False if it has no nanny.

    Of our own cluster it is killed at once. Elsewhere its nanny is asked, which first gives it four
    seconds to leave; without a nanny it is dropped from the cluster.
    """
    for nanny in getattr(cluster, "workers", {}).values():
        if nanny.worker_address == worker and nanny.pid is not None:
            os.kill(nanny.pid, signal.SIGKILL)
            return True
    try:
        client.restart_workers([worker], timeout=SECONDS_TO_REPLACE, raise_for_error=False)
    except ValueError:  # it has no nanny
        with contextlib.suppress(Exception):
            client.retire_workers([worker], close_workers=True)
        return False
    except Exception:  # noqa: S110 - it is gone already, or all of them are: others see to that
        pass
    return True


def check_versions(scheduler: str, workers: Mapping[str, Any]) -> None:
    """Refuse workers that would not give the same answers, or none.

    Examples
    --------
    >>> strange = {"packages": {"python": "3.8.1.final.0", "counterpoint": None}}
    >>> check_versions("tcp://there:8786", {"tcp://there:1": strange})
    Traceback (most recent call last):
        ...
    counterpoint.errors.InvalidInput: scheduler 'tcp://there:8786' has the worker tcp://there:1 ...
    """
    here = [".".join(platform.python_version_tuple()[:2]), __version__]
    for worker, told in workers.items():
        python, own = (str(told["packages"].get(n) or "none") for n in ("python", "counterpoint"))
        there = [".".join(python.split(".")[:2]), own]
        if there != here:
            raise InvalidInput(
                f"scheduler {scheduler!r} has the worker {worker} with Python {there[0]} and "
                f"counterpoint {there[1]}, and the job has {here[0]} and {here[1]}; install the "
                "same versions on all workers."
            )


class Outcome(NamedTuple):
    """What became of a chunk at a worker."""

    # it has a result; the work ended without one, for want of memory or by leaving the process; the
    # scheduler did not hear that it would begin, so it was not begun; or no chunk could be
    # explained here
    word: Literal["done", "fell", "unheard", "broken"]
    payload: bytes = b""  # the result
    text: str = ""  # what went wrong
    seconds: float = 0.0  # how long it was worked on


@dataclass
class ChunkWorker(WorkerPlugin):
    """Explains chunks in a worker process."""

    name: str  # of the plugin, and the topic under which it tells the client what it does
    # the recipe and the order, pickled: a worker that cannot unpack them can still say so
    packed: bytes
    version: str  # of counterpoint, where the job runs
    # Whether the worker was started by the job and ends with it. A terminal sends Ctrl-C to all
    # processes of a job at once: it is for the job to heed it, and to end the chunks begun.
    is_local: bool

    def setup(self, worker: Any) -> None:
        """Be attached to a worker."""
        if self.is_local and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        self._worker, self._turn = worker, threading.Lock()
        self._unpacked: tuple[Recipe, Order] | None = None

    def explain(self, key: str, rows: pd.DataFrame) -> Outcome:
        """Explain a chunk, one at a time: so it is clear which one a dead process died of."""
        with self._turn:
            try:
                recipe, order = self._unpacked or self._unpack(key)
                self._tell(key, "works")
            except Unheard as error:
                return Outcome("unheard", text=str(error))
            except BaseException as error:  # of any kind: it is told, and stops the job
                return Outcome("broken", text=f"{type(error).__name__}: {error}")
            return explained(recipe, order, rows)

    def _unpack(self, key: str) -> tuple[Recipe, Order]:
        """Build the explainer of this process, once."""
        self._await_nanny()
        self._tell(key, "builds")
        if __version__ != self.version:
            raise RuntimeError(
                f"it has counterpoint {__version__} and the job {self.version}; "
                "install the same version on all workers"
            )
        recipe, order = pickle.loads(self.packed)  # noqa: S301 - Dask's own way, from our client
        warm_up(recipe.explainer(), order)
        self._unpacked = recipe, order
        return recipe, order

    def _tell(self, key: str, stage: Stage) -> None:
        """Return once the scheduler knows what begins here."""
        told = {"key": key, "worker": self._worker.address, "stage": stage}
        self._ask(self._worker.scheduler.log_event(topic=self.name, msg=told), "the scheduler")

    def _await_nanny(self) -> None:
        """Return once the nanny knows that this process is up.

        The scheduler knows earlier. A chunk that ended the process in between would end the nanny,
        too, which takes it for a worker that cannot be started, and does not start another.
        """
        if nanny := getattr(self._worker, "nanny", None):
            self._ask(self._worker.rpc(nanny).instantiate(), "its nanny")

    def _ask(self, call: Coroutine[Any, Any, Any], whom: str) -> None:
        """Return once a call of Dask's is answered."""
        try:
            waiting = asyncio.run_coroutine_threadsafe(call, self._worker.loop.asyncio_loop)
            waiting.result(SECONDS_TO_BE_HEARD)
        except (OSError, TimeoutError, RuntimeError) as error:
            raise Unheard(f"{whom} did not answer ({error})") from error


def warm_up(explainer: Explainer, order: Order) -> None:
    """Have kernels loaded, or compiled, before any clock runs; what comes of it does not matter."""
    from counterpoint.search.settings import Search

    with contextlib.suppress(Exception), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = explainer.encoding.decode(explainer.observed.genomes[:N_TO_WARM_UP])
        search = Search(evaluations=EVALUATIONS_TO_WARM_UP)
        explainer.explain_many(rows, order.target, search, workers=1, progress=False)


class Unheard(Signal):
    """The scheduler could not be told that a chunk begins."""


def explained(recipe: Recipe, order: Order, rows: pd.DataFrame) -> Outcome:
    """Explain the rows of a chunk, and take the time."""
    from counterpoint.batch.engines.engine import work

    begun = time.perf_counter()
    try:
        payload = work(recipe, order, rows)
    except (MemoryError, SystemExit, KeyboardInterrupt) as error:
        return Outcome("fell", text=f"its work ended with {type(error).__name__}")
    except Exception as error:  # rows that fail do not raise: this is about all of them
        return Outcome("broken", text=f"{type(error).__name__}: {error}")
    return Outcome("done", payload, seconds=time.perf_counter() - begun)


def explain_at_worker(name: str, key: str, rows: pd.DataFrame) -> Outcome:
    """Explain a chunk with the plugin of the worker this runs on; Dask calls it."""
    worker = require_package("distributed", "engine='dask'", EXTRA).get_worker()
    outcome: Outcome = worker.plugins[name].explain(key, rows)
    return outcome


@dataclass(eq=False)
class Attempt:
    """A chunk on its way: which future, and what its worker does about it since when."""

    chunk: Chunk
    rows: pd.DataFrame
    key: str = ""
    future: Any = None
    worker: str | None = None
    stage: Stage | None = None
    since: float = 0.0
    n_unbegun: int = 0

    def forget_worker(self) -> None:
        """Forget which worker had begun it: Dask runs it again elsewhere."""
        self.worker, self.stage = None, None
