"""Who follows a row through the package meets few files; `scripts/walk.py` prints which."""

from __future__ import annotations

from scripts import walk

# It may only ever get lower; the aim is 20.
MOST_ON_THE_WAY = 22


def test_explaining_a_row_passes_through_few_files() -> None:
    journey = next(each for each in walk.journeys() if each.title.startswith("explain("))
    walk.made(journey, "counterpoint")  # what is loaded and compiled once is no part of the way

    entered = list(walk.made(journey, "counterpoint").entered)

    assert entered[0] == "counterpoint.explainer.explainer"
    assert len(entered) <= MOST_ON_THE_WAY, entered
