"""The receipt: what was asked of which model and data, so that a result can be checked later."""

from __future__ import annotations

import datetime
import platform
import sys
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from counterpoint.result.report.texts import cell_text

if TYPE_CHECKING:
    from counterpoint.result.counterfactuals import Counterfactuals


def write_receipt(found: Counterfactuals, now: datetime.datetime) -> dict[str, Any]:
    """Return who was asked what, with which settings, as what JSON can hold."""
    kept = found.kept
    own = str(sys.modules["counterpoint"].__version__)  # loaded, or we would not run
    return {
        "date": now.astimezone(datetime.UTC).isoformat(timespec="seconds"),
        "data fingerprint": found.fingerprints.data,
        "model fingerprint": found.fingerprints.model,
        "model": "not at hand: the result was loaded from a file" if kept else _model_name(found),
        "target": str(found.target),
        "limits": _limits(found),
        "rules": list(found.constraints),
        "costs": [f"{name}: {cost:g}" for name, cost in found.costs.items()],
        "objectives": list(found.objective_names),
        "search": {"type": type(found.search).__name__, **_settings(found.search)},
        "seed": int(found.seed),
        "model evaluations": found.evaluations,
        "ended by": found.stopped or "the row itself",
        "counterfactuals": len(found),
        "reaching the target": int(found.reaches.sum()),
        "notes": list(found.notes),
        "versions": {
            "counterpoint": own if kept is None else f"{kept.version}; this report by {own}",
            "python": platform.python_version(),
            "numpy": np.__version__,
            "pandas": pd.__version__,
        },
    }


def _model_name(found: Counterfactuals) -> str:
    """Return the model's type."""
    kind = type(found.problem.predictor.own.model)
    return f"{kind.__module__}.{kind.__qualname__}"


def _settings(search: Any) -> dict[str, Any]:
    """Return the settings by name; what JSON has not, as text."""
    values = {field.name: getattr(search, field.name) for field in fields(search)}
    return {
        name: value
        if value is None or isinstance(value, bool | int | str)
        else (float(value) if isinstance(value, float) and np.isfinite(value) else str(value))
        for name, value in values.items()
    }


def _limits(found: Counterfactuals) -> dict[str, Any]:
    """Return the caller's limits by feature, as texts."""
    limits = found.problem.limits
    features = found.problem.predictor.encoding.schema.features
    return {
        "fixed": [str(f.name) for f, fixed in zip(features, limits.is_fixed, strict=True) if fixed],
        "ranges": [
            f"{feature.name}: {cell_text(feature, low)} to {cell_text(feature, high)}"
            for feature, low, high in zip(features, limits.low, limits.high, strict=True)
            if not np.isnan(low)
        ],
        "most changes": int(limits.max_changed),
    }
