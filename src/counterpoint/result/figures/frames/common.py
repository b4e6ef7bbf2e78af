"""What all figures share: who a line or point is, which features are shown, asking the model."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from counterpoint.arrays import MISSING, Floats, Ints
from counterpoint.checks import check_whole
from counterpoint.errors import InvalidInput, UnknownFeatureError
from counterpoint.result.choosing.subset import greatest_contribution
from counterpoint.result.data import ResultData
from counterpoint.result.words.language import count_candidates

Frames: TypeAlias = dict[str, pd.DataFrame]

ROW, VALID, INVALID = "the row", "counterfactual", "near miss"
OUTCOMES = (ROW, VALID, INVALID)
MOST_SHOWN = 200  # candidates in one figure; more are neither read nor told apart
CHUNK = 65_536  # rows the model is asked about in one call


def everyone(found: ResultData) -> pd.DataFrame:
    """Return who is shown: the row as number 0, then the candidates by position + 1."""
    outcomes = np.where(found.reaches, VALID, INVALID).astype(object)
    return pd.DataFrame(
        {
            "counterfactual": np.arange(len(found.genomes) + 1),
            "outcome": [ROW, *outcomes],
            "prediction": [found.row_prediction, *found.predictions],
        }
    )


def shown(found: ResultData, n: int, argument: str) -> Ints:
    """Return which lines of `everyone` a figure shows: the row, and at most n candidates."""
    check_whole(f"{argument}.n", n, 1, 1_000_000)
    if len(found.genomes) <= n:
        return np.arange(len(found.genomes) + 1)
    # It takes seconds and several figures ask: kept with the result, as what it computes itself.
    kept: dict[int, Ints] = found.__dict__.setdefault("_shown", {})
    if n not in kept:
        best = greatest_contribution(found.objectives, n, found.facts.worst)
        kept[n] = np.array([0, *(1 + np.sort(best))])
    return kept[n]


def how_many(found: ResultData, n: int) -> str:
    """Say how many counterfactuals and near misses there are, and whether all are shown."""
    n_valid, total = int(found.reaches.sum()), len(found.genomes)
    text = f"{count_candidates(n_valid, total - n_valid)} for {found.target}"
    return f"{text} (shown: {n}, chosen by hypervolume)" if total > n else text


def all_genes(found: ResultData) -> Floats:
    """Return the genomes of row and candidates, shape (1 + n, d); what is missing is NaN."""
    genes = np.concatenate([found.genome[None], found.genomes])
    return np.where(genes == MISSING, np.nan, genes)


def place_of(found: ResultData, name: Hashable, argument: str) -> int:
    """Return which feature is meant by its name; refuse what is none."""
    names = found.encoding.schema.names
    try:
        return names.index(name)
    except ValueError as error:
        raise UnknownFeatureError.of(name, names, argument=argument) from error


def chosen(
    found: ResultData,
    features: Sequence[Hashable] | None,
    most: int,
    argument: str,
    drawn: Ints | None = None,
) -> tuple[Ints, str]:
    """Return which features to show, the most often changed first, and what is left out in words.

    Parameters
    ----------
    found : ResultData
        The result.
    features : sequence of names, or None
        The features to show, in this order; None takes those that change.
    most : int
        Show no more than this many of those that change.
    argument : str
        What the choice is called in errors.
    drawn : ndarray, optional
        The positions of the candidates that count; None counts all.
    """
    check_whole(f"{argument}.most", most, 1, 1000)
    if features is not None:
        return named_features(found, features, argument), ""
    changed = found.changed if drawn is None else found.changed[drawn]
    counts = changed.sum(axis=0)
    n = int((counts > 0).sum())
    left_out = f"Shown: the {most} most often changed of {n} features that change"
    places = np.argsort(-counts, kind="stable")[: min(n, most)]
    return places, left_out if n > most else ""


def named_features(found: ResultData, features: Sequence[Hashable], argument: str) -> Ints:
    """Return which features are meant by their names; refuse what is no list of them."""
    if isinstance(features, str) or not isinstance(features, Sequence) or len(features) == 0:
        raise InvalidInput(
            f"{argument}(features=...) takes a list of names, got {features!r}; write for example "
            f"features=[{found.encoding.schema.names[0]!r}]."
        )
    places = [place_of(found, name, f"{argument}(features=...)") for name in features]
    return np.array(list(dict.fromkeys(places)), dtype=np.int64)


def is_loaded(found: ResultData) -> bool:
    """Whether the result came from a file: it has neither model nor data."""
    return found.live is None


def observed_genes(found: ResultData, place: int, *, drop_missing: bool = True) -> Floats:
    """Return one feature of the observed rows, of which a loaded result has none."""
    if is_loaded(found):
        return np.empty(0)
    genes = found.problem.observed.genomes[:, place]
    return np.asarray(genes[genes != MISSING] if drop_missing else genes)


def check_can_ask(found: ResultData, figure: str) -> None:
    """Refuse a figure that asks the model where there is none."""
    if is_loaded(found):
        raise InvalidInput(
            f"plot.{figure} asks the model about new rows, and this result was loaded from a file, "
            "without its model and data; make an Explainer, call explain again with the same seed, "
            "and plot that result."
        )


def ask(found: ResultData, genomes: Floats) -> Floats:
    """Return the model's own predictions of genomes (n, d), of the output the target is about."""
    predictor = found.problem.predictor.own  # not an accelerator: a figure shows the model
    starts = range(0, len(genomes), CHUNK)
    outputs = [predictor.outputs(genomes[i : i + CHUNK]) for i in starts]
    return np.asarray(found.target.prediction(np.concatenate(outputs)))


def varied(found: ResultData, columns: dict[int, Any]) -> Floats:
    """Return the row repeated (n, d), with other values in some of its features."""
    n = len(next(iter(columns.values())))
    genomes = np.repeat(found.genome[None], n, axis=0)
    for place, genes in columns.items():
        genomes[:, place] = genes
    return genomes


def changes_only(found: ResultData, places: Sequence[int]) -> Ints:
    """Return the positions of the candidates that change nothing but these features."""
    elsewhere = np.delete(found.changed, list(places), axis=1)
    return np.flatnonzero(~elsewhere.any(axis=1))


def target_ends(found: ResultData) -> list[float]:
    """Return the finite ends of the target's interval, each once."""
    ends = dict.fromkeys((found.target.low, found.target.high))
    return [end for end in ends if np.isfinite(end)]
