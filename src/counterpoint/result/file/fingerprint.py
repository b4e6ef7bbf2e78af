"""Fingerprints: whether two results speak of the same data and of a model that says the same."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import Protocol

import numpy as np

from counterpoint.arrays import Floats
from counterpoint.models.predictor import Predictor
from counterpoint.problem.observed import Observed
from counterpoint.result.file.document import encode_text, write_feature, write_label
from counterpoint.result.file.form import write_form

DIGITS = 6  # of a score: enough to tell models apart, few enough to forgive another machine


class Known(Protocol):
    """What has data and a model: a problem, or an explainer."""

    @property
    def observed(self) -> Observed:
        """The observed rows."""

    @property
    def predictor(self) -> Predictor:
        """The model."""


@dataclass(frozen=True)
class Fingerprints:
    """What a result remembers of data and model: equal ones can be trusted to be the same.

    Parameters
    ----------
    data : str
        Of the observed rows: column names, dtypes, levels and every value, in order. Another
        order, another dtype or one other value gives another fingerprint.
    model : str
        Of the model's type, its classes and what it says of the observed rows, to six digits. Two
        models that agree on all observed rows look the same, whatever they say elsewhere; what
        the model was fitted on, or with, is not seen. A score that lies just between two roundings
        may, rarely, give one model two fingerprints on two machines.
    """

    data: str
    model: str


def take_fingerprints(problem: Known) -> Fingerprints:
    """Return the fingerprints of a problem's data and model, computed once per explainer."""
    kept = problem.observed.__dict__  # where its cached properties live, shared by all results
    if "fingerprints" not in kept:
        kept["fingerprints"] = Fingerprints(_of_data(problem), _of_model(problem))
    found: Fingerprints = kept["fingerprints"]
    return found


def _of_data(problem: Known) -> str:
    """Return the fingerprint of the observed rows."""
    features = problem.predictor.encoding.schema.features
    text = encode_text([write_feature(feature) for feature in features])
    if (form := write_form(problem.predictor.encoding)) is not None:
        text += encode_text(form)
    # Who keeps the text depends on what is installed. In levels these quotes would be escaped.
    text = text.replace('"storage":"pyarrow"', '"storage":"python"')
    return _digest(text, problem.observed.genomes)


def _of_model(problem: Known) -> str:
    """Return the fingerprint of the model: who answers, and what it says of the observed rows."""
    predictor = problem.predictor.own
    kind = type(predictor.model)
    classes = [write_label(label, "class") for label in predictor.classes or ()]
    about = [kind.__module__, kind.__qualname__, predictor.method, classes]
    return _digest(encode_text(about), round_digits(problem.observed.outputs))


def _digest(text: str, numbers: Floats) -> str:
    """Return 32 hexadecimal digits for a text and an array."""
    digest = blake2b(text.encode(), digest_size=16)
    digest.update(repr(numbers.shape).encode())
    digest.update(np.ascontiguousarray(numbers + 0.0).astype("<f8").tobytes())  # no -0.0
    return digest.hexdigest()


def round_digits(values: Floats) -> Floats:
    """Return values rounded to six significant digits.

    Examples
    --------
    >>> round_digits(np.array([0.12345678, -1234567.8, 0.0])).tolist()
    [0.123457, -1234570.0, 0.0]
    """
    sizes = np.abs(values)
    places = DIGITS - 1 - np.floor(np.log10(np.where(sizes > 0.0, sizes, 1.0)))
    scale = 10.0 ** np.clip(places, -300.0, 300.0)
    scaled = values * scale
    rounded: Floats = np.where(np.isfinite(scaled), np.rint(scaled) / scale, values)
    return rounded
