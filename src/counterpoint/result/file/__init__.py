"""The file format: one result as JSON, many results as Parquet; version 1."""
