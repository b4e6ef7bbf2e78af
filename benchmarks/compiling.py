"""What compiling costs: the kernels of a default search by CPU seconds and size, longest first.

    python -m benchmarks.compiling [--top 40]

All of them are compiled in this one process, for a cache of its own, without the second process
that shares the work in a warm-up. *Python* is what Numba spends before LLVM, the functions that a
kernel calls included; *LLVM* is optimizing and writing machine code; the size is that of LLVM's
code before it is optimized, for each of the types that a kernel is compiled for.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from typing import Any

import numpy as np
from numba.core import config, event


class KernelCosts(event.Listener):
    """Seconds of the processor and bytes by kernel, noted while kernels are compiled."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, float, float, int]] = []
        self._began: list[float] = []
        self._llvm, self._size = 0.0, 0

    def on_start(self, event: Any) -> None:  # noqa: ARG002 - Numba's name
        """Note when a function begins."""
        self._began.append(time.process_time())
        if len(self._began) == 1:
            self._llvm, self._size = 0.0, 0

    def on_end(self, event: Any) -> None:
        """Note what a kernel took, with all that it calls."""
        spent = time.process_time() - self._began.pop()
        if not self._began and self._size:  # else it came from the cache
            function = event.data["dispatcher"].py_func
            name = f"{function.__module__.removeprefix('counterpoint.')}.{function.__name__}"
            self.lines.append((name, spent - self._llvm, self._llvm, self._size))

    def timed(self, step: Any, *, is_first: bool = False) -> Any:
        """Return a step of a kernel's library on the clock of LLVM."""

        def timed(library: Any) -> None:
            if is_first:
                self._size += len(str(library._final_module))
            start = time.process_time()
            step(library)
            self._llvm += time.process_time() - start

        return timed

    def as_text(self, top: int) -> str:
        """Return the longest, and all together."""
        lines = sorted(self.lines, key=lambda line: -line[1] - line[2])
        sums = np.array([line[1:] for line in lines]).sum(axis=0)
        rows = [*lines[:top], (f"all {len(lines)}", *sums)]
        return "\n".join(
            [f"{'kernel':<60}{'Python':>8}{'LLVM':>8}{'both':>8}{'kB':>8}"]
            + [f"{n:<60}{p:>8.2f}{c:>8.2f}{p + c:>8.2f}{s / 1000:>8.0f}" for n, p, c, s in rows]
        )


def measured() -> KernelCosts:
    """Compile the kernels of a default search; nothing may have been compiled in this process."""
    from counterpoint import compiling
    from counterpoint.explainer import warm_up
    from counterpoint.explainer.explainer import Explainer

    costs, code = KernelCosts(), compiling.KernelCode
    register: Any = event.register  # which has no types
    register("numba:compile", costs)
    optimize, finish = code._optimize_final_module, code._finalize_final_module
    code._optimize_final_module = costs.timed(optimize, is_first=True)  # type: ignore[method-assign]
    code._finalize_final_module = costs.timed(finish)  # type: ignore[method-assign]
    warm_up._is_done.append(True)  # no second process
    with warm_up.uncollected():
        warm_up.use_all(Explainer)
    return costs


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--top", type=int, default=40, help="how many kernels are listed")
    top = parser.parse_args().top
    with tempfile.TemporaryDirectory() as folder:
        settings: Any = config  # NUMBA_CACHE_DIR was read when Numba was imported
        settings.CACHE_DIR = folder
        print(measured().as_text(top))
