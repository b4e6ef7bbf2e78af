"""Batch jobs measured and simulated: `make -C benchmarks scale`."""
