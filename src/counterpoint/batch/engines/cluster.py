"""Getting to a Dask cluster: one started here for the job, or one that is running already.

Dask's own log lines are kept off the terminal: the job prints what its user needs to know.
"""

from __future__ import annotations

import contextlib
import logging
import os
import platform
import signal
from collections.abc import Iterator, Mapping
from typing import Any

from counterpoint.checks import require_package
from counterpoint.errors import InvalidInput
from counterpoint.explainer.schedule import check_workers
from counterpoint.version import __version__

FAMILIES = ("asyncio", "bokeh", "distributed", "tornado")
SILENT = logging.CRITICAL + 1


class Quiet:
    """Silences the loggers Dask speaks through, until they are let speak again.

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
    here = {"counterpoint": __version__, "python": platform.python_version()}
    for worker, told in workers.items():
        there = {name: str(told["packages"].get(name) or "none") for name in here}
        if major_minor(there["python"]) != major_minor(here["python"]) or (
            there["counterpoint"] != here["counterpoint"]
        ):
            raise InvalidInput(
                f"scheduler {scheduler!r} has the worker {worker} with Python "
                f"{major_minor(there['python'])} and counterpoint {there['counterpoint']}, and the "
                f"job has {major_minor(here['python'])} and {here['counterpoint']}; install the "
                "same versions on all workers."
            )


def major_minor(version: str) -> str:
    """Return the first two numbers of a version.

    Examples
    --------
    >>> major_minor("3.11.7.final.0")
    '3.11'
    """
    return ".".join(version.split(".")[:2])
