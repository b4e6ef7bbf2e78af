"""Order and recipe: what is asked of every row of a job, and how a process gets its explainer.

Both are frozen and picklable, and both are checked before the first row is explained. A recipe
makes its explainer once per process: of files, by a factory, or it is given one.
"""

from __future__ import annotations

import hashlib
import io
import pickle
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from counterpoint.arrays import Floats
from counterpoint.checks import check_whole
from counterpoint.errors import InvalidInput
from counterpoint.explainer.explainer import Explainer
from counterpoint.explainer.task import check_rules, check_search
from counterpoint.models.files import MOST_BYTES, load_model, pickled
from counterpoint.problem.limits import CheckedLimits, Limits
from counterpoint.problem.own_objectives import check_costs_apply
from counterpoint.problem.target import TargetLike, parse_target
from counterpoint.result.long_table import OutputSchema
from counterpoint.search.settings import Search, WhatIf
from counterpoint.streams import check_seed
from counterpoint.table.files import read_content

MOST_KEPT = 2**31
N_TRIED = 64  # observed rows that rules are tried on


@dataclass(frozen=True)
class Order:
    """What is asked of every row, and what is handed back."""

    # As in `Explainer.explain`. A search may not end by `seconds`: what it finds would depend on
    # the machine.
    target: TargetLike
    search: Search | WhatIf | None = None
    seed: int = 0
    limits: Limits = field(default_factory=Limits)
    # How many of each row's counterfactuals at most, as `select` chooses: the best of different
    # ways first, and near misses only where there is no counterfactual. None keeps the whole
    # non-dominated set, near misses too.
    keep: int | None = 10
    id: str | None = None  # a column of the rows that is no feature and is handed through
    # put before the names of our own columns; None puts "cf_" there if a feature has the name of
    # one
    prefix: str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.search, Search) and self.search.seconds is not None:
            raise InvalidInput(
                f"search has seconds={self.search.seconds:g}, so that the result would depend on "
                "the machine and its load; bound it by evaluations, as in "
                "Search(evaluations=2000)."
            )
        if self.keep is not None:
            check_whole("keep", self.keep, 1, MOST_KEPT)

    def check(self, explainer: Explainer) -> None:
        """Refuse what no row could be explained with: wrong targets, names, rules and settings.

        Raises InvalidInput or UnknownFeatureError if an argument cannot be used, or the rules
        exclude every observed row that is tried.
        """
        check_search(self.search)
        check_seed(self.seed)
        limits = self.limits.check(explainer.schema, explainer.kept)
        if limits.costs is not None:
            check_costs_apply(explainer.observed.aims)
        predictor = explainer.predictor.own
        parse_target(self.target, predictor.classes, spread(predictor.observed_outputs))
        try_rules(limits, explainer)
        self.schema_of(explainer)

    def is_shared(self, explainer: Explainer) -> bool:
        """Whether several threads may ask for this at once."""
        return explainer._is_shared(self.limits.check(explainer.schema, explainer.kept))

    def schema_of(self, explainer: Explainer, id_dtype: Any = "int64") -> OutputSchema:
        """Return the columns of what is handed back."""
        return explainer.output_schema(self.id, id_dtype, self.prefix, self.search)


def try_rules(limits: CheckedLimits, explainer: Explainer) -> None:
    """Refuse rules that fail for every one of some observed rows, as they would for the others."""
    if not len(limits.rules):
        return
    genomes, encoding = explainer.observed.genomes, explainer.encoding
    tried = spread(genomes)
    first: InvalidInput | None = None
    for i in range(len(tried)):
        row = tried[i : i + 1].copy()
        try:
            check_rules(limits, row, encoding.decode(row.copy()), explainer.observed.space)
            limits.rules.ask(encoding.to_rows(row.copy()))
        except InvalidInput as error:
            first = first or error
        else:
            return
    if first is not None:
        raise InvalidInput(
            f"the constraints exclude each of {len(tried)} observed rows that were tried; of the "
            f"first: {first}"
        ) from first


def spread(observed: Floats) -> Floats:
    """Return some of the observed rows or their outputs, spread evenly over the data."""
    n = min(N_TRIED, len(observed))
    return observed[np.arange(n) * len(observed) // n]


MOST_RECIPES = 4  # recipes a process remembers: a worker may serve several jobs

INSTEAD = "define it in a module that the workers can import"

Make = Callable[[], Explainer]


class Recipe:
    """How a process gets its Explainer: built when first asked for, once per process.

    It can be pickled; unpickled in a process that has it already it is the same object, with the
    same Explainer.

    `make` returns the Explainer. `turn` is held by whoever asks one that bears one thread at a
    time.

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
    settings: Mapping[str, Any] = field(default_factory=dict)  # keywords of Explainer
    allow_pickle: bool = False
    trusted: tuple[str, ...] = ()
    most_bytes: int = MOST_BYTES

    def __call__(self) -> Explainer:
        """Load both and build."""
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / self.model_name
            file.write_bytes(self.model)
            model = load_model(
                file,
                allow_pickle=self.allow_pickle,
                trusted=self.trusted,
                most_bytes=self.most_bytes,
            )
        table = self.table()
        data = table.drop(columns=[name for name in self.drop if name in table.columns])
        return Explainer(model, data, **self.settings)

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
        while len(_known) > MOST_RECIPES:
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
