"""Orders: candidates from best to worst in one respect, those that reach the target first.

Also their first few, of which some are named, what people may care about when they choose, and
safety: whether the outcome would hold if values, or the model, were a little different.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from counterpoint.arrays import MISSING, Bools, Floats, Ints
from counterpoint.checks import check_choice, check_whole, is_number
from counterpoint.errors import InvalidInput, did_you_mean, listed
from counterpoint.models.predictor import Predictor
from counterpoint.neighbours.gower import terms
from counterpoint.neighbours.index import distances_to, gower_weights
from counterpoint.problem.objectives import CHANGES, DISTANCE, GAP, IMPLAUSIBILITY
from counterpoint.problem.target import Target, decision
from counterpoint.result.data import PER_CANDIDATE, ResultData
from counterpoint.result.long_table import in_form
from counterpoint.result.ways import Result, ways_of
from counterpoint.search.front import greatest_contribution
from counterpoint.streams import Stage, check_seed, row_keys, uniforms
from counterpoint.table.space import Space


@dataclass(frozen=True, eq=False)
class Attributes:
    """The candidates of a choice and what tells them apart."""

    candidates: Ints  # (c,): their positions in the result
    aims: tuple[str, ...]  # the objectives that differ between candidates
    features: tuple[Hashable, ...]  # the features in which candidates differ
    # (c, n_aims + 2 * n_features): the normalised objectives; whether each feature changes; by how
    # much, as a share of the largest change among the candidates
    shares: Floats


def attributes_of(found: ResultData, candidates: Ints) -> Attributes:
    """Return the attributes of the counterfactuals at these positions (c,)."""
    objectives = found.objectives[candidates]
    aims = normalised(objectives, np.ones(len(objectives), dtype=np.bool_))
    weight, cap = gower_weights(found.genome[None], found.space)
    genomes, row = found.genomes[candidates], found.genome
    sizes = terms(genomes, row, weight[0], cap)
    lacks = (genomes == MISSING) | (row == MISSING)
    sizes = np.where(lacks, (genomes != row).astype(np.float64), sizes)  # all the way, or none
    largest = sizes.max(axis=0)
    sizes = sizes / np.where(largest > 0.0, largest, 1.0)
    names, has_aim, differs = found.encoding.schema.names, _varies(aims), _varies(genomes)
    changed = found.changed[candidates].astype(np.float64)
    return Attributes(
        candidates,
        tuple(found.objective_names[m] for m in np.flatnonzero(has_aim)),
        tuple(names[j] for j in np.flatnonzero(differs)),
        np.hstack([aims[:, has_aim], changed[:, differs], sizes[:, differs]]),
    )


def _varies(values: Floats) -> Bools:
    """Return which columns of (n, k) hold more than one value."""
    return np.asarray(values.min(axis=0) < values.max(axis=0))


def in_order(found: ResultData, *scores: Floats) -> Ints:
    """Return all positions by gap, then by the scores (n,), less being better, then as they are.

    Whatever reaches the target has no gap. So these come first, in the order of the scores, and
    then the others: those that miss it by least before the rest.
    """
    return np.lexsort((*reversed(scores), found.objectives[:, GAP]))


# The objective that decides, and the one that does where it is equal.
BY_OBJECTIVES = {
    "closest": (DISTANCE, CHANGES),
    "fewest": (CHANGES, DISTANCE),
    "plausible": (IMPLAUSIBILITY, DISTANCE),
}


def ordered(found: ResultData, by: str) -> Ints:
    """Return all positions by objectives; "knee" is by the distance from the ideal."""
    if by == "knee":
        return in_order(found, knee_scores(found.objectives, best_of(found)))
    return in_order(found, *found.objectives[:, BY_OBJECTIVES[by]].T)


def weighted(found: ResultData, weights: Floats) -> Ints:
    """Return all positions by the weighted sum of the normalised objectives; weights (m,)."""
    return in_order(found, normalised(found.objectives, best_of(found)) @ weights)


def best_of(found: ResultData) -> Bools:
    """Return which a choice is among, shape (n,): those that reach the target, or else all."""
    return found.reaches if found.reaches.any() else np.ones(len(found.genomes), dtype=np.bool_)


def normalised(objectives: Floats, pool: Bools) -> Floats:
    """Return objectives (n, m) as shares of their range in a pool (n,): 0 is its best, 1 its worst.

    An objective that is the same throughout the pool is 0: there is nothing to choose by it. What
    is not of the pool may lie outside of 0 and 1.

    Examples
    --------
    >>> values = np.array([[0.0, 2.0], [0.0, 4.0], [0.0, 3.0]])
    >>> normalised(values, np.array([True, True, False]))
    array([[0. , 0. ],
           [0. , 1. ],
           [0. , 0.5]])
    """
    low, high = objectives[pool].min(axis=0), objectives[pool].max(axis=0)
    return np.asarray((objectives - low) / np.where(high > low, high - low, np.inf))


def knee_scores(objectives: Floats, pool: Bools) -> Floats:
    """Return how far each is from the ideal, which has the pool's best of every objective.

    The distance is Euclid's in normalised objectives, each scaled to its range in the pool. The
    least is the knee of the front: the compromise from which no objective has to give up much of
    what the others get (Zeleny's compromise solution with exponent 2).

    Examples
    --------
    >>> front = np.array([[0.0, 9.0], [1.0, 2.0], [10.0, 0.0]])
    >>> int(np.argmin(knee_scores(front, np.ones(3, dtype=bool))))
    1
    """
    return np.asarray(np.sqrt((normalised(objectives, pool) ** 2).sum(axis=1)))


def margins(found: ResultData) -> Floats:
    """Return how far each prediction is inside the target, shape (n,); below 0 if it is outside.

    It is the distance to the nearer end of the interval. An end that no prediction can pass, 0 or 1
    of a probability, is no boundary and does not count.
    """
    low, high = _boundaries(found.target, found.row_score)
    inside = np.minimum(found.scores - low, high - found.scores)
    gaps = found.objectives[:, GAP]
    return np.where(gaps > 0.0, -gaps, np.maximum(inside, 0.0))


def _boundaries(target: Target, now: float) -> tuple[float, float]:
    """Return the ends of the target a prediction could pass, infinite where there is none.

    A single output is taken for a probability if it is one for the explained row: a result that
    was loaded from a file knows no other.
    """
    is_probability = target.label is not None or 0.0 <= now <= 1.0
    low = -np.inf if is_probability and target.low <= 0.0 else target.low
    high = np.inf if is_probability and target.high >= 1.0 else target.high
    if np.isinf(low) and np.isinf(high):  # all probabilities are wanted: none is the safer
        return target.low, target.high
    return low, high


NEIGHBOURS = 32
MOST_NEIGHBOURS = 10_000
WOBBLE = 0.05  # how far a number goes at most, as a share of its range
P_STEP = 0.05  # how often a level, or a number on a grid coarser than that, is another one
SHORTLIST = 64  # the largest margins, among which neighbours tell the safest
TOGETHER = 2**17  # rows the model is asked at a time

MARGIN_ONLY = (
    "margin only: this result was loaded from a file, without the model that neighbours are asked "
    "of."
)


def safety_frame(
    found: ResultData, models: Iterable[Any] | None, neighbours: int | None, seed: int
) -> Any:
    """Return margin and shares of each counterfactual; see `Counterfactuals.safety`."""
    has_model = found.live is not None
    n_near = NEIGHBOURS * has_model if neighbours is None else neighbours
    check_whole("safety.neighbours", n_near, 0, MOST_NEIGHBOURS)
    if n_near and not has_model:
        raise InvalidInput(
            "safety cannot ask neighbours: this result was loaded from a file, without its model; "
            "pass neighbours=0, or make an Explainer and call explain again with the same seed."
        )
    numbers = np.arange(1, len(found.genomes) + 1)
    frame = pd.DataFrame({"counterfactual": numbers, "margin": margins(found)})
    if n_near:
        frame["neighbours"] = share_of_neighbours(found, n_near, check_seed(seed))
    elif not has_model:
        frame.attrs["note"] = MARGIN_ONLY
    if models is not None:
        frame["models"] = share_of_models(found, models)
    return in_form(found.encoding.form, frame, 0)


def safest(found: ResultData, n: int = 1) -> Ints:
    """Return all positions, the safest first: most neighbours that hold, then the largest margin.

    Only a shortlist of the largest margins is asked about, and none if there is no model to ask.
    """
    order = in_order(found, -margins(found))
    if found.live is None:
        return order
    n_short = min(max(SHORTLIST, n), max(int(found.reaches.sum()), 1))
    short = order[:n_short]
    shares = share_of_neighbours(found.take(short), NEIGHBOURS, 0)
    return np.concatenate([short[np.argsort(-shares, kind="stable")], order[n_short:]])


def representatives(found: ResultData) -> dict[str, int]:
    """Return the positions of five candidates with names; empty if there are none.

    Several names may stand for one candidate. See `Counterfactuals.representatives`.
    """
    if len(found.genomes) == 0:
        return {}
    return {
        "closest": int(ordered(found, "closest")[0]),
        "fewest changes": int(ordered(found, "fewest")[0]),
        "most typical": int(ordered(found, "plausible")[0]),
        "safest": int(safest(found)[0]),
        "balanced": int(ordered(found, "knee")[0]),
    }


def share_of_neighbours(found: ResultData, n: int, seed: int) -> Floats:
    """Return the share of n neighbours of each counterfactual that reach the target.

    A neighbour differs a little in every feature that may change: a number by up to a twentieth of
    its range, on its grid; a level is, one time in twenty, that of a random observed row. What is
    missing stays so. Its draws are addressed by the counterfactual's own values, so that company
    does not matter.
    """
    keys, problem = row_keys(seed, found.genomes), found.problem
    shares = np.empty(len(found.genomes))
    step = max(1, TOGETHER // n)
    for start in range(0, len(found.genomes), step):
        some = slice(start, start + step)
        near = neighbours_of(found, found.genomes[some], keys[some], n)
        with problem.predictor.one_thread():
            reached = reaching(problem.predictor.own, found.target, near.reshape(-1, near.shape[2]))
        shares[some] = reached.reshape(near.shape[:2]).mean(axis=1)
    return shares


def neighbours_of(found: ResultData, genomes: Floats, keys: Any, n: int) -> Floats:
    """Return n neighbours of each of the genomes (c, d), shape (c, n, d)."""
    problem, space = found.problem, found.space
    c, d = genomes.shape
    row = np.where(found.genome == MISSING, space.low, found.genome)
    where = uniforms(keys, Stage.NEIGHBOUR, 0, n, d)
    value = uniforms(keys, Stage.NEIGHBOUR_VALUE, 0, n, d)
    there = np.where(genomes == MISSING, space.low, genomes)
    low = np.minimum(np.minimum(space.low, row), there)[:, None, :]
    high = np.maximum(np.maximum(space.high, row), there)[:, None, :]
    start = np.broadcast_to(there[:, None, :], (c, n, d))
    moved = start + _steps(space, high - low, where, value)
    near = np.clip(_on_grid(moved, space), low, high)
    observed = problem.observed.genomes
    other = observed[(where * len(observed)).astype(np.int64), np.arange(d)]
    is_other = (value < P_STEP) & (other != MISSING)
    near = np.where(space.is_level, np.where(is_other, other, start), near)
    single = np.where(space.is_single, near, 0.0).astype(np.float32).astype(np.float64)
    near = np.where(space.is_single, single, near)
    own = genomes[:, None, :]
    stays = found.facts.limits.is_fixed | (own == MISSING)
    return np.ascontiguousarray(np.where(stays, own, near))


def _steps(space: Space, span: Floats, where: Floats, value: Floats) -> Floats:
    """Return how far each number moves: anywhere within the wobble, or rarely by a coarse step."""
    reach = WOBBLE * span
    grid = np.where(space.grid > 0.0, space.grid, np.inf)
    is_coarse = reach * grid < 1.0
    coarse = np.where(value < P_STEP, np.sign(where - 0.5) / grid, 0.0)
    return np.where(is_coarse, coarse, (2.0 * where - 1.0) * reach)


def _on_grid(values: Floats, space: Space) -> Floats:
    grid = np.where(space.grid > 0.0, space.grid, 1.0)
    return np.where(space.grid > 0.0, np.rint(values * grid) / grid + 0.0, values)


def reaching(predictor: Predictor, target: Target, genomes: Floats) -> Bools:
    """Return which genomes (n, d) reach a target, as the model itself decides."""
    if target.is_decision:
        return np.asarray(target.accepts_label(predictor.label_blocks(genomes[None])[0]))
    predictions = target.prediction(predictor.blocks(genomes[None])[0])
    return np.asarray((target.low <= predictions) & (predictions <= target.high))


def share_of_models(found: ResultData, models: Iterable[Any]) -> Floats:
    """Return the share of other models, such as refitted ones, by which each reaches the target."""
    is_one = isinstance(models, str) or hasattr(models, "predict")  # a forest lists its trees
    several = list(models) if isinstance(models, Iterable) and not is_one else []
    if not several:
        raise InvalidInput(
            f"safety: models must be a list of at least one model, got {models!r}; "
            "for example [clone(model).fit(...) for each bootstrap sample]."
        )
    reached, own, observed = np.zeros(len(found.genomes)), None, found.genome[None]
    if found.live is not None:
        own, observed = found.problem.predictor.classes, found.problem.observed.genomes
    for model in several:
        classes = None if hasattr(model, "classes_") else own
        predictor = Predictor(model, found.encoding, observed, classes)
        target = _same_target(found.target, predictor.classes)
        if len(found.genomes):
            with predictor.one_thread():
                reached += reaching(predictor, target, found.genomes)
    return reached / len(several)


def _same_target(target: Target, classes: tuple[Any, ...] | None) -> Target:
    """Return the target for a model that may have its classes in another order, or fewer."""
    if target.label is None:
        return target
    known = list(classes or ())
    labels = target.labels or (target.label,)
    if unknown := [label for label in labels if label not in known]:
        raise InvalidInput(
            f"safety: one of the models has no class {unknown[0]!r}; refit on samples that have "
            "all classes."
        )
    wanted = tuple(sorted(known.index(label) for label in labels))
    if target.is_decision:
        return decision(wanted, known)
    return replace(target, column=wanted[0])


By = Literal["ways", "hypervolume", "diverse", "knee", "closest", "fewest", "plausible", "safest"]


def select(
    found: Result, n: int, by: By, weights: Mapping[str, float] | None, margin: float | None
) -> Result:
    """Return at most n counterfactuals, all different, valid ones first; see `Counterfactuals`."""
    if by not in ("ways", "diverse") or weights is not None:
        if margin is not None:
            chosen = f"by={by!r}" if weights is None else f"weights={weights!r}"
            raise InvalidInput(
                f"select: margin={margin!r} is for by='ways' and by='diverse', not for {chosen}; "
                "leave one out."
            )
        return found.take(select_positions(found, n, by, weights))
    check_whole("select: n", n, 1)
    shown: Result = ways_of(found, margin=margin).safe_first().representatives
    if by == "diverse" and len(shown.genomes):
        shown = shown.take(farthest_first(shown, n))
    shown = shown.take(np.arange(min(n, len(shown.genomes))))
    if len(shown.genomes) < n:
        shown = with_others(shown, found, n)
    if found.observed is None:
        return shown
    at = {genome.tobytes(): i for i, genome in enumerate(found.genomes)}
    return found.take([at[genome.tobytes()] for genome in shown.genomes])  # with their labels


def with_others(shown: Result, found: Result, n: int) -> Result:
    """Return what is shown, filled up to n: other counterfactuals first, then near misses."""
    known = {genome.tobytes() for genome in shown.genomes}
    others = np.array([genome.tobytes() not in known for genome in found.genomes], dtype=np.bool_)
    rest = found.take(np.flatnonzero(others))
    more = greatest_contribution(rest.objectives, n - len(shown.genomes), rest.facts.worst)
    return joined(shown, rest.take(more[np.argsort(~rest.reaches[more], kind="stable")]))


def with_ways(found: Result) -> tuple[Result, Ints]:
    """Return a result and, after its own candidates, the representatives of ways that it lacks.

    Also where the representatives of all ways are in it, as `safe_first` orders them.
    """
    shown: Result = ways_of(found).safe_first().representatives
    places = {genome.tobytes(): i for i, genome in enumerate(found.genomes)}
    keys = [genome.tobytes() for genome in shown.genomes]
    lacking = [i for i, key in enumerate(keys) if key not in places]
    places |= {keys[i]: len(found.genomes) + k for k, i in enumerate(lacking)}
    whole = joined(found, shown.take(lacking)) if lacking else found
    return whole, np.array([places[key] for key in keys], dtype=np.int64)


def joined(first: Result, second: Result) -> Result:
    """Return the candidates of two results of the same row, one after the other."""
    arrays: dict[str, Any] = {
        n: np.concatenate([getattr(first, n), getattr(second, n)]) for n in PER_CANDIDATE
    }
    return replace(first, **arrays, observed=None)


def select_positions(
    found: ResultData, n: int, by: By, weights: Mapping[str, float] | None
) -> Ints:
    """Return the positions of at most n counterfactuals, all different, valid ones first."""
    check_choice("select: by", by, get_args(By))
    check_whole("select: n", n, 1)
    if weights is not None:
        if by != "ways":
            raise InvalidInput(
                f"select takes by or weights, got by={by!r} and weights={weights!r}; leave one out."
            )
        shares = check_weights(weights, found.objective_names)
        return weighted(found, shares)[:n] if len(found.genomes) else np.arange(0)
    if by == "hypervolume":
        return greatest_contribution(found.objectives, n, found.facts.worst)
    if len(found.genomes) == 0:
        return np.arange(0)
    return safest(found, n)[:n] if by == "safest" else ordered(found, by)[:n]


def check_weights(weights: object, names: tuple[str, ...]) -> Floats:
    """Return the weight of each objective, 0 for those not named."""
    if not isinstance(weights, Mapping) or not weights:
        example = "for example weights={'distance': 2, 'changes': 1}."
        raise InvalidInput(
            f"weights must be a dict of objective to number, got {weights!r}; {example}"
        )
    for name, weight in weights.items():
        if name not in names:
            hint = did_you_mean(name, names) or f"the objectives are {listed(names)}."
            raise InvalidInput(f"weights names {name!r}, which is no objective; {hint}")
        if not is_number(weight) or not 0.0 <= float(weight) < np.inf:
            raise InvalidInput(
                f"weights[{name!r}] must be a finite number of at least 0, got {weight!r}."
            )
    if not any(weights.values()):
        raise InvalidInput("weights must not all be 0.")
    return np.array([float(weights.get(name, 0.0)) for name in names])


def farthest_first(found: ResultData, n: int) -> Ints:
    """Return n positions, each as far as can be from those before it; the knee is the first.

    Far is Gower's distance to the nearest one chosen (Gonzalez 1985). What reaches the target is
    used up before anything else is chosen.
    """
    weight, cap = gower_weights(found.genome[None], found.space)
    chosen = [int(ordered(found, "knee")[0])]
    nearest = np.full(len(found.genomes), np.inf)
    is_free = np.ones(len(found.genomes), dtype=np.bool_)
    while len(chosen) < min(n, len(found.genomes)):
        last = found.genomes[chosen[-1]]
        nearest = np.minimum(nearest, distances_to(last, found.genomes, weight[0], cap))
        is_free[chosen[-1]] = False
        pool = is_free & found.reaches if (is_free & found.reaches).any() else is_free
        chosen.append(int(np.argmax(np.where(pool, nearest, -1.0))))
    return np.array(chosen, dtype=np.int64)
