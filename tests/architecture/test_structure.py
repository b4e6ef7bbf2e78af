"""What scripts/structure.py reads from sources, on a tiny package with one fault of each kind."""

from __future__ import annotations

from pathlib import Path

import pytest
from scripts.structure import (
    Function,
    Layers,
    Modules,
    components,
    cycles,
    duplicate_classes,
    find_package,
    functions_of,
    import_graph,
    public_doors,
    read_package,
)

SOURCES = {
    "__init__.py": """
from importlib import import_module
from tiny.doors import Door, enter
__all__ = ["Door", "enter"]
""",
    "doors.py": """
import tiny.base.tools
from .base import tools, VERSION
from tiny.base.frame import Frame
class Door(Frame):
    def __init__(self, key): ...
    def _lock(self): ...
def enter(a, b, /, c, d=1, *rest, e, f=2, g=3, **more):
    "Say what it does."
    def inside(x): ...
    return inside
def helper(): ...
""",
    "base/__init__.py": "VERSION = 1",
    "base/tools.py": """
import numpy
class Plan: ...
def load():
    from tiny.late import run
    import_module("tiny.named")
    import_module(numpy.name)
""",
    "base/frame.py": """
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    from ..late import Late
class Frame:
    @property
    def size(self): ...
    @classmethod
    def of(cls, a): ...
    @staticmethod
    def made(a, b): ...
""",
    "late.py": """
from tiny.base.frame import Frame
class Late:
    class Plan: ...
async def run(): ...
""",
    "named.py": "",
}


@pytest.fixture
def modules(tmp_path: Path) -> Modules:
    for name, text in SOURCES.items():
        file = tmp_path / "src" / "tiny" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text.lstrip())
    return read_package(find_package(tmp_path))


def function_of(modules: Modules, name: str) -> Function:
    """Return the function of some name."""
    return next(each for each in functions_of(modules) if each.name == name)


def test_modules_are_named_as_they_are_imported_and_know_their_folder(modules: Modules) -> None:
    folders = {name: module.folder for name, module in modules.items()}

    assert folders == {
        "tiny": "tiny",
        "tiny.base": "tiny.base",
        "tiny.base.frame": "tiny.base",
        "tiny.base.tools": "tiny.base",
        "tiny.doors": "tiny",
        "tiny.late": "tiny",
        "tiny.named": "tiny",
    }


def test_a_name_imported_from_a_folder_is_its_module_if_there_is_one(modules: Modules) -> None:
    assert import_graph(modules)["tiny.doors"] == {
        "tiny.base",  # for VERSION
        "tiny.base.tools",
        "tiny.base.frame",
    }


def test_imports_in_functions_and_by_text_count(modules: Modules) -> None:
    assert import_graph(modules)["tiny.base.tools"] == {"tiny.late", "tiny.named"}


def test_a_cycle_through_type_checking_is_found(modules: Modules) -> None:
    graph = import_graph(modules)

    assert cycles(graph) == [["tiny.base.frame", "tiny.late"]]
    assert cycles(graph, leave_out=["tiny.late"]) == []


def test_components_are_those_that_reach_each_other() -> None:
    graph = {"a": "b", "b": "c", "c": "ad", "d": "e", "e": "d", "f": "ax"}

    assert sorted(components(graph)) == [["a", "b", "c"], ["d", "e"], ["f"]]


def test_a_class_name_used_twice_is_found(modules: Modules) -> None:
    assert duplicate_classes(modules) == {"Plan": ["tiny.base.tools", "tiny.late"]}


def test_a_function_of_nine_parameters_is_found(modules: Modules) -> None:
    wide = [each for each in functions_of(modules) if len(each.parameters) > 7]

    assert [(each.module, each.name, len(each.parameters)) for each in wide] == [
        ("tiny.doors", "enter", 9)
    ]


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("Door.__init__", ("key",)),
        ("Frame.of", ("a",)),
        ("Frame.made", ("a", "b")),
        ("enter.inside", ("x",)),
    ],
)
def test_self_and_cls_are_no_parameters(
    modules: Modules, name: str, parameters: tuple[str, ...]
) -> None:
    assert function_of(modules, name).parameters == parameters


def test_lines_are_counted_with_and_without_the_docstring(modules: Modules) -> None:
    enter = function_of(modules, "enter")

    assert (enter.line, enter.n_lines, enter.n_code_lines) == (7, 4, 3)


def test_public_doors_are_listed_functions_and_methods_of_listed_classes(modules: Modules) -> None:
    assert public_doors(modules) == {
        ("tiny.doors", "enter"),
        ("tiny.doors", "Door.__init__"),
        ("tiny.base.frame", "Frame.size"),
        ("tiny.base.frame", "Frame.of"),
        ("tiny.base.frame", "Frame.made"),
    }


def test_a_call_to_a_later_layer_is_against_the_layers(tmp_path: Path) -> None:
    file = tmp_path / "layers.py"
    file.write_text('LAYERS = [{"base"}, {"base.frame", "late"}, {"__init__"}]')

    layers = Layers.read(file)

    assert layers.is_against("tiny.base.tools", "tiny.late")
    assert layers.is_against("tiny.base.tools", "tiny.base.frame")
    assert layers.is_against("tiny.late", "tiny")
    assert not layers.is_against("tiny.late", "tiny.base.tools")
    assert not layers.is_against("tiny.base.tools", "tiny.unknown")
    assert not Layers.read(tmp_path / "missing.py").is_against("tiny.base.tools", "tiny.late")


def test_a_checkout_with_no_package_or_several_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="must hold one package, found 0"):
        find_package(tmp_path)
