"""Reporting: one record per subject and method, and the records as a table."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.peers.methods import Runs

Record = dict[str, Any]

COLUMNS = {
    "method": "method",
    "version": "version",
    "rows_valid": "rows with a valid one",
    "median_seconds": "median s",
    "ratio": "our time ÷ theirs",
    "n": "counterfactuals",
    "share_valid": "share valid",
    "hypervolume_valid": "hypervolume, valid",
    "hypervolume_best": "hypervolume, best ten valid",
    "hypervolume": "hypervolume, all",
}
NOTES = (
    "Seconds are medians over the rows a method answered; our time ÷ theirs is the median over "
    "these rows of our default's time divided by the method's on the same row, so below 1 we are "
    "faster. Counterfactuals and hypervolumes are means over rows, a failed row counting 0. "
    "Hypervolume is a share of the box below (the row's gap, 1, number of features, 1); best ten "
    "is the hypervolume of the ten valid ones that greedily cover most, so that large sets have "
    "no advantage. One thread, one seed; each method was warmed up on another row."
)


def summarize(subject: str, runs: Runs, ours: Runs) -> Record:
    """Return the record of one method on one subject, its times relative to ours."""
    pairs = zip(ours.seconds, runs.seconds, strict=False)
    ratios = [mine / theirs for mine, theirs in pairs if mine is not None and theirs is not None]
    scores, n = runs.scores, sum(s.n for s in runs.scores)
    return {
        "model": subject,
        "method": runs.method.name,
        "version": runs.method.version,
        "rows": len(scores),
        "rows_valid": sum(s.n_valid > 0 for s in scores),
        "first_seconds": runs.first_seconds,
        "median_seconds": _median([s for s in runs.seconds if s is not None]),
        "ratio": _median(ratios),
        "n": _mean([s.n for s in scores]),
        "share_valid": sum(s.n_valid for s in scores) / n if n else None,
        "hypervolume_valid": _mean([s.hypervolume_valid for s in scores]),
        "hypervolume_best": _mean([s.hypervolume_best for s in scores]),
        "hypervolume": _mean([s.hypervolume for s in scores]),
        "errors": runs.errors,
    }


def as_markdown(records: list[Record]) -> str:
    """Return a table per subject, best hypervolume first, with errors and notes below."""
    parts = []
    for subject in dict.fromkeys(record["model"] for record in records):
        own = [record for record in records if record["model"] == subject]
        own.sort(key=lambda record: -(record["hypervolume_valid"] or 0.0))
        parts.append(f"### {subject}\n\n{_table(own)}")
        errors = [f"- {r['method']}: {error}" for r in own for error in r["errors"]]
        if errors:
            parts.append("Errors:\n\n" + "\n".join(errors))
    return "\n\n".join([*parts, NOTES])


def _table(records: list[Record]) -> str:
    """Return the Markdown table of one subject."""
    lines = ["| " + " | ".join(COLUMNS.values()) + " |", "|---" * len(COLUMNS) + "|"]
    lines += ["| " + " | ".join(_cell(key, record) for key in COLUMNS) + " |" for record in records]
    return "\n".join(lines)


def _cell(key: str, record: Record) -> str:
    """Return one value as text, a dash where there is none."""
    value = record[key]
    if value is None:
        return "-"
    if key == "rows_valid":
        return f"{value} of {record['rows']}"
    if key == "n":
        return f"{value:.0f}"
    if key in ("ratio", "share_valid"):
        return f"{value:.2f}"
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def _median(values: list[float]) -> float | None:
    """Return the median, None of nothing."""
    return float(np.median(values)) if values else None


def _mean(values: list[float]) -> float | None:
    """Return the mean, None of nothing."""
    return float(np.mean(values)) if values else None
