"""What does the work of a batch job: threads of this process, or a Dask cluster."""
