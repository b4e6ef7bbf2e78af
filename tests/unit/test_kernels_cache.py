from __future__ import annotations

import itertools
import os
import subprocess
import sys
from pathlib import Path

import pytest

import counterpoint
from counterpoint.kernels import KernelFiles, source_stamp

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
