"""The page: a summary, its receipt, figures and our modules as one HTML file, written whole or not.

Nothing of the data becomes markup: it travels as JSON in a script that no browser executes, and the
modules show it as text. The policy in the page's head allows exactly the scripts and the style that
are in it, by their hashes, and no request to any server. The receipt says who was asked what, with
which settings, so that a result can be checked later.
"""

from __future__ import annotations

import datetime
import html
import json
import platform
import re
from collections.abc import Callable
from dataclasses import asdict, fields
from functools import cache, partial
from importlib.resources import files
from typing import Any

import numpy as np
import pandas as pd

from counterpoint.checks import require_package
from counterpoint.errors import InvalidInput
from counterpoint.problem.limits import Limits, range_text
from counterpoint.progress import new_bar
from counterpoint.result.choosing.orders import ordered
from counterpoint.result.data import ResultData
from counterpoint.result.figures.axes import chosen
from counterpoint.result.figures.plots import EXTRA, Plots, drawing_library, packed
from counterpoint.result.report.summary import write_questions, write_summary
from counterpoint.result.words import Lang, say, speaking, spoken_now, translated
from counterpoint.result.words.letters import policy_hash
from counterpoint.result.words.sentences import target_text
from counterpoint.table.files import Pathlike, write_whole
from counterpoint.table.labels import SIGNS
from counterpoint.table.values import EXACT, write_date, write_number
from counterpoint.version import __version__

WIDTH = 500  # of a drawing, in pixels: two stand side by side
MOST_PANELS, MOST_LINES = 6, 15  # of a figure, so that none is much taller than its neighbour


def draw_figures(
    found: ResultData, lang: Lang = "en", told: Callable[[], object] = bool
) -> dict[str, Any]:
    """Return the figures of a result as plain values, and the library that draws them as a text.

    A figure has its name, title, subtitle, specifications of Vega-Lite for light and dark pages,
    and the datasets both name. `told` is called after each.
    """
    require_package("altair", "a report with figures", EXTRA)
    library, dark = drawing_library(), _dark_colours()
    # Altair would check each part of our own charts against its schema at every step; tests do.
    checks = require_package("altair.utils.schemapi", "a report with figures", EXTRA)
    with speaking(lang), checks.debug_mode(False):
        drawn = []
        for name, chart in _charts(found).items():
            drawn.append(_draw(name, chart(), dark))
            told()
    return {"figures": drawn, "library": library}


def _charts(found: ResultData) -> dict[str, Callable[[], Any]]:
    """Return by name how to draw the figures of a result; of a loaded one without its model."""
    if len(found.genomes) == 0:
        return {}
    plot = Plots(found)
    charts: dict[str, Callable[[], Any]] = {
        "parallel": partial(plot.parallel, width=WIDTH),
        "objectives": partial(plot.objectives, width=WIDTH - 80),
        "strips": partial(plot.strips, most=MOST_PANELS, width=WIDTH - 60),
        "frequency": partial(plot.frequency, most=MOST_LINES, width=WIDTH - 180),
    }
    if found.live is not None:
        charts["ice"] = partial(plot.ice, width=WIDTH - 140)
        often, _ = chosen(found, None, 2, "report")
        if len(often) > 1:
            names = (found.encoding.schema.names[j] for j in often)
            charts["surface"] = partial(plot.surface, *names, width=WIDTH - 240)
    return charts


def _draw(name: str, chart: Any, dark: dict[str, str]) -> dict[str, Any]:
    """Return one figure: its title, two looks, and the data they share."""
    datasets, chart.datasets = chart.datasets, {}  # altair would copy each of their values
    spec = chart.to_dict(validate=False)
    for name_of_part in ("title", "datasets"):
        spec.pop(name_of_part, None)
    said = spec.pop("usermeta", {})
    return {
        "name": name,
        "title": said.get("title", name),
        "subtitle": said.get("subtitle", []),
        "light": spec,
        "dark": _recoloured(spec, dark),
        "datasets": datasets,
    }


def _dark_colours() -> dict[str, str]:
    """Return for each colour of a light figure that of a dark one."""
    theme = require_package(
        "counterpoint.result.figures.charts.theme", "a report with figures", EXTRA
    )
    light, dark = (asdict(theme.palette(is_dark)) for is_dark in (False, True))
    ramps = zip(light.pop("ramp"), dark.pop("ramp"), strict=True)
    return {light[name]: dark[name] for name in light} | dict(ramps)


def _recoloured(part: Any, colours: dict[str, str]) -> Any:
    if isinstance(part, list):
        return [_recoloured(each, colours) for each in part]
    if isinstance(part, dict):
        return {key: _recoloured(value, colours) for key, value in part.items()}
    return colours.get(part, part) if isinstance(part, str) else part


# In the order they need each other: a module imports from those before it only.
MODULES = (
    *("dom.js", "texts.js", "numbers.js", "report.js", "store.js", "limits.js"),
    *("ranking.js", "sorting.js"),
    *("interview.js", "bookmarks.js", "receipt.js", "theme.js", "scale.js", "figures.js"),
    *("strip.js", "groups.js", "map.js", "empty.js", "header.js", "cards.js", "weights_panel.js"),
    *("finder.js", "limits_panel.js", "interview_panel.js", "table.js", "results.js", "details.js"),
    *("figures_panel.js", "receipt_panel.js"),
    *("mount.js", "main.js"),
)
_IMPORT = re.compile(r"^import\s+\{[^}]*\}\s+from\s+\"\./[a-z_]+\.js\";\n", re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?function |const |class )", re.MULTILINE)


def build_page(summary: dict[str, Any], figures: dict[str, Any] | None = None) -> str:
    """Return the report as HTML, of what `summarise` and perhaps `draw_figures` return."""
    script, style, texts = joined_modules(), _read("style.css"), summary["texts"]
    library = "" if figures is None else figures["library"]
    drawings = {} if figures is None else {"figures": figures["figures"]}
    parts = {
        "policy": _policy([script, *([library] if library else [])], style),
        "lang": summary["lang"],
        "title": _as_text(texts["page"].format(title=summary["title"])),
        "skip": _as_text(texts["skip"]),
        "noscript": _as_text(texts["noscript"]),
        "style": style,
        "data": script_json(summary),
        "figures": packed(json.dumps(drawings)) if drawings else "",
        "library": packed(library) if library else "",
        "script": script,
    }
    template = _read("report.html")
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], template)


def script_json(value: Any) -> str:
    r"""Return a value as JSON that cannot end the script it stands in.

    Examples
    --------
    >>> print(script_json({"level": "</script><b>"}))
    {"level":"\u003c/script\u003e\u003cb\u003e"}
    """
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))  # all ASCII
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


@cache
def joined_modules() -> str:
    """Return our modules as one: without their imports of each other, which it makes needless.

    They share one scope then. A name that two of them have is a syntax error, which tests see.
    """
    texts = {name: _EXPORT.sub("", _IMPORT.sub("", _read(name))).strip() for name in MODULES}
    script = "\n".join(f"// {name}\n{text}\n" for name, text in texts.items())
    assert "</script" not in script.lower()
    assert "<!--" not in script
    return script


@cache
def _read(name: str) -> str:
    return files(__package__).joinpath("page", name).read_text(encoding="utf-8")


def _policy(scripts: list[str], style: str) -> str:
    """Return the content security policy: these scripts, this style, and nothing from elsewhere."""
    allowed = " ".join(policy_hash(script) for script in scripts)
    return (
        f"default-src 'none'; script-src {allowed}; style-src {policy_hash(style)}; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


def _as_text(text: str) -> str:
    """Return a text for HTML: markup escaped, what is not ASCII as references."""
    return html.escape(text).encode("ascii", "xmlcharrefreplace").decode("ascii")


def summarise(found: ResultData, now: datetime.datetime, lang: Lang = "en") -> dict[str, Any]:
    """Return all the page shows of a result, but its figures, as what JSON can hold."""
    with speaking(lang):
        receipt = write_receipt(found, now)
        texts = receipt_texts(found, receipt)
        return write_summary(found) | {"receipt": receipt, "receipt_texts": texts}


MOST_BYTES = 1_500_000  # what a mail takes, and a phone opens
NOTE = 1000  # bytes that are kept free for the note that not all is shown
LARGE = 2000  # candidates whose report takes long enough for a bar


def write_report(
    found: ResultData, path: Pathlike, *, figures: bool = True, lang: Lang = "en"
) -> None:
    """Write the report of a result to a file; see `Counterfactuals.report`."""
    if not isinstance(figures, bool):
        raise InvalidInput(f"report.figures must be True or False, got {figures!r}.")
    is_large = len(found.genomes) >= LARGE
    bar = new_bar(None if is_large else False, 2 + 6 * figures, "writing the report")
    told = bool if bar is None else bar.update
    try:
        drawings = draw_figures(found, lang, told) if figures else None
        page = report_page(found, datetime.datetime.now(datetime.UTC), drawings, lang=lang)
        told()
        write_whole(path, page.encode("utf-8"))
        told()
    finally:
        if bar is not None:
            bar.close()


def report_page(
    found: ResultData,
    now: datetime.datetime,
    figures: dict[str, Any] | None = None,
    most_bytes: int = MOST_BYTES,
    *,
    lang: Lang = "en",
) -> str:
    """Return the report as HTML of at most so many bytes.

    If not all counterfactuals fit, the representatives of ways and the most balanced others are
    shown, and a note says so.
    """
    summary = summarise(found, now, lang)
    page = build_page(summary, figures)
    if len(page.encode("utf-8")) <= most_bytes:
        return page
    bare = build_page(summary | {"counterfactuals": []}, figures)
    room = most_bytes - len(bare.encode("utf-8")) - NOTE
    with speaking(lang):
        while room >= 0:  # what the interview asks depends on what is shown, and takes room, too
            page = build_page(_cut(found, summary, room), figures)
            excess = len(page.encode("utf-8")) - most_bytes
            if excess <= 0:
                return page
            room -= max(excess, NOTE)
    raise InvalidInput(
        f"the report would be larger than {most_bytes:,} bytes even without counterfactuals; "
        "save() has no such limit."
    )


def _cut(found: ResultData, summary: dict[str, Any], room: int) -> dict[str, Any]:
    """Return a summary of those counterfactuals that fit into so many bytes."""
    named = [each["number"] for each in summary["representatives"]]
    of_ways = [each["number"] for each in summary["counterfactuals"] if each["is_way"]]
    numbers = dict.fromkeys([*named, *of_ways, *(ordered(found, "knee") + 1).tolist()])
    kept: set[int] = set()
    for number in numbers:
        room -= 1 + len(script_json(summary["counterfactuals"][number - 1]))
        if room < 0:
            break
        kept.add(number)
    counts = {"n": len(kept.difference(of_ways)), "total": len(found.genomes)}
    signs = SIGNS[spoken_now()]
    note = say("cut", **{name: signs.whole(n) for name, n in counts.items()})
    return summary | {
        "counterfactuals": [each for each in summary["counterfactuals"] if each["number"] in kept],
        "representatives": [each for each in summary["representatives"] if each["number"] in kept],
        "interview": write_questions(found, kept),
        "notes": [*summary["notes"], note],
    }


def write_receipt(found: ResultData, now: datetime.datetime) -> dict[str, Any]:
    """Return who was asked what, with which settings, as what JSON can hold."""
    version, model = __version__, "not at hand: the result was loaded from a file"
    if found.live is None:
        version = f"{found.remembered.version}; this report by {version}"
    else:
        kind = type(found.problem.predictor.own.model)
        model = f"{kind.__module__}.{kind.__qualname__}"
    return {
        "date": now.astimezone(datetime.UTC).isoformat(timespec="seconds"),
        "data fingerprint": found.fingerprints.data,
        "model fingerprint": found.fingerprints.model,
        "model": model,
        "target": str(found.target),
        "limits": _limits(found.limits),
        "rules": list(found.constraints),
        "costs": [
            f"{name}: {write_number(cost, digits=EXACT)}" for name, cost in found.costs.items()
        ],
        "objectives": list(found.objective_names),
        "search": {"type": type(found.search).__name__, **_settings(found.search)},
        "seed": int(found.seed),
        "model evaluations": found.evaluations,
        "ended by": found.stopped or "the row itself",
        "counterfactuals": int(found.reaches.sum()),
        "near misses": int((~found.reaches).sum()),
        "notes": list(found.notes),
        "versions": {
            "counterpoint": version,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "pandas": pd.__version__,
        },
    }


def receipt_texts(found: ResultData, receipt: dict[str, Any]) -> dict[str, Any]:
    """Return what the page shows in place of parts of the receipt, in the language of the page.

    The search is written as one would type it, and rules are as they were written.
    """
    day = datetime.datetime.fromisoformat(receipt["date"])
    kind, *settings = receipt["search"].items()
    given = ", ".join(f"{name}={value!r}" for name, value in settings if value is not None)
    names, ranges = receipt["objectives"], receipt["limits"]["ranges"]
    known = {f"objective.{name}" for name in ("gap", "distance", "changes", "implausibility")}
    texts = {
        "date": f"{write_date(day.date(), SIGNS[spoken_now()])}, {day:%H:%M:%S} UTC",
        "search": f"{kind[1]}({given})",
        "target": target_text(found),
        "limits": receipt["limits"] | {"ranges": [translated(each, "range") for each in ranges]},
        "objectives": [
            say(key) if (key := f"objective.{name}") in known else name for name in names
        ],
        "ended by": say(f"ended.{receipt['ended by']}"),
        "notes": [translated(note) for note in receipt["notes"]],
    }
    if found.live is None:
        saved = {"saved": found.remembered.version, "version": __version__}
        versions = receipt["versions"] | {"counterpoint": say("written by", **saved)}
        texts |= {"model": say("absent"), "versions": versions}
    return texts


# A setting is used only with some values of another; see `NSGA2`.
ONLY_WITH = {
    "p_min": ("initialization", ("ice",)),
    "p_max": ("initialization", ("ice",)),
    "step": ("mutation", ("gaussian",)),
}


def _settings(search: Any) -> dict[str, Any]:
    """Return the settings that this search uses by name; what JSON has not, as text."""
    values = {field.name: getattr(search, field.name) for field in fields(search)}
    values.pop("method", None)  # the type says it
    for name, (decisive, used) in ONLY_WITH.items():
        if name in values and values.get(decisive) not in used:
            del values[name]
    return {
        name: value
        if value is None or isinstance(value, bool | int | str)
        else (float(value) if isinstance(value, float) and np.isfinite(value) else str(value))
        for name, value in values.items()
    }


def _limits(limits: Limits) -> dict[str, Any]:
    """Return what could change, as texts; rules and costs have places of their own."""
    return {
        "fixed": [str(name) for name in limits.fixed],
        "vary": None if limits.vary is None else [str(name) for name in limits.vary],
        "ranges": [f"{name}: {range_text(ends)}" for name, ends in limits.ranges.items()],
        "most changes": limits.max_changed,
    }
