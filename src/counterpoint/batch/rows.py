"""Rows: the one pure function of every engine, from a frame of rows to one of counterfactuals.

Nothing in its result depends on time, on company, on threads or on how rows are cut into frames.
A row that cannot be explained becomes a line with the error's text and touches no other.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from counterpoint.arrays import Bools, Floats, Ints
from counterpoint.batch.order import Order
from counterpoint.errors import InvalidInput, MissingDependency, did_you_mean, listed
from counterpoint.explainer.explainer import Explainer
from counterpoint.explainer.group import MEMORY
from counterpoint.result.counterfactuals import Counterfactuals
from counterpoint.result.long_table import OutputSchema, Type, decoded_levels, failure_text
from counterpoint.result.ways import name_of

FAILED = "failed"
NONE, NO = np.empty(0), np.empty(0, dtype=np.bool_)
NO_CODES = np.empty(0, dtype=np.int64)


class RowAnswer(NamedTuple):
    """What the table says of one row."""

    # how it ended, in a word and in a sentence
    status: str
    message: str
    evaluations: int = 0  # rows the model was asked
    # (k, d): its counterfactuals
    genomes: Floats = NONE
    predictions: Floats = NONE
    objectives: Floats = NONE
    # (k,): which of them reach the target, and which class each is of
    reaches: Bools = NO
    codes: Ints = NO_CODES
    changed: tuple[list[str], ...] = ()  # what each of them changes
    # what each of them is called in the data, if they are observed rows
    observed: tuple[Hashable, ...] = ()

    @classmethod
    def of(cls, found: Counterfactuals, keep: int | None) -> RowAnswer:
        """Take from a result what the table shows: near misses only if need be."""
        shown = found if keep is None else found.select(keep)
        if keep is not None and len(shown):
            shown = shown.valid()
        names = [str(name) for name in found.encoding.schema.names]
        return cls(
            found.status,
            found.message,
            found.evaluations,
            shown.genomes,
            shown.predictions,
            shown.objectives,
            shown.reaches,
            shown.codes,
            tuple([names[j] for j in np.flatnonzero(line)] for line in shown.changed),
            () if shown.observed is None else tuple(shown.observed),
        )


def explain_rows(
    explainer: Explainer,
    rows: pd.DataFrame,
    order: Order,
    *,
    workers: int | None = 1,
    memory: float = MEMORY,
    progress: bool | None = False,
) -> pd.DataFrame:
    """Return the counterfactuals of rows as one long frame; see `Explainer.output_schema`.

    Rows have every column of the data, the id column if one is ordered, and others, which are
    ignored. An index of whole numbers is what `row` says; of others it is the position. There is at
    least one line per row, in their order. `workers`, `memory` and `progress` do not change the
    result; see `Explainer.explain_each`. The order is not checked here, for every chunk anew: who
    makes a job or a frame does that once. Raises InvalidInput if rows lack columns, or a column has
    the name of one of ours.
    """
    rows = with_ids(rows, order)
    features = features_of(rows, explainer, order)
    schema = order.schema_of(explainer, "int64" if order.id is None else rows[order.id].dtype)
    settings = RowsAsked(explainer, order, workers, memory, progress)
    answers = list(settings.answers(features))
    return assemble(schema, rows, answers, explainer)


def failed_rows(schema: OutputSchema, rows: pd.DataFrame, message: str) -> pd.DataFrame:
    """Return rows as lines that say why they could not be explained."""
    answers = [RowAnswer(FAILED, message)] * len(rows)
    return assemble(schema, rows, answers, None)


def with_ids(rows: pd.DataFrame, order: Order) -> pd.DataFrame:
    """Return rows with the column of ids, which may be their index."""
    if order.id is None or order.id in rows.columns or rows.index.name != order.id:
        return rows
    return rows.assign(**{order.id: rows.index})


def features_of(rows: pd.DataFrame, explainer: Explainer, order: Order) -> pd.DataFrame:
    """Return the columns of the data in rows, by the names they have in the data."""
    held = columns_of(rows, explainer, order)
    features = rows[[*held.values()]]
    features.columns = pd.Index([*held])
    return features


def columns_of(rows: pd.DataFrame, explainer: Explainer, order: Order) -> dict[Hashable, Hashable]:
    """Return what rows call each column of the data: its name, or that as text, as files have it.

    Raises InvalidInput if a column is not there, or that of the ids.
    """
    check_frame(rows, order)
    by_text = {str(name): name for name in rows.columns}
    names = [column.name for column in explainer.schema.columns]
    held = {name: name if name in rows.columns else by_text.get(str(name)) for name in names}
    if lacking := [name for name, own in held.items() if own is None]:
        hint = did_you_mean(lacking[0], [name for name in rows.columns if name not in held])
        raise InvalidInput(
            f"rows lack the columns {listed(lacking)}; they need every column of the data"
            + (f": {hint}" if hint else ".")
        )
    return held


def check_frame(rows: Any, order: Order) -> None:
    """Refuse what is no frame of rows, and one without the column of ids."""
    if not isinstance(rows, pd.DataFrame):
        raise InvalidInput(f"rows must be a pandas DataFrame, got {type(rows).__name__}.")
    if not rows.columns.is_unique:
        twice = rows.columns[rows.columns.duplicated()].unique()
        raise InvalidInput(f"rows have duplicate columns {listed(twice)}; give each its own name.")
    if order.id is not None and order.id not in rows.columns:
        hint = did_you_mean(order.id, rows.columns) or f"they are {listed(rows.columns)}."
        raise InvalidInput(f"id={order.id!r} is not a column of the rows; {hint}")


@dataclass(frozen=True)
class RowsAsked:
    """Whom to ask for what, and how."""

    explainer: Explainer
    order: Order
    workers: int | None
    memory: float
    progress: bool | None

    def answers(self, rows: pd.DataFrame) -> Iterator[RowAnswer]:
        """Yield an answer per row; on an error try halves again, down to the single row."""
        n_done = 0
        try:
            for found in self.results(rows):
                yield RowAnswer.of(found, self.order.keep)
                n_done += 1
        except Exception as error:  # of the model, a rule or a value: it belongs to some row
            if (cause := cause_in_machine(error)) is not None:
                raise cause from None
            if len(rows) - n_done == 1 and n_done == 0:
                yield RowAnswer(FAILED, failure_text(error))
                return
            rest = rows.iloc[n_done:]
            middle = (len(rest) + 1) // 2
            yield from self.answers(rest.iloc[:middle])
            yield from self.answers(rest.iloc[middle:])

    def results(self, rows: pd.DataFrame) -> Iterator[Counterfactuals]:
        """Yield the results of rows; an interrupt is one, for half a result would be another."""
        if len(rows) == 0:
            return
        order, n_done = self.order, 0
        for found in self.explainer.explain_each(
            rows,
            order.target,
            order.search,
            order.seed,
            limits=order.limits,
            workers=self.workers,
            memory=self.memory,
            progress=self.progress,
        ):
            if found.stopped == "interrupt":
                raise KeyboardInterrupt
            yield found
            n_done += 1
        if n_done < len(rows):
            raise KeyboardInterrupt


def cause_in_machine(error: BaseException) -> BaseException | None:
    """Return the part of an error that is of the machine and no row's: memory, missing packages."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, MemoryError | MissingDependency):
        cause = cause.__cause__
    return cause


def assemble(
    schema: OutputSchema,
    rows: pd.DataFrame,
    answers: Sequence[RowAnswer],
    explainer: Explainer | None,
) -> pd.DataFrame:
    """Return the answers of rows as one frame; without an explainer none has counterfactuals."""
    counts = np.array([len(answer.changed) for answer in answers], dtype=np.int64)
    lines = np.repeat(np.arange(len(answers)), np.maximum(counts, 1))
    is_there = np.repeat(counts > 0, np.maximum(counts, 1))
    columns: dict[str, Any] = {}
    if schema.id is not None:
        columns[schema.id] = rows[schema.id].iloc[lines].reset_index(drop=True)  # keeps its dtype
    own = own_columns(schema, rows, answers, lines, is_there)
    columns |= dict(zip(schema.own, own, strict=True))
    with_some = [answer.genomes for answer in answers if len(answer.changed)]
    genes = np.empty((0, len(schema.columns)))
    if explainer is not None and with_some:
        genes = explainer.encoding.by_column(np.concatenate(with_some))
    columns |= schema.decoded(genes, is_there)
    return pd.DataFrame({name: columns[name] for name in schema.names})


def own_columns(
    schema: OutputSchema,
    rows: pd.DataFrame,
    answers: Sequence[RowAnswer],
    lines: Any,
    is_there: Bools,
) -> list[Any]:
    """Return our own columns in the schema's order, for lines (n,) of rows."""
    some = [answer for answer in answers if len(answer.changed)]
    numbers = np.zeros(len(lines), dtype=np.int64)
    numbers[is_there] = np.concatenate(
        [np.arange(1, 1 + len(answer.changed)) for answer in some] or [numbers[:0]]
    )
    valid = np.zeros(len(lines), dtype=np.bool_)
    valid[is_there] = np.concatenate([answer.reaches for answer in some] or [valid[:0]])
    floats = np.full((len(lines), 1 + len(schema.objectives)), np.nan)
    if some:
        floats[is_there, 0] = np.concatenate([answer.predictions for answer in some])
        floats[is_there, 1:] = np.concatenate([answer.objectives for answer in some])
    changed, ways = np.empty((2, len(lines)), dtype=object)
    names = iter([names for answer in some for names in answer.changed])
    changed[:] = [next(names) if there else [] for there in is_there]
    ways[is_there] = [name_of(own) for own in changed[is_there]]
    return [
        positions_of(rows)[lines],
        numbers,
        texts([answer.status for answer in answers], lines),
        texts([answer.message for answer in answers], lines),
        valid,
        *classes_of(schema, some, is_there),
        *floats.T,
        changed,
        pd.array(ways, dtype="string[python]"),
        *labels_of(schema, some, is_there),
        np.array([answer.evaluations for answer in answers], dtype=np.int64)[lines],
    ]


def classes_of(schema: OutputSchema, some: Sequence[RowAnswer], is_there: Bools) -> list[Any]:
    """Return the column of classes for lines (n,), if the model has any; lines may have none."""
    if not schema.classes:
        return []
    codes = np.full(len(is_there), np.nan)
    codes[is_there] = np.concatenate([answer.codes for answer in some] or [NO_CODES])
    return [decoded_levels(codes, schema.classes)]


def labels_of(schema: OutputSchema, some: Sequence[RowAnswer], is_there: Bools) -> list[Any]:
    """Return the column of observed rows for lines (n,), if counterfactuals are such rows."""
    if schema.observed is None:
        return []
    labels = [label for answer in some for label in answer.observed]
    cells = np.full(len(is_there), None, dtype=object)
    cells[is_there] = labels if schema.observed is Type.WHOLE_OR_NONE else list(map(str, labels))
    return [pd.array(cells, dtype=schema.observed.dtype)]


def positions_of(rows: pd.DataFrame) -> Any:
    """Return what `row` says of each row: the index if it is of whole numbers, or the position."""
    if pd.api.types.is_integer_dtype(rows.index.dtype) and not rows.index.hasnans:
        return rows.index.to_numpy(dtype=np.int64)
    return np.arange(len(rows), dtype=np.int64)


def texts(values: Sequence[str], lines: Any) -> Any:
    """Return texts by row as a column of text by line."""
    cells = np.empty(len(values), dtype=object)
    cells[:] = values
    return pd.array(cells[lines], dtype="string[python]")
