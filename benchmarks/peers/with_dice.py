"""DiCE: ten counterfactuals by its model-agnostic methods, other settings as they come."""

from __future__ import annotations

import dice_ml
import pandas as pd

from benchmarks.peers.subjects import Explain, Subject

N_COUNTERFACTUALS = 10
OUTCOME = "outcome"


def wire(subject: Subject, setting: str) -> Explain:
    """Return a function that explains one row by "random", "genetic 50" or another setting.

    A setting is a method of DiCE, and how many counterfactuals are asked for; ten if it says none.
    """
    codec = subject.codec
    method, _, asked_for = setting.partition(" ")
    n = int(asked_for or N_COUNTERFACTUALS)
    numbers = [c for c, is_level in zip(codec.columns, codec.is_level, strict=True) if not is_level]
    data = dice_ml.Data(
        dataframe=subject.data.assign(**{OUTCOME: subject.classes}),
        continuous_features=numbers,
        outcome_name=OUTCOME,
    )
    model = dice_ml.Model(model=subject.model, backend="sklearn")
    dice = dice_ml.Dice(data, model, method=method)

    def explain(row: pd.DataFrame, target: int) -> pd.DataFrame:
        """Return the answer after DiCE's own step towards fewer changes, as it shows to users."""
        found = dice.generate_counterfactuals(row, total_CFs=n, desired_class=target)
        answer = found.cf_examples_list[0]
        sparse: pd.DataFrame | None = answer.final_cfs_df_sparse
        rows: pd.DataFrame = answer.final_cfs_df if sparse is None else sparse
        return rows

    return explain
