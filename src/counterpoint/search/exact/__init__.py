"""The exact finish: what is proved of counterfactuals of additive models by a solver."""
