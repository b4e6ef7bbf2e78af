"""Working: what every engine runs on a chunk, wherever its process is.

What a job asks of the thing that does its work: threads here, or processes elsewhere.

The job decides what is done, in which order and how often it is tried again. An engine only runs
``working.work`` on the rows of a chunk and reports what became of it; each chunk submitted is
reported exactly once, as ``Done`` or as ``Lost``, unless the job gave it up.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import pandas as pd

from counterpoint.batch.order import Order
from counterpoint.batch.recipe import Recipe
from counterpoint.batch.rows import explain_rows
from counterpoint.checks import require_package
from counterpoint.result.long_table import OutputSchema


class Chunk(NamedTuple):
    """Rows of the input, by position in the whole of it: from ``start`` until before ``stop``."""

    start: int
    stop: int


@dataclass(frozen=True)
class Done:
    """A chunk that was worked on to its end.

    Attributes
    ----------
    chunk : Chunk
        Which one.
    payload : bytes
        The table of ``explain_rows`` as a stream of Arrow, made where the work was done.
    seconds : float
        How long it was worked on, without the time it waited for its turn.
    """

    chunk: Chunk
    payload: bytes
    seconds: float


@dataclass(frozen=True)
class Lost:
    """A chunk that is not worked on any more and has no result, and why."""

    chunk: Chunk
    reason: str


class Engine(Protocol):
    """Does the work of a job."""

    name: str

    def slots(self) -> int:
        """Return how many chunks are worth having in flight: the workers, and a few queued."""

    def submit(self, chunk: Chunk, rows: pd.DataFrame) -> None:
        """Have a chunk worked on; the index of its rows is their position in the whole input."""

    def wait(self, seconds: float) -> list[Done | Lost]:
        """Return what has happened: as soon as something has, at the latest after ``seconds``.

        A ``CounterpointError`` says that nothing can be done at all, and ends the job.
        """

    def running(self) -> dict[Chunk, float]:
        """Return the chunks that are worked on now, and for how many seconds they have been."""

    def give_up(self, chunk: Chunk) -> None:
        """Stop a chunk that takes too long, by force if need be. It is not reported any more."""

    def close(self) -> None:
        """Let go of the workers, whatever they are doing."""


def work(recipe: Recipe, order: Order, rows: pd.DataFrame) -> bytes:
    """Return the counterfactuals of rows as an Arrow IPC stream: the same bytes everywhere."""
    explainer = recipe.explainer()
    id_dtype = "int64" if order.id is None else rows[order.id].dtype
    return packed(explain_rows(explainer, rows, order), order.schema_of(explainer, id_dtype))


def packed(frame: pd.DataFrame, schema: OutputSchema) -> bytes:
    """Return a frame of these columns as an Arrow IPC stream, compressed by zstd."""
    pa = require_package("pyarrow", "a job", '"counterpoint[parquet]"')
    ipc = require_package("pyarrow.ipc", "a job", '"counterpoint[parquet]"')
    table = schema.table(frame).combine_chunks()
    stream = io.BytesIO()
    options = ipc.IpcWriteOptions(compression=pa.Codec("zstd"))
    with ipc.new_stream(stream, table.schema, options=options) as writer:
        writer.write_table(table)
    return stream.getvalue()
