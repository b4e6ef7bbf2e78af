"""Printed: what a result says of itself in one sentence, in a terminal and in a notebook."""

from __future__ import annotations

import re
import shutil
import sys
import textwrap
from html import escape

import numpy as np
import pandas as pd

from counterpoint.arrays import MISSING
from counterpoint.problem.objectives import GAP
from counterpoint.result.data import ResultData
from counterpoint.result.ways import ways_of
from counterpoint.result.words.grammars import ENGLISH
from counterpoint.result.words.language import (
    count_candidates,
    counted,
    joined,
    say,
    spoken_now,
    started,
    translated,
)
from counterpoint.result.words.sentences import (
    GRAMMARS,
    edge_texts,
    measures_of,
    protected_headline,
    said,
    shown_first,
    way_sentence,
    wish_of,
)
from counterpoint.search.exact.proof import Proof
from counterpoint.table.labels import SIGNS
from counterpoint.table.values import write_number, write_numbers

ENDED = ("seconds", "interrupt", "exhausted", "repeats")  # what is said of how a search ended


def message(found: ResultData) -> str:
    """Return one sentence: how many were found, or how close the search came.

    It is in the language that `speaking` sets.
    """
    signs = SIGNS[spoken_now()]
    said = {"target": target_text(found), "now": write_number(found.row_prediction, signs)}
    if found.status == "already_met":
        inside, margin = edge_texts(found, GRAMMARS[spoken_now()])
        moves = say("message.moves", margin=margin) if found.facts.margin else ""
        return say("message.met", **said, inside=inside, moves=moves)
    asked, none = _asked(found), "message.none proved" if found.is_proved_empty else "message.none"
    n, n_missed = int(found.reaches.sum()), int((~found.reaches).sum())
    if n:
        fewest = int(found.changed[found.reaches].sum(axis=1).min())
        more = {
            "count": counted(n, "counterfactual"),
            "reach": say("message.reach.one" if n == 1 else "message.reach.many"),
            "fewest": fewest,
            "changes": say("message.change.one" if fewest == 1 else "message.change.many"),
            "missed": f"; {count_candidates(0, n_missed)}" if n_missed else "",
        }
        return say("message.some", **said, **more, asked=asked)
    if (found.trace.objectives[:, GAP] == 0.0).any():
        return say("message.filtered", **said)
    if n_missed == 0:
        return f"{say(none, **said)}; {asked}; {observed_hint(found)}"
    best, gaps = int(np.argmin(found.objectives[:, GAP])), found.objectives[:, GAP]
    at, gap = (write_number(each[best], signs) for each in (found.predictions, gaps))
    near = say("message.nearest", misses=count_candidates(0, n_missed), at=at, gap=gap)
    return f"{say(none, **said)}: {near}; {asked}; {observed_hint(found)}"


def target_text(found: ResultData) -> str:
    """Return the target for analysts; in English without labels as it prints itself."""
    if (lang := spoken_now()) == "en" and not found.labels:
        return str(found.target)
    grammar = GRAMMARS[lang]
    return grammar.outcome(wish_of(found, grammar, "analyst"))


def _asked(found: ResultData) -> str:
    """Return what the search cost, how it ended, and what is proved."""
    asked = counted(found.evaluations, "evaluation")
    asked += say(f"message.{found.stopped}") if found.stopped in ENDED else ""
    return asked if found.proof is None else f"{asked}; {_proved(found, found.proof)}"


def _proved(found: ResultData, proof: Proof) -> str:
    """Return what `Proof.of_all` says, in the language that is spoken."""
    if spoken_now() == "en":
        return proof.of_all(*found.objectives[found.reaches, 1:3].T)
    if proof.nearest.status == "none":
        return say("proof.none")
    said, (nearest, fewest) = [], found.objectives[found.reaches, 1:3].min(axis=0, initial=np.inf)
    if proof.nearest.is_met_by(float(nearest)):
        said.append(say("proof.nearest"))
    elif proof.nearest.bound > 0.0 and np.isfinite(nearest):
        share = 100.0 * (float(nearest) / proof.nearest.bound - 1.0)
        said.append(say("proof.bound", share=write_number(share, SIGNS[spoken_now()], 3)))
    if proof.fewest.is_met_by(float(fewest)):
        said.append(say("proof.fewest"))
    return say("proof", said=say("proof.and").join(said)) if said else say("proof.nothing")


def observed_hint(found: ResultData) -> str:
    """Say whether any observed row has the wanted prediction, and what to try."""
    if (known := found.diagnosis) is None:
        return ""
    if known.nearest is not None:
        return say("message.no row", at=write_number(known.nearest, SIGNS[spoken_now()]))
    form = "one" if known.n_reaching == 1 else "many"
    rows = counted(known.n_reaching, "observed row")
    reach = say(f"message.rows reach.{form}", rows=rows)
    if known.limits_bind:
        what = say("message.limits and rules" if found.constraints else "message.limits")
        return say(
            f"message.excluded.{form}", reach=reach, what=what, relaxation=_steps(known.relaxation)
        )
    return f"{reach}." if found.stopped in ENDED else say("message.more", reach=reach)


def _steps(relaxation: str) -> str:
    """Return what would admit an observed row, in the language that is spoken."""
    begins = r'(?:, | and )(?=free |widen ranges|raise max_changed|drop ")'
    steps = re.split(begins, relaxation)
    return joined([translated(step, "step") for step in steps], say("and"))


def own_cells(found: ResultData) -> pd.DataFrame:
    """Return the row by feature: as it was given, if that was by feature."""
    encoding = found.encoding
    if isinstance(found.row, pd.DataFrame) and not encoding.schema.has_groups:
        return found.row
    return encoding.by_feature(found.genome[None].copy())


SHOWN = 5
MOST_CELLS = 12  # of the row, in a line
OPEN, CLOSE = "\ue000", "\ue001"  # of private use: they survive escaping and become tags
STYLE = "border-collapse:collapse;font-variant-numeric:tabular-nums;text-align:right;margin:.5em 0"


def summary(found: ResultData, n: int = SHOWN, width: int | None = None) -> str:
    """Return the message, the row, sentences on a few ways, else near misses, and a table.

    Lines are broken between words at `width`, which is the terminal's if there is one; a table that
    is wider becomes blocks.
    """
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
        ways = ways_of(found).safe_first()[: len(few.genomes)]
        return [way_sentence(way, marks) for way in ways]
    return [said(few, k, ENGLISH, "analyst", marks) for k in range(len(few.genomes))]


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
    text = message(found)
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


def notebook(found: ResultData, n: int = SHOWN) -> str:
    """Return what `summary` says as HTML, every text of it escaped, without scripts."""
    parts = [f"<p>{escape(line)}</p>" for line in headlines(found)]
    few = shown_first(found, n)
    if n_shown := len(few.genomes):
        parts.append(f"<p>The row: {escape(row_line(found))}.</p>")
        parts.append(_as_list(told(found, few, (OPEN, CLOSE))))
        parts.append(_as_table(changes_frame(few)))
        parts += [f"<p>{escape(line)}</p>" for line in more_lines(found, n_shown)]
    return f'<div class="counterpoint">{"".join(parts)}</div>'


def _as_list(texts: list[str]) -> str:
    """Return sentences as a list, the names of features emphasised."""
    items = [escape(text).replace(OPEN, "<em>").replace(CLOSE, "</em>") for text in texts]
    return f"<ol>{''.join(f'<li>{item}</li>' for item in items)}</ol>"


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
