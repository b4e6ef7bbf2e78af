"""Recipe: how a process gets its Explainer, once: of files, by a factory, or a given one."""

from __future__ import annotations

import hashlib
import io
import pickle
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from counterpoint.errors import InvalidInput
from counterpoint.explainer.explainer import Explainer
from counterpoint.models.files import load_model, pickled
from counterpoint.table.files import read_content

MOST_KEPT = 4  # recipes a process remembers: a worker may serve several jobs

INSTEAD = "define it in a module that the workers can import"

Make = Callable[[], Explainer]


class Recipe:
    """How a process gets its Explainer: built when first asked for, once per process.

    It can be pickled; unpickled in a process that has it already it is the same object, with the
    same Explainer.

    Parameters
    ----------
    make : callable
        Takes no arguments and returns the Explainer.

    Attributes
    ----------
    turn : Lock
        Held by whoever asks an Explainer that bears one thread at a time.

    Examples
    --------
    >>> data = pd.DataFrame({"age": [20, 30, 40, 50]})
    >>> recipe = Recipe(lambda: Explainer(lambda rows: rows["age"] / 100, data))
    >>> recipe.explainer() is recipe.explainer()
    True
    """

    def __init__(self, make: Make) -> None:
        if not callable(make):
            raise InvalidInput(
                "an Explainer is needed, or a function without arguments that makes one, got "
                f"{type(make).__name__}."
            )
        self._make = make
        self._explainer: Explainer | None = None
        self._payload: bytes | None = None
        self._lock = threading.RLock()
        self.turn = threading.Lock()

    @classmethod
    def of(cls, source: Explainer | Make | Recipe) -> Recipe:
        """Return the recipe of an Explainer, of a factory, or the recipe itself."""
        if isinstance(source, Recipe):
            return source
        return cls(GivenExplainer(source) if isinstance(source, Explainer) else source)

    def explainer(self) -> Explainer:
        """Return the Explainer, built if this process has not yet."""
        if isinstance(self._make, GivenExplainer):
            return self._make.explainer
        with self._lock:
            if self._explainer is None:
                made = self._make()
                if not isinstance(made, Explainer):
                    raise InvalidInput(
                        f"the factory must return an Explainer, got {type(made).__name__}."
                    )
                self._explainer = made
            return self._explainer

    @property
    def source(self) -> Make:
        """What makes the Explainer: `Files`, `GivenExplainer`, or the caller's function."""
        return self._make

    @property
    def payload(self) -> bytes:
        """What travels: how to make the Explainer, pickled once."""
        with self._lock:
            if self._payload is None:
                what = "the Explainer" if isinstance(self._make, GivenExplainer) else "the factory"
                self._payload = pickled(self._make, what, INSTEAD)
            return self._payload

    @cached_property
    def digest(self) -> str:
        """What tells it from other recipes, by content."""
        return hashlib.sha256(self.payload).hexdigest()

    def __dask_tokenize__(self) -> str:
        return self.digest

    def __reduce__(self) -> tuple[Any, tuple[bytes]]:
        return unpacked, (self.payload,)


@dataclass(frozen=True, eq=False)
class GivenExplainer:
    """Returns an Explainer that is there."""

    explainer: Explainer

    def __call__(self) -> Explainer:
        """Return it."""
        return self.explainer


@dataclass(frozen=True)
class Files:
    """Makes an Explainer of the contents of two files, a model's and a table's, which travel."""

    model_name: str
    model: bytes
    data_name: str
    data: bytes
    drop: tuple[str, ...] = ()
    classes: tuple[Any, ...] | None = None
    allow_pickle: bool = False
    trusted: tuple[str, ...] = ()

    def __call__(self) -> Explainer:
        """Load both and build."""
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / self.model_name
            file.write_bytes(self.model)
            model = load_model(file, allow_pickle=self.allow_pickle, trusted=self.trusted)
        table = self.table()
        data = table.drop(columns=[name for name in self.drop if name in table.columns])
        return Explainer(model, data, classes=self.classes)

    def table(self) -> pd.DataFrame:
        """Return the table of the data."""
        ending = Path(self.data_name).suffix.lower()
        return read_content(io.BytesIO(self.data), ending, f"data {self.data_name!r}")


_known: OrderedDict[str, Recipe] = OrderedDict()  # of this process, the latest used last
_known_lock = threading.Lock()


def unpacked(payload: bytes) -> Recipe:
    """Return the recipe of a payload: the one this process has, if it has it."""
    digest = hashlib.sha256(payload).hexdigest()
    with _known_lock:
        if digest not in _known:
            recipe = Recipe(Pickled(payload))
            recipe._payload = payload
            _known[digest] = recipe
        _known.move_to_end(digest)
        while len(_known) > MOST_KEPT:
            _known.popitem(last=False)
        return _known[digest]


@dataclass(frozen=True)
class Pickled:
    """Makes an Explainer as a pickled maker does; unpickled only when it is asked."""

    payload: bytes

    def __call__(self) -> Explainer:
        """Unpickle and build."""
        make: Make = pickle.loads(self.payload)  # noqa: S301 - of our own job
        return make()
