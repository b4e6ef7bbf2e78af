"""What a tuning found, as a page: configurations side by side, the comparison, the races."""

from __future__ import annotations

import datetime
import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from math import floor, log2
from typing import Any

import numpy as np
import scipy.stats

from benchmarks.racing.budget import Tuning
from benchmarks.racing.space import Choice, Configuration, Parameter, Space, Value
from benchmarks.racing.tune import Tuned
from benchmarks.searched_models import FOLDS, KINDS, TRIES
from counterpoint.arrays import Floats

PAPER_BUDGET, PAPER_EVALUATIONS = 3000, 8000
BASE = "the paper's"


@dataclass(frozen=True)
class Compared:
    """Mean hypervolume over evaluations of named configurations.

    Attributes
    ----------
    names : list of str
        The configurations.
    places : list of tuple
        The instances: dataset, model, row.
    volumes : ndarray of shape (n, k)
        By instance and configuration.
    """

    names: list[str]
    places: Sequence[tuple[str, str, int]]
    volumes: Floats


@dataclass(frozen=True)
class Page:
    """All a page tells of."""

    space: Space
    paper: Configuration
    found: Tuned
    tuning: Tuning
    evaluations: int
    compared: Compared


def page_of(page: Page) -> str:
    """Return the page as Markdown."""
    return (
        "\n\n".join(
            [
                "# Tuning the paper's search",
                _scale(page),
                "## Configurations",
                configurations(page.space, page.paper, page.found),
                _reading(page),
                "## Compared",
                _how_compared(page),
                comparison(page.compared),
                "## The races",
                races(page.found),
                _made(),
                "",
            ]
        ).rstrip()
        + "\n"
    )


def configurations(space: Space, paper: Configuration, found: Tuned) -> str:
    """Return the table of parameters: range, the paper's result, the elites found here."""
    elites = found.elites[:3]
    heads = ["setting", "range", "the paper's", *(f"racing {i + 1}" for i in range(len(elites)))]
    rows = [
        [f"`{name}`", _range(parameter), *(_shown(e[name]) for e in (paper, *elites))]
        for name, parameter in space.items()
    ]
    ranks = [f"{rank:.2f}" for rank in found.mean_ranks[: len(elites)]]
    rows.append([f"mean rank on {len(found.costs)} tasks", "", "", *ranks])
    return _table(heads, rows)


def comparison(compared: Compared) -> str:
    """Return the table of ranks, shares of the paper's hypervolume, and wins against it."""
    volumes = compared.volumes
    base = volumes[:, compared.names.index(BASE)]
    ranks = scipy.stats.rankdata(-volumes.round(9), axis=1).mean(axis=0)
    rows = []
    for name, own, rank in zip(compared.names, volumes.T, ranks, strict=True):
        ratio = (own / base)[base > 0.0]
        error = ratio.std(ddof=1) / np.sqrt(len(ratio)) if len(ratio) > 1 else 0.0
        wins, losses = int((own > base + 1e-9).sum()), int((own < base - 1e-9).sum())
        p = scipy.stats.binomtest(wins, wins + losses).pvalue if wins + losses else 1.0
        against = ["", ""] if name == BASE else [f"{wins} : {losses}", f"{p:.2g}"]
        rows.append([name, f"{rank:.2f}", f"{ratio.mean():.4f} ± {error:.4f}", *against])
    heads = [
        "configuration",
        "mean rank",
        "area, the paper's = 1",
        "wins : losses",
        "p (sign test)",
    ]
    return _table(heads, rows)


def races(found: Tuned) -> str:
    """Return the table of races."""
    heads = ["race", "configurations", "new", "left", "tasks", "experiments", "soft restart"]
    return _table(
        heads,
        [[*map(str, race[:6]), "yes" if race.is_restart else ""] for race in found.iterations],
    )


def _scale(page: Page) -> str:
    """Say what was run, and how much less than in the paper."""
    tuning, found = page.tuning, page.found
    evaluations = (
        f"{page.evaluations:,} model evaluations as in the paper"
        if page.evaluations == PAPER_EVALUATIONS
        else f"{page.evaluations:,} model evaluations, the paper's {PAPER_EVALUATIONS:,}"
    )
    scaled = (
        f"**The budget is scaled**: {tuning.budget:,} experiments instead of {PAPER_BUDGET:,}. "
        if tuning.budget < PAPER_BUDGET
        else ""
    )
    planned, n_races = floor(2 + log2(len(page.space))), len(found.iterations)
    stopped = (
        f"**It was stopped after {n_races} of {planned} planned races**; `tuning.jsonl` may hold "
        "runs of the next one. "
        if n_races < planned
        else ""
    )
    models = ", ".join(KINDS)
    return (
        f"Written by `{_command(page)}` (`make -C benchmarks tuning`) from `tuning.jsonl` and "
        "`tuning-compared.jsonl`, which hold every run.\n\n"
        f"Iterated F-racing as in the paper's appendix, on {tuning.n_instances} instances, once, "
        f"with one seed. {scaled}{stopped}"
        f"{found.n_experiments:,} were made, with the first test after {tuning.rules.first_test} "
        f"tasks (the paper: 15) and runs of {evaluations}. Cost is minus the area below the "
        "archive's hypervolume over evaluations, those of ICE curves included. The models "
        f"({models}) were trained here on at most 2,000 rows by a random search of {TRIES} "
        f"settings per hyperparameter with {FOLDS} folds; the paper used 20 and more. So neither "
        "the models nor the budget are the paper's, and its numbers are not expected again."
    )


def _reading(page: Page) -> str:
    """Say how far the races could tell configurations apart."""
    elites, n = page.found.elites, len(page.found.costs)
    chosen = [
        f"`{name}` is {_agreement([e[name] for e in elites])}"
        for name, parameter in page.space.items()
        if isinstance(parameter, Choice)
    ]
    return (
        f"{len(elites)} configurations were left that {n} tasks could not tell apart; among them "
        f"{' and '.join(chosen)}. Our default (`explore`) has none of these settings."
        f"{_disagreement(page)}"
    )


def _disagreement(page: Page) -> str:
    """Say where no elite has the option that the paper's races chose."""
    other = [
        f"`{name}` {page.paper[name]}"
        for name, parameter in page.space.items()
        if isinstance(parameter, Choice)
        and page.paper[name] not in {e[name] for e in page.found.elites}
    ]
    if not other:
        return ""
    return (
        f" **The paper's races chose {' and '.join(other)}; these did not.** What differs, besides "
        "models and budget: the questions of ICE curves count as evaluations here, and Gaussian "
        "steps have a feature's standard deviation, which the authors' code multiplies by its "
        "range. The comparison below has the paper's configuration with each taken back."
    )


def _agreement(values: Sequence[Value]) -> str:
    """Return which options the elites have, and how many each."""
    counts = {value: list(values).count(value) for value in dict.fromkeys(values)}
    if len(counts) == 1:
        return f"always {values[0]}"
    return " or ".join(f"{value} ({n} of {len(values)})" for value, n in counts.items())


def _how_compared(page: Page) -> str:
    """Say on what the comparison was made."""
    n, tuning = len(page.compared.places), page.tuning
    fresh = "no race used" if n + len(page.found.costs) <= tuning.n_instances else "(some raced)"
    return (
        f"On {n} instances {fresh}, one run each with another seed: mean rank (1 is best), "
        "area below the hypervolume as a share of the paper's configuration's (mean and standard "
        "error), and on how many instances it was larger or smaller than there. *Random start* and "
        "*Gaussian* are the paper's configuration without ICE curves and without conditional "
        "mutation; *the authors' step* is a standard deviation times the range. The p-values are "
        "not corrected for their number."
    )


def _command(page: Page) -> str:
    """Return the command that makes this page again."""
    tuning, n_races = page.tuning, len(page.found.iterations)
    is_stopped = n_races < floor(2 + log2(len(page.space)))
    return (
        f"python -m benchmarks.tuning --budget {tuning.budget} "
        f"--first-test {tuning.rules.first_test} --evaluations {page.evaluations} "
        f"{f'--races {n_races} ' if is_stopped else ''}"
        f"--compare {len(page.compared.places)} --seed {tuning.seed}"
    )


def _made() -> str:
    """Return when, where and with what the page was made."""
    packages = ("numpy", "scipy", "scikit-learn", "xgboost-cpu")
    found = ", ".join(f"{name} {_version(name)}" for name in packages)
    return (
        f"Written on {datetime.datetime.now(datetime.UTC):%Y-%m-%d}, {platform.system()} "
        f"{platform.machine()}, {os.cpu_count()} cores, "
        f"Python {platform.python_version()}, {found}."
    )


def _version(name: str) -> str:
    """Return the version of a package, if it is there."""
    try:
        return version(name)
    except ImportError:
        return "(not installed)"


def _range(parameter: Parameter) -> str:
    """Return a parameter's range as text."""
    if isinstance(parameter, Choice):
        return ", ".join(parameter.options)
    return f"{parameter.low:g} to {parameter.high:g}"


def _shown(value: Any) -> str:
    """Return a value as text: numbers with two decimals at most."""
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
