"""Words: a result said in a sentence and shown as a small table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from counterpoint.evolution.baselines import is_reaching, observed_predictions
from counterpoint.problem.objectives import GAP
from counterpoint.result.diagnosis import limits_bind, smallest_relaxation

if TYPE_CHECKING:
    from counterpoint.result.counterfactuals import Counterfactuals

SHOWN = 5
EARLY = {
    "seconds": "; the time ran out, so this is the best so far",
    "interrupt": "; the search was interrupted, so this is the best so far",
}


def message(found: Counterfactuals) -> str:
    """Return one sentence: how many were found, or how close the search came."""
    target, now = found.target, readable(found.row_prediction)
    if found.status == "already_met":
        return f"the row already reaches {target}: its prediction is {now}."
    asked = counted(found.evaluations, "model evaluation")
    n_valid = int(found.reaches.sum())
    if n_valid:
        fewest = int(found.valid().changed.sum(axis=1).min())
        return (
            f"{n_valid} of {counted(len(found), 'counterfactual')} "
            f"{'reaches' if n_valid == 1 else 'reach'} {target} (now {now}) "
            f"with {fewest} or more changes, from {asked}{EARLY.get(found.stopped, '')}."
        )
    if len(found) == 0:
        early = EARLY.get(found.stopped, "")
        return (
            f"no counterfactual for {target} (now {now}) from {asked}{early}; "
            f"{observed_hint(found)}"
        )
    best = int(np.argmin(found.objectives[:, GAP]))
    return (
        f"no counterfactual reaches {target} (now {now}): the closest of {len(found)} is at "
        f"{readable(found.predictions[best])}, a gap of {readable(found.objectives[best, GAP])}, "
        f"after {asked}{EARLY.get(found.stopped, '')}; {observed_hint(found)}"
    )


def observed_hint(found: Counterfactuals) -> str:
    """Say whether any observed row has the wanted prediction, and what to try."""
    n_reach = int(is_reaching(found.problem, 0, slice(None)).sum())
    if n_reach == 0:
        predictions = observed_predictions(found.problem, 0, slice(None))
        gaps = [found.target.gap_of(float(prediction)) for prediction in predictions]
        return (
            "no observed row reaches it either (the nearest is at "
            f"{readable(predictions[int(np.argmin(gaps))])}): "
            "ask for a target the model does give."
        )
    reach = f"{counted(n_reach, 'observed row')} {'does' if n_reach == 1 else 'do'} reach it"
    if limits_bind(found.problem):
        what = "limits" if found.problem.ruling is None else "limits and rules"
        return f"{reach}, but within the {what} none does: {smallest_relaxation(found.problem)}."
    return f"{reach}: give the search more evaluations."


def summary(found: Counterfactuals, n: int = SHOWN) -> str:
    """Return the message, the rules, the notes, and a table of a few counterfactuals' changes."""
    lines = [found.message[0].upper() + found.message[1:]]
    if found.constraints:
        lines.append(f"Rules: {'; '.join(found.constraints)}.")
    lines += [f"Note: {note}" for note in found.notes]
    if aims := str(found.problem.observed.aims):
        lines.append(f"Minimised: {aims}.")
    if len(found):
        few = found.select(n)
        lines += ["", changes_table(few)]
        if len(found) > n:
            lines.append(f"{len(found) - len(few)} more in to_frame().")
    return "\n".join(lines)


def changes_table(found: Counterfactuals) -> str:
    """Return a text table: the row first, then only the changed cells of each counterfactual."""
    frame = found.to_pandas(only_changes=True)
    features = found.problem.predictor.encoding.schema.features
    decimals = {f.name: f.decimals for j, f in enumerate(features) if found.changed[:, j].any()}
    columns = [*decimals, "prediction", *found.objective_names[1:]]
    own = own_cells(found).assign(prediction=found.row_prediction)
    rows = {name: [own[name].iloc[0] if name in own else "", *frame[name]] for name in columns}
    texts = {
        name: [readable(cell, decimals.get(name)) for cell in cells] for name, cells in rows.items()
    }
    for name in found.problem.observed.aims.shares:  # three decimals tell them apart
        texts[name] = ["", *(f"{share:.3f}" for share in frame[name])]
    table = pd.DataFrame(texts, index=["row", *range(1, len(frame) + 1)])
    return str(table.to_string())


def own_cells(found: Counterfactuals) -> pd.DataFrame:
    """Return the row by feature: as it was given, if that was by feature."""
    encoding = found.problem.predictor.encoding
    if isinstance(found.row, pd.DataFrame) and not encoding.schema.has_groups:
        return found.row
    return encoding.by_feature(found.problem.rows.copy())


def readable(value: Any, decimals: int | None = None) -> str:
    """Return a cell as text: a real number with its column's decimals, or with four digits.

    Examples
    --------
    >>> readable(3343.5, decimals=2), readable(0.123456), readable(123456.78), readable("own")
    ('3343.50', '0.1235', '123457', 'own')
    """
    if isinstance(value, pd.Timestamp):  # of a column of dates: midnight says nothing
        return str(value.date())
    if value is None or value is pd.NA or value is pd.NaT or value != value:
        return "missing"
    if not isinstance(value, float | np.floating):
        return str(value)
    number = float(value)
    if decimals is not None and np.isclose(number, round(number, decimals), rtol=1e-6, atol=0.0):
        return f"{number:.{decimals}f}"
    return f"{number:.0f}" if abs(number) >= 1000.0 else f"{number:.4g}"


def counted(n: int, noun: str) -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> counted(1, "change"), counted(3520, "evaluation")
    ('1 change', '3,520 evaluations')
    """
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"
