"""Readable: the part of a result that is words, and a page of them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, cast

from counterpoint.result.words import message as display
from counterpoint.result.words import sentences as text
from counterpoint.result.words.language import Lang, Reader

if TYPE_CHECKING:
    from counterpoint.result.counterfactuals import Counterfactuals


class Readable:
    """What a result says of itself; a base of `Counterfactuals`, for which it is written."""

    def explain_text(self, lang: Lang = "en", reader: Reader = "customer", n: int = 3) -> str:
        """Return the result as a short text, the same for the same result.

        A customer is told what the model decides and in which other cases it would decide as
        wanted, without numbers of the method and without any promise. Counterfactuals that change a
        protected feature (`Explainer(protected=...)`) are left out, and how many. An analyst reads
        predictions and objectives too, with the protected changes marked; the numbers are positions
        in the result, from 1.

        Parameters
        ----------
        lang : {"en", "de"}, default="en"
            The language. Names of features, classes and levels stay as the data have them.
        reader : {"customer", "analyst"}, default="customer"
            Who reads it.
        n : int, default=3
            How many counterfactuals at most: the closest, the one with fewest changes, the most
            typical and the balanced one, then those that add most hypervolume.

        Returns
        -------
        str
            Plain text, a line per sentence or counterfactual.

        Examples
        --------
        >>> import pandas as pd
        >>> import counterpoint as cp
        >>> data = pd.DataFrame({"months": [6, 12, 24, 48], "sex": ["f", "m", "f", "m"]})
        >>> explainer = cp.Explainer(lambda rows: 1 - rows["months"] / 60, data, protected=["sex"])
        >>> found = explainer.explain({"months": 48, "sex": "m"}, target=(0.5, 1.0))
        >>> print(found.explain_text(n=1))
        With the details given, the model does not predict a value between 0.5 and 1.
        It would predict a value between 0.5 and 1 in this case:
        1. If months were 30 instead of 48.
        This describes how the model decides. It does not say that making such a change would \
bring about the outcome, or that a request would be granted.
        >>> print(found.explain_text("de", "analyst", n=1).splitlines()[2])
        1. Vorhersage zwischen 0,5 und 1 (0,2 → 0,5), wenn months 30 statt 48 wäre. \
(Abstand 0,2143, 1 Änderung, Unplausibilität 0,2143)
        """
        return text.explain(cast("Counterfactuals", self), lang, reader, n)

    def summary(self, n: int = 5) -> str:
        """Return what was found as text: the row, and n counterfactuals as sentences and a table.

        Counterfactuals are numbered by their positions in the result, from 1.
        """
        return display.summary(cast("Counterfactuals", self), n)

    def report(self, path: str | os.PathLike[str], *, figures: bool = True) -> None:
        """Write a page for people to a file of HTML: see the set, choose from it, print it.

        One file of less than 1.5 MB, which needs a browser and nothing else: it asks nothing of the
        network. A file of that name is replaced, in one step.

        Parameters
        ----------
        path : str or path
            The file; its folder must exist.
        figures : bool, default=True
            Whether to draw figures; they need the extra "figures".

        Raises
        ------
        CounterpointError, FileNotFoundError
            If the folder does not exist: an error that is both.
        MissingDependency
            If figures are asked for and what draws them is not installed.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> import counterpoint as cp
        >>> import pandas as pd
        >>> data = pd.DataFrame({"age": [20, 30, 40, 50]})
        >>> explainer = cp.Explainer(lambda rows: rows["age"] / 100, data)
        >>> found = explainer.explain({"age": 20}, target=(0.4, 1.0))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     found.report(f"{folder}/row.html", figures=False)
        ...     print(Path(f"{folder}/row.html").read_text().splitlines()[0])
        <!DOCTYPE html>
        """
        # The report is made of a result's parts, so it cannot be imported before they are there.
        from counterpoint.result.report.page import write_report

        write_report(cast("Counterfactuals", self), path, figures=figures)

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        """Return what notebooks show."""
        return display.notebook(cast("Counterfactuals", self))
