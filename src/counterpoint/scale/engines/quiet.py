"""Dask's own words kept off the terminal: what a job has to say it says itself."""

from __future__ import annotations

import logging
from collections.abc import Iterator

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
