"""The facts of a result: what was asked, how the search went, and where the answers come from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, is_dataclass, replace
from hashlib import blake2b
from typing import Any, Literal, NoReturn, TypeVar

import numpy as np
import pandas as pd

from counterpoint.arrays import MISSING, Bools, Floats, Ints
from counterpoint.errors import InvalidInput, joined
from counterpoint.models.predictor import Predictor
from counterpoint.neighbours.index import distances_to, gower_weights
from counterpoint.problem.limits import CheckedLimits
from counterpoint.problem.own_objectives import PLAIN, Aims, Objective
from counterpoint.problem.problem import Observed, Problem
from counterpoint.problem.target import Target, gap
from counterpoint.result.file.document import encode_text, write_feature, write_form, write_label
from counterpoint.rules.rules import Rule, Rules
from counterpoint.search.archive import Archive
from counterpoint.search.feasibility import is_allowed, meets_target, observed_predictions
from counterpoint.search.settings import Search, WhatIf
from counterpoint.table.space import search_box

Stopped = Literal[
    "budget", "patience", "exhausted", "repeats", "proved", "seconds", "interrupt", ""
]
Named = TypeVar("Named", bound=Objective)
Again = Callable[[Search, Floats], Any]  # settings and replies to the result of searching again


@dataclass(frozen=True, eq=False)
class Trace:
    """How a search went: the candidates that ever were non-dominated, and what they cost."""

    objectives: Floats  # (n, m): candidates that were non-dominated when they came
    generation: Ints  # (n,): the generation each came in
    evaluations: Ints  # (generations,): rows the model had been asked after each generation
    replies: Floats  # (n,): what the model said of every candidate it was asked about, in order
    # why the search ended: its budget, patience or time was used up, all that is allowed had been
    # tried ("exhausted"), nothing new could be made though not all of it had been ("repeats"), a
    # solver had answered all ("proved"), or it was interrupted; empty if none was needed
    stopped: Stopped
    # rows the model was asked about again, to confirm what is returned
    confirmations: int = field(default=0, compare=False)  # a slow model is asked less often

    @classmethod
    def of(cls, archive: Archive, a: int) -> Trace:
        """Take the trace of row a from the archive."""
        size = int(archive.size[a])
        entered = np.flatnonzero(archive.entered[a, :size])
        generation = archive.generation[a, :size]
        n_generations = 1 + int(generation[-1]) if size else 0  # they ascend
        ends = np.searchsorted(generation, np.arange(n_generations), side="right")
        return cls(
            archive.objectives[a].take(entered, axis=0),
            generation.take(entered),
            1 + archive.n_passed[a] + np.cumsum(archive.is_asked[a])[ends - 1],
            archive.replies(a),
            archive.stopped[a],
        )


@dataclass(frozen=True)
class AbsentFunction:
    """Stands for a function of the caller's in a result, which keeps its name only."""

    name: str

    def __call__(self, *_: Any) -> NoReturn:
        """Say that the function is not here."""
        raise InvalidInput(
            f"{self.name!r} is a function, of which a result keeps the name only; make an "
            "Explainer with it and call explain again with the same seed."
        )


@dataclass(frozen=True)
class AbsentScore:
    """Stands for a fitted plausibility in a result, which keeps its description only."""

    words: str

    def score(self, genomes: Floats) -> NoReturn:  # noqa: ARG002 - there is nobody to ask
        """Say that the score is not here."""
        raise InvalidInput(
            f"the plausibility ({self.words}) is not kept in a result; make an Explainer with it "
            "and call explain again with the same seed."
        )


@dataclass(frozen=True, eq=False)
class Facts:
    """What was asked of one row, and what the model said of it; functions are names."""

    target: Target  # the wanted outcome
    # what could change, how far and at what cost, and the rules counterfactuals satisfy
    limits: CheckedLimits
    aims: Aims  # what was minimised other than the built-in objectives
    # (m - 2,): where hypervolume ends in distance, implausibility and the caller's own objectives
    worst: Floats
    shares: Floats  # (k,): weights of the k nearest rows in `implausibility`
    row_outputs: Floats  # (c,): what the model says of the row
    classes: tuple[Any, ...]  # the model's classes; empty if it has none
    search: Search | WhatIf  # the settings
    seed: int
    notes: tuple[str, ...] = ()  # what a careful reader should know of this result
    # how far inside the target what is shown first should be; see `Counterfactuals.ways`
    margin: float = 0.0

    @classmethod
    def of(
        cls, problem: Problem, search: Search | WhatIf, seed: int, notes: tuple[str, ...] = ()
    ) -> Facts:
        """Take the facts from the problem of one row."""
        return cls(
            problem.targets[0],
            _named_limits(problem.limits),
            _named_aims(problem.observed.aims),
            np.ones(2) if problem.worst is None else problem.worst[0],
            problem.observed.shares,
            problem.row_outputs[0],
            problem.predictor.classes or (),
            search,
            seed,
            notes,
            float(problem.margins[0]),
        )


def _named_limits(checked: CheckedLimits) -> CheckedLimits:
    """Return limits in which each function among the rules is its name."""
    rules = checked.rules
    if not (rules.rules and rules.functions):
        return checked
    named = tuple(
        each if each.function is None else Rule(None, None, each.name) for each in rules.rules
    )
    own = replace(checked.limits, constraints=named[: len(checked.limits.constraints)])
    return replace(checked, limits=own, rules=Rules(named, rules.schema))


def _named_aims(aims: Aims) -> Aims:
    """Return aims in which each function is its name and a fitted score its description."""
    if aims is PLAIN:
        return aims
    distance, plausibility = aims.distance, aims.plausibility
    if isinstance(plausibility, Objective):
        plausibility = _named(plausibility)
    elif plausibility is not None:
        plausibility = AbsentScore(plausibility.words)
    own = tuple(_named(each) for each in aims.objectives)
    known = None if distance is None else _named(distance)
    return replace(aims, objectives=own, distance=known, plausibility=plausibility)


def _named(function: Named) -> Named:
    return replace(function, function=AbsentFunction(function.name))


@dataclass(frozen=True)
class Diagnosis:
    """What the observed rows tell of a target."""

    n_reaching: int  # how many of them reach it
    nearest: float | None  # the prediction nearest to it, if none does
    relaxation: str  # what would admit one that does, if the limits exclude all of them; else empty

    @property
    def limits_bind(self) -> bool:
        """Whether observed rows reach the target, but the caller's limits exclude all of them."""
        return self.relaxation != ""


def diagnose(problem: Problem) -> Diagnosis:
    """Return what the observed rows tell of the target of one row."""
    observed, everything = problem.observed, slice(None)
    could_be = np.ones(len(observed.genomes), dtype=np.bool_)
    if observed.has_missing:  # of what others lack, a counterfactual lacks only what it may
        may_miss = (problem.rows[0] == MISSING) | problem.space.may_miss
        could_be = ((observed.genomes != MISSING) | may_miss).all(axis=1)
    reaching = observed.genomes[meets_target(problem, 0, everything) & could_be]
    if len(reaching) == 0:
        predictions, target = observed_predictions(problem, 0, everything), problem.targets[0]
        gaps = gap(predictions, np.array(target.low), np.array(target.high))
        gaps = np.where(could_be | ~could_be.any(), gaps, np.inf)
        nearest = observed.outputs[int(np.argmin(gaps))]
        return Diagnosis(0, float(target.prediction(nearest)), "")
    is_bound = not is_allowed(problem, 0, reaching).any()
    relaxation = smallest_relaxation(problem, reaching) if is_bound else ""
    return Diagnosis(len(reaching), None, relaxation)


def smallest_relaxation(problem: Problem, genomes: Floats) -> str:
    """Say what would admit one of the genomes (n, d): that which breaks the fewest limits.

    The nearest of these counts. For example "free 'sex' and raise max_changed to 4".
    """
    is_broken, n_surplus = broken_limits(problem, genomes)
    weight, cap = gower_weights(problem.rows, problem.space)
    distances = distances_to(problem.rows[0], genomes, weight[0], cap)
    is_against = broken_rules(problem, genomes)
    n_broken = is_broken.sum(axis=1) + (n_surplus > 0) + is_against.sum(axis=1)
    best = int(np.lexsort((distances, n_broken))[0])
    limits, features = problem.limits, problem.predictor.encoding.schema.features
    steps = [
        f"free {features[j].name!r}"
        if limits.is_fixed[j]
        else f"widen ranges[{features[j].name!r}] to {features[j].shown(genomes[best, j])}"
        for j in np.flatnonzero(is_broken[best])
    ]
    if n_surplus[best] > 0:
        steps.append(f"raise max_changed to {limits.max_changed + int(n_surplus[best])}")
    for k in np.flatnonzero(is_against[best]):  # one for levels is a range as the caller stated it
        is_own = k < len(limits.constraints)
        steps.append(f'{"drop" if is_own else "widen ranges beyond"} "{limits.rules.rules[k]}"')
    return joined(steps)


def broken_limits(problem: Problem, genomes: Floats) -> tuple[Bools, Floats]:
    """Return which features of genomes (n, d) break a limit, and their changes beyond the most."""
    row, box, is_fixed = problem.rows[0], problem.box, problem.limits.is_fixed
    if problem.row_rules is not None:  # the box is the rules' too, which are judged by themselves
        box = search_box(problem.rows, problem.space, problem.limits)
    may_miss = (row == MISSING) | problem.space.may_miss
    is_outside = (genomes < box.lower[0]) | (genomes > box.upper[0])
    is_broken = is_fixed & (genomes != row)
    is_broken |= ~is_fixed & is_outside & ~((genomes == MISSING) & may_miss)
    surplus = (genomes != row).sum(axis=1) - problem.limits.max_changed
    return is_broken, np.maximum(surplus, 0).astype(np.float64)


def broken_rules(problem: Problem, genomes: Floats) -> Bools:
    """Return which of the k rules genomes (n, d) break, shape (n, k)."""
    if problem.row_rules is None:
        return np.zeros((len(genomes), 0), dtype=np.bool_)
    rules = problem.row_rules.rules
    frame = problem.predictor.encoding.to_rows(genomes.copy()) if rules.functions else None
    return ~rules.all_verdicts(genomes, problem.rows[0], frame)


DIGITS = 6  # of a score: enough to tell models apart, few enough to forgive another machine


@dataclass(frozen=True)
class Fingerprints:
    """What a result remembers of data and model: equal ones can be trusted to be the same."""

    # Of the observed rows: column names, dtypes, levels and every value, in order. Another order,
    # another dtype or one other value gives another fingerprint.
    data: str
    # Of the model's type, its classes and what it says of the observed rows, to six digits. Two
    # models that agree on all observed rows look the same, whatever they say elsewhere; what the
    # model was fitted on, or with, is not seen. A score that lies just between two roundings may,
    # rarely, give one model two fingerprints on two machines.
    model: str


def take_fingerprints(observed: Observed, predictor: Predictor) -> Fingerprints:
    """Return the fingerprints of data and model, computed once per explainer."""
    kept = observed.__dict__  # where its cached properties live, shared by all results
    if "fingerprints" not in kept:
        encoding, own = predictor.encoding, predictor.own
        text = encode_text([write_feature(feature) for feature in encoding.schema.features])
        if (form := write_form(encoding)) is not None:
            text += encode_text(form)
        # Who keeps the text depends on what is installed. In levels these quotes would be escaped.
        text = text.replace('"storage":"pyarrow"', '"storage":"python"')
        kind, classes = type(own.model), [write_label(each, "class") for each in own.classes or ()]
        about = [kind.__module__, kind.__qualname__, own.method, classes]
        of_model = _digest(encode_text(about), round_digits(observed.outputs))
        kept["fingerprints"] = Fingerprints(_digest(text, observed.genomes), of_model)
    found: Fingerprints = kept["fingerprints"]
    return found


def _digest(text: str, numbers: Floats) -> str:
    """Return 32 hexadecimal digits for a text and an array."""
    digest = blake2b(text.encode(), digest_size=16)
    digest.update(repr(numbers.shape).encode())
    digest.update(np.ascontiguousarray(numbers + 0.0).astype("<f8").tobytes())  # no -0.0
    return digest.hexdigest()


def round_digits(values: Floats) -> Floats:
    """Return values rounded to six significant digits.

    Examples
    --------
    >>> round_digits(np.array([0.12345678, -1234567.8, 0.0])).tolist()
    [0.123457, -1234570.0, 0.0]
    """
    sizes = np.abs(values)
    places = DIGITS - 1 - np.floor(np.log10(np.where(sizes > 0.0, sizes, 1.0)))
    scale = 10.0 ** np.clip(places, -300.0, 300.0)
    scaled = values * scale
    rounded: Floats = np.where(np.isfinite(scaled), np.rint(scaled) / scale, values)
    return rounded


@dataclass(frozen=True)
class Origin:
    """What a result remembers of its data and model when neither is at hand."""

    version: str = field(compare=False)  # the counterpoint that found it
    fingerprints: Fingerprints  # of data and model
    # what the observed rows tell of the target; None if nothing was searched
    diagnosis: Diagnosis | None


@dataclass(frozen=True, eq=False)
class Live:
    """What a result can ask as long as it was neither saved nor pickled."""

    problem: Problem  # the problem of the row, with the model and the data behind it
    # searches the row again with other settings and the replies it already had
    again: Again | None = None


def is_same(one: Any, other: Any) -> bool:
    """Whether two values are equal, arrays and dataclasses by what they hold; NaN equals NaN."""
    if isinstance(one, np.ndarray):
        return isinstance(other, np.ndarray) and np.array_equal(one, other, equal_nan=True)
    if isinstance(one, pd.Index):
        return one.equals(other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(is_same(one[key], other[key]) for key in one)
    if not is_dataclass(one) or type(one) is not type(other):
        return bool(one == other)
    compared = (each.name for each in fields(one) if each.compare)
    return all(is_same(getattr(one, name), getattr(other, name)) for name in compared)
