from __future__ import annotations

import itertools
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest
from tests.kernels import called

import counterpoint
from counterpoint import kernels, streams
from counterpoint.kernels import (
    KernelFiles,
    code_stamp,
    kernel_names,
    mark_as_complete,
    sole_compiler,
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

for name in sys.argv[1:]:
    print(add_up(np.arange(10).astype(name)))
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

    def start(*names: str) -> subprocess.Popen[str]:
        command = [sys.executable, str(module), *names]
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)  # noqa: S603

    compiling = [start(name) for name in TYPES]
    answers = [process.communicate()[0] for process in compiling]
    loaded, _ = start(*TYPES).communicate()

    assert answers == ["45.0\n"] * len(TYPES)
    assert loaded == "".join(answers)


def test_python_without_assertions_leaves_the_kernels_of_python_with_them(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text(MODULE)
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(counterpoint.__file__).parents[1]),
        "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
    }

    def run(*flags: str) -> dict[Path, bytes]:
        command = [sys.executable, *flags, str(module), "int64"]
        subprocess.run(command, env=environment, check=True, capture_output=True)  # noqa: S603
        return {each: each.read_bytes() for each in (tmp_path / "cache").rglob("*.nb?")}

    plain = run()
    both = run("-OO")

    assert {*plain.items()} < {*both.items()}
    assert run() == both


STAMPED = """
import math
import numpy as np
from counterpoint import streams
from counterpoint.kernels import inner, kernel

LIMIT = 3
STEPS = np.array([1, 2])

@inner
def small(value):
    return value < LIMIT

@inner
def count(values):
    n = 0
    for value in values:
        if small(value):
            n += STEPS[0]
    return n

@kernel
def total(values):
    "What it does."
    return count(values) + math.sqrt(2.0)
"""
NOTHING = "\n# a comment\nOTHER = 1\n"


def stamp_of(source: str) -> str:
    """Return the stamp of the kernel `total` of a module with such a source."""
    module: dict[str, Any] = {"__name__": "some_module"}
    exec(compile(source, __file__, "exec"), module)  # noqa: S102 - our own text
    return code_stamp(module["total"].py_func)


@pytest.mark.parametrize(
    "change",
    [
        ("LIMIT = 3", "LIMIT = 4"),
        ("np.array([1, 2])", "np.array([2, 2])"),
        ("value < LIMIT", "value <= LIMIT"),
        ("n = 0", "n = 1"),
        ("math.sqrt(2.0)", "math.sqrt(3.0)"),
        ("math.sqrt(2.0)", "math.log(2.0)"),
        ("import math", "import cmath as math"),
    ],
)
def test_a_kernel_is_compiled_anew_if_anything_it_is_made_of_differs(
    change: tuple[str, str],
) -> None:
    assert stamp_of(STAMPED.replace(*change)) != stamp_of(STAMPED)


@pytest.mark.parametrize(
    "change",
    [
        ("LIMIT = 3", f"LIMIT = 3{NOTHING}"),
        ("What it does.", "What it does, in other words."),
        ("import math", "import math\nimport os"),
    ],
)
def test_a_kernel_is_kept_if_only_words_or_lines_differ(change: tuple[str, str]) -> None:
    assert stamp_of(STAMPED.replace(*change)) == stamp_of(STAMPED)


def test_a_kernel_takes_nothing_whose_changes_would_go_unnoticed() -> None:
    with pytest.raises(TypeError, match=r"kernels cannot be made of \{\}: its changes would"):
        stamp_of(STAMPED.replace("LIMIT = 3", "LIMIT = {}"))


def test_functions_of_a_module_of_ours_count_like_those_imported_by_name() -> None:
    source = STAMPED.replace("math.sqrt(2.0)", "streams.finish(2)")
    first = stamp_of(source + "\nclass streams:\n    finish = None\n")

    assert stamp_of(source) not in (first, stamp_of(STAMPED))


def test_every_kernel_of_the_package_says_what_it_is_made_of() -> None:
    for module in walk_packages(counterpoint.__path__, "counterpoint."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
    functions = [kernels._kernels[name].py_func for name in kernel_names()]

    assert len({code_stamp(function) for function in functions}) == len(functions) > 30


def test_names_of_fields_are_part_of_the_key_of_machine_code() -> None:
    class Pair(NamedTuple):
        low: float
        high: float

    class Turned(NamedTuple):
        high: float
        low: float

    def key_of(pair: NamedTuple) -> Any:
        return kernels._fields_of(numba.typeof((pair, 1)))

    assert key_of(Pair(1.0, 2.0)) != key_of(Turned(1.0, 2.0))
    assert key_of(Pair(1.0, 2.0)) == key_of(Pair(2.0, 3.0))


def test_a_record_beside_other_arguments_has_a_key_that_names_its_fields() -> None:
    def key_of(*names: str) -> Any:
        record = np.zeros(1, [(name, "f8") for name in names])[0]
        return kernels._fields_of(numba.typeof((record, 1)))

    keys = {key_of("low", "high"), key_of("low", "high"), key_of("low", "top")}

    assert len(keys) == 2


def test_what_calls_a_kernel_for_tests_is_found_again_by_other_processes() -> None:
    """Numba looks for machine code by what a function encloses, which each process makes anew."""
    wrapped: Any = called(streams.skip)

    assert wrapped.py_func.__closure__ is None
    assert wrapped.py_func.__name__ == "call_counterpoint_streams_skip"


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
