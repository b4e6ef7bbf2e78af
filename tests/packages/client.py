"""A program that uses counterpoint, checked by mypy --strict and pyright --strict."""

from __future__ import annotations

import pandas as pd

import counterpoint as cp

data = pd.DataFrame({"age": range(20, 60), "duration": [12, 24, 36, 48] * 10})


def score(rows: pd.DataFrame) -> pd.Series[float]:
    return (rows["age"] - rows["duration"] + 48) / 120


explainer = cp.Explainer(score, data, classes=["bad", "good"], units={"duration": "months"})
limits = cp.Limits(fixed=["age"], ranges={"duration": (6, 60)})
found: cp.Counterfactuals = explainer.explain(
    {"age": 30, "duration": 48}, "good", cp.Search(evaluations=200), limits=limits
)
first: cp.Counterfactuals = found[0]
status: str = found.status
ways = found.ways()
for way in ways:
    names: tuple[object, ...] = way.features
length: int = len(found)
frame = found.to_frame()
found.save("row.json")
again: cp.Counterfactuals = cp.load("row.json")
many: list[cp.Counterfactuals] = explainer.explain_many(data[:2], "good")
try:
    explainer.explain({"age": 30}, "good")
except cp.InvalidInput as error:
    text: str = str(error)
