"""The tree shows the flow of the data, and imports follow it: never against the stream."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import counterpoint

PACKAGE = Path(counterpoint.__file__).parent

# A module may import from its own layer and from those before it.
LAYERS = [
    {"arrays", "errors"},
    {"checks", "interrupt", "kernels"},
    {"streams"},
    {"table"},
    {"neighbours"},
    {"density"},
    {"models"},
    {"rules"},
    {"problem"},
    {"search"},
    {"result"},
    {"explainer"},
    {"__init__", "datasets"},
    {"batch"},
    {"demo", "cli", "explorer"},
    {"__main__"},
]


def layer_of(module: str) -> int:
    """Return the layer of a module's first part below the package."""
    return next(i for i, names in enumerate(LAYERS) if module in names)


def imported_by(file: Path) -> set[str]:
    """Return the parts of our package a file imports when it runs, not only for type checks."""
    found: set[str] = set()
    for node in ast.walk(without_type_checking(ast.parse(file.read_text()))):
        if isinstance(node, ast.ImportFrom) and node.module:
            parts = node.module.split(".")
            if parts[0] == "counterpoint":
                names = [parts[1]] if len(parts) > 1 else [alias.name for alias in node.names]
                found |= set(names)
        elif isinstance(node, ast.Import):
            found |= {"__init__" for alias in node.names if alias.name == "counterpoint"}
    return found


def without_type_checking(tree: ast.Module) -> ast.Module:
    """Drop blocks guarded by TYPE_CHECKING."""
    tree.body = [
        node
        for node in tree.body
        if not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    ]
    return tree


@pytest.mark.parametrize(
    "file", sorted(PACKAGE.rglob("*.py")), ids=lambda file: str(file.relative_to(PACKAGE))
)
def test_a_module_imports_only_from_its_own_layer_and_those_before_it(file: Path) -> None:
    own = file.relative_to(PACKAGE).parts[0].removesuffix(".py")

    later = {name for name in imported_by(file) if layer_of(name) > layer_of(own)}

    assert not later


def test_importing_counterpoint_loads_nothing_heavy() -> None:
    code = "import sys, counterpoint; print(*sys.modules)"

    loaded = subprocess.run(  # noqa: S603 - our own interpreter and code
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()

    heavy = {"numpy", "pandas", "numba", "scipy", "sklearn", "moocore"}
    assert not (heavy | {"narwhals", "polars", "pyarrow"}) & set(loaded)


def test_explaining_a_row_needs_no_scikit_learn_and_no_polars() -> None:
    code = (
        "import sys, pandas as pd, counterpoint as cp\n"
        "data = pd.DataFrame({'a': [0, 1, 2, 3]})\n"
        "cp.Explainer(lambda rows: rows['a'] / 3, data).explain({'a': 0}, (0.5, 1.0))\n"
        "print('sklearn' in sys.modules or 'polars' in sys.modules)"
    )

    answer = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout

    assert answer.strip() == "False"
