"""Frame: counterfactuals of a whole frame of rows, or whether any exist, at once or by Dask."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, Unpack

import numpy as np
import pandas as pd

from counterpoint.batch.engines.engine import Make, Recipe
from counterpoint.batch.rows import (
    Order,
    as_texts,
    by_halves,
    columns_of,
    explain_rows,
    features_of,
    genes_of,
    id_dtype,
    in_columns,
    positions_of,
    with_ids,
)
from counterpoint.checks import is_loaded
from counterpoint.errors import InvalidInput
from counterpoint.explainer.explainer import Explainer
from counterpoint.explainer.group import MEMORY, check_workers
from counterpoint.explainer.verification import Finding, proving
from counterpoint.problem.limits import LimitKeywords, Limits, join_limits
from counterpoint.problem.target import TargetLike
from counterpoint.result.long_table import OutputSchema, Type
from counterpoint.search.settings import Explore, Search, WhatIf
from counterpoint.table.frames import Rows, as_frame, is_frame, is_polars

SchemaOf: TypeAlias = Callable[..., OutputSchema]  # of an order, an explainer and a dtype of ids


def explain_frame(
    explainer: Explainer | Make,
    rows: Rows,
    target: TargetLike,
    search: Search | WhatIf | None = None,
    seed: int = 0,
    *,
    limits: Limits | None = None,
    keep: int | None = 10,
    id: str | None = None,
    prefix: str | None = None,
    workers: int | None = None,
    memory: float = MEMORY,
    progress: bool | None = None,
    **added: Unpack[LimitKeywords],
) -> Any:
    """Return the counterfactuals of rows as one long frame; of a Dask DataFrame lazily.

    One line per counterfactual, and one for a row that has none. A row that cannot be explained
    becomes a line with the status "failed" and the error's text, and touches no other. Each row
    gets what `explain` finds for it, wherever and in whatever company it is explained.

    Parameters
    ----------
    explainer : Explainer, or function without arguments that makes one
        Whom to ask. To Dask's workers it goes once, and each of their processes builds it once; a
        model that cannot be pickled needs the function.
    rows : DataFrame of pandas, polars or Dask, Table of pyarrow, list of dicts
        The rows to explain, with every column of the data; other columns are ignored. An array if
        the data are one.
    target, search, seed
    limits, fixed, vary, ranges, max_changed, constraints, costs
        As in `Explainer.explain`. A search may not end by `seconds`.
    keep : int or None, default=10
        How many of each row's counterfactuals at most, as `select` chooses: the best of different
        ways first, and near misses only where there is no counterfactual. None keeps the whole
        non-dominated set, near misses too.
    id : str, optional
        A column of the rows, or the name of their index, that is no feature and is handed through.
    prefix : str, optional
        Put before the names of the result's own columns; None puts `"cf_"` there if a feature has
        the name of one.
    workers : int, optional
        Threads that share the rows, as in `explain_many`. Not for Dask, whose own workers do.
    memory : float, default=4.0
        GiB that rows in flight may use.
    progress : bool, optional
        Whether to show a bar if it takes long; None shows it in a terminal or a notebook. Not for
        Dask, which has its own.

    Returns
    -------
    DataFrame of pandas, polars or Dask, or Table of pyarrow, as the rows are; pandas for others
        The columns of `Explainer.output_schema`: the id; `row`, the row's index if that is of
        whole numbers, or its position (in its partition); `counterfactual`, 1, 2, ..., or 0 where
        there is none; `status` and `message`; `valid`; `prediction` and the objectives; `changed`,
        a list of features, and `way`, the same as one text; of `WhatIf` `observed`, the index of
        the observed row; `evaluations`; and the columns of the data.

    Raises
    ------
    InvalidInput, UnknownFeatureError
        If no row could be explained: by an argument that cannot be used, rules that exclude every
        observed row, or columns that are missing.

    Examples
    --------
    >>> import counterpoint as cp
    >>> data = pd.DataFrame({"age": [20, 30, 40, 50]})
    >>> explainer = cp.Explainer(lambda rows: rows["age"] / 100, data)
    >>> rows = data.assign(name=["Ann", "Bob", "Cat", "Dan"])
    >>> frame = cp.explain_frame(explainer, rows, target=(0.4, 1.0), id="name", keep=1)
    >>> frame[["name", "status", "counterfactual", "way", "age"]]
      name       status  counterfactual   way   age
    0  Ann        found               1   age    40
    1  Bob        found               1   age    40
    2  Cat  already_met               0  <NA>  <NA>
    3  Dan  already_met               0  <NA>  <NA>
    """
    asked = join_limits(explain_frame, limits, added)
    order = Order(target, search, seed, asked, keep, id, prefix)
    work = partial(explain_rows, memory=memory)
    here = {"workers": workers, "progress": progress}
    return of_frame(Recipe.of(explainer), rows, order, Order.schema_of, work, here)


def verify_frame(
    explainer: Explainer | Make,
    rows: Rows,
    target: TargetLike,
    limits: Limits | None = None,
    *,
    search: Explore | None = None,
    seed: int = 0,
    id: str | None = None,
    workers: int | None = None,
    **added: Unpack[LimitKeywords],
) -> Any:
    """Say of each row of a frame whether a counterfactual exists; of a Dask DataFrame lazily.

    Every row gets what `Explainer.verify` says of it, wherever and in whatever company it is asked.
    Only where the solver's ten seconds do not suffice may a slower machine know less.

    Parameters
    ----------
    explainer, rows, id
        As in `explain_frame`.
    target, limits, search, seed, fixed, vary, ranges, max_changed, constraints, costs
        As in `Explainer.verify`. A search may not end by `seconds`.
    workers : int, optional
        Threads that share the rows. Not for Dask, whose own workers do.

    Returns
    -------
    DataFrame of pandas, polars or Dask, or Table of pyarrow, as the rows are; pandas for others
        One line per row: the id; `row`, as in `explain_frame`; `verdict`, `evaluations` and `how`;
        and the witness in the columns of the data, which are empty without one. Of a row that
        cannot be asked about, the verdict is "unknown", and `how` the error's text.

    Raises
    ------
    InvalidInput, UnknownFeatureError
        If no row could be asked about, as in `explain_frame`.

    Examples
    --------
    >>> import counterpoint as cp
    >>> data = pd.DataFrame({"age": [20, 30, 40, 50]})
    >>> explainer = cp.Explainer(lambda rows: rows["age"] / 100, data)
    >>> frame = cp.verify_frame(explainer, data, target=(0.4, 1.0), max_changed=1)
    >>> frame[["row", "verdict", "evaluations", "age"]]
       row      verdict  evaluations   age
    0    0      witness           30    40
    1    1      witness           30    40
    2    2  already met            1  <NA>
    3    3  already met            1  <NA>
    """
    proving(search)
    order = Order(target, search, seed, join_limits(verify_frame, limits, added), id=id)
    here = {"workers": workers}
    return of_frame(Recipe.of(explainer), rows, order, verdicts_schema, verify_rows, here)


def of_frame(
    recipe: Recipe,
    rows: Rows,
    order: Order,
    schema_of: SchemaOf,
    work: Callable[..., pd.DataFrame],
    here: Mapping[str, Any],
) -> Any:
    """Return what `work` makes of rows as a table of their kind; of a Dask DataFrame lazily.

    `here` are settings of the work that only this process has, not Dask's workers.
    """
    if is_loaded(rows, "dask.dataframe", "DataFrame"):
        check_dask(**here)
        return lazily(recipe, rows, order, schema_of, work)
    explainer = recipe.explainer()
    order.check(explainer)
    check_workers(here["workers"], is_shared=False)
    found = work(explainer, as_pandas(rows, explainer, order), order, **here)
    return in_kind(rows, found, schema_of(order, explainer))


@dataclass(frozen=True)
class VerdictSchema(OutputSchema):
    """The columns of the table of verdicts, in order; see `OutputSchema`."""

    @property
    def _bare(self) -> dict[str, Type]:
        """Our columns by their own names."""
        texts = {"verdict": Type.TEXT, "evaluations": Type.WHOLE, "how": Type.TEXT}
        return {"row": Type.WHOLE} | texts

    @property
    def types(self) -> dict[str, Type]:
        """All columns but the id, in order: what is known of the row, and then the witness."""
        return self.own | self.features


def verdicts_schema(order: Order, explainer: Explainer, id_dtype: Any = "int64") -> VerdictSchema:
    """Return the columns of the table of verdicts."""
    return VerdictSchema(explainer.schema.columns, (), order.id, id_dtype)


def verify_rows(
    explainer: Explainer, rows: pd.DataFrame, order: Order, workers: int | None = 1
) -> pd.DataFrame:
    """Return the verdicts on rows as a frame; see `verify_frame`."""
    rows = with_ids(rows, order)
    schema = verdicts_schema(order, explainer, id_dtype(rows, order))
    asked: Any = {"search": order.search, "seed": order.seed, "workers": workers}

    def ask(some: pd.DataFrame) -> Iterable[Finding]:
        return explainer.verify(some, order.target, order.limits, **asked).findings

    features = features_of(rows, explainer, order)
    findings = list(by_halves(features, ask, lambda why: Finding("unknown", 0, why)))
    genes = genes_of([each.genome[None] for each in findings if each.genome is not None], explainer)
    own = [
        positions_of(rows),
        as_texts([each.verdict for each in findings]),
        np.array([each.n_asked for each in findings], dtype=np.int64),
        as_texts([each.how for each in findings]),
    ]
    is_there = np.array([each.genome is not None for each in findings], dtype=np.bool_)
    return in_columns(schema, rows, np.arange(len(rows)), own, genes, is_there)


def check_dask(workers: int | None, progress: bool | None = None) -> None:
    """Refuse settings that are Dask's own."""
    if workers is not None:
        raise InvalidInput(
            f"workers={workers!r} is not for Dask DataFrames, whose partitions Dask's own workers "
            "share; leave it out."
        )
    if progress:
        raise InvalidInput(
            "progress=True is not for Dask DataFrames, which are explained when they are computed; "
            "use dask.diagnostics.ProgressBar or Dask's dashboard."
        )


def lazily(
    recipe: Recipe, rows: Any, order: Order, schema_of: SchemaOf, work: Callable[..., pd.DataFrame]
) -> Any:
    """Return the Dask DataFrame of what is found; its partitions are those of the rows."""
    from dask.delayed import delayed  # it is there: the rows are Dask's

    explainer, meta = recipe.explainer(), with_ids(rows._meta, order)
    if meta is not rows._meta:
        rows = rows.map_partitions(with_ids, order, meta=meta)
    order.check(explainer)
    held = [*columns_of(meta, explainer, order).values()]
    schema = schema_of(order, explainer, id_dtype(meta, order))
    # One key of the graph, which all partitions refer to: the model and the data travel once.
    carried = delayed(recipe, name=f"counterpoint-{recipe.digest}", pure=True, traverse=False)
    return rows[held if order.id is None else [order.id, *held]].map_partitions(
        work_on_part, carried, order, work, meta=schema.meta(), clear_divisions=True
    )


def work_on_part(
    rows: pd.DataFrame, recipe: Recipe, order: Order, work: Callable[..., pd.DataFrame]
) -> pd.DataFrame:
    """Return what `work` makes of one partition; threads take turns if the model needs it."""
    explainer = recipe.explainer()
    with nullcontext() if order.is_shared(explainer) else recipe.turn:
        return work(explainer, rows, order)


def as_pandas(rows: Rows, explainer: Explainer, order: Order) -> pd.DataFrame:
    """Return rows as a pandas frame; of frames of other kinds only what is needed is read."""
    names = [column.name for column in explainer.schema.columns]
    if not is_frame(rows):
        return as_frame(rows, "rows", names if explainer.encoding.form.kind == "numpy" else None)
    empty = pd.DataFrame(columns=rows.columns if is_polars(rows) else rows.column_names)
    held = [*columns_of(empty, explainer, order).values()]
    frame = as_frame(rows.select(held), "rows")
    if order.id is not None:
        frame[order.id] = range(len(frame))  # to find the ids by, whatever their dtype
    return frame


def in_kind(rows: Rows, found: pd.DataFrame, schema: OutputSchema) -> Any:
    """Return what was found as a frame of the kind the rows are of; pandas if they are none."""
    if not is_frame(rows):
        return found
    if is_polars(rows):
        return in_polars(rows, found, schema)
    table = schema.table(found)
    if schema.id is None:
        return table
    return table.set_column(0, schema.id, rows[schema.id].take(found[schema.id].to_numpy()))


def in_polars(rows: Any, found: pd.DataFrame, schema: OutputSchema) -> Any:
    """Return what was found as a frame of polars, with the ids as the rows have them."""
    polars = sys.modules["polars"]
    columns = {}
    for name, kind in schema.types.items():
        column = found[name]
        cells = [None if gone else cell for gone, cell in zip(column.isna(), column, strict=True)]
        columns[name] = polars.Series(name, cells, dtype=kind.polars(polars))
    ids = (
        {} if schema.id is None else {schema.id: rows[schema.id].gather(found[schema.id].to_list())}
    )
    return polars.DataFrame(ids | columns)
