"""What a package looks like to one who reads it: its modules, imports, classes and functions.

All of it is read from the sources; nothing of the package is imported. `scripts/walk.py` prints
what is found here, and the tests in tests/architecture may hold the package to it.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

Graph = Mapping[str, Iterable[str]]
Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
DEFINITIONS = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Module:
    """One file of a package; a folder's ``__init__.py`` goes by the name of the folder."""

    name: str
    file: Path
    tree: ast.Module
    n_lines: int

    @property
    def is_init(self) -> bool:
        """Whether the file is the ``__init__.py`` of its folder."""
        return self.file.name == "__init__.py"

    @property
    def folder(self) -> str:
        """The dotted name of the folder that the file is in."""
        return self.name if self.is_init else self.name.rpartition(".")[0]


Modules = Mapping[str, Module]


@dataclass(frozen=True)
class Function:
    """One function or method; `parameters` are without ``self`` and ``cls``."""

    module: str
    name: str
    line: int
    n_lines: int
    n_doc_lines: int
    parameters: tuple[str, ...]
    decorators: tuple[str, ...]

    @property
    def n_code_lines(self) -> int:
        """The lines without those of the docstring."""
        return self.n_lines - self.n_doc_lines


def find_package(root: Path) -> Path:
    """Return the folder of the one package in ``src`` of a checkout."""
    found = sorted(file.parent for file in (root / "src").glob("*/__init__.py"))
    if len(found) != 1:
        raise ValueError(f"{root / 'src'} must hold one package, found {len(found)}.")
    return found[0]


def read_package(package: Path) -> dict[str, Module]:
    """Return the modules of a package by their dotted names."""
    modules = {}
    for file in sorted(package.rglob("*.py")):
        parts = file.relative_to(package.parent).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        text = file.read_text(encoding="utf-8")
        modules[name] = Module(name, file, ast.parse(text), len(text.splitlines()))
    return modules


def import_graph(modules: Modules) -> dict[str, set[str]]:
    """Return which modules of the package each of them imports, wherever the import stands.

    Imports inside functions and under TYPE_CHECKING count as all others do. That importing a
    module also runs the ``__init__.py`` of the folders above it does not count.
    """
    return {name: imports_of(module, modules) - {name} for name, module in modules.items()}


def imports_of(module: Module, modules: Modules) -> set[str]:
    """Return the modules of the package that one of them imports."""
    found: set[str] = set()
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            source = source_of(node, module)
            for alias in node.names:
                inner = f"{source}.{alias.name}"
                found.add(inner if inner in modules else source)
        elif isinstance(node, ast.Call):
            found |= named_by_text(node)
    return found & set(modules)


def source_of(node: ast.ImportFrom, module: Module) -> str:
    """Return the full name of what a from-import takes its names from."""
    if not node.level:
        return node.module or ""
    parts = module.folder.split(".")
    above = parts[: len(parts) - node.level + 1]
    return ".".join([*above, *([node.module] if node.module else [])])


def named_by_text(call: ast.Call) -> set[str]:
    """Return the module that a call such as ``import_module("a.b")`` imports, if it is one."""
    is_import = ast.unparse(call.func).rpartition(".")[2] in {"import_module", "__import__"}
    if not is_import or not call.args or not isinstance(call.args[0], ast.Constant):
        return set()
    return {str(call.args[0].value)}


def components(graph: Graph) -> list[list[str]]:
    """Return the strongly connected components of a graph, by Tarjan's algorithm.

    Two nodes are in the same component if each of them can be reached from the other. Nodes that
    are only pointed to, and are no keys of the graph, are left out.
    """
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(set(graph[node]) & set(graph)):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            start = stack.index(node)
            found.append(sorted(stack[start:]))
            del stack[start:]

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return found


def cycles(graph: Graph, leave_out: Iterable[str] = ()) -> list[list[str]]:
    """Return the components of more than one module, the largest first.

    Parameters
    ----------
    graph : dict of module to the modules it imports
        As `import_graph` returns it.
    leave_out : iterable of module names, default=()
        Modules that are taken out of the graph first.
    """
    kept = {node: others for node, others in graph.items() if node not in set(leave_out)}
    found = [members for members in components(kept) if len(members) > 1]
    return sorted(found, key=lambda members: (-len(members), members))


def definitions(
    node: ast.AST, prefix: str = "", *, in_class: bool = False
) -> Iterator[tuple[str, Definition, bool]]:
    """Yield classes and functions with their dotted names and whether a class holds them."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, DEFINITIONS):
            name = prefix + child.name
            yield name, child, in_class
            yield from definitions(child, f"{name}.", in_class=isinstance(child, ast.ClassDef))
        else:
            yield from definitions(child, prefix, in_class=in_class)


def functions_of(modules: Modules) -> list[Function]:
    """Return all functions and methods of a package, those inside others too."""
    return [
        read_function(module.name, name, node, in_class=in_class)
        for module in modules.values()
        for name, node, in_class in definitions(module.tree)
        if not isinstance(node, ast.ClassDef)
    ]


def read_function(
    module: str, name: str, node: ast.FunctionDef | ast.AsyncFunctionDef, *, in_class: bool
) -> Function:
    """Return what is counted of one function."""
    decorators = tuple(ast.unparse(decorator) for decorator in node.decorator_list)
    parameters = parameters_of(node.args)
    if in_class and "staticmethod" not in decorators:
        parameters = parameters[1:]
    doc = node.body[0] if ast.get_docstring(node, clean=False) is not None else None
    return Function(
        module,
        name,
        node.lineno,
        n_lines=(node.end_lineno or node.lineno) - node.lineno + 1,
        n_doc_lines=(doc.end_lineno or doc.lineno) - doc.lineno + 1 if doc else 0,
        parameters=parameters,
        decorators=decorators,
    )


def parameters_of(arguments: ast.arguments) -> tuple[str, ...]:
    """Return the names of all parameters; ``*args`` and ``**kwargs`` count as one each."""
    named = [*arguments.posonlyargs, *arguments.args]
    rest = [arguments.vararg, *arguments.kwonlyargs, arguments.kwarg]
    return tuple(each.arg for each in [*named, *rest] if each is not None)


def class_homes(modules: Modules) -> dict[str, list[str]]:
    """Return the names of all classes with the modules that define one so named."""
    homes: dict[str, list[str]] = defaultdict(list)
    for module in modules.values():
        for _, node, _ in definitions(module.tree):
            if isinstance(node, ast.ClassDef):
                homes[node.name].append(module.name)
    return dict(homes)


def duplicate_classes(modules: Modules) -> dict[str, list[str]]:
    """Return the names that several classes share, with the modules that define them."""
    return {name: homes for name, homes in class_homes(modules).items() if len(homes) > 1}


def public_doors(modules: Modules) -> set[tuple[str, str]]:
    """Return module and name of the functions and methods that users call.

    They are the functions in ``__all__`` of the package, and the public methods of the classes in
    it and of the classes that these are made of.
    """
    waiting = list(public_homes(modules))
    doors: set[tuple[str, str]] = set()
    known = set(waiting)
    while waiting:
        home, wanted = waiting.pop()
        for name, node, in_class in definitions(modules[home].tree):
            owner, _, method = name.rpartition(".")
            is_public = not method.startswith("_") or method in {"__init__", "__call__"}
            if not isinstance(node, ast.ClassDef):
                if name == wanted or (in_class and owner == wanted and is_public):
                    doors.add((home, name))
            elif name == wanted:
                bases = {ast.unparse(base).partition("[")[0] for base in node.bases}
                new = {pair for base in bases for pair in homes_of(base, modules)} - known
                known |= new
                waiting += new
    return doors


def public_homes(modules: Modules) -> set[tuple[str, str]]:
    """Return module and name of what the package lists in ``__all__``."""
    door = modules[min(modules, key=len)]
    sources = {
        alias.asname or alias.name: source_of(node, door)
        for node in ast.walk(door.tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    listed = assigned(door.tree, "__all__")
    found: set[tuple[str, str]] = set()
    for name in listed if isinstance(listed, list | tuple) else ():
        homes = homes_of(name, modules)
        found |= homes & {(sources.get(name, ""), name)} or homes
    return found


def homes_of(name: str, modules: Modules) -> set[tuple[str, str]]:
    """Return module and name of the classes and functions of some name, not inside others."""
    return {
        (module.name, name)
        for module in modules.values()
        for node in module.tree.body
        if isinstance(node, DEFINITIONS) and node.name == name
    }


def assigned(tree: ast.Module, name: str) -> object:
    """Return the literal that a module assigns to a name, or None."""
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if name in {ast.unparse(target) for target in targets}:
                try:
                    return ast.literal_eval(node.value)
                except ValueError:
                    return None
    return None


class Layers:
    """Which part of a package may import which: a later layer from those before it.

    Parameters
    ----------
    layers : list of collections of str
        Names of modules or folders below the package, dotted if deeper; those that may import
        nothing else first.
    """

    def __init__(self, layers: Iterable[Iterable[str]] = ()) -> None:
        self._places = {name: place for place, names in enumerate(layers) for name in names}

    @classmethod
    def read(cls, file: Path) -> Layers:
        """Read the list ``LAYERS`` of a file; without one there are no layers."""
        text = file.read_text(encoding="utf-8") if file.exists() else ""
        found = assigned(ast.parse(text), "LAYERS")
        return cls(found if isinstance(found, list | tuple) else ())

    def place_of(self, module: str) -> int | None:
        """Return the layer of a module, by the longest listed name it lies in."""
        parts = module.split(".")[1:] or ["__init__"]
        names = (".".join(parts[:end]) for end in range(len(parts), 0, -1))
        return next((self._places[name] for name in names if name in self._places), None)

    def is_against(self, caller: str, callee: str) -> bool:
        """Whether a call goes from a layer to a later one, which the caller may not import."""
        start, end = self.place_of(caller), self.place_of(callee)
        return start is not None and end is not None and start < end
