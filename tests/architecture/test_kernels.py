"""Kernels never count from the end of an array: no index in them is below 0.

Numba would look at every index for it, which keeps loops from becoming vector instructions; see
`_index_plainly` in compiling.py. `tests/integration/test_kernel_bounds.py` runs searches that look.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.architecture.package import modules

DECORATORS = {"kernel", "inner", "part"}


def compiled_functions(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    """Yield the functions of a module that Numba compiles."""
    for each in ast.walk(tree):
        if isinstance(each, ast.FunctionDef):
            names = {name.id for name in each.decorator_list if isinstance(name, ast.Name)}
            if names & DECORATORS:
                yield each


def counted_from_the_end(function: ast.FunctionDef) -> Iterator[str]:
    """Yield what is taken at an index that begins with a minus."""
    for each in ast.walk(function):
        if isinstance(each, ast.Subscript):
            inside = each.slice.elts if isinstance(each.slice, ast.Tuple) else [each.slice]
            for index in inside:
                if isinstance(index, ast.UnaryOp) and isinstance(index.op, ast.USub):
                    yield f"{function.name}: {ast.unparse(each)}"


def test_no_kernel_counts_from_the_end_of_an_array() -> None:
    trees = [module.tree for module in modules().values()]
    functions = [each for tree in trees for each in compiled_functions(tree)]

    found = [what for function in functions for what in counted_from_the_end(function)]

    assert len(functions) > 100
    assert not found, "write values[len(values) - 1]"


def test_an_index_from_the_end_is_seen() -> None:
    tree = ast.parse("@part\ndef f(v):\n    return v[-1] + v[0, -2] + v[i - 1]\n")

    found = [what for each in compiled_functions(tree) for what in counted_from_the_end(each)]

    assert found == ["f: v[-1]", "f: v[0, -2]"]
