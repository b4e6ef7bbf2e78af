"""Remarks: what readers should know of features beyond their values, units and protection."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from counterpoint.errors import InvalidInput, UnknownFeatureError
from counterpoint.table.schema import Schema

LONGEST_UNIT = 40


def remarked(
    schema: Schema,
    units: Mapping[Any, str] | None = None,
    protected: Iterable[Hashable] = (),
) -> Schema:
    """Return the schema with units, and with features that are never proposed as advice.

    Parameters
    ----------
    schema : Schema
        The features.
    units : dict of feature name to str, optional
        What numbers are counted in.
    protected : iterable of feature names, default=()
        The protected ones.

    Raises
    ------
    InvalidInput, UnknownFeatureError
        If a name is none of the features', or a unit cannot be one.

    Examples
    --------
    >>> import pandas as pd
    >>> schema = Schema.infer(pd.DataFrame({"duration": [6, 60], "sex": ["f", "m"]}))
    >>> print(remarked(schema, {"duration": "months"}, ["sex"]))
    duration  integer  6 to 60 months
    sex       binary   f, m (protected)
    """
    units = _check_units(schema, {} if units is None else units)
    names = _check_protected(schema, protected)
    features = tuple(
        replace(f, unit=units.get(f.name, ""), is_protected=f.name in names)
        for f in schema.features
    )
    return replace(schema, features=features)


def _check_units(schema: Schema, units: Mapping[Any, str]) -> Mapping[Hashable, str]:
    """Return the units if each is a short text for a number of the data."""
    if not isinstance(units, Mapping):
        raise InvalidInput(
            f"units must be a dict of feature to unit, got {units!r}; "
            "for example units={'duration': 'months'}."
        )
    by_name = {feature.name: feature for feature in schema.features}
    for name, unit in units.items():
        if name not in by_name:
            raise UnknownFeatureError.of(name, schema.names, argument="units")
        if not isinstance(unit, str) or not 0 < len(unit) <= LONGEST_UNIT or not unit.isprintable():
            raise InvalidInput(
                f"units[{name!r}] must be a text of 1 to {LONGEST_UNIT} characters, got {unit!r}; "
                "for example 'months'."
            )
        if not by_name[name].is_numeric or by_name[name].kind == "date":
            raise InvalidInput(
                f"units names {name!r}, which is {by_name[name].kind} and has no unit; "
                "only numbers have one."
            )
    return units


def _check_protected(schema: Schema, protected: Iterable[Hashable]) -> set[Hashable]:
    """Return the protected names."""
    if isinstance(protected, str) or not isinstance(protected, Iterable):
        raise InvalidInput(
            f"protected must be a list of features, got {protected!r}; "
            "for example protected=['sex']."
        )
    names = set()
    for name in protected:
        if name not in schema.names:
            raise UnknownFeatureError.of(name, schema.names, argument="protected")
        names.add(name)
    return names
