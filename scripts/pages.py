"""The pages of the documentation: run their examples, and list where each public name is told.

The Python blocks of a page are run in their order, in one scope and an empty folder. A block
without a language, or of ``text``, that directly follows one is what it prints; a line ``...``
there stands for any lines, and ``...`` within a line for any text. Lines of ``sh`` blocks that
begin with ``counterpoint`` are commands, which are run too, but for ``serve``, which never ends.
What a comment ``<!-- run ... -->`` holds is run first.

    python -m scripts.pages docs/learn/ways.md   # run these pages
    python -m scripts.pages --names              # write docs/reference/names.md
"""

from __future__ import annotations

import argparse
import contextlib
import doctest
import inspect
import io
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import counterpoint as cp
from counterpoint.cli.main import main as command

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
NAMES = DOCS / "reference" / "names.md"
FENCE = re.compile(r"^(`{3,})([^\n`]*)\n(.*?)^\1\s*?$", flags=re.DOTALL | re.MULTILINE)
MEMBERS = (FunctionType, staticmethod, classmethod, property, cached_property)
HIDDEN = re.compile(r"^<!-- run\n(.*?)^-->", flags=re.DOTALL | re.MULTILINE)  # run first
GUIDES = ("start", "learn", "how-to", "explain")  # and then all others
NO_GUIDES = (
    "reference/",
    "study/",
    "design",
    "inside/",
    "performance",
    "scale/",
    "index",
    "ablation",
)
OURS = ("Explainer", "Counterfactuals", "Judgement", "Verification", "Proof", "Way", "Ways")


@dataclass(frozen=True)
class Block:
    """An example of a page, and what the page says that it prints."""

    language: str
    code: str
    line: int
    shown: str | None = None


def blocks(text: str) -> list[Block]:
    """Return the examples of a page that can be run, in their order."""
    found = [Block("python", hidden[1], 0) for hidden in HIDDEN.finditer(text)]
    end = -1  # of the last example, if nothing but text came after it
    for match in FENCE.finditer(text):
        language, code = match[2].strip(), match[3]
        follows = end >= 0 and not text[end : match.start()].strip()
        if language in ("python", "sh"):
            line = text[: match.start()].count("\n") + 2
            found.append(Block(language, code, line))
        elif language in ("", "text") and follows and found[-1].shown is None:
            found[-1] = Block(found[-1].language, found[-1].code, found[-1].line, code)
        end = match.end() if language in ("python", "sh") else -1
    return found


def run_page(page: Path, *, write: bool = False) -> dict[str, Any]:
    """Run the examples of a page in an empty folder; fail where one prints something else.

    With `write` the page is given what they print, where it says something else.
    """
    scope = ModuleType("__main__").__dict__
    before = sys.modules["__main__"]
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for block in blocks(page.read_text()):
            printed = _run(block, page, scope)
            if block.shown is not None and not is_shown(block.shown, printed):
                if not write:
                    told = f"prints\n{printed}\nnot\n{block.shown}"
                    raise AssertionError(f"{page}:{block.line} {told}")
                _show(page, block, printed)
    sys.modules["__main__"] = before
    return scope


def _run(block: Block, page: Path, scope: dict[str, Any]) -> str:
    """Run one example and return what it prints."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        if block.language == "python":
            code = "\n" * max(block.line - 1, 0) + block.code
            exec(compile(code, str(page), "exec"), scope)  # noqa: S102 - our own text
        else:
            for line in block.code.replace("\\\n", " ").splitlines():
                if line.startswith("counterpoint ") and not line.startswith("counterpoint serve"):
                    words = shlex.split(line, comments=True)[1:]
                    status = command(words)
                    if status:
                        raise AssertionError(f"{page}:{block.line} ends with {status}: {line}")
    return out.getvalue()


def _show(page: Path, block: Block, printed: str) -> None:
    """Put what an example prints into its page."""
    text = page.read_text()
    fences = list(FENCE.finditer(text))
    (place,) = (i for i, fence in enumerate(fences) if fence[3] == block.code)
    start, end = fences[place + 1].span(3)
    lines = "".join(f"{line.rstrip()}\n" for line in printed.strip("\n").splitlines())
    page.write_text(text[:start] + lines + text[end:])


def is_shown(shown: str, printed: str) -> bool:
    """Return whether a page shows what is printed, up to blanks at the ends of lines."""
    told, said = (
        "\n".join(line.rstrip() for line in text.strip("\n").splitlines()) + "\n"
        for text in (shown, printed)
    )
    return doctest.OutputChecker().check_output(told, said, doctest.ELLIPSIS)


def pages() -> list[Path]:
    """Return README and the pages of the site that have examples to run."""
    known = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
    return [page for page in known if blocks(page.read_text())]


def public_names() -> Iterator[str]:
    """Yield the public names, and the methods and properties of what users hold in their hands."""
    for name in cp.__all__:
        yield name
        if name in OURS:
            for member in sorted(dir(getattr(cp, name))):
                value = inspect.getattr_static(getattr(cp, name), member)
                if not member.startswith("_") and isinstance(value, MEMBERS) and is_ours(value):
                    yield f"{name}.{member}"


def is_ours(member: Any) -> bool:
    """Return whether a member of a class is written here, not inherited from Python's own."""
    wrapped = (getattr(member, name, None) for name in ("fget", "func", "__func__"))
    code = next((each for each in wrapped if each is not None), member)
    return str(code.__module__).startswith("counterpoint")


def documented(name: str) -> tuple[str | None, list[str]]:
    """Return the page of the reference that has a name, and the guides that show it.

    A class on a page of the reference has all of its members there. Tutorials come before other
    guides; what was measured and what is inside are no guides.
    """
    first, _, member = name.partition(".")
    directive = re.compile(
        rf"auto(class|function|exception):: counterpoint\.{first}$", re.MULTILINE
    )
    mention = re.compile(rf"\.{member}\b" if member else rf"\bcp\.{first}\b|`{first}\b")
    reference, guides = None, []
    for page in sorted(DOCS.rglob("*.md")):
        place = str(page.relative_to(DOCS))
        text = page.read_text()
        if place.startswith("reference/") and directive.search(text):
            reference = place
        elif not place.startswith(NO_GUIDES) and mention.search(text):
            guides.append(place)
    return reference, sorted(guides, key=_rank)


def _rank(place: str) -> int:
    """Return how far down a page stands among the guides to a name."""
    folder = place.partition("/")[0]
    return GUIDES.index(folder) if folder in GUIDES else len(GUIDES)


def table_of_names() -> str:
    """Return the page that says where each public name is documented."""
    lines = [
        "# Every public name",
        "",
        "Each name with the page of the reference that describes it, and the guides that show it "
        "in use. `python -m scripts.pages --names` writes this table, and a test fails where a "
        "name has no page or no guide.",
        "",
        "| name | reference | shown in |",
        "|---|---|---|",
    ]
    for name in public_names():
        reference, guides = documented(name)
        told = (
            f"[{reference.removesuffix('.md').split('/')[1]}](../{reference})"
            if reference
            else "**none**"
        )
        shown = ", ".join(f"[{each.removesuffix('.md')}](../{each})" for each in guides[:3])
        lines.append(f"| `{name}` | {told} | {shown} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run pages, or write the table of names."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("pages", nargs="*", type=Path)
    parser.add_argument("--write", action="store_true", help="put what they print into the pages")
    parser.add_argument("--names", action="store_true", help="write docs/reference/names.md")
    given = parser.parse_args()
    if given.names:
        NAMES.write_text(table_of_names())
    for page in given.pages:
        print(f"{os.path.relpath(page)} ...", flush=True)
        run_page(page.resolve(), write=given.write)


if __name__ == "__main__":
    main()
