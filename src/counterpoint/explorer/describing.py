"""Describing: features, rows and predictions as plain values for the page."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from counterpoint.arrays import MISSING, Floats
from counterpoint.explainer.explainer import Explainer
from counterpoint.models.predictor import CHUNK
from counterpoint.table.features import Feature, Kind
from counterpoint.table.schema import Schema
from counterpoint.table.values import write_level, write_number

ROWS_PER_PAGE = 6


@dataclass(frozen=True)
class Rows:
    """The rows one can pick, with what the model says of them.

    Parameters
    ----------
    labels : tuple of str
        What the rows are called in their table.
    genomes : ndarray of shape (n, d)
        The rows.
    outputs : ndarray of shape (n, c)
        What the model says of them.
    """

    labels: tuple[str, ...]
    genomes: Floats
    outputs: Floats

    @classmethod
    def of(cls, explainer: Explainer, data: pd.DataFrame, rows: pd.DataFrame | None) -> Rows:
        """Take the rows of another table, or the data, whose scores are known."""
        if rows is None:
            labels, observed = tuple(map(str, data.index)), explainer.observed
            return cls(labels, observed.genomes, explainer.predictor.own.observed_outputs)
        genomes = explainer.encoding.encode(rows, "--rows")
        starts = range(0, len(genomes), CHUNK)
        with explainer.predictor.one_thread():
            own = explainer.predictor.own
            outputs = np.concatenate([own.outputs(genomes[i : i + CHUNK]) for i in starts])
        return cls(tuple(map(str, rows.index)), genomes, outputs)

    def __len__(self) -> int:
        return len(self.labels)


def describe_features(schema: Schema) -> list[dict[str, Any]]:
    """Return what each feature can be."""
    return [_describe(feature) for feature in schema.features]


def _describe(feature: Feature) -> dict[str, Any]:
    """Return one feature: its kind, levels, range, and how finely it is written."""
    is_numeric = feature.is_numeric
    return {
        "name": str(feature.name),
        "kind": str(feature.kind),
        "is_numeric": is_numeric,
        "levels": [write_level(level) for level in feature.levels],
        "low": feature.low if is_numeric else None,
        "high": feature.high if is_numeric else None,
        "decimals": 0 if feature.kind in (Kind.INTEGER, Kind.DATE) else feature.decimals,
        "unit": feature.unit,
        "range": f"{feature.shown(feature.low)} to {feature.shown(feature.high)}"
        if is_numeric
        else "",
        "may_miss": feature.has_missing,
        "is_protected": feature.is_protected,
        "is_constant": feature.is_constant,
    }


def describe_rows(rows: Rows, explainer: Explainer, start: int, find: str) -> dict[str, Any]:
    """Return a page of the rows whose label contains a text, all for an empty one."""
    wanted = find.strip().casefold()
    places = [i for i, label in enumerate(rows.labels) if wanted in label.casefold()]
    exact = [i for i in places if rows.labels[i].casefold() == wanted]
    places = [*exact, *(i for i in places if i not in set(exact))]
    start = max(0, min(start, (len(places) - 1) // ROWS_PER_PAGE * ROWS_PER_PAGE))
    shown = places[start : start + ROWS_PER_PAGE]
    return {
        "rows": [describe_row(rows, explainer, i) for i in shown],
        "start": start,
        "per_page": ROWS_PER_PAGE,
        "n_found": len(places),
    }


def describe_row(rows: Rows, explainer: Explainer, position: int) -> dict[str, Any]:
    """Return one row: its label, its values for the form, the same as texts, its prediction."""
    genome, features = rows.genomes[position], explainer.schema.features
    return {
        "position": position,
        "label": rows.labels[position],
        "values": [value_of(gene) for gene in genome],
        "texts": [feature.shown(gene) for feature, gene in zip(features, genome, strict=True)],
        "prediction": describe_prediction(explainer, rows.outputs[position]),
    }


def value_of(gene: float) -> float | None:
    """Return a gene as JSON has it: a number, days or a code; null if it is missing."""
    return None if gene == MISSING or not math.isfinite(gene) else float(gene)


def describe_prediction(
    explainer: Explainer, outputs: Floats, code: int | None = None
) -> dict[str, Any]:
    """Return what the model says of one row: its outputs (c,), and the class it decides for.

    Without the code of that class it is the likeliest.
    """
    classes = explainer.classes
    if classes is None:
        value = float(outputs[0])
        return {"decision": None, "text": write_number(value), "outputs": [_output(None, value)]}
    chosen = int(np.argmax(outputs)) if code is None else code
    return {
        "decision": str(classes[chosen]),
        "text": f"{classes[chosen]} ({write_number(outputs[chosen])})",
        "outputs": [_output(str(c), float(v)) for c, v in zip(classes, outputs, strict=True)],
    }


def _output(label: str | None, value: float) -> dict[str, Any]:
    """Return one output of the model."""
    return {"label": label, "value": value, "text": write_number(value)}


def predict(explainer: Explainer, genome: Floats) -> dict[str, Any]:
    """Ask the model about one row (1, d)."""
    predictor = explainer.predictor.own
    with predictor.one_thread():
        outputs = predictor.blocks(genome[:, None, :])[0, 0]
        code = None
        if explainer.classes is not None and predictor.has_decision:
            code = int(predictor.label_blocks(genome[:, None, :])[0, 0])
    return describe_prediction(explainer, outputs, code)
