"""The page: one HTML text in which data stays data."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from shutil import which
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.result.figures.plots import packed
from counterpoint.result.report.page import MODULES, build_page, joined_modules, script_json
from counterpoint.result.report.page import __file__ as page_file
from counterpoint.result.words import texts_of

SUMMARY: dict[str, Any] = {
    "title": "Row 0",
    "features": [],
    "lang": "en",
    "texts": texts_of("en"),
}
ANY_TEXT = st.text(st.characters(exclude_categories=()))  # lone surrogates, too


class Reader(HTMLParser):
    """Collects what a browser would see: elements, and the text of scripts."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, str] = {}
        self.place = "start"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        self.elements.append((tag, dict(attrs)))
        self.place = dict(attrs).get("id") or tag

    def handle_endtag(self, tag: str) -> None:
        """Note what was left."""
        self.place = f"after {tag}"

    def handle_data(self, data: str) -> None:
        """Note the text where we are."""
        self.texts[self.place] = self.texts.get(self.place, "") + data


def read(page: str) -> Reader:
    """Return a page as its elements."""
    reader = Reader()
    reader.feed(page)
    reader.close()
    return reader


PLAIN = [tag for tag, _ in read(build_page(SUMMARY)).elements]


@given(
    text=ANY_TEXT
    | st.sampled_from(["</script><script>alert(1)</script>", "<!--", "]]>", "{{data}}"])
)
def test_any_text_survives_and_breaks_out_of_nothing(text: str) -> None:
    summary = SUMMARY | {"title": text, "features": [{"name": text, "levels": [text]}]}

    page = build_page(summary)

    reader = read(page)
    assert [tag for tag, _ in reader.elements] == PLAIN
    assert json.loads(reader.texts["data"]) == summary
    assert page.encode("utf-8")


@given(text=ANY_TEXT)
def test_json_in_a_script_has_no_character_that_ends_it(text: str) -> None:
    written = script_json([text])

    assert not set("<>&\u2028\u2029") & set(written)
    assert json.loads(written) == [text]


def test_a_number_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        script_json(float("nan"))


def test_the_policy_names_the_script_and_the_style_and_nothing_from_elsewhere() -> None:
    page = build_page(SUMMARY)

    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)

    assert policy is not None
    style, script = (
        re.search(pattern, page, re.DOTALL)
        for pattern in (r"<style>(.*?)</style>", r'<script type="module">(.*?)</script>')
    )
    for found in (style, script):
        assert found is not None
        digest = base64.b64encode(hashlib.sha256(found[1].encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy[1]
    assert policy[1].startswith("default-src 'none'; ")
    assert "unsafe" not in policy[1]
    assert "http" not in policy[1]


def test_no_address_of_another_machine_is_in_the_page() -> None:
    page = build_page(SUMMARY)

    addresses = set(re.findall(r"(?:https?:)?//[\w.-]+\.\w+[\w/.]*", page))

    assert {each for each in addresses if "//" in each and each.startswith("http")} <= {
        "http://www.w3.org/2000/svg"  # a name, which nobody asks
    }


def test_the_modules_joined_are_one_module_without_imports() -> None:
    script = joined_modules()

    assert not re.search(r"^(import|export)\b", script, re.MULTILINE)
    node = which("node")
    if node is None:
        pytest.skip("node is not installed; the gate has it")
    subprocess.run(  # noqa: S603 - our own script
        [node, "--input-type=module", "--check"], input=script, text=True, check=True
    )


def test_every_module_of_the_page_is_joined_after_those_it_imports() -> None:
    folder = Path(page_file).parent / "page"
    assert sorted(MODULES) == sorted(file.name for file in folder.glob("*.js"))
    for place, name in enumerate(MODULES):
        imports = re.findall(r'from "\./(\w+\.js)"', (folder / name).read_text())
        assert set(imports) <= set(MODULES[:place]), name


@given(text=st.text(st.characters(codec="utf-8")))
def test_what_is_packed_can_be_unpacked_and_is_no_markup(text: str) -> None:
    written = packed(text)

    assert gzip.decompress(base64.b64decode(written)).decode() == text
    assert re.fullmatch(r"[A-Za-z0-9+/=]*", written)
