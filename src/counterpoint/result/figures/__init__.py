"""Figures of a result: `frames` holds what is shown, `charts` draws it, `plots` is the door.

Each figure is a function ``x_data(found, ...)`` in `frames`, which returns frames by name and
needs no drawing library, and a function ``x(found, ...)`` in `charts`, whose chart holds those
frames under the same names. Columns have our names, never the caller's: whatever a feature or a
level is called is a value, and only ever shown as text.
"""
