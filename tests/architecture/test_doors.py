"""The doors share names, order, kinds and defaults of what they have in common."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

import counterpoint as cp
from counterpoint.problem.limits import LimitKeywords

DOORS: list[Callable[..., Any]] = [
    cp.Explainer.explain_many,
    cp.Explainer.explain_each,
    cp.explain_frame,
    cp.explain_files,
]
ASKED = ["target", "search", "seed"]
LIMITS = ["limits", "added"]  # the keywords of limits, whose one list is `LimitKeywords`


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
def test_siblings_look_alike(door: Callable[..., Any]) -> None:
    first = inspect.signature(cp.Explainer.explain).parameters
    own = inspect.signature(door).parameters
    common = [*ASKED, *LIMITS]

    assert [name for name in own if name in common] == common
    assert [name for name in first if name in common] == common
    by_place = [name for name, each in own.items() if each.kind is each.POSITIONAL_OR_KEYWORD]
    assert by_place[1:] == ["rows", *ASKED]
    for name in [*common, "progress"]:
        assert (own[name].kind, own[name].default) == (first[name].kind, first[name].default)
        assert own[name].annotation == first[name].annotation


def test_the_keywords_of_limits_are_those_of_the_class() -> None:
    assert [*LimitKeywords.__annotations__] == [*inspect.signature(cp.Limits).parameters]


def test_what_frames_and_files_share_is_the_same() -> None:
    frame, files = (dict(inspect.signature(door).parameters) for door in DOORS[2:])
    shared = [name for name in frame if name in files and name not in ("explainer", "rows")]

    assert shared == [name for name in files if name in shared]
    assert {"keep", "id", "prefix", "workers", "progress"} < set(shared)
    assert [frame[name] for name in shared] == [files[name] for name in shared]
