"""The report: every table and figure of a store, written to a folder with what made them.

`results.md` is made anew by each call. The discussion, `README.md` beside it, is written by hand.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pandas as pd

from benchmarks import published
from benchmarks.study import accuracy, beyond, figures, paper, results, tables
from benchmarks.study.store import Store
from benchmarks.study.subjects import PUBLISHED

BOXES = "boxes-{}.png"


def write(store: Path, out: Path, command: str) -> None:
    """Write `results.md` and its figures.

    Raises
    ------
    ValueError
        If no cell is stored.
    """
    found = results.read(store)
    if len(found) == 0:
        raise ValueError(f"there are no results in {str(store)!r}; run the study first.")
    out.mkdir(parents=True, exist_ok=True)
    draw(found, out)
    parts = [
        *("# Results of the study", made_by(Store(store), found, command)),
        *compared(found),
        *searches(found),
        *examples(found),
        *models(store),
        *further(store),
    ]
    (out / "results.md").write_text("\n\n".join(part for part in parts if part) + "\n")


def made_by(store: Store, found: pd.DataFrame, command: str) -> str:
    """Return machine, versions, date, command and size of a run."""
    settings = ", ".join(f"{name} {value}" for name, value in sorted(store.settings().items()))
    counts = found.groupby("status").size().sort_values(ascending=False)
    said = ", ".join(f"{n} {status}" for status, n in counts.items())
    pairs = found.groupby(["dataset", "model"]).ngroups
    rows = sorted(set(found.groupby(["dataset", "model"])["row"].nunique()))
    each = " to ".join(str(n) for n in dict.fromkeys([rows[0], rows[-1]]))
    return "\n".join(
        [
            f"Written by `{command}` on {datetime.now(UTC):%Y-%m-%d} from stored results: "
            f"{len(found)} cells ({said}) of {pairs} pairs of dataset and model, "
            f"{each} rows each, {found['method'].nunique()} methods. "
            f"Settings: {settings}.",
            "",
            f"Run on: {store.machine()}.",
        ]
    )


def compared(found: pd.DataFrame) -> list[str]:
    """Return the parts on methods: coverage, dominance, quality and time."""
    pictures = [f"![{name}]({BOXES.format(name)})" for name in sorted(set(found["dataset"]))]
    beside = tables.coverage_of_paper(found)
    of_published = tables.coverage_of_published(found) if has_published(found) else ""
    return [
        "## Coverage",
        "Share of a method's counterfactuals that reach the target and are dominated by one of "
        "ten; in brackets how many there are; a star where a binomial test finds more than half "
        "(one-sided, 0.05). By the ten of the paper's search, *mocmod*:",
        tables.coverage(found, "mocmod"),
        "By the ten of our default:",
        tables.coverage(found, results.OURS),
        "By all our default returns:",
        tables.coverage(found, results.OURS, "all"),
        *(["Beside the paper's Table 2 (other models, DiCE of 2020):", beside] if beside else []),
        *(
            [
                "Of the *published* DiCE and Recourse answers, on the paper's own networks at "
                "hand, what the paper's search (as published), our *mocmod* and our default "
                "cover; counts are the paper's where all ten rows were run:",
                of_published,
            ]
            if of_published
            else []
        ),
        "## Who dominates whom",
        "Share of the column's valid counterfactuals that the row's ten dominate.",
        tables.dominance(found),
        "## Nearest and sparsest",
        "All our default returns beside each method, on rows where both reach the target: the mean "
        "least distance, and on how many rows ours is nearer or farther, or changes fewer or more "
        "features. Then how many of the method's points ours dominate, meet exactly, or neither.",
        tables.nearest(found),
        "## Quality and time",
        "Only of rows every method was tried on; a method that cannot be used with a model has "
        "fewer (*rows*). Means over rows; *distance*, *changes* and *implausibility* of the ten "
        "that reach the target; hypervolume as a share of the box of the reference point; time of "
        "one row alone by the wall's clock on a shared machine, so only rough ratios mean "
        "something.",
        tables.quality(found),
        "![time and quality](time.svg)",
        "Failures:",
        tables.failures(found),
        "## Objectives and counts per model",
        "Box: quartiles; whisker: up to 1.5 times its length; all ten, not only those that reach "
        "the target.",
        *pictures,
    ]


_RANKS = ("![ranks](ranks.svg)", "![ranks per dataset](ranks-by-dataset.svg)")


def has_published(found: pd.DataFrame) -> bool:
    """Return whether results are of the paper's networks, too."""
    return bool(found["model"].str.startswith(PUBLISHED).any()) and bool(published.names())


def searches(found: pd.DataFrame) -> list[str]:
    """Return the parts on the paper's variants and our default."""
    if len(results.histories(found)[0]) == 0:
        return []
    parts = [
        "## Searches over evaluations",
        "Mean ranks of hypervolume, 1 = worst of six, ties share. The paper's searches are read "
        "off by generation, so that what ICE curves ask of the model before the first one is not "
        "counted, as in its figures; of our default every evaluation is counted. Final ranks:",
        tables.final_ranks(found),
        *_RANKS,
        "Our default (3,520 evaluations, everything counted) against the paper's search (3,520, "
        "and what its ICE curves ask on top):",
        tables.against_paper_search(found),
        "The same, of the ten chosen of each set:",
        tables.against_paper_search(found, "volume_ten"),
    ]
    if has_published(found):
        parts += [
            "The same ranks of the five variants in the published logs of the networks at hand:",
            "![published ranks](ranks-published.svg)",
        ]
    return parts


def examples(found: pd.DataFrame) -> list[str]:
    """Return the appendix' two tables and ours."""
    if "diabetes" not in set(found["dataset"]):
        return []
    return [
        "## Diabetes, row 741: logistic regression",
        "The paper's own network without hidden layer:",
        tables.appendix(found, f"{PUBLISHED}logreg", 741, ["recourse"]),
        "The paper's table:",
        tables.appendix_of_paper(paper.ROW_741),
        "## Diabetes, row 268: random forest",
        "Our forest, since the paper's is not published:",
        tables.appendix(found, "randomforest", 268, ["tweaking"]),
        "The paper's table:",
        tables.appendix_of_paper(paper.ROW_268),
    ]


def models(store: Path) -> list[str]:
    """Return the table of accuracies."""
    measured = accuracy.stored(store)
    if not measured:
        return []
    return [
        "## Accuracy of the models",
        "By nested resampling (five folds in five folds); the paper's in square brackets.",
        tables.accuracies(measured),
    ]


def further(store: Path) -> list[str]:
    """Return what goes beyond the paper."""
    records = beyond.stored(store)
    if len(records) == 0:
        return []
    columns = ["n_valid", "volume", "distance", "changes", "held", "held_best"]
    means = records.groupby(["problem", "model", "method"], sort=False)[columns].mean()
    lines = [
        [" / ".join(map(str, key)), *(f"{v:.3g}" for v in row)]
        for key, row in zip(means.index, means.to_numpy(), strict=True)
    ]
    header = ["problem / model / method", "valid", "hypervolume", "least distance"]
    header += ["fewest changes", "held", "safest held"]
    return [
        "## Beyond the paper",
        "*progression* is a regression (scikit-learn's diabetes data, the other half of the "
        "outcome as target), *iris* and *wine* have three classes. *held*: the mean share of "
        f"{records['refits'].max()} bootstrap refits in which a valid counterfactual stays valid; "
        "*safest held*: that of the safest of a row's.",
        tables.markdown(header, lines),
        "Plausibility against a known density: [plausibility.md](../plausibility.md).",
    ]


def draw(found: pd.DataFrame, out: Path) -> None:
    """Draw all figures."""
    for name in sorted(set(found["dataset"])):
        figures.boxes(found[found["dataset"] == name], out / BOXES.format(name))
    figures.ranks(found, out / "ranks.svg", by_dataset=False)
    figures.ranks(found, out / "ranks-by-dataset.svg", by_dataset=True)
    figures.time_and_quality(found, out / "time.svg")
    if has_published(found):
        at_hand = sorted({name.split("/")[0] for name in published.names()})
        figures.published_ranks(at_hand, out / "ranks-published.svg")
