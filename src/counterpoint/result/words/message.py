"""Message: what was found, or why nothing was, in one sentence; and a result printed as a table."""

from __future__ import annotations

from collections.abc import Hashable
from html import escape

import numpy as np
import pandas as pd

from counterpoint.arrays import MISSING
from counterpoint.problem.objectives import GAP
from counterpoint.result.choosing.orders import best_of
from counterpoint.result.choosing.subset import greatest_contribution
from counterpoint.result.data import ResultData
from counterpoint.result.words.language import count_candidates
from counterpoint.result.words.sentences import grammar_of, said, spoken
from counterpoint.table.features import Feature
from counterpoint.table.values import counted, write_number, write_pair

EARLY = {
    "seconds": "; the time ran out, so this is the best so far",
    "interrupt": "; the search was interrupted, so this is the best so far",
}


def message(found: ResultData) -> str:
    """Return one sentence: how many were found, or how close the search came."""
    target, now = found.target, write_number(found.row_prediction)
    if found.status == "already_met":
        return f"the row already reaches {target}: its prediction is {now}."
    asked = counted(found.evaluations, "model evaluation")
    early = EARLY.get(found.stopped, "")
    n, n_missed = int(found.reaches.sum()), int((~found.reaches).sum())
    if n:
        fewest = int(found.changed[found.reaches].sum(axis=1).min())
        missed = f"; {count_candidates(0, n_missed)}" if n_missed else ""
        return (
            f"{counted(n, 'counterfactual')} {'reaches' if n == 1 else 'reach'} {target} "
            f"(now {now}) with {fewest} or more changes{missed}; {asked}{early}."
        )
    if n_missed == 0:
        return f"no counterfactual for {target} (now {now}); {asked}{early}; {observed_hint(found)}"
    best = int(np.argmin(found.objectives[:, GAP]))
    gap = write_number(found.objectives[best, GAP])
    return (
        f"no counterfactual reaches {target} (now {now}): the closest of "
        f"{count_candidates(0, n_missed)} is at {write_number(found.predictions[best])}, a gap of "
        f"{gap}; {asked}{early}; {observed_hint(found)}"
    )


def observed_hint(found: ResultData) -> str:
    """Say whether any observed row has the wanted prediction, and what to try."""
    known = found.diagnosis
    if known is None:
        return ""
    if known.nearest is not None:
        return (
            f"no observed row reaches it either (the nearest is at {write_number(known.nearest)}): "
            "ask for a target the model does give."
        )
    does = "does" if known.n_reaching == 1 else "do"
    reach = f"{counted(known.n_reaching, 'observed row')} {does} reach it"
    if known.limits_bind:
        what = "limits and rules" if found.constraints else "limits"
        return f"{reach}, but within the {what} none does: {known.relaxation}."
    return f"{reach}: give the search more evaluations."


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


def summary(found: ResultData, n: int = SHOWN) -> str:
    """Return the message, the row, sentences on a few counterfactuals and a table of changes.

    Where nothing reaches the target, a few near misses are shown instead.
    """
    lines = headlines(found)
    few = telling_most(found, n)
    if not few:
        return "\n".join(lines)
    width = len(str(max(few) + 1))
    grammar = grammar_of("en")
    lines += ["", f"The row: {row_line(found)}.", ""]
    lines += [f"{i + 1:>{width}}. {said(found, i, grammar, 'analyst', ('*', '*'))}" for i in few]
    lines += ["", str(changes_frame(found, few).to_string()), *more_lines(found, few)]
    return "\n".join(lines)


def telling_most(found: ResultData, n: int) -> list[int]:
    """Return the positions of the n counterfactuals, else near misses, of most hypervolume."""
    pool = np.flatnonzero(best_of(found))
    chosen = greatest_contribution(found.objectives[pool], n, found.facts.worst)
    return [int(i) for i in pool[chosen]]


def more_lines(found: ResultData, few: list[int]) -> list[str]:
    """Say what is not shown, and where it is."""
    n, n_missed = int(found.reaches.sum()), int((~found.reaches).sum())
    lines = [f"{n - len(few):,} more in to_frame()."] if n > len(few) else []
    hidden = n_missed if n else n_missed - len(few)
    if hidden:
        lines.append(f"{count_candidates(0, hidden)} in to_frame(near_misses=True).")
    return lines


def headlines(found: ResultData) -> list[str]:
    """Return what was found, under which rules, and what else is to be known."""
    text = message(found)
    lines = [text[0].upper() + text[1:]]
    if found.constraints:
        lines.append(f"Rules: {'; '.join(found.constraints)}.")
    lines += [f"Note: {note}" for note in found.notes]
    if aims := str(found.facts.aims):
        lines.append(f"Minimised: {aims}.")
    return lines


def row_line(found: ResultData) -> str:
    """Return the row's values in a line, with their names and units."""
    features = found.encoding.schema.features
    cells = [
        f"{spoken(f.name)} {f.shown(gene)} {f.unit * (gene != MISSING)}".rstrip()
        for f, gene in zip(features[:MOST_CELLS], found.genome.tolist(), strict=False)
    ]
    more = len(features) - MOST_CELLS
    return ", ".join(cells) + (f" and {more} more features" if more > 0 else "")


def changes_frame(found: ResultData, positions: list[int]) -> pd.DataFrame:
    """Return texts: the row first, then only the changed cells of some counterfactuals.

    They are numbered as in the whole result, from 1. Units stand with the names.
    """
    genomes, row = found.genomes[positions], found.genome
    is_changed = found.changed[positions]
    features = found.encoding.schema.features
    texts: dict[object, list[str]] = {}
    for j in np.flatnonzero(is_changed.any(axis=0)):
        cells = [
            write_pair(features[j], gene, row[j])[0] if changed else ""
            for gene, changed in zip(genomes[:, j], is_changed[:, j], strict=True)
        ]
        texts[title_of(features[j])] = [features[j].shown(row[j]), *cells]
    predictions = [found.row_prediction, *found.predictions[positions]]
    texts["prediction"] = [write_number(value) for value in predictions]
    for m, name in enumerate(found.objective_names[1:], 1):
        texts[name] = ["", *(write_number(value) for value in found.objectives[positions, m])]
    return pd.DataFrame(texts, index=["row", *(i + 1 for i in positions)])


def title_of(feature: Feature) -> Hashable:
    """Return a feature's name with its unit."""
    return f"{feature.name} ({feature.unit})" if feature.unit else feature.name


def notebook(found: ResultData, n: int = SHOWN) -> str:
    """Return what `summary` says as HTML, every text of it escaped, without scripts."""
    parts = [f"<p>{escape(line)}</p>" for line in headlines(found)]
    if few := telling_most(found, n):
        parts.append(f"<p>The row: {escape(row_line(found))}.</p>")
        parts.append(_as_list(found, few))
        parts.append(_as_table(changes_frame(found, few)))
        parts += [f"<p>{escape(line)}</p>" for line in more_lines(found, few)]
    return f'<div class="counterpoint">{"".join(parts)}</div>'


def _as_list(found: ResultData, positions: list[int]) -> str:
    """Return sentences as a list, the names of features emphasised."""
    grammar, items = grammar_of("en"), []
    for i in positions:
        text = escape(said(found, i, grammar, "analyst", (OPEN, CLOSE)))
        text = text.replace(OPEN, "<em>").replace(CLOSE, "</em>")
        items.append(f'<li value="{i + 1}">{text}</li>')
    return f"<ol>{''.join(items)}</ol>"


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
