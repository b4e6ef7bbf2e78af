"""The tree shows the flow of the data, and imports follow it: never against the stream."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from scripts.structure import Layers, cycles, import_graph
from tests.architecture.known_offenders import AGAINST_LAYERS, IN_CYCLES
from tests.architecture.package import judge, modules

# A module may import from its own layer and from those before it, wherever the import stands: at
# the top, in a function, or under TYPE_CHECKING. A dotted name is a layer inside a folder.
LAYERS = [
    {"arrays", "errors", "version"},
    {"checks", "compiling", "progress"},
    {"kernels"},
    {"streams"},
    {"table"},
    {"neighbours"},
    {"density"},
    {"models"},
    {"rules"},
    {"problem"},
    {"search"},
    {
        "result",
        "result.file.document",
        "result.long_table",
    },
    {"result.facts"},
    {"result.data"},
    {"result.ways"},
    {"result.choosing"},
    {"result.judgement"},
    {"result.words"},
    {"result.choosing.interview"},
    {"result.figures"},
    {"result.report"},
    {"result.file"},
    {"result.counterfactuals", "result.shown"},
    {"result.file.loading"},
    {"explainer"},
    {"datasets"},
    {"batch"},
    {"__init__", "testing"},
    {"demo", "cli", "explorer"},
    {"__main__"},
]


def test_every_module_has_a_layer() -> None:
    layers = Layers(LAYERS)

    assert not [name for name in modules() if layers.place_of(name) is None]


def test_modules_import_only_from_their_own_layer_and_those_before_it() -> None:
    layers = Layers(LAYERS)

    against = {
        f"{name} -> {other}"
        for name, others in import_graph(modules()).items()
        for other in others
        if layers.is_against(name, other)
    }

    judge(against, AGAINST_LAYERS, "A module imports only from its own layer and those before it")


def test_no_modules_import_each_other_in_a_circle() -> None:
    found = cycles(import_graph(modules()))

    judge(
        {name for members in found for name in members},
        IN_CYCLES,
        "No module is in an import cycle, imports for type checks and in functions included",
    )


def test_the_layers_are_read_by_the_script_that_counts() -> None:
    assert Layers.read(Path(__file__)).is_against("counterpoint.table.schema", "counterpoint.cli")


def test_importing_counterpoint_loads_nothing_heavy() -> None:
    code = "import sys, counterpoint; print(*sys.modules)"

    loaded = subprocess.run(  # noqa: S603 - our own interpreter and code
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()

    heavy = {"numpy", "pandas", "numba", "scipy", "sklearn", "moocore"}
    assert not (heavy | {"narwhals", "polars", "pyarrow"}) & set(loaded)


def test_explaining_a_row_loads_no_optional_package() -> None:
    code = (
        "import sys, pandas as pd, counterpoint as cp\n"
        "data = pd.DataFrame({'a': [0, 1, 2, 3]})\n"
        "cp.Explainer(lambda rows: rows['a'] / 3, data).explain({'a': 0}, (0.5, 1.0))\n"
        "print(*sys.modules)"
    )

    loaded = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()

    assert not {"sklearn", "polars", "altair", "dask", "fastapi", "rich"} & set(loaded)
