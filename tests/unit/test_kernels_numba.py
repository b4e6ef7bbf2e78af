"""The private parts of Numba that kernels.py stands on: if one is gone, this says which."""

from __future__ import annotations

import inspect
from typing import Any

import numba
import pytest
from numba.core import (
    caching,
    codegen,
    compiler,
    compiler_machinery,
    event,
    inline_closurecall,
    ir,
    options,
    postproc,
    ssa,
    targetconfig,
)
from numba.core.registry import cpu_target
from numba.core.types.functions import BaseFunction
from numba.np import arrayobj

from counterpoint.compiling import prefetch
from counterpoint.kernels import KernelCache
from counterpoint.streams import _draw

PRIVATE = {
    caching.IndexDataCacheFile: ("_save_data", "_load_index", "_save_index", "load", "save"),
    caching.FunctionCache: (
        *("cache_path", "load_overload", "save_overload"),
        *("_load_overload", "_index_key", "_guard_against_spurious_io_errors"),
    ),
    event.Listener: ("on_start", "on_end"),
    codegen.JITCodeLibrary: (
        *("_optimize_functions", "_optimize_final_module", "_finalize_final_module"),
        *("get_pointer_to_function", "codegen", "enable_object_caching"),
    ),
    codegen.JITCPUCodegen: ("_module_pass_manager", "set_env"),
    compiler.Compiler: ("compile_extra", "define_pipelines"),
    compiler_machinery.PassManager: ("add_pass_after", "finalize"),
    inline_closurecall: ("copy",),
    postproc.PostProcessor: ("run",),
    targetconfig.TargetConfig: ("options",),
    ir.Inst: ("_rec_list_vars",),
    ssa: ("_run_ssa", "_run_block_rewrite"),
    BaseFunction: ("get_call_type",),
    arrayobj: ("fix_integer_index",),
}


@pytest.mark.parametrize("of", PRIVATE)
def test_numba_still_has_what_the_cache_of_kernels_overrides_or_calls(of: Any) -> None:
    gone = [name for name in PRIVATE[of] if not hasattr(of, name)]

    assert not gone, f"numba {numba.__version__} has no {of.__name__}.{gone}; see compiling.py"


def test_numba_still_keeps_the_fields_that_the_cache_of_kernels_reads() -> None:
    cache: Any = KernelCache(_draw.py_func)  # type: ignore[attr-defined]
    flags: Any = compiler.Flags

    assert hasattr(flags(), "_values")
    assert {"_cache_path", "_impl", "_py_func"} <= {*vars(cache)}
    assert {"_index_name", "_source_stamp", "_version"} <= {*vars(cache._cache_file)}
    assert list(inspect.signature(caching.IndexDataCacheFile).parameters) == [
        *("cache_path", "filename_base", "source_stamp")
    ]


def test_numba_still_keeps_the_function_behind_an_instruction() -> None:
    """By it the cache notices that the instruction is written otherwise."""
    assert inspect.isfunction(prefetch._defn)


def test_a_kernel_still_takes_its_cache_and_its_type_from_the_same_fields() -> None:
    dispatcher: Any = _draw

    assert isinstance(dispatcher._cache, KernelCache)
    assert isinstance(dispatcher._numba_type_, numba.types.Dispatcher)
    assert isinstance(dispatcher.targetctx.codegen().magic_tuple(), tuple)


@pytest.mark.parametrize("name", ["nogil", "error_model", "_nrt", "no_cfunc_wrapper", "inline"])
def test_numba_still_knows_the_options_of_kernels(name: str) -> None:
    assert issubclass(type(cpu_target.options), type)
    known = {*dir(cpu_target.options), *dir(options.TargetOptions)}

    assert name in known, f"numba {numba.__version__} does not know the option {name}"
