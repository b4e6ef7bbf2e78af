"""Iterated F-racing (López-Ibáñez et al. 2016): tunes the parameters of a search on many instances.

`space` says what can be tuned, `tune` is the algorithm from top to bottom, `budget` what it may
spend, `race` one race of it, `friedman` who leaves a race, `sampling` who enters the next, `record`
what was paid for already, `draws` where chance comes from, and `synthetic` holds problems whose
best configuration is known.
"""
