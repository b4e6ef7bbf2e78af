"""Answers: what each method returns for the rows of a subject, kept on disk for the dear ones."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from tqdm import tqdm

import counterpoint as cp
from benchmarks.methods import METHODS, Case, NotApplicable
from benchmarks.methods.ours import BUDGET
from benchmarks.methods.packages import Package
from benchmarks.peers.subjects import Floats
from benchmarks.study.runs import OutOfTime, limited
from benchmarks.study.store import write_whole
from benchmarks.study.subjects import SAME
from benchmarks.ways.brute_force import Features
from benchmarks.ways.subjects import Subject

SEARCHES: dict[str, cp.Search | cp.WhatIf] = {
    "ours": cp.Search(evaluations=BUDGET),
    "mocmod": cp.Search.paper("mocmod"),
    "whatif": cp.WhatIf(),
}
PEERS = {
    "dice random 10": Package("dice random 10", "with_dice", "random 10"),
    "dice random 50": Package("dice random 50", "with_dice", "random 50"),
    "dice genetic 10": Package("dice genetic 10", "with_dice", "genetic 10"),
    "dice genetic 50": Package("dice genetic 50", "with_dice", "genetic 50"),
    "nice sparsity": METHODS["nicex sparsity"],
    "nice proximity": METHODS["nicex proximity"],
}
NAMES = [*SEARCHES, *PEERS]
LIMIT = 20  # seconds of computing after which a package has failed on a row, as in the study
MOST_ROWS = dict.fromkeys(PEERS, 5) | {"dice genetic 50": 2}  # the packages take their time

Told = dict[Features, float]  # sets of changed features, each with its least distance


class Answer(NamedTuple):
    """What a method told about one row, and the seconds it took."""

    told: Told
    seconds: float
    failure: str = ""


def answers(subject: Subject, method: str, n_rows: int, cache: Path) -> list[Answer]:
    """Return a method's answers to the first rows of a subject; of slow packages to fewer."""
    if method in SEARCHES:
        return searched(subject, method, n_rows)
    n_rows = min(n_rows, MOST_ROWS[method])
    bar = tqdm(
        range(n_rows), desc=f"{subject.table} {subject.kind} {method}", leave=False, disable=None
    )
    return [_kept(subject, method, place, cache) for place in bar]


def searched(subject: Subject, method: str, n_rows: int) -> list[Answer]:
    """Return the answers of one of our searches, all rows side by side on one thread.

    Ours tells its ways; what else a search returns is judged by its counterfactuals alone.
    """
    explainer, start = subject.background.explainer, time.perf_counter()
    found = explainer.explain_many(
        subject.rows.iloc[:n_rows],
        subject.target,
        search=SEARCHES[method],
        workers=1,
        progress=False,
    )
    rows = [
        pd.concat(list(frames_of(each))) if method == "ours" else each.to_frame() for each in found
    ]
    seconds = (time.perf_counter() - start) / max(1, n_rows)
    return [Answer(told(subject.case(i), rows[i]), seconds) for i in range(n_rows)]


def frames_of(found: Any) -> Iterator[pd.DataFrame]:
    """Yield the rows of the ways that a result tells; a frame without rows if there are none."""
    yield found.to_frame()[:0]
    for way in found.ways():
        yield way.closest
        yield way.counterfactuals.to_frame()


def told(case: Case, rows: pd.DataFrame) -> Told:
    """Return the sets of features whose change alone reaches the target, by the rows told."""
    if len(rows) == 0:
        return {}
    genomes = case.codec.encode(rows)
    # What a package moves by less than this is unchanged, as the authors judged other methods.
    genomes = np.where(np.abs(genomes - case.genome) <= SAME, case.genome, genomes)
    genomes = genomes[(genomes[:, case.codec.is_level] >= 0).all(axis=1)]  # levels of the data
    return sets_of(case, genomes[case.reaches(genomes)])


def sets_of(case: Case, genomes: Floats) -> Told:
    """Return the sets of features that genomes change, each with its least distance."""
    least: Told = {}
    for changed, distance in zip(genomes != case.genome, case.gower(genomes), strict=True):
        features = tuple(int(j) for j in np.flatnonzero(changed))
        if features:
            least[features] = min(float(distance), least.get(features, np.inf))
    return least


def _kept(subject: Subject, method: str, place: int, cache: Path) -> Answer:
    """Return the answer of a package to one row, from the disk if it was given before."""
    name = f"{subject.table}-{subject.kind}-{subject.fingerprint}-{method}-{place}.json"
    file = cache / "answers" / name.replace(" ", "_")
    if not file.exists():
        answer = _of_package(subject.case(place), method)
        write_whole(file, json.dumps([list(answer.told.items()), *answer[1:]]))
    pairs, seconds, failure = json.loads(file.read_text())
    return Answer({tuple(features): distance for features, distance in pairs}, seconds, failure)


def _of_package(case: Case, method: str) -> Answer:
    """Return the answer of a package; whatever it raises is a failure of it."""
    start = time.perf_counter()
    try:
        with warnings.catch_warnings(), limited(LIMIT):
            warnings.simplefilter("ignore")  # the packages' many, which are not the subject
            rows = PEERS[method].explain(case)
        return Answer(told(case, rows), time.perf_counter() - start)
    except OutOfTime:
        return Answer({}, float(LIMIT), f"no answer after {LIMIT} s of computing")
    except NotApplicable as reason:
        return Answer({}, 0.0, str(reason))
    except Exception as error:  # a failing package is a result of the comparison
        message = f"{type(error).__name__}: {error}".splitlines()[0][:200]
        return Answer({}, time.perf_counter() - start, message)
