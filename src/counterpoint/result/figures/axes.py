"""What all figures share: which candidates and features are shown, their texts and their axes.

An `Axis` is one feature in its own units: numbers and dates as they are, levels side by side. Texts
of names and values are unique, never empty and without control characters.
"""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from counterpoint.arrays import MISSING, Floats, Ints
from counterpoint.checks import check_whole
from counterpoint.errors import InvalidInput
from counterpoint.result.choosing.orders import farthest_first
from counterpoint.result.data import ResultData
from counterpoint.result.words import count_candidates, say, spoken_now
from counterpoint.result.words.sentences import target_text
from counterpoint.table.features import Feature, Kind, write_value
from counterpoint.table.labels import CELLS, SIGNS
from counterpoint.table.values import write_level

Frames: TypeAlias = dict[str, pd.DataFrame]
Names: TypeAlias = Sequence[Hashable] | None  # of features; None for those that change

ROW, VALID, INVALID = "the row", "counterfactual", "near miss"
OUTCOMES = (ROW, VALID, INVALID)
MOST_SHOWN = 200  # candidates in one figure; more are neither read nor told apart


def everyone(found: ResultData) -> pd.DataFrame:
    """Return who is shown: the row as number 0, then the candidates by position + 1."""
    outcomes = np.where(found.reaches, VALID, INVALID).astype(object)
    return pd.DataFrame(
        {
            "counterfactual": np.arange(len(found.genomes) + 1),
            "outcome": [ROW, *outcomes],
            "prediction": [found.row_score, *found.scores],
        }
    )


def shown(found: ResultData, n: int, argument: str) -> Ints:
    """Return which lines of `everyone` a figure shows: the row, and at most n candidates."""
    check_whole(f"{argument}.n", n, 1, 1_000_000)
    if len(found.genomes) <= n:
        return np.arange(len(found.genomes) + 1)
    # Several figures ask: kept with the result, as what it computes itself.
    kept: dict[int, Ints] = found.__dict__.setdefault("_shown", {})
    if n not in kept:
        kept[n] = np.array([0, *(1 + np.sort(farthest_first(found, n)))])
    return kept[n]


def how_many(found: ResultData, n: int) -> str:
    """Say how many counterfactuals and near misses there are, and whether all are shown."""
    n_valid, total = int(found.reaches.sum()), len(found.genomes)
    counts = count_candidates(n_valid, total - n_valid)
    text = say("figure.for", counts=counts, target=target_text(found))
    return say("figure.shown", text=text, n=n) if total > n else text


def all_genes(found: ResultData) -> Floats:
    """Return the genomes of row and candidates, shape (1 + n, d); what is missing is NaN."""
    genes = np.concatenate([found.genome[None], found.genomes])
    return np.where(genes == MISSING, np.nan, genes)


def chosen(
    found: ResultData, features: Names, most: int, argument: str, drawn: Ints | None = None
) -> tuple[Ints, str]:
    """Return which features to show, the most often changed first, and what is left out in words.

    If `features` are named, those are shown, in their order; else at most `most` of those that
    change in the candidates at the positions `drawn` (None for all). Errors name the `argument`.
    """
    check_whole(f"{argument}.most", most, 1, 1000)
    if features is not None:
        return named_features(found, features, argument), ""
    changed = found.changed if drawn is None else found.changed[drawn]
    counts = changed.sum(axis=0)
    n = int((counts > 0).sum())
    left_out = say("figure.left out", most=most, n=n)
    places = np.argsort(-counts, kind="stable")[: min(n, most)]
    return places, left_out if n > most else ""


def named_features(found: ResultData, features: Sequence[Hashable], argument: str) -> Ints:
    """Return which features are meant by their names; refuse what is no list of them."""
    if isinstance(features, str) or not isinstance(features, Sequence) or len(features) == 0:
        raise InvalidInput(
            f"{argument}(features=...) takes a list of names, got {features!r}; write for example "
            f"features=[{found.encoding.schema.names[0]!r}]."
        )
    places = found.encoding.schema.places_of(features, f"{argument}(features=...)")
    return np.array(list(dict.fromkeys(places)), dtype=np.int64)


def observed_genes(found: ResultData, place: int, *, drop_missing: bool = True) -> Floats:
    """Return one feature of the observed rows, of which a loaded result has none."""
    if found.live is None:
        return np.empty(0)
    genes = found.problem.observed.genomes[:, place]
    return np.asarray(genes[genes != MISSING] if drop_missing else genes)


def check_can_ask(found: ResultData, figure: str) -> None:
    """Refuse a figure that asks the model where there is none."""
    if found.live is None:
        raise InvalidInput(
            f"plot.{figure} asks the model about new rows, and this result was loaded from a file, "
            "without its model and data; make an Explainer, call explain again with the same seed, "
            "and plot that result."
        )


def ask(found: ResultData, genomes: Floats) -> Floats:
    """Return the model's own scores of genomes (n, d), the numbers the target is about."""
    predictor = found.problem.predictor.own  # not an accelerator: a figure shows the model
    return np.asarray(found.target.score(predictor.in_chunks(genomes)))


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


CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\ufffe\uffff\u2028\u2029]")
# What every object of JavaScript has: Vega looks texts up in objects, and would find these.
OF_EVERY_OBJECT = {
    *("constructor", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "toLocaleString"),
    *("toString", "valueOf", "__proto__", "__defineGetter__", "__defineSetter__"),
    *("__lookupGetter__", "__lookupSetter__"),
}


def clean(value: object) -> str:
    r"""Return a name or level as one line of text that any renderer bears.

    Examples
    --------
    >>> clean("a\nb"), clean(""), clean(("x", 1)), clean("toString")
    ('a b', "''", "('x', 1)", 'toString ')
    """
    text = str(value)
    # A lone half of a pair has no place in a file: it would make the whole chart unreadable.
    text = text.encode("utf-8", "replace").decode("utf-8")
    line = CONTROL.sub(" ", text)
    if line in OF_EVERY_OBJECT:
        return f"{line} "
    return line if line.strip() else repr(text)


def titled(text: str) -> str:
    """Return a text fit for the title of an axis, a legend or a tooltip.

    Vega-Lite writes these into expressions and escapes no backslash, so that a name could end the
    text it stands in; look-alikes cannot. Values are data and stay as they are.

    Examples
    --------
    >>> titled('5" pipe')
    '5” pipe'
    """
    return text.replace("\\", "\u2216").replace('"', "\u201d")


def unique(values: Iterable[object]) -> list[str]:
    """Return texts that tell the values apart, also 1 from "1".

    Examples
    --------
    >>> unique([1, "1", "age", "1 (2)"])
    ['1', '1 (2)', 'age', '1 (2) (2)']
    """
    seen: Counter[str] = Counter()
    texts: list[str] = []
    for value in values:
        text = base = clean(value)
        while text in seen:
            seen[base] += 1
            text = f"{base} ({seen[base]})"
        seen[text] += 1
        texts.append(text)
    return texts


def level_texts(feature: Feature) -> list[str]:
    """Return the levels of a feature as texts that tell them apart."""
    return unique(write_level(level) for level in feature.levels)


def names_of(found: ResultData) -> list[str]:
    """Return the names of all features as texts, by their labels where they have some."""
    return unique(feature.name for feature in shown_features(found))


def shown_features(found: ResultData) -> tuple[Feature, ...]:
    """Return the features by their labels; a name without one is said without underscores."""
    labels, lang = found.labels, spoken_now()
    return tuple(
        replace(
            feature,
            name=labels.feature(feature.name, lang),
            levels=tuple(labels.level(feature.name, level, lang) for level in feature.levels),
            unit=labels.unit(feature, lang),
        )
        for feature in found.encoding.schema.features
    )


def shown_value(feature: Feature, gene: float) -> str:
    """Return a value of such a feature as the language that is spoken writes it."""
    return write_value(feature, gene, CELLS[spoken_now()])


def wrapped(text: str, width: int = 14, lines: int = 3) -> str:
    r"""Return a text in a few short lines, the last with an ellipsis if it does not fit.

    Examples
    --------
    >>> wrapped("present_residence_since")
    'present_\nresidence_\nsince'
    """
    spaced = re.sub(r"([_.\-/:])(?=\S)", r"\1 ", text)
    parts = textwrap.wrap(spaced, width, max_lines=lines, placeholder=" …") or [text]
    broken = "\n".join(re.sub(r"([_.\-/:]) ", r"\1", part) for part in parts)
    return clean(broken) if broken in OF_EVERY_OBJECT else broken


def wrapped_apart(texts: Sequence[str], width: int, lines: int = 3) -> list[str]:
    """Return texts in short lines; what an ellipsis makes alike is told without its common words.

    Examples
    --------
    >>> wrapped_apart(["number of payments in May", "number of payments in June"], 8, 2)
    ['… May', '… June']
    """
    short = [wrapped(text, width, lines) for text in texts]
    for alike in {text for text in short if short.count(text) > 1}:
        places = [k for k, text in enumerate(short) if text == alike]
        words = [re.split(r"(?<=[\s_.\-/:])", texts[k]) for k in places]
        n = len(list(takewhile(lambda each: len(set(each)) == 1, zip(*words, strict=False))))
        for k, each in zip(places, words, strict=True):
            short[k] = wrapped(f"… {''.join(each[n:])}", width, lines)
    return short


def prediction_name(found: ResultData) -> str:
    """Return what the prediction is, as the title of an axis."""
    target = found.target
    if target.label is None:
        return say("figure.prediction")
    labels = (target.label,) if target.is_complement else target.labels or (target.label,)
    called, lang = found.labels.class_, spoken_now()
    texts = [SIGNS[lang].quoted(titled(clean(called(label, lang)))) for label in labels]
    name = f" {say('or')} ".join(texts)
    if not target.is_lead:
        return say("figure.probability", name=name)
    return say("figure.lead others" if target.is_complement else "figure.lead", name=name)


DAY = 86_400_000.0  # milliseconds: what charts count dates in
MOST_LEVELS = 20
MOST_BARS = 30
COARSE = 60.0  # whole numbers so few that half a step at the ends is seen


@dataclass(frozen=True)
class Axis:
    """One feature as an axis."""

    place: int  # which feature it is
    feature: Feature
    title: str  # its name as text
    # the smallest and largest gene of the data, the row and the candidates; for levels the first
    # and the last place
    low: float
    high: float
    # the levels that are shown, in order, and `MISSING` at last if the row or a candidate lacks a
    # value; empty for numbers
    codes: Floats
    n_levels: int  # how many levels the feature has; more than `codes` if some are left out
    # whether the row has no value, and no place for it: one on a scale of numbers
    is_row_missing: bool

    @classmethod
    def of(cls, found: ResultData, place: int) -> Axis:
        """Return the axis of one feature."""
        feature = shown_features(found)[place]
        title, own = names_of(found)[place], all_genes(found)[:, place]
        is_missing = bool(np.isnan(own[0]))
        if feature.is_numeric:
            genes = np.concatenate([observed_genes(found, place), own])
            genes = genes[np.isfinite(genes)]
            ends = [feature.low, feature.high] if found.live is None or len(genes) == 0 else []
            low, high = np.min([*genes, *ends]), np.max([*genes, *ends])
            none = np.empty(0)
            return cls(place, feature, title, float(low), float(high), none, 0, is_missing)
        codes = shown_levels(found, place, len(feature.levels)).astype(np.float64)
        codes = np.append(codes, MISSING) if np.isnan(own).any() else codes
        high, n_levels = float(len(codes) - 1), len(feature.levels)
        return cls(place, feature, title, 0.0, high, codes, n_levels, is_row_missing=False)

    @property
    def heading(self) -> str:
        """The title with the unit, if there is one."""
        return f"{self.title} ({self.feature.unit})" if self.feature.unit else self.title

    @property
    def is_level(self) -> bool:
        """Whether levels stand side by side instead of numbers."""
        return not self.feature.is_numeric

    @property
    def is_date(self) -> bool:
        """Whether it is a scale of dates."""
        return self.feature.kind is Kind.DATE

    @property
    def labels(self) -> list[str]:
        """The texts of the levels shown."""
        texts = level_texts(self.feature)
        return [say("missing") if code == MISSING else texts[int(code)] for code in self.codes]

    @property
    def domain(self) -> tuple[float, float]:
        """Where the axis begins and ends, with half a place around levels and few values."""
        is_coarse = self.feature.kind is not Kind.REAL and self.high - self.low <= COARSE
        room = 0.5 if self.is_level or is_coarse or self.low == self.high else 0.0
        ends = self.scaled(np.array([self.low - room, self.high + room]))
        return float(ends[0]), float(ends[1])

    @property
    def notes(self) -> list[str]:
        """What a reader must know of the axis, in sentences: what it does not show."""
        notes, n = [], int((self.codes != MISSING).sum())
        if n < self.n_levels:
            notes.append(say("figure.levels", n=n, total=self.n_levels, name=self.title))
        if self.is_row_missing:
            notes.append(say("figure.row missing", name=self.title))
        return notes

    def scaled(self, genes: Floats) -> Floats:
        """Return genes, or places of levels, in the units of the axis: dates in milliseconds."""
        return genes * DAY if self.is_date else genes

    def at(self, genes: Floats) -> Floats:
        """Return where genes stand on the axis; NaN for missing ones and levels not shown."""
        if not self.is_level:
            return self.scaled(genes)
        places = {code: float(place) for place, code in enumerate(self.codes.tolist())}
        codes = np.where(np.isnan(genes), MISSING, genes)
        return np.array([places.get(code, np.nan) for code in codes.tolist()], dtype=np.float64)

    def written(self, genes: Floats) -> list[str]:
        """Return the values of genes as texts."""
        return [clean(shown_value(self.feature, gene)) for gene in genes]

    def grid(self, resolution: int) -> Floats:
        """Return genes over the whole axis that the feature can really have, in order."""
        if self.is_level:
            return self.codes
        feature, values = self.feature, np.linspace(self.low, self.high, resolution)
        if feature.kind is not Kind.REAL:
            values = np.rint(values)
        elif feature.decimals is not None:
            values = np.round(values, feature.decimals)
        if feature.is_single:  # what the model would be given
            values = values.astype(np.float32).astype(np.float64)
        return np.unique(np.clip(values, self.low, self.high))

    def cells(self, genes: Floats) -> tuple[Floats, Floats]:
        """Return where the cell around each gene of a grid begins and ends."""
        places = self.at(genes)
        if self.is_level:
            return places - 0.5, places + 0.5
        between = (places[1:] + places[:-1]) / 2.0
        low, high = self.domain
        return np.array([low, *between]), np.array([*between, high])


def shown_levels(found: ResultData, place: int, n_levels: int) -> Ints:
    """Return the levels to show: all, or those of the row and set, then the most frequent ones."""
    if n_levels <= MOST_LEVELS:
        return np.arange(n_levels)
    genes = all_genes(found)[:, place]
    occurring = genes[np.isfinite(genes)].astype(np.int64)
    counts = np.bincount(observed_genes(found, place).astype(np.int64), minlength=n_levels)
    first = np.unique(occurring, return_index=True)[1]
    order = [*occurring[np.sort(first)], *np.argsort(-counts, kind="stable")]
    return np.sort(np.array(list(dict.fromkeys(order))[:MOST_LEVELS], dtype=np.int64))


def histogram(found: ResultData, axis: Axis) -> pd.DataFrame:
    """Return the bars of the observed rows on an axis: start, end, count and share."""
    genes = observed_genes(found, axis.place, drop_missing=not axis.is_level)
    edges = bar_edges(axis)
    if axis.is_level:
        counts = np.array([(genes == code).sum() for code in axis.codes])
    else:
        counts = np.histogram(genes, bins=edges)[0]
    ends = axis.scaled(edges)
    share = counts / max(1, len(genes))
    return pd.DataFrame({"start": ends[:-1], "end": ends[1:], "count": counts, "share": share})


def bar_edges(axis: Axis) -> Floats:
    """Return where bars begin and end: around whole numbers and levels, or evenly spaced."""
    low, high = axis.low, axis.high
    if axis.is_level:
        return np.arange(len(axis.codes) + 1, dtype=np.float64) - 0.5
    if axis.feature.kind is Kind.REAL and low < high:
        shares = np.linspace(0.0, 1.0, MOST_BARS + 1)
        return np.asarray(low * (1.0 - shares) + high * shares)  # exact at both ends
    step = max(1.0, np.ceil((high - low + 1.0) / MOST_BARS))
    n_bars = int((high - low) // step) + 1
    return np.asarray(low - 0.5 + step * np.arange(n_bars + 1))
