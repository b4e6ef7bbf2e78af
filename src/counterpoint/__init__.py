"""Say what would have had to be different for the model to decide otherwise.

The Pareto set of counterfactual explanations of one row of a table, for any model that scores it
(Dandl, Molnar, Binder, Bischl 2020). Names are loaded on first use, so importing is cheap.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from counterpoint.version import __version__ as __version__

if TYPE_CHECKING:
    from counterpoint.batch.files import explain_files
    from counterpoint.batch.frame import explain_frame, verify_frame
    from counterpoint.batch.job import Summary
    from counterpoint.density.forest_density import ForestPlausibility
    from counterpoint.errors import (
        AcceleratorWarning,
        CannotWrite,
        CounterpointError,
        DataWarning,
        EngineError,
        InvalidInput,
        MissingDependency,
        ModelWarning,
        NoSuchFile,
        PredictorError,
        TooBusyError,
        UnknownFeatureError,
    )
    from counterpoint.explainer.explainer import Explainer
    from counterpoint.explainer.verification import Verification
    from counterpoint.models.adapters.remote import RemoteModel
    from counterpoint.models.adapters.scorer import one_output
    from counterpoint.models.files import load_model
    from counterpoint.neighbours.gower import Gower
    from counterpoint.problem.limits import Limits
    from counterpoint.problem.own_objectives import Distance, Objective
    from counterpoint.problem.target import Target
    from counterpoint.result.counterfactuals import Counterfactuals
    from counterpoint.result.file.loading import load, load_logged, load_many, log_result
    from counterpoint.result.file.saving import save_many
    from counterpoint.result.judgement import Judgement
    from counterpoint.result.ways import Way, Ways
    from counterpoint.search.exact.finish import Exact
    from counterpoint.search.exact.proof import Proof
    from counterpoint.search.run import NICE
    from counterpoint.search.settings import NSGA2, Explore, RandomSearch, Search, WhatIf
    from counterpoint.table.features import Categorical, Date, Integer, Ordered, Real
    from counterpoint.table.labels import Labels
    from counterpoint.table.schema import Schema

# Which module each public name is loaded from.
_HOMES = {
    name: home
    for home, names in {
        "batch.files": "explain_files",
        "batch.frame": "explain_frame verify_frame",
        "batch.job": "Summary",
        "density.forest_density": "ForestPlausibility",
        "errors": "AcceleratorWarning CannotWrite CounterpointError DataWarning EngineError "
        "InvalidInput MissingDependency ModelWarning NoSuchFile PredictorError TooBusyError "
        "UnknownFeatureError",
        "explainer.explainer": "Explainer",
        "explainer.verification": "Verification",
        "models.adapters.remote": "RemoteModel",
        "models.adapters.scorer": "one_output",
        "models.files": "load_model",
        "neighbours.gower": "Gower",
        "problem.limits": "Limits",
        "problem.own_objectives": "Distance Objective",
        "problem.target": "Target",
        "result.counterfactuals": "Counterfactuals",
        "result.file.loading": "load load_logged load_many log_result",
        "result.file.saving": "save_many",
        "result.judgement": "Judgement",
        "result.ways": "Way Ways",
        "search.exact.finish": "Exact",
        "search.exact.proof": "Proof",
        "search.run": "NICE",
        "search.settings": "Explore NSGA2 RandomSearch Search WhatIf",
        "table.features": "Categorical Date Integer Ordered Real",
        "table.labels": "Labels",
        "table.schema": "Schema",
    }.items()
    for name in names.split()
}

__all__ = [  # noqa: RUF022 - sorted as plain text
    "AcceleratorWarning",
    "CannotWrite",
    "Categorical",
    "Counterfactuals",
    "CounterpointError",
    "DataWarning",
    "Date",
    "Distance",
    "EngineError",
    "Exact",
    "Explainer",
    "Explore",
    "ForestPlausibility",
    "Gower",
    "Integer",
    "InvalidInput",
    "Judgement",
    "Labels",
    "Limits",
    "MissingDependency",
    "ModelWarning",
    "NICE",
    "NSGA2",
    "NoSuchFile",
    "Objective",
    "Ordered",
    "PredictorError",
    "Proof",
    "RandomSearch",
    "Real",
    "RemoteModel",
    "Schema",
    "Search",
    "Summary",
    "Target",
    "TooBusyError",
    "UnknownFeatureError",
    "Verification",
    "Way",
    "Ways",
    "WhatIf",
    "explain_files",
    "explain_frame",
    "load",
    "load_logged",
    "load_many",
    "load_model",
    "log_result",
    "one_output",
    "save_many",
    "verify_frame",
]


def __getattr__(name: str) -> Any:
    """Load a public name from its module on first use."""
    if name not in _HOMES:
        raise AttributeError(f"module 'counterpoint' has no attribute {name!r}")
    value = getattr(import_module(f"counterpoint.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted([*__all__, "__version__"])
