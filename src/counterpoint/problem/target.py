"""Target: the wanted outcome, as a closed interval of one number made of the model's outputs.

An interval of a probability or of a number is about one output. A class, or any of several, is
about the model's own decision: its number, the score, is above one half just where the likeliest
of the wanted classes leads all others.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, cast

import numpy as np
import pandas as pd

from counterpoint.arrays import LARGEST, Floats, Ints
from counterpoint.checks import as_float, is_number
from counterpoint.errors import InvalidInput, did_you_mean, listed
from counterpoint.neighbours.index import gower_to_all, gower_weights
from counterpoint.problem.objectives import JUST_MISSED
from counterpoint.table.frames import is_frame
from counterpoint.table.space import Space
from counterpoint.table.values import EXACT, write_number

Interval: TypeAlias = tuple[float | None, float | None]  # None leaves a side open
# What callers may want: a class, a set of classes, a class with an interval of its probability, a
# number or an interval of a model with one output, "opposite", or a Target.
TargetLike: TypeAlias = "Target | Hashable | Set[Any] | tuple[Hashable, Interval] | Interval"

LESS_SURE = 0.4  # share of the observed rows that reach a target and are less than a margin inside
MOST_MOVES = 0.9  # share of the moves of predictions, between rows like each other, that it bears
FEWEST_TOLD = 10  # rows at the edge, and rows beyond it, that tell a margin
MOST_NEAR, MOST_OTHERS, N_ALIKE = 128, 2048, 5  # rows at the edge, and those like them
ABOVE_HALF = float(np.nextafter(0.5, 1.0))  # the paper's half-open ]0.5, 1] as a closed interval
BELOW_HALF = float(np.nextafter(0.5, 0.0))
TIE = ABOVE_HALF - 0.5  # the gap of two classes that are as likely


@dataclass(frozen=True)
class Target:
    """The wanted outcome of one row.

    Parameters
    ----------
    low, high : float
        The closed interval the score should reach; an open side is infinite.
    column : int, default=0
        Which output of the model the interval is about.
    label : object, default=None
        The class whose probability that output is; None for a model with one output.
    classes : tuple, default=()
        The model's classes, if the caller named some of them and no interval: then the model's own
        decision counts.
    wanted : tuple of int, default=()
        The positions of the wanted ones among them.
    is_complement : bool, default=False
        Whether they are all classes but `label`.

    Examples
    --------
    >>> print(Target(0.5, 1.0, column=1, label="good"))
    P('good') between 0.5 and 1
    >>> print(decision((0,), ("bad", "good")))
    class 'bad'
    """

    low: float
    high: float
    column: int = 0
    label: Any = None
    classes: tuple[Any, ...] = ()
    wanted: tuple[int, ...] = ()
    is_complement: bool = False

    def __post_init__(self) -> None:
        low, high = _check_interval((self.low, self.high))
        object.__setattr__(self, "low", low)  # None, an open side, becomes infinite
        object.__setattr__(self, "high", high)

    @property
    def is_decision(self) -> bool:
        """Whether the caller named classes: the model's own `predict` decides."""
        return bool(self.wanted)

    @property
    def is_lead(self) -> bool:
        """Whether the score compares several classes and is no probability itself."""
        return len(self.classes) > 2

    @property
    def labels(self) -> tuple[Any, ...]:
        """The wanted classes."""
        return tuple(self.classes[code] for code in self.wanted)

    def score(self, outputs: Floats) -> Floats:
        """Return the number the interval is about, from model outputs of shape (..., c).

        It is one of the outputs. For classes of a model with more than two, it is one half, plus
        half of how far the likeliest wanted class is ahead of the likeliest other one: for two
        classes that would be the probability. On a tie the first class counts as decided for.

        Examples
        --------
        >>> target = decision((1,), ("a", "b", "c"))
        >>> target.score(np.array([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25]]))
        array([0.375, 0.625])
        """
        if not self.is_lead:
            return outputs[..., self.column]
        is_wanted = np.isin(np.arange(outputs.shape[-1]), self.wanted)
        lead = outputs[..., is_wanted].max(axis=-1) - outputs[..., ~is_wanted].max(axis=-1)
        score, is_decided = 0.5 + 0.5 * lead, is_wanted[np.argmax(outputs, axis=-1)]
        return np.asarray(np.where(is_decided, score, np.minimum(score, BELOW_HALF)))

    def prediction(self, outputs: Floats) -> Floats:
        """Return what is shown as prediction: an output, or the probability of what is wanted."""
        if not self.is_lead:
            return outputs[..., self.column]
        if self.is_complement:
            return 1.0 - outputs[..., self.column]
        return np.asarray(outputs[..., list(self.wanted)].sum(axis=-1))

    def accepts_label(self, codes: Any) -> Any:
        """Return which predicted class codes are wanted."""
        if len(self.wanted) == 1:  # the same, and much quicker
            return np.asarray(codes) == self.wanted[0]
        return np.isin(codes, self.wanted)

    @property
    def wins_ties(self) -> bool:
        """Whether it is the first of two classes, which is decided for where both are as likely."""
        return self.wanted == (0,) and not self.is_lead

    def gaps(self, scores: Floats) -> Floats:
        """Return the distances of scores (n,) to the interval; 0 where a tie is won."""
        gaps = gap(scores, np.array(self.low), np.array(self.high))
        return np.where(gaps == TIE, 0.0, gaps) if self.wins_ties else gaps

    def gap_of(self, score: float) -> float:
        """Return the distance of one score to the interval; 0 if a tie is won."""
        return float(self.gaps(np.array(score)))

    def reference(self, score: float, d: int, worst: Floats) -> Floats:
        """Return where hypervolume ends for a row of this score; `worst` as in `Problem`."""
        gap_of_row = max(self.gap_of(score), 3.0 * JUST_MISSED * self.is_decision)
        return np.array([gap_of_row, worst[0], float(d), *worst[1:]])

    def __str__(self) -> str:
        if self.is_complement:
            return f"any class but {self.label!r}"
        if self.is_decision:
            return f"class {listed(self.labels, word='or')}"
        name = "prediction" if self.label is None else f"P({self.label!r})"
        low, high = (write_number(end, digits=EXACT) for end in (self.low, self.high))
        if self.low == self.high:
            return f"{name} = {low}"
        if np.isinf(self.high):
            return f"{name} >= {low}"
        return f"{name} <= {high}" if np.isinf(self.low) else f"{name} between {low} and {high}"


def gap(predictions: Floats, low: Floats, high: Floats) -> Floats:
    """Return the distance of each prediction to its target interval [low, high] (o1).

    Examples
    --------
    >>> gap(np.array([0.2, 0.9]), np.array(0.5), np.array(1.0))
    array([0.3, 0. ])
    """
    return np.maximum(0.0, np.maximum(low - predictions, predictions - high))


def decision(wanted: tuple[int, ...], classes: Sequence[Any]) -> Target:
    """Return the target that the model decides for one of some classes.

    Of two classes the score is the probability of the wanted one. Where both are as likely, the
    first counts as decided for.
    """
    low = ABOVE_HALF if len(classes) == 2 else 0.5
    return Target(low, 1.0, wanted[0], classes[wanted[0]], tuple(classes), wanted)


def check_order(target: object, argument: str) -> None:
    """Refuse a table as target: the rows, which `argument` names, stand in its place."""
    if isinstance(target, pd.DataFrame) or is_frame(target):
        raise InvalidInput(
            f"target is a {type(target).__name__}, which is no outcome; is it swapped with "
            f"{argument}? What is explained comes first, then the target."
        )


def parse_target(
    target: TargetLike,
    classes: Sequence[Any] | None,
    outputs: Floats,
    labels: Ints | None = None,
) -> list[Target]:
    """Return the target of each row, from whatever form the caller gave.

    `outputs` (r, c) is what the model says of each row, and `labels` (r,) the class codes its own
    `predict` gives them; only "opposite" looks at these, and None takes the likeliest class.
    """
    if isinstance(target, Target):
        return [_check_target(target, classes, outputs.shape[1])] * len(outputs)
    if isinstance(target, str) and target == "opposite" and not _is_class(target, classes):
        if classes is None:
            return [_opposite_side(float(row[0])) for row in outputs]
        current = np.argmax(outputs, axis=1) if labels is None else labels
        return [_opposite_class(int(code), classes) for code in current]
    fixed = _interval_target(target) if classes is None else _class_target(target, classes)
    return [fixed] * len(outputs)


def _check_target(target: Target, classes: Sequence[Any] | None, n_outputs: int) -> Target:
    """Return a target the caller built, with its class named; refuse one that fits no output."""
    if target.column not in range(n_outputs):
        raise InvalidInput(
            f"target has column {target.column!r}, but the model's outputs are numbered 0 to "
            f"{n_outputs - 1}."
        )
    if classes is None:
        return target
    if target.classes and target.classes != tuple(classes):
        raise InvalidInput(
            f"target is {target} of the classes {listed(target.classes)}, but this model has "
            f"{listed(classes)}; name the class instead: target={target.label!r}."
        )
    known = classes[target.column]
    if target.label is not None and not is_same_label(target.label, known):
        raise InvalidInput(
            f"target has label {target.label!r} and column {target.column}, which is class "
            f"{known!r}; write for example target=({target.label!r}, (0.5, 1.0))."
        )
    return replace(target, label=known)


def _opposite_side(now: float) -> Target:
    """Return the other side of 0.5 than the probability the model gives now."""
    if not 0.0 <= now <= 1.0:
        raise InvalidInput(
            f"target 'opposite' needs a classifier or a probability, but the prediction is "
            f"{write_number(now)}; give a number or an interval (low, high)."
        )
    return Target(ABOVE_HALF, 1.0) if now <= 0.5 else Target(0.0, 0.5)


def _opposite_class(current: int, classes: Sequence[Any]) -> Target:
    """Return the other of two classes than the model names now, or any other of more."""
    others = decision(tuple(code for code in range(len(classes)) if code != current), classes)
    if len(classes) == 2:
        return others
    return replace(others, column=current, label=classes[current], is_complement=True)


def _interval_target(target: object) -> Target:
    """Return the target of a model with one output: a number or an interval."""
    if is_number(target):
        value = as_float(target)
        return Target(*_check_interval((value, value)))
    if _is_interval(target):
        return Target(*_check_interval(target))
    raise InvalidInput(
        f"target {target!r} does not fit this model, which has one output and no classes; give a "
        "number, an interval (low, high) or 'opposite', or pass classes=[...] to Explainer."
    )


def _class_target(target: object, classes: Sequence[Any]) -> Target:
    """Return the target of a classifier: a label, a set of them, or a label with an interval."""
    if _is_class(target, classes):
        return decision((_column(target, classes),), classes)
    if isinstance(target, Set):
        return _any_class(target, classes)
    if _is_pair(target) and _is_pair(target[1]):  # type: ignore[index]
        label, interval = cast(tuple[Any, Any], target)
        column = _column(label, classes)
        low, high = _check_interval(interval)
        if low > 1.0 or high < 0.0:
            raise InvalidInput(
                f"target interval {interval!r} holds no probability; it must meet [0, 1]."
            )
        return Target(max(low, 0.0), min(high, 1.0), column, classes[column])
    if _is_interval(target):
        raise InvalidInput(
            f"target {target!r} does not say which class it is about; the classes are "
            f"{listed(classes)}: write for example target=({classes[-1]!r}, {target!r})."
        )
    if isinstance(target, tuple | list) and len(target) > 1 and _are_classes(target, classes):
        names = ", ".join(map(repr, target))
        raise InvalidInput(
            f"target {target!r} is a list of classes; to want any of them, write a set: "
            f"target={{{names}}}."
        )
    if isinstance(target, tuple | list) and target and _is_class(target[0], classes):
        raise InvalidInput(
            f"target {target!r} must be a class with an interval of its probability; write for "
            f"example target=({target[0]!r}, (0.8, 1.0))."
        )
    raise _not_a_class(target, classes)


def _any_class(labels: Set[Any], classes: Sequence[Any]) -> Target:
    """Return the target that the model decides for any class of a set."""
    wanted = tuple(sorted({_column(label, classes) for label in labels}))
    if not 0 < len(wanted) < len(classes):
        said = "every class, so that nothing could miss it" if wanted else "no class"
        raise InvalidInput(
            f"target {set(labels) or '{}'} names {said}; name some of {listed(classes)}."
        )
    return decision(wanted, classes)


def _column(label: object, classes: Sequence[Any]) -> int:
    """Return the position of `label` among the classes, or say which there are."""
    for column, known in enumerate(classes):
        if is_same_label(label, known):
            return column
    raise _not_a_class(label, classes)


def _not_a_class(label: object, classes: Sequence[Any]) -> InvalidInput:
    """Build the error for a label the model does not have."""
    hint = did_you_mean(label, classes)
    if isinstance(label, float) and 0.0 <= label <= 1.0:
        hint = f"a probability goes with its class, as in target=({classes[-1]!r}, ({label}, 1.0))."
    return InvalidInput(
        f"target class {label!r} is not a class of this model; its classes are {listed(classes)}"
        + (f"; {hint}" if hint else ".")
    )


def _is_class(label: object, classes: Sequence[Any] | None) -> bool:
    """Whether `label` is one of the model's classes."""
    return classes is not None and any(is_same_label(label, known) for known in classes)


def _are_classes(labels: Sequence[object], classes: Sequence[Any]) -> bool:
    """Whether all labels are classes of the model."""
    return all(_is_class(label, classes) for label in labels)


def is_same_label(label: object, known: object) -> bool:
    """Whether two labels are the same, without NumPy's elementwise comparison or True == 1."""
    if isinstance(label, bool | np.bool_) != isinstance(known, bool | np.bool_):
        return False
    if isinstance(label, tuple | list | np.ndarray) or isinstance(known, tuple | list):
        return isinstance(label, type(known)) and label == known
    try:
        return bool(label == known)
    except (TypeError, ValueError):  # a Series or pd.NA has no truth value, and is no label
        return False


def _is_pair(value: object) -> bool:
    """Whether `value` is a tuple or list of two."""
    return isinstance(value, tuple | list) and len(value) == 2


def _is_interval(value: Any) -> bool:
    """Whether `value` is a pair of numbers, None standing for an open side."""
    return _is_pair(value) and all(end is None or is_number(end) for end in value)


def _check_interval(interval: Any) -> tuple[float, float]:
    """Return the interval's ends as floats, None as infinity; refuse what is no interval."""
    if not _is_interval(interval):
        raise InvalidInput(
            f"target interval {interval!r} must hold two numbers, or None for an open side."
        )
    low = -np.inf if interval[0] is None else as_float(interval[0])
    high = np.inf if interval[1] is None else as_float(interval[1])
    if np.isnan(low) or np.isnan(high):
        raise InvalidInput(f"target interval {interval!r} has a NaN; use None for an open side.")
    if low > high:
        raise InvalidInput(
            f"target interval {interval!r} is upside down; write ({high:.15g}, {low:.15g})."
        )
    if max(low, -high) > LARGEST or any(LARGEST < abs(end) < np.inf for end in (low, high)):
        raise InvalidInput(
            f"target interval {interval!r} has an end beyond {write_number(LARGEST)}, which is too "
            "large to compute with; use None for an open side."
        )
    if np.isinf(low) and np.isinf(high):
        raise InvalidInput(
            f"target interval {interval!r} admits every prediction; give at least one end."
        )
    return low, high


def safety_margins(target: Target, scores: Floats) -> Floats:
    """Return how far scores (n,) are inside the target; an end that none can pass is no end."""
    is_class = target.label is not None
    low = -np.inf if is_class and target.low <= 0.0 else target.low
    high = np.inf if is_class and target.high >= 1.0 else target.high
    inside: Floats = np.minimum(scores - low, high - scores)
    return inside


def lasting_margin(
    target: Target, outputs: Floats, genomes: Floats, known: Ints, space: Space
) -> float:
    """Return how far inside a target a counterfactual should be so that it may last.

    That is as far as predictions move, if they move at all: nine in ten of those of the rows
    nearest to the edge of the target are less far from those of the five rows most like each. But
    it is no more than six in ten of the observed rows have that reach the target: nobody need be
    surer than they are. It is 0 if there are too few to tell, or the target has no edge.

    `outputs` (n, c) is what the model says of the observed rows, `genomes` (n, d), of which those
    at `known` miss no value.
    """
    inside = safety_margins(target, target.score(outputs))
    reached = inside[inside >= 0.0]
    if min(len(reached), len(known)) < FEWEST_TOLD or np.isinf(reached).any():
        return 0.0
    n_near = min(max(len(known) // 10, FEWEST_TOLD), MOST_NEAR)
    near = known[np.argsort(np.abs(inside[known]), kind="stable")[:n_near]]
    others = known[np.linspace(0, len(known) - 1, min(len(known), MOST_OTHERS)).astype(np.intp)]
    genomes, compared = genomes[near], genomes[others]
    weight, cap = gower_weights(genomes[:1], space)
    moves = []
    for i, genome in zip(near.tolist(), genomes, strict=True):
        apart = gower_to_all(genome, compared, weight[0], cap)
        apart[apart == 0.0] = np.inf
        alike = others[np.argpartition(apart, N_ALIKE)[:N_ALIKE]]
        moves.append(np.abs(inside[alike] - inside[i]))
    told = np.concatenate(moves)
    told = told[told > 0.0]  # steps of a model that are flat tell nothing
    most = np.quantile(told, MOST_MOVES) if len(told) else np.inf
    return float(min(most, np.quantile(reached, LESS_SURE)))
