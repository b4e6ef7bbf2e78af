"""Letters and customers' pages in Chromium: one sheet of paper, no overflow, nothing serious."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from tests.browser.browser import Visit
from tests.browser.subjects import SUBJECTS, found_of

import counterpoint as cp

SENDER = "\n".join(f"line {k} of the sender's address and contact" for k in range(8))
CLOSING = ("You may have this decision reviewed by a person. " * 40)[:1500]
LONG = "a name that is as long as the longest label that anybody may give to a feature, " * 2


def visited(browser: Any, path: Path, **options: Any) -> Visit:
    return Visit(browser, path.as_uri(), options)


@pytest.mark.parametrize("name", SUBJECTS)
def test_a_letter_is_one_sheet_of_paper_on_either_side_of_the_ocean(
    browser: Any, tmp_path: Path, name: str
) -> None:
    found = found_of(name)
    names = {each: f"{each} {LONG}"[:120] for each in found.encoding.schema.names}
    for k, result in enumerate((found, found.labelled(cp.Labels(features=names)))):
        for lang in ("en", "de"):
            path = tmp_path / f"{k}-{lang}.html"
            result.letter(path, lang=lang, sender=SENDER, closing=CLOSING)
            visit = visited(browser, path)

            for paper in ("A4", "Letter"):
                pdf = visit.page.pdf(format=paper)
                assert len(re.findall(rb"/Type\s*/Page\b", pdf)) == 1, (lang, paper, k)

            assert not visit.errors
            assert len(visit.requests) == 1
            visit.context.close()


@pytest.mark.parametrize("name", SUBJECTS)
def test_a_customers_page_fits_every_screen_and_nothing_serious_is_found(
    browser: Any, tmp_path: Path, name: str
) -> None:
    for lang in ("en", "de"):
        path = tmp_path / f"{lang}.html"
        found_of(name).report(path, reader="customer", lang=lang)
        for width, scheme in ((1440, "light"), (768, "light"), (390, "light"), (390, "dark")):
            options = {"viewport": {"width": width, "height": 800}, "color_scheme": scheme}
            visit = visited(browser, path, **options)
            element = "document.documentElement"
            wide = visit.page.evaluate(f"{element}.scrollWidth - {element}.clientWidth")
            assert wide == 0, (lang, width, scheme)
            if width == 390:
                assert visit.violations() == []
            assert not visit.errors
            assert len(visit.requests) == 1
            visit.context.close()
