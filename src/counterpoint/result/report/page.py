"""The page: a summary, its figures and our modules put together as one HTML text.

Nothing of the data becomes markup: it travels as JSON in a script that no browser executes, and the
modules show it as text. The policy in the page's head allows exactly the scripts and the style that
are in it, by their hashes, and no request to anybody.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
import re
from functools import cache
from importlib.resources import files
from typing import Any

# In the order they need each other: a module imports from those before it only.
MODULES = (
    *("dom.js", "numbers.js", "report.js", "store.js", "limits.js", "ranking.js", "sorting.js"),
    *("interview.js", "bookmarks.js", "receipt.js", "theme.js", "scale.js", "figures.js"),
    *("header.js", "cards.js", "weights_panel.js", "limits_panel.js", "interview_panel.js"),
    *("table.js", "results.js", "details.js", "figures_panel.js", "receipt_panel.js"),
    *("mount.js", "main.js"),
)
_IMPORT = re.compile(r"^import\s+\{[^}]*\}\s+from\s+\"\./[a-z_]+\.js\";\n", re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?function |const |class )", re.MULTILINE)


def build_page(summary: dict[str, Any], figures: dict[str, Any] | None = None) -> str:
    """Return the report as HTML.

    Parameters
    ----------
    summary : dict
        What `summarise` returns.
    figures : dict, optional
        What `draw_figures` returns; None leaves the figures out.
    """
    script, style = joined_modules(), _read("style.css")
    library = "" if figures is None else figures["library"]
    drawings = {} if figures is None else {"figures": figures["figures"]}
    parts = {
        "policy": _policy([script, *([library] if library else [])], style),
        "title": _as_text(f"{summary['title']} - counterfactuals"),
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


def packed(text: str) -> str:
    """Return a text compressed, in base64: it has no character that HTML reads."""
    # Without a time stamp, so that equal reports are equal files.
    return base64.b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode("ascii")


@cache
def joined_modules() -> str:
    """Return our modules as one: without their imports of each other, which it makes needless.

    They share one scope then. A name that two of them have is a syntax error, which tests see.
    """
    texts = [f"// {name}\n{_plain(_read(name))}" for name in MODULES]
    script = "\n".join(texts)
    assert "</script" not in script.lower()
    assert "<!--" not in script
    return script


def _plain(text: str) -> str:
    """Return a module's text without imports and exports."""
    return _EXPORT.sub("", _IMPORT.sub("", text)).strip() + "\n"


@cache
def _read(name: str) -> str:
    """Return one of the page's files."""
    return files(__package__).joinpath("page", name).read_text(encoding="utf-8")


def _policy(scripts: list[str], style: str) -> str:
    """Return the content security policy: these scripts, this style, and nothing from elsewhere."""
    allowed = " ".join(_hash(script) for script in scripts)
    return (
        f"default-src 'none'; script-src {allowed}; style-src {_hash(style)}; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    """Return a text's hash as a policy names it."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def _as_text(text: str) -> str:
    """Return a text for HTML: markup escaped, what is not ASCII as references."""
    return html.escape(text).encode("ascii", "xmlcharrefreplace").decode("ascii")
