"""Every example of README and of the site is run as it stands, and prints what is shown."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from scripts.pages import (
    DOCS,
    NAMES,
    ROOT,
    blocks,
    documented,
    is_shown,
    pages,
    public_names,
    table_of_names,
)
from scripts.pages import run_page as run


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
@pytest.mark.filterwarnings("default")  # a reader sees a warning, and goes on
def test_the_examples_of_a_page_print_what_it_shows(page: Path) -> None:
    run(page)


@pytest.mark.parametrize("name", list(public_names()))
def test_every_public_name_has_a_page_and_a_guide(name: str) -> None:
    reference, guides = documented(name)

    assert reference, f"no page of docs/reference has counterpoint.{name.partition('.')[0]}"
    assert guides, f"no tutorial and no other guide shows {name}"


def test_the_table_of_names_is_up_to_date() -> None:
    assert NAMES.read_text() == table_of_names(), "run: python -m scripts.pages --names"


def test_every_page_is_in_the_site() -> None:
    index = (DOCS / "index.md").read_text()
    listed = set(re.findall(r"^([\w/-]+)$", index, flags=re.MULTILINE))
    every = {str(page.relative_to(DOCS))[: -len(".md")] for page in DOCS.rglob("*.md")}

    assert every - listed == {"index", "ablation"}, "name it in docs/index.md"


def test_no_page_asks_the_network_for_anything() -> None:
    """What is linked is not loaded: images, scripts and styles are files of the site."""
    for page in DOCS.rglob("*.md"):
        text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
        assert not re.findall(r"!\[[^\]]*\]\(https?:|<(?:script|link|img)\b", text), page


def test_an_example_that_prints_something_else_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python\nprint(1 + 1)\n```\n\n```text\n3\n```\n")

    with pytest.raises(AssertionError, match=r"page\.md:2 prints\n2\n\nnot\n3\n"):
        run(page)
    run(page, write=True)

    assert page.read_text() == "```python\nprint(1 + 1)\n```\n\n```text\n2\n```\n"


@pytest.mark.parametrize(
    ("shown", "printed", "expected"),
    [
        ("2 rows\n", "2 rows\n", True),
        ("2 rows in ... s\n", "2 rows in 0.1 s\n", True),
        ("2 rows \n", "2 rows\n", True),
        ("3 rows\n", "2 rows\n", False),
    ],
)
def test_what_is_shown(shown: str, printed: str, expected: bool) -> None:
    assert is_shown(shown, printed) is expected


def test_hidden_beginnings_come_first_and_what_follows_text_is_no_output() -> None:
    text = "```python\nb\n```\nIt says:\n```\nc\n```\n<!-- run\na\n-->\n"

    found: list[Any] = [(block.code, block.shown) for block in blocks(text)]

    assert found == [("a\n", None), ("b\n", None)]
