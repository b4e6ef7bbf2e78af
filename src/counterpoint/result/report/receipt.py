"""The receipt: who was asked what, with which settings, so that a result can be checked later."""

from __future__ import annotations

import datetime
import platform
from dataclasses import fields
from typing import Any

import numpy as np
import pandas as pd

from counterpoint.problem.limits import Limits
from counterpoint.problem.ranges import range_text
from counterpoint.result.data import ResultData
from counterpoint.result.words.language import say, spoken_now, translated
from counterpoint.result.words.printed import target_text
from counterpoint.table.labels import SIGNS
from counterpoint.table.values import EXACT, write_date, write_number
from counterpoint.version import __version__


def write_receipt(found: ResultData, now: datetime.datetime) -> dict[str, Any]:
    """Return who was asked what, with which settings, as what JSON can hold."""
    version, model = __version__, "not at hand: the result was loaded from a file"
    if found.live is None:
        version = f"{found.remembered.version}; this report by {version}"
    else:
        kind = type(found.problem.predictor.own.model)
        model = f"{kind.__module__}.{kind.__qualname__}"
    return {
        "date": now.astimezone(datetime.UTC).isoformat(timespec="seconds"),
        "data fingerprint": found.fingerprints.data,
        "model fingerprint": found.fingerprints.model,
        "model": model,
        "target": str(found.target),
        "limits": _limits(found.limits),
        "rules": list(found.constraints),
        "costs": [
            f"{name}: {write_number(cost, digits=EXACT)}" for name, cost in found.costs.items()
        ],
        "objectives": list(found.objective_names),
        "search": {"type": type(found.search).__name__, **_settings(found.search)},
        "seed": int(found.seed),
        "model evaluations": found.evaluations,
        "ended by": found.stopped or "the row itself",
        "counterfactuals": int(found.reaches.sum()),
        "near misses": int((~found.reaches).sum()),
        "notes": list(found.notes),
        "versions": {
            "counterpoint": version,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "pandas": pd.__version__,
        },
    }


def receipt_texts(found: ResultData, receipt: dict[str, Any]) -> dict[str, Any]:
    """Return what the page shows in place of parts of the receipt, in the language of the page.

    The search is written as one would type it, and rules are as they were written.
    """
    day = datetime.datetime.fromisoformat(receipt["date"])
    kind, *settings = receipt["search"].items()
    given = ", ".join(f"{name}={value!r}" for name, value in settings if value is not None)
    names, ranges = receipt["objectives"], receipt["limits"]["ranges"]
    known = {f"objective.{name}" for name in ("gap", "distance", "changes", "implausibility")}
    texts = {
        "date": f"{write_date(day.date(), SIGNS[spoken_now()])}, {day:%H:%M:%S} UTC",
        "search": f"{kind[1]}({given})",
        "target": target_text(found),
        "limits": receipt["limits"] | {"ranges": [translated(each, "range") for each in ranges]},
        "objectives": [
            say(key) if (key := f"objective.{name}") in known else name for name in names
        ],
        "ended by": say(f"ended.{receipt['ended by']}"),
        "notes": [translated(note) for note in receipt["notes"]],
    }
    if found.live is None:
        saved = {"saved": found.remembered.version, "version": __version__}
        versions = receipt["versions"] | {"counterpoint": say("written by", **saved)}
        texts |= {"model": say("absent"), "versions": versions}
    return texts


# A setting is used only with some values of another; see `NSGA2`.
ONLY_WITH = {
    "p_min": ("initialization", ("ice",)),
    "p_max": ("initialization", ("ice",)),
    "step": ("mutation", ("gaussian",)),
}


def _settings(search: Any) -> dict[str, Any]:
    """Return the settings that this search uses by name; what JSON has not, as text."""
    values = {field.name: getattr(search, field.name) for field in fields(search)}
    values.pop("method", None)  # the type says it
    for name, (decisive, used) in ONLY_WITH.items():
        if name in values and values.get(decisive) not in used:
            del values[name]
    return {
        name: value
        if value is None or isinstance(value, bool | int | str)
        else (float(value) if isinstance(value, float) and np.isfinite(value) else str(value))
        for name, value in values.items()
    }


def _limits(limits: Limits) -> dict[str, Any]:
    """Return what could change, as texts; rules and costs have places of their own."""
    return {
        "fixed": [str(name) for name in limits.fixed],
        "vary": None if limits.vary is None else [str(name) for name in limits.vary],
        "ranges": [f"{name}: {range_text(ends)}" for name, ends in limits.ranges.items()],
        "most changes": limits.max_changed,
    }
