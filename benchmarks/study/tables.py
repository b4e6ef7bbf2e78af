"""Tables of the study in Markdown, each computed from stored results only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from benchmarks import published
from benchmarks.peers.subjects import Floats
from benchmarks.study import measures, paper, results
from benchmarks.study.coverage import DIGITS, Coverage, is_covered, places_of_ten
from benchmarks.study.coverage import PUBLISHED as TABLE_2
from benchmarks.study.coverage import coverage as coverage_of_answers
from benchmarks.study.models import KINDS
from benchmarks.study.results import OURS, SETS
from benchmarks.study.subjects import PUBLISHED

SLACK = 1e-6  # hypervolumes nearer than this share are ties
N_GENERATIONS = 175


def markdown(header: Sequence[str], lines: Sequence[Sequence[Any]]) -> str:
    """Return a Markdown table; the first column is text, the others are set to the right."""
    rule = "|---|" + "--:|" * (len(header) - 1)
    rows = ["| " + " | ".join(str(cell) for cell in line) + " |" for line in (header, *lines)]
    return "\n".join([rows[0], rule, *rows[1:]])


def methods_of(found: pd.DataFrame) -> list[str]:
    """Return the methods of results: ours first, the paper's variants, then others by name."""
    known = set(found["method"])
    return [m for m in SETS if m in known] + sorted(known - set(SETS))


def coverage(found: pd.DataFrame, by: str, what: str = "ten") -> str:
    """Return the share of each method's counterfactuals that those of `by` dominate, by dataset."""
    others = [m for m in methods_of(found) if m not in SETS and m != "whatif"]
    pairs = {m: results.paired(found, m, by, what) for m in others}
    lines = [
        [name, *(results.rate(pairs[m][pairs[m]["dataset"] == name]) for m in others)]
        for name in sorted(set(found["dataset"]))
    ]
    total = ["all", *(results.rate(pairs[m]) for m in others)]
    return markdown(["", *others], [*lines, total])


def coverage_of_paper(found: pd.DataFrame) -> str:
    """Return the paper's coverages beside ours, by its search and by our default."""
    header = ["", *(f"{m}, {who}" for m in _COMPARED for who in ("paper", "mocmod", OURS))]
    lines = []
    for name in TABLE_2:
        of = found[found["dataset"] == name]
        if len(of) == 0:
            continue
        cells: list[Any] = [name]
        for method, ours in _COMPARED.items():
            rates = [results.rate(results.paired(of, ours, by)) for by in ("mocmod", OURS)]
            cells += [_printed(name, method), *rates]
        lines.append(cells)
    return markdown(header, lines) if lines else ""


_COMPARED = {"dice": "dice random", "recourse": "recourse", "tweaking": "tweaking"}


def _printed(dataset: str, method: str) -> str:
    """Return a field of the paper's Table 2 as it is printed there."""
    if method not in TABLE_2[dataset]:
        return ""
    share, count, has_star = TABLE_2[dataset][method]
    return f"{share:g}{'*' * has_star} ({count})"


def coverage_of_published(found: pd.DataFrame) -> str:
    """Return how much of the published DiCE and Recourse answers our tens cover, on their nets."""
    at_hand = [name.split("/") for name in published.names()]
    lines = []
    for dataset in sorted({name for name, _ in at_hand}):
        kinds = [kind for name, kind in at_hand if name == dataset]
        cells: list[Any] = [dataset]
        for method in ("dice", "recourse"):
            rates = [_coverage_of(found, dataset, kinds, method, by) for by in ("mocmod", OURS)]
            cells += [_printed(dataset, method), *rates]
        lines.append(cells)
    header = ["", *(f"{m}, {who}" for m in ("dice", "recourse") for who in _WHO)]
    return markdown(header, lines)


_WHO = ("paper", "mocmod", OURS)


def _coverage_of(
    found: pd.DataFrame, dataset: str, kinds: Sequence[str], method: str, by: str
) -> Coverage:
    """Return the coverage of what was published of a method, over the paper's networks at hand."""
    of = found[(found["dataset"] == dataset) & (found["method"] == by)].set_index(["model", "row"])

    def answers(run: published.Run, number: int) -> Floats:
        place = (f"{PUBLISHED}{run.model}", number)
        return np.asarray(of.loc[place, "ten"]) if place in of.index else np.empty((0, 4))

    runs = [published.load(f"{dataset}/{kind}") for kind in kinds]
    return coverage_of_answers(runs, method, answers, digits=DIGITS)


def dominance(found: pd.DataFrame) -> str:
    """Return, for each pair, the share of the column's valid points that the row's dominate."""
    methods = methods_of(found)
    lines = [
        [by, *("" if by == of else _share(results.paired(found, of, by)) for of in methods)]
        for by in methods
    ]
    return markdown(["dominates →", *methods], lines)


def _share(pairs: pd.DataFrame) -> str:
    """Return a coverage as a share; empty if there was nothing to cover."""
    rate = results.rate(pairs)
    return f"{rate.share:.2f}" if rate.count else ""


def quality(found: pd.DataFrame) -> str:
    """Return what each method achieves beside its time."""
    header = ["", "rows", "failed", "valid found", "points", "valid points", "distance", "changes"]
    header += ["implausibility", "hypervolume of ten", "of all", "median s", "90 % s"]
    equal = results.complete(found)
    return markdown(header, [_quality_line(m, equal) for m in methods_of(equal)])


def _quality_line(method: str, found: pd.DataFrame) -> list[Any]:
    """Return one line of `quality`; means are over rows, of what reaches the target."""
    of = found[(found["method"] == method) & (found["status"] != "not applicable")]
    if len(of) == 0:
        return [method, 0, *[""] * 11]
    valid = [ten[ten[:, 0] <= 0].mean(axis=0) for ten in of["ten"] if (ten[:, 0] <= 0).any()]
    _, distance, changes, implausibility = np.mean(valid, axis=0) if valid else [np.nan] * 4
    tenths = of["seconds"].quantile([0.5, 0.9])
    return [
        *(method, len(of), int((of["status"] == "failed").sum())),
        *(f"{(of['n_valid'] > 0).mean():.0%}", f"{of['n'].mean():.1f}"),
        *(f"{of['n_valid'].mean():.1f}", f"{distance:.3f}", f"{changes:.2f}"),
        *(f"{implausibility:.3f}", f"{of['volume_ten'].mean():.3f}", f"{of['volume'].mean():.3f}"),
        *(f"{tenths[0.5]:.2f}", f"{tenths[0.9]:.2f}"),
    ]


def nearest(found: pd.DataFrame) -> str:
    """Return the least distance and fewest changes of our whole sets beside each method's."""
    header = ["", "rows", "least distance", "ours", "ours nearer", "farther"]
    header += ["ours fewer changes", "more", "points", "dominated", "ties", "neither"]
    others = [m for m in methods_of(found) if m not in SETS]
    return markdown(
        header, [_nearest_line(m, results.paired(found, m, OURS, "all")) for m in others]
    )


def _nearest_line(method: str, pairs: pd.DataFrame) -> list[Any]:
    """Return one line of `nearest`, over rows on which both reach the target."""
    reached = [
        (others[others[:, 0] <= 0].round(DIGITS), ours[ours[:, 0] <= 0].round(DIGITS))
        for others, ours in zip(pairs["others"], pairs["ours"], strict=True)
    ]
    both = [(others, ours) for others, ours in reached if len(others) and len(ours)]
    if not both:
        return [method, 0, *[""] * 10]
    theirs = np.array([others[:, 1:3].min(axis=0) for others, _ in both])
    mine = np.array([ours[:, 1:3].min(axis=0) for _, ours in both])
    less, more = (mine < theirs).sum(axis=0), (mine > theirs).sum(axis=0)
    covered = sum(int(is_covered(others, ours).sum()) for others, ours in both)
    ties = sum(
        int((others[:, None] == ours[None]).all(axis=2).any(axis=1).sum()) for others, ours in both
    )
    n = sum(len(others) for others, _ in both)
    means = [f"{table[:, 0].mean():.4f}" for table in (theirs, mine)]
    counts = [less[0], more[0], less[1], more[1]]
    return [method, len(both), *means, *counts, n, covered, ties, n - covered - ties]


def failures(found: pd.DataFrame) -> str:
    """Return how often each method failed, and why."""
    bad = found[found["status"] == "failed"]
    counts = bad.groupby(["method", "message"]).size().sort_values(ascending=False).reset_index()
    lines = [[method, n, message.replace("|", "/")] for method, message, n in counts.to_numpy()]
    return markdown(["method", "cells", "reason"], lines[:20]) if lines else "None."


def against_paper_search(found: pd.DataFrame, of: str = "volume", other: str = "mocmod") -> str:
    """Return the hypervolume of our default beside that of the paper's search, by model."""
    kinds = sorted(set(found["model"]))
    lines = [_versus(kind, found[found["model"] == kind], of, other) for kind in kinds]
    total = _versus("all", found, of, other)
    header = ["", "rows", "mean ratio", "wins", "losses", "ties", "worst ratio"]
    return markdown(header, [line for line in [*lines, total] if line])


def _versus(label: str, found: pd.DataFrame, of: str, other: str) -> list[Any]:
    """Return one line: ratio of hypervolumes, wins and losses of our default."""
    table = found.pivot_table(index=results.KEYS, columns="method", values=of)
    if not {OURS, other} <= set(table.columns):
        return []
    both = table[[OURS, other]].dropna()
    ours, theirs = both[OURS], both[other]
    ratio = (ours / theirs)[theirs > 0]
    wins, losses = (ours > theirs + SLACK).sum(), (ours < theirs - SLACK).sum()
    counts = [wins, losses, len(both) - wins - losses]
    return [label, len(both), f"{ratio.mean():.4f}", *counts, f"{ratio.min():.4f}"]


def accuracies(measured: Mapping[tuple[str, str], float]) -> str:
    """Return our accuracies by nested resampling with the paper's in brackets."""
    datasets = sorted({dataset for dataset, _ in measured})
    kinds = [kind for kind in KINDS if any(kind == of for _, of in measured)]
    lines = [[d, *(_accuracy(measured, d, kind) for kind in kinds)] for d in datasets]
    return markdown(["", *kinds], lines)


def _accuracy(measured: Mapping[tuple[str, str], float], dataset: str, kind: str) -> str:
    """Return one accuracy as ``0.78 [0.76]``."""
    if (dataset, kind) not in measured:
        return ""
    beside = paper.ACCURACY.get((dataset, kind))
    return f"{measured[dataset, kind]:.2f}" + (f" [{beside:.2f}]" if beside is not None else "")


def final_ranks(found: pd.DataFrame) -> str:
    """Return mean ranks of the final hypervolume of six searches, by dataset."""
    keys, volumes = results.histories(found)
    header = ["", *paper.VARIANTS, OURS]
    if len(keys) == 0:
        return markdown(header, [])
    final = measures.ranks(volumes[:, :, -1].round(6))
    lines = [
        [name, *(f"{r:.2f}" for r in final[(keys["dataset"] == name).to_numpy()].mean(axis=0))]
        for name in sorted(set(keys["dataset"]))
    ]
    return markdown(header, [*lines, ["all", *(f"{r:.2f}" for r in final.mean(axis=0))]])


def published_ranks(dataset: str) -> Floats:
    """Return mean ranks (generations, variants) from the published logs of a dataset at hand."""
    found = []
    for name in published.names():
        if name.split("/")[0] == dataset:
            log = published.load(name).stored("hypervolume")
            log = log.sort_values(["x_interest_row", "generation"], kind="stable")
            volumes = log[[f"hv_{variant}" for variant in paper.VARIANTS]].to_numpy(dtype=float)
            found.append(volumes.reshape(-1, N_GENERATIONS + 1, len(paper.VARIANTS)))
    return np.asarray(measures.ranks(np.concatenate(found)).mean(axis=0), dtype=np.float64)


def appendix(found: pd.DataFrame, model: str, row: int, rivals: Sequence[str]) -> str:
    """Return six counterfactuals each of our default and the paper's search, and the rivals'."""
    of = found[
        (found["dataset"] == "diabetes") & (found["model"] == model) & (found["row"] == row)
    ].set_index("method")
    columns: dict[str, list[float]] = {}
    for method in (OURS, "mocmod", *rivals):
        if method in of.index:
            columns |= _six(method, of.loc[method])
    if not columns:
        return ""
    features = next(iter(of.loc[[m for m in (OURS, "mocmod") if m in of.index], "columns"]))
    names = [*features, "gap", "distance", "changes", "implausibility"]
    lines = [
        [name, *(f"{values[k]:.4g}" for values in columns.values())] for k, name in enumerate(names)
    ]
    return markdown(["", *columns], lines)


def _six(method: str, cell: Any) -> dict[str, list[float]]:
    """Return up to six of a cell's ten as columns: features, then objectives."""
    six = places_of_ten(cell["ten"], 6)
    return {
        f"{method} {k}": [*map(float, cell["rows"][i]), *map(float, cell["ten"][i])]
        for k, i in enumerate(dict.fromkeys(six), start=1)
    }


def appendix_of_paper(printed: Mapping[str, Sequence[float]]) -> str:
    """Return one of the paper's appendix tables."""
    names = ["preg", "plas", "pres", "skin", "insu", "mass", "pedi", "age"]
    names += ["distance", "changes", "implausibility"]
    lines = [[name, *(f"{v[k]:.4g}" for v in printed.values())] for k, name in enumerate(names)]
    return markdown(["", *printed], lines)
