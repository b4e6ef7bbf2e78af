"""Building: what an Explainer is built of, which is what its pickle holds, and what of it is told.

Nothing that was fitted travels: the other process builds it again of the same parts, and so with
the same results. What the data are is not inferred again, so nothing is warned of twice.
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Collection, Hashable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import pandas as pd

from counterpoint.arrays import MISSING, Bools, Floats
from counterpoint.checks import check_list, check_whole
from counterpoint.errors import InvalidInput, ModelWarning, PredictorError, listed
from counterpoint.explainer.group import can_start, check_workers
from counterpoint.models.adapters.scorer import unbound
from counterpoint.models.files import pickled
from counterpoint.models.inspection import order_of
from counterpoint.models.onnx import accelerated
from counterpoint.models.predictor import Predictor
from counterpoint.neighbours.gower import Gower
from counterpoint.problem.limits import NO_LIMITS, CheckedLimits
from counterpoint.problem.own_objectives import Distance, Objective, Plausibility, check_aims
from counterpoint.problem.problem import Observed
from counterpoint.table.features import Feature, Kind
from counterpoint.table.frames import Form, is_frame, read_data
from counterpoint.table.inference import NEARLY_ALL
from counterpoint.table.schema import Encoding, Schema
from counterpoint.table.space import describe_space, observed_on_grid

FEWEST_ROWS = 50  # from which columns are held against the model's answers
MOST_ASKED = 512  # rows that the trial of ids asks about
NO_USE = 0.01  # of the spread of the model's answers: less is no use
LITTLE_USE = 0.1  # the same for numbers without gaps, which count the rows
SAME = 1e-6  # of a column's range: what a model's answer may be off
INSTEAD = (
    "give a function without arguments that makes the Explainer there, such as "
    "explain_frame(make_explainer, rows, ...), or use counterpoint batch, which sends files"
)


class EncodedData(NamedTuple):
    """The caller's data, read and encoded."""

    encoding: Encoding  # what the columns are, and the kind of table they came in
    genomes: Floats  # (n, d): the observed rows
    may_miss: Bools  # (d,): what counterfactuals may lack
    shares: Floats  # (k,): the weights of the k nearest rows
    kept: tuple[Hashable, ...] = ()  # what stays as it is unless limits say otherwise: ids
    labels: pd.Index[Any] | None = None  # what the observed rows are called in their table


class Given(NamedTuple):
    """What the caller gave besides the data: objects that only the caller knows."""

    model: Any
    # as `Explainer` takes them
    objectives: tuple[Objective, ...]
    distance: Distance | Gower | None
    plausibility: Plausibility | Objective | None
    classes: Sequence[Any] | None

    def packed(self) -> bytes:
        """Return them as bytes; say which of them cannot be.

        Raises InvalidInput if one of them cannot be pickled.
        """
        model = pickled(self.model, f"the model of type {type(self.model).__name__}", INSTEAD)
        others = pickled(tuple(self[1:]), "an objective, distance or plausibility", INSTEAD)
        return pickle.dumps((model, others))

    @classmethod
    def unpacked(cls, packed: bytes) -> Given:
        """Return what was packed."""
        model, others = pickle.loads(packed)  # noqa: S301 - part of the pickle that is being read
        return cls(pickle.loads(model), *pickle.loads(others))  # noqa: S301


class Built:
    """What an Explainer holds: built here, and again of the same parts where its pickle is read."""

    schema: Schema  # what the columns are
    encoding: Encoding  # rows as genomes and back
    predictor: Predictor  # the model, asked
    observed: Observed  # the data, with what the model says of them
    kept: tuple[Hashable, ...]  # what looks like an id, and stays unless limits say otherwise
    unlimited: CheckedLimits  # what counterfactuals may change if nothing is said of it

    @property
    def classes(self) -> tuple[Any, ...] | None:
        """The model's class labels, or None if it has a single output."""
        return self.predictor.classes

    @property
    def feature_names_in_(self) -> Any:
        """The names of the data's columns, shape (c,), as scikit-learn's estimators have them."""
        return np.array([column.name for column in self.schema.columns], dtype=object)

    def __repr__(self) -> str:
        """Say what is explained to whom, in one line."""
        model, n = type(self._given.model).__name__, len(self.observed.genomes)
        classes = "" if self.classes is None else f", classes {listed(self.classes)}"
        return f"<Explainer of {model}: {len(self.schema)} features, {n:,} observed rows{classes}>"

    def _keep(self, names: tuple[Hashable, ...]) -> None:
        """Let features stay as they are unless limits say otherwise."""
        self.kept, self.unlimited = names, NO_LIMITS.check(self.schema, names)

    def _is_shared(self, limits: CheckedLimits) -> bool:
        """Whether several threads may ask at once: the model bears it, and no function is asked."""
        functions = (*limits.rules.functions, *self.observed.aims.functions)
        return self.predictor.is_shared and not functions

    @property
    def _bears_threads(self) -> bool:
        """Whether several threads may ask the model; of a known model there is no trial."""
        return self.predictor.is_known or self.predictor.bears_threads

    def _workers(self, workers: int | None, limits: CheckedLimits) -> int:
        """Return how many threads or processes share the rows.

        A model that is seen to bear one thread only is asked by processes, of which each has its
        own, where they can be started.
        """
        n = check_workers(workers, is_shared=self._is_shared(limits))
        if n == 1 or self._bears_threads:
            return n
        helped = ", helped by other processes if that takes long" if can_start() else ""
        warnings.warn(
            f"workers={n} does not mean threads: the model answers otherwise when two of them ask "
            f"it at once, so one searches the rows{helped}; give a model that keeps nothing "
            "between calls.",
            ModelWarning,
            stacklevel=3,
        )
        return n if can_start() else 1

    def _build(self, data: EncodedData, given: Given, accelerate: Literal["onnx"] | None) -> None:
        """Fit what searches need, from the data and what else the caller gave."""
        self._given, self.encoding, genomes = given, data.encoding, data.genomes
        self.schema = data.encoding.schema
        self._keep(data.kept)
        space = describe_space(self.schema, genomes, data.may_miss)
        if (on_grid := observed_on_grid(genomes, space)) is not genomes:
            genomes, space = on_grid, describe_space(self.schema, on_grid, data.may_miss)
        genomes.setflags(write=False)
        aims = check_aims(
            given.objectives, given.distance, given.plausibility, self.encoding, genomes, space
        )
        if aims.widths:
            space = space._replace(width=np.array(aims.widths))
        predictor = Predictor(given.model, self.encoding, genomes, given.classes)
        self.predictor = predictor if accelerate is None else accelerated(predictor, accelerate)
        outputs = self.predictor.observed_outputs
        self.observed = Observed(genomes, outputs, space, data.shares, aims, data.labels)

    def __copy__(self) -> Self:
        """Return one that shares all it is made of: a copy stays here, and builds nothing."""
        twin = object.__new__(type(self))
        twin.__dict__ |= self.__dict__
        return twin

    def __getstate__(self) -> tuple[EncodedData, bytes, Literal["onnx"] | None]:
        """Return what it is built of; a pickle holds the data, the model and the settings."""
        data = EncodedData(
            self.encoding,
            self.observed.genomes,
            self.observed.space.may_miss,
            self.observed.shares,
            self.kept,
            self.observed.labels,
        )
        # An accelerator that was not believed is not asked again, nor warned of.
        accelerate: Literal["onnx"] | None = "onnx" if self.predictor.is_accelerated else None
        return data, self._given.packed(), accelerate

    def __setstate__(self, state: tuple[EncodedData, bytes, Literal["onnx"] | None]) -> None:
        """Build it again, with the same results bit for bit; nothing is warned of twice."""
        data, packed, accelerate = state
        self._build(data, Given.unpacked(packed), accelerate)


def read_for(model: Any, data: Any) -> tuple[pd.DataFrame, Form]:
    """Return the data with their columns in the order in which the model was trained on them."""
    if _is_table(model) and not _is_table(data):
        raise InvalidInput(
            f"model is a {type(model).__name__} and data a {type(data).__name__}: the two are "
            "swapped; write Explainer(model, data)."
        )
    frame, form = read_data(data)
    order = order_of(unbound(model), list(frame.columns))
    if order is None:
        return frame, form
    warnings.warn(
        "the model was trained on the columns of data in another order; its order is used, in "
        "results, too.",
        ModelWarning,
        stacklevel=3,
    )
    types = tuple(form.types[j] for j in order) if len(form.types) > 1 else form.types
    return frame.iloc[:, order], replace(form, types=types)


def _is_table(value: object) -> bool:
    """Whether a value is a frame of pandas or polars, or a table of pyarrow."""
    return isinstance(value, pd.DataFrame) or is_frame(value)


def check_weights(k: object, weights: Sequence[float] | None, n: int) -> Floats:
    """Return the weights of the k nearest rows, summing to one."""
    k = check_whole("k", k, 1, n, said=f"from 1 to the {n} observed rows")
    if weights is None:
        return np.full(k, 1.0 / k)
    try:
        values = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.full(1, np.nan)
    if values.shape != (k,) or not np.isfinite(values).all() or (values < 0).any():
        raise InvalidInput(
            f"weights must be {k} numbers of at least 0, got {weights!r}; give one for each of "
            f"the k={k} nearest rows, or another k."
        )
    if values.sum() == 0.0:
        raise InvalidInput("weights must not all be 0.")
    scaled: Floats = values / values.sum()
    return scaled


def check_allowed(allowed: object, schema: Schema) -> Bools:
    """Return which features a counterfactual may lack, shape (d,)."""
    names = list(schema.names)
    if isinstance(allowed, bool):
        return np.array([allowed and feature.has_missing for feature in schema.features])
    may_miss = np.zeros(len(names), dtype=np.bool_)
    stated = check_list("allow_missing", allowed, "column names, True or False")
    for j in schema.places_of(stated, "allow_missing"):
        if not schema.features[j].has_missing:
            raise InvalidInput(
                f"allow_missing names {names[j]!r}, of which the data miss no value, so that "
                "nobody knows what the model makes of it; leave it out."
            )
        may_miss[j] = True
    return may_miss


def find_ids(predictor: Predictor, declared: Collection[Hashable]) -> list[Feature]:
    """Return undeclared whole numbers that look like ids: all different, and no use to the model.

    The model is asked once, about some observed rows that have the id of another.
    """
    genomes, features = predictor.observed, predictor.encoding.schema.features
    n, spread = len(genomes), predictor.observed_outputs.std(axis=0).mean()
    if n < FEWEST_ROWS or spread == 0.0:
        return []
    places = [
        j
        for j, feature in enumerate(features)
        if feature.kind is Kind.INTEGER
        and feature.name not in declared
        and all(is_different(genomes[:size, j]) for size in (MOST_ASKED, n))
    ]
    if not places:
        return []
    which = np.linspace(0, n - 1, min(n, max(8, MOST_ASKED // len(places)))).astype(np.intp)
    asked = np.repeat(genomes[None, which], len(places), axis=0)
    for rows, j in zip(asked, places, strict=True):
        rows[:, j] = np.roll(rows[:, j], len(which) // 2)
    found = []
    with suppress(PredictorError):  # what the model cannot say is of use to it
        outputs = predictor.outputs(asked.reshape(-1, len(features)))
        apart = np.abs(
            outputs.reshape(len(places), len(which), -1) - predictor.observed_outputs[which]
        )
        for j, change in zip(places, apart.mean(axis=(1, 2)), strict=True):
            has_gaps = np.ptp(genomes[:, j]) >= 2 * n
            if change <= spread * (NO_USE if has_gaps else LITTLE_USE):
                found.append(features[j])
    return found


def is_different(genes: Floats) -> bool:
    """Whether nearly all genes (n,) differ from each other."""
    return len(np.unique(genes)) >= NEARLY_ALL * len(genes)


def remarks_on_data(
    predictor: Predictor, ids: Iterable[Feature], declared: Collection[Hashable]
) -> list[str]:
    """Say which features look like ids, and which equal what the model says of every row."""
    remarks = [
        f"the whole numbers of {each.name!r} ({each.shown(each.low)} to {each.shown(each.high)}) "
        "differ from row to row and hardly change what the model says, as ids do, so that "
        f"counterfactuals keep them; name it in vary, or declare features={{{each.name!r}: "
        "Integer()}, to search it."
        for each in ids
    ]
    for j, feature in enumerate(predictor.encoding.schema.features):
        if feature.name not in declared and not feature.columns and _is_answer(predictor, j):
            remarks.append(
                f"data column {feature.name!r} equals what the model says of all "
                f"{len(predictor.observed)} observed rows; if it is the outcome itself, leave it "
                f"out of the data and of the model. fixed=[{feature.name!r}] holds it; declaring "
                "it in features= says that it is meant."
            )
    return remarks


def _is_answer(predictor: Predictor, j: int) -> bool:
    """Whether feature j equals an output of the model, or the class that leads."""
    genes, outputs = predictor.observed[:, j], predictor.observed_outputs
    if len(genes) < FEWEST_ROWS or np.ptp(genes) == 0.0 or (genes == MISSING).any():
        return False
    feature, classes = predictor.encoding.schema.features[j], predictor.classes
    if classes is None:
        return feature.is_numeric and np.allclose(genes, outputs[:, 0], 0.0, SAME * np.ptp(genes))
    values = genes if feature.is_numeric else (feature.levels[int(gene)] for gene in genes)
    answers = (classes[code] for code in outputs.argmax(axis=1))
    return all(value == answer for value, answer in zip(values, answers, strict=True))
