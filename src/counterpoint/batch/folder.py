"""The folder of a job: files that are whole or absent, a lock, a log, and the manifest.

Everything is first written to a temporary name in ``work/``, brought to the disk, and renamed; the
folder is brought to the disk as well. So whatever ends the process, or the machine, a name stands
for a whole file. The bytes of a Parquet file depend on nothing but its rows: lines are gathered
into row groups of a fixed size before they are written.

The manifest says what the job is, so that a rerun continues this job and no other. It says nothing
about times and machines: the same job has the same manifest everywhere. While the job runs it
lists no parts; at the end it lists all of them.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import CodeType
from typing import Any, BinaryIO

import numpy as np

from counterpoint.batch.engines.engine import Files, Recipe
from counterpoint.batch.rows import Order
from counterpoint.checks import require_package
from counterpoint.errors import CannotWrite, CounterpointError, InvalidInput
from counterpoint.explainer.task import check_search
from counterpoint.result.facts import take_fingerprints
from counterpoint.result.file.document import Node
from counterpoint.version import __version__

OURS = re.compile(
    r"chunk-\d+-\d+\.arrow|(chunk-\d+-\d+|part-\d+|manifest)\.tmp|journal\.jsonl|lock"
)
PART = re.compile(r"part-\d+\.parquet")
MOST_COUNTED = 2**53  # of anything


class Folder:
    """Where a job writes, locked against other jobs for as long as it is open.

    It is made if it is not there. Raises InvalidInput if it is no folder, or another job is at work
    in it, CannotWrite if it cannot be written to.
    """

    def __init__(self, place: Path) -> None:
        self.place, self.work = place, place / "work"
        if place.exists() and not place.is_dir():
            raise InvalidInput(f"out {str(place)!r} is a file; give the name of a folder.")
        with self.writing():
            self.work.mkdir(parents=True, exist_ok=True)
            self._lock = self._locked()

    def _locked(self) -> int:
        """Take the lock, which the kernel drops when the process ends, however it does."""
        import fcntl

        while True:
            handle = os.open(self.work / "lock", os.O_RDWR | os.O_CREAT, 0o644)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(handle)
                raise InvalidInput(
                    f"another job is at work in out {str(self.place)!r}; wait for it, or give "
                    "another folder."
                ) from None
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(handle), os.stat(self.work / "lock")):
                    return handle
            os.close(handle)  # the other job ended and took the file away: once more
            self.work.mkdir(parents=True, exist_ok=True)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Say what to do where the disk is full or may not be written to."""
        try:
            yield
        except CounterpointError:
            raise
        except OSError as error:
            told = error.strerror or str(error).strip().partition("\n")[0]
            raise CannotWrite(
                f"cannot write to out {str(self.place)!r}: {told}. What is done is kept; once "
                "that is mended, the same command goes on."
            ) from error

    @contextmanager
    def new_file(self, place: Path) -> Iterator[BinaryIO]:
        """Open a file to write to that gets its name when it is whole and on the disk."""
        draft = self.work / f"{place.stem}.tmp"
        with self.writing():
            try:
                with open(draft, "wb") as file:
                    yield file
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(draft, place)
                to_disk(place.parent)
            except BaseException:
                with suppress(OSError):
                    draft.unlink()
                raise

    def write(self, place: Path, content: bytes) -> None:
        """Write a file whole or not at all."""
        with self.new_file(place) as file:
            file.write(content)

    def log(self, event: str, **about: Any) -> None:
        """Add a line to the log; it is for people, so the job does not depend on it."""
        line = json.dumps({"time": datetime.now(UTC).isoformat(), "event": event, **about})
        with suppress(OSError), open(self.place / "log.jsonl", "ab+") as file:
            if file.tell():
                file.seek(-1, os.SEEK_END)
                line = line if file.read(1) == b"\n" else "\n" + line  # a line cut by a crash
            file.write(line.encode() + b"\n")

    def forget_work(self) -> None:
        """Take away what our work left in ``work/``, but for the lock; nothing of others."""
        for path in self.work.iterdir():
            if OURS.fullmatch(path.name) and path.name != "lock":
                path.unlink()

    def close(self, *, is_done: bool = False) -> None:
        """Give up the lock; take ``work/`` away if the job is done."""
        if is_done:
            with suppress(OSError):
                self.forget_work()
                (self.work / "lock").unlink()
                self.work.rmdir()
                to_disk(self.place)
        os.close(self._lock)


def to_disk(folder: Path) -> None:
    """Bring the names in a folder to the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sha256_of(path: Path) -> str | None:
    """Return the hash of a file's content; None if it cannot be read."""
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


GROUP = 16_384  # lines in a row group


def write_part(file: BinaryIO, tables: Iterable[Any], schema: Any) -> None:
    """Write tables of Arrow, one after the other, as one Parquet file."""
    pa = require_package("pyarrow", "a batch job", '"counterpoint[cli]"')
    parquet = require_package("pyarrow.parquet", "a batch job", '"counterpoint[cli]"')
    writer = parquet.ParquetWriter(
        file, schema, version="2.6", compression="zstd", write_page_checksum=True
    )
    try:
        waiting = pa.Table.from_batches([], schema)
        for table in tables:
            waiting = pa.concat_tables([waiting, table])
            while waiting.num_rows >= GROUP:
                writer.write_table(waiting.slice(0, GROUP).combine_chunks(), row_group_size=GROUP)
                waiting = waiting.slice(GROUP)
        if waiting.num_rows:
            writer.write_table(waiting.combine_chunks(), row_group_size=GROUP)
    finally:
        writer.close()


def read_payload(payload: bytes, schema: Any) -> Any:
    """Return the table an engine's answer holds, as `packed` made it; `ValueError` if damaged."""
    pa = require_package("pyarrow", "a batch job", '"counterpoint[cli]"')
    size = hashlib.sha256().digest_size
    content, digest = payload[:-size], payload[-size:]
    if hashlib.sha256(content).digest() != digest:
        raise ValueError("the answer is not what its worker sent")
    table = pa.ipc.open_stream(pa.BufferReader(content)).read_all()
    return table.replace_schema_metadata(None).cast(schema)


FORMAT, VERSION = "counterpoint batch", 1
NAME = "manifest.json"


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


def read_manifest(place: Path) -> dict[str, Any] | None:
    """Return the manifest of a folder; None if it has none."""
    file = place / NAME
    if not file.exists():
        return None
    with refused_manifest(place):
        document: dict[str, Any] = json.loads(file.read_bytes())
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            Node(document).refuse(f"an object with the format {FORMAT!r}")
        for entry in Node(document.get("inputs"), "$.inputs").items():
            name, rows, fingerprint = entry.fields("name", "rows", "fingerprint")
            name.text()
            rows.whole(0, MOST_COUNTED)
            fingerprint.text()
    return document


@contextmanager
def refused_manifest(place: Path) -> Iterator[None]:
    """Say of a manifest that it is none of ours, and why."""
    try:
        yield
    except (OSError, ValueError, RecursionError) as error:  # what is refused is a ValueError
        told = error.strerror if isinstance(error, OSError) else str(error)
        raise InvalidInput(
            f"{str(place / NAME)!r} is not the manifest of a batch job ({told}), so out "
            f"{str(place)!r} may hold something else; give another folder."
        ) from error


def write_manifest(document: dict[str, Any]) -> bytes:
    """Return the bytes of a manifest."""
    return json.dumps(document, indent=1, ensure_ascii=False).encode() + b"\n"


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


def _short(value: Any, most: int = 80) -> str:
    """Return a value as text, cut if it is long."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= most else f"{text[: most - 3]}..."
