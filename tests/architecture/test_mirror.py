"""Unit tests mirror the tree: each is named after a module, and each module has one."""

from __future__ import annotations

import re

import pytest
from tests.architecture.known_offenders import WITHOUT_UNIT_TEST
from tests.architecture.package import ROOT, files, judge, modules

UNIT = ROOT / "tests" / "unit"

# Modules whose laws need more than one module, or another process: where they are tested.
ELSEWHERE = {
    "__main__": "integration/test_command_line.py",
    "batch.engines.cluster": "cluster/test_dask_engine.py",
    "batch.engines.dask": "cluster/test_dask_engine.py",
    "batch.frame": "integration/batch/test_explain_frame.py",
    "explorer.sessions": "integration/test_explorer.py",
    "models.adapters.frameworks": "integration/test_adapters.py",
    "models.adapters.remote": "integration/test_remote_model.py",
    "problem.objectives": "property/test_distance_laws.py",
    "result.choosing.interview": "property/test_choosing_laws.py",
    "search.explore.moves": "property/test_moves_laws.py",
    "search.nsga2.operators": "property/test_dominance_laws.py",
    "testing": "contract/test_objectives.py",
}
# What a test says to reach its module, if it does not import that.
THROUGH = {
    "__main__": '"-m", "counterpoint"',
    "batch.frame": "cp.explain_frame(",
    "models.adapters.frameworks": 'framework("torch")',
}
# Modules that hold names only.
NOTHING_TO_TEST = {"version"}


def module_of(test: str) -> str | None:
    """Return the module that a unit test is named after: the one of the longest name."""
    *folders, name = test.split("/")
    words = re.sub(r"^test_|\.py$", "", name).split("_")
    names = (".".join([*folders, "_".join(words[:end])]) for end in range(len(words), 0, -1))
    known = {name.partition(".")[2] for name in modules()}
    return next((name for name in names if name in known), None)


def unit_tests() -> list[str]:
    """Return the unit tests by their paths below tests/unit."""
    return sorted(str(file.relative_to(UNIT)) for file in UNIT.rglob("test_*.py"))


@pytest.mark.parametrize("test", unit_tests())
def test_a_unit_test_is_named_after_a_module(test: str) -> None:
    folder = test.rpartition("/")[0].replace("/", ".")

    assert module_of(test) or folder == "datasets"


def test_every_module_has_a_unit_test_or_is_tested_elsewhere() -> None:
    tested = {module_of(test) for test in unit_tests()} | set(ELSEWHERE) | NOTHING_TO_TEST

    judge(
        set(files()) - tested,
        WITHOUT_UNIT_TEST,
        "Each module has tests/unit/<folder>/test_<module>.py",
    )


def test_only_modules_that_have_no_unit_test_are_said_to_be_tested_elsewhere() -> None:
    tested = {module_of(test) for test in unit_tests()}

    wrong = sorted((set(ELSEWHERE) | NOTHING_TO_TEST) - (set(files()) - tested))

    assert not wrong, f"take these off the lists in {__file__}: {wrong}"


@pytest.mark.parametrize("module", sorted(ELSEWHERE))
def test_a_test_elsewhere_imports_its_module_or_says_how_it_reaches_it(module: str) -> None:
    text = (ROOT / "tests" / ELSEWHERE[module]).read_text()
    folder, _, name = module.rpartition(".")
    direct = rf"counterpoint\.{re.escape(module)}\b"
    from_folder = rf"from counterpoint\.{re.escape(folder)} import .*\b{name}\b"

    is_imported = re.search(f"{direct}|{from_folder}", text) is not None

    assert is_imported != (module in THROUGH)
    assert THROUGH.get(module, "") in text


def test_every_test_that_the_gate_names_is_there() -> None:
    """Pytest ends with an error where one was moved, but only the gate would say so."""
    texts = [(ROOT / name).read_text() for name in (".ci/run", "Makefile", "benchmarks/Makefile")]

    named = {name for text in texts for name in re.findall(r"\btests/[\w/]+\.py", text)}

    assert len(named) > 5
    assert not sorted(name for name in named if not (ROOT / name).is_file())
