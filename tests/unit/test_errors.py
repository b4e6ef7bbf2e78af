from __future__ import annotations

import pickle

import pytest

from counterpoint.errors import (
    CounterpointError,
    InvalidInput,
    PredictorError,
    UnknownFeatureError,
    did_you_mean,
    listed,
)


@pytest.mark.parametrize(
    ("error", "builtin"),
    [(InvalidInput, ValueError), (UnknownFeatureError, KeyError), (PredictorError, RuntimeError)],
)
def test_every_error_is_ours_and_a_builtin(error: type[Exception], builtin: type) -> None:
    assert issubclass(error, CounterpointError)
    assert issubclass(error, builtin)


@pytest.mark.parametrize(
    "error",
    [
        InvalidInput("seed must be a whole number, got 'a'."),
        PredictorError("the model raised KeyError."),
        UnknownFeatureError.of("agee", ["age", "sex"], argument="fixed"),
    ],
)
def test_an_error_survives_the_way_to_a_worker_and_back(error: Exception) -> None:
    returned = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes

    assert type(returned) is type(error)
    assert str(returned) == str(error)


def test_an_unknown_feature_is_told_with_the_closest_column() -> None:
    error = UnknownFeatureError.of("agee", ["sex", "age"], argument="fixed")

    assert str(error) == (
        "fixed names 'agee', which is not a column of the data; did you mean 'age'?"
    )


def test_an_unknown_feature_unlike_any_is_told_with_all_columns() -> None:
    error = UnknownFeatureError.of("income", ["sex", "age"], argument="ranges")

    assert str(error) == (
        "ranges names 'income', which is not a column of the data; the columns are 'sex' and 'age'."
    )


@pytest.mark.parametrize(
    ("name", "known", "hint"),
    [
        ("Good", ["bad", "good"], "did you mean 'good'?"),
        ("True", [False, True], "did you mean True?"),
        (10, [1, 100], "did you mean 100?"),
        (["age"], ["age"], "did you mean 'age'?"),
        ("x", ["age", "sex"], ""),
        ("x", [], ""),
    ],
)
def test_the_hint_names_the_closest_known_value_as_it_is(
    name: object, known: list[object], hint: str
) -> None:
    assert did_you_mean(name, known) == hint


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([], ""),
        (["a"], "'a'"),
        (["a", 1], "'a' and 1"),
        (["a", "b", "c"], "'a', 'b' and 'c'"),
        (range(8), "0, 1, 2, 3, 4, 5, 6 and 7"),
        (range(10), "0, 1, 2, 3, 4, 5, 6, 7 and 2 more"),
    ],
)
def test_values_are_listed_as_one_would_say_them(values: list[object], text: str) -> None:
    assert listed(values) == text
