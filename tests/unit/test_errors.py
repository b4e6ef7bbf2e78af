from __future__ import annotations

import ast
import builtins
import pickle
from pathlib import Path

import pytest

import counterpoint as cp
from counterpoint import errors
from counterpoint.errors import CounterpointError, UnknownFeatureError, did_you_mean, joined, listed

PACKAGE = Path(errors.__file__).parent
OURS = [getattr(errors, name) for name in errors.__all__]


def raised_elsewhere() -> set[str]:
    """Return the classes outside of errors.py that derive from an exception other than `Signal`."""
    known = {name for name, thing in vars(builtins).items() if is_exception(thing)}
    known |= set(errors.__all__)
    found: set[str] = set()
    for file in PACKAGE.rglob("*.py"):
        if file != PACKAGE / "errors.py":
            for node in ast.walk(ast.parse(file.read_text("utf-8"))):
                if isinstance(node, ast.ClassDef):
                    bases = {ast.unparse(base).rpartition(".")[2] for base in node.bases}
                    found |= {f"{file.name}: {node.name}"} if bases & known else set()
    return found


def is_exception(thing: object) -> bool:
    """Whether something is an exception class."""
    return isinstance(thing, type) and issubclass(thing, BaseException)


def test_no_module_but_this_one_defines_errors_and_warnings() -> None:
    assert not raised_elsewhere()


def test_every_error_and_warning_is_exported_and_drawn() -> None:
    defined = {
        name
        for name, thing in vars(errors).items()
        if is_exception(thing) and thing is not errors.Signal
    }

    assert defined == set(errors.__all__)
    assert defined <= set(cp.__all__)
    assert all(f" {name} " in f" {errors.__doc__} ".replace("\n", " ") for name in defined)


@pytest.mark.parametrize("error", OURS)
def test_every_error_is_ours_and_a_builtin(error: type[Exception]) -> None:
    is_warning = issubclass(error, Warning)

    assert is_warning != issubclass(error, CounterpointError)
    assert error is CounterpointError or any(
        base.__module__ == "builtins" and base is not Exception for base in error.__bases__
    )


@pytest.mark.parametrize("error", OURS)
def test_an_error_survives_the_way_to_a_worker_and_back(error: type[Exception]) -> None:
    sent = error("seed must be a whole number, got 'a'.")

    returned = pickle.loads(pickle.dumps(sent))  # noqa: S301 - our own bytes

    assert type(returned) is error
    assert str(returned) == str(sent) == "seed must be a whole number, got 'a'."


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


@pytest.mark.parametrize(
    ("texts", "text"),
    [([], ""), (["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")],
)
def test_lists_have_one_conjunction_before_the_last(texts: list[str], text: str) -> None:
    assert joined(texts, "and") == text
