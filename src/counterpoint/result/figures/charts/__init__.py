"""Altair charts of what `frames` holds: one function per figure. Only here is altair imported."""
