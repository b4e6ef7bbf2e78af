"""The manifest: what a job is, so that a rerun goes on with it and nothing else mixes with it.

It says nothing about times and machines, so the same job has the same manifest everywhere. While
the job runs it lists no parts; at the end it lists all of them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from hashlib import blake2b, sha256
from pathlib import Path
from types import CodeType
from typing import Any

import numpy as np

from counterpoint.batch.order import Order
from counterpoint.batch.recipe import Files, Recipe
from counterpoint.errors import InvalidInput
from counterpoint.explainer.task import check_search
from counterpoint.result.file.fingerprint import take_fingerprints
from counterpoint.version import __version__

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
    return {
        "format": FORMAT,
        "version": VERSION,
        "counterpoint": __version__,
        **_describe_explainer(recipe),
        **_describe_order(order),
        "row_timeout": float(row_timeout),
        "part_rows": int(part_rows),
        "inputs": inputs,
        "columns": {field.name: str(field.type) for field in schema},
    }


def _describe_explainer(recipe: Recipe) -> dict[str, Any]:
    """Return fingerprints of model and data: of their files if there are, or of what they say."""
    explainer = recipe.explainer()
    files = recipe.source
    if isinstance(files, Files):
        model, data = (f"sha256:{sha256(part).hexdigest()}" for part in (files.model, files.data))
    else:
        taken = take_fingerprints(explainer)
        model, data = taken.model, taken.data
    observed = explainer.observed
    return {
        "model": model,
        "data": data,
        "features": [str(name) for name in explainer.schema.names],
        "classes": as_json(explainer.classes),
        "minimised": str(observed.aims),
        "weights": observed.shares.tolist(),
        "is_accelerated": explainer.predictor.is_accelerated,
        "may_miss": observed.space.may_miss.tolist(),
    }


def _describe_order(order: Order) -> dict[str, Any]:
    """Return what is asked, the search with all its settings."""
    asked = {field.name: as_json(getattr(order, field.name)) for field in fields(order)}
    limits = asked.pop("limits")
    del limits["type"]
    return {**asked, **limits, "search": as_json(check_search(order.search))}


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
    return blake2b(content.encode(), digest_size=8).digest()


def read_manifest(place: Path) -> dict[str, Any] | None:
    """Return the manifest of a folder; None if it has none."""
    file = place / NAME
    if not file.exists():
        return None
    try:
        document = json.loads(file.read_bytes())
        is_ours = document["format"] == FORMAT and isinstance(document["version"], int)
    except (ValueError, KeyError, TypeError):
        is_ours = False
    if not is_ours:
        raise InvalidInput(
            f"{str(file)!r} is not the manifest of a batch job, so out {str(place)!r} may hold "
            "something else; give another folder."
        )
    found: dict[str, Any] = document
    return found


def write_manifest(document: dict[str, Any]) -> bytes:
    """Return the bytes of a manifest."""
    return json.dumps(document, indent=1, ensure_ascii=False).encode() + b"\n"


def refuse_another(old: dict[str, Any], new: dict[str, Any], place: Path) -> None:
    """Refuse to go on with a job that is not this one; name the first setting that differs."""
    _refuse_other_rows(old.get("inputs", []), new["inputs"], place)
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
