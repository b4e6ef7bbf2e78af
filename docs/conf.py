"""The site of the documentation, for Sphinx: `make docs`.

Nothing is fetched while it is built or read. Where COUNTERPOINT_RUN is set, the examples of the
tutorials are run while it is built, and what they print must be what the pages show; `make docs`
runs the examples of all pages by the tests instead.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

import counterpoint  # noqa: E402

project = "counterpoint"
author = "The counterpoint developers"
copyright = author
release = version = counterpoint.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc", "sphinx.ext.viewcode"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build", "ablation.md"]
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
suppress_warnings = ["myst.header"]  # pages that benchmarks write may begin at any level
nitpicky = False

autodoc_typehints = "none"  # numpydoc has them in words
autodoc_member_order = "bysource"
add_module_names = False
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
autosummary_generate = False
default_role = "code"  # single backticks are code in docstrings, as in Markdown

html_theme = "furo"
html_title = f"counterpoint {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
pygments_style = "friendly"
pygments_dark_style = "monokai"

OUTSIDE = re.compile(r"\[([^\]]*)\]\(((?:\.\./)+(?!docs/)[^)\s]*)\)")


def read_source(app: Any, name: str, source: list[str]) -> None:
    """Turn links to files of the repository into their names, and run tutorials if asked."""
    page = Path(app.srcdir) / f"{name}.md"

    def kept(found: re.Match[str]) -> str:
        place = (page.parent / found[2].partition("#")[0]).resolve()
        inside = place.is_relative_to(app.srcdir)
        return found[0] if inside else found[1] if "`" in found[1] else f"*{found[1]}*"

    text = re.sub(r"^<!-- run\n.*?^-->\n", "", source[0], flags=re.DOTALL | re.MULTILINE)
    source[0] = OUTSIDE.sub(kept, re.sub(r"^```py$", "```python", text, flags=re.MULTILINE))
    if name.startswith(("learn/", "start/")) and os.environ.get("COUNTERPOINT_RUN"):
        from scripts.pages import run_page

        run_page(page)


# What users get and never make: how it is made would only distract them.
GIVEN = {
    "Counterfactuals",
    "Judgement",
    "Proof",
    "Schema",
    "Summary",
    "Verification",
    "Way",
    "Ways",
}


def signature_of(_app: Any, what: str, name: str, *_others: Any) -> tuple[str, None] | None:
    """Leave out the parameters of classes that users do not call."""
    return ("", None) if what == "class" and name.rpartition(".")[2] in GIVEN else None


def setup(app: Any) -> None:
    """Join Sphinx."""
    app.connect("source-read", read_source)
    app.connect("autodoc-process-signature", signature_of)
