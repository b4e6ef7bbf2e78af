"""Adapters: models that are asked otherwise than with a frame.

An adapter is a `Scorer` (`scorer.py`). For each kind of model a function `adapted_...(model,
classes)` returns one, or None if the model is not of its kind; `adapt` asks them in turn. A
framework is never imported to find out: if it is not loaded, no object of it can have been passed.
"""
