"""Shown: what people look at of a result: texts, letters, pages, figures and tables."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from counterpoint.errors import printable
from counterpoint.result.data import ResultData
from counterpoint.result.words import letters, printed, sentences
from counterpoint.result.words.language import Lang, Reader
from counterpoint.table.encoding import Encoding
from counterpoint.table.files import write_csv, write_whole
from counterpoint.table.labels import Labels
from counterpoint.table.schema import relabelled

if TYPE_CHECKING:
    from counterpoint.result.figures.plots import Plots


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Shown(ResultData):
    """The data of a result, with the methods that show it to people."""

    @property
    def message(self) -> str:
        """One sentence on what was found, or on why nothing was."""
        return printable(printed.message(self))

    @property
    def plot(self) -> Plots:
        """Figures: `found.plot.parallel()` and others; they need the extra "figures"."""
        from counterpoint.result.figures.plots import Plots

        return Plots(self)

    def labelled(self, labels: Labels) -> Self:
        """Return the same result with other labels.

        Parameters
        ----------
        labels : Labels
            What people call features, levels, classes and the outcome.

        Raises
        ------
        InvalidInput
            If they name what the data or the model have not.

        Examples
        --------
        >>> import counterpoint as cp, pandas as pd
        >>> data = pd.DataFrame({"age": [20, 30, 40, 50]})
        >>> found = cp.Explainer(lambda rows: rows["age"] / 50, data).explain(data[:1], (0.5, None))
        >>> named = found.labelled(cp.Labels(features={"age": "years of age"}))
        >>> print(named.explain_text("en", "analyst", n=1).splitlines()[2])
        1. Prediction at least 0.5 (0.4 → 0.5) if years of age were 25 instead of 20. \
(distance 0.1667, 1 change, implausibility 0.1667)
        """
        schema = relabelled(self.encoding.schema, labels)
        labels.check_classes(self.facts.classes)
        return replace(self, encoding=Encoding(schema, self.encoding.form))

    def explain_text(self, lang: Lang = "en", reader: Reader = "customer", n: int = 3) -> str:
        """Return the result as a short text, the same for the same result.

        A customer is told what was decided and in which other cases it would have come out as
        wanted, without numbers of the method and without any promise; nothing is said of
        counterfactuals that change a protected feature (`Explainer(protected=...)`). An analyst
        reads predictions and objectives too, with the protected changes marked; the numbers are
        positions in the result, from 1.

        Parameters
        ----------
        lang : {"en", "de"}, default="en"
            The language. Features, classes and levels are called as `Labels` say.
        reader : {"customer", "analyst"}, default="customer"
            Who reads it.
        n : int, default=3
            How many ways at most; see `ways`.

        Returns
        -------
        str
            Plain text, a line per sentence or counterfactual.

        Examples
        --------
        >>> import counterpoint as cp, pandas as pd
        >>> data = pd.DataFrame({"months": [6, 12, 24, 48], "sex": ["f", "m", "f", "m"]})
        >>> explainer = cp.Explainer(lambda rows: 1 - rows["months"] / 60, data, protected=["sex"])
        >>> found = explainer.explain({"months": 48, "sex": "m"}, target=(0.5, 1.0))
        >>> print(found.explain_text(n=1))
        The predicted value was 0.2. The question was about a value between 0.5 and 1.
        1. With months of at most 30 instead of 48 and everything else unchanged, the predicted \
value would have been between 0.5 and 1.
        This describes how the details given were assessed. It is not an offer, and it does not \
say that making such a change would bring about the result.
        >>> print(found.explain_text("de", "analyst", n=1).splitlines()[2])
        1. Vorhersage zwischen 0,5 und 1 (0,2 → 0,5), wenn months 30 statt 48 wäre. \
(Abstand 0,2143, 1 Änderung, Ungewöhnlichkeit 0,2143)
        """
        sentences.grammar_of(lang, reader)
        if reader == "analyst":
            return printable(sentences.explain(self, lang, n))
        return printable("\n".join(letters.tell(self, lang, n).lines))

    def summary(self, n: int = 5, width: int | None = None) -> str:
        """Return what was found as text: the row, and n counterfactuals as sentences and a table.

        Counterfactuals are numbered by their positions in the result, from 1.

        Parameters
        ----------
        n : int, default=5
            How many at most.
        width : int, optional
            The most characters of a line; None takes the terminal's width, if there is one.
        """
        return printable(printed.summary(self, n, width))

    def to_csv(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        near_misses: bool = False,
        prefix: str | None = None,
    ) -> str | None:
        """Write what `to_frame` shows as comma-separated values, or return it as text.

        Parameters
        ----------
        path : str or path, optional
            The file; its folder must exist. A file of that name is replaced, in one step.
        near_misses : bool, default=False
            Whether to write the near misses too: the whole non-dominated set.
        prefix : str, optional
            As in `to_frame`.

        Raises
        ------
        CannotWrite, NoSuchFile
            If the disk is full, or the folder is not there or may not be written to.
        InvalidInput
            If a level is no text that UTF-8 can hold.

        Examples
        --------
        >>> import counterpoint as cp, pandas as pd
        >>> data = pd.DataFrame({"age": [20, 30, 40, 50]})
        >>> explainer = cp.Explainer(lambda rows: rows["age"] / 50, data)
        >>> text = explainer.explain(data[:1], target=(0.5, None)).to_csv()
        >>> print(text.splitlines()[0])
        age,valid,prediction,gap,distance,changes,implausibility
        """
        return write_csv(self.to_pandas(near_misses=near_misses, prefix=prefix), path)

    def letter(
        self,
        path: str | os.PathLike[str],
        *,
        lang: Lang = "en",
        sender: str = "",
        closing: str = "",
        appendix: bool = False,
    ) -> None:
        r"""Write a letter to a customer to a file of HTML: one page to print, A4 or US Letter.

        It says what was decided, up to four other cases in which the result would have been as
        wanted, and what that is not. Nothing in it is of other people or of the method.

        Parameters
        ----------
        path : str or path
            The file; its folder must exist. A file of that name is replaced, in one step.
        lang : {"en", "de"}, default="en"
            The language.
        sender : str, default=""
            Who writes, with address and contact; at most eight lines, 600 characters.
        closing : str, default=""
            What the law or the house wants said at the end; at most 1,500 characters.
        appendix : bool, default=False
            Whether to add the details that were assessed, on pages of their own.

        Raises
        ------
        CannotWrite, NoSuchFile, InvalidInput
            If the file cannot be written, or a text is too long for one page.

        Examples
        --------
        >>> import tempfile
        >>> import counterpoint as cp, pandas as pd
        >>> data = pd.DataFrame({"age": [20, 30, 40, 50]})
        >>> explainer = cp.Explainer(lambda rows: rows["age"] / 50, data)
        >>> found = explainer.explain(data[:1], target=(0.5, None))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     found.letter(f"{folder}/letter.html", sender="Our Bank\nservice@bank.example")
        ...     os.listdir(folder)
        ['letter.html']
        """
        letters.write_letter(self, path, lang, sender, closing, appendix=appendix)

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        reader: Reader = "analyst",
        lang: Lang = "en",
        figures: bool = True,
    ) -> None:
        """Write a page for people to a file of HTML: see the set, choose from it, print it.

        One file of less than 1.5 MB, which needs a browser and nothing else: it asks nothing of the
        network. A file of that name is replaced, in one step.

        Parameters
        ----------
        path : str or path
            The file; its folder must exist.
        reader : {"customer", "analyst"}, default="analyst"
            Who reads it. A customer's page says what `letter` says, with what differs in each case
            before and after; it has no figures.
        lang : {"en", "de"}, default="en"
            The language of a customer's page, and of the sentences of an analyst's.
        figures : bool, default=True
            Whether to draw figures; they need the extra "figures".

        Raises
        ------
        CannotWrite, NoSuchFile
            If the disk is full, or the folder is not there or may not be written to.
        MissingDependency
            If figures are asked for and what draws them is not installed.

        Examples
        --------
        >>> import tempfile
        >>> import counterpoint as cp, pandas as pd
        >>> data = pd.DataFrame({"age": [20, 30, 40, 50]})
        >>> explainer = cp.Explainer(lambda rows: rows["age"] / 50, data)
        >>> found = explainer.explain(data[:1], target=(0.5, None))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     found.report(f"{folder}/found.html", reader="customer")
        ...     os.listdir(folder)
        ['found.html']
        """
        from counterpoint.result.report.page import write_report

        sentences.grammar_of(lang, reader)
        if reader == "customer":
            write_whole(path, letters.customer_page(self, lang).encode("utf-8"))
        else:
            write_report(self, path, figures=figures, lang=lang)

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        """Return what notebooks show."""
        return printable(printed.notebook(self))
