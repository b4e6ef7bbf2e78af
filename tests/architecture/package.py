"""The package as the tests of its architecture read it, and how offenders are judged."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

from scripts.structure import Modules, find_package, read_package

ROOT = Path(__file__).parents[2]


@cache
def modules() -> Modules:
    """Return the modules of the package by their dotted names."""
    return read_package(find_package(ROOT))


def files() -> list[str]:
    """Return the modules without ``__init__.py``, dotted, without the package's own name."""
    return [name.partition(".")[2] for name, module in modules().items() if not module.is_init]


def judge(found: Iterable[str], known: Iterable[str], rule: str) -> None:
    """Fail if something unknown breaks a rule, or if something known no longer does."""
    found, known = set(found), set(known)
    new, mended = sorted(found - known), sorted(known - found)
    assert not new, f"{rule}, but see: {', '.join(new)}"
    assert not mended, (
        f"{', '.join(mended)}: mended or gone, so take it off its list in "
        "tests/architecture/known_offenders.py"
    )
