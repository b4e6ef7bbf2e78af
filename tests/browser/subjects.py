"""Six tables whose reports are looked at: several classes, regression, dates, one column and sixty.

Run it to look at them: ``python -m tests.browser.subjects FOLDER`` writes the report of each, its
figures as one contact sheet, and screenshots of the pages.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes, load_wine
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.browser.browser import Visit, chromium
from tests.strategies import generator

import counterpoint as cp
from counterpoint.datasets import load_credit

LONG = "Average monthly balance of the current account over the last twelve months"
PURPOSES = ["furniture and household equipment", "vacation or business trip", "other / unknown"]
FEW = cp.Search(evaluations=3000)


def credit() -> cp.Counterfactuals:
    """Return counterfactuals of a refused applicant; age and sex are protected."""
    features, risk = load_credit()
    others = pd.get_dummies(features.iloc[1:])
    linear = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    linear.fit(others, risk.iloc[1:])

    def ask(rows: pd.DataFrame) -> Any:
        wide = pd.get_dummies(rows).reindex(columns=others.columns, fill_value=False)
        return linear.predict_proba(wide)

    explainer = cp.Explainer(
        ask,
        features.iloc[1:],
        classes=list(linear.classes_),
        units={"duration": "months", "credit_amount": "DM"},
        protected=["sex", "age"],
    )
    return explainer.explain(features.iloc[:1], target="good", search=FEW, seed=0)


def wine() -> cp.Counterfactuals:
    """Return counterfactuals among three classes and thirteen columns."""
    data, kind = load_wine(return_X_y=True, as_frame=True)
    names = np.array(["Barolo", "Grignolino", "Barbera"])[kind]
    forest = RandomForestClassifier(30, random_state=0).fit(data, names)
    return cp.Explainer(forest, data).explain(data[:1], target="Barbera", search=FEW, seed=0)


def diabetes() -> cp.Counterfactuals:
    """Return counterfactuals of a regression that should come out low."""
    data, progress = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    boosted = HistGradientBoostingRegressor(random_state=0, max_iter=40).fit(data, progress)
    row = data.iloc[[int(np.argmax(boosted.predict(data)))]]
    return cp.Explainer(boosted, data).explain(row, target=(None, 150.0), search=FEW, seed=0)


def sixty() -> cp.Counterfactuals:
    """Return counterfactuals of sixty columns that all matter a little."""
    values = generator(3).normal(size=(250, 60)).round(2)
    data = pd.DataFrame(values, columns=[f"measure_{j:02d}" for j in range(60)])
    weights = np.linspace(0.1, 1.0, 60)

    def ask(rows: pd.DataFrame) -> Any:
        return 1.0 / (1.0 + np.exp(2.0 - rows.to_numpy() @ weights / 2.0))

    return cp.Explainer(ask, data).explain(data[:1], target=(0.5, 1.0), search=FEW, seed=0)


def long_names() -> cp.Counterfactuals:
    """Return counterfactuals with long names, dates, levels and missing values."""
    n, draw = 200, generator(5)
    since = pd.Timestamp("2012-01-01") + pd.to_timedelta(draw.integers(0, 4000, n), unit="D")
    data = pd.DataFrame(
        {
            LONG: draw.gamma(2.0, 900.0, n).round(2),
            "Customer of the bank since": since,
            "Purpose of the loan as stated in the application": [
                PURPOSES[k] for k in draw.integers(0, 3, n)
            ],
            "Number of dependants": draw.integers(0, 6, n).astype(float),
            "Has a guarantor": draw.integers(0, 2, n).astype(bool),
        }
    )
    data.loc[draw.random(n) < 0.2, "Number of dependants"] = np.nan

    def ask(rows: pd.DataFrame) -> Any:
        years = (pd.Timestamp("2024-01-01") - rows["Customer of the bank since"]).dt.days / 365.0
        many = rows["Number of dependants"].fillna(3.0)
        raw = rows[LONG] / 1500.0 + years / 4.0 - 0.5 * many + rows["Has a guarantor"] - 2.2
        return 1.0 / (1.0 + np.exp(-raw))

    row = data[:1].assign(**{LONG: 412.37, "Number of dependants": np.nan})
    row["Has a guarantor"] = False
    row["Customer of the bank since"] = pd.Timestamp("2021-05-04")
    return cp.Explainer(ask, data).explain(row, target=(0.6, 1.0), search=FEW, seed=0)


def one_feature() -> cp.Counterfactuals:
    """Return counterfactuals of a table with a single column."""
    data = pd.DataFrame({"temperature": np.linspace(10.0, 40.0, 61)})
    explainer = cp.Explainer(
        lambda rows: rows["temperature"] / 50.0, data, units={"temperature": "°C"}
    )
    return explainer.explain({"temperature": 14.0}, target=(0.5, 0.7), search=FEW, seed=0)


def already_met() -> cp.Counterfactuals:
    """Return the result of a row that has what is wanted."""
    data = pd.DataFrame({"age": np.arange(20, 60), "debt": np.arange(40)[::-1]})
    explainer = cp.Explainer(lambda rows: rows["age"] / 60.0, data)
    return explainer.explain({"age": 40, "debt": 3}, target=(0.5, 1.0), search=FEW, seed=0)


def none_found() -> cp.Counterfactuals:
    """Return the result of a target that nothing reaches."""
    data = pd.DataFrame({"age": np.arange(20, 60), "debt": np.arange(40)[::-1]})
    explainer = cp.Explainer(lambda rows: rows["age"] / 62.0, data)
    return explainer.explain({"age": 25, "debt": 3}, target=(0.99999, 1.0), search=FEW, seed=0)


SUBJECTS: dict[str, Callable[[], cp.Counterfactuals]] = {
    "credit": credit,
    "wine": wine,
    "diabetes": diabetes,
    "sixty": sixty,
    "long_names": long_names,
    "one_feature": one_feature,
}
EMPTY = {"already_met": already_met, "none_found": none_found}


@cache
def found_of(name: str) -> cp.Counterfactuals:
    """Return one of the results, searched once."""
    return (SUBJECTS | EMPTY)[name]()


def figures_of(found: cp.Counterfactuals) -> dict[str, Any]:
    """Return every kind of figure of a result by name."""
    kinds = ("parallel", "objectives", "strips", "frequency", "ice", "history")
    charts = {kind: getattr(found.plot, kind)() for kind in kinds}
    often = found.change_frequency().sort_values(ascending=False).index[:2]
    return charts | ({"surface": found.plot.surface(*often)} if len(often) > 1 else {})


def contact_sheet(browser: Any, folder: Path, names: Iterable[str]) -> Path:
    """Draw every kind of figure of each table side by side, in one picture."""
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    images = []
    for name in names:
        for kind, chart in figures_of(found_of(name)).items():
            chart.save(folder / f"{name}-{kind}.svg")
            images.append(f'<figure><img src="{name}-{kind}.svg"><br>{name}: {kind}</figure>')
    style = "body{display:flex;flex-wrap:wrap}figure{margin:8px;border:1px solid #ccc;padding:4px}"
    page = folder / "sheet.html"
    page.write_text(f"<style>{style}</style>{''.join(images)}", encoding="utf-8")
    visited = Visit(browser, page.as_uri(), {"viewport": {"width": 2400, "height": 900}})
    visited.page.screenshot(path=folder / "sheet.png", full_page=True)
    visited.context.close()
    return folder / "sheet.png"


def look(folder: Path) -> None:
    """Write all reports with screenshots: wide and narrow, light and dark, and printed."""
    folder = folder.resolve()
    with chromium() as browser:
        contact_sheet(browser, folder, SUBJECTS)
        for name in SUBJECTS | EMPTY:
            place = folder / f"{name}.html"
            found_of(name).report(place)
            looks: dict[str, dict[str, Any]] = {
                "1440": {"viewport": {"width": 1440, "height": 900}},
                "390": {"viewport": {"width": 390, "height": 844}},
                "dark": {"viewport": {"width": 1440, "height": 900}, "color_scheme": "dark"},
            }
            for look_of, options in looks.items():
                visited = Visit(browser, place.as_uri(), options)
                visited.page.wait_for_timeout(2500)
                visited.page.screenshot(path=folder / f"{name}-{look_of}.png", full_page=True)
                if look_of == "1440":
                    visited.page.pdf(path=folder / f"{name}.pdf", format="A4")
                sys.stdout.write(f"{name} {look_of} {visited.errors}\n")
                visited.context.close()


if __name__ == "__main__":
    look(Path(sys.argv[1]))
