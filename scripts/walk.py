"""Measure how much of the package one has to read: the way of a call, and the size of the tree.

Usage::

    python scripts/walk.py                   # the modules that each journey passes through
    python scripts/walk.py --counts          # modules, folders, functions, parameters, cycles
    python scripts/walk.py --root ../other   # either of them for another checkout

A journey is something users do, such as ``explain(row, target)``, on a tiny table. All journeys are
made once before any is traced, so that kernels are compiled and modules loaded; what remains is
Python. Kernels do not count, for they run compiled; a constructor that `dataclass` writes does.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import os
import statistics
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any

HERE = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(HERE))  # run as a file, Python looks for modules in its folder only

from scripts import structure  # noqa: E402

LAYERS_FILE = Path("tests/architecture/test_imports.py")
MANY_LINES = 400
MANY_PARAMETERS = (5, 7)
TARGET = (0.5, 1.0)
ROW = {"income": 12, "debt": 4.5, "housing": "rent"}


@dataclass
class Trace:
    """Which modules of a package are entered, in order, and which of them calls which.

    Generated functions and compiled ones are told apart by their globals: those of the former are
    the module's, those that Numba shows for a kernel are empty.
    """

    package: str
    entered: dict[str, None] = field(default_factory=dict)
    calls: Counter[tuple[str, str]] = field(default_factory=Counter)
    is_on: bool = False

    @contextmanager
    def running(self) -> Iterator[None]:
        """Trace this thread and those it starts; threads that outlive the journey are let go."""
        threading.setprofile(self.note)
        self.is_on = True
        sys.setprofile(self.note)
        try:
            yield
        finally:
            sys.setprofile(None)
            self.is_on = False
            threading.setprofile(None)

    def note(self, frame: FrameType, event: str, _: object) -> None:
        """Note the call of a Python function of the package."""
        if not self.is_on or event != "call":
            return
        callee = self.module_of(frame)
        if callee is None:
            return
        self.entered.setdefault(callee)
        above = frame.f_back
        while above is not None and self.module_of(above) is None:
            above = above.f_back
        caller = None if above is None else self.module_of(above)
        if caller is not None and caller != callee:
            self.calls[caller, callee] += 1

    def module_of(self, frame: FrameType) -> str | None:
        """Return the module of the package that a frame belongs to, if it does."""
        name = str(frame.f_globals.get("__name__", ""))
        return name if name == self.package or name.startswith(f"{self.package}.") else None


@dataclass(frozen=True)
class Journey:
    """Something users do: what must be there before, which is not traced, and the deed itself."""

    title: str
    prepare: Callable[[Path], Any]
    go: Callable[[Any, Path], object]


def table() -> Any:
    """Return the tiny table: a whole number, a decimal one and a category."""
    pandas = import_module("pandas")
    n_rows = 24
    income = [10 + 7 * i % 31 for i in range(n_rows)]
    debt = [round(0.5 + 1.3 * i % 4.7, 1) for i in range(n_rows)]
    housing = [("own", "rent", "free")[i % 3] for i in range(n_rows)]
    return pandas.DataFrame({"income": income, "debt": debt, "housing": housing})


def accept(rows: Any) -> Any:
    """Return the probability that someone is accepted: a model that needs no library."""
    score = 0.1 * rows["income"] - 0.8 * rows["debt"] + 0.5 * (rows["housing"] == "own")
    return 1 / (1 + math.e**-score)


def new_explainer(_: Path) -> Any:
    """Return an explainer that has explained nothing yet."""
    return import_module("counterpoint").Explainer(accept, table())


def new_found(folder: Path) -> Any:
    """Return a result that nobody has looked at yet."""
    return new_explainer(folder).explain(ROW, TARGET)


def for_files(folder: Path) -> tuple[Any, Any, Path]:
    """Return the function for files, an explainer, and a file of three rows to search for."""
    rows, data = folder / "rows.csv", table()
    data[accept(data) < TARGET[0]].head(3).to_csv(rows, index=False)
    return import_module("counterpoint").explain_files, new_explainer(folder), rows


def explain_files(prepared: tuple[Any, Any, Path], folder: Path) -> object:
    """Explain the rows of a file by the default engine, which is that of threads."""
    explain, explainer, rows = prepared
    return explain(explainer, rows=rows, target=TARGET, out=folder / "out")


def journeys() -> list[Journey]:
    """Return what is traced; calls name no more than they must, so that they stay valid."""
    return [
        Journey(
            "Explainer(model, data)",
            lambda _: (import_module("counterpoint").Explainer, table()),
            lambda prepared, _: prepared[0](accept, prepared[1]),
        ),
        Journey(
            "explain(row, target)",
            new_explainer,
            lambda explainer, _: explainer.explain(ROW, TARGET),
        ),
        Journey("found.to_frame()", new_found, lambda found, _: found.to_frame()),
        Journey(
            "found.report(path)",
            new_found,
            lambda found, folder: found.report(folder / "report.html"),
        ),
        Journey("cp.explain_files(explainer, rows, target, out=out)", for_files, explain_files),
    ]


def made(journey: Journey, package: str) -> Trace:
    """Make a journey in a folder of its own, and return its trace."""
    trace = Trace(package)
    with TemporaryDirectory() as name:
        folder = Path(name)
        prepared = journey.prepare(folder)
        with trace.running():
            journey.go(prepared, folder)
    return trace


@dataclass(frozen=True)
class Way:
    """A journey as it is printed: modules in order, with what turns back on the way."""

    title: str
    modules: list[str]
    folders: list[str]
    against: dict[tuple[str, str], int]

    @property
    def returns(self) -> list[bool]:
        """Whether a step goes back to a folder that had been left before."""
        seen = self.folders
        return [seen[i] in seen[:i] and seen[i] != seen[i - 1] for i in range(len(seen))]

    @property
    def sizes(self) -> tuple[int, int, int, int, int]:
        """The figures of the summary, in the order of its columns."""
        n_back, n_pairs = sum(self.returns), len(self.against)
        n_calls = sum(self.against.values())
        return len(self.modules), len(set(self.folders)), n_back, n_pairs, n_calls


def traced_ways(root: Path) -> list[Way]:
    """Make every journey twice, the second time traced."""
    package = structure.find_package(root)
    files = structure.read_package(package)
    layers = structure.Layers.read(root / LAYERS_FILE)
    for journey in journeys():
        made(journey, package.name)
    ways = []
    for journey in journeys():
        trace = made(journey, package.name)
        against = {pair: n for pair, n in trace.calls.items() if layers.is_against(*pair)}
        folders = [files[name].folder for name in trace.entered]
        ways.append(Way(journey.title, list(trace.entered), folders, against))
    return ways


def print_ways(ways: Sequence[Way]) -> None:
    """Print a summary of all journeys and then the way of each."""
    print("Journeys: modules whose Python code runs, in order of first entry.")
    print("  turns back       steps to a folder that had been left before (marked <)")
    print(f"  against, calls   pairs of modules, and their calls, from a layer of {LAYERS_FILE}")
    print("                   to a later one, which the caller may not import")
    print()
    print(f"{'journey':<48}{'files':>6}{'folders':>9}{'turns back':>12}{'against':>9}{'calls':>8}")
    for way in ways:
        files, folders, back, pairs, calls = way.sizes
        print(f"{way.title:<48}{files:>6}{folders:>9}{back:>12}{pairs:>9}{calls:>8}")
    n_files = len({name for way in ways for name in way.modules})
    print(f"{'all of them together':<48}{n_files:>6}")
    for way in ways:
        print(f"\n{way.title}")
        for i, (name, is_back) in enumerate(zip(way.modules, way.returns, strict=True), start=1):
            print(f"{i:>4} {'<' if is_back else ' '} {name}")
        for (caller, callee), n_calls in sorted(way.against.items()):
            print(f"     against the layers: {caller} -> {callee} ({n_calls} calls)")


def print_counts(root: Path) -> None:
    """Print the size of a checkout's package and what makes it hard to read."""
    modules = structure.read_package(structure.find_package(root))
    print_sizes(modules)
    print_functions(modules)
    print_cycles(modules)
    shared = structure.duplicate_classes(modules)
    line("duplicate class names", len(shared))
    for name, homes in sorted(shared.items()):
        print(f"    {name}: {', '.join(homes)}")
    long = sorted((m.n_lines, m.name) for m in modules.values() if m.n_lines > MANY_LINES)
    line(f"modules above {MANY_LINES} lines", len(long))
    for n_lines, name in reversed(long):
        print(f"    {n_lines} {name}")


def line(title: str, value: object) -> None:
    """Print one line of the table."""
    print(f"{title:<52}{value!s:>8}")


def print_sizes(modules: structure.Modules) -> None:
    """Print how many modules, folders, classes and lines there are."""
    files = [module for module in modules.values() if not module.is_init]
    folders = Counter(module.folder for module in files)
    line("modules (without __init__.py)", len(files))
    line("__init__.py files", len(modules) - len(files))
    empty = {module.folder for module in modules.values()} - set(folders)
    line("folders", len(folders) + len(empty))
    for name in sorted({*folders, *empty}):
        print(f"    {folders[name]:>3} {name}")
    line("lines of Python", sum(module.n_lines for module in modules.values()))
    line("classes", sum(len(homes) for homes in structure.class_homes(modules).values()))


def print_functions(modules: structure.Modules) -> None:
    """Print how long functions and their lists of parameters are."""
    functions = structure.functions_of(modules)
    doors = structure.public_doors(modules)
    line("functions and methods", len(functions))
    print_lengths("with docstring", [(f.n_lines, where(f)) for f in functions])
    print_lengths("without docstring", [(f.n_code_lines, where(f)) for f in functions])
    by_width = sorted(functions, key=lambda f: (-len(f.parameters), f.module, f.name))
    line("longest parameter list", len(by_width[0].parameters))
    print(f"    {where(by_width[0])}{' (public door)' if is_door(by_width[0], doors) else ''}")
    inside = [f for f in by_width if not is_door(f, doors)]
    line("longest parameter list that is no public door", len(inside[0].parameters))
    print(f"    {where(inside[0])}")
    for bound in MANY_PARAMETERS:
        wide = [f for f in by_width if len(f.parameters) > bound]
        line(f"functions with more than {bound} parameters", len(wide))
        line("    of which public doors", sum(is_door(f, doors) for f in wide))
    print(f"    those with more than {max(MANY_PARAMETERS)} (* public door):")
    for f in by_width:
        if len(f.parameters) > max(MANY_PARAMETERS):
            decorators = " ".join(f"@{name}" for name in f.decorators)
            mark = "*" if is_door(f, doors) else " "
            print(f"    {len(f.parameters):>3} {mark} {where(f)} {decorators}".rstrip())


def print_lengths(title: str, lengths: Sequence[tuple[int, str]]) -> None:
    """Print median, 95th percentile and maximum of lines; the percentile by nearest rank."""
    ordered = sorted(lengths)
    line(f"lines of a function {title}, median", statistics.median(n for n, _ in ordered))
    line("    95th percentile", ordered[math.ceil(0.95 * len(ordered)) - 1][0])
    line("    longest", ordered[-1][0])
    print(f"    {ordered[-1][1]}")


def where(function: structure.Function) -> str:
    """Return where a function stands."""
    return f"{function.module}:{function.line} {function.name}"


def is_door(function: structure.Function, doors: set[tuple[str, str]]) -> bool:
    """Whether users call the function."""
    return (function.module, function.name) in doors


def print_cycles(modules: structure.Modules) -> None:
    """Print the import cycles, with the package's own ``__init__.py`` and without it.

    That file lists what users may import, so that it reaches nearly everything; a module that asks
    it for the version closes a cycle with all of that.
    """
    graph = structure.import_graph(modules)
    door = min(modules, key=len)
    for title, leave_out in ((f"without {door}/__init__.py", [door]), ("with it", [])):
        found = structure.cycles(graph, leave_out)
        line(f"import cycles {title}", len(found))
        line("    modules in them", sum(len(members) for members in found))
        for members in found:
            print(f"    {len(members)}: {', '.join(members)}")


def run_again(root: Path) -> int:
    """Run this script in a new process that finds the package in a checkout."""
    source = str(root / "src")
    if os.environ.get("PYTHONPATH", "").split(os.pathsep)[0] == source:
        raise SystemExit(f"the package is not loaded from {source} though PYTHONPATH names it.")
    paths = [source, os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
    command = [sys.executable, str(Path(__file__).resolve()), "--root", str(root)]
    return subprocess.run(command, env=environment, check=False).returncode  # noqa: S603


def main() -> int:
    """Print what is asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--counts", action="store_true", help="sizes, read from the sources")
    parser.add_argument("--root", type=Path, default=HERE, help="the checkout to measure")
    arguments = parser.parse_args()
    root = arguments.root.resolve()
    if arguments.counts:
        print_counts(root)
        return 0
    package = structure.find_package(root)
    found = importlib.util.find_spec(package.name)
    if found is None or found.origin != str(package / "__init__.py"):
        return run_again(root)
    print_ways(traced_ways(root))
    return 0


if __name__ == "__main__":
    sys.exit(main())
