"""Ways to ask a model: through frames as its user would, or past what costs time and adds nothing.

A call on the twenty candidates of one row spends most of its time on frames, name checks and
wrappers. A quick way leaves these out. It is found by what a model can do, not by its type, and is
used only if it passes a trial: answers equal bit for bit, without a warning (`trial.py`).
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from counterpoint.arrays import Floats
from counterpoint.models.columns import ColumnTables, is_plain, tabulate
from counterpoint.models.cores import core_of
from counterpoint.models.nameless import nameless
from counterpoint.table.encoding import Encoding

Ask: TypeAlias = Callable[[Floats], Any]  # from genomes (n, d) to a model's raw answers


class Way(NamedTuple):
    """One way to ask a model.

    Parameters
    ----------
    to_rows : callable
        Turns genomes (n, d) into the rows `model` takes.
    model : object
        Who is asked: a copy of the caller's estimator without names, or a part of it.
    """

    to_rows: Callable[[Floats], Any]
    model: Any

    def ask(self, method: str) -> Ask | None:
        """Return the function that asks for `method`, or None if this model lacks it."""
        function = getattr(self.model, method, None)
        to_rows = self.to_rows
        return None if function is None else lambda genomes: function(to_rows(genomes))


def quick_ways(model: Any, encoding: Encoding, observed: Floats) -> list[Way]:
    """Return quick ways to ask `model`, the quickest first; none is known to be exact."""
    try:
        return [quick for way in bare_ways(model, encoding, observed) for quick in cut_short(way)]
    except Exception:  # what looks like an estimator may be none: it is asked as it is
        return []


def cut_short(way: Way) -> list[Way]:
    """Return the ways past the layers of a model that takes arrays."""
    last = peel(way)
    core = core_of(last.model)
    return [last] if core is None else [Way(last.to_rows, core), last]


def bare_ways(model: Any, encoding: Encoding, observed: Floats) -> Iterator[Way]:
    """Yield ways past the frame, to a model that takes a bare array."""
    while hasattr(model, "best_estimator_"):  # a search over settings asks the best it found
        model = model.best_estimator_
    if not hasattr(model, "n_features_in_"):  # no estimator, or not fitted
        return
    # Tables have no place for a missing level.
    is_tabled = not encoding.has_missing
    tables, rest = past_columns(model, encoding, observed) if is_tabled else (None, model)
    if tables is not None:
        yield Way(tables, nameless(rest))
    elif all(map(is_plain, encoding.columns)):
        for to_array in array_layouts(encoding):
            yield Way(to_array, nameless(model))


def past_columns(
    model: Any, encoding: Encoding, observed: Floats
) -> tuple[ColumnTables | None, Any]:
    """Return tables of the ColumnTransformer a model begins with, and the model behind it."""
    if hasattr(model, "steps") and hasattr(model.steps[0][1], "transformers_"):
        rest = copy.copy(model)
        rest.steps = model.steps[1:]
        return tabulate(model.steps[0][1], encoding, observed), rest
    inner = getattr(model, "_preprocessor", None)  # histogram boosting encodes categories by one
    if hasattr(inner, "transformers_"):
        rest = copy.copy(model)
        rest._preprocessor = None
        return tabulate(inner, encoding, observed), rest
    return None, model


def peel(way: Way) -> Way:
    """Return the way past a pipeline: its transforming steps join `to_rows`, its last is asked."""
    if not hasattr(way.model, "steps"):
        return way
    *steps, last = [step for _, step in way.model.steps if step not in (None, "passthrough")]

    def to_rows(genomes: Floats) -> Any:
        rows = way.to_rows(genomes)
        for step in steps:
            rows = step.transform(rows)
        return rows

    return Way(to_rows, last)


def array_layouts(encoding: Encoding) -> Iterator[Callable[[Floats], Any]]:
    """Yield functions from genomes to arrays: in the dtype and order of the frame's, or plain.

    The order in memory decides how a matrix product adds up, and so its last bits.
    """
    dtypes, by_column = [column.dtype for column in encoding.columns], encoding.by_column
    if not encoding.is_float and all(isinstance(dtype, np.dtype) for dtype in dtypes):
        common = np.result_type(*dtypes)
        yield lambda genomes: by_column(genomes).astype(common, order="F")
    if not encoding.is_float:
        yield lambda genomes: by_column(genomes).copy(order="F")
    yield lambda genomes: np.copy(by_column(genomes))
