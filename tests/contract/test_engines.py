"""What `check_engine` holds engines to: threads keep it, and each fault is noticed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from tests.batches import SEARCH, explainer, rows_of_square

from counterpoint.batch.engines.engine import Chunk, Done, Lost, Recipe, Threads
from counterpoint.batch.rows import Order
from counterpoint.testing import check_engine

Event = Done | Lost


def tried(engine: Callable[[Recipe, Order], Threads]) -> None:
    """Try an engine on rows of the unit square."""
    order = Order((0.5, 1.0), SEARCH, keep=2, id="loan")
    check_engine(engine, Recipe.of(explainer()), order, rows_of_square()[:6])


@pytest.mark.parametrize("workers", [1, 2])
def test_threads_pass(workers: int) -> None:
    tried(partial(Threads, workers=workers))


class Repeating(Threads):
    """Reports twice."""

    def wait(self, seconds: float) -> list[Event]:
        """Return everything two times."""
        return 2 * super().wait(seconds)


class Damaging(Threads):
    """Damages what comes back."""

    def wait(self, seconds: float) -> list[Event]:
        """Return payloads that end too early."""
        return [
            Done(each.chunk, each.payload[:-1], each.seconds) if isinstance(each, Done) else each
            for each in super().wait(seconds)
        ]


class Losing(Threads):
    """Loses what it was given."""

    def wait(self, seconds: float) -> list[Event]:
        """Return nothing but losses."""
        return [Lost(each.chunk, "no reason") for each in super().wait(seconds)]


class Stubborn(Threads):
    """Goes on with what was given up."""

    def give_up(self, chunk: Chunk) -> None:
        """Do nothing."""


@pytest.mark.parametrize(
    ("engine", "message"),
    [
        (Repeating, "these were reported"),
        (Damaging, "other bytes"),
        (Losing, "was lost"),
        (Stubborn, "given up"),
    ],
)
def test_a_fault_is_noticed(engine: type[Threads], message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        tried(partial(engine, workers=1))
