"""The public names: sorted, importable, documented, with defaults that match the signature."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import pytest

import counterpoint as cp


def public_callables() -> Iterator[tuple[str, Any]]:
    """Yield every public class, method and function with its dotted name."""
    for name in cp.__all__:
        thing = getattr(cp, name)
        yield name, thing
        if inspect.isclass(thing):
            ours = [base for base in thing.__mro__ if base.__module__.startswith("counterpoint")]
            for member, value in (pair for base in ours for pair in vars(base).items()):
                function = getattr(value, "__func__", value)
                if not member.startswith("_") and inspect.isfunction(function):
                    yield f"{name}.{member}", function


CALLABLES = dict(public_callables())


def test_public_names_are_sorted_and_present() -> None:
    assert sorted(cp.__all__) == list(cp.__all__)
    assert all(hasattr(cp, name) for name in cp.__all__)
    assert set(cp.__all__) <= set(dir(cp))


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Explainr'"):
        _ = cp.Explainr


@pytest.mark.parametrize("name", CALLABLES)
def test_everything_public_says_what_it_does(name: str) -> None:
    assert inspect.getdoc(CALLABLES[name])


@pytest.mark.parametrize("name", CALLABLES)
def test_documented_defaults_are_those_of_the_signature(name: str) -> None:
    thing = CALLABLES[name]
    if inspect.isclass(thing) and issubclass(thing, Exception):
        return
    documented = documented_defaults(inspect.getdoc(thing) or "")
    signature = inspect.signature(thing)
    for parameter, text in documented.items():
        if parameter in signature.parameters:
            assert text == repr(signature.parameters[parameter].default).replace("'", '"')


def documented_defaults(doc: str) -> dict[str, str]:
    """Return parameter to default, from lines like ``a, b : type, default=x, y``."""
    found: dict[str, str] = {}
    for names, values in re.findall(r"^(\w[\w, ]*) : .*default=(.+)$", doc, flags=re.MULTILINE):
        parameters = names.split(", ")
        defaults = values.split(", ") if len(parameters) > 1 else [values]
        found |= dict(zip(parameters, defaults, strict=True))
    return found
