"""The golden file that the page's own tests read is what Python reckons today."""

from __future__ import annotations

import json

import numpy as np
from scripts.interview_golden import PLACE, golden


def test_the_golden_interviews_are_up_to_date() -> None:
    stored = json.loads(PLACE.read_text(encoding="utf-8"))

    for ours, theirs in zip(golden(), stored, strict=True):
        for key in ("width", "particles", "attributes"):
            assert ours[key] == theirs[key]
        for turn, known in zip(ours["turns"], theirs["turns"], strict=True):
            np.testing.assert_allclose(turn.pop("expected"), known.pop("expected"), atol=1e-9)
            np.testing.assert_allclose(turn.pop("worth"), known.pop("worth"), atol=1e-9)
            assert turn == known
