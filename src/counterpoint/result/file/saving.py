"""Saving: a result as one JSON document, written whole or not at all; never pickle.

The document holds the row, the counterfactuals and what was asked, not the data and not the model:
of these it keeps fingerprints. Keys are the names of the attributes they come from.
"""

from __future__ import annotations

from dataclasses import asdict, fields
from hashlib import blake2b
from typing import Any

import numpy as np
import pandas as pd

from counterpoint.arrays import MISSING, Floats
from counterpoint.checks import is_whole
from counterpoint.errors import listed
from counterpoint.problem.target import Target
from counterpoint.result.data import ResultData
from counterpoint.result.facts import Trace
from counterpoint.result.file.document import (
    FORMAT,
    VERSION,
    encode_text,
    write_dtype,
    write_feature,
    write_label,
)
from counterpoint.result.file.fingerprint import write_form
from counterpoint.result.file.parts import (
    write_aims,
    write_limits,
    write_names,
    write_proof,
    write_remarks,
    write_ways,
)
from counterpoint.table.files import Pathlike, write_whole
from counterpoint.table.frames import as_frame


def save(found: ResultData, path: Pathlike) -> None:
    """Write a result to a file; see `Counterfactuals.save`."""
    text = encode_text(signed(write_document(found)), is_sorted=False)
    write_whole(path, text.encode("ascii") + b"\n")


def write_document(found: ResultData) -> dict[str, Any]:
    """Return a result as what JSON can hold, without its checksum."""
    facts, features, origin = found.facts, found.encoding.schema.features, found.remembered
    row, notes = _write_row(found)
    observed = None
    if found.observed is not None:
        observed, more = _write_index(found.observed, "the observed rows' index")
        notes += more
    return {
        "format": FORMAT,
        "version": VERSION,
        "counterpoint": origin.version,
        "fingerprints": asdict(origin.fingerprints),
        "features": [write_feature(feature) for feature in features],
        "form": write_form(found.encoding),
        "row": row,
        "target": _write_target(found.target),
        "limits": write_limits(facts.limits),
        "aims": write_aims(facts),
        "remarks": write_remarks(features),
        "labels": write_names(found.encoding.schema.labels),
        "shares": facts.shares.tolist(),
        "search": _write_search(found.search),
        "seed": int(found.seed),
        "genomes": write_genomes(found.genomes),
        "predictions": found.predictions.tolist(),
        "scores": found.scores.tolist(),
        "codes": found.codes.tolist(),
        "observed": observed,
        "objectives": found.objectives.tolist(),
        "way_rows": write_ways(
            found.way_rows,
            [] if found.way_rows is None else write_genomes(found.way_rows.genomes),
        ),
        "proof": write_proof(found.proof, found.encoding.schema.names),
        "margin": found.facts.margin,
        "trace": _write_trace(found.trace),
        "notes": [*found.notes, *notes],
        "diagnosis": None if origin.diagnosis is None else asdict(origin.diagnosis),
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


def _write_row(found: ResultData) -> tuple[dict[str, Any], list[str]]:
    """Return the row as it was given, with what the model says of it, and what could not be kept.

    A column's dtype is null where it is the feature's own.
    """
    row = as_frame(found.row, "row")
    own = {column.name: column.dtype for column in found.encoding.columns}
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
    index, note = _write_index(row.index, "the row's index")
    is_flat = not isinstance(row.columns, pd.MultiIndex)
    written = {
        "index": index,
        "columns_dtype": write_dtype(row.columns.dtype, "row's columns") if is_flat else None,
        "names": [write_label(name, "name of the row's columns") for name in row.columns.names],
        "columns": columns,
        "outputs": found.facts.row_outputs.tolist(),
        "classes": [write_label(label, "class") for label in found.facts.classes],
    }
    return written, note


def _write_index(index: pd.Index[Any], what: str) -> tuple[dict[str, Any], list[str]]:
    """Return labels of rows; if one is neither a whole number nor text, all become text."""
    name = write_label(index.name, f"name of {what}")
    is_kept = all(is_whole(value) or isinstance(value, str) for value in index)
    values = [int(value) if is_kept and is_whole(value) else str(value) for value in index]
    dtype = write_dtype(index.dtype, what) if is_kept else "object"
    notes = [] if is_kept else [f"{what} {listed(index)} was saved as text."]
    return {"values": values, "dtype": dtype, "name": name}, notes


def _write_target(target: Target) -> dict[str, Any]:
    """Return the wanted outcome; an open side is null."""
    return {
        "low": float(target.low) if np.isfinite(target.low) else None,
        "high": float(target.high) if np.isfinite(target.high) else None,
        "column": int(target.column),
        "label": write_label(target.label, "target label"),
        "wanted": [int(code) for code in target.wanted],
        "is_complement": bool(target.is_complement),
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
        "confirmations": int(trace.confirmations),
    }
