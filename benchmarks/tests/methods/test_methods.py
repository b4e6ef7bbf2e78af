"""All methods behind one adapter: ours, the packages, and what all must keep."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from benchmarks.methods import METHODS, Background, Case, NotApplicable
from benchmarks.methods.nice import Nice
from benchmarks.methods.packages import AsEstimator, Package, as_subject
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from tests.cases import fitted, other_class
from tests.logistic import DOWN, UP, Logistic, square

OURS = ["counterpoint", "random", "moc", "mocice", "moccond", "mocmod"]
OWN = ["whatif", "recourse", "nice none", "nice sparsity", "nice proximity", "growing spheres"]
PACKAGES = {
    "dice random": "dice_ml",
    "dice genetic": "dice_ml",
    "dice kd-tree": "dice_ml",
    "nicex sparsity": "nice",
    "nicex proximity": "nice",
}


@pytest.fixture(scope="module")
def linear() -> Background:
    return fitted(LogisticRegression(), 0)


@pytest.fixture(scope="module")
def line() -> Case:
    """Return the row (0.2, 0.5) before a line at x = 0.605."""
    background = Background(Logistic(-60.5, x=100.0), square())
    return Case(background, pd.DataFrame({"x": [0.2], "y": [0.5]}), UP)


def test_every_method_has_its_own_name() -> None:
    assert set(METHODS) == {*OURS, *OWN, "tweaking", *PACKAGES}
    assert all(name == method.name for name, method in METHODS.items())


@pytest.mark.parametrize("name", OURS)
def test_our_searches_find_the_line(name: str, line: Case) -> None:
    found = METHODS[name].explain(line)

    genomes = line.codec.encode(found)
    valid = genomes[line.reaches(genomes)]
    assert list(found.columns) == ["x", "y"]
    # On the two decimals of the data the nearest other side is 0.61, and y may stay.
    assert 0.205 - 1e-12 <= line.gower(valid).min() <= (0.22 if name == "random" else 0.206)
    assert (valid[:, 0] > 0.605).all()


def test_what_if_is_the_nearest_observed_row_of_the_other_side(line: Case) -> None:
    found = METHODS["whatif"].explain(line)

    np.testing.assert_allclose(found.to_numpy(), [[0.65, 0.5]])


@pytest.mark.parametrize("name", OWN)
@pytest.mark.parametrize("i", [0, 7, 31])
def test_what_is_returned_reaches_the_target(name: str, i: int, linear: Background) -> None:
    case = other_class(linear, i)

    found = METHODS[name].explain(case)

    assert list(found.columns) == list(linear.train.columns)
    assert case.reaches(case.codec.encode(found)).all()
    assert len(found) or found.attrs["reason"]


@pytest.mark.parametrize("name", [*OURS, *OWN])
def test_the_same_seed_gives_the_same_rows(name: str, linear: Background) -> None:
    first, again = (METHODS[name].explain(other_class(linear, 3, seed=5)) for _ in range(2))

    pd.testing.assert_frame_equal(first, again)


@pytest.mark.parametrize("name", ["counterpoint", "whatif", "nice sparsity", "growing spheres"])
def test_regressions_are_explained_towards_an_interval(name: str) -> None:
    rows = square()
    model = LinearRegression().fit(rows, 10.0 * rows["x"])
    case = Case(Background(model, rows), rows.iloc[[22]], (6.0, 7.0))

    found = METHODS[name].explain(case)

    genomes = case.codec.encode(found)
    best = genomes[case.reaches(genomes)]
    assert len(best) > 0
    assert ((best[:, 0] >= 0.6 - 1e-9) & (best[:, 0] <= 0.7 + 1e-9)).all()


@pytest.mark.parametrize("name", list(PACKAGES))
def test_packages_reach_the_other_side_of_a_forest(name: str) -> None:
    pytest.importorskip(PACKAGES[name])
    case = other_class(fitted(RandomForestClassifier(20, random_state=0), 0), 0)

    found = METHODS[name].explain(case)

    genomes = case.codec.encode(found)
    assert list(found.columns) == list(case.train.columns)
    assert case.reaches(genomes).mean() > 0.5, found.attrs


def test_nicex_starts_from_the_neighbour_we_find() -> None:
    pytest.importorskip("nice")
    case = other_class(fitted(RandomForestClassifier(20, random_state=0), 0), 0)

    theirs = case.codec.encode(METHODS["nicex sparsity"].explain(case))[0]

    neighbour = case.codec.encode(Nice("none").explain(case))[0]
    assert ((theirs == case.genome) | (theirs == neighbour)).all()


def test_an_error_of_a_package_is_raised_and_so_counts_as_its_failure(line: Case) -> None:
    with pytest.raises(KeyError, match="no such search"):
        Package("unlucky", "with_counterpoint", "no such search").explain(line)


def test_a_package_that_finds_none_has_not_failed(line: Case) -> None:
    pytest.importorskip("dice_ml")
    nowhere = Case(Background(Logistic(-100.0, x=1.0), square()), line.row, UP)

    found = METHODS["dice random"].explain(nowhere)

    assert len(found) == 0
    assert "No counterfactuals found" in found.attrs["reason"]


def test_a_function_is_an_estimator_to_packages(line: Case) -> None:
    subject, target = as_subject(line)

    assert isinstance(subject.model, AsEstimator)
    assert target == 1
    assert subject.model.predict(line.row).tolist() == [0]
    down = Case(line.background, line.row, DOWN)
    assert as_subject(down)[1] == 0


def test_packages_are_for_two_classes() -> None:
    case = other_class(fitted(RandomForestClassifier(5, random_state=0), 0, 3), 0)

    with pytest.raises(NotApplicable, match="wired for two classes, not 3"):
        METHODS["dice random"].explain(case)
