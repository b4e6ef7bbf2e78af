"""Parts: what an Explainer is built of, which is what its pickle holds.

Nothing that was fitted travels: the other process builds it again of the same parts, and so with
the same results. What the data are is not inferred again, so nothing is warned of twice.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any, NamedTuple

from counterpoint.arrays import Bools, Floats
from counterpoint.models.pickling import pickled
from counterpoint.problem.aims import Plausibility
from counterpoint.problem.custom import Distance, Objective
from counterpoint.table.frames import Form
from counterpoint.table.schema import Schema

INSTEAD = (
    "give a function without arguments that makes the Explainer there, such as "
    "explain_frame(make_explainer, rows, ...), or the files of model and data"
)


class Known(NamedTuple):
    """What is known of the data.

    Attributes
    ----------
    schema : Schema
        What the columns are.
    form : Form
        The kind of table they came in.
    genomes : ndarray of shape (n, d)
        The observed rows.
    may_miss : ndarray of shape (d,)
        What counterfactuals may lack.
    shares : ndarray of shape (k,)
        The weights of the k nearest rows.
    """

    schema: Schema
    form: Form
    genomes: Floats
    may_miss: Bools
    shares: Floats


class Given(NamedTuple):
    """What the caller gave besides the data: objects of which only the caller knows what they are.

    Attributes
    ----------
    model : object
        The model.
    objectives, distance, plausibility, classes : object
        As `Explainer` takes them.
    """

    model: Any
    objectives: tuple[Objective, ...]
    distance: Distance | None
    plausibility: Plausibility | Objective | None
    classes: Sequence[Any] | None

    def packed(self) -> bytes:
        """Return them as bytes; say which of them cannot be.

        Raises
        ------
        InvalidInput
            If one of them cannot be pickled.
        """
        model = pickled(self.model, f"the model of type {type(self.model).__name__}", INSTEAD)
        others = pickled(tuple(self[1:]), "an objective, distance or plausibility", INSTEAD)
        return pickle.dumps((model, others))

    @classmethod
    def unpacked(cls, packed: bytes) -> Given:
        """Return what was packed."""
        model, others = pickle.loads(packed)  # noqa: S301 - part of the pickle that is being read
        return cls(pickle.loads(model), *pickle.loads(others))  # noqa: S301
