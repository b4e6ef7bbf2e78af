"""Shown: what people look at of a result: in a terminal, a notebook, texts, pages and figures."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING, Self

import numpy as np
import pandas as pd

from counterpoint.arrays import MISSING
from counterpoint.checks import check_whole
from counterpoint.errors import printable
from counterpoint.result.data import ResultData
from counterpoint.result.ways import ways_of
from counterpoint.result.words import (
    Lang,
    Reader,
    count_candidates,
    counted,
    sentences,
    started,
)
from counterpoint.result.words.grammars import ENGLISH
from counterpoint.result.words.sentences import (
    measures_of,
    protected_headline,
    said,
    shown_first,
    way_sentence,
)
from counterpoint.table.files import write_csv, write_whole
from counterpoint.table.labels import Labels, labels_of
from counterpoint.table.schema import Encoding
from counterpoint.table.values import write_number, write_numbers

if TYPE_CHECKING:
    from counterpoint.result.figures.plots import Plots


FEW = 5
MOST_CELLS = 12  # of the row, in a line
OPEN, CLOSE = "\ue000", "\ue001"  # of private use: they survive escaping and become tags
STYLE = "border-collapse:collapse;font-variant-numeric:tabular-nums;text-align:right;margin:.5em 0"


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Shown(ResultData):
    """The data of a result, with the methods that show it to people."""

    @property
    def message(self) -> str:
        """One sentence on what was found, or on why nothing was."""
        return printable(sentences.message(self))

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
        known = labels_of(self.encoding.schema.features, labels)
        known.check_classes(self.facts.classes)
        schema = replace(self.encoding.schema, labels=known)
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
        return printable("\n".join(sentences.tell(self, lang, n).lines))

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
        return printable(summary(self, n, width))

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
        from counterpoint.result.report.page import write_letter

        write_letter(self, path, lang, sender, closing, appendix=appendix)

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
        from counterpoint.result.report.page import customer_page, write_report

        sentences.grammar_of(lang, reader)
        if reader == "customer":
            write_whole(path, customer_page(self, lang).encode("utf-8"))
        else:
            write_report(self, path, figures=figures, lang=lang)

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        """Return what notebooks show."""
        return printable(notebook(self))


def summary(found: ResultData, n: int = FEW, width: int | None = None) -> str:
    """Return the message, the row, sentences on a few ways, else near misses, and a table.

    Lines are broken between words at `width`, which is the terminal's if there is one; a table that
    is wider becomes blocks.
    """
    check_whole("summary: n", n, 0)
    check_whole("summary: width", 1 if width is None else width, 1)
    if width is None and sys.stdout.isatty():
        width = shutil.get_terminal_size().columns
    lines, few = headlines(found), shown_first(found, n)
    table = ""
    if n_shown := len(few.genomes):
        places = len(str(n_shown))
        lines += ["", f"The row: {row_line(found)}.", ""]
        texts = told(found, few, ("*", "*"))
        lines += [f"{k:>{places}}. {text}" for k, text in enumerate(texts, 1)]
        table = str(changes_frame(few).to_string())
        is_wide = width is not None and max(map(len, table.splitlines())) > width
        lines += ["", *(blocks(few) if is_wide else [table]), *more_lines(found, n_shown)]
    return "\n".join(line if line == table else wrapped(line, width) for line in lines)


def wrapped(line: str, width: int | None) -> str:
    """Return a line broken between words; what follows is indented as its text is."""
    if width is None or len(line) <= width:
        return line
    text = line.lstrip()
    indent = " " * (len(line) - len(text) + (3 if text[:1].isdigit() and ". " in text[:5] else 0))
    lines = textwrap.TextWrapper(
        max(width, 20), subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
    return lines.fill(line)


def blocks(few: ResultData) -> list[str]:
    """Return what each candidate changes, before and after, on lines of their own."""
    features, labels, row = few.encoding.schema.features, few.labels, few.genome
    lines = []
    for k, genome in enumerate(few.genomes):
        before, after = write_numbers(few.row_prediction, float(few.predictions[k]))
        measures = ", ".join(measures_of(few, k, ENGLISH))
        lines.append(f"{k + 1}. prediction {before} \N{RIGHTWARDS ARROW} {after}; {measures}")
        for j in np.flatnonzero(genome != row):
            new, old = labels.pair(features[j], float(genome[j]), float(row[j]))
            name = labels.title(features[j])
            lines.append(f"   {name}: {old} \N{RIGHTWARDS ARROW} {new}")
    return lines


def told(found: ResultData, few: ResultData, marks: tuple[str, str]) -> list[str]:
    """Return a sentence on each of the ways that are shown, or on each near miss."""
    if found.reaches.any():
        ways = ways_of(found).first_read()[: len(few.genomes)]
        return [way_sentence(way, marks) for way in ways]
    return [said(few, k, ENGLISH, marks) for k in range(len(few.genomes))]


def count_long(found: ResultData) -> str:
    """Return how many ways are not told because of their many changes; nothing if none is."""
    n = len(ways_of(found).safe_first()) - len(ways_of(found).first_read())
    return counted(n, "long way") if n else ""


def more_lines(found: ResultData, n_shown: int) -> list[str]:
    """Say what is not shown, and where it is."""
    n, n_missed = len(found), int((~found.reaches).sum())
    n_ways = len(ways_of(found).safe_first())
    lines = [f"{counted(n_ways - n_shown, 'more way')} in ways()."] if n_ways > n_shown else []
    if n > n_shown:
        lines.append(f"{counted(n, 'counterfactual')} in to_frame().")
    if hidden := n_missed if n else n_missed - n_shown:
        lines.append(f"{count_candidates(0, hidden)} in to_frame(near_misses=True).")
    return lines


def headlines(found: ResultData) -> list[str]:
    """Return what was found, under which rules, and what else is to be known."""
    text = sentences.message(found)
    lines = [started(text)]
    if headline := protected_headline(found):
        lines.append(headline)
    if found.constraints:
        lines.append(f"Rules: {'; '.join(found.constraints)}.")
    lines += [f"Note: {note}" for note in found.notes]
    if aims := str(found.facts.aims):
        lines.append(f"Minimised: {aims}.")
    return lines


def row_line(found: ResultData) -> str:
    """Return the row's values in a line, with their names and units."""
    features, labels = found.encoding.schema.features, found.labels
    cells = [
        f"{labels.feature(f.name)} {labels.value(f, gene)} "
        f"{labels.unit(f, 'en', gene) * (gene != MISSING)}".rstrip()
        for f, gene in zip(features[:MOST_CELLS], found.genome.tolist(), strict=False)
    ]
    more = len(features) - MOST_CELLS
    return ", ".join(cells) + (f" and {counted(more, 'more feature')}" if more > 0 else "")


def changes_frame(found: ResultData) -> pd.DataFrame:
    """Return texts: the row first, then only the changed cells of the candidates, from 1.

    Units stand with the names.
    """
    genomes, row, is_changed = found.genomes, found.genome, found.changed
    features, labels = found.encoding.schema.features, found.labels
    titles, columns = [], []
    for j in np.flatnonzero(is_changed.any(axis=0)):
        titles.append(labels.title(features[j]))
        cells = [
            labels.pair(features[j], gene, row[j])[0] if changed else ""
            for gene, changed in zip(genomes[:, j], is_changed[:, j], strict=True)
        ]
        columns.append([labels.value(features[j], row[j]), *cells])
    titles.append("prediction")
    columns.append([write_number(value) for value in (found.row_prediction, *found.predictions)])
    for m, name in enumerate(found.objective_names[1:], 1):
        titles.append(name)
        columns.append(["", *(write_number(value) for value in found.objectives[:, m])])
    cells_by_row = list(zip(*columns, strict=True))
    index = ["row", *range(1, len(genomes) + 1)]
    return pd.DataFrame(cells_by_row, index=index, columns=titles, dtype=object)


def notebook(found: ResultData) -> str:
    """Return what `summary` says as HTML, every text of it escaped, without scripts."""
    parts = [f"<p>{escape(line)}</p>" for line in headlines(found)]
    few = shown_first(found, FEW)
    if n_shown := len(few.genomes):
        parts.append(f"<p>The row: {escape(row_line(found))}.</p>")
        texts = "".join(f"<li>{escape(text)}</li>" for text in told(found, few, (OPEN, CLOSE)))
        parts.append(f"<ol>{texts.replace(OPEN, '<em>').replace(CLOSE, '</em>')}</ol>")
        parts.append(_as_table(changes_frame(few)))
        parts += [f"<p>{escape(line)}</p>" for line in more_lines(found, n_shown)]
    return f'<div class="counterpoint">{"".join(parts)}</div>'


def _as_table(frame: pd.DataFrame) -> str:
    """Return texts as a table; the first row is the explained one."""
    head = "".join(f"<th scope='col'>{escape(str(name))}</th>" for name in frame.columns)
    rows = [
        f"<tr><th scope='row'>{escape(str(label))}</th>"
        + "".join(f"<td style='padding:.1em .6em'>{escape(str(cell))}</td>" for cell in cells)
        + "</tr>"
        for label, cells in zip(frame.index, frame.to_numpy(), strict=True)
    ]
    return (
        f"<table style='{STYLE}'><thead><tr><th></th>{head}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table>"
    )
