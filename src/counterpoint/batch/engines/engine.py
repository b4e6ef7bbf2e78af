"""Engines: what a job asks of whatever does its work, and the engine that needs nothing else.

The job decides what is done, in which order and how often it is tried again. An engine only runs
`work` on the rows of a chunk and reports what became of it: each chunk is reported exactly once, as
`Done` or as `Lost`, unless the job gave it up. A `Recipe` is how a process gets its explainer,
once: of files, by a factory, or it is given one. `Threads` are threads of this process.
"""

from __future__ import annotations

import hashlib
import io
import pickle
import queue
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import pandas as pd

from counterpoint.batch.rows import Order, explain_rows, id_dtype
from counterpoint.checks import require_package
from counterpoint.errors import CounterpointError, EngineError, InvalidInput
from counterpoint.explainer.explainer import Explainer
from counterpoint.explainer.group import MEMORY, Meter, can_start, check_workers
from counterpoint.explainer.processes import BEGINS_AFTER, Helper, Helpers
from counterpoint.models.files import MOST_BYTES, load_model, pickled
from counterpoint.progress import BETWEEN, Watch
from counterpoint.result.long_table import OutputSchema
from counterpoint.table.files import read_content


class Chunk(NamedTuple):
    """Rows of the input, by position in the whole of it: from ``start`` until before ``stop``."""

    start: int
    stop: int


@dataclass(frozen=True)
class Done:
    """A chunk that was worked on to its end."""

    chunk: Chunk  # which one
    # the table of ``explain_rows`` as a stream of Arrow, made where the work was done
    payload: bytes
    seconds: float  # how long it was worked on, without the time it waited for its turn


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


MOST_RECIPES = 4  # recipes a process remembers: a worker may serve several jobs

INSTEAD = "define it in a module that the workers can import"

Make = Callable[[], Explainer]


class Recipe:
    """How a process gets its Explainer: built when first asked for, once per process.

    It can be pickled; unpickled in a process that has it already it is the same object, with the
    same Explainer.

    `make` returns the Explainer: `Files`, `GivenExplainer`, or the caller's function. `turn` is
    held by whoever asks one that bears one thread at a time.

    Examples
    --------
    >>> data = pd.DataFrame({"age": [20, 30, 40, 50]})
    >>> recipe = Recipe(lambda: Explainer(lambda rows: rows["age"] / 100, data))
    >>> recipe.explainer() is recipe.explainer()
    True
    """

    def __init__(self, make: Make) -> None:
        if not callable(make):
            raise InvalidInput(
                "an Explainer is needed, or a function without arguments that makes one, got "
                f"{type(make).__name__}."
            )
        self.make = make
        self._explainer: Explainer | None = None
        self._payload: bytes | None = None
        self._lock = threading.RLock()
        self.turn = threading.Lock()

    @classmethod
    def of(cls, source: Explainer | Make | Recipe) -> Recipe:
        """Return the recipe of an Explainer, of a factory, or the recipe itself."""
        if isinstance(source, Recipe):
            return source
        return cls(GivenExplainer(source) if isinstance(source, Explainer) else source)

    def explainer(self) -> Explainer:
        """Return the Explainer, built if this process has not yet."""
        with self._lock:
            if self._explainer is None:
                made = self.make()
                if not isinstance(made, Explainer):
                    raise InvalidInput(
                        f"the factory must return an Explainer, got {type(made).__name__}."
                    )
                self._explainer = made
            return self._explainer

    @property
    def payload(self) -> bytes:
        """What travels: how to make the Explainer, pickled once."""
        with self._lock:
            if self._payload is None:
                what = "the Explainer" if isinstance(self.make, GivenExplainer) else "the factory"
                self._payload = pickled(self.make, what, INSTEAD)
            return self._payload

    @cached_property
    def digest(self) -> str:
        """What tells it from other recipes, by content."""
        return hashlib.sha256(self.payload).hexdigest()

    def __dask_tokenize__(self) -> str:
        return self.digest

    def __reduce__(self) -> tuple[Any, tuple[bytes]]:
        return unpacked, (self.payload,)


@dataclass(frozen=True, eq=False)
class GivenExplainer:
    """Returns an Explainer that is there."""

    explainer: Explainer

    def __call__(self) -> Explainer:
        """Return it."""
        return self.explainer


@dataclass(frozen=True)
class Files:
    """Makes an Explainer of the contents of two files, a model's and a table's, which travel."""

    model_name: str
    model: bytes
    data_name: str
    data: bytes
    drop: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)  # keywords of Explainer
    allow_pickle: bool = False
    trusted: tuple[str, ...] = ()
    most_bytes: int = MOST_BYTES

    def __call__(self) -> Explainer:
        """Load both and build."""
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / self.model_name
            file.write_bytes(self.model)
            model = load_model(
                file,
                allow_pickle=self.allow_pickle,
                trusted=self.trusted,
                most_bytes=self.most_bytes,
            )
        table = self.table()
        data = table.drop(columns=[name for name in self.drop if name in table.columns])
        return Explainer(model, data, **self.settings)

    def table(self) -> pd.DataFrame:
        """Return the table of the data."""
        ending = Path(self.data_name).suffix.lower()
        return read_content(io.BytesIO(self.data), ending, f"data {self.data_name!r}")


_unpacking = threading.Lock()


def unpacked(payload: bytes) -> Recipe:
    """Return the recipe of a payload: the one this process has, if it has it."""
    with _unpacking:
        return _recipe_of(payload)


@lru_cache(maxsize=MOST_RECIPES)
def _recipe_of(payload: bytes) -> Recipe:
    recipe = Recipe(lambda: pickle.loads(payload)())  # noqa: S301 - of our own job
    recipe._payload = payload
    return recipe


def work(recipe: Recipe, order: Order, rows: pd.DataFrame) -> bytes:
    """Return the counterfactuals of rows as an Arrow IPC stream: the same bytes everywhere."""
    explainer = recipe.explainer()
    schema = order.schema_of(explainer, id_dtype(rows, order))
    return packed(explain_rows(explainer, rows, order), schema)


def packed(frame: pd.DataFrame, schema: OutputSchema) -> bytes:
    """Return a frame of these columns as an Arrow IPC stream, compressed by zstd, and its hash.

    Arrow believes what it reads, and a stream that was damaged on its way can end the process.
    """
    pa = require_package("pyarrow", "a job", '"counterpoint[parquet]"')
    ipc = require_package("pyarrow.ipc", "a job", '"counterpoint[parquet]"')
    table = schema.table(frame).combine_chunks()
    stream = io.BytesIO()
    options = ipc.IpcWriteOptions(compression=pa.Codec("zstd"))
    with ipc.new_stream(stream, table.schema, options=options) as writer:
        writer.write_table(table)
    content = stream.getvalue()
    return content + hashlib.sha256(content).digest()


class ChunkWork(NamedTuple):
    """What another process is sent: how it gets its explainer, and what is asked of every row."""

    recipe: Recipe
    order: Order

    def search(self, rows: pd.DataFrame, watch: Watch) -> bytes:  # noqa: ARG002 - as `Work.search`
        """Return the counterfactuals of a chunk's rows, packed."""
        return work(self.recipe, self.order, rows)


MOST_ABANDONED = 64  # threads that never came back; a row that hangs costs about eight of them
LEAVING = 1.0  # seconds that threads have to end when the engine is closed


class Threads:
    """Explains chunks on threads; models that may not be shared are asked by one only.

    A thread cannot be killed. One that takes too long is left alone, with what it holds, and
    another takes its place; after too many of them the job is ended.

    Where threads leave cores idle, other processes take their chunks, as in `explain_many`; one of
    these that takes too long is ended.

    `workers` says how many threads; None uses all cores, but one thread for what may not be shared.
    """

    name = "threads"

    def __init__(self, recipe: Recipe, order: Order, workers: int | None = None) -> None:
        self._recipe, self._order = recipe, order
        self.workers = check_workers(workers, is_shared=order.is_shared(recipe.explainer()))
        self._waiting: queue.SimpleQueue[tuple[Chunk, int, pd.DataFrame] | None]
        self._waiting = queue.SimpleQueue()
        self._events: queue.SimpleQueue[tuple[int, Done | Lost | Exception]] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._tickets: dict[Chunk, int] = {}  # the submission that counts; others are void
        self._begun: dict[Chunk, float] = {}
        self._n_submitted = self.n_abandoned = 0
        self._watch, self._meter = Watch(), Meter()
        self._is_decided = self.workers == 1 or not can_start()
        n_bytes, n_most = 2 * recipe.explainer().observed.genomes.nbytes, self.workers - 1
        asked = ChunkWork(recipe, order)  # of processes, each of which takes a thread's place
        self._helpers = Helpers(asked, n_most, n_bytes, MEMORY, self._watch, self._welcome)
        self._idle: list[Helper] = []
        self._there: dict[Chunk, Helper] = {}  # who works on chunks in the place of a thread
        self._threads = [self._new_thread() for _ in range(self.workers)]

    def _new_thread(self) -> threading.Thread:
        """Start a thread that does not keep the process alive."""
        thread = threading.Thread(target=self._work, name="counterpoint-batch", daemon=True)
        thread.start()
        return thread

    def _welcome(self, helper: Helper) -> None:
        """Note a process that is ready."""
        with self._lock:
            self._idle.append(helper)

    def _consider(self) -> None:
        """Start processes if chunks wait and the threads are seen to leave cores idle."""
        with self._lock:
            is_early = self._meter.seconds < 4.0 * BEGINS_AFTER  # how much is left is not known
            if self._is_decided or is_early or self._waiting.empty():
                return
            self._is_decided = True
        if self._meter.shows_waiting(self.workers):
            self._helpers.start()

    def _next(self) -> tuple[Chunk, int, pd.DataFrame] | None:
        """Wait for a chunk; if others work, not before processes that get ready had a core."""
        while self._helpers.are_awaited and len(self._begun) > len(self._there):
            if self._watch.wait(BETWEEN):
                break
        return self._waiting.get()

    def _work(self) -> None:
        """Work on one chunk after the other, until the engine is closed or gives this thread up."""
        while (taken := self._next()) is not None:
            chunk, ticket, rows = taken
            with self._lock:
                if self._tickets.get(chunk) != ticket:
                    continue  # given up while it waited
                self._begun[chunk] = time.monotonic()
                helper = self._idle.pop() if self._idle else None
                if helper is not None:
                    self._there[chunk] = helper
            event = self._worked(chunk, rows, helper)
            with self._lock:
                if self._tickets.get(chunk) != ticket:
                    return  # left behind: another thread has this one's place
                del self._tickets[chunk], self._begun[chunk]
                if helper is not None:
                    del self._there[chunk]
                    self._idle += [] if isinstance(event, Lost) else [helper]
            self._events.put((ticket, event))
            self._consider()

    def _worked(
        self, chunk: Chunk, rows: pd.DataFrame, helper: Helper | None
    ) -> Done | Lost | Exception:
        """Work on a chunk, here or in another process, and return what became of it."""
        begun = time.monotonic()
        try:
            if helper is None:
                payload = work(self._recipe, self._order, rows)
            else:
                payload = helper.search(rows, self._watch)
            return Done(chunk, payload, time.monotonic() - begun)
        except MemoryError:
            return Lost(chunk, "memory ran out")
        except (SystemExit, KeyboardInterrupt):  # of the model: a thread is not worth a job
            return Lost(chunk, "the model ended its thread")
        except Exception as error:  # told to the job, which ends
            if helper is not None and isinstance(error, EOFError | OSError):
                return Lost(chunk, "the process that worked on it has ended")
            return error

    def slots(self) -> int:
        """Return how many chunks are worth having in flight."""
        return self.workers + 1

    def submit(self, chunk: Chunk, rows: pd.DataFrame) -> None:
        """Have a chunk worked on."""
        with self._lock:
            if not self._n_submitted:
                self._meter = Meter()
            self._n_submitted += 1
            self._tickets[chunk] = self._n_submitted
        self._waiting.put((chunk, self._n_submitted, rows))

    def wait(self, seconds: float) -> list[Done | Lost]:
        """Return what has happened.

        Raises CounterpointError if nothing can be explained, or too many threads hang.
        """
        if self.n_abandoned > MOST_ABANDONED:
            raise EngineError(
                f"{self.n_abandoned} threads hang in the model and cannot be ended; use --engine "
                "dask (engine='dask'), whose processes can be."
            )
        found: list[Done | Lost] = []
        try:
            found.append(self._told(self._events.get(timeout=seconds)[1]))
            while True:
                found.append(self._told(self._events.get_nowait()[1]))
        except queue.Empty:
            return found

    def _told(self, event: Done | Lost | Exception) -> Done | Lost:
        """Return an event; raise an error that concerns all rows."""
        if isinstance(event, CounterpointError):
            raise event
        if isinstance(event, Exception):
            raise EngineError(f"{type(event).__name__}: {event}") from event
        return event

    def running(self) -> dict[Chunk, float]:
        """Return the chunks that are worked on, and for how long."""
        now = time.monotonic()
        with self._lock:
            return {chunk: now - begun for chunk, begun in self._begun.items()}

    def give_up(self, chunk: Chunk) -> None:
        """Abandon a chunk's thread, which cannot be ended, and start another."""
        with self._lock:
            self._tickets.pop(chunk, None)
            was_begun = self._begun.pop(chunk, None) is not None
            helper = self._there.pop(chunk, None)
        if helper is not None:  # whose thread then ends, too
            helper.close()
        if was_begun:
            self.n_abandoned += helper is None
            self._threads.append(self._new_thread())

    def close(self) -> None:
        """Let the threads end after what they are doing; wait for them only a moment."""
        with self._lock:
            self._tickets.clear()
        self._watch.stop()
        self._helpers.close()
        for _ in self._threads:
            self._waiting.put(None)
        until = time.monotonic() + LEAVING
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))
