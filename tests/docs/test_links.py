"""The links of README and docs lead somewhere: to files that exist and to headings in them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NAMED = ("README.md", "CHANGELOG.md", "benchmarks/README.md")
PAGES = [*(ROOT / name for name in NAMED), *sorted(ROOT.glob("docs/**/*.md"))]


def links_of(page: Path) -> list[str]:
    """Return the links of a page that stay in the repository, without its code."""
    text = re.sub(r"```.*?```|`[^`]*`", "", page.read_text(), flags=re.DOTALL)
    links = re.findall(r"\]\(([^)\s]+)\)", text)
    return [link for link in links if "://" not in link and not link.startswith("mailto:")]


def anchors_of(page: Path) -> set[str]:
    """Return the anchors of a page's headings, spelt as forges spell them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), flags=re.MULTILINE)
    plain = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {heading.strip().replace(" ", "-") for heading in plain}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for link in links_of(page):
        name, _, anchor = link.partition("#")
        place = page.parent / name if name else page

        assert place.exists(), f"{link} leads nowhere"
        assert not anchor or anchor in anchors_of(place), f"{link} names no heading"


def test_links_are_found_and_code_is_not_taken_for_one(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A `b` c!\n[one](x.md#y) `f[i](j)` [two](https://a.b)\n```\n[no](z)\n```\n")

    assert links_of(page) == ["x.md#y"]
    assert anchors_of(page) == {"a-b-c"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_that_are_named_exist(page: Path) -> None:
    """Paths in code marks that begin with a folder of the repository are paths of it."""
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    named = re.findall(r"`((?:src|tests|docs|benchmarks|scripts)/[\w./-]+)`", text)

    assert not [path for path in named if not (ROOT / path).exists()]
