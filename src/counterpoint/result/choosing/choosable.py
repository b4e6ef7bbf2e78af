"""Choosable: the part of a result that helps to choose from it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

import pandas as pd

from counterpoint.result.choosing.interview import Interview
from counterpoint.result.choosing.orders import matching, representatives
from counterpoint.result.choosing.safety import safest, safety_frame
from counterpoint.result.choosing.subset import By, select_positions
from counterpoint.result.words.language import Lang, Reader

if TYPE_CHECKING:
    from counterpoint.result.counterfactuals import Counterfactuals


class Choosable:
    """Ways to choose counterfactuals; a base of `Counterfactuals`, for which it is written."""

    def select(
        self, n: int = 10, by: By = "hypervolume", *, weights: Mapping[str, float] | None = None
    ) -> Counterfactuals:
        """Return at most n counterfactuals, those that reach the target before all others.

        Parameters
        ----------
        n : int, default=10
            How many at most.
        by : str, default="hypervolume"
            "hypervolume": the paper's choice for its comparisons. If more than n reach the target,
            the n of them that greedily add most hypervolume; if fewer, all of them, filled up the
            same way. "diverse": each as different as can be (Gower's distance) from those before
            it, the knee first. "knee": nearest to the ideal, with every objective scaled to its
            range. "closest", "fewest" (changes), "plausible": by that objective. "safest": by the
            share of neighbours that keep the outcome, then the margin; see `safety`. The model is
            asked about neighbours of 64 counterfactuals or n, if it is at hand.
        weights : dict of objective name to number, optional
            What matters, instead of `by`: the least weighted sum of objectives comes first, each
            scaled to its range among those that reach the target. What is not named weighs 0.

        Returns
        -------
        Counterfactuals
            The chosen ones, best first. Those that miss the target follow by their gap.

        Raises
        ------
        InvalidInput
            If there is no such criterion or objective, or a weight is below 0.

        Examples
        --------
        >>> import counterpoint as cp
        >>> data = pd.DataFrame({"age": [20, 30, 40, 50], "debt": [9, 5, 3, 1]})
        >>> explainer = cp.Explainer(lambda rows: rows["age"] / 50 - rows["debt"] / 20, data)
        >>> found = explainer.explain(data[:1], target=(0.5, None))
        >>> found.select(1, by="fewest").changed.sum()
        np.int64(1)
        >>> found.select(2, weights={"changes": 1, "distance": 2}).reaches
        array([ True,  True])
        """
        found = cast("Counterfactuals", self)
        return found.take(select_positions(found, n, by, weights))

    def representatives(self) -> dict[str, int]:
        """Return five counterfactuals by name, as positions; `take` shows one.

        Of those that reach the target, or else of those with the smallest gap: the "closest", that
        with "fewest changes", the "most typical" (least implausible), the "safest" (most neighbours
        that keep the outcome, then the largest margin; see `safety`) and the "balanced" one, the
        knee: nearest to the ideal when every objective is scaled to its range. One counterfactual
        may have several names. The model is asked about neighbours, if it is at hand.

        Returns
        -------
        dict of str to int
            Empty if there is no counterfactual.
        """
        found = cast("Counterfactuals", self)
        named = representatives(found)
        return {**named, "safest": int(safest(found)[0])} if named else named

    def safety(
        self, models: Iterable[Any] | None = None, neighbours: int | None = None, seed: int = 0
    ) -> pd.DataFrame:
        """Return how safely each counterfactual keeps the outcome.

        Parameters
        ----------
        models : iterable of models, optional
            Other models to ask, such as refits on bootstrap samples of the data: anything that
            `Explainer` takes.
        neighbours : int, optional
            How many neighbours of each the model is asked about; 32 if it is at hand. A neighbour
            is up to a twentieth of its range off in each number, and in one of twenty levels; what
            is `fixed` stays.
        seed : int, default=0
            Same seed, same neighbours.

        Returns
        -------
        DataFrame
            One row per counterfactual: `counterfactual`, its position from 1; `margin`, how far
            inside the target its prediction is (below 0 outside); `neighbours` and `models`, the
            shares of them that reach the target. A result loaded from a file has no model: then
            there is no column `neighbours`, and ``attrs["note"]`` says so.

        Raises
        ------
        InvalidInput
            If neighbours are asked for without a model, or a model lacks the wanted class.
        """
        return safety_frame(cast("Counterfactuals", self), models, neighbours, seed)

    def filter(
        self, conditions: str | Iterable[str] = (), *, keep: Iterable[Hashable] = ()
    ) -> Counterfactuals:
        """Return the counterfactuals that satisfy conditions stated now.

        Parameters
        ----------
        conditions : str or iterable of str, default=()
            Rules as for `Explainer.explain`, such as "duration >= 24" or "age increases".
        keep : iterable of feature names, default=()
            Features that must have kept the row's values.

        Raises
        ------
        InvalidInput, UnknownFeatureError
            If a text is no rule, or a feature is not of the data.

        Examples
        --------
        >>> import counterpoint as cp
        >>> data = pd.DataFrame({"age": [20, 30, 40, 50], "debt": [9, 5, 3, 1]})
        >>> explainer = cp.Explainer(lambda rows: rows["age"] / 50 - rows["debt"] / 20, data)
        >>> found = explainer.explain(data[:1], target=(0.5, None))
        >>> found.filter("age <= 40", keep=["debt"]).to_frame()["age"].max() <= 40
        np.True_
        """
        found = cast("Counterfactuals", self)
        return found.take(matching(found, conditions, keep))

    def prefer(self, *, seed: int = 0, lang: Lang = "en", reader: Reader = "customer") -> Interview:
        """Return a short interview: "A or B?" until the best for somebody's own trade-off is known.

        Parameters
        ----------
        seed : int, default=0
            Same seed and answers, same questions.
        lang : {"en", "de"}, default="en"
            The language of the questions.
        reader : {"customer", "analyst"}, default="customer"
            A customer is not asked about counterfactuals that change protected features.

        Returns
        -------
        Interview
            Print it, `answer` it, and look at `best`; docs/choosing.md says how it learns.

        Examples
        --------
        >>> import counterpoint as cp
        >>> data = pd.DataFrame({"age": [20, 30, 40, 50], "debt": [9, 5, 3, 1]})
        >>> explainer = cp.Explainer(lambda rows: rows["age"] / 50 - rows["debt"] / 20, data)
        >>> interview = explainer.explain(data[:1], target=(0.5, None)).prefer()
        >>> before = interview.position
        >>> len(interview.answer("A").undo().answers), interview.position == before
        (0, True)
        """
        return Interview(cast("Counterfactuals", self), seed, lang, reader)
