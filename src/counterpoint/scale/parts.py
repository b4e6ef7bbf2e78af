"""Parts: the output of a job, as Parquet files whose bytes depend on nothing but their rows.

The same lines in chunks of another size must give the same file. So lines are gathered into row
groups of a fixed size, each in one piece, before Arrow's writer sees them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, BinaryIO

from counterpoint.models.needed import needed

GROUP = 16_384  # lines in a row group


def write_part(file: BinaryIO, tables: Iterable[Any], schema: Any) -> None:
    """Write tables of Arrow, one after the other, as one Parquet file."""
    pa = needed("pyarrow", "a batch job", '"counterpoint[cli]"')
    parquet = needed("pyarrow.parquet", "a batch job", '"counterpoint[cli]"')
    writer = parquet.ParquetWriter(
        file, schema, version="2.6", compression="zstd", write_page_checksum=True
    )
    try:
        waiting = pa.Table.from_batches([], schema)
        for table in tables:
            waiting = pa.concat_tables([waiting, table])
            while waiting.num_rows >= GROUP:
                writer.write_table(waiting.slice(0, GROUP).combine_chunks(), row_group_size=GROUP)
                waiting = waiting.slice(GROUP)
        if waiting.num_rows:
            writer.write_table(waiting.combine_chunks(), row_group_size=GROUP)
    finally:
        writer.close()


def read_payload(payload: bytes, schema: Any) -> Any:
    """Return the table an engine's answer holds; ``pyarrow.ArrowInvalid`` if it is damaged."""
    pa = needed("pyarrow", "a batch job", '"counterpoint[cli]"')
    table = pa.ipc.open_stream(pa.BufferReader(payload)).read_all()
    return table.replace_schema_metadata(None).cast(schema)
