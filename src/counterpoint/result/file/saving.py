"""Saving: one result as a JSON document, many as Parquet; written whole or not at all, no pickle.

The document holds the row, the counterfactuals and what was asked, not the data and not the model:
of these it keeps fingerprints. Keys are the names of the attributes they come from. Functions
cannot be saved: of the caller's objectives it keeps names and where their hypervolume ends. A file
of many has a row for each result, with its document and what one filters by.
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from hashlib import blake2b, sha256
from itertools import islice
from typing import Any, BinaryIO

import numpy as np
import pandas as pd

from counterpoint.arrays import MISSING, Floats
from counterpoint.checks import is_whole, require_package
from counterpoint.errors import InvalidInput, listed, printable
from counterpoint.problem.limits import CheckedLimits
from counterpoint.problem.own_objectives import PLAIN, Distance, Objective
from counterpoint.problem.target import Target
from counterpoint.result.data import ResultData
from counterpoint.result.facts import Facts
from counterpoint.result.file.document import (
    FORMAT,
    VERSION,
    encode_text,
    write_dtype,
    write_feature,
    write_form,
    write_label,
)
from counterpoint.result.words.sentences import message
from counterpoint.search.exact.proof import Claim, Proof
from counterpoint.search.ways import WayRows
from counterpoint.table.features import Feature
from counterpoint.table.files import Pathlike, whole_file, write_whole
from counterpoint.table.frames import as_frame
from counterpoint.table.labels import Labels

FORMAT_KEY, VERSION_KEY = b"counterpoint.format", b"counterpoint.version"
MANY = {FORMAT_KEY: b"results", VERSION_KEY: b"1"}  # the metadata of a file of many results
TOGETHER = 64  # results written at a time
# The file's own checksum stands among the last things in it, and counts as zeros for itself.
UNSEALED = b"0" * 64
SEAL = b"counterpoint.sha256" + bytes([0x18, len(UNSEALED)])  # key and kind, as Parquet has them
NEAR_END, BLOCK = 2**16, 2**20
WAYS_KEYS = ("ways", "values", "rows")
WAY_KEYS = ("features", "is_minimal", "is_proved", "n_valid")
ROW_KEYS = ("way", "is_front", "genomes", "predictions", "scores", "codes", "objectives")


def save(found: ResultData, path: Pathlike) -> None:
    """Write a result to a file; see `Counterfactuals.save`."""
    write_whole(path, _text_of(found).encode("ascii") + b"\n")


def _text_of(found: ResultData) -> str:
    return encode_text(signed(write_document(found)), is_sorted=False)


def save_many(results: Iterable[ResultData], path: Pathlike) -> int:
    """Write results to one Parquet file, which `load_many` reads back; return how many.

    They may come one by one, as from `Explainer.explain_each`: few are held at a time. A file of
    that name is replaced, in one step, when all of them are written. Besides the `document` of each
    result, which holds all that `Counterfactuals.save` would write, there are the columns `index`
    (of the row in its table), `status`, `message`, `n_found` (counterfactuals) and `n_near_misses`.

    Parameters
    ----------
    results : iterable of Counterfactuals
        What to write.
    path : str or path
        The file; its folder must exist.

    Returns
    -------
    int
        The number of results.

    Raises
    ------
    InvalidInput
        If a label or a dtype of the data has no place in a document.
    MissingDependency
        If pyarrow is not installed.
    CannotWrite, NoSuchFile
        If the disk is full, or the folder is not there or may not be written to.

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> import counterpoint as cp
    >>> data = pd.DataFrame({"age": [20, 30, 40, 50]})
    >>> explainer = cp.Explainer(lambda rows: rows["age"] / 100, data)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     n = cp.save_many(explainer.explain_each(data, (0.4, 1.0)), f"{folder}/found.parquet")
    ...     loaded = cp.load_many(f"{folder}/found.parquet")
    >>> n, [found.status for found in loaded]
    (4, ['found', 'found', 'already_met', 'already_met'])
    """
    if isinstance(results, ResultData):
        raise InvalidInput("save_many takes a list of results, got one; use its save.")
    arrow, parquet = arrow_modules()
    schema, waiting, n = schema_of_many(arrow), iter(results), 0
    with whole_file(path) as file:
        with parquet.ParquetWriter(
            file, schema, compression="zstd", use_dictionary=False
        ) as writer:
            while some := [_record(found) for found in islice(waiting, TOGETHER)]:
                writer.write_table(arrow.Table.from_pylist(some, schema=schema))
                n += len(some)
            writer.add_key_value_metadata({SEAL[:-2]: UNSEALED})
        seal(file)
    return n


def _record(found: ResultData) -> dict[str, Any]:
    if not isinstance(found, ResultData):
        raise InvalidInput(
            f"save_many takes a list of results, got {found!r} in it; for example what "
            "explain_many returns."
        )
    return {
        "index": str(as_frame(found.row, "row").index[0]),
        "status": found.status,
        "message": printable(message(found)),
        "n_found": len(found),
        "n_near_misses": len(found.genomes) - len(found),
        "document": _text_of(found),
    }


def schema_of_many(arrow: Any) -> Any:
    """Return the columns of the file."""
    text, count = arrow.string(), arrow.int64()
    columns = dict.fromkeys(("index", "status", "message"), text)
    columns |= dict.fromkeys(("n_found", "n_near_misses"), count)
    fields = [arrow.field(name, kind) for name, kind in columns.items()]
    fields.append(arrow.field("document", arrow.large_string()))
    return arrow.schema(fields, metadata=MANY)


def arrow_modules() -> tuple[Any, Any]:
    """Return pyarrow and its module for Parquet."""
    how = ("a Parquet file", '"counterpoint[parquet]"')
    return require_package("pyarrow", *how), require_package("pyarrow.parquet", *how)


def seal(file: BinaryIO) -> None:
    """Write the checksum of a file into it."""
    place, digest = checksum_of(file)
    file.seek(place)
    file.write(digest)
    file.seek(0, os.SEEK_END)


def checksum_of(file: BinaryIO) -> tuple[int, bytes]:
    """Return where the checksum of a file stands in it, and what it has to be."""
    size = file.seek(0, os.SEEK_END)
    start = file.seek(max(0, size - NEAR_END))
    found = file.read().rfind(SEAL)
    if found < 0:
        raise InvalidInput("it holds no results of counterpoint, or is cut off.")
    place, digest = start + found + len(SEAL), sha256()
    file.seek(0)
    while block := file.read(min(BLOCK, place - file.tell())):
        digest.update(block)
    digest.update(UNSEALED)
    file.seek(place + len(UNSEALED))
    while block := file.read(BLOCK):
        digest.update(block)
    return place, digest.hexdigest().encode()


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
        "labels": write_names(found.labels),
        "shares": facts.shares.tolist(),
        "search": _write_search(found.search),
        "seed": int(found.seed),
        "genomes": write_genomes(found.genomes),
        "predictions": found.predictions.tolist(),
        "scores": found.scores.tolist(),
        "codes": found.codes.tolist(),
        "observed": observed,
        "objectives": found.objectives.tolist(),
        "way_rows": write_ways(found.way_rows),
        "proof": write_proof(found.proof, found.encoding.schema.names),
        "margin": found.facts.margin,
        "trace": {
            each.name: value.tolist() if isinstance(value, np.ndarray) else value
            for each in fields(found.trace)
            for value in [getattr(found.trace, each.name)]
        },
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
    name = type(search).__name__
    settings = {
        f.name: write_label(getattr(search, f.name), f"{name}.{f.name}") for f in fields(search)
    }
    return {"type": name, "settings": settings}


def write_aims(facts: Facts) -> dict[str, Any] | None:
    """Return what was minimised as JSON; None if it has the built-in objectives only.

    Of a function its name is kept, its `worst` as given, and where hypervolume ends for the row; of
    a plausibility that was fitted, what it is.
    """
    aims = facts.aims
    if aims == PLAIN:
        return None
    distance, plausibility, *own = facts.worst.tolist()
    score = aims.plausibility
    o4 = score if isinstance(score, Objective) else None
    return {
        "distance": _write_function(aims.distance, distance),
        "gower": {"scale": aims.gower.scale, "widths": list(aims.widths)},
        "plausibility": _write_function(o4, plausibility),
        "score": None if score is None or isinstance(score, Objective) else score.words,
        "objectives": [
            _write_function(objective, end)
            for objective, end in zip(aims.objectives, own, strict=True)
        ],
    }


def _write_function(function: Objective | None, end: float) -> dict[str, Any] | None:
    if function is None:
        return None
    kind = "distance" if isinstance(function, Distance) else "objective"
    given = None if function.worst is None else float(function.worst)
    return {"name": function.name, "kind": kind, "worst": given, "end": end}


def write_remarks(features: Sequence[Feature]) -> dict[str, Any] | None:
    """Return units and protection as JSON, an entry per feature; None if there are none."""
    units = [feature.unit or None for feature in features]
    is_protected = [feature.is_protected for feature in features]
    if not any(units) and not any(is_protected):
        return None
    return {"units": units, "is_protected": is_protected}


def write_names(labels: Labels) -> dict[str, Any] | None:
    """Return labels as JSON, by language; None if there are none."""
    if not labels:
        return None
    return {
        lang: {
            "features": _write_texts(words.features),
            "levels": [
                [write_label(name, "labels"), _write_texts(texts)]
                for name, texts in words.levels.items()
            ],
            "classes": _write_texts(words.classes),
            "units": [[write_label(n, "labels"), *pair] for n, pair in words.units.items()],
            "outcome": words.outcome,
        }
        for lang, words in labels.words.items()
    }


def _write_texts(texts: Mapping[Any, str]) -> list[Any]:
    return [[write_label(key, "labels"), text] for key, text in texts.items()]


def write_limits(checked: CheckedLimits) -> dict[str, Any]:
    """Return the caller's limits as JSON; of a function among the rules only its name is kept."""
    limits, rules = checked.limits, checked.rules.rules[: len(checked.limits.constraints)]
    return {
        "fixed": write_labels(limits.fixed, "fixed"),
        "vary": None if limits.vary is None else write_labels(limits.vary, "vary"),
        "ranges": [
            {"feature": write_label(name, "ranges"), "values": write_labels(values, "ranges")}
            for name, values in limits.ranges.items()
        ],
        "max_changed": limits.max_changed,
        "constraints": [
            {"function": rule.name} if rule.statement is None else {"rule": str(rule)}
            for rule in rules
        ],
        "costs": [
            {"feature": write_label(name, "costs"), "cost": cost}
            for name, cost in limits.costs.items()
        ],
    }


def write_labels(labels: Iterable[Any], what: str) -> list[Any]:
    """Return several labels as JSON."""
    return [write_label(label, what) for label in labels]


def write_ways(rows: WayRows | None) -> dict[str, Any] | None:
    """Return the ways as JSON, with their candidates; None if there are none."""
    if rows is None:
        return None
    candidates = {key: getattr(rows, key).tolist() for key in ROW_KEYS}
    return {
        "ways": {
            "features": [np.flatnonzero(changed).tolist() for changed in rows.changed],
            **{key: getattr(rows, key).tolist() for key in WAY_KEYS[1:]},
        },
        "values": [rows.value_way.tolist(), rows.value_feature.tolist(), rows.value.tolist()],
        "rows": candidates | {"genomes": write_genomes(rows.genomes)},
    }


def write_proof(proof: Proof | None, names: Sequence[Hashable]) -> dict[str, Any] | None:
    """Return what is proved as JSON, ways by the positions of their features; None if nothing is.

    An infinite value or bound is null.
    """
    if proof is None:
        return None
    places = {features: [names.index(name) for name in features] for features in proof.ways}
    return {
        "nearest": _write_claim(proof.nearest),
        "fewest": _write_claim(proof.fewest),
        "by_changes": [[n, _write_claim(claim)] for n, claim in proof.by_changes.items()],
        "ways": [
            [places[features], _write_claim(claim), features in proof.minimal]
            for features, claim in proof.ways.items()
        ],
        "reason": proof.reason,
    }


def _write_claim(claim: Claim) -> list[float | None]:
    return [end if np.isfinite(end) else None for end in (claim.value, claim.bound)]
