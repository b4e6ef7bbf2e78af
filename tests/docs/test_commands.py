"""The commands that pages for developers and the forge's workflow name are ones that exist."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NAMED = (
    "README.md",
    "CONTRIBUTING.md",
    ".github/pull_request_template.md",
    ".github/workflows/checks.yml",
    ".ci/run",
)
FILES = [ROOT / name for name in NAMED]


def targets_of(makefile: Path) -> set[str]:
    """Return what can be made."""
    return set(re.findall(r"^([\w-]+):", makefile.read_text(), flags=re.MULTILINE))


@pytest.mark.parametrize("file", FILES, ids=NAMED)
def test_what_is_to_be_made_can_be_made(file: Path) -> None:
    text = file.read_text()
    called = re.compile(r"(?:^ *|run: |`|then )make(?: -C (\w+))? ([a-z][a-z-]+)", re.MULTILINE)

    for folder, target in called.findall(text):
        assert target in targets_of(ROOT / folder / "Makefile"), f"make {target}"


@pytest.mark.parametrize("file", FILES, ids=NAMED)
def test_modules_that_are_run_exist(file: Path) -> None:
    named = set(re.findall(r"python -m ([\w.]+)", file.read_text()))

    assert not {name for name in named if find_spec(name) is None}


def test_options_of_the_workflow_are_known() -> None:
    workflow = (ROOT / ".github/workflows/checks.yml").read_text()
    packages = (ROOT / "scripts/packages.py").read_text()

    (line,) = re.findall(r"python -m scripts\.packages (.*)", workflow)
    for option in re.findall(r"--[\w-]+", line):
        assert f'"{option}"' in packages


def test_extras_and_pythons_are_those_that_the_package_declares() -> None:
    workflow = (ROOT / ".github/workflows/checks.yml").read_text()
    project = (ROOT / "pyproject.toml").read_text()

    for extra in re.findall(r"-e \"\.\[([\w-]+)\]\"", workflow):
        assert re.search(rf"^{extra} = \[", project, flags=re.MULTILINE), extra
    declared = re.findall(r"Programming Language :: Python :: (3\.\d+)", project)
    (matrix,) = re.findall(r"python: \[(.*)\]", workflow)
    assert re.findall(r"3\.\d+", matrix) == declared
