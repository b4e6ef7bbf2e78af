"""Who follows a row through the package meets few files; `scripts/walk.py` prints which."""

from __future__ import annotations

from scripts import walk

# Both may only ever get lower; the aim is one direction.
MOST_ON_THE_WAY = 20
MOST_TURNS_BACK = 4  # steps to a folder that had been left before


def test_explaining_a_row_passes_through_few_files() -> None:
    journey = next(each for each in walk.journeys() if each.title.startswith("explain("))
    walk.made(journey, "counterpoint")  # what is loaded and compiled once is no part of the way

    entered = list(walk.made(journey, "counterpoint").entered)

    assert entered[0] == "counterpoint.explainer.explainer"
    assert len(entered) <= MOST_ON_THE_WAY, entered
    folders = [name.rpartition(".")[0] for name in entered]
    assert sum(walk.Way("", entered, folders, {}).returns) <= MOST_TURNS_BACK, entered
