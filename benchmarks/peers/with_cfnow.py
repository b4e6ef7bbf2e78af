"""CFNOW: greedy or random search within a time limit; levels are given to it one-hot."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import nltk
import numpy as np
import pandas as pd

from benchmarks.peers.subjects import Codec, Explain, Floats, Subject

# Importing it downloads word lists, which tables do not need and an offline machine cannot get.
with patch.object(nltk, "download", return_value=False):
    from cfnow import find_tabular

LIMIT_SECONDS = 5  # its own default is 120, all of which it uses


class OneHot:
    """Genomes as the columns CFNOW wants: numbers, and an indicator for each level."""

    def __init__(self, codec: Codec) -> None:
        self.kinds: dict[str, str] = {}
        self.places: list[slice] = []
        for j, _ in enumerate(codec.columns):
            start = len(self.kinds)
            if j in codec.levels:  # what stands before "_" tells CFNOW which columns are one group
                self.kinds |= {f"level{j}_{code}": "cat" for code in range(len(codec.levels[j]))}
            else:
                self.kinds[f"number{j}"] = "num"
            self.places.append(slice(start, len(self.kinds)))

    def widen(self, genome: Floats) -> pd.Series[Any]:
        """Return one genome (d,) as a named row of indicators and numbers."""
        wide = np.zeros(len(self.kinds))
        for value, place in zip(genome, self.places, strict=True):
            if place.stop - place.start > 1:
                wide[place.start + int(value)] = 1.0
            else:
                wide[place] = value
        return pd.Series(wide, index=list(self.kinds))

    def narrow(self, wide: Any) -> Floats:
        """Return genomes (n, d) of a frame or array of indicators and numbers."""
        values = np.asarray(wide, dtype=np.float64)
        parts = [values[:, place] for place in self.places]
        columns = [p.argmax(axis=1) if p.shape[1] > 1 else p[:, 0] for p in parts]
        return np.column_stack(columns).astype(np.float64)


def wire(subject: Subject, setting: str) -> Explain:
    """Return a function that explains one row by the strategy "random" or "greedy"."""
    codec, one_hot = subject.codec, OneHot(subject.codec)

    def predict(wide: Any) -> Floats:
        """Return the probabilities of CFNOW's candidates."""
        return subject.probabilities(one_hot.narrow(wide))

    def explain(row: pd.DataFrame, _target: int) -> pd.DataFrame:
        """Return all it found, often hundreds.

        `count_cf` stays at its default of 1: hundreds come either way, and asking for ten often
        makes CFNOW's fine tuning fail on arrays of different dimensions.
        """
        answer = find_tabular(
            one_hot.widen(codec.encode(row)[0]),
            predict,
            feat_types=one_hot.kinds,
            has_ohe=bool(codec.levels),
            cf_strategy=setting,
            limit_seconds=LIMIT_SECONDS,
        )
        return codec.decode(one_hot.narrow(np.reshape(answer.cfs, (-1, len(one_hot.kinds)))))

    return explain
