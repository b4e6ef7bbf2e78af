"""How Numba compiles our functions: in less time, and as kernels, which count no references."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from importlib import import_module
from types import SimpleNamespace
from typing import Any, cast

from numba.core import cgutils, ir, ssa, transforms, types
from numba.core.analysis import compute_cfg_from_blocks
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, DefaultPassBuilder, Flags
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.ir import Assign, Var
from numba.core.ir_utils import build_definitions, replace_vars
from numba.core.postproc import PostProcessor, VariableLifetime
from numba.core.types.functions import BaseFunction
from numba.core.untyped_passes import InlineInlinables
from numba.extending import intrinsic


class KernelCode(JITCodeLibrary):
    """The code of a kernel, optimized once and together with all that it calls.

    Numba would optimize every function alone, again in each that calls it, and then all of it twice
    for the sake of references, which are not counted here.
    """

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        if not isinstance(self._codegen._module_pass_manager(), tuple):  # an older Numba
            super()._optimize_final_module()
            return
        passes, builder = self._codegen._module_pass_manager(opt=2)  # no slower, sooner done
        passes.run(self._final_module, builder)


class InnerCode(KernelCode):
    """The code of a function that kernels call: left as it is, without an address to call it at."""

    def _optimize_final_module(self) -> None:
        """Leave that to the kernels."""

    def _finalize_final_module(self) -> None:
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:  # noqa: ARG002 - Numba's name
        """Return 0, which says that there is no such address."""
        self._ensure_finalized()
        return 0

    @property
    def codegen(self) -> InnerCode:
        """Who is told of the function's environment, for which there is no place either."""
        return self

    def set_env(self, env_name: str, env: Any) -> None:
        """Forget the environment: only what handles Python's objects has a use for it."""


class KernelFlags(Flags):
    """Numba's flags, which it compares at every operator: here by what is set, not one by one."""

    __slots__ = ()

    def __hash__(self) -> int:
        return hash(KernelFlags)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Flags):
            return False
        ours, theirs, known = self._values, other._values, cast(Any, self).options
        if ours == theirs:
            return True
        return all(
            ours.get(name, known[name].default) == theirs.get(name, known[name].default)
            for name in ours.keys() | theirs.keys()
        )


@register_pass(mutates_CFG=False, analysis_only=False)
class ForwardCopies(FunctionPass):
    """Uses a variable itself where another is only its copy, as the arguments of a `part` are.

    Kernels are given tuples of tens of arrays: each copy is hundreds of numbers to LLVM.
    """

    _name = "forward_copies"

    def __init__(self) -> None:  # which Numba's class wants to be there
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        """Replace the copies; only those are looked at that are the same at any time."""
        code, known = state.func_ir, plainly_defined(state.func_ir.blocks)
        copied = {
            each.target.name: each.value
            for block in code.blocks.values()
            for each in block.body
            if isinstance(each, Assign)
            and isinstance(each.value, Var)
            and {each.target.name, each.value.name} <= known
        }
        if not copied:
            return False
        sources = {name: _source_of(name, copied) for name in copied}
        for block in code.blocks.values():
            block.body = [
                each
                for each in block.body
                if not (isinstance(each, Assign) and each.target.name in copied)
            ]
        replace_vars(code.blocks, sources)
        code._definitions = build_definitions(code.blocks)
        return True


def _source_of(name: str, copied: dict[str, Any]) -> Any:
    """Return the variable that a copy, or a copy of a copy, is of."""
    source = copied[name]
    while source.name in copied:
        source = copied[source.name]
    return source


def plainly_defined(blocks: dict[int, Any]) -> set[str]:
    """Return the variables that are assigned in one place, which comes before every use.

    Of them a copy may be taken for the original: neither changes without the other.
    """
    places: dict[str, list[tuple[int, int]]] = {}
    for label, block in blocks.items():
        for i, each in enumerate(block.body):
            if isinstance(each, Assign):
                places.setdefault(each.target.name, []).append((label, i))
    known = {name for name, found in places.items() if len(found) == 1}
    before = compute_cfg_from_blocks(blocks).dominators()
    for label, block in blocks.items():
        for i, each in enumerate(block.body):
            used = each.value if isinstance(each, Assign) else each
            for var in [used] if isinstance(used, Var) else getattr(used, "list_vars", list)():
                where, at = places.get(var.name, [(label, i)])[0]
                if where not in before[label] or (where == label and at >= i):
                    known.discard(var.name)
    return known


class KernelCompiler(Compiler):
    """Numba's compiler, writing kernels."""

    code: type[KernelCode] = KernelCode

    def compile_extra(self, func: Any) -> Any:
        """Compile a function."""
        state: Any = self.state
        state.flags = KernelFlags(state.flags)
        state.library = self.code(state.targetctx.codegen(), func.__qualname__)
        state.library.enable_object_caching()
        with _quickly():
            return super().compile_extra(func)

    def define_pipelines(self) -> list[Any]:
        """Return Numba's steps, and one of ours after functions are written into others."""
        steps: Any = DefaultPassBuilder.define_nopython_pipeline(self.state)
        steps.add_pass_after(ForwardCopies, InlineInlinables)
        steps.finalize()
        return [steps]


@contextlib.contextmanager
def _quickly() -> Iterator[None]:
    """Spare Numba what takes half of its time and is of no use to kernels.

    Whoever compiles holds Numba's lock, so that nobody else meets what stands in meanwhile.
    """
    # It imports all that arrays can do, which a process that only loads kernels has no use for.
    inlining = import_module("numba.core.inline_closurecall")
    indexing = import_module("numba.np.arrayobj")
    shortcuts: list[tuple[Any, str, Any]] = [
        (inlining, "copy", SimpleNamespace(deepcopy=lambda block: block)),
        (PostProcessor, "run", _run_lightly),
        (BaseFunction, "get_call_type", _recall_call_type),
        (ir.Inst, "_rec_list_vars", _list_vars),
        (ssa, "_run_ssa", _run_ssa_quickly),
        (indexing, "fix_integer_index", _index_plainly),
    ]
    originals = [(owner, name, getattr(owner, name)) for owner, name, _ in shortcuts]
    for owner, name, function in shortcuts:
        setattr(owner, name, function)
    try:
        yield
    finally:
        for owner, name, function in originals:
            setattr(owner, name, function)


# Numba copies each function that it writes into another, twice, with all variables for each block,
# though it has just made it; `copy` above hands on what it is given.

_run: Any = PostProcessor.run
_get_call_type: Any = BaseFunction.get_call_type
_run_ssa: Any = ssa._run_ssa
_rewrite: Any = ssa._run_block_rewrite
_known_calls: dict[Any, Any] = {}
_NO_VARS = frozenset({str, int, float, bool, type(None), ir.Loc, ir.Const, ir.Global, ir.FreeVar})


def _run_lightly(self: Any, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
    """Prepare code for the next step, without where each variable ends.

    Numba empties variables there, for the sake of references, which kernels do not count: tuples of
    tens of arrays would be read and overwritten number by number.
    """
    if self.func_ir.is_generator:
        _run(self, emit_dels, extend_lifetimes)
        return
    self.func_ir.blocks = transforms.canonicalize_cfg(self.func_ir.blocks)
    self.func_ir.variable_lifetime = VariableLifetime(self.func_ir.blocks)
    self.func_ir.generator_info = None


def _recall_call_type(self: Any, context: Any, args: Any, kws: Any) -> Any:
    """Return the types of a call of one of Numba's functions, as they were found before.

    Numba would try all that an operator can mean, to sets, texts and dates, at every use.
    """
    key = (self, context, tuple(args), tuple(kws.items()))
    found = _known_calls.get(key)
    if found is None:
        found = _known_calls[key] = _get_call_type(self, context, args, kws)
    return found


def _index_plainly(context: Any, builder: Any, kind: Any, index: Any, _: Any) -> Any:
    """Return an index as it is: kernels never count from the end of a list.

    Numba would look at every index whether it is below 0, so that a loop over neighbouring places
    could not become vector instructions. With `NUMBA_BOUNDSCHECK=1` what is below 0 is an error.
    """
    whole = types.intp if kind.signed else types.uintp
    return context.cast(builder, index, kind, whole)


def _list_vars(self: Any, value: Any) -> list[Any]:
    """Return the variables in the parts of an instruction; most of these are plain values."""
    if isinstance(value, Var):
        return [value]
    if isinstance(value, ir.Inst):
        return cast(list[Any], value.list_vars())
    if not isinstance(value, list | tuple | dict):
        return []
    found: list[Any] = []
    for each in value.values() if isinstance(value, dict) else value:
        kind = type(each)
        if kind is Var:
            found.append(each)
        elif kind not in _NO_VARS:
            found += _list_vars(self, each)
    return found


def _run_ssa_quickly(blocks: Any) -> Any:
    """Give each variable that is assigned twice several names, in the blocks that mention it.

    Numba would look through all blocks, and copy them, for every such variable.
    """
    mentioned = {
        label: {var.name for each in block.body for var in each.list_vars()}
        for label, block in blocks.items()
    }

    def rewrite(blocks: Any, states: Any, handler: Any) -> Any:
        name = states["varname"]
        some = {label: block for label, block in blocks.items() if name in mentioned[label]}
        return {**blocks, **_rewrite(some, states, handler)}

    cast(Any, ssa)._run_block_rewrite = rewrite
    try:
        return _run_ssa(blocks)
    finally:
        cast(Any, ssa)._run_block_rewrite = _rewrite


class InnerCompiler(KernelCompiler):
    """Numba's compiler, writing what kernels call."""

    code = InnerCode


def _write_prefetch(_: Any, array: Any, place: Any) -> Any:  # noqa: ARG001 - the second number
    """Return the types of `prefetch`, and how to write the processor's instruction for it."""

    def write(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        from numba.np.arrayobj import make_array  # who only loads kernels has no use for it

        start = make_array(signature.args[0])(context, builder, values[0]).data
        word, pointer, kinds = cgutils.int32_t, cgutils.voidptr_t, cast(Any, cgutils).ir
        kind = kinds.FunctionType(kinds.VoidType(), [pointer, word, word, word])
        told = builder.module.declare_intrinsic("llvm.prefetch", [pointer], kind)
        at = builder.bitcast(builder.gep(start, [values[1]]), pointer)
        builder.call(told, [at, word(0), word(3), word(1)])  # to read, to keep, of data
        return context.get_dummy_value()

    return types.void(array, types.intp), write


prefetch: Any = intrinsic(_write_prefetch)
