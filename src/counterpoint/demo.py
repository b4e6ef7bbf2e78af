"""The paper's credit example: what would have had to differ for this applicant to be accepted.

Run it with ``make demo`` or ``python -m counterpoint.demo``;
``--figures FOLDER`` writes its figures, ``--serve`` opens it in the explorer.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import pandas as pd

from counterpoint.checks import require_package
from counterpoint.datasets import load_credit
from counterpoint.errors import MissingDependency
from counterpoint.explainer.explainer import Explainer
from counterpoint.result.counterfactuals import Counterfactuals
from counterpoint.table.values import write_number

TARGET = ("good", (0.5, 1.0))
UNITS: dict[Hashable, str] = {"duration": "months", "credit_amount": "DM"}
N_SHOWN = 10
REPORT = "credit-report.html"
EXPLORE = "make explore, or python -m counterpoint.demo --serve"
PPI = 96  # of the figures: a third more than a screen's, and still small files


def train_model(features: pd.DataFrame, risk: pd.Series[str]) -> Any:
    """Tune and fit a support vector machine with RBF kernel that gives probabilities."""
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler, OneHotEncoder
    from sklearn.svm import SVC

    encode = make_column_transformer(
        (OneHotEncoder(), make_column_selector(dtype_include="category")), remainder=MinMaxScaler()
    )
    machine = make_pipeline(encode, SVC())
    grid = {"svc__C": [0.1, 1.0, 10.0], "svc__gamma": [0.1, 0.5, 1.0]}
    tuned = GridSearchCV(machine, grid, cv=5).fit(features, risk).best_estimator_
    return CalibratedClassifierCV(tuned, ensemble=False).fit(features, risk)


def credit_explainer() -> tuple[Explainer, pd.DataFrame]:
    """Return the explainer of a model trained on all applicants but the first, and all of them."""
    features, risk = load_credit()
    others = features.iloc[1:]
    model = train_model(others, risk.iloc[1:])
    return Explainer(model, others, units=UNITS, protected=["sex", "age"]), features


def require_extras(*, serve: bool) -> None:
    """Say which extra is missing before anything is trained."""
    for package in ("sklearn", "altair", "vl_convert", "contourpy"):
        require_package(package, "the demo", '"counterpoint[demo]"')
    for package in ("fastapi", "uvicorn") if serve else ():
        require_package(package, "the explorer", '"counterpoint[serve]"')


def explore(explainer: Explainer, applicants: pd.DataFrame, port: int) -> None:
    """Open the explorer with the first applicant picked, until Ctrl-C."""
    from counterpoint.explorer.server import Explorer, serve_until_ended

    first = {"target": "good:0.5..1"}
    explorer = Explorer(explainer, applicants.iloc[1:], applicants, port=port, first=first)
    serve_until_ended(explorer, opens=sys.stdout.isatty())


def draw_figures(found: Counterfactuals, folder: Path) -> list[Path]:
    """Write every figure of a result as PNG; the first two are those of the paper."""
    plot = found.plot
    charts = {
        "parallel": plot.parallel(n=82),  # as many as the paper draws
        "surface": plot.surface("duration", "credit_amount"),
        "surface_mixed": plot.surface("duration", "purpose"),
        "surface_levels": plot.surface("housing", "purpose"),
        "objectives": plot.objectives(),
        "frequency": plot.frequency(),
        "history": plot.history(),
        "ice": plot.ice(),
        "strips": plot.strips(),
    }
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / f"{name}.png" for name in charts]
    for file, chart in zip(files, charts.values(), strict=True):
        chart.save(str(file), ppi=PPI)
    return files


def main(arguments: list[str] | None = None) -> None:
    """Print the applicant, the ten best counterfactuals and how often each feature changes."""
    parser = argparse.ArgumentParser(prog="counterpoint.demo", description=__doc__)
    parser.add_argument("--figures", type=Path, metavar="FOLDER", help="write the figures there")
    parser.add_argument(
        "--report", type=Path, metavar="FILE", default=Path(REPORT), help="write the report there"
    )
    parser.add_argument("--serve", action="store_true", help="then open the explorer")
    parser.add_argument("--port", type=int, default=0, metavar="N", help="of the explorer")
    given = parser.parse_args(arguments)
    try:
        require_extras(serve=given.serve)
    except MissingDependency as error:
        raise SystemExit(f"counterpoint.demo: {error}") from None
    print("Training a support vector machine on 521 rows of German credit data ...")
    explainer, applicants = credit_explainer()
    found = explainer.explain(applicants.iloc[[0]], target=TARGET, seed=0)
    show(found)
    found.report(given.report)
    print(f"\nThe report: {given.report.resolve()}")
    if given.figures is not None:
        files = draw_figures(found, given.figures)
        print(f"Figures: {', '.join(str(file) for file in files)}")
    if given.serve:
        explore(explainer, applicants, given.port)
    else:
        print(f"To ask other questions in the explorer: {EXPLORE}")


def show(found: Counterfactuals) -> None:
    """Print a result."""
    applicant = ", ".join(f"{name} {value}" for name, value in found.row.iloc[0].items())
    print(f"\nThe applicant: {applicant}")
    print(f"The model's probability of a good risk: {write_number(found.row_prediction)}\n")
    print(found.summary(N_SHOWN))
    print("\nHow often each feature changes in those that reach the target:")
    for name, share in found.valid().change_frequency().items():
        print(f"  {name:<18} {share:>4.0%}  {'#' * round(30 * share)}")


if __name__ == "__main__":
    main()
