"""Showing results: tables for people, drawn by rich, JSON for machines, pages and files."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pandas as pd

from counterpoint.checks import require_package
from counterpoint.errors import InvalidInput
from counterpoint.result.counterfactuals import Counterfactuals
from counterpoint.result.file.saving import save_many
from counterpoint.result.shown import blocks, changes_frame, count_long, headlines, told, wrapped
from counterpoint.result.ways import ways_of
from counterpoint.result.words import Lang, Reader, count_candidates, counted
from counterpoint.result.words.sentences import shown_first
from counterpoint.table.frames import as_frame
from counterpoint.table.schema import Schema

WIDE = 10_000  # columns of an output that is no terminal: nothing is cut


def rich_console() -> Any:
    """Return where tables are drawn to."""
    library = require_package("rich.console", "a table on the screen", '"counterpoint[cli]"')
    width = None if sys.stdout.isatty() else WIDE
    console = library.Console(width=width, markup=False, highlight=False, emoji=False)
    console.on_broken_pipe = _stop_writing  # its own would end the process with a status of ours
    return console


def _stop_writing() -> NoReturn:
    """Raise what Python raises when whoever read the output has gone."""
    raise BrokenPipeError


def plain(value: object) -> str:
    r"""Return a text without characters that would move the cursor or colour the screen.

    Examples
    --------
    >>> plain("cleared" + chr(27) + "[2J")
    'cleared\\x1b[2J'
    """
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in str(value))


def check_output(options: argparse.Namespace) -> None:
    """Refuse what could not be saved or shown before anything is searched."""
    if options.show < 0:
        raise InvalidInput(f"--show must be at least 0, got {options.show}.")
    if not options.json and options.lang is None:
        require_package("rich", "a table on the screen", '"counterpoint[cli]" (or use --json)')
    is_one = options.row is not None and len(options.row) == 1
    check_pages(options, is_one=is_one)
    if options.out is not None:
        check_place("--out", options.out, (".json", ".parquet"))
        if options.out.suffix.lower() == ".json" and not is_one:
            raise InvalidInput("--out must end in .parquet where several rows are explained.")


def check_pages(options: argparse.Namespace, *, is_one: bool) -> None:
    """Refuse pages and tables that could not be written."""
    if options.report is not None and options.reader != "customer":
        require_package("altair", "--report", '"counterpoint[figures]"')
    for flag, ending in (("--report", ".html"), ("--letter", ".html"), ("--csv", ".csv")):
        file = getattr(options, flag[2:])
        if file is not None and not is_one:
            raise InvalidInput(f"{flag} is of one row; name it by --row, once.")
        if file is not None:
            check_place(flag, file, (ending,))
    if (options.sender or options.closing) and options.letter is None:
        raise InvalidInput("--sender and --closing are texts of a letter; name it by --letter.")


def check_place(flag: str, file: Path, endings: tuple[str, ...]) -> None:
    """Refuse a file of another ending than these, or in no folder."""
    if file.suffix.lower() not in endings:
        raise InvalidInput(f"{flag} must end in {' or '.join(endings)}, got {str(file)!r}.")
    if not file.absolute().parent.is_dir():
        raise InvalidInput(f"{flag} {str(file)!r} is in no folder there is; make it first.")


def save(results: list[Counterfactuals], options: argparse.Namespace) -> None:
    """Save the results as the file's ending says."""
    if options.out.suffix.lower() == ".json":
        results[0].save(options.out)
    else:
        save_many(results, options.out)


def output(results: list[Counterfactuals], options: argparse.Namespace) -> None:
    """Write the pages and tables that are asked for, and show the results."""
    lang: Lang = options.lang or "en"
    for found in results[:1]:
        if options.report is not None:
            found.report(options.report, reader=options.reader or "analyst", lang=lang)
        if options.letter is not None:
            found.letter(options.letter, lang=lang, sender=options.sender, closing=options.closing)
        if options.csv is not None:
            found.to_csv(options.csv)
    if options.json:
        told = [as_json(found, options.show) for found in results]
        sys.stdout.write(json.dumps(told, indent=1) + "\n")
    elif options.lang is not None or options.reader is not None:
        tell_results(results, lang, options.reader or "customer", max(1, options.show))
    else:
        show_results(results, options.show)


def show_results(results: Sequence[Counterfactuals], n: int) -> None:
    """Draw each result: a sentence, what holds, and a table of a few counterfactuals."""
    console = rich_console()
    for i, found in enumerate(results):
        if i:
            console.print()
        if len(results) > 1:
            index = as_frame(found.row, "row").index[0]
            console.print(f"Row {plain(index)}", style="bold")
        for line in headlines(found):
            style = "dim" if line.startswith("Note: ") else None
            print_line(console, line, style)
        few = shown_first(found, max(n, 1))
        if n > 0 and len(few.genomes):
            console.print()
            for k, text in enumerate(told(found, few, ("", "")), 1):
                print_line(console, f"{k}. {text}")
            show_changes(console, few)
            for line in more_flags(found, len(few.genomes)):
                print_line(console, line)


def more_flags(found: Counterfactuals, n_shown: int) -> list[str]:
    """Say what is not shown, and by which flags it is."""
    lines = []
    n_ways = len(ways_of(found).first_read())
    if n_ways > n_shown:
        lines.append(f"{counted(n_ways - n_shown, 'more way')}: --show {n_ways}")
    if long := count_long(found):
        lines.append(f"{long}: --report FILE")
    if (n := len(found)) > n_shown:
        lines.append(f"{counted(n, 'counterfactual')}: --csv FILE, or --report FILE")
    if n_missed := int((~found.reaches).sum()):
        lines.append(f"{count_candidates(0, n_missed)}: --report FILE")
    return lines


def print_line(console: Any, line: str, style: str | None = None) -> None:
    """Print a line, broken between words where it is too long."""
    width = console.width if console.width < WIDE else None
    for part in wrapped(plain(line), width).split("\n"):
        console.print(part, style=style, soft_wrap=True)


def show_changes(console: Any, few: Counterfactuals) -> None:
    """Draw what changes as a table, or as blocks where a table would break words."""
    table, free = changes_table(few), console.options.update(max_width=WIDE)
    if console.measure(table, options=free).maximum <= console.width:
        console.print(table)
        return
    console.print()
    for line in blocks(few):
        print_line(console, line)


def tell_results(
    results: Sequence[Counterfactuals], lang: Lang, reader: Reader = "customer", n: int = 4
) -> None:
    """Print each result in sentences, of at most n ways, broken between words in a terminal."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    text = "\n\n".join(found.explain_text(lang, reader, n) for found in results)
    lines = [wrapped(plain(line), width) for line in text.split("\n")]
    sys.stdout.write("\n".join(lines) + "\n")


def changes_table(found: Counterfactuals) -> Any:
    """Return a table: the row first, then only what the candidates change."""
    table, frame = new_table(), changes_frame(found)
    n_measures = len(found.objective_names)  # the prediction stands for the gap
    schema = found.encoding.schema
    numbers = {schema.labels.title(each) for each in schema.features if each.is_numeric}
    table.add_column("", justify="right", style="dim")
    for k, title in enumerate(frame.columns):
        is_measure = k >= len(frame.columns) - n_measures
        justify: Any = "right" if is_measure or title in numbers else "left"
        style = "cyan" if is_measure else None
        table.add_column(plain(title), justify=justify, style=style, overflow="fold")
    for label, cells in zip(frame.index, frame.to_numpy(), strict=True):
        style = "bold" if label == "row" else None
        table.add_row(str(label), *map(plain, cells), style=style)
    return table


def show_schema(schema: Schema) -> None:
    """Draw what each column is taken for."""
    table = new_table()
    for title in ("column", "kind", "values"):
        table.add_column(title, overflow="fold")
    for feature in schema.features:
        table.add_row(plain(feature.name), str(feature.kind), plain(feature.values_text))
    rich_console().print(table)


def new_table() -> Any:
    """Return an empty table in the style of all."""
    tables = require_package("rich.table", "a table on the screen", '"counterpoint[cli]"')
    boxes = require_package("rich.box", "a table on the screen", '"counterpoint[cli]"')
    return tables.Table(box=boxes.SIMPLE_HEAD, pad_edge=False, header_style="bold")


def as_json(found: Counterfactuals, n: int) -> dict[str, Any]:
    """Return a result as plain values: what it says, the row, and at most n counterfactuals.

    Where nothing reaches the target, at most n near misses are there instead.
    """
    encoding, own = found.encoding, found.row
    if not isinstance(own, pd.DataFrame) or encoding.schema.has_groups:  # not given by feature
        own = encoding.by_feature(found.genome[None].copy())
    row: dict[Any, Any] = dict(zip(own.columns, own.astype(object).iloc[0], strict=True))
    few = found.select(n) if n > 0 else found.take([])
    few = few.valid() if found else few
    candidates = candidates_json(few)
    return {
        "status": found.status,
        "message": found.message,
        "target": str(found.target),
        "index": plain_value(as_frame(found.row, "row").index[0]),
        "row": {str(name): plain_value(row[name]) for name in encoding.schema.names},
        "row_prediction": plain_value(found.row_prediction),
        "constraints": list(found.constraints),
        "notes": list(found.notes),
        "n_found": len(found),
        "n_near_misses": len(found.genomes) - len(found),
        "counterfactuals": candidates if found else [],
        "near_misses": [] if found else candidates,
    }


def candidates_json(few: Counterfactuals) -> list[dict[str, Any]]:
    """Return what each candidate changes, whether it is valid, its prediction and objectives."""
    encoding = few.encoding
    cells = encoding.by_feature(few.genomes.copy()).astype(object)
    records: list[dict[Any, Any]] = cells.to_dict("records")
    measured = few.to_pandas(near_misses=True).iloc[:, len(encoding.columns) :].astype(object)
    return [
        {
            "changed": {
                str(name): plain_value(record[name])
                for name, is_changed in zip(encoding.schema.names, changed, strict=True)
                if is_changed
            },
            **{str(name): plain_value(value) for name, value in measures.items()},
        }
        for record, measures, changed in zip(
            records, measured.to_dict("records"), few.changed, strict=True
        )
    ]


def plain_value(value: Any) -> Any:
    """Return a value as JSON holds it; what JSON does not know becomes text."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return None
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return None if value is pd.NA else str(value)
