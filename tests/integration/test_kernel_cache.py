"""Kernels are compiled once per machine; the user is told then, and only then."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import counterpoint

MESSAGE = "compiling the kernels of counterpoint, once on this machine"
USES_A_KERNEL = (  # one of the small ones
    "import numpy as np\n"
    "from counterpoint.streams import row_keys, uniforms\n"
    "print(uniforms(row_keys(0, np.zeros((1, 1))), 0, 0, 1, 1).shape)"
)


def run(package: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Use a kernel in a fresh process, with the package found in a folder."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA")}
    return subprocess.run(  # noqa: S603 - our own interpreter and code
        [sys.executable, "-c", USES_A_KERNEL],
        env={**kept, "PYTHONPATH": str(package), **environment},
        cwd=package,
        capture_output=True,
        text=True,
        check=True,
    )


def test_the_user_is_told_while_kernels_are_compiled_and_not_again(tmp_path: Path) -> None:
    package = Path(counterpoint.__file__).parents[1]

    first = run(package, NUMBA_CACHE_DIR=str(tmp_path))
    second = run(package, NUMBA_CACHE_DIR=str(tmp_path))

    assert first.stdout == second.stdout == "(1, 1, 1)\n"
    assert first.stderr.count(MESSAGE) == 1
    assert second.stderr == ""


def test_an_installation_that_cannot_be_written_to_uses_the_users_cache(tmp_path: Path) -> None:
    """A plain file where the cache folder would be: not even root can write into it."""
    installed, home = tmp_path / "installed", tmp_path / "home"
    home.mkdir()
    shutil.copytree(
        Path(counterpoint.__file__).parent,
        installed / "counterpoint",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    for folder in [installed / "counterpoint", *(installed / "counterpoint").rglob("*")]:
        if folder.is_dir():
            (folder / "__pycache__").touch()
    places = {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")}

    first, second = run(installed, **places), run(installed, **places)

    assert MESSAGE in first.stderr
    assert second.stderr == ""
    assert list(home.rglob("*.nbi"))
    assert not list(installed.rglob("*.nbi"))
