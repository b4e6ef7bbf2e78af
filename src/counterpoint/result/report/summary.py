"""The summary: a result as plain values for the report's page, with texts as they are shown.

It includes the numbers, of sixteen bits, that the page's interview computes with, and what was
asked of which model and data, so that a result can be checked later.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Container
from typing import Any

import numpy as np

from counterpoint.arrays import MISSING, Floats
from counterpoint.problem.objectives import DISTANCE
from counterpoint.result.choosing import interview as preference
from counterpoint.result.choosing.orders import (
    NEIGHBOURS,
    attributes_of,
    best_of,
    ordered,
    share_of_neighbours,
    with_ways,
)
from counterpoint.result.data import ResultData
from counterpoint.result.figures.axes import (
    DAY,
    Axis,
    ask,
    histogram,
    level_texts,
    names_of,
    shown_features,
    shown_value,
    varied,
)
from counterpoint.result.figures.frames import CURVE_POINTS
from counterpoint.result.ways import Way, name_of, steps_of, ways_of
from counterpoint.result.words import Lang, say, spoken_now, texts_of, translated
from counterpoint.result.words.sentences import (
    changes_protected,
    message,
    protected_headline,
    target_text,
    way_sentence,
)
from counterpoint.table.features import Feature, Kind, write_pair
from counterpoint.table.labels import CELLS, SIGNS
from counterpoint.table.values import write_number

MOST_NUMBERS = 40_000  # of attributes and of particles each: 107 kB as they are written
SEED = 0


def write_questions(
    found: ResultData, shown: Container[int] | None = None
) -> dict[str, Any] | None:
    """Return the candidates of the interview with their attributes, and the particles.

    Only those are asked about whose numbers are `shown` (None for all): of more than a page should
    hold, the representatives of ways and the most balanced others. None is returned if there is
    nothing to choose between.
    """
    found, ways = with_ways(found)
    pool = best_of(found) & ~changes_protected(found)  # what is protected is no advice
    candidates = np.array(
        [i for i in np.flatnonzero(pool).tolist() if shown is None or i + 1 in shown],
        dtype=np.int64,
    )
    if len(candidates) < 2:
        return None
    attributes = attributes_of(found, candidates)
    width = attributes.shares.shape[1]
    if width == 0:
        return None
    order = [*ways.tolist(), *ordered(found, "knee").tolist()]
    places = {position: place for place, position in enumerate(candidates.tolist())}
    known = [places[position] for position in dict.fromkeys(order) if position in places]
    kept = np.array(sorted(known[: max(2, MOST_NUMBERS // width)]), dtype=np.int64)
    n_particles = max(1, min(preference.N_PARTICLES, MOST_NUMBERS // width))
    n_aims, n_features = len(attributes.aims), len(attributes.features)
    particles = preference.draw_particles(n_aims, n_features, n_particles, SEED)
    return {
        "numbers": (candidates[kept] + 1).tolist(),
        "width": width,
        "attributes": pack_shares(attributes.shares[kept]),
        "particles": pack_shares(particles),
        "ways": np.flatnonzero(np.isin(candidates[kept], ways)).tolist(),
        "aims": list(attributes.aims),
        "features": [found.encoding.schema.names.index(name) for name in attributes.features],
    }


def pack_shares(shares: Floats) -> str:
    """Return numbers from 0 to 1 in base64, sixteen bits each, row by row; NaN counts as 1.

    Examples
    --------
    >>> pack_shares(np.array([[0.0, 1.0]]))
    'AAD//w=='
    """
    steps = preference.in_steps(shares).astype("<u2")
    return base64.b64encode(steps.tobytes()).decode("ascii")


FORMAT = "counterpoint/report"
VERSION = 1
DIGITS = 6  # of an objective, which only ranks and draws
MOST_CARDS = 12
ELSEWHERE = ("ask.", "note.", "step.", "range.", "ended.", "said.")  # what the page never says
MOST_CHANGES = 4  # of what is on a card, where a way has so few


def write_summary(found: ResultData) -> dict[str, Any]:
    """Return what was found, but its figures, as what JSON can hold, in the language spoken.

    After the counterfactuals of the set come the representatives of ways that it lacks.
    """
    lang, names = spoken_now(), names_of(found)
    features = shown_features(found)
    row, (whole, _) = found.genome, with_ways(found)
    return {
        "format": FORMAT,
        "version": VERSION,
        "title": title_of(found),
        "lang": lang,
        "texts": {k: v for k, v in texts_of(lang).items() if not k.startswith(ELSEWHERE)},
        "message": message(found),
        "headline": protected_headline(found, lang),
        "status": found.status,
        "notes": [translated(note) for note in found.notes],
        "is_loaded": found.live is None,
        "target": _write_target(found),
        "row": {
            "prediction": found.row_prediction,
            "text": _number(found.row_prediction),
            "lands": _row_class(found),
        },
        "classes": _class_texts(found),
        "outputs": _outputs(found, row[None]),
        "edges": _write_edges(found),
        "features": [
            _write_feature(found, feature, gene, j)
            | {"name": names[j], "bars": _write_bars(whole, j)}
            for j, (feature, gene) in enumerate(zip(features, row, strict=True))
        ],
        "objectives": _write_objectives(found),
        "counterfactuals": _write_all(whole, len(found.genomes)),
        "representatives": _representatives(found, lang),
        "interview": write_questions(found),
    }


def _class_texts(found: ResultData) -> list[str]:
    labels, lang = found.labels, spoken_now()
    return [labels.class_(label, lang) for label in found.facts.classes]


def _row_class(found: ResultData) -> str | None:
    """Return what the class is called that the model decides for; None if it has no classes.

    Of a model whose own decision is not that for the likeliest class, it is known only of rows
    that have what is wanted, or if there are two.
    """
    classes = _class_texts(found)
    if not classes:
        return None
    likeliest, wanted = int(np.argmax(found.facts.row_outputs)), found.target.wanted
    if found.target.is_decision and len(classes) == 2 and len(wanted) == 1:
        is_met = found.status == "already_met"
        return classes[wanted[0] if is_met else 1 - wanted[0]]
    return classes[likeliest]


def _number(value: float) -> str:
    """Return a number as the language that is spoken writes it."""
    return write_number(value, SIGNS[spoken_now()])


def _outputs(found: ResultData, genomes: Floats) -> list[list[float]]:
    """Return the probabilities of all classes, if there are more than two and a model to ask."""
    if found.live is None or len(found.facts.classes) < 3 or len(genomes) == 0:
        return []
    outputs = found.problem.predictor.own.outputs(genomes)
    return [[_short(value) for value in row] for row in outputs]


def title_of(found: ResultData) -> str:
    """Return what the explained row is called: by its label in its table, if it has one."""
    index = getattr(found.row, "index", None)
    if index is None or len(index) != 1:
        return say("row")
    return say("row.named", label=index[0])


def _write_target(found: ResultData) -> dict[str, Any]:
    """Return the wanted outcome: its words, and its ends, null where it is open."""
    target = found.target
    return {
        "text": target_text(found),
        "low": None if target.is_lead else value_of(target.low),
        "high": None if target.is_lead else value_of(target.high),
        "is_probability": target.label is not None,
    }


def _write_feature(found: ResultData, feature: Feature, gene: float, j: int) -> dict[str, Any]:
    """Return a feature: what it can be, what the row has, and how often it is changed."""
    is_numeric, ends = feature.is_numeric, (feature.low, feature.high)
    return {
        "kind": str(feature.kind),
        "is_numeric": is_numeric,
        "is_ordered": is_numeric or feature.kind is Kind.ORDERED,
        "levels": level_texts(feature),
        "decimals": 0 if feature.kind is Kind.INTEGER else feature.decimals,
        "unit": feature.unit,
        "low": value_of(feature.low),
        "high": value_of(feature.high),
        "range": f" {say('to')} ".join(shown_value(feature, end) for end in ends)
        if is_numeric
        else ", ".join(level_texts(feature)),
        "row": value_of(gene),
        "text": shown_value(feature, gene),
        "is_protected": feature.is_protected,
        "is_fixed": bool(found.facts.limits.is_fixed[j]),
        "n_changed": int(found.changed[:, j].sum()),
    }


def _write_edges(found: ResultData) -> list[dict[str, Any]]:
    """Return how close the edge is to a row that has what is wanted: single values that lose it."""
    if found.status != "already_met" or found.live is None:
        return []
    edges = []
    for j, feature in enumerate(shown_features(found)):
        genes = Axis.of(found, j).grid(CURVE_POINTS)
        scores = ask(found, varied(found, {j: genes}))
        lost = np.flatnonzero(found.target.gaps(scores) > 0.0)
        if len(lost):
            steps = np.abs(genes[lost] - found.genome[j]) if feature.is_numeric else lost
            i = int(lost[np.argmin(steps)])
            edges.append(
                {
                    "place": j,
                    "text": shown_value(feature, genes[i]),
                    "prediction": _number(scores[i]),
                }
            )
    return edges


def _write_bars(found: ResultData, j: int) -> list[list[float]]:
    """Return what was observed of a feature that changes as bars: start, end, share of highest."""
    if found.live is None or not found.changed[:, j].any():
        return []
    axis = Axis.of(found, j)
    bars, day = histogram(found, axis), DAY if axis.is_date else 1.0
    highest = max(1, int(bars["count"].max()))
    return [
        [_short(start / day), _short(end / day), round(count / highest, 3)]
        for start, end, count in bars[["start", "end", "count"]].itertuples(index=False)
        if count > 0
    ]


def _write_objectives(found: ResultData) -> list[dict[str, Any]]:
    """Return the objectives: their names, and what they say in a reader's words."""
    texts = texts_of(spoken_now())
    return [
        {
            "name": name,
            "label": texts.get(f"objective.{name}", name),
            "short": texts.get(f"objective.{name}.short", name),
            "hint": texts.get(f"objective.{name}.hint", texts["objective.own"]),
        }
        for name in found.objective_names
    ]


def _write_all(found: ResultData, n_own: int) -> list[dict[str, Any]]:
    """Return all candidates: of each only its changes, as (feature, value, text)."""
    features, row, signs = shown_features(found), found.genome, CELLS[spoken_now()]
    is_protected, changed, reaches = changes_protected(found).tolist(), found.changed, found.reaches
    classes = _class_texts(found)
    texts: dict[tuple[int, float], str] = {}  # a value occurs often, and writing it takes time
    written = []
    for i, genome in enumerate(found.genomes):
        changes = []
        for j in np.flatnonzero(changed[i]).tolist():
            key = (j, float(genome[j]))
            if key not in texts:
                texts[key] = write_pair(features[j], genome[j], row[j], signs)[0]
            changes.append([j, value_of(genome[j]), texts[key]])
        written.append(
            {
                "number": i + 1,
                "changes": changes,
                "prediction": _short(found.predictions[i]),
                "text": _number(found.predictions[i]),
                "lands": classes[found.codes[i]] if classes else None,
                "is_valid": bool(reaches[i]),
                "objectives": [_short(value) for value in found.objectives[i]],
                "is_protected": is_protected[i],
                "is_way": i >= n_own,
            }
        )
    return written


def _representatives(found: ResultData, lang: Lang) -> list[dict[str, Any]]:
    """Return what is on cards, by number: one of each way, or else the nearest miss.

    What changes protected features is no advice. Ways of more than four changes are shown only if
    none has fewer.
    """
    if found.reaches.any():
        ways = [
            (way, int(i))
            for way, i in zip(ways_of(found).safe_first(), with_ways(found)[1], strict=True)
            if not changes_protected(way.representative)[0]
        ]
        short = [each for each in ways if len(each[0].features) <= MOST_CHANGES]
        return _write_ways(found, (short or ways)[:MOST_CARDS], lang)
    advised = np.flatnonzero(~changes_protected(found))
    if not len(advised):
        return []
    nearest = advised[ordered(found.take(advised), "closest")[0]]  # by what it lacks first
    return [{"name": "nearest to the target", "number": int(nearest) + 1}]


def _write_ways(
    found: ResultData, ways: list[tuple[Way[Any], int]], lang: Lang
) -> list[dict[str, Any]]:
    """Return the cards of ways: what works, how many variants, how safe and how far each is."""
    if not ways:
        return []
    shown = [way.representative for way, _ in ways]
    genomes = np.concatenate([each.genomes for each in shown])
    outputs, names = _outputs(found, genomes), names_of(found)
    safe: list[float | None] = [None] * len(ways)
    if found.live is not None:
        near = (share_of_neighbours(each, NEIGHBOURS, SEED)[0] for each in shown)
        safe = [round(float(share), 3) for share in near]
    return [
        {
            "name": name_of([names[j] for j in np.flatnonzero(way.representative.changed[0])]),
            "number": number + 1,
            "sentence": way_sentence(way, lang=lang),
            "is_larger": way.minimality == "has a smaller way",
            "n": way.n_valid,
            "effort": _short(way.representative.objectives[0, DISTANCE]),
            "safe": safe[w],
            "outputs": outputs[w] if outputs else None,
            "works": _write_works(way),
            "steps": _write_steps(found, way),
        }
        for w, (way, number) in enumerate(ways)
    ]


def _write_steps(found: ResultData, way: Way[Any]) -> list[dict[str, Any]]:
    """Return what the model says after each of several changes, one after another."""
    if found.live is None or len(way.features) < 2:
        return []
    steps = steps_of(found, way.representative.genomes[0])
    return [{"place": j, "text": _number(prediction)} for j, prediction in steps]


def _write_works(way: Way[Any]) -> list[dict[str, Any]]:
    """Return the values of each feature of a way that are seen to work, as spans.

    The row's own value does not work, so that no span of numbers reaches across it.
    """
    schema, features = way.representative.encoding.schema, shown_features(way.representative)
    works = []
    for name, seen in zip(way.features, way.genes, strict=True):
        j = schema.names.index(name)
        feature, genes = features[j], [float(gene) for gene in seen]
        spans = [[gene] for gene in genes]
        if feature.is_numeric:
            row = float(way.representative.genome[j])
            numbers = [g for g in genes if g != MISSING]
            sides = [g for g in numbers if g < row], [g for g in numbers if g >= row]
            spans = [[side[0], side[-1]] for side in sides if side]
            spans += [[MISSING, MISSING]] if MISSING in genes else []
        texts = [
            f" {say('to')} ".join(dict.fromkeys(shown_value(feature, gene) for gene in span))
            for span in spans
        ]
        drawn = [[value_of(gene) for gene in span] for span in spans]
        join = f" {say('and')} " if feature.is_numeric else ", "
        works.append({"place": j, "spans": drawn, "text": join.join(texts)})
    return works


def value_of(value: float) -> float | None:
    """Return a number as JSON has it; null for an open side, or for a missing value."""
    return float(value) if math.isfinite(value) and value != MISSING else None


def _short(value: float) -> float:
    """Return a number with as many digits as it takes to rank and draw it."""
    return float(f"{float(value):.{DIGITS}g}")
