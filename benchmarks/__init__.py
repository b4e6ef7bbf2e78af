"""Measurements anyone can rerun; they use the public API and are not part of the wheel."""
