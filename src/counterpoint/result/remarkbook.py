"""Remarks in a saved result: units and protected features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from counterpoint.result.document import Node
from counterpoint.table.remarks import remarked
from counterpoint.table.schema import Feature, Schema


def write_remarks(features: Sequence[Feature]) -> dict[str, Any] | None:
    """Return units and protection as JSON, an entry per feature; None if there are none."""
    units = [feature.unit or None for feature in features]
    is_protected = [feature.is_protected for feature in features]
    if not any(units) and not any(is_protected):
        return None
    return {"units": units, "is_protected": is_protected}


def read_remarks(node: Node, features: tuple[Feature, ...]) -> tuple[Feature, ...]:
    """Return the features with their remarks."""
    if node.value is None:
        return features
    units, is_protected = node.fields("units", "is_protected")
    given = zip(features, units.items(len(features)), strict=True)
    marks = zip(features, is_protected.items(len(features)), strict=True)
    return remarked(
        Schema(features),
        {feature.name: unit.text() for feature, unit in given if unit.value is not None},
        [feature.name for feature, mark in marks if mark.truth()],
    ).features
