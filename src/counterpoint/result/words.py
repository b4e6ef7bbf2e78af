"""Words: a result said in a sentence and shown as a small table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from counterpoint.problem.objectives import GAP

if TYPE_CHECKING:
    from counterpoint.result.counterfactuals import Counterfactuals

SHOWN = 5


def message(found: Counterfactuals) -> str:
    """Return one sentence: how many were found, or how close the search came."""
    target, now = found.target, found.row_prediction
    if found.status == "already_met":
        return f"the row already reaches the target: {target} and its prediction is {now:.3g}."
    asked = f"{found.evaluations:,} model evaluations"
    n_valid = int(found.reaches.sum())
    if n_valid:
        fewest = int(found.valid().changed.sum(axis=1).min())
        return (
            f"{n_valid} of {len(found)} counterfactuals reach {target} "
            f"(now {now:.3g}) with {fewest} or more changes, from {asked}."
        )
    if len(found) == 0:
        return f"no candidate that differs from the row was found for {target} in {asked}."
    best = int(np.argmin(found.objectives[:, GAP]))
    return (
        f"no counterfactual reaches {target} (now {now:.3g}): the closest of {len(found)} is at "
        f"{found.predictions[best]:.3g}, a gap of {found.objectives[best, GAP]:.3g}, "
        f"after {asked}; {observed_hint(found)}"
    )


def observed_hint(found: Counterfactuals) -> str:
    """Say whether any observed row has the wanted prediction, and what to try."""
    predictions = found.target.prediction(found.problem.observed.outputs)
    gaps = [found.target.gap_of(float(p)) for p in predictions]
    n_reach = int(np.sum(np.array(gaps) <= 0.0))
    if n_reach == 0:
        nearest = float(predictions[int(np.argmin(gaps))])
        return (
            f"no observed row reaches it either (the nearest is at {nearest:.3g}): "
            "ask for a target the model does give."
        )
    return (
        f"{n_reach} observed rows do reach it: free more features, widen ranges, raise "
        "max_changed, or give the search more evaluations."
    )


def summary(found: Counterfactuals, n: int = SHOWN) -> str:
    """Return the message, the notes, and a table of a few counterfactuals' changes."""
    lines = [found.message[0].upper() + found.message[1:]]
    lines += [f"Note: {note}" for note in found.notes]
    if len(found):
        few = found.select(n)
        lines += ["", changes_table(few)]
        if len(found) > n:
            lines.append(f"{len(found) - len(few)} more in to_frame().")
    return "\n".join(lines)


def changes_table(found: Counterfactuals) -> str:
    """Return a text table: the row first, then only the changed cells of each counterfactual."""
    frame = found.to_frame(only_changes=True)
    features = list(found.problem.predictor.encoding.schema.names)
    ever_changed = [name for j, name in enumerate(features) if found.changed[:, j].any()]
    shown = frame[[*ever_changed, "prediction", "distance", "changes", "implausibility"]]
    shown = shown.astype(object).map(readable)
    own = {name: readable(found.row[name].iloc[0]) for name in ever_changed}
    own |= {"prediction": readable(found.row_prediction)}
    table = pd.concat(
        [pd.DataFrame([own], index=["row"]), shown.set_axis(range(1, len(shown) + 1))]
    )
    table = table[list(shown.columns)].fillna("")
    return str(table.to_string())


def readable(value: Any) -> str:
    """Return a cell as text: numbers with at most four significant digits after the point."""
    if isinstance(value, float | np.floating):
        number = float(value)
        return f"{number:,.0f}" if number == round(number) != 0 else f"{number:.4g}"
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return f"{value:,}"
    return str(value)
