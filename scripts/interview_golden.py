"""Write what the interview reckons in Python, for the page's tests to agree with.

Run as ``python -m scripts.interview_golden`` after a change of result/choosing/interview.py.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from counterpoint.arrays import Floats
from counterpoint.result.choosing import interview as preference
from counterpoint.result.report.summary import pack_shares

PLACE = Path(__file__).parents[1] / "tests" / "page" / "interview.golden.json"
N_PARTICLES, N_CANDIDATES, N_QUESTIONS = 96, 23, 6
WAYS = np.array([1, 4, 9, 16, 22])


def unpacked(shares: Floats) -> Floats:
    """Return shares as the page reads them: in steps of sixteen bits."""
    return np.asarray(np.rint(shares * 65535.0) / 65535.0)


def interview(n_aims: int, n_features: int, seed: int) -> dict[str, Any]:
    """Return one interview: what is shipped, and what comes of each answer in turn."""
    particles = preference.draw_particles(n_aims, n_features, N_PARTICLES, seed)
    width = particles.shape[1]
    steps = np.arange(N_CANDIDATES * width, dtype=np.float64).reshape(N_CANDIDATES, width)
    attributes = np.abs(np.sin(1.7 * steps + seed))  # any numbers from 0 to 1 will do
    worth = preference.utilities(unpacked(particles), unpacked(attributes))
    belief = np.full(N_PARTICLES, 1.0 / N_PARTICLES)
    asked: set[tuple[int, int]] = set()
    turns = []
    for turn in range(N_QUESTIONS):
        question = preference.ask_next(belief, worth, asked, WAYS)
        assert question is not None
        a, b, answer = question.a, question.b, (turn + seed) % 3
        belief = preference.update(belief, worth[:, a], worth[:, b], answer)
        asked.add((min(a, b), max(a, b)))
        turns.append(
            {
                "a": a,
                "b": b,
                "worth": question.worth,
                "answer": answer,
                "best": preference.recommend(belief, worth),
                "expected": (belief @ worth).tolist(),
            }
        )
    return {
        "width": width,
        "particles": pack_shares(particles),
        "attributes": pack_shares(attributes),
        "ways": WAYS.tolist(),
        "turns": turns,
    }


def golden() -> list[dict[str, Any]]:
    """Return a few interviews of different sizes."""
    return [interview(4, 3, 0), interview(2, 1, 1), interview(5, 6, 2)]


if __name__ == "__main__":
    PLACE.write_text(json.dumps(golden(), indent=1) + "\n", encoding="utf-8")
