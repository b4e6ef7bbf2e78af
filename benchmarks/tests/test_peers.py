"""The peers' benchmark: one scoring for all methods, and failures that are reported."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from benchmarks import tables
from benchmarks.peers import as_markdown, measuring, scoring
from benchmarks.peers.methods import Method, Runs
from benchmarks.peers.reporting import summarize
from benchmarks.peers.subjects import Subject, credit_table

import counterpoint as cp

REFERENCE = np.array([1.0, 1.0])


@pytest.fixture(scope="module")
def subject() -> Subject:
    table = credit_table()
    return Subject.of("credit", table, tables.train("logistic regression", table))


@pytest.fixture(scope="module")
def ruler(subject: Subject) -> scoring.Ruler:
    return scoring.Ruler(subject, subject.rows.iloc[[0]])


def fails(_row: pd.DataFrame, _target: int) -> pd.DataFrame:
    raise ValueError("no luck\nsecond line")


def returns_text(row: pd.DataFrame, _target: int) -> Any:
    return row.assign(age="old")


def test_the_benchmark_measures_our_results_as_we_do(
    subject: Subject, ruler: scoring.Ruler
) -> None:
    explainer = cp.Explainer(subject.model, subject.data)
    found = explainer.explain(
        subject.rows.iloc[[0]], ruler.target, search=cp.Search(evaluations=300)
    )

    genomes = subject.codec.encode(found.to_frame(near_misses=True))

    np.testing.assert_allclose(ruler.objectives(genomes), found.objectives, atol=1e-12)
    np.testing.assert_array_equal(ruler.reaches(genomes), found.reaches)
    volume = scoring.score(found.to_frame(near_misses=True), ruler).hypervolume
    assert volume == pytest.approx(found.hypervolume() / np.prod(ruler.reference))


def test_rows_come_back_from_their_genomes(subject: Subject) -> None:
    decoded = subject.codec.decode(subject.codec.encode(subject.rows))

    expected = subject.rows.reset_index(drop=True)
    pd.testing.assert_frame_equal(decoded, expected, check_dtype=False)


def test_repeated_counterfactuals_count_once_and_the_row_not_at_all(
    subject: Subject, ruler: scoring.Ruler
) -> None:
    observed, row = subject.data.iloc[[1, 1, 2]], subject.rows.iloc[[0]]

    assert scoring.score(pd.concat([observed, row]), ruler).n == 2


def test_the_best_are_those_that_cover_most() -> None:
    points = np.array([[0.1, 0.9], [0.5, 0.5], [0.9, 0.1], [0.6, 0.6], [0.52, 0.49]])

    best = scoring.choose_best(points, REFERENCE, 1)

    np.testing.assert_array_equal(best, [[0.5, 0.5]])
    assert scoring.hypervolume(points[[3]], REFERENCE) == pytest.approx(0.16)


@pytest.mark.parametrize("explain", [fails, returns_text])
def test_a_failure_counts_zero_and_is_reported(
    subject: Subject, ruler: scoring.Ruler, explain: Any
) -> None:
    runs = Runs(Method("unlucky", "counterpoint", "nowhere"), explain)

    measuring.take_turn(runs, explain, subject.rows.iloc[[0]], ruler)

    record = summarize("credit", runs, ours=runs)
    assert (record["rows"], record["rows_valid"], record["hypervolume"]) == (1, 0, 0.0)
    assert record["median_seconds"] is None
    assert record["errors"][0].startswith("row 1: ValueError: ")
    assert "second line" not in record["errors"][0]
    assert record["errors"][0] in as_markdown([record])


def test_a_package_that_is_missing_is_reported(subject: Subject) -> None:
    runs = measuring.warm_up(subject, Method("absent", "no-such-package", "nowhere"))

    assert runs.errors[0].startswith("does not run: ModuleNotFoundError")
    assert runs.method.version == "not installed"
