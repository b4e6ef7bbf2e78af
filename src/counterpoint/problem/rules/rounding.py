"""When two numbers of a rule are the same: if they differ by round-off only.

``0.1 + 0.2 = 0.3`` holds, and so does ``<=``, while ``<`` does not. What round-off can be is
estimated beside every value as its `size`: the sum of the magnitudes it was made of. Two values are
the same if they differ by less than `ROUND_OFF` of their sizes. Values of a float32 column are
rounded more coarsely, and count for as much more.
"""

from __future__ import annotations

import numpy as np

from counterpoint.arrays import Floats
from counterpoint.table.schema import Schema

ROUND_OFF = 1e-12
OFF_STEP = 1e-6  # how far from a step, as a share of it, still is on it
SINGLE = 2.0**-23 / ROUND_OFF


def blur_of(schema: Schema) -> Floats:
    """Return how much more each feature's values are rounded than float64, shape (d,).

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"a": [1.0, 2.0], "b": np.array([1, 2], dtype=np.float32)})
    >>> blur_of(Schema.infer(data)).round()
    array([1.00000e+00, 1.19209e+05])
    """
    return np.array([SINGLE if feature.is_single else 1.0 for feature in schema.features])
