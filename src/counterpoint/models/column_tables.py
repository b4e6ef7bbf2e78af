"""Column tables: what a fitted ColumnTransformer makes of genomes, without building a frame.

What each level of a column becomes is found once, by asking the transformer itself about rows in
which one column takes each of its levels. Numbers go to their own transformers as arrays.

Nameless copies: an estimator that forgot the frame it was fitted on, so it takes arrays.
"""

from __future__ import annotations

import copy
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoint.arrays import Floats, Ints
from counterpoint.table.encoding import Encoding
from counterpoint.table.features import Feature, Kind

# What a scikit-learn estimator remembers of frames: the columns it was fitted on, and whether it
# is to return frames itself.
OF_FRAMES = ("feature_names_in_", "_sklearn_output_config")


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


MOST_CELLS = 2**22  # of the tables; columns of so many levels are left to frames


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


def as_dense(made: Any) -> Any:
    """Return the output of a transformer as an array."""
    return made.toarray() if hasattr(made, "toarray") else np.asarray(made)


def is_plain(feature: Feature) -> bool:
    """Whether a gene is the number an array would hold for its value; truth values are too."""
    is_number = feature.is_numeric and feature.kind is not Kind.DATE
    return is_number or feature.levels == (False, True)
