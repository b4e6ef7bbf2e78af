"""The ways of a result in its file, and what is proved of it."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from counterpoint.arrays import Bools, Floats, Ints
from counterpoint.problem.objectives import GAP
from counterpoint.result.facts import Facts
from counterpoint.result.file.document import Node
from counterpoint.result.file.parts import read_objectives
from counterpoint.search.exact.proof import Claim, Proof
from counterpoint.search.ways import WayRows

KEYS = ("ways", "values", "rows")
WAY_KEYS = ("features", "is_minimal", "is_proved", "n_valid")
PROOF_KEYS = ("nearest", "fewest", "by_changes", "ways", "reason")
ROW_KEYS = ("way", "is_front", "genomes", "predictions", "scores", "codes", "objectives")


def write_ways(rows: WayRows | None, genomes: list[Any]) -> dict[str, Any] | None:
    """Return the ways as JSON, with the genomes of their candidates; None if there are none."""
    if rows is None:
        return None
    return {
        "ways": {
            "features": [np.flatnonzero(changed).tolist() for changed in rows.changed],
            "is_minimal": rows.is_minimal.tolist(),
            "is_proved": rows.is_proved.tolist(),
            "n_valid": rows.n_valid.tolist(),
        },
        "values": [
            rows.value_way.tolist(),
            rows.value_feature.tolist(),
            rows.value.tolist(),
        ],
        "rows": {
            "way": rows.way.tolist(),
            "is_front": rows.is_front.tolist(),
            "genomes": genomes,
            "predictions": rows.predictions.tolist(),
            "scores": rows.scores.tolist(),
            "codes": rows.codes.tolist(),
            "objectives": rows.objectives.tolist(),
        },
    }


def write_proof(proof: Proof | None, names: Sequence[Hashable]) -> dict[str, Any] | None:
    """Return what is proved as JSON, ways by the positions of their features; None if nothing is.

    An infinite value or bound is null.
    """
    if proof is None:
        return None
    places = {features: [names.index(name) for name in features] for features in proof.ways}
    return {
        "nearest": _write_claim(proof.nearest),
        "fewest": _write_claim(proof.fewest),
        "by_changes": [[n, _write_claim(claim)] for n, claim in proof.by_changes.items()],
        "ways": [
            [places[features], _write_claim(claim), features in proof.minimal]
            for features, claim in proof.ways.items()
        ],
        "reason": proof.reason,
    }


def _write_claim(claim: Claim) -> list[float | None]:
    """Return value and bound."""
    return [end if np.isfinite(end) else None for end in (claim.value, claim.bound)]


def read_proof(node: Node, names: Sequence[Hashable]) -> Proof | None:
    """Return what is proved, every field checked; None if nothing is."""
    if node.value is None:
        return None
    nearest, fewest, by_changes, ways, reason = node.fields(*PROOF_KEYS)
    counts = [entry.items(2) for entry in by_changes.items()]
    sets, minimal = {}, []
    for entry in ways.items():
        places, claim, is_minimal = entry.items(3)
        features = tuple(names[place.whole(0, len(names) - 1)] for place in places.items())
        sets[features] = _read_claim(claim)
        if is_minimal.truth():
            minimal.append(features)
    return Proof(
        _read_claim(nearest),
        _read_claim(fewest),
        {n.whole(1, len(names)): _read_claim(claim) for n, claim in counts},
        sets,
        frozenset(minimal),
        reason.text(),
    )


def _read_claim(node: Node) -> Claim:
    """Return value and bound; null is infinite."""
    value, bound = (np.inf if end.value is None else end.number() for end in node.items(2))
    if not 0.0 <= bound <= value:
        node.refuse("a value and a bound from 0 to the value")
    return Claim(value, bound)


def genomes_node(node: Node) -> Node | None:
    """Return where the genomes of the candidates of ways are; None if there are no ways."""
    if node.value is None:
        return None
    return node.fields(*KEYS)[2].fields(*ROW_KEYS)[2]


def read_ways(node: Node, genome: Floats, genomes: Floats, facts: Facts) -> WayRows:
    """Return the ways of a file, every field checked, given their candidates' genomes."""
    of_ways, values, of_rows = node.fields(*KEYS)
    sets, minimal, proved, counts = of_ways.fields(*WAY_KEYS)
    changed = _read_sets(sets, len(genome))
    n, w = len(genomes), len(changed)
    part = dict(zip(ROW_KEYS, of_rows.fields(*ROW_KEYS), strict=True))
    way = _read_wholes(part["way"], n, w - 1)
    if (n and (np.diff(way) < 0).any()) or not np.array_equal(np.unique(way), np.arange(w)):
        part["way"].refuse("the way of each candidate, in order, each way at least once")
    if not np.array_equal(genomes != genome, changed[way]):
        part["genomes"].refuse("candidates that change exactly the features of their ways")
    objectives = read_objectives(part["objectives"], genomes, genome, facts.aims)
    if (objectives[:, GAP] > 0.0).any():
        part["objectives"].refuse("candidates that reach the target")
    value_way, value_feature, value = _read_seen(values, changed)
    return WayRows(
        changed,
        _read_truths(minimal, w),
        _read_truths(proved, w),
        _read_wholes(counts, w, 2**53),
        value_way,
        value_feature,
        value,
        way,
        _read_truths(part["is_front"], n),
        genomes,
        part["predictions"].numbers(n),
        part["scores"].numbers(n),
        _read_wholes(part["codes"], n, max(len(facts.classes) - 1, 0)),
        objectives,
    )


def _read_sets(node: Node, d: int) -> Bools:
    """Return the features of each way, shape (w, d)."""
    entries = node.items()
    changed = np.zeros((len(entries), d), dtype=np.bool_)
    for w, entry in enumerate(entries):
        places = [place.whole(0, d - 1) for place in entry.items()]
        if not places or sorted(set(places)) != places:
            entry.refuse("positions of features, ascending, at least one")
        changed[w, places] = True
    return changed


def _read_seen(node: Node, changed: Bools) -> tuple[Ints, Ints, Floats]:
    """Return which values of which ways are seen to work."""
    ways, features, values = node.items(3)
    seen = values.numbers()
    way = _read_wholes(ways, len(seen), len(changed) - 1)
    feature = _read_wholes(features, len(seen), changed.shape[1] - 1)
    if len(seen) and not changed[way, feature].all():
        features.refuse("features of their ways")
    return way, feature, seen


def _read_wholes(node: Node, n: int, most: int) -> Ints:
    """Return n whole numbers from 0 on."""
    return np.array([entry.whole(0, max(most, 0)) for entry in node.items(n)], dtype=np.int64)


def _read_truths(node: Node, n: int) -> Bools:
    """Return n truth values."""
    return np.array([entry.truth() for entry in node.items(n)], dtype=np.bool_)
