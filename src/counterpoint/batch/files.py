"""Batch jobs: files of rows in, a folder of counterfactuals out, resumed where they ended."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Unpack

from counterpoint.batch.engines.engine import Engine, Recipe, Threads
from counterpoint.batch.folder import (
    NAME,
    PART,
    Folder,
    describe_job,
    read_manifest,
    refuse_another,
    refused_manifest,
    write_manifest,
)
from counterpoint.batch.inputs import Inputs, Names
from counterpoint.batch.job import ChunkSizes, Job
from counterpoint.batch.ledger import TOLD_OF, Ledger, RowCounts
from counterpoint.batch.rows import Order, id_dtype
from counterpoint.checks import check_choice, check_number, check_whole, require_package
from counterpoint.errors import InvalidInput, did_you_mean, listed, named_columns
from counterpoint.explainer.explainer import Explainer
from counterpoint.explainer.group import check_workers
from counterpoint.problem.limits import LimitKeywords, Limits, join_limits
from counterpoint.problem.target import TargetLike
from counterpoint.progress import JobProgress, StopFlag, stopped_by_signals
from counterpoint.result.file.document import Node
from counterpoint.search.settings import Search, WhatIf

NewEngine = Callable[[Recipe, Order], Engine]


def explain_files(
    explainer: Explainer | Callable[[], Explainer] | Recipe,
    rows: Names,
    target: TargetLike,
    search: Search | WhatIf | None = None,
    seed: int = 0,
    *,
    out: str | os.PathLike[str],
    limits: Limits | None = None,
    keep: int | None = 10,
    id: str | None = None,
    prefix: str | None = None,
    engine: Literal["threads", "dask"] = "threads",
    scheduler: str | None = None,
    workers: int | None = None,
    row_timeout: float = 120.0,
    part_rows: int = 10_000,
    progress: bool | None = None,
    **added: Unpack[LimitKeywords],
) -> Summary:
    """Explain all rows of some files into a folder; go on there if it was begun before.

    The folder ends with the same bytes whatever the engine, the number of workers and how often
    the job was ended and begun again. A row that fails becomes a line that says why and does not
    end the job. docs/scale.md says what the folder holds.

    Parameters
    ----------
    explainer : Explainer, or callable without arguments that makes one
        Whom to ask. Engines with other processes call the function once in each of them.
    rows : str, path, or several
        The rows: files (``.parquet``, ``.csv``, ``.feather``), a folder, patterns such as
        ``"in/*.parquet"``, or URLs of fsspec such as ``"s3://bank/declined/*.parquet"``. Columns
        that are neither features nor `id` are not read.
    target, search, seed
        As in `Explainer.explain`, the same for all rows.
    out : str or path
        The folder to write to; it is made if need be.
    limits, fixed, vary, ranges, max_changed, constraints, costs
        As in `Explainer.explain`, the same for all rows.
    keep : int or None, default=10
        The most counterfactuals of a row that are written, as `select` chooses: the best of
        different ways first, and near misses only where there is no counterfactual. None writes
        the whole non-dominated set, near misses too.
    id : str, optional
        A column of the rows that is no feature and is handed through.
    prefix : str, optional
        Put before the names of our own columns; None puts `"cf_"` there if a feature has the name
        of one.
    engine : {"threads", "dask"}, default="threads"
        Threads of this process, or the processes of a Dask cluster.
    scheduler : str, optional
        The address of the cluster, as ``"tcp://host:8786"``; None starts one here.
    workers : int, optional
        Threads or processes; None takes as many as there are cores.
    row_timeout : float, default=120.0
        Seconds after which a row that has no answer is marked as failed.
    part_rows : int, default=10000
        Rows of the input whose counterfactuals go into one file.
    progress : bool, optional
        Whether to show a bar; None shows one in a terminal or a notebook, and lines elsewhere.

    Returns
    -------
    Summary
        What became of the rows. Ctrl-C and SIGTERM end the job in good order: `is_interrupted`
        says so, and the same call goes on from there.

    Raises
    ------
    InvalidInput, UnknownFeatureError
        If an argument or a file cannot be used, or the folder holds another job.
    CannotWrite
        If the disk is full; the same call goes on once there is room.

    Examples
    --------
    >>> import tempfile
    >>> import counterpoint as cp, pandas as pd
    >>> data = pd.DataFrame({"income": range(10, 50)})
    >>> explainer = cp.Explainer(lambda rows: rows["income"] / 50, data)
    >>> folder = tempfile.mkdtemp()
    >>> data.assign(loan=range(900, 940)).to_parquet(f"{folder}/declined.parquet")
    >>> summary = cp.explain_files(
    ...     explainer, folder, (0.5, 1.0), out=f"{folder}/out", id="loan", progress=False
    ... )
    >>> summary.found, summary.already_met, summary.failed
    (15, 25, 0)
    >>> written = pd.read_parquet(f"{folder}/out/part-00000.parquet")
    >>> written.loc[written["valid"], ["loan", "status", "changed", "income"]].head(2)
       loan status   changed  income
    0   900  found  [income]    28.0
    1   900  found  [income]    25.0
    """
    asked = join_limits(explain_files, limits, added)
    order = Order(target, search, seed, asked, keep, id, prefix)
    new_engine = engine_named(engine, scheduler, workers)
    if "://" in os.fspath(out):
        raise InvalidInput(
            f"out must be a folder of this machine, or one mounted here, got {os.fspath(out)!r}; "
            "copy the files afterwards."
        )
    recipe = Recipe.of(explainer)
    batch = Batch(recipe, order, Path(out), new_engine, part_rows, row_timeout, progress)
    return batch.run(rows)


@dataclass
class Batch:
    """A batch job before its folder is opened."""

    recipe: Recipe  # whom to ask
    order: Order  # what is asked
    out: Path  # the folder
    new_engine: NewEngine  # makes the engine, when all else is in order
    part_rows: int = 10_000  # rows in a part
    row_timeout: float = 120.0  # seconds for a row
    progress: bool | None = None  # whether to show a bar
    sizes: ChunkSizes = field(default_factory=ChunkSizes)  # how many rows go into a chunk
    stop: StopFlag = field(default_factory=StopFlag)  # asks it to stop, besides signals

    def __post_init__(self) -> None:
        require_package("pyarrow", "a batch job", '"counterpoint[cli]"')
        check_whole("part_rows", self.part_rows, 1)
        check_number("row_timeout", self.row_timeout, 0.0, above=True, unit="seconds")

    def run(self, rows: Names) -> Summary:
        """Do the job, or what is left of it; nothing is written before all is checked."""
        start = time.monotonic()
        explainer = self.recipe.explainer()
        self.order.check(explainer)
        inputs = self._opened(rows, [str(column.name) for column in explainer.schema.columns])
        self.schema = self.order.schema_of(explainer, id_dtype(inputs.read(0, 1), self.order))
        described = describe_job(
            self.recipe,
            self.order,
            inputs.fingerprints(),
            self.schema.arrow(),
            part_rows=self.part_rows,
            row_timeout=self.row_timeout,
        )
        if (known := read_manifest(self.out)) is None:
            inputs.check()
        else:
            refuse_another(known, described, self.out)
        folder = Folder(self.out)
        is_done = False
        try:
            summary = self._work(folder, inputs, described, start)
            is_done = not summary.is_interrupted
        finally:
            inputs.close()
            folder.close(is_done=is_done)
        return summary

    def _opened(self, rows: Names, features: list[str]) -> Inputs:
        """Open the files of rows; refuse them if they lack a column that is needed."""
        inputs = Inputs.open(rows, "rows")
        known, id = inputs.schema.names, self.order.id
        first = inputs.files[0].place.name
        if id is not None and id not in known:
            hint = did_you_mean(id, known) or f"they are {listed(known)}."
            raise InvalidInput(f"id {id!r} is not a column of rows {first!r}; {hint}")
        if lacking := [name for name in features if name not in known]:
            hint = did_you_mean(lacking[0], [name for name in known if name not in features])
            raise InvalidInput(
                f"rows {first!r} lacks the {named_columns(lacking)}; it needs every column of the "
                "data" + (f": {hint}" if hint else ".")
            )
        return inputs.only([*([] if id is None else [id]), *features])

    def _work(
        self, folder: Folder, inputs: Inputs, described: dict[str, Any], start: float
    ) -> Summary:
        """Take up what is done in a folder that is ours, do the rest, and sum up."""
        ledger = Ledger(
            folder, len(inputs), self.part_rows, self.schema.arrow(), self.schema.prefix or ""
        )
        self._begin(folder, ledger, described)
        n_before = ledger.counts().rows
        if n_before < len(inputs) or len(ledger.parts) < ledger.n_parts:
            with stopped_by_signals(self.stop, (signal.SIGINT, signal.SIGTERM)):
                self._run(folder, ledger, inputs)
        is_interrupted = len(ledger.parts) < ledger.n_parts
        if not is_interrupted:
            folder.write(self.out / NAME, write_manifest({**described, "parts": ledger.written()}))
        counts, seconds = ledger.counts(), time.monotonic() - start
        folder.log("end", rows_done=counts.rows, seconds=seconds, is_interrupted=is_interrupted)
        return Summary(
            self.out, len(inputs), counts, n_before, len(ledger.parts), seconds, is_interrupted
        )

    def _begin(self, folder: Folder, ledger: Ledger, described: dict[str, Any]) -> None:
        """Write the manifest of a new job; of one that was begun, see what is done."""
        known = read_manifest(self.out)  # once more, now that nobody else may write it
        if known is None:
            if strange := sorted(p.name for p in self.out.iterdir() if PART.fullmatch(p.name)):
                raise InvalidInput(
                    f"out {str(self.out)!r} has {strange[0]!r}, but no manifest that says what it "
                    "is; give another folder, or take such files away."
                )
            with folder.writing():
                folder.forget_work()
            folder.write(self.out / NAME, write_manifest(described))
        else:
            refuse_another(known, described, self.out)
            with refused_manifest(self.out):
                has_parts = "parts" in known
                parts = ledger.listed(Node(known["parts"], "$.parts")) if has_parts else {}
            for name in ledger.recall(parts):
                folder.log("damaged", file=name)

    def _run(self, folder: Folder, ledger: Ledger, inputs: Inputs) -> None:
        """Run the loop with an engine, which is let go of whatever happens."""
        self.sizes.row_timeout = self.row_timeout
        engine = self.new_engine(self.recipe, self.order)
        display = JobProgress(len(inputs), ledger.counts().rows, self.progress)
        try:
            n_done = display.n_done
            folder.log("start", engine=engine.name, rows=len(inputs), rows_done=n_done)
            if n_done:
                display.say(f"going on: {n_done:,} of {len(inputs):,} rows were done before")
            if address := getattr(engine, "dashboard", None):
                display.say(f"Dask's dashboard: {address}")
            Job(inputs, ledger, engine, self.sizes, self.schema, display, self.stop).run()
        except BaseException as error:
            folder.log("stopped", why=f"{type(error).__name__}: {error}")
            raise
        finally:
            display.close()
            engine.close()


def engine_named(name: str, scheduler: str | None, workers: int | None) -> NewEngine:
    """Return what makes the engine of a name."""
    check_workers(workers, is_shared=True)
    if check_choice("engine", name, ("threads", "dask")) == "threads":
        if scheduler is not None:
            raise InvalidInput(
                f"scheduler {scheduler!r} is the address of a Dask cluster; say engine='dask'."
            )
        return lambda recipe, order: Threads(recipe, order, workers)
    require_package("distributed", "engine='dask'", '"counterpoint[dask]"')
    from counterpoint.batch.engines.dask import DaskEngine

    return lambda recipe, order: DaskEngine(recipe, order, workers, scheduler)


DONE, SOME_WITHOUT, SOME_FAILED, INTERRUPTED = 0, 1, 3, 130
FREQUENT = 3  # messages that are shown


@dataclass(frozen=True)
class Summary:
    """What became of the rows of a job.

    Parameters
    ----------
    out : Path
        The folder of the parts.
    n_rows : int
        Rows of the input.
    counts : RowCounts
        What became of those that are done, in this run and before.
    n_before : int
        Rows that were done before this run.
    n_parts : int
        Parts that are written.
    seconds : float
        How long this run took.
    is_interrupted : bool, default=False
        Whether somebody stopped it.

    Examples
    --------
    >>> from collections import Counter
    >>> counts = RowCounts(100, 803, 190_000, Counter(found=97, already_met=2, best_effort=1))
    >>> summary = Summary(Path("out"), 100, counts, n_before=0, n_parts=1, seconds=12.5)
    >>> summary.found, summary.failed, summary.exit_status
    (97, 0, 1)
    >>> print(summary)
    100 rows explained in 12.5 s (8.0 rows/s, 190,000 evaluations)
          97  found
           2  reach the target already
           1  best effort: nothing that was tried reaches the target
    803 lines in 1 file: out/part-*.parquet
    """

    out: Path
    n_rows: int
    counts: RowCounts
    n_before: int
    n_parts: int
    seconds: float
    is_interrupted: bool = False

    @property
    def found(self) -> int:
        """Rows with a counterfactual that reaches the target."""
        return self.counts.statuses["found"]

    @property
    def already_met(self) -> int:
        """Rows that reach the target as they are."""
        return self.counts.statuses["already_met"]

    @property
    def best_effort(self) -> int:
        """Rows of which nothing that was tried reaches the target, or nothing that is allowed."""
        return self.counts.statuses["best_effort"] + self.counts.statuses["infeasible"]

    @property
    def failed(self) -> int:
        """Rows that could not be explained; their lines say why."""
        return self.counts.failed

    @property
    def evaluations(self) -> int:
        """How often the model was asked, for all rows together."""
        return self.counts.evaluations

    @property
    def messages(self) -> list[tuple[str, int]]:
        """The most frequent reasons why rows failed, with how many."""
        return self.counts.frequent(FREQUENT)

    @property
    def rate(self) -> float:
        """Rows per second of this run."""
        return (self.counts.rows - self.n_before) / max(self.seconds, 1e-9)

    @property
    def exit_status(self) -> int:
        """What the command line returns."""
        if self.counts.rows < self.n_rows:
            return INTERRUPTED
        if self.failed:
            return SOME_FAILED
        return SOME_WITHOUT if self.best_effort else DONE

    def as_json(self) -> dict[str, Any]:
        """Return all of it as plain values."""
        return {
            "out": str(self.out),
            "rows": self.n_rows,
            "done": self.counts.rows,
            "done_before": self.n_before,
            "found": self.found,
            "already_met": self.already_met,
            "best_effort": self.best_effort,
            "failed": self.failed,
            "messages": [{"message": text, "rows": n} for text, n in self.messages],
            "lines": self.counts.lines,
            "evaluations": self.evaluations,
            "parts": self.n_parts,
            "seconds": round(self.seconds, 3),
            "rows_per_second": round(self.rate, 3),
            "exit_status": self.exit_status,
        }

    def __str__(self) -> str:
        counts, new = self.counts.statuses, self.counts.rows - self.n_before
        first = f"{new:,} rows explained in {_duration(self.seconds)} ({self.rate:,.1f} rows/s"
        if new == 0 and self.n_before:
            first = f"All {self.n_rows:,} rows were done before; nothing was left to do"
        elif self.n_before:
            first += f"); {self.n_before:,} were done before"
        else:
            first += f", {self.evaluations:,} evaluations)"
        became = [f"{counts[key]:>8,}  {told}" for key, told in TOLD_OF.items() if counts[key]]
        why = [f"{n:>14,} x {_cut(text)}" for text, n in self.messages]
        files = "1 file" if self.n_parts == 1 else f"{self.n_parts:,} files"
        last = f"{self.counts.lines:,} lines in {files}: {self.out / 'part-*.parquet'}"
        if self.counts.rows < self.n_rows:
            last = (
                f"Interrupted: {self.counts.rows:,} of {self.n_rows:,} rows are done. The same "
                "command goes on from here."
            )
        return "\n".join([first, *became, *why, last])


def _cut(text: str, most: int = 120) -> str:
    """Return a message on one line, cut if it is long."""
    line = " ".join(text.split())
    line = "".join(c if c.isprintable() else "?" for c in line)
    return line if len(line) <= most else f"{line[: most - 3]}..."


def _duration(seconds: float) -> str:
    """Return a time for people.

    Examples
    --------
    >>> _duration(12.5), _duration(185.0), _duration(7_290.0)
    ('12.5 s', '3 min 5 s', '2 h 1 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    if seconds < 3600:
        return f"{seconds // 60:.0f} min {seconds % 60:.0f} s"
    return f"{seconds // 3600:.0f} h {seconds % 3600 // 60:.0f} min"
