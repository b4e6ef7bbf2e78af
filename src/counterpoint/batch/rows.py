"""Rows: what is asked of every row, the one pure function of every engine, and what became of rows.

`Order` says what is asked; it is frozen, picklable and checked before the first row is explained.
`explain_rows` takes a frame of rows to one of counterfactuals. Nothing in its result depends on
time, on company, on threads or on how rows are cut into frames. A row that cannot be explained
becomes a line with the error's text and touches no other. `RowCounts` say how many rows of a chunk,
of a part or of the whole job had which outcome.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pandas as pd

from counterpoint.arrays import Bools, Floats, Ints
from counterpoint.batch.inputs import arrow
from counterpoint.checks import check_whole
from counterpoint.errors import InvalidInput, MissingDependency, did_you_mean, listed
from counterpoint.explainer.explainer import Explainer
from counterpoint.explainer.group import MEMORY
from counterpoint.explainer.task import check_rules, check_search
from counterpoint.problem.limits import CheckedLimits, Limits
from counterpoint.problem.own_objectives import check_costs_apply
from counterpoint.problem.target import TargetLike, parse_target
from counterpoint.result.counterfactuals import Counterfactuals
from counterpoint.result.file.document import Node
from counterpoint.result.long_table import OutputSchema, Type, decoded_levels, failure_text
from counterpoint.result.ways import name_of
from counterpoint.search.settings import Search, WhatIf
from counterpoint.streams import check_seed
from counterpoint.table.frames import as_objects

MOST_KEPT = 2**31
N_TRIED = 64  # observed rows that rules are tried on
FAILED = "failed"
NONE, NO, NO_CODES = np.empty(0), np.empty(0, dtype=np.bool_), np.empty(0, dtype=np.int64)
T = TypeVar("T")


@dataclass(frozen=True)
class Order:
    """What is asked of every row, and what is handed back."""

    # As in `Explainer.explain`. A search may not end by `seconds`: what it finds would depend on
    # the machine.
    target: TargetLike
    search: Search | WhatIf | None = None
    seed: int = 0
    limits: Limits = field(default_factory=Limits)
    # How many of each row's counterfactuals at most, as `select` chooses: the best of different
    # ways first, and near misses only where there is no counterfactual. None keeps the whole
    # non-dominated set, near misses too.
    keep: int | None = 10
    id: str | None = None  # a column of the rows that is no feature and is handed through
    # put before the names of our own columns; None puts "cf_" there if a feature has such a name
    prefix: str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.search, Search) and self.search.seconds is not None:
            raise InvalidInput(
                f"search has seconds={self.search.seconds:g}, so that the result would depend on "
                "the machine and its load; bound it by evaluations, as in "
                "Search(evaluations=2000)."
            )
        if self.keep is not None:
            check_whole("keep", self.keep, 1, MOST_KEPT)

    def check(self, explainer: Explainer) -> None:
        """Refuse what no row could be explained with: wrong targets, names, rules and settings.

        Raises InvalidInput or UnknownFeatureError if an argument cannot be used, or the rules
        exclude every observed row that is tried.
        """
        check_search(self.search)
        check_seed(self.seed)
        limits = self.limits.check(explainer.schema, explainer.kept)
        if limits.costs is not None:
            check_costs_apply(explainer.observed.aims)
        predictor = explainer.predictor.own
        parse_target(self.target, predictor.classes, spread(predictor.observed_outputs))
        try_rules(limits, explainer)
        self.schema_of(explainer)

    def is_shared(self, explainer: Explainer) -> bool:
        """Whether several threads may ask for this at once."""
        return explainer._is_shared(self.limits.check(explainer.schema, explainer.kept))

    def schema_of(self, explainer: Explainer, id_dtype: Any = "int64") -> OutputSchema:
        """Return the columns of what is handed back."""
        return explainer.output_schema(self.id, id_dtype, self.prefix, self.search)


def try_rules(limits: CheckedLimits, explainer: Explainer) -> None:
    """Refuse rules that fail for every one of some observed rows, as they would for the others."""
    if not len(limits.rules):
        return
    tried, encoding = spread(explainer.observed.genomes), explainer.encoding
    first: InvalidInput | None = None
    for i in range(len(tried)):
        row = tried[i : i + 1].copy()
        try:
            check_rules(limits, row, encoding.decode(row.copy()), explainer.observed.space)
            limits.rules.ask(encoding.to_rows(row.copy()))
        except InvalidInput as error:
            first = first or error
        else:
            return
    if first is not None:
        raise InvalidInput(
            f"the constraints exclude each of {len(tried)} observed rows that were tried; of the "
            f"first: {first}"
        ) from first


def spread(observed: Floats) -> Floats:
    """Return some of the observed rows or their outputs, spread evenly over the data."""
    n = min(N_TRIED, len(observed))
    return observed[np.arange(n) * len(observed) // n]


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
    how: Any = {"workers": workers, "memory": memory, "progress": progress}

    def ask(some: pd.DataFrame) -> Iterator[RowAnswer]:
        n_done = 0
        asked = order.target, order.search, order.seed
        for found in explainer.explain_each(some, *asked, limits=order.limits, **how):
            if found.stopped == "interrupt":  # half a result would be another
                raise KeyboardInterrupt
            yield RowAnswer.of(found, order.keep)
            n_done += 1
        if n_done < len(some):
            raise KeyboardInterrupt

    rows = with_ids(rows, order)
    features = features_of(rows, explainer, order)
    schema = order.schema_of(explainer, id_dtype(rows, order))
    answers = list(by_halves(features, ask, lambda why: RowAnswer(FAILED, why)))
    genomes = [answer.genomes for answer in answers if answer.changed]
    return assemble(schema, rows, answers, genes_of(genomes, explainer))


def failed_rows(schema: OutputSchema, rows: pd.DataFrame, message: str) -> pd.DataFrame:
    """Return rows as lines that say why they could not be explained."""
    answers = [RowAnswer(FAILED, message)] * len(rows)
    return assemble(schema, rows, answers, np.empty((0, len(schema.columns))))


def by_halves(
    rows: pd.DataFrame,
    ask: Callable[[pd.DataFrame], Iterable[T]],
    failed: Callable[[str], T],
) -> Iterator[T]:
    """Yield what `ask` answers to each row; on an error ask halves again, down to the single row.

    What `failed` makes of an error's text is the answer to the row whose error it is.
    """
    if len(rows) == 0:
        return
    n_done = 0
    try:
        for answer in ask(rows):
            yield answer
            n_done += 1
    except Exception as error:  # of the model, a rule or a value: it belongs to some row
        cause: BaseException | None = error
        while cause is not None and not isinstance(cause, MemoryError | MissingDependency):
            cause = cause.__cause__
        if cause is not None:  # of the machine, and no row's
            raise cause from None
        if len(rows) == 1 and n_done == 0:
            yield failed(failure_text(error))
            return
        rest = rows.iloc[n_done:]
        middle = (len(rest) + 1) // 2
        for half in (rest.iloc[:middle], rest.iloc[middle:]):
            yield from by_halves(half, ask, failed)


def with_ids(rows: pd.DataFrame, order: Order) -> pd.DataFrame:
    """Return rows with the column of ids, which may be their index."""
    if order.id is None or order.id in rows.columns or rows.index.name != order.id:
        return rows
    return rows.assign(**{order.id: rows.index})


def id_dtype(rows: pd.DataFrame, order: Order) -> Any:
    """Return the dtype of the ids that are handed through."""
    return "int64" if order.id is None else rows[order.id].dtype


def features_of(rows: pd.DataFrame, explainer: Explainer, order: Order) -> pd.DataFrame:
    """Return the columns of the data in rows, by the names they have in the data."""
    held = columns_of(rows, explainer, order)
    return rows[[*held.values()]].set_axis(pd.Index([*held]), axis=1)


def columns_of(rows: pd.DataFrame, explainer: Explainer, order: Order) -> dict[Hashable, Hashable]:
    """Return what rows call each column of the data: its name, or that as text, as files have it.

    Raises InvalidInput if rows are no frame, or lack a column, that of the ids included.
    """
    if not isinstance(rows, pd.DataFrame):
        raise InvalidInput(f"rows must be a pandas DataFrame, got {type(rows).__name__}.")
    if not rows.columns.is_unique:
        twice = rows.columns[rows.columns.duplicated()].unique()
        raise InvalidInput(f"rows have duplicate columns {listed(twice)}; give each its own name.")
    if order.id is not None and order.id not in rows.columns:
        hint = did_you_mean(order.id, rows.columns) or f"they are {listed(rows.columns)}."
        raise InvalidInput(f"id={order.id!r} is not a column of the rows; {hint}")
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


def genes_of(genomes: Sequence[Floats], explainer: Explainer) -> Floats:
    """Return genomes, of several rows each (k, d), by column of the data (n, c)."""
    empty = np.empty((0, len(explainer.schema)))
    return explainer.encoding.by_column(np.concatenate([empty, *genomes]))


def assemble(
    schema: OutputSchema, rows: pd.DataFrame, answers: Sequence[RowAnswer], genes: Floats
) -> pd.DataFrame:
    """Return the answers of rows as one frame, given the genes of all counterfactuals (n, c)."""
    n_found = np.array([len(answer.changed) for answer in answers], dtype=np.int64)
    lines = np.repeat(np.arange(len(answers)), np.maximum(n_found, 1))
    is_there = n_found[lines] > 0
    own = own_columns(schema, answers, lines, is_there)
    return in_columns(schema, rows, lines, [positions_of(rows)[lines], *own], genes, is_there)


def in_columns(
    schema: OutputSchema,
    rows: pd.DataFrame,
    lines: Ints,
    own: Sequence[Any],
    genes: Floats,
    is_there: Bools,
) -> pd.DataFrame:
    """Return a frame of lines (n,) of rows: ids, our own columns, and genes where they are."""
    columns = dict(zip(schema.own, own, strict=True)) | schema.decoded(genes, is_there)
    if schema.id is not None:
        columns[schema.id] = rows[schema.id].iloc[lines].reset_index(drop=True)  # keeps its dtype
    return pd.DataFrame({name: columns[name] for name in schema.names})


def own_columns(
    schema: OutputSchema, answers: Sequence[RowAnswer], lines: Ints, is_there: Bools
) -> list[Any]:
    """Return our own columns but the first, in the schema's order, for lines (n,) of rows."""

    def by_line(part: Callable[[RowAnswer], Any], nothing: Any) -> Any:
        parts = [part(answer) if answer.changed else nothing for answer in answers]
        return np.concatenate([np.array(nothing)[:0], *parts])

    changed = as_objects([names for answer in answers for names in answer.changed or ([],)])
    ways = np.full(len(lines), None, dtype=object)
    ways[is_there] = [name_of(names) for names in changed[is_there]]
    columns = [
        by_line(lambda answer: np.arange(1, 1 + len(answer.changed)), [0]),
        as_texts([answer.status for answer in answers])[lines],
        as_texts([answer.message for answer in answers])[lines],
        by_line(lambda answer: answer.reaches, [False]),
    ]
    if schema.classes:
        codes = by_line(lambda answer: answer.codes, [np.nan])
        columns.append(decoded_levels(codes, schema.classes))
    columns.append(by_line(lambda answer: answer.predictions, [np.nan]))
    columns += [*by_line(lambda answer: answer.objectives, [[np.nan] * len(schema.objectives)]).T]
    columns += [changed, as_texts(ways)]
    if schema.observed is not None:
        labels = [label for answer in answers for label in answer.observed]
        cells = np.full(len(lines), None, dtype=object)
        is_whole = schema.observed is Type.WHOLE_OR_NONE
        cells[is_there] = labels if is_whole else list(map(str, labels))
        columns.append(pd.array(cells, dtype=schema.observed.dtype))
    return [*columns, np.array([each.evaluations for each in answers], dtype=np.int64)[lines]]


def positions_of(rows: pd.DataFrame) -> Any:
    """Return what `row` says of each row: the index if it is of whole numbers, or the position."""
    if pd.api.types.is_integer_dtype(rows.index.dtype) and not rows.index.hasnans:
        return rows.index.to_numpy(dtype=np.int64)
    return np.arange(len(rows), dtype=np.int64)


def as_texts(values: Any) -> Any:
    """Return texts, or None, as a column."""
    return pd.array(as_objects(values), dtype=Type.TEXT.dtype)


MOST_COUNTED = 2**53  # of anything
COUNTED = ["counterfactual", "status", "message", "evaluations"]
TOLD_OF = {
    "found": "found",
    "already_met": "reach the target already",
    "best_effort": "best effort: nothing that was tried reaches the target",
    "infeasible": "infeasible: all that is allowed was tried, and nothing reaches the target",
    "failed": "failed",
}


@dataclass
class RowCounts:
    """Rows by status, and what they took.

    Examples
    --------
    >>> one = RowCounts(2, 5, 400, Counter(found=2))
    >>> both = one + RowCounts(1, 1, 0, Counter(failed=1), Counter({"no such level": 1}))
    >>> both.rows, dict(both.statuses)
    (3, {'found': 2, 'failed': 1})
    """

    rows: int = 0  # rows of the input
    lines: int = 0  # of the output: one for each counterfactual of a row, and at least one
    evaluations: int = 0  # how often the model was asked
    statuses: Counter[str] = field(default_factory=Counter)  # rows by what became of them
    messages: Counter[str] = field(default_factory=Counter)  # why rows failed

    @classmethod
    def of(cls, table: Any, prefix: str) -> RowCounts:
        """Count a table that `explain_rows` made."""
        compute = arrow("pyarrow.compute")
        own = table.select([f"{prefix}{name}" for name in COUNTED]).rename_columns(COUNTED)
        first = own.filter(compute.less_equal(own["counterfactual"], 1))  # one line of each row
        failed = first.filter(compute.equal(first["status"], FAILED))
        return cls(
            rows=first.num_rows,
            lines=own.num_rows,
            evaluations=compute.sum(first["evaluations"]).as_py() or 0,
            statuses=Counter(first["status"].to_pylist()),
            messages=Counter(failed["message"].to_pylist()),
        )

    def __add__(self, other: RowCounts) -> RowCounts:
        return RowCounts(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    @property
    def failed(self) -> int:
        """Rows that could not be explained."""
        return self.statuses[FAILED]

    def frequent(self, n: int | None) -> list[tuple[str, int]]:
        """Return the most frequent messages, ties in the order of the alphabet."""
        return sorted(self.messages.items(), key=lambda item: (-item[1], item[0]))[:n]

    def written(self) -> dict[str, Any]:
        """Return it as JSON holds it, the same for the same rows."""
        return {
            "rows": self.rows,
            "lines": self.lines,
            "evaluations": self.evaluations,
            "statuses": dict(sorted(self.statuses.items())),
            "messages": dict(self.frequent(None)),
        }

    @classmethod
    def read(cls, written: Node, n_rows: int) -> RowCounts:
        """Return what `written` wrote of so many rows; refuse what it cannot have written."""
        keys = ("rows", "lines", "evaluations", "statuses", "messages")
        rows, lines, evaluations, statuses, messages = written.fields(*keys)
        by_status = _counter(statuses, n_rows)
        if not by_status.keys() <= TOLD_OF.keys() or by_status.total() != n_rows:
            statuses.refuse(f"how many of {n_rows} rows had which outcome")
        by_message = _counter(messages, n_rows)
        if by_message.total() > by_status[FAILED]:
            messages.refuse(f"why {by_status[FAILED]} rows failed")
        return cls(
            rows.whole(n_rows, n_rows),
            lines.whole(n_rows, MOST_COUNTED),
            evaluations.whole(0, MOST_COUNTED),
            by_status,
            by_message,
        )


def _counter(node: Node, most: int) -> Counter[str]:
    """Return how often there was what."""
    counts = node.fields(*node.value) if isinstance(node.value, dict) else node.fields()
    return Counter({key: n.whole(1, most) for key, n in zip(node.value, counts, strict=True)})
