"""Modules, folders and parameter lists stay small enough to be read."""

from __future__ import annotations

from collections import Counter

from scripts.structure import functions_of
from tests.architecture.known_offenders import LONG_MODULES, MANY_PARAMETERS
from tests.architecture.package import files, judge, modules

MOST_MODULES = 124
MOST_LINES = 450
MOST_FILES = 13
MOST_PARAMETERS = 7

# What users call may ask for more, where each parameter is one they choose by its name.
DOORS = {
    "counterpoint.batch.files explain_files",
    "counterpoint.batch.frame explain_frame",
    "counterpoint.batch.frame verify_frame",
    "counterpoint.explainer.explainer Explainer.__init__",
    "counterpoint.explainer.explainer Explainer.explain_each",
    "counterpoint.explainer.explainer Explainer.explain_many",
    "counterpoint.models.adapters.remote RemoteModel.__init__",
}


def test_there_are_not_too_many_modules() -> None:
    assert len(files()) <= MOST_MODULES


def test_modules_are_short() -> None:
    long = {name for name, module in modules().items() if module.n_lines > MOST_LINES}

    judge(long, LONG_MODULES, f"A module has at most {MOST_LINES} lines")


def test_folders_hold_few_files() -> None:
    sizes = Counter(module.folder for module in modules().values() if not module.is_init)

    judge(
        {folder for folder, size in sizes.items() if size > MOST_FILES},
        (),
        f"A folder has at most {MOST_FILES} files",
    )


def test_functions_take_few_parameters() -> None:
    wide = {
        f"{each.module} {each.name}"
        for each in functions_of(modules())
        if len(each.parameters) > MOST_PARAMETERS
    }

    judge(wide - DOORS, MANY_PARAMETERS, f"A function has at most {MOST_PARAMETERS} parameters")


def test_the_doors_exist() -> None:
    every = {f"{each.module} {each.name}" for each in functions_of(modules())}

    assert not DOORS - every
