"""The summary: a result as plain values for the report's page, texts as they are shown."""

from __future__ import annotations

import datetime
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from counterpoint.arrays import MISSING
from counterpoint.result.choosing.representatives import representatives
from counterpoint.result.report.questions import write_questions
from counterpoint.result.report.receipt import write_receipt
from counterpoint.result.report.texts import cell_text, changed_text, number_text
from counterpoint.result.wording.sentences import changes_protected, sentence
from counterpoint.table.schema import Feature, Kind

if TYPE_CHECKING:
    from counterpoint.result.counterfactuals import Counterfactuals

FORMAT = "counterpoint/report"
VERSION = 1
DIGITS = 6  # of an objective, which only ranks and draws
# What each built-in objective asks of a counterfactual, in a reader's words: less is better.
LABELS = {
    "gap": ("Missing the target", "Gap", "how far the prediction stays from the target"),
    "distance": (
        "Size of the changes",
        "Size",
        "how far the values move in their ranges",
    ),
    "changes": ("Number of changes", "Changes", "how many values differ from the row"),
    "implausibility": ("Unusual cases", "Unusual", "how far it is from rows that were observed"),
}


def summarise(found: Counterfactuals, now: datetime.datetime) -> dict[str, Any]:
    """Return all the page shows of a result, but its figures, as what JSON can hold.

    Parameters
    ----------
    found : Counterfactuals
        The result; one loaded from a file will do.
    now : datetime
        When the report is made.
    """
    features = found.problem.predictor.encoding.schema.features
    row = found.problem.rows[0]
    return {
        "format": FORMAT,
        "version": VERSION,
        "title": title_of(found),
        "message": found.message,
        "status": found.status,
        "notes": list(found.notes),
        "is_loaded": found.kept is not None,
        "target": _write_target(found),
        "row": {"prediction": found.row_prediction, "text": number_text(found.row_prediction)},
        "features": [
            _write_feature(found, feature, gene, j)
            for j, (feature, gene) in enumerate(zip(features, row, strict=True))
        ],
        "objectives": _write_objectives(found),
        "counterfactuals": [
            _write_one(found, i, bool(is_protected))
            for i, is_protected in enumerate(changes_protected(found))
        ],
        "representatives": _representatives(found),
        "interview": write_questions(found),
        "receipt": write_receipt(found, now),
    }


def title_of(found: Counterfactuals) -> str:
    """Return what the explained row is called: by its label in its table, if it has one."""
    index = getattr(found.row, "index", None)
    if index is None or len(index) != 1:
        return "The row"
    return f"Row {index[0]}"


def _write_target(found: Counterfactuals) -> dict[str, Any]:
    """Return the wanted outcome: its words, and its ends, null where it is open."""
    target = found.target
    return {
        "text": str(target),
        "low": _finite(target.low),
        "high": _finite(target.high),
        "is_probability": target.label is not None,
    }


def _write_feature(found: Counterfactuals, feature: Feature, gene: float, j: int) -> dict[str, Any]:
    """Return a feature: what it can be, what the row has, and how often it is changed."""
    is_numeric = feature.is_numeric
    return {
        "name": str(feature.name),
        "kind": str(feature.kind),
        "is_numeric": is_numeric,
        "is_ordered": is_numeric or feature.kind is Kind.ORDERED,
        "levels": [str(level) for level in feature.levels],
        "decimals": 0 if feature.kind is Kind.INTEGER else feature.decimals,
        "unit": feature.unit,
        "low": _finite(feature.low),
        "high": _finite(feature.high),
        "range": f"{cell_text(feature, feature.low)} to {cell_text(feature, feature.high)}"
        if is_numeric
        else ", ".join(str(level) for level in feature.levels),
        "row": _finite(gene),
        "text": cell_text(feature, gene),
        "is_protected": feature.is_protected,
        "is_fixed": bool(found.problem.limits.is_fixed[j]),
        "n_changed": int(found.changed[:, j].sum()),
    }


def _write_objectives(found: Counterfactuals) -> list[dict[str, Any]]:
    """Return the objectives: their names, and what they say in a reader's words."""
    own = ("", "", "an objective of the caller's")
    return [
        {"name": name, "label": label or name, "short": short or name, "hint": hint}
        for name in found.objective_names
        for label, short, hint in [LABELS.get(name, own)]
    ]


def _write_one(found: Counterfactuals, i: int, is_protected: bool) -> dict[str, Any]:
    """Return one counterfactual: only its changes, as (feature, value, text)."""
    features = found.problem.predictor.encoding.schema.features
    genome, row = found.genomes[i], found.problem.rows[0]
    return {
        "number": i + 1,
        "changes": [
            [int(j), _finite(genome[j]), changed_text(features[j], genome[j], row[j])]
            for j in np.flatnonzero(found.changed[i])
        ],
        "prediction": _short(found.predictions[i]),
        "text": number_text(found.predictions[i]),
        "is_valid": bool(found.reaches[i]),
        "objectives": [_short(value) for value in found.objectives[i]],
        "sentence": sentence(found, i, "en", "analyst"),
        "is_protected": is_protected,
    }


def _representatives(found: Counterfactuals) -> list[dict[str, Any]]:
    """Return the named representatives by number; what changes protected features is no advice."""
    advised = np.flatnonzero(~changes_protected(found))
    if not len(advised):
        return []
    return [
        {"name": name, "number": int(advised[position]) + 1}
        for name, position in representatives(found.take(advised)).items()
    ]


def _finite(value: float) -> float | None:
    """Return a number JSON has; null for an open side, or for a missing value."""
    number = float(value)
    return number if math.isfinite(number) and number != MISSING else None


def _short(value: float) -> float:
    """Return a number with as many digits as it takes to rank and draw it."""
    return float(f"{float(value):.{DIGITS}g}")
