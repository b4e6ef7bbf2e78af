"""Fast paths: ways to ask a model past what costs time, each believed after a trial only.

The frame of a fitted ColumnTransformer is passed by tables: what each level of a column becomes is
found once, by asking the transformer itself about rows in which one column takes each of its
levels. Numbers go to their own transformers as arrays, and to copies of estimators that forgot the
frame they were fitted on.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from counterpoint.arrays import Floats, Ints
from counterpoint.models.additive import AdditiveModel
from counterpoint.models.inspection import Ask, awake, is_known
from counterpoint.models.known_models import (
    LinearCore,
    as_dense,
    best_of,
    core_of,
    own_sums,
    steps_of,
)
from counterpoint.models.trees import N_CATEGORIES
from counterpoint.streams import Stage, row_keys, uniforms
from counterpoint.table.features import Feature, Kind
from counterpoint.table.schema import Encoding

MOST_ROWS = 1024  # observed rows in a trial, evenly spaced
SIZES = (1, 8, 24, 40)  # rows of the calls a search makes, and one alone
FEW, LEAST_MET = 64, 512  # levels of a column whose pairs a trial tries, and in how many rows
MOST_CELLS = 2**22  # of the tables; columns of so many levels are left to frames
# What a scikit-learn estimator remembers of frames: the columns it was fitted on, and whether it
# is to return frames itself.
OF_FRAMES = ("feature_names_in_", "_sklearn_output_config")


def quickest(method: str, plain: Ask, ways: list[FastPath], questions: list[Floats]) -> Ask:
    """Return the first way that answers as `plain` does in every bit and does not warn.

    It is `plain` if none does, or if `plain` itself fails on a question of the trial.
    """
    asks = [ask for way in ways if (ask := way.ask(method)) is not None]
    if not asks:
        return plain
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of levels that never met
            expected = [plain(rows) for rows in questions]
    except Exception:
        return plain
    return next((ask for ask in asks if is_exact(ask, questions, expected)), plain)


def is_exact(ask: Ask, questions: list[Floats], expected: list[Any]) -> bool:
    """Whether `ask` gives the expected answers bit for bit, and raises or warns of nothing."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return all(
                are_same(ask(rows), answers)
                for rows, answers in zip(questions, expected, strict=True)
            )
    except Exception:
        return False


def are_same(answers: Any, expected: Any) -> bool:
    """Whether two answers have the same form and bits."""
    answers, expected = np.asarray(answers), np.asarray(expected)
    return answers.dtype == expected.dtype and np.array_equal(answers, expected)


def trial_rows(observed: Floats) -> list[Floats]:
    """Return observed rows, and rows of values that never met, at once and in blocks."""
    n = len(observed)
    some = np.ascontiguousarray(observed[np.linspace(0, n - 1, min(n, MOST_ROWS)).astype(np.int64)])
    mixed = mix_columns(some)
    long = np.resize(mixed, (3 * max(SIZES), observed.shape[1]))  # a small table is repeated
    blocks = [long[i * size : (i + 1) * size] for size in SIZES for i in range(2)]
    return [some, mixed, meetings(observed), *blocks]


def meetings(observed: Floats) -> Floats:
    """Return genomes (n, d) in which any two values of two columns of few values occur together.

    An orthogonal array of strength two (Bose 1938): of i = a + b p, with p a prime, column j has
    a + j b modulo p. Of columns with many values some are drawn.
    """
    values = [np.unique(column) for column in observed.T]
    few = [j for j, each in enumerate(values) if len(each) <= FEW]
    most = max([2, min(len(few), FEW), *(len(values[j]) for j in few)])
    p = next(k for k in range(most, 2 * most) if all(k % q for q in range(2, k)))
    i = np.arange(max(p * p, LEAST_MET))
    draws = uniforms(row_keys(0, observed[:1]), Stage.TRIAL, 0, len(i), len(values))[0]
    columns = [each[(draws[:, j] * len(each)).astype(np.int64)] for j, each in enumerate(values)]
    for k, j in enumerate(few):
        columns[j] = values[j][(i + k * (i // p)) % p % len(values[j])]
    return np.ascontiguousarray(np.stack(columns, axis=1))


def mix_columns(genomes: Floats) -> Floats:
    """Return genomes (n, d) with every column shifted by another number of rows.

    Each column keeps its values; which of them meet is new.
    """
    n, d = genomes.shape
    shifts = 1 + np.arange(d) * max(1, n // (d + 1)) + np.arange(d) ** 2
    return np.ascontiguousarray(genomes[(np.arange(n)[:, None] + shifts) % n, np.arange(d)])


class FastPath(NamedTuple):
    """One way to ask a model."""

    to_rows: Callable[[Floats], Any]  # turns genomes (n, d) into the rows `model` takes
    model: Any  # who is asked: a copy of the caller's estimator without names, or a part of it

    def ask(self, method: str) -> Ask | None:
        """Return the function that asks for `method`, or None if this model lacks it."""
        function = getattr(self.model, method, None)
        to_rows = self.to_rows
        return None if function is None else lambda genomes: function(to_rows(genomes))


def quick_ways(
    model: Any, encoding: Encoding, observed: Floats, sums: AdditiveModel | None = None
) -> list[FastPath]:
    """Return quick ways to ask `model`, the quickest first; none is known to be exact.

    With `sums` over genes the first needs nothing but genomes.
    """
    try:
        bare = [peel(way) for way in bare_ways(model, encoding, observed)]
        if sums is not None and sums.forest is not None:
            core = core_of(steps_of(model)[-1], sums)
            return [FastPath(lambda genomes: genomes, core), *bare]
        return [quick for way in bare for quick in cut_short(way)]
    except Exception:  # what looks like an estimator may be none: it is asked as it is
        return []


def cut_short(last: FastPath) -> list[FastPath]:
    """Return the ways past the layers of an estimator that takes arrays."""
    if not is_known(last.model):  # a subclass may do otherwise
        return [last]
    sums = own_sums(last.model, N_CATEGORIES)
    core: Any = None
    if sums is None or sums.forest is not None:
        core = core_of(last.model, sums)
    elif sums.link in ("logistic", "identity"):
        core = LinearCore(last.model)
    return [last] if core is None else [FastPath(last.to_rows, core), last]


def bare_ways(model: Any, encoding: Encoding, observed: Floats) -> Iterator[FastPath]:
    """Yield ways past the frame, to a model that takes a bare array."""
    model = awake(best_of(model))
    if not hasattr(model, "n_features_in_"):  # no estimator, or not fitted
        return
    # Tables have no place for a missing level.
    is_tabled = not encoding.has_missing
    tables, rest = past_columns(model, encoding, observed) if is_tabled else (None, model)
    if tables is not None:
        yield FastPath(tables, without_names(rest))
    elif all(map(is_plain, encoding.columns)):
        for to_array in array_layouts(encoding):
            yield FastPath(to_array, without_names(model))


def past_columns(
    model: Any, encoding: Encoding, observed: Floats
) -> tuple[ColumnTables | None, Any]:
    """Return tables of the ColumnTransformer a model begins with, and the model behind it."""
    if hasattr(model, "steps") and hasattr(model.steps[0][1], "transformers_"):
        rest = copy.copy(model)
        rest.steps = model.steps[1:]
        return tabulate(model.steps[0][1], encoding, observed), rest
    inner = getattr(model, "_preprocessor", None)  # histogram boosting encodes categories by one
    if hasattr(inner, "transformers_"):
        rest = copy.copy(model)
        rest._preprocessor = None
        return tabulate(inner, encoding, observed), rest
    return None, model


def peel(way: FastPath) -> FastPath:
    """Return the way past a pipeline: its transforming steps join `to_rows`, its last is asked."""
    if not hasattr(way.model, "steps"):
        return way
    *steps, last = [step for _, step in awake(way.model).steps]
    transforms = [transform_of(step) for step in steps]

    def to_rows(genomes: Floats) -> Any:
        rows = way.to_rows(genomes)
        for transform in transforms:
            rows = transform(rows)
        return rows

    return FastPath(to_rows, last)


def transform_of(step: Any) -> Callable[[Any], Any]:
    """Return how a step transforms rows; a scaler of known arrays does without its checks."""
    if type(step).__name__ != "StandardScaler" or not is_known(step):
        return step.transform  # type: ignore[no-any-return]

    def scaled(rows: Any) -> Any:
        if type(rows) is not np.ndarray or rows.dtype != np.float64:
            return step.transform(rows)
        rows = rows - step.mean_ if step.with_mean else rows.copy(order="K")
        if step.with_std:
            rows /= step.scale_
        return rows

    return scaled


def array_layouts(encoding: Encoding) -> Iterator[Callable[[Floats], Any]]:
    """Yield functions from genomes to arrays: in the dtype and order of the frame's, or plain.

    The order in memory decides how a matrix product adds up, and so its last bits.
    """
    dtypes, by_column = [column.dtype for column in encoding.columns], encoding.by_column
    if not encoding.is_float and all(isinstance(dtype, np.dtype) for dtype in dtypes):
        common = np.result_type(*dtypes)
        yield lambda genomes: by_column(genomes).astype(common, order="F")
    if not encoding.is_float:
        yield lambda genomes: by_column(genomes).copy(order="F")
    yield lambda genomes: np.copy(by_column(genomes))


def without_names(part: Any) -> Any:
    """Return an estimator that remembers no column names, its parts likewise.

    Asked with an array, the copy has no names to miss, so it does not warn. It is as shallow as
    can be: nothing of the caller's is written to, and whatever knows no frames is shared.
    """
    if type(part) in (list, tuple):
        items = [without_names(item) for item in part]
        has_changed = any(new is not old for new, old in zip(items, part, strict=True))
        return type(part)(items) if has_changed else part
    if not any(hasattr(part, method) for method in ("predict", "predict_proba", "transform")):
        return part
    own = getattr(part, "__dict__", {})
    kept = {name: without_names(value) for name, value in own.items() if name not in OF_FRAMES}
    if len(kept) == len(own) and all(kept[name] is own[name] for name in own):
        return part
    bare = copy.copy(part)
    bare.__dict__.clear()
    bare.__dict__.update(kept)
    return bare


@dataclass(frozen=True)
class ColumnTables:
    """A fitted ColumnTransformer as tables of levels and transformers of numbers."""

    # which features each transformer of numbers takes, and which output columns it makes
    numbers: list[tuple[Ints, slice, Any]]
    columns: Ints  # (k,): the output columns made of levels
    owners: Ints  # (k,): the feature each of them depends on
    starts: Ints  # (k,): where its table begins in `values`
    values: Any  # (cells,): what each level becomes, column after column
    sample: Any  # array or sparse matrix: an output of the transformer itself, whose form is kept

    def __call__(self, genomes: Floats) -> Any:
        """Return what the transformer makes of genomes (n, d), in the form it would give it."""
        made = self.dense(genomes)
        if hasattr(self.sample, "toarray"):
            return type(self.sample)(made)
        return made if self.sample.flags.c_contiguous else np.asfortranarray(made)

    def dense(self, genomes: Floats) -> Any:
        """Return what the transformer makes of genomes (n, d), as an array."""
        made = np.empty((len(genomes), self.sample.shape[1]), dtype=self.sample.dtype)
        codes = genomes.take(self.owners, axis=1).astype(np.int64)
        made[:, self.columns] = self.values.take(self.starts + codes)
        for features, columns, transformer in self.numbers:
            made[:, columns] = as_dense(transformer.transform(genomes.take(features, axis=1)))
        return made


def tabulate(transformer: Any, encoding: Encoding, observed: Floats) -> ColumnTables | None:
    """Return the tables of a fitted ColumnTransformer, or None if there can be none."""
    if encoding.schema.has_groups:  # a group's columns are no features to tabulate
        return None
    features = encoding.schema.features
    numbers, of_levels = [], []
    for inputs, made, part in parts_of(transformer, encoding):
        if not any(features[j].is_numeric for j in inputs):
            of_levels.append((inputs, made))
        elif all(is_plain(features[j]) for j in inputs):
            numbers.append((inputs, made, without_names(part)))
        else:  # numbers and levels go in together
            return None
    asked = sorted({int(j) for inputs, _ in of_levels for j in inputs})
    rows, spans = rows_of_each_level(encoding, observed[0], asked)
    sample = transformed_quietly(transformer, encoding.to_rows(rows))
    if sample is None or sample.dtype.kind not in "iuf":
        return None
    answers = as_dense(sample)
    owners = owners_of(answers, of_levels, spans)
    if owners is None:
        return None
    tables = [answers[spans[j], column] for column, j in owners.items()]
    sizes = np.array([len(table) for table in tables], dtype=np.int64)
    if sizes.sum() > MOST_CELLS:
        return None
    return ColumnTables(
        numbers,
        np.array(list(owners), dtype=np.int64),
        np.array(list(owners.values()), dtype=np.int64),
        np.cumsum(sizes) - sizes,
        np.concatenate([*tables, np.empty(0, answers.dtype)]),
        sample,
    )


def transformed_quietly(transformer: Any, rows: Any) -> Any:
    """Return what the transformer makes of rows; None if it refuses a level or warns of one.

    A level it was not fitted on may never be asked about, and if it is, the caller should hear it.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            made = transformer.transform(rows)
    except Exception:
        return None
    return made if hasattr(made, "toarray") else np.asarray(made)


def parts_of(transformer: Any, encoding: Encoding) -> list[tuple[Ints, slice, Any]]:
    """Return the features each part of a ColumnTransformer takes and the columns it makes."""
    names = list(encoding.schema.names)
    fitted = getattr(transformer, "feature_names_in_", names)  # on an array: by position
    taken = np.array([names.index(name) for name in fitted])
    parts = []
    for name, part, _ in transformer.transformers_:
        made = transformer.output_indices_[name]
        if made.stop > made.start:  # neither dropped nor without columns
            inputs = transformer._transformer_to_input_indices[name]
            parts.append((taken[inputs], made, part))
    return parts


def rows_of_each_level(
    encoding: Encoding, row: Floats, features: list[int]
) -> tuple[Floats, dict[int, slice]]:
    """Return genomes in which one feature takes each of its levels, and where each one does."""
    sizes = [len(encoding.schema.features[j].levels) for j in features]
    ends = 2 + np.cumsum(sizes, dtype=np.int64)  # two rows at least tell the order in memory
    spans = {
        j: slice(int(end) - n, int(end)) for j, n, end in zip(features, sizes, ends, strict=True)
    }
    rows = np.repeat(row[None], 2 + sum(sizes), axis=0)
    for j, span in spans.items():
        rows[span, j] = np.arange(span.stop - span.start)
    return rows, spans


def owners_of(
    answers: Any, of_levels: list[tuple[Ints, slice]], spans: dict[int, slice]
) -> dict[int, int] | None:
    """Return the feature each output column of levels depends on; None if one needs several."""
    owners: dict[int, int] = {}
    for inputs, made in of_levels:
        for column in range(made.start, made.stop):
            needed = [j for j in inputs.tolist() if np.ptp(answers[spans[j], column]) != 0]
            if len(needed) > 1:
                return None
            owners[column] = needed[0] if needed else int(inputs[0])  # else it is constant
    return owners


def is_plain(feature: Feature) -> bool:
    """Whether a gene is the number an array would hold for its value; truth values are too."""
    is_number = feature.is_numeric and feature.kind is not Kind.DATE
    return is_number or feature.levels == (False, True)
