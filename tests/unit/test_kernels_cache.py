from __future__ import annotations

import ast
import itertools
import os
import subprocess
import sys
from pathlib import Path

import pytest

import counterpoint
from counterpoint.kernels import (
    PACKAGE,
    SOURCES,
    KernelFiles,
    mark_as_complete,
    sole_compiler,
    source_stamp,
)

TYPES = ["float64", "float32", "int64", "uint8"]
MODULE = """
import sys
import numpy as np
from counterpoint.kernels import kernel

@kernel
def add_up(values):
    total = 0.0
    for value in values:
        total += value
    return total

print(add_up(np.arange(10).astype(sys.argv[1])))
"""


def files_in(folder: Path, stamp: str = "now") -> KernelFiles:
    return KernelFiles(str(folder), "module.function-1.py311", stamp)


@pytest.mark.parametrize("order", list(itertools.permutations(["a", "b", "c"])))
def test_whoever_writes_last_nobody_is_handed_what_another_compiled(
    tmp_path: Path, order: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of them have seen an empty index, as if they had begun at the same time."""
    for key in order:
        writer = files_in(tmp_path)
        monkeypatch.setattr(writer, "_load_index", dict)
        writer.save(key, f"code of {key}")

    loaded = {key: files_in(tmp_path).load(key) for key in order}

    assert loaded[order[-1]] == f"code of {order[-1]}"
    assert all(code in (None, f"code of {key}") for key, code in loaded.items())


def test_several_types_are_kept_and_what_older_sources_left_is_deleted(tmp_path: Path) -> None:
    old, new = files_in(tmp_path, "before"), files_in(tmp_path, "now")
    other = tmp_path / "module.function_two-9.py311.1.nbc"
    other.touch()
    old.save("a", "old a")

    new.save("a", "new a")
    new.save("b", "new b")

    assert (new.load("a"), new.load("b"), old.load("a")) == ("new a", "new b", None)
    assert len(list(tmp_path.glob("*.nbc"))) == 3
    assert other.exists()


def test_processes_that_compile_at_once_leave_the_right_code_for_every_type(
    tmp_path: Path,
) -> None:
    module = tmp_path / "module.py"
    module.write_text(MODULE)
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(counterpoint.__file__).parents[1]),
        "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
    }
    for _ in range(2):  # the first compile, the second load
        running = [
            subprocess.Popen(  # noqa: S603 - our own interpreter and code
                [sys.executable, str(module), name], env=environment, stdout=subprocess.PIPE
            )
            for name in TYPES
        ]
        answers = [process.communicate()[0].decode().strip() for process in running]

        assert answers == ["45.0"] * len(TYPES)


def test_the_stamp_differs_if_a_module_of_any_kernel_layer_differs(tmp_path: Path) -> None:
    measure = source_stamp.__wrapped__
    (tmp_path / "rules").mkdir()
    (tmp_path / "cli").mkdir()
    file, outside = tmp_path / "rules" / "repair.py", tmp_path / "cli" / "main.py"
    file.write_text("x = 1")
    before = measure(tmp_path)

    outside.write_text("no kernel is made of it")
    assert measure(tmp_path) == before

    file.write_text("x = 10")
    assert measure(tmp_path) != before


def modules_used(tree: ast.Module) -> set[str]:
    """Return the modules of the package that a module imports from, when it is run."""
    found = [node.module or "" for node in tree.body if isinstance(node, ast.ImportFrom)]
    return {name for name in found if name.startswith("counterpoint.")}


def test_the_stamp_covers_every_module_that_kernels_or_their_constants_come_from() -> None:
    trees = {file: ast.parse(file.read_text()) for file in PACKAGE.rglob("*.py")}
    holders = {f for f, tree in trees.items() if "counterpoint.kernels" in modules_used(tree)}
    named = {name for file in holders for name in modules_used(trees[file])}
    paths = [PACKAGE.joinpath(*name.split(".")[1:]).with_suffix(".py") for name in named]
    watched = {file for pattern in SOURCES for file in PACKAGE.glob(pattern)}

    assert len(holders) > 10
    assert holders | {path for path in paths if path.exists()} <= watched | {
        PACKAGE / "explainer" / "warm_up.py",  # compiles kernels, and has none
        PACKAGE / "explainer" / "schedule.py",  # tells it how many cores there are
    }


def test_marks_of_older_sources_go_and_a_folder_that_is_none_has_no_mark(tmp_path: Path) -> None:
    old, new = tmp_path / "counterpoint-1.complete", tmp_path / "counterpoint-2.complete"
    mark_as_complete(old)

    mark_as_complete(new)
    mark_as_complete(new / "no folder" / "counterpoint-3.complete")

    assert (old.exists(), new.exists()) == (False, True)


def test_one_process_compiles_while_others_wait_until_their_patience_ends(tmp_path: Path) -> None:
    mark, entered = tmp_path / "counterpoint-1.complete", list[str]()

    with sole_compiler(mark), sole_compiler(mark, patience=0.2):
        entered.append("in the end")
    with sole_compiler(mark, patience=0.0):
        entered.append("at once")

    assert entered == ["in the end", "at once"]
