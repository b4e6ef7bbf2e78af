"""Writing the report: one file, complete or not there."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING

from counterpoint.errors import InvalidInput
from counterpoint.result.report.page import build_page
from counterpoint.result.report.summary import summarise
from counterpoint.result.saving import Pathlike, write_whole

if TYPE_CHECKING:
    from counterpoint.result.counterfactuals import Counterfactuals

MOST_BYTES = 1_500_000


def write_report(found: Counterfactuals, path: Pathlike) -> None:
    """Write the report of a result to a file; see `Counterfactuals.report`."""
    write_whole(path, report_page(found, datetime.datetime.now(datetime.UTC)).encode())


def report_page(found: Counterfactuals, now: datetime.datetime) -> str:
    """Return the report as HTML."""
    page = build_page(summarise(found, now))
    if len(page.encode()) > MOST_BYTES:
        raise InvalidInput("too large")
    return page
