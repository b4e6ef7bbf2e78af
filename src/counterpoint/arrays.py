"""Names for the arrays that cross module borders: C-contiguous and never written to by a callee."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Singles: TypeAlias = NDArray[np.float32]
Ints: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]
Keys: TypeAlias = NDArray[np.uint64]
# Numbers are refused beyond the first, and differences are divided by no range below the second:
# so their products with each other, and the sums of these, are finite.
LARGEST = 1e100
NARROWEST = 1e-200
# The gene of a missing value: finite, so that it equals itself, hashes, and times 0 is 0; below all
# numbers a table may hold, so that no search box contains it.
MISSING = -(2.0**1000)
Whole: TypeAlias = int | np.int64  # NumPy's where Numba would else compile anew for every constant
