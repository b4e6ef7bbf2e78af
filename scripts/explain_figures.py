"""Draw the figures of docs/explain: `python -m scripts.explain_figures`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import altair as alt  # noqa: TID251 - figures of the documentation
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier

import counterpoint as cp
from counterpoint.datasets import load_credit

FOLDER = Path(__file__).parents[1] / "docs" / "explain"
BLUE, PURPLE, GREY = "#2166ac", "#7b3294", "#999999"


def credit() -> cp.Counterfactuals:
    """Return the result of the ten lines of the first page."""
    data, risk = load_credit()
    model = HistGradientBoostingClassifier(random_state=0).fit(data[1:], risk[1:])
    return cp.Explainer(model, data[1:]).explain(data[:1], "good", fixed=["sex", "age"])


def near_misses(found: cp.Counterfactuals) -> Any:
    """Draw distance against gap."""
    frame = found.to_pandas(near_misses=True)
    frame = frame.iloc[:: 1 + len(frame) // 200].copy()
    frame["kind"] = frame["valid"].map({True: "counterfactual", False: "near miss"})
    colours = alt.Scale(domain=["counterfactual", "near miss"], range=[BLUE, PURPLE])
    return (
        alt.Chart(frame, width=480, height=260)
        .mark_circle(size=40, opacity=0.6)
        .encode(
            x=alt.X("distance", title="distance to the row"),
            y=alt.Y("gap", title="gap to the target"),
            color=alt.Color("kind", scale=colours, title=None),
        )
    )


def ways(found: cp.Counterfactuals) -> Any:
    """Draw how far the nearest counterfactual of each way is."""
    frame = pd.DataFrame(
        {
            "way": [" + ".join(map(str, way.features)) for way in found.ways()[:8]],
            "distance": [way.closest["distance"].item() for way in found.ways()[:8]],
        }
    )
    return (
        alt.Chart(frame, width=380)
        .mark_bar(color=BLUE)
        .encode(
            x=alt.X("distance", title="distance of the nearest counterfactual of the way"),
            y=alt.Y("way", sort=None, title=None, axis=alt.Axis(labelLimit=300)),
        )
    )


def distance() -> Any:
    """Draw how a distance adds up."""
    frame = pd.DataFrame(
        {
            "feature": ["duration: 48 to 43 months", "purpose: stays", "seven others: stay"],
            "share of its range": [5 / 68, 0.0, 0.0],
        }
    )
    bars = alt.Chart(frame, width=380, title="The mean over nine features is 0.0082").mark_bar()
    scale = alt.Scale(domain=[0, 1])
    return bars.encode(
        x=alt.X("share of its range", scale=scale),
        y=alt.Y("feature", sort=None, title=None, axis=alt.Axis(labelLimit=300)),
    )


def edge() -> Any:
    """Draw an answer on the edge, and one with a margin."""
    steps = [number / 100 for number in range(101)]
    kinds = {"the model": 0.5, "the model, refitted": 0.56}
    curves = pd.DataFrame(
        {"kind": kind, "change": step, "probability": 1 / (1 + 2.718 ** (14 * (middle - step)))}
        for kind, middle in kinds.items()
        for step in steps
    )
    points = pd.DataFrame(
        {"change": [0.51, 0.66], "probability": [0.535, 0.9], "answer": ["on the edge", "inside"]}
    )
    target = alt.Chart(pd.DataFrame({"y": [0.5]})).mark_rule(color=GREY, strokeDash=[4, 4])
    lines = alt.Chart(curves, width=480, height=260).mark_line()
    marks = alt.Chart(points).mark_point(size=120, filled=True, color=PURPLE)
    where = {"x": alt.X("change", title="how much is changed"), "y": "probability"}
    words = marks.mark_text(dx=-8, align="right").encode(**where, text="answer")
    drawn = lines.encode(**where, strokeDash=alt.StrokeDash("kind", title=None))
    return drawn + marks.encode(**where) + words + target.encode(y="y")


def main() -> None:
    """Write all of them."""
    found = credit()
    charts = {
        "near_misses": near_misses(found),
        "ways": ways(found),
        "distance": distance(),
        "edge": edge(),
    }
    for name, chart in charts.items():
        chart.save(str(FOLDER / f"{name}.svg"))


if __name__ == "__main__":
    main()
