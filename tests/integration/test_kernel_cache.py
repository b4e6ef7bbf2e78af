"""Kernels are compiled once per machine; the user is told then, and only then."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import counterpoint
from counterpoint.explainer.warm_up import names_of_default_kernels

MESSAGE = "compiling kernels of counterpoint, once on this machine"
USES_A_KERNEL = (  # one of the small ones
    "import numpy as np\n"
    "from counterpoint.streams import row_keys, uniforms\n"
    "print(uniforms(row_keys(0, np.zeros((1, 1))), 0, 0, 1, 1).shape)"
)


SEARCHES = (
    "import pandas as pd, counterpoint as cp\n"
    "data = pd.DataFrame({'age': [20, 30, 40, 50], 'pay': [1.0, 2.5, 2.0, 3.5]})\n"
    "explainer = cp.Explainer(lambda rows: rows['age'] / 100, data)\n"
    "search = cp.Search(evaluations=100)\n"
    "found = explainer.explain(data.iloc[:1], (0.4, 1.0), search, constraints=['pay <= 3'])\n"
    "print(found.status)\n"
)
SEARCHES_FAR_OUT = (  # among so many rows that not all near a candidate are at hand
    "import numpy as np, pandas as pd, counterpoint as cp\n"
    "at = np.arange(20_000)\n"
    "data = pd.DataFrame({'age': at % 997, 'pay': at * 7919 % 20_011 / 10.0})\n"
    "explainer = cp.Explainer(lambda rows: rows['pay'] / 2001, data)\n"
    "found = explainer.explain(data.iloc[:1], (0.9, 1.0), cp.Search(evaluations=200))\n"
    "print(found.status)\n"
)
IS_STOPPED = f"try:\n    exec({SEARCHES!r})\nexcept KeyboardInterrupt:\n    print('stopped')\n"


def run(
    package: Path, code: str = USES_A_KERNEL, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Use a kernel in a fresh process, with the package found in a folder."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA")}
    return subprocess.run(  # noqa: S603 - our own interpreter and code
        [sys.executable, "-c", code],
        env={**kept, "PYTHONPATH": str(package), **environment},
        cwd=package,
        capture_output=True,
        text=True,
        check=True,
    )


def interrupt(package: Path, cache: Path) -> tuple[str, str]:
    """Press Ctrl-C as soon as a first search says that it compiles; return what is printed."""
    process = subprocess.Popen(  # noqa: S603 - our own interpreter and code
        [sys.executable, "-c", IS_STOPPED],
        env={**os.environ, "PYTHONPATH": str(package), "NUMBA_CACHE_DIR": str(cache)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    told = process.stderr.readline()
    process.send_signal(signal.SIGINT)
    printed, rest = process.communicate()
    return printed, told + rest


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


@pytest.mark.slow  # which compiles all kernels, into a folder of its own
def test_the_first_search_compiles_every_kernel_of_default_searches_and_later_ones_none(
    tmp_path: Path,
) -> None:
    package, cache = Path(counterpoint.__file__).parents[1], tmp_path / "cache"

    printed, told = interrupt(package, cache)
    assert printed == "stopped\n"
    assert re.search("compiled [0-9] of [0-9]+ kernels", told), told
    assert not list(cache.rglob("*.complete"))

    first = run(package, SEARCHES, NUMBA_CACHE_DIR=str(cache))
    kept = {file.name for file in cache.rglob("*.nb*")}
    second = run(package, SEARCHES + SEARCHES_FAR_OUT, NUMBA_CACHE_DIR=str(cache))

    assert first.stdout == "found\n"
    assert second.stdout == "found\nfound\n"
    assert first.stderr.count("compiling the kernels of counterpoint, once on this machine") == 1
    assert MESSAGE not in first.stderr  # nothing was left for later
    assert second.stderr == ""
    assert {file.name for file in cache.rglob("*.nb*")} == kept
    assert len(list(cache.rglob("*.complete"))) == 1
    names = {index.name.rpartition(".py")[0] for index in cache.rglob("*.nbi")}
    assert names == names_of_default_kernels()
