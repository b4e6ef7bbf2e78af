"""Adapters: models that are asked otherwise than with a frame, one kind per file.

An adapter is a `Scorer` (`scorer.py`). Each file has a function `adapted_...(model, classes)` that
returns one, or None if the model is not of its kind; `choice.py` asks them in turn. A framework is
never imported to find out: if it is not loaded, no object of it can have been passed.
"""
