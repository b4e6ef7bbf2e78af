"""What the Dask engine hears of its cluster, and what it knows of a chunk on its way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd

from counterpoint.scale.engine import Chunk
from counterpoint.scale.engines.bench import Outcome, Stage


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
        """Be as if no worker had begun it: Dask runs it again elsewhere."""
        self.worker, self.stage = None, None


class Began(NamedTuple):
    """A worker begins to build its explainer, or to work on a chunk."""

    key: str
    worker: str
    stage: Stage
    at: float


class Gone(NamedTuple):
    """A worker is gone, in good order or not."""

    worker: str
    is_expected: bool


class Ended(NamedTuple):
    """A future has ended, with an outcome of the bench or an error of Dask's."""

    key: str
    outcome: Outcome | BaseException


class Counted(NamedTuple):
    """The workers there are, and the threads of each."""

    workers: dict[str, int]


class Note(NamedTuple):
    """Something the user is told."""

    text: str


Message = Began | Gone | Ended | Counted | Note
