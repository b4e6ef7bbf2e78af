"""Say what would have had to be different for the model to decide otherwise.

The Pareto set of counterfactual explanations of one row of a table, for any model that scores it
(Dandl, Molnar, Binder, Bischl 2020). Names are loaded on first use, so importing is cheap.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from counterpoint.version import __version__ as __version__

if TYPE_CHECKING:
    from counterpoint.batch.files import Summary, explain_files
    from counterpoint.batch.frame import explain_frame, verify_frame
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

_HOMES = {
    "AcceleratorWarning": "errors",
    "CannotWrite": "errors",
    "Categorical": "table.features",
    "CounterpointError": "errors",
    "Counterfactuals": "result.counterfactuals",
    "DataWarning": "errors",
    "Date": "table.features",
    "Distance": "problem.own_objectives",
    "EngineError": "errors",
    "Explainer": "explainer.explainer",
    "Exact": "search.exact.finish",
    "Explore": "search.settings",
    "ForestPlausibility": "density.forest_density",
    "Gower": "neighbours.gower",
    "Integer": "table.features",
    "InvalidInput": "errors",
    "Judgement": "result.judgement",
    "Labels": "table.labels",
    "Limits": "problem.limits",
    "MissingDependency": "errors",
    "ModelWarning": "errors",
    "NICE": "search.run",
    "NSGA2": "search.settings",
    "NoSuchFile": "errors",
    "Objective": "problem.own_objectives",
    "Ordered": "table.features",
    "PredictorError": "errors",
    "Proof": "search.exact.proof",
    "Real": "table.features",
    "RandomSearch": "search.settings",
    "RemoteModel": "models.adapters.remote",
    "Schema": "table.schema",
    "Search": "search.settings",
    "Summary": "batch.files",
    "Target": "problem.target",
    "TooBusyError": "errors",
    "UnknownFeatureError": "errors",
    "Verification": "explainer.verification",
    "Way": "result.ways",
    "Ways": "result.ways",
    "WhatIf": "search.settings",
    "explain_files": "batch.files",
    "explain_frame": "batch.frame",
    "load": "result.file.loading",
    "load_logged": "result.file.loading",
    "load_many": "result.file.loading",
    "load_model": "models.files",
    "log_result": "result.file.loading",
    "one_output": "models.adapters.scorer",
    "save_many": "result.file.saving",
    "verify_frame": "batch.frame",
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
