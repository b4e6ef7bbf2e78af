"""Letters in Chromium are one sheet of paper, however long names and the sender's texts are."""

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
            visit = Visit(browser, path.as_uri(), {})

            for paper in ("A4", "Letter"):
                pdf = visit.page.pdf(format=paper)
                assert len(re.findall(rb"/Type\s*/Page\b", pdf)) == 1, (lang, paper, k)

            assert not visit.errors
            assert len(visit.requests) == 1
            visit.context.close()
