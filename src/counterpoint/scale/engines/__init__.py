"""What does the work of a job: threads of this process, or a Dask cluster."""
