"""Batch jobs: files of rows in, a folder of counterfactuals out, resumed where they ended.

The manifest says what the job is, so that a rerun continues this job and no other. It says nothing
about times and machines: the same job has the same manifest everywhere. While the job runs it
lists no parts; at the end it lists all of them.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from types import CodeType
from typing import Any, Literal, Unpack

import numpy as np

from counterpoint.batch.engines.engine import Engine, Files, Recipe, Threads
from counterpoint.batch.inputs import Inputs, Names, arrow
from counterpoint.batch.job import ChunkSizes, Job, Summary
from counterpoint.batch.ledger import (
    FORMAT,
    NAME,
    PART,
    Folder,
    Ledger,
    read_manifest,
    refused_manifest,
    write_manifest,
)
from counterpoint.batch.rows import Order, id_dtype
from counterpoint.checks import check_choice, check_number, check_whole, require_package
from counterpoint.errors import InvalidInput, did_you_mean, listed, named_columns
from counterpoint.explainer.explainer import Explainer
from counterpoint.explainer.group import check_workers
from counterpoint.explainer.task import check_search
from counterpoint.problem.limits import LimitKeywords, Limits, join_limits
from counterpoint.problem.target import TargetLike
from counterpoint.progress import JobProgress, StopFlag, stopped_by_signals
from counterpoint.result.facts import take_fingerprints
from counterpoint.result.file.document import Node
from counterpoint.search.settings import Search, WhatIf
from counterpoint.version import __version__

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
    if not isinstance(out, str | os.PathLike):
        raise InvalidInput(f"out must name a folder, got {out!r}; for example out='explained'.")
    if not os.fspath(out) or "://" in os.fspath(out):
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
        arrow()
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
        """Run the loop with an engine, which is closed whatever happens."""
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
                f"scheduler {scheduler!r} is the address of a Dask cluster; say engine='dask' "
                "(--engine dask)."
            )
        return lambda recipe, order: Threads(recipe, order, workers)
    require_package("distributed", "engine='dask'", '"counterpoint[dask]"')
    from counterpoint.batch.engines.dask import DaskEngine

    return lambda recipe, order: DaskEngine(recipe, order, workers, scheduler)


VERSION = 1


def describe_job(
    recipe: Recipe,
    order: Order,
    inputs: list[dict[str, Any]],
    schema: Any,
    *,
    part_rows: int,
    row_timeout: float,
) -> dict[str, Any]:
    """Return what a job is, as JSON holds it; parts are added when they are there."""
    asked = {field.name: as_json(getattr(order, field.name)) for field in fields(order)}
    limits = asked.pop("limits")
    del limits["type"]
    return {
        "format": FORMAT,
        "version": VERSION,
        "counterpoint": __version__,
        **_describe_explainer(recipe),
        **asked,
        **limits,
        "search": as_json(check_search(order.search)),
        "row_timeout": float(row_timeout),
        "part_rows": int(part_rows),
        "inputs": inputs,
        "columns": {field.name: str(field.type) for field in schema},
    }


def _describe_explainer(recipe: Recipe) -> dict[str, Any]:
    """Return fingerprints of model and data: of their files if there are, or of what they say."""
    explainer = recipe.explainer()
    files = recipe.make
    if isinstance(files, Files):
        parts = (files.model, files.data)
        model, data = (f"sha256:{hashlib.sha256(part).hexdigest()}" for part in parts)
    else:
        taken = take_fingerprints(explainer.observed, explainer.predictor)
        model, data = taken.model, taken.data
    observed, features = explainer.observed, explainer.schema.features
    # The same data may be searched in several ways.
    kinds = [
        f"{f.kind}, {f.values_text}" + ("" if f.decimals is None else f", decimals {f.decimals}")
        for f in features
    ]
    return {
        "model": model,
        "data": data,
        "features": [str(name) for name in explainer.schema.names],
        "kinds": kinds,
        "classes": as_json(explainer.classes),
        "minimised": str(observed.aims),
        "weights": observed.shares.tolist(),
        "is_accelerated": explainer.predictor.is_accelerated,
        "may_miss": observed.space.may_miss.tolist(),
    }


def as_json(value: Any) -> Any:
    """Return a setting as JSON holds it; a function becomes its name and a hash of its code.

    Examples
    --------
    >>> as_json(("good", (0.8, None)))
    ['good', [0.8, None]]
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        return {str(key): as_json(value[key]) for key in sorted(value, key=str)}
    if isinstance(value, tuple | list | set | frozenset | range):
        items = [as_json(item) for item in value]
        return sorted(items, key=repr) if isinstance(value, set | frozenset) else items
    if is_dataclass(value) and not isinstance(value, type):
        told = {field.name: as_json(getattr(value, field.name)) for field in fields(value)}
        return {"type": type(value).__name__, **told}
    return _function(value) if callable(value) else str(value)


def _function(function: Callable[..., Any]) -> str:
    """Return a function's name, and a hash of its code where it has some of its own."""
    kind = type(function)
    name = getattr(function, "__qualname__", kind.__qualname__)
    module = getattr(function, "__module__", kind.__module__)
    code = getattr(function, "__code__", getattr(kind.__call__, "__code__", None))
    return f"{module}.{name}" + (f" {_of_code(code).hex()}" if code is not None else "")


def _of_code(code: CodeType) -> bytes:
    """Return a hash of what a function does: not of where it stands or what it is called."""
    constants = [_of_code(c) if isinstance(c, CodeType) else c for c in code.co_consts]
    content = repr((code.co_code, code.co_names, constants))
    return hashlib.blake2b(content.encode(), digest_size=8).digest()


def refuse_another(old: dict[str, Any], new: dict[str, Any], place: Path) -> None:
    """Refuse to go on with a job that is not this one; name the first setting that differs."""
    _refuse_other_rows(old["inputs"], new["inputs"], place)
    for key in (key for key in new if key != "inputs"):
        was, now = old.get(key), json.loads(json.dumps(new[key]))
        if was != now:
            name, was, now = _first_difference(key, was, now)
            raise InvalidInput(
                f"out {str(place)!r} holds a job with {name} = {_short(was)}, and this one has "
                f"{_short(now)}; give another folder for another job, or the same settings to go "
                "on with that one."
            )


def _refuse_other_rows(old: list[dict[str, Any]], new: list[dict[str, Any]], place: Path) -> None:
    """Refuse rows that are not those the job began with; name the first file that differs."""
    go_on = "give another folder for another job, or the files it began with to go on."
    for was, now in zip(old, new, strict=False):
        if was["fingerprint"] != now["fingerprint"] or was["rows"] != now["rows"]:
            is_same = was["name"] == now["name"]
            what = "has changed since" if is_same else f"stands where {was['name']!r} was when"
            raise InvalidInput(
                f"rows file {now['name']!r} {what} the job in out {str(place)!r} began "
                f"({was['rows']:,} rows, {was['fingerprint']}; now {now['rows']:,} rows, "
                f"{now['fingerprint']}); {go_on}"
            )
    if len(old) != len(new):
        raise InvalidInput(
            f"the job in out {str(place)!r} began with {len(old)} files of rows, and there are "
            f"{len(new)} now; {go_on}"
        )


def _first_difference(name: str, old: Any, new: Any) -> tuple[str, Any, Any]:
    """Return the name and the two values of the innermost setting that differs first."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*new, *(key for key in old if key not in new)]:
            if old.get(key) != new.get(key):
                return _first_difference(f"{name}.{key}", old.get(key), new.get(key))
    return name, old, new


def _short(value: Any) -> str:
    """Return a value as text, cut if it is long."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:77]}..."
