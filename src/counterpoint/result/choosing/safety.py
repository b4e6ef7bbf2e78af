"""Safety: whether the outcome would hold if values, or the model, were a little different.

The named representatives of a result, the safest among them, are chosen here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from counterpoint.arrays import MISSING, Bools, Floats, Ints
from counterpoint.checks import check_whole
from counterpoint.errors import InvalidInput
from counterpoint.models.predictor import Predictor
from counterpoint.problem.target import Target
from counterpoint.result.choosing import orders
from counterpoint.result.data import ResultData
from counterpoint.streams import Stage, check_seed, row_keys, uniforms
from counterpoint.table.space import Space

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
) -> pd.DataFrame:
    """Return margin and shares of each counterfactual; see `Counterfactuals.safety`."""
    has_model = found.live is not None
    n_near = NEIGHBOURS * has_model if neighbours is None else neighbours
    check_whole("safety.neighbours", n_near, 0, MOST_NEIGHBOURS)
    if n_near and not has_model:
        raise InvalidInput(
            "safety cannot ask neighbours: this result was loaded from a file, without its model; "
            "pass neighbours=0, or make an Explainer and call explain again with the same seed."
        )
    frame = pd.DataFrame(
        {"counterfactual": np.arange(1, len(found.genomes) + 1), "margin": orders.margins(found)}
    )
    if n_near:
        frame["neighbours"] = share_of_neighbours(found, n_near, check_seed(seed))
    elif not has_model:
        frame.attrs["note"] = MARGIN_ONLY
    if models is not None:
        frame["models"] = share_of_models(found, models)
    return frame


def safest(found: ResultData, n: int = 1) -> Ints:
    """Return all positions, the safest first: most neighbours that hold, then the largest margin.

    Only a shortlist of the largest margins is asked about, and none if there is no model to ask.
    """
    order = orders.in_order(found, -orders.margins(found))
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
    ways = {
        "closest": orders.closest,
        "fewest changes": orders.fewest,
        "most typical": orders.plausible,
        "safest": safest,
        "balanced": orders.knee,
    }
    return {name: int(way(found)[0]) for name, way in ways.items()}


def share_of_neighbours(found: ResultData, n: int, seed: int) -> Floats:
    """Return the share of n neighbours of each counterfactual that reach the target.

    A neighbour differs a little in every feature that may change: a number by up to a twentieth of
    its range, on its grid; a level is, one time in twenty, that of a random observed row. What is
    missing stays so. Its draws are addressed by the counterfactual's own values, so that company
    does not matter.
    """
    keys = row_keys(seed, found.genomes)
    problem = found.problem
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
    """Return numbers on the grids of their features."""
    grid = np.where(space.grid > 0.0, space.grid, 1.0)
    return np.where(space.grid > 0.0, np.rint(values * grid) / grid + 0.0, values)


def reaching(predictor: Predictor, target: Target, genomes: Floats) -> Bools:
    """Return which genomes (n, d) reach a target, as the model itself decides."""
    predictions = target.prediction(predictor.blocks(genomes[None])[0])
    reached = (target.low <= predictions) & (predictions <= target.high)
    if target.is_decision and predictor.has_decision:
        reached &= target.accepts_label(predictor.label_blocks(genomes[None])[0])
    return np.asarray(reached)


def share_of_models(found: ResultData, models: Iterable[Any]) -> Floats:
    """Return the share of other models, such as refitted ones, by which each reaches the target."""
    several = list(models) if isinstance(models, Iterable) and not isinstance(models, str) else []
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
    if target.label not in known:
        raise InvalidInput(
            f"safety: one of the models has no class {target.label!r}; refit on samples that have "
            "all classes."
        )
    return Target(
        target.low,
        target.high,
        known.index(target.label),
        target.label,
        target.is_decision,
        target.is_complement,
    )
