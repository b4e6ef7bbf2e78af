"""Searching: one row, watched meanwhile, started from an earlier result if that helps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from counterpoint.evolution.watch import Watch
from counterpoint.explainer import Explainer
from counterpoint.explorer.requests import Question
from counterpoint.group import explain_group
from counterpoint.problem.problem import Problem
from counterpoint.problem.recall import Recalled
from counterpoint.result.counterfactuals import Counterfactuals
from counterpoint.task import Task, problem_of, row_as_given


def search_row(
    explainer: Explainer,
    question: Question,
    watch: Watch,
    earlier: Counterfactuals | None = None,
) -> Counterfactuals:
    """Return what `explain` would; with an earlier result, start from what it found.

    Parameters
    ----------
    explainer : Explainer
        Asked by several threads at once.
    question : Question
        The row and what is asked of it.
    watch : Watch
        Hears how it goes, and tells it to stop.
    earlier : Counterfactuals, optional
        An earlier result. It helps if it is of the same row and about the same output.
    """
    frame = explainer.encoding.decode(question.genome.copy())
    frame.index = pd.Index([question.label])
    task = Task.of(frame, "row", question.asked, explainer.observed, explainer.predictor)
    problem = problem_of(task, np.array([0]), explainer.observed, explainer.predictor)
    problem = replace(problem, recalled=recalled_from(earlier, problem))
    row = row_as_given(task, 0, explainer.encoding)
    with explainer.predictor.one_thread():
        return explain_group(problem, task.search, task.seed, [row], watch)[0]


def recalled_from(earlier: Counterfactuals | None, problem: Problem) -> Recalled | None:
    """Return the counterfactuals of an earlier result of the same row, about the same output."""
    if earlier is None or not len(earlier):
        return None
    if not np.array_equal(earlier.problem.rows[0], problem.rows[0]):
        return None
    old, new = earlier.target, problem.targets[0]
    if (old.column, old.is_complement) != (new.column, new.is_complement):
        return None
    return Recalled(earlier.genomes, earlier.predictions)
