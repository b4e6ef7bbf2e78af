"""Building: what an Explainer is built of, which is what its pickle holds.

Nothing that was fitted travels: the other process builds it again of the same parts, and so with
the same results. What the data are is not inferred again, so nothing is warned of twice.
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import pandas as pd

from counterpoint.arrays import Bools, Floats
from counterpoint.errors import ModelWarning, listed
from counterpoint.explainer.group import can_start, check_workers
from counterpoint.models.adapters.scorer import unbound
from counterpoint.models.calls import order_of
from counterpoint.models.files import pickled
from counterpoint.models.onnx import accelerated
from counterpoint.models.predictor import Predictor
from counterpoint.neighbours.gower import Gower
from counterpoint.problem.limits import NO_LIMITS, CheckedLimits
from counterpoint.problem.observed import Observed
from counterpoint.problem.own_objectives import Distance, Objective, Plausibility, check_aims
from counterpoint.table.encoding import Encoding
from counterpoint.table.frames import Form
from counterpoint.table.schema import Schema
from counterpoint.table.space import describe_space, observed_on_grid

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
    """What an Explainer holds: built here, and again of the same parts where its pickle is read.

    Attributes
    ----------
    schema : Schema
        What the columns are.
    encoding : Encoding
        Rows as genomes and back.
    predictor : Predictor
        The model, asked.
    observed : Observed
        The data, with what the model says of them.
    kept : tuple of feature names
        What looks like an id, and stays as it is unless limits say otherwise.
    unlimited : CheckedLimits
        What counterfactuals may change if nothing is said of it.
    """

    schema: Schema
    encoding: Encoding
    predictor: Predictor
    observed: Observed
    kept: tuple[Hashable, ...]
    unlimited: CheckedLimits

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
        """Whether all that is asked may be asked by several threads: of functions nobody knows."""
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
        self.predictor = accelerated(predictor, accelerate)
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


def in_order_of(model: Any, frame: pd.DataFrame, form: Form) -> tuple[pd.DataFrame, Form]:
    """Return the data with their columns in the order in which the model was trained on them."""
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
