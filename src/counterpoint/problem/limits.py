"""Limits: what counterfactuals may change, as the caller states it and checked against a schema."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from inspect import signature
from typing import Any, ClassVar, TypeAlias, TypedDict

import numpy as np

from counterpoint.arrays import Bools, Floats
from counterpoint.checks import as_float, check_list, check_whole, is_number
from counterpoint.errors import InvalidInput, did_you_mean, listed
from counterpoint.problem.target import is_same_label
from counterpoint.rules.rules import Rule, Rules, as_levels, rule_of_levels
from counterpoint.table.features import Feature, check_range, end_of
from counterpoint.table.schema import Schema

# The ends of a number or a date, None for the data's own end; or the levels of a category.
Range: TypeAlias = tuple[Any, Any] | Collection[Any]
# A text of the language of rules, or a function of a table like the data.
Constraint: TypeAlias = str | Rule | Callable[[Any], Any]


@dataclass(frozen=True, init=False, repr=False, eq=False)
class Limits:
    """What counterfactuals may change, stated once and used for any number of rows.

    Parameters
    ----------
    fixed : iterable of column names, default=()
        Features that may not change.
    vary : iterable of column names, optional
        The only features that may change; None lets all change that are not in `fixed`.
    ranges : dict of column name to (low, high) or list of levels, optional
        Where features may go. Of a number or a date the ends, where None is the data's own end; of
        a category the levels. By default numbers stay within the range of the data and the row.
        What excludes the row's own value forces the feature to change.
    max_changed : int, optional
        The most features a counterfactual may change.
    constraints : iterable of str or callable, default=()
        Rules every counterfactual must satisfy: texts such as "age increases" or
        "amount <= 5 * income" (docs/rules.md has the language), or functions that take candidates,
        in a table like the data, and return a truth value for each.
    costs : dict of column name to number, optional
        How hard features are to change; 1 for those not named. `distance` is then the mean of all
        features' shares of their ranges weighted by these: at cost 3 a change counts three times
        as much. `changes` and `implausibility` stay as they are.

    Raises
    ------
    InvalidInput
        If an argument cannot mean anything, whatever the data are.

    Examples
    --------
    >>> limits = Limits(
    ...     fixed=["sex"],
    ...     ranges={"age": (18, 65), "job": ["clerk", "nurse"]},
    ...     max_changed=3,
    ...     constraints=["age increases"],
    ...     costs={"job": 3},
    ... )
    >>> print(limits)
    'sex' may not change
    'age' from 18 to 65
    'job' one of 'clerk' and 'nurse'
    at most 3 features change
    age increases
    a change of 'job' costs 3
    >>> limits == Limits(fixed=["sex"])
    False
    >>> Limits(vary=["age", "debt"])
    Limits(vary=('age', 'debt'))
    """

    fixed: tuple[Hashable, ...]
    vary: tuple[Hashable, ...] | None
    ranges: Mapping[Hashable, Range]
    max_changed: int | None
    constraints: tuple[Constraint, ...]
    costs: Mapping[Hashable, float]
    _rules: ClassVar[tuple[Rule, ...]] = ()  # the constraints, read; no field, for they say it all

    def __init__(
        self,
        *,
        fixed: Iterable[Hashable] = (),
        vary: Iterable[Hashable] | None = None,
        ranges: Mapping[Any, Range] | None = None,
        max_changed: int | None = None,
        constraints: Iterable[Constraint] = (),
        costs: Mapping[Any, float] | None = None,
    ) -> None:
        rules = Rules.read(constraints)
        stated = {
            "fixed": _check_names("fixed", fixed),
            "vary": None if vary is None else _check_names("vary", vary),
            "ranges": _named_ranges(ranges),
            "max_changed": _check_max_changed(max_changed),
            "constraints": tuple(rule.function or rule.source or rule for rule in rules),
            "costs": _check_costs(costs),
            "_rules": rules,
        }
        for name, value in stated.items():
            object.__setattr__(self, name, value)
        self._check_agreement()

    def _check_agreement(self) -> None:
        """Refuse what is said of one feature in two ways."""
        if self.vary is not None and not self.vary:
            raise InvalidInput("vary names no feature, so nothing could change; name some.")
        for name in self.fixed:
            if self.vary is not None and name in self.vary:
                raise InvalidInput(f"{name!r} is both in fixed and in vary; keep one of the two.")
            if name in self.ranges:
                raise InvalidInput(f"{name!r} is both in fixed and in ranges; keep one of the two.")
        for name in self.ranges:
            if self.vary is not None and name not in self.vary:
                raise InvalidInput(
                    f"{name!r} is in ranges, but vary leaves it out, so that it may not change; "
                    "add it to vary, or take it out of ranges."
                )

    def check(self, schema: Schema, kept: Iterable[Hashable] = ()) -> CheckedLimits:
        """Return the limits as arrays of the schema's features.

        Parameters
        ----------
        schema : Schema
            The features.
        kept : iterable of feature names, default=()
            Features that may not change unless `vary` or `ranges` names them, such as ids.

        Raises
        ------
        InvalidInput, UnknownFeatureError
            If they name what the data do not have, or leave nothing to change.
        """
        fixed = [*self.fixed, *(name for name in kept if name not in {*self.fixed, *self.ranges})]
        is_said = self.vary is not None or len(fixed) == len(self.fixed)
        leaves_none = {*schema.names} <= {*fixed}
        stated = self if is_said or leaves_none else replace(self, fixed=tuple(fixed))
        return CheckedLimits.of(stated, schema)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Limits) and self._key() == other._key()

    def __hash__(self) -> int:
        fixed, vary, ranges, most, constraints, costs = self._key()
        pairs = frozenset(ranges.items()), frozenset(costs.items())
        return hash((fixed, vary, most, constraints, pairs))

    def _key(self) -> tuple[Any, ...]:
        """Return what tells limits apart: rules by their canonical text, names in any order."""
        rules = tuple(rule.function or str(rule) for rule in self._rules)
        vary = None if self.vary is None else frozenset(self.vary)
        return frozenset(self.fixed), vary, self.ranges, self.max_changed, rules, self.costs

    def __repr__(self) -> str:
        said = [(field.name, getattr(self, field.name)) for field in fields(self)]
        return f"Limits({', '.join(f'{name}={value!r}' for name, value in said if value)})"

    def __str__(self) -> str:
        lines = [f"{listed(self.fixed)} may not change"] if self.fixed else []
        lines += [] if self.vary is None else [f"only {listed(self.vary)} may change"]
        lines += [f"{name!r} {range_text(ends)}" for name, ends in self.ranges.items()]
        if self.max_changed is not None:
            plural = "feature changes" if self.max_changed == 1 else "features change"
            lines.append(f"at most {self.max_changed} {plural}")
        lines += map(str, self._rules)
        lines += [f"a change of {name!r} costs {cost:g}" for name, cost in self.costs.items()]
        return "\n".join(lines) if lines else "no limits"


class LimitKeywords(TypedDict, total=False):
    """The keywords of a call that join its `limits`: the one list of them."""

    fixed: Iterable[Hashable]
    vary: Iterable[Hashable] | None
    ranges: Mapping[Any, Range] | None
    max_changed: int | None
    constraints: Iterable[Constraint]
    costs: Mapping[Any, float] | None


def join_limits(door: Callable[..., Any], limits: Limits | None, added: LimitKeywords) -> Limits:
    """Return the limits of a call: `limits`, with what its keywords add to them.

    Every public function and method that takes limits is a `door`: it hands its keywords on. Raises
    InvalidInput if the same is said in both, and TypeError if a keyword is unknown, as Python says
    it, with what may have been meant.

    Examples
    --------
    >>> join_limits(join_limits, Limits(fixed=["sex"]), {"max_changed": 2})
    Limits(fixed=('sex',), max_changed=2)
    """
    if unknown := [name for name in added if name not in LimitKeywords.__annotations__]:
        raise _unknown_keyword(door, unknown[0])
    if limits is None and not added:
        return NO_LIMITS
    shorthand = Limits(**added)
    if limits is None:
        return shorthand
    if not isinstance(limits, Limits):
        raise InvalidInput(
            f"limits must be a Limits, got {limits!r}; for example limits=Limits(fixed=['age'])."
        )
    joined = {}
    for name in LimitKeywords.__annotations__:
        stated, by_keyword = getattr(limits, name), getattr(shorthand, name)
        unsaid = getattr(NO_LIMITS, name)
        if stated != unsaid and by_keyword != unsaid:
            raise InvalidInput(
                f"{name} is given twice, in limits ({stated!r}) and as a keyword ({by_keyword!r}); "
                "keep one of the two."
            )
        joined[name] = stated if by_keyword == unsaid else by_keyword
    return Limits(**joined)


def _unknown_keyword(door: Callable[..., Any], name: str) -> TypeError:
    """Return the error about a keyword that a door does not have, with what may be meant."""
    parameters = signature(door).parameters.values()
    own = [each.name for each in parameters if each.kind is not each.VAR_KEYWORD]
    added = [*LimitKeywords.__annotations__]
    settings = "; settings of a search go into search=Search(...)" if "search" in own else ""
    hint = did_you_mean(name, own + added) or f"it takes {listed(added)}{settings}."
    return TypeError(f"{door.__name__}() got an unexpected keyword argument {name!r}; {hint}")


@dataclass(frozen=True, eq=False)
class CheckedLimits:
    """Limits checked against a schema, as arrays of its d features."""

    # the same as the caller may state it, in canonical form: names in the schema's order, ends of
    # ranges as numbers or as texts of dates, rules as they are written out
    limits: Limits
    is_fixed: Bools  # (d,): features that must keep the row's value
    # (d,): the ranges of numbers and dates; NaN where none was given
    low: Floats
    high: Floats
    max_changed: int  # the most features a counterfactual may change: d if nothing was said
    # the caller's rules, and after them one for each category whose levels are limited
    rules: Rules
    costs: Floats | None  # (d,): how hard each feature is to change; None if nothing was said

    @classmethod
    def of(cls, limits: Limits, schema: Schema) -> CheckedLimits:
        """Check limits against a schema; see `Limits.check`."""
        places = np.arange(len(schema))
        is_fixed = np.isin(places, schema.places_of(limits.fixed, "fixed"))
        if limits.vary is not None:
            is_fixed |= ~np.isin(places, schema.places_of(limits.vary, "vary"))
        intervals, levels = check_ranges(limits.ranges, schema)
        if is_fixed.all():
            raise InvalidInput("fixed names every feature, so nothing could change; free some.")
        own = Rules.parse(limits._rules, schema)
        of_levels = [rule_of_levels(j, codes, schema) for j, codes in levels.items()]
        low, high = np.full((2, len(schema)), np.nan)
        for j, ends in intervals.items():
            low[j], high[j] = ends
        d, most = len(schema), limits.max_changed
        return cls(
            _canonical(limits, own, intervals, levels),
            is_fixed,
            low,
            high,
            max_changed=d if most is None else min(most, d),
            rules=Rules((*own.rules, *of_levels), schema),
            costs=_weights_of(limits.costs, schema),
        )

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, CheckedLimits)
            and self.limits == other.limits
            and self.rules.schema.names == other.rules.schema.names
        )

    def __hash__(self) -> int:
        return hash((self.limits, self.rules.schema.names))

    def __str__(self) -> str:
        return str(self.limits)

    @property
    def names(self) -> tuple[Hashable, ...]:
        """The names of the features."""
        return self.rules.schema.names

    @property
    def constraints(self) -> tuple[str, ...]:
        """The caller's rules in canonical form; a function by its name."""
        return self.rules.texts[: len(self.limits.constraints)]

    def excludes(self, j: int, gene: float) -> bool:
        """Whether the range of feature j excludes one of its values."""
        feature = self.rules.schema.features[j]
        if feature.is_numeric:
            return bool(gene < self.low[j] or gene > self.high[j])
        allowed = self.limits.ranges.get(feature.name)
        return allowed is not None and feature.levels[int(gene)] not in allowed


def _check_names(argument: str, names: object) -> tuple[Hashable, ...]:
    """Return the names of features; a text is not a list of names."""
    example = names if isinstance(names, str) else "age"
    return tuple(check_list(argument, names, "column names", f"{argument}=[{example!r}]"))


def _named_ranges(ranges: object) -> dict[Hashable, Range]:
    """Return the caller's ranges by column name; none for None."""
    if ranges is None:
        return {}
    if not isinstance(ranges, Mapping):
        raise InvalidInput(f"ranges must be a dict of column name to (low, high), got {ranges!r}.")
    return {name: _frozen(ends) for name, ends in ranges.items()}


def check_ranges(
    ranges: Mapping[Hashable, Range], schema: Schema
) -> tuple[dict[int, tuple[float, float]], dict[int, list[int]]]:
    """Return the ends of numbers and dates, and the codes of levels, by the feature's position."""
    intervals, levels = {}, {}
    for j in schema.places_of(ranges, "ranges"):
        feature = schema.features[j]
        stated = ranges[feature.name]
        if feature.is_numeric:
            intervals[j] = check_range(feature, stated)
        else:
            levels[j] = _check_levels(feature, stated)
    return intervals, levels


def _check_levels(feature: Feature, stated: Any) -> list[int]:
    """Return the codes of the levels a category may have, in the schema's order."""
    where = f"ranges[{feature.name!r}]"
    if isinstance(stated, str) or not isinstance(stated, Collection):
        raise InvalidInput(
            f"{where} must be a list of levels, for {feature.name!r} is {feature.kind}, not a "
            f"number; got {stated!r}. {as_levels(feature)}"
        )
    codes = []
    for level in stated:
        known = [code for code, own in enumerate(feature.levels) if is_same_label(level, own)]
        if not known:
            hint = did_you_mean(level, feature.levels) or f"they are {listed(feature.levels)}."
            raise InvalidInput(
                f"{where} names {level!r}, which is not a level of {feature.name!r}, for it is "
                f"{feature.kind}, not a number; {hint} {as_levels(feature)}"
            )
        codes += known
    if not codes:
        raise InvalidInput(f"{where} names no level; name some of {listed(feature.levels)}.")
    return sorted(set(codes))


def range_text(ends: Any) -> str:
    """Return a range in words: a pair of numbers or dates is its ends, all else are levels."""
    if not (isinstance(ends, tuple) and len(ends) == 2 and all(map(_is_end, ends))):
        return f"one of {listed(ends)}" if isinstance(ends, Collection) else repr(ends)
    low, high = (None if end is None else str(end) for end in ends)
    if low is None:
        return "within the data" if high is None else f"up to {high}"
    return f"from {low}" if high is None else f"from {low} to {high}"


def _is_end(value: object) -> bool:
    """Whether a value is an end of a range rather than a level: a number, a date or None."""
    is_written = isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\d", value) is not None
    is_moment = isinstance(value, datetime.date | np.datetime64 | None)
    return is_number(value) or is_moment or is_written


def _frozen(ends: Any) -> Any:
    """Return ends or levels as what cannot change; what is neither is refused later."""
    if isinstance(ends, list):
        return tuple(ends)
    return frozenset(ends) if isinstance(ends, set) else ends


def _check_max_changed(max_changed: object) -> int | None:
    """Return `max_changed` as a whole number of at least 1, or None."""
    if max_changed is None:
        return None
    return check_whole("max_changed", max_changed, 1, said="of at least 1, or None")


def _check_costs(costs: object) -> dict[Hashable, float]:
    """Return the cost of each feature that is named."""
    if costs is None:
        return {}
    if not isinstance(costs, Mapping):
        raise InvalidInput(
            f"costs must be a dict of column name to number, got {costs!r}; for example "
            "costs={'age': 3.0}."
        )
    for name, cost in costs.items():
        if not is_number(cost) or not np.isfinite(as_float(cost)) or cost < 0:
            raise InvalidInput(
                f"costs[{name!r}] must be a finite number of at least 0, got {cost!r}."
            )
    return {name: float(cost) for name, cost in costs.items()}


def _weights_of(costs: Mapping[Hashable, float], schema: Schema) -> Floats | None:
    """Return the cost of each feature, 1 where none was given; None if none was at all."""
    found = np.ones(len(schema))
    for j in schema.places_of(costs, "costs"):
        found[j] = costs[schema.names[j]]
    if not 0.0 < sum(found.tolist()) < np.inf:
        raise InvalidInput("costs must not all be 0, nor add up to more than a float can hold.")
    return found if costs else None


def _canonical(
    limits: Limits,
    rules: Rules,
    intervals: Mapping[int, tuple[float, float]],
    levels: Mapping[int, list[int]],
) -> Limits:
    """Return checked limits as everybody would state them: checked again they are the same."""
    schema, most = rules.schema, limits.max_changed
    names, ranges = schema.names, dict[Hashable, Range]()
    for j in sorted([*intervals, *levels]):
        feature = schema.features[j]
        if j in intervals:
            low, high = intervals[j]
            ranges[feature.name] = (end_of(feature, low), end_of(feature, high))
        else:
            ranges[feature.name] = tuple(feature.levels[code] for code in levels[j])
    return Limits(
        fixed=[name for name in names if name in limits.fixed],
        vary=None if limits.vary is None else [name for name in names if name in limits.vary],
        ranges=ranges,
        max_changed=most if most is not None and most < len(names) else None,
        constraints=[
            replace(rule, source=str(rule) * bool(rule.statement)) for rule in rules.rules
        ],
        costs={name: limits.costs[name] for name in names if name in limits.costs},
    )


NO_LIMITS = Limits()  # what a call without limits says, which need not be checked again
