"""Ask 100,000 returned rows again in every way; write docs/study/validity.md; 1 if any fails."""

from __future__ import annotations

import argparse
import platform
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from threadpoolctl import threadpool_limits

import counterpoint as cp
from benchmarks.validity.asking import WAYS, explained, tally
from benchmarks.validity.setups import SETUPS, SetUp, build

REPORT = Path("docs/study/validity.md")
MOST_ROUNDS = 100
TEXT = """# Valid, however it is asked

Every row that is returned as valid is asked of the caller's own model again: alone, in one frame
with the rest of its result, after `save` and `cp.load`, and after `to_csv` and `pandas.read_csv`. A
class is reached if `predict` says so, an interval if the output lies in it. Then rows are looked at
without our code: limits and rules must be kept, groups have one level and values lie within what
was observed (**limits**), and what was changed must have the declared or observed decimals, in the
data's dtypes (**grid**). Numbers count rows that fail.

{table}

{n_rows:,} rows of {n_explained:,} explanations in {n_setups} set-ups, {minutes:.0f} minutes on a
core that others shared. A target 0.6 is an interval: from that quantile of the answers to observed
rows to the one 0.15 higher.

Measured on {day}: {machine}, {versions}; `make -C benchmarks validity`, or
`python -m benchmarks.validity --rows {n_wanted}`.
"""


def measured(setups: Sequence[SetUp], n_rows: int) -> list[Counter[str]]:
    """Return the counts of each set-up; rounds over all of them go on until there are n rows."""
    trials, counts = [build(setup) for setup in setups], [Counter[str]() for _ in setups]
    with tempfile.TemporaryDirectory() as folder:
        for number in range(MOST_ROUNDS):
            for trial, own in zip(trials, counts, strict=True):
                for row, found in explained(trial, number):
                    own.update(tally(trial, row, found, Path(folder)))
            total = summed(counts)
            print(f"round {number + 1}: {total['rows']:,} rows", {way: total[way] for way in WAYS})
            if total["rows"] >= n_rows:
                break
    return counts


def summed(counts: list[Counter[str]]) -> Counter[str]:
    """Return the counts of all set-ups together."""
    total = Counter[str]()
    for each in counts:
        total.update(each)
    return total


def as_markdown(setups: Sequence[SetUp], counts: list[Counter[str]]) -> str:
    """Return the table: a line per set-up, and one for all."""
    heads = ["table", "model", "target", "form", "limits", "options", "explained", "rows", *WAYS]
    lines = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    for setup, own in zip(setups, counts, strict=True):
        numbers = [f"{own[name]:,}" for name in ("explained", "rows", *WAYS)]
        lines.append("| " + " | ".join([*setup.words, *numbers]) + " |")
    total = summed(counts)
    numbers = [f"**{total[name]:,}**" for name in ("explained", "rows", *WAYS)]
    lines.append("| " + " | ".join(["**all**", "", "", "", "", "", *numbers]) + " |")
    return "\n".join(lines)


def report(setups: Sequence[SetUp], counts: list[Counter[str]], n_rows: int, took: float) -> str:
    """Return the page."""
    total, packages = summed(counts), ("numpy", "pandas", "polars", "scikit-learn", "numba")
    return TEXT.format(
        table=as_markdown(setups, counts),
        n_rows=total["rows"],
        n_explained=total["explained"],
        n_setups=len(setups),
        n_wanted=n_rows,
        minutes=took / 60,
        day=datetime.now(UTC).date(),
        machine=f"{platform.machine()}, Python {platform.python_version()}",
        versions=", ".join(f"{package} {version(package)}" for package in packages),
    )


def main() -> int:
    """Ask, print and write the table; return 1 if any row fails or rows are too few."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000, help="how many rows to ask again")
    parser.add_argument("--write", type=Path, help=f"the report's file (default: {REPORT})")
    arguments = parser.parse_args()
    start = time.monotonic()
    with threadpool_limits(1), warnings.catch_warnings():
        for remark in (cp.DataWarning, cp.ModelWarning):
            warnings.simplefilter("ignore", remark)
        counts = measured(SETUPS, arguments.rows)
    total = summed(counts)
    print(as_markdown(SETUPS, counts))
    path = arguments.write or REPORT
    path.write_text(report(SETUPS, counts, arguments.rows, time.monotonic() - start))
    n_invalid = sum(total[way] for way in WAYS)
    is_short = total["rows"] < arguments.rows or not all(own["rows"] for own in counts)
    print(f"{total['rows']:,} rows, {n_invalid} invalid; the page is {path}.")
    return int(n_invalid > 0 or is_short)


if __name__ == "__main__":
    sys.exit(main())
