"""What we ask of a row: a model, a target, limits, and the four objectives."""
