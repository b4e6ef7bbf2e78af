"""Ways: the sets of features whose values alone reach the target, as people look at them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Generic, Literal, TypeVar, overload

import numpy as np
import pandas as pd

from counterpoint.arrays import Bools, Floats, Ints
from counterpoint.checks import check_choice, check_number, check_whole
from counterpoint.errors import InvalidInput
from counterpoint.problem.objectives import CHANGES, DISTANCE, IMPLAUSIBILITY
from counterpoint.problem.target import safety_margins
from counterpoint.result.data import ResultData, rows_of
from counterpoint.result.long_table import in_form
from counterpoint.search.exact.proof import Claim
from counterpoint.search.ways import Pool, WayFinder, WayRows, is_grid_point

Minimality = Literal["proved", "no subset found", "has a smaller way"]
COLUMNS = [
    "way",
    "features",
    "counterfactuals",
    "distance",
    "implausibility",
    "margin",
    "minimality",
    "ranges",
]
MOST_READ = 8  # changes of a way that people are shown, if there are such ways
MOST_CHANGES = 4  # of a larger set that is shown before the ways that are part of it
Result = TypeVar("Result", bound=ResultData)


@dataclass(frozen=True, eq=False, repr=False)
class Way(Generic[Result]):
    """A set of features whose values alone, changed within the limits, reach the target.

    Attributes
    ----------
    features : tuple of hashable
        Their names.
    minimality : {"proved", "no subset found", "has a smaller way"}
        "proved" if no part of them is a way, because all values of all parts were asked; "no subset
        found" if none was found; the third only if `supersets` were asked for.
    counterfactuals : Counterfactuals
        The counterfactuals that change exactly these features, of which none dominates another;
        the nearest first.
    representative : Counterfactuals
        The one to show: the nearest that is a margin inside the target.
    genes : tuple of ndarray
        Of each feature, the values that are seen to work, encoded and ascending: each in a
        counterfactual that changes these features only.
    is_whole : bool
        Whether every value of the grid between the least and the largest was asked and reaches the
        target; with several features, every combination of them.
    n_valid : int
        How many counterfactuals of this way were seen.

    Examples
    --------
    >>> import counterpoint as cp
    >>> data = pd.DataFrame({"age": [20, 30, 40, 50], "debt": [9, 5, 3, 1]})
    >>> explainer = cp.Explainer(lambda rows: rows["age"] / 50 - rows["debt"] / 20, data)
    >>> way = explainer.explain(data[:1], target=(0.5, None)).ways()[0]
    >>> way.features, way.ranges, way.minimality
    (('age',), {'age': (48, 50)}, 'proved')
    >>> way.closest[["age", "debt"]]
       age  debt
    0   48     9
    """

    features: tuple[Hashable, ...]
    minimality: Minimality
    counterfactuals: Result
    representative: Result
    genes: tuple[Floats, ...]
    is_whole: bool
    n_valid: int

    @property
    def closest(self) -> Any:
        """The nearest counterfactual of this way, as a frame of one row."""
        return self.counterfactuals[:1].to_frame()

    @cached_property
    def ranges(self) -> dict[Hashable, tuple[Any, ...]]:
        """The least and the largest value of each feature that are seen to work, or the levels."""
        encoding, row = self.counterfactuals.encoding, self.counterfactuals.genome
        ranges = {}
        for name, seen in zip(self.features, self.genes, strict=True):
            j = encoding.schema.names.index(name)
            is_numeric = encoding.schema.features[j].is_numeric
            genomes = np.repeat(row[None], 2 if is_numeric else len(seen), axis=0)
            genomes[:, j] = seen[[0, -1]] if is_numeric else seen
            ranges[name] = tuple(encoding.by_feature(genomes).iloc[:, j].tolist())
        return ranges

    def __repr__(self) -> str:
        names = " and ".join(str(name) for name in self.features)
        least = self.counterfactuals.objectives[0, DISTANCE]
        return f"<Way: {names}, from distance {least:.4g}>"


class Ways(Sequence[Way[Result]]):
    """The ways that were found, by least distance.

    Parameters
    ----------
    found : Counterfactuals
        The result.
    rows : WayRows
        Its ways.
    which : ndarray of shape (w,)
        Those of them that are meant.
    margin : float
        How far inside the target what is shown should be.

    Examples
    --------
    >>> import counterpoint as cp
    >>> data = pd.DataFrame({"age": [20, 30, 40, 50], "debt": [9, 5, 3, 1]})
    >>> explainer = cp.Explainer(lambda rows: rows["age"] / 50 - rows["debt"] / 20, data)
    >>> ways = explainer.explain(data[:1], target=(0.5, None)).ways()
    >>> len(ways), ways.to_frame()[["way", "features", "minimality"]].to_dict("records")
    (1, [{'way': 'age', 'features': 1, 'minimality': 'proved'}])
    """

    def __init__(self, found: Result, rows: WayRows, which: Ints, margin: float) -> None:
        self._found, self._rows, self._which, self.margin = found, rows, which, margin
        self._made: dict[int, Way[Result]] = {}

    @overload
    def __getitem__(self, index: int) -> Way[Result]: ...
    @overload
    def __getitem__(self, index: slice) -> Ways[Result]: ...
    def __getitem__(self, index: int | slice) -> Way[Result] | Ways[Result]:
        """Return one way, or the ways of a slice."""
        if isinstance(index, slice):
            return Ways(self._found, self._rows, self._which[index], self.margin)
        if isinstance(index, bool) or not isinstance(index, int | np.integer):
            raise InvalidInput(
                f"ways[...] takes a whole number or a slice, got {index!r}; to_frame() shows which "
                "way is which."
            )
        if not -len(self) <= index < len(self):
            raise IndexError(f"ways[{index}]: there are {len(self)} ways.")
        w = int(self._which[index])
        if w not in self._made:
            self._made[w] = self._way(w)
        return self._made[w]

    def __len__(self) -> int:
        return len(self._which)

    def _way(self, w: int) -> Way[Result]:
        rows, names = self._rows, self._found.encoding.schema.names
        of_way = np.flatnonzero(rows.way == w)
        front = of_way[rows.is_front[of_way]]
        front = front[np.argsort(rows.objectives[front, DISTANCE], kind="stable")]
        minimality: Minimality = "no subset found"
        if not rows.is_minimal[w]:
            minimality = "has a smaller way"
        elif rows.is_proved[w]:
            minimality = "proved"
        places = np.flatnonzero(rows.changed[w])
        seen = [self._seen(w, int(j)) for j in places]
        return Way(
            tuple(names[j] for j in places),
            minimality,
            taken(self._found, rows, front),
            taken(self._found, rows, self._shown(of_way)),
            tuple(seen),
            self._is_whole(w, places, seen),
            int(rows.n_valid[w]),
        )

    def _seen(self, w: int, j: int) -> Floats:
        """Return the codes or numbers of feature j that are seen to work in way w."""
        rows = self._rows
        is_own = (rows.value_way == w) & (rows.value_feature == j)
        if not is_own.any():  # values are kept of minimal ways only
            return np.asarray(np.unique(rows.genomes[rows.way == w, j]))
        return np.asarray(rows.value[is_own])

    def _is_whole(self, w: int, places: Ints, seen: list[Floats]) -> bool:
        """Whether every point of the grid between the values that are seen was asked and holds."""
        space, row = self._found.space, self._found.genome
        n_points = 1.0
        for j, values in zip(places.tolist(), seen, strict=True):
            if space.is_level[j] or len(values) == 1:
                n_points *= len(values)
            elif space.grid[j] == 0.0:
                return False
            else:
                n_points *= np.rint((values[-1] - values[0]) * space.grid[j]) + 1.0
                is_between = values[0] < row[j] < values[-1] and is_grid_point(row, space.grid)[j]
                n_points -= is_between if len(places) == 1 else 0.0
        return bool(self._rows.n_valid[w] == n_points)

    def _shown(self, of_way: Ints) -> Ints:
        """Return the one to show, of all that are kept of a way: the nearest that is safe."""
        rows = self._rows
        inside = safety_margins(self._found.target, rows.scores[of_way])
        values = rows.objectives[of_way]
        order = np.lexsort((values[:, IMPLAUSIBILITY], values[:, DISTANCE]))
        is_safe = inside[order] >= self.margin
        return of_way[[order[np.argmax(is_safe)] if is_safe.any() else np.argmax(inside)]]

    def safe_first(self) -> Ways[Result]:
        """Return the same ways, those that are shown a margin inside the target first.

        These come by the distance of what is shown, the others by how far inside it is. If all are
        others, a larger set whose counterfactual is farther inside comes before them, because what
        is shown first should last: the nearest with the margin, if there is one. Nobody reads a
        first answer of thirty changes, so such a set has at most four features.
        """
        order, inside = self._by_safety(self._which)
        which = self._which[order]
        if len(which) and inside.max() < self.margin:
            is_short = self._rows.changed.sum(axis=1) <= MOST_CHANGES
            larger = np.setdiff1d(np.flatnonzero(~self._rows.is_minimal & is_short), which)
            places, insides = self._by_safety(larger)
            if len(larger) and insides.max() > inside.max():
                which = np.append(larger[places[0]], which)
        return Ways(self._found, self._rows, which, self.margin)

    def first_read(self) -> Ways[Result]:
        """Return the ways that are printed: as `safe_first`, without those of over eight changes.

        A sentence of thirty changes tells nobody what would have had to be different. Where all are
        such, all are there.
        """
        ways = self.safe_first()
        is_short = ways._rows.changed[ways._which].sum(axis=1) <= MOST_READ
        which = ways._which[is_short] if is_short.any() else ways._which
        return Ways(self._found, self._rows, which, self.margin)

    def _by_safety(self, which: Ints) -> tuple[Ints, Floats]:
        """Return the order of some ways by what is shown of them, and how far inside each is."""
        shown = self._all_shown(which)
        inside = safety_margins(self._found.target, self._rows.scores[shown])
        distances, lacking = self._rows.objectives[shown, DISTANCE], self.margin - inside
        return np.lexsort((distances, np.maximum(lacking, 0.0))), inside

    def _all_shown(self, which: Ints) -> Ints:
        """Return the candidates to show, one of each of some ways."""
        shown = [self._shown(np.flatnonzero(self._rows.way == w)) for w in which.tolist()]
        return np.concatenate([np.arange(0), *shown])

    @cached_property
    def representatives(self) -> Any:
        """The counterfactuals to show, one of each way, as one result."""
        return taken(self._found, self._rows, self._all_shown(self._which))

    def to_frame(self) -> Any:
        """Return one row per way.

        Returns
        -------
        DataFrame of pandas or polars, or Table of pyarrow, as the data are; pandas for arrays
            Columns way (the features), features (how many), counterfactuals (how many are kept
            of it), distance and implausibility (the least), margin (the largest, how far inside
            the target), minimality, and ranges.
        """
        records = []
        for w, way in zip(self._which.tolist(), self, strict=True):
            own = self._rows.way == w
            inside = safety_margins(self._found.target, self._rows.scores[own])
            records.append(
                {
                    "way": name_of(way.features),
                    "features": len(way.features),
                    "counterfactuals": int(own.sum()),
                    "distance": float(self._rows.objectives[own, DISTANCE].min()),
                    "implausibility": float(self._rows.objectives[own, IMPLAUSIBILITY].min()),
                    "margin": float(inside.max()),
                    "minimality": way.minimality,
                    "ranges": "; ".join(
                        f"{name}: {', '.join(map(str, dict.fromkeys(seen)))}"
                        for name, seen in way.ranges.items()
                    ),
                }
            )
        return in_form(self._found.encoding.form, pd.DataFrame(records, columns=COLUMNS), 0)

    def __repr__(self) -> str:
        return f"<Ways: {len(self)}>"


def name_of(features: Sequence[Hashable]) -> str:
    """Return the name of a way: its features.

    Examples
    --------
    >>> name_of(("age", "job"))
    'age + job'
    """
    return " + ".join(str(feature) for feature in features)


def taken(found: Result, rows: WayRows, which: Ints) -> Result:
    """Return candidates of ways as a result."""
    return replace(found, **rows_of(rows, which), observed=None, way_rows=None)


def way_rows_of(found: ResultData) -> WayRows:
    """Return the ways that were found; of a part of a result, those of its counterfactuals."""
    if found.way_rows is not None:
        return found.way_rows
    unknown = np.full(len(found.genome), np.inf)
    pool = Pool(
        found.genome,
        found.genomes,
        found.scores,
        found.objectives,
        found.target,
        found.facts.margin,
        unknown,
    )
    is_valid = found.reaches
    return WayFinder(pool, is_valid, np.flatnonzero(is_valid)).take(found.codes, found.predictions)


def ways_of(
    found: Result,
    *,
    supersets: bool = False,
    at_most: int | None = None,
    margin: float | None = None,
) -> Ways[Result]:
    """Return the ways of a result; see `Counterfactuals.ways`."""
    rows = way_rows_of(found)
    check_choice("ways: supersets", supersets, (False, True))
    if at_most is not None:
        check_whole("ways: at_most", at_most, 1)
    if margin is not None:
        check_number("ways: margin", margin, 0.0)
    is_meant = rows.is_minimal | supersets
    is_meant &= rows.changed.sum(axis=1) <= (len(found.genome) if at_most is None else at_most)
    least = np.full(len(rows.changed), np.inf)
    np.minimum.at(least, rows.way, rows.objectives[:, DISTANCE])
    which = np.flatnonzero(is_meant)
    which = which[np.argsort(least[which], kind="stable")]
    return Ways(found, rows, which, found.facts.margin if margin is None else float(margin))


def steps_of(found: ResultData, genome: Floats) -> list[tuple[int, float]]:
    """Return the changes of a candidate (d,) one after another, and the prediction after each.

    First comes the change that leads nearest to the target by itself, then the one that does so
    beside it, and so on. The prediction after the last is the candidate's.
    """
    now, steps, target = found.genome.copy(), [], found.target
    places = np.flatnonzero(genome != now)
    while len(places):
        tried = np.repeat(now[None], len(places), axis=0)
        tried[np.arange(len(places)), places] = genome[places]
        outputs = found.problem.predictor.own.outputs(tried)
        scores = np.asarray(target.score(outputs))
        best = int(np.lexsort((-safety_margins(target, scores), target.gaps(scores)))[0])
        steps.append((int(places[best]), float(target.prediction(outputs[best]))))
        now, places = tried[best], np.delete(places, best)
    return steps


def settled(found: Result) -> Result:
    """Return a result whose proof speaks of what it holds, and whose ways know what is proved.

    What a solver found and the model then denied counts no longer. The bounds stay: they are about
    all counterfactuals.
    """
    proof, rows, names = found.proof, found.way_rows, found.encoding.schema.names
    assert proof is not None, "a proof is settled when it is made"
    assert rows is not None, "and so are the ways"
    held = found.objectives[found.reaches]
    sets = [tuple(names[j] for j in np.flatnonzero(changed)) for changed in rows.changed]
    least = {
        features: _least(rows.objectives[:, DISTANCE], rows.way == w)
        for w, features in enumerate(sets)
    }
    is_proved = rows.is_proved | np.array([features in proof.minimal for features in sets], bool)
    proof = replace(
        proof,
        nearest=Claim.of(_least(held[:, DISTANCE]), proof.nearest.bound),
        fewest=Claim.of(_least(held[:, CHANGES]), proof.fewest.bound),
        by_changes={
            n: Claim.of(_least(held[:, DISTANCE], held[:, CHANGES] <= n), claim.bound)
            for n, claim in proof.by_changes.items()
        },
        ways={
            features: Claim.of(least[features], claim.bound)
            for features, claim in proof.ways.items()
            if features in least
        },
    )
    return replace(found, proof=proof, way_rows=replace(rows, is_proved=is_proved))


def _least(values: Floats, which: Bools | bool = True) -> float:
    """Return the least of some values; infinite if there are none."""
    return float(values.min(initial=np.inf, where=which))
