"""The door for many rows: frames and files of them, on threads or on a Dask cluster."""
