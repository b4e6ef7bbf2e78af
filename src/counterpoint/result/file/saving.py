"""Saving: a result as one JSON document, written whole or not at all; never pickle.

The document holds the row, the counterfactuals and what was asked, not the data and not the model:
of these it keeps fingerprints. Keys are the names of the attributes they come from.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import pandas as pd

from counterpoint.arrays import MISSING, Floats
from counterpoint.errors import InvalidInput, NoSuchFile
from counterpoint.problem.limits import Limits
from counterpoint.problem.target import Target
from counterpoint.result.diagnosis import limits_bind
from counterpoint.result.file.document import (
    FORMAT,
    VERSION,
    encode_text,
    write_dtype,
    write_feature,
    write_label,
)
from counterpoint.result.file.fingerprint import Fingerprints, take_fingerprints
from counterpoint.result.file.parts import write_aims, write_form, write_remarks, write_rules
from counterpoint.result.words.message import observed_hint
from counterpoint.table.encoding import as_frame
from counterpoint.version import __version__

if TYPE_CHECKING:
    from counterpoint.result.counterfactuals import Counterfactuals, Trace


Pathlike = str | os.PathLike[str]


@dataclass(frozen=True)
class Kept:
    """What a result says of data and model when neither is at hand.

    Parameters
    ----------
    version : str
        The counterpoint that found it.
    fingerprints : Fingerprints
        Of data and model.
    limits_bind : bool
        Whether observed rows reach the target, but the limits exclude all of them.
    hint : str
        What the message adds where nothing reaches the target; empty if the row itself does.
    """

    version: str
    fingerprints: Fingerprints
    limits_bind: bool
    hint: str

    @classmethod
    def of(cls, found: Counterfactuals) -> Kept:
        """Note what the file must say because it holds neither data nor model."""
        if found.kept is not None:
            return found.kept
        is_searched = found.status != "already_met"
        return cls(
            # the package is loaded, or we would not run; a constant of it breaks no layer
            version=__version__,
            fingerprints=take_fingerprints(found.problem),
            limits_bind=is_searched and limits_bind(found.problem),
            hint=observed_hint(found) if is_searched else "",
        )


def save(found: Counterfactuals, path: Pathlike) -> None:
    """Write a result to a file; see `Counterfactuals.save`."""
    text = encode_text(signed(write_document(found)), is_sorted=False)
    write_whole(path, text.encode("ascii") + b"\n")


def write_document(found: Counterfactuals) -> dict[str, Any]:
    """Return a result as what JSON can hold, without its checksum."""
    problem, kept = found.problem, Kept.of(found)
    row, note = _write_row(found)
    return {
        "format": FORMAT,
        "version": VERSION,
        "counterpoint": kept.version,
        "fingerprints": {"data": kept.fingerprints.data, "model": kept.fingerprints.model},
        "features": [write_feature(f) for f in problem.predictor.encoding.schema.features],
        "form": write_form(problem.predictor.encoding),
        "row": row,
        "target": _write_target(found.target),
        "limits": _write_limits(problem.limits),
        "constraints": write_rules(problem.row_rules),
        "costs": None if problem.costs is None else problem.costs.tolist(),
        "aims": write_aims(problem),
        "remarks": write_remarks(problem.predictor.encoding.schema.features),
        "shares": problem.observed.shares.tolist(),
        "search": _write_search(found.search),
        "seed": int(found.seed),
        "genomes": write_genomes(found.genomes),
        "predictions": found.predictions.tolist(),
        "objectives": found.objectives.tolist(),
        "trace": _write_trace(found.trace),
        "notes": [*found.notes, *note],
        "limits_bind": kept.limits_bind,
        "hint": kept.hint,
    }


def write_genomes(genomes: Floats) -> list[Any]:
    """Return genomes as lists; null is what is missing."""
    if not (genomes == MISSING).any():
        return list(genomes.tolist())
    return [[None if gene == MISSING else gene for gene in row] for row in genomes.tolist()]


def signed(document: dict[str, Any]) -> dict[str, Any]:
    """Return a document with its checksum, which tells accidents; it is no signature."""
    rest = {key: value for key, value in document.items() if key != "checksum"}
    digest = blake2b(encode_text(rest).encode("ascii"), digest_size=16)
    return {**rest, "checksum": digest.hexdigest()}


def _write_row(found: Counterfactuals) -> tuple[dict[str, Any], list[str]]:
    """Return the row as it was given, with what the model says of it, and what could not be kept.

    A column's dtype is null where it is the feature's own.
    """
    row = as_frame(found.row, "row")
    own = {column.name: column.dtype for column in found.problem.predictor.encoding.columns}
    columns = []
    for j, name in enumerate(row.columns):
        what, cell = f"row column {name!r}", row.iloc[:, j]
        value = cell.iloc[0]
        if cell.dtype != object and isinstance(value, np.generic):
            value = value.item()  # the dtype says the rest
        dtype = None if cell.dtype == own[name] else write_dtype(cell.dtype, what)
        columns.append(
            {
                "name": write_label(name, "row column"),
                "dtype": dtype,
                "value": write_label(value, what),
            }
        )
    index, note = _write_index(row.index)
    is_flat = not isinstance(row.columns, pd.MultiIndex)
    written = {
        "index": index,
        "columns_dtype": write_dtype(row.columns.dtype, "row's columns") if is_flat else None,
        "names": [write_label(name, "name of the row's columns") for name in row.columns.names],
        "columns": columns,
        "outputs": found.problem.row_outputs[0].tolist(),
    }
    return written, note


def _write_index(index: pd.Index[Any]) -> tuple[dict[str, Any], list[str]]:
    """Return the row's place in its table; what is neither a whole number nor text becomes text."""
    value = index[0]
    name = write_label(index.name, "name of the row's index")
    is_whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if is_whole or isinstance(value, str):
        value = int(value) if is_whole else str(value)
        return {"value": value, "dtype": write_dtype(index.dtype, "row index"), "name": name}, []
    note = f"the row's index {value!r} was saved as text."
    return {"value": str(value), "dtype": "object", "name": name}, [note]


def _write_target(target: Target) -> dict[str, Any]:
    """Return the wanted outcome; an open side is null."""
    return {
        "low": float(target.low) if np.isfinite(target.low) else None,
        "high": float(target.high) if np.isfinite(target.high) else None,
        "column": int(target.column),
        "label": write_label(target.label, "target label"),
        "is_decision": bool(target.is_decision),
        "is_complement": bool(target.is_complement),
    }


def _write_limits(limits: Limits) -> dict[str, Any]:
    """Return the caller's limits, one entry per feature; null where no range was given."""
    return {
        "is_fixed": limits.is_fixed.tolist(),
        "low": [None if np.isnan(low) else low for low in limits.low.tolist()],
        "high": [None if np.isnan(high) else high for high in limits.high.tolist()],
        "max_changed": int(limits.max_changed),
    }


def _write_search(search: Any) -> dict[str, Any]:
    """Return the settings by name."""
    name = type(search).__name__
    settings = {
        f.name: write_label(getattr(search, f.name), f"{name}.{f.name}") for f in fields(search)
    }
    return {"type": name, "settings": settings}


def _write_trace(trace: Trace) -> dict[str, Any]:
    """Return how the search went."""
    return {
        "objectives": trace.objectives.tolist(),
        "generation": trace.generation.tolist(),
        "evaluations": trace.evaluations.tolist(),
        "replies": trace.replies.tolist(),
        "stopped": str(trace.stopped),
    }


def write_whole(path: Pathlike, content: bytes) -> None:
    """Write a file in one step; see `whole_file`."""
    with whole_file(path) as file:
        file.write(content)


@contextmanager
def whole_file(path: Pathlike) -> Iterator[BinaryIO]:
    """Open a file to write to: its name stands for the old content or the new, never for a part."""
    place = Path(os.path.realpath(check_path(path)))  # a link stays a link
    if not place.parent.is_dir():
        raise NoSuchFile(f"there is no folder {str(place.parent)!r} to save into; make it first.")
    if place.is_dir():
        raise InvalidInput(f"{str(path)!r} is a folder; give the name of a file in it.")
    draft = place.with_name(f".{place.name[:100]}.{secrets.token_hex(8)}.part")
    try:
        with open(draft, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if place.exists():
            shutil.copymode(place, draft)
        os.replace(draft, place)
    except BaseException:
        with suppress(OSError):
            draft.unlink()
        raise


def check_path(path: object) -> str:
    """Return the path as text; refuse what names no file."""
    name = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(name, str) or not name or "\0" in name:
        raise InvalidInput(f"path must be the name of a file, got {path!r}.")
    return name
