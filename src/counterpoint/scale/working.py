"""Working: what every engine runs on a chunk, wherever its process is."""

from __future__ import annotations

import io

import pandas as pd

from counterpoint.models.needed import needed
from counterpoint.result.output import OutputSchema
from counterpoint.scale.order import Order
from counterpoint.scale.recipe import Recipe
from counterpoint.scale.rows import explain_rows


def work(recipe: Recipe, order: Order, rows: pd.DataFrame) -> bytes:
    """Return the counterfactuals of rows as an Arrow IPC stream: the same bytes everywhere."""
    explainer = recipe.explainer()
    id_dtype = "int64" if order.id is None else rows[order.id].dtype
    return packed(explain_rows(explainer, rows, order), order.schema_of(explainer, id_dtype))


def packed(frame: pd.DataFrame, schema: OutputSchema) -> bytes:
    """Return a frame of these columns as an Arrow IPC stream, compressed by zstd."""
    pa = needed("pyarrow", "a job", '"counterpoint[parquet]"')
    ipc = needed("pyarrow.ipc", "a job", '"counterpoint[parquet]"')
    table = schema.table(frame).combine_chunks()
    stream = io.BytesIO()
    options = ipc.IpcWriteOptions(compression=pa.Codec("zstd"))
    with ipc.new_stream(stream, table.schema, options=options) as writer:
        writer.write_table(table)
    return stream.getvalue()
