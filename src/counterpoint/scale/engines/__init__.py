"""Who does the work of a job: threads of this process, or processes of Dask."""
