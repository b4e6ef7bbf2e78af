"""Writing the report: one file of limited size, complete or not there."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Any

from counterpoint.errors import InvalidInput
from counterpoint.result.choosing.orders import knee
from counterpoint.result.report.drawings import draw_figures
from counterpoint.result.report.page import build_page, script_json
from counterpoint.result.report.questions import write_questions
from counterpoint.result.report.summary import summarise
from counterpoint.result.saving import Pathlike, write_whole

if TYPE_CHECKING:
    from counterpoint.result.counterfactuals import Counterfactuals

MOST_BYTES = 1_500_000  # what a mail takes, and a phone opens


def write_report(found: Counterfactuals, path: Pathlike, *, figures: bool = True) -> None:
    """Write the report of a result to a file; see `Counterfactuals.report`."""
    if not isinstance(figures, bool):
        raise InvalidInput(f"report.figures must be True or False, got {figures!r}.")
    drawings = draw_figures(found) if figures else None
    page = report_page(found, datetime.datetime.now(datetime.UTC), drawings)
    write_whole(path, page.encode("utf-8"))


def report_page(
    found: Counterfactuals,
    now: datetime.datetime,
    figures: dict[str, Any] | None = None,
    most_bytes: int = MOST_BYTES,
) -> str:
    """Return the report as HTML of at most so many bytes.

    If not all counterfactuals fit, the representatives and the most balanced others are shown, and
    a note says so.
    """
    summary = summarise(found, now)
    page = build_page(summary, figures)
    if len(page.encode("utf-8")) <= most_bytes:
        return page
    bare = build_page(summary | {"counterfactuals": []}, figures)
    room = most_bytes - len(bare.encode("utf-8")) - 1000  # the note takes some
    page = build_page(_cut(found, summary, room), figures)
    if room < 0 or len(page.encode("utf-8")) > most_bytes:
        raise InvalidInput(
            f"the report would be larger than {most_bytes:,} bytes even without counterfactuals; "
            "save() has no such limit."
        )
    return page


def _cut(found: Counterfactuals, summary: dict[str, Any], room: int) -> dict[str, Any]:
    """Return a summary of those counterfactuals that fit into so many bytes."""
    named = [each["number"] for each in summary["representatives"]]
    numbers = dict.fromkeys([*named, *(knee(found) + 1).tolist()])
    kept: set[int] = set()
    for number in numbers:
        room -= 1 + len(script_json(summary["counterfactuals"][number - 1]))
        if room < 0:
            break
        kept.add(number)
    note = (
        f"The page shows {len(kept):,} of {len(found):,} counterfactuals, the most balanced ones; "
        "all of them would not fit into its size."
    )
    return summary | {
        "counterfactuals": [each for each in summary["counterfactuals"] if each["number"] in kept],
        "representatives": [each for each in summary["representatives"] if each["number"] in kept],
        "interview": write_questions(found, kept),
        "notes": [*summary["notes"], note],
    }
