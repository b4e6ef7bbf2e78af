"""Where compiled kernels are kept: safe if several processes compile at once, never out of date.

Numba's own cache has two faults that matter here. It numbers the files of a function: two processes
that compile it for different types at the same time may take the same number, and from then on one
type is handed the machine code of the other, which reads memory that is not there. And it looks at
the file of the function only, so that a change in what is compiled into it from other modules goes
unnoticed. Here files are named after what they hold, and all modules of kernels count.
"""

from __future__ import annotations

import contextlib
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

from numba.core.caching import FunctionCache, IndexDataCacheFile

PACKAGE = Path(__file__).parent
# The modules that kernels and the constants in them may come from.
SOURCES = ("*.py", "table/*.py", "models/*.py", "problem/**/*.py", "evolution/*.py", "result/*.py")


@cache
def source_stamp(package: Path = PACKAGE) -> str:
    """Return a text that differs if a module differs that kernels may be made of."""
    files = sorted({file for pattern in SOURCES for file in package.glob(pattern)})
    stats = [(file, file.stat()) for file in files]
    known = [f"{file.relative_to(package)} {s.st_mtime_ns} {s.st_size}" for file, s in stats]
    return blake2b("\n".join(known).encode(), digest_size=16).hexdigest()


class KernelFiles(IndexDataCacheFile):
    """The files of one function: an index of types, and machine code named after its type.

    What another process loses of the index by writing it at the same time is compiled again.
    """

    def save(self, key: Any, data: Any) -> None:
        """Keep machine code for a key; at no time does the index point to anything else."""
        name = self.name_of(key)
        self._save_data(name, data)
        known = {**self._load_index(), key: name}
        self._save_index(known)
        self._drop_all_but({*known.values()})

    def name_of(self, key: Any) -> str:
        """Return the name of the file for a key: another one if the sources differ."""
        text = f"{self._source_stamp} {self._version} {key!r}"
        digest = blake2b(text.encode(), digest_size=12).hexdigest()
        return self._index_name.removesuffix("nbi") + f"{digest}.nbc"

    def _drop_all_but(self, names: set[str]) -> None:
        """Delete what older sources left; who still looks for it compiles anew."""
        base = self._index_name.removesuffix("nbi")
        for file in Path(self._cache_path).glob("*.nbc"):
            if file.name.startswith(base) and file.name not in names:
                with contextlib.suppress(OSError):
                    file.unlink()


class KernelCache(FunctionCache):
    """Numba's cache of one function, with files of our own."""

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        self._cache_file = KernelFiles(
            cache_path=self._cache_path,
            filename_base=self._impl.filename_base,
            source_stamp=source_stamp(),
        )
