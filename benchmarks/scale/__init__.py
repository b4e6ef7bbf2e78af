"""Batch jobs measured and simulated: `make bench-scale`."""
