"""What each idea of the default search is worth: hypervolume over evaluations with it left out.

    python -m benchmarks.ablation [--seeds 3] [--out docs]

Runs on the paper's six tuning datasets with a logistic regression and a network trained here; the
datasets the search is scored on are not touched. Each row's hypervolume is divided by that of the
full search's mean final one; the table gives the mean over rows and its standard error over seeds.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd

import counterpoint as cp
from benchmarks import tables
from counterpoint.search import run as methods
from counterpoint.search.explore import knowledge
from counterpoint.search.explore import loop as default
from counterpoint.search.explore.knowledge import MoveWeights
from counterpoint.search.explore.offspring import FirstCandidates
from counterpoint.search.nsga2.loop import evolve

CHECKPOINTS = (100, 200, 500, 1000, 2000, 3500)
MODELS = ("logistic regression", "network")

# Each idea left out, as replacements inside the default search.
WITHOUT: dict[str, Callable[[], Any]] = {
    "nothing left out": lambda: _weights(MoveWeights()),
    "put back": lambda: _weights(MoveWeights(put_back=0.0)),
    "rescale": lambda: _weights(MoveWeights(rescale=0.0)),
    "step to the boundary": lambda: _weights(MoveWeights(step_to_boundary=0.0)),
    "follow observed rows": lambda: _weights(MoveWeights(follow=0.0)),
    "mix": lambda: _weights(MoveWeights(mix=0.0)),
    "redraw": lambda: _weights(MoveWeights(redraw=0.0)),
    "parents that miss": lambda: _weights(MoveWeights(p_valid=1.0)),
    "valid parents": lambda: _weights(MoveWeights(p_valid=0.0)),
    "preference for few changes": lambda: _weights(MoveWeights(sparse=0.0)),
    "first steps": lambda: patch.object(default, "first_candidates", _no_first),
    "observed rows known": lambda: patch.object(knowledge, "N_WANTED", 1),
    "the archive as population": lambda: patch.dict(
        methods.RUNS, {cp.Explore: lambda problem, _, watch: evolve(problem, _budgeted(), watch)}
    ),
}


def _weights(weights: MoveWeights) -> Any:
    """Replace the weights of the default search's moves."""
    return patch.object(default, "WEIGHTS", weights)


def _no_first(problem: Any, _knowledge: Any) -> FirstCandidates:
    """Return no first candidates."""
    return FirstCandidates(np.empty(0, dtype=np.int64), np.empty((len(problem.rows), 0)), 0)


def _budgeted() -> cp.NSGA2:
    """Return the paper's search with the same budget."""
    return cp.NSGA2(evaluations=3520, patience=None)


def curves(explainer: cp.Explainer, rows: pd.DataFrame, seed: int) -> np.ndarray:
    """Return each row's hypervolume at the checkpoints, shape (rows, checkpoints)."""
    search = cp.Search(evaluations=3520, patience=None)
    found = explainer.explain_many(rows, "opposite", search=search, seed=seed)
    return np.array([at_checkpoints(result.history) for result in found])


def at_checkpoints(history: pd.DataFrame) -> list[float]:
    """Return the hypervolume reached by each checkpoint."""
    places = np.searchsorted(history["evaluations"], CHECKPOINTS, side="right") - 1
    volumes = history["hypervolume"].to_numpy()
    return [float(volumes[place]) if place >= 0 else 0.0 for place in places]


def run(seeds: int) -> pd.DataFrame:
    """Return one row per idea, seed and checkpoint with the mean relative hypervolume."""
    records = []
    problems = []
    for name in tables.names("tuning"):
        table = tables.load(name)
        for model in MODELS:
            explainer = cp.Explainer(tables.train(model, table), table.data, precision="full")
            base = np.mean([curves(explainer, table.rows, s)[:, -1] for s in range(seeds)], axis=0)
            problems.append((explainer, table.rows[base > 0], base[base > 0]))
            print(f"{name}, {model}: mean hypervolume {base.mean():.4f}", flush=True)
    for idea, left_out in WITHOUT.items():
        for seed in range(seeds):
            with left_out():
                shares = np.concatenate(
                    [curves(e, rows, seed) / base[:, None] for e, rows, base in problems]
                )
            for checkpoint, share in zip(CHECKPOINTS, shares.mean(axis=0), strict=True):
                records.append((idea, seed, checkpoint, share))
        print(f"{idea}: {shares.mean(axis=0).round(4)}", flush=True)
    return pd.DataFrame(records, columns=["without", "seed", "evaluations", "share"])


def as_markdown(results: pd.DataFrame) -> str:
    """Return the table: share of the full search's hypervolume, with its standard error."""
    groups = results.groupby(["without", "evaluations"])["share"]
    mean, error = groups.mean(), groups.sem()
    lines = ["| left out | " + " | ".join(f"{c:,}" for c in CHECKPOINTS) + " |"]
    lines.append("|---" * (1 + len(CHECKPOINTS)) + "|")
    for idea in WITHOUT:
        cells = [f"{mean[idea, c]:.4f} ± {error[idea, c]:.4f}" for c in CHECKPOINTS]
        lines.append(f"| {idea} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def draw(results: pd.DataFrame, file: Path) -> None:
    """Draw what is missing to the full search's hypervolume, over evaluations."""
    import altair as alt  # noqa: TID251 - a figure of its own

    mean = results.groupby(["without", "evaluations"], sort=False)["share"].mean().reset_index()
    full = mean[mean["without"] == "nothing left out"].set_index("evaluations")["share"]
    mean["loss"] = mean["evaluations"].map(full) - mean["share"]
    ideas = mean[mean["without"] != "nothing left out"]
    ticks = alt.Axis(values=[100, 300, 1000, 3000], grid=False, format="~s")
    chart = (
        alt.Chart(ideas)
        .mark_line(point=True, color="#0072b2")
        .encode(
            x=alt.X(
                "evaluations:Q",
                scale=alt.Scale(type="log", domain=[80, 4000]),
                axis=ticks,
                title="model evaluations",
            ),
            y=alt.Y(
                "loss:Q",
                scale=alt.Scale(zero=True),
                axis=alt.Axis(tickCount=3, gridOpacity=0.4),
                title="hypervolume lost",
            ),
        )
        .properties(width=190, height=90)
        .facet(
            facet=alt.Facet("without:N", title="left out", sort=list(WITHOUT)),
            columns=4,
            spacing=24,
        )
        .resolve_scale(y="independent")
        .configure_view(stroke=None)
    )
    chart.save(str(file))


def main() -> None:
    """Run the ablation and write table and figure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("docs"))
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")  # scikit-learn on convergence, which is not the subject
    results = run(arguments.seeds)
    table = as_markdown(results)
    print(table)
    (arguments.out / "ablation.md").write_text(table + "\n")
    results.to_csv(arguments.out / "ablation.csv", index=False, float_format="%.6f")
    draw(results, arguments.out / "ablation.svg")


if __name__ == "__main__":
    main()
