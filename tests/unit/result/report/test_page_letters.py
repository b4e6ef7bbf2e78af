"""The letter and the customer's page: what is in them, what is not, and that all is escaped."""

from __future__ import annotations

import datetime
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import counterpoint as cp
from counterpoint.result.report.page import customer_page, letter_page

TODAY = datetime.date(2026, 3, 1)
EVIL = "<img src=x onerror=alert(1)>"
DATA = pd.DataFrame(
    {
        "duration": [6, 12, 24, 48, 60, 36, 18, 30],
        "age": [22, 35, 47, 51, 29, 33, 64, 40],
        "purpose": ["car", EVIL, "car", "tv", "car", "tv", "car", "tv"],
    },
    index=[f"customer-{4711 + j}" for j in range(8)],
)


class Judge:
    """A classifier by duration and age."""

    classes_ = np.array(["bad", "good"])

    def predict_proba(self, rows: pd.DataFrame) -> Any:
        """Return the probabilities of both classes."""
        score = 0.9 - rows["duration"] / 80 + (rows["age"] - 40) / 100
        good = score.clip(0.0, 1.0).to_numpy()
        return np.column_stack([1.0 - good, good])


@pytest.fixture(scope="module")
def found() -> cp.Counterfactuals:
    """Return a result with ways through a protected feature."""
    labels = cp.Labels(classes={"good": "approved"}, outcome="your application", lang="en")
    explainer = cp.Explainer(
        Judge(), DATA, protected=["age"], units={"duration": "months"}, labels=labels
    )
    result = explainer.explain(DATA.iloc[[3]], "good", cp.Search(evaluations=400))
    assert result.changed[result.reaches, 1].any()
    return result


def pages(found: cp.Counterfactuals) -> list[str]:
    return [
        page
        for lang in ("en", "de")
        for page in (
            customer_page(found, lang),
            letter_page(found, lang, ("Our Bank", "Your rights"), TODAY, appendix=True),
        )
    ]


def test_customers_read_nothing_of_the_method_or_of_other_people(
    found: cp.Counterfactuals,
) -> None:
    observed = [str(label) for label in DATA.index if label != DATA.index[3]]
    for page in pages(found):
        text = re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL)
        assert "P(" not in text
        assert "ypervolume" not in text
        assert "istance" not in text
        assert "mplausib" not in text
        assert not re.search(r"\b[Rr]ow\b|\bZeile\b", text.replace('scope="row"', ""))
        assert "customer-47" not in text
        assert not any(label in text for label in observed)
        assert not re.search(r"\d/\d", text)


def test_customers_read_of_no_way_through_what_is_protected(found: cp.Counterfactuals) -> None:
    barred = int((found.reaches & found.changed[:, 1]).sum())
    for page in pages(found):
        cases = re.split(r"<details>|<section", page)[0]
        assert "age" not in re.sub(r"<style>.*?</style>", "", cases, flags=re.DOTALL).replace(
            "page", ""
        )
        assert "protected" not in page
        assert "geschützt" not in page
        assert f">{barred} " not in page


def test_a_letter_says_what_was_decided_when_it_would_not_have_been_and_what_it_is_not(
    found: cp.Counterfactuals,
) -> None:
    page = letter_page(found, "en", ("Our Bank\n1 Main Street", "You may complain."), TODAY)

    assert "<address>Our Bank\n1 Main Street</address>" in page
    assert '<p class="date">1 March 2026</p>' in page
    assert "<p>Your application was not approved.</p>" in page
    assert "your application would have been approved." in page
    assert "It is not an offer" in page
    assert '<p class="closing">You may complain.</p>' in page
    assert "appendix" not in re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL)
    assert len(re.findall("<li>", page)) <= 4


def test_all_is_escaped_and_nothing_is_asked_of_the_network(found: cp.Counterfactuals) -> None:
    own = letter_page(found, "en", (EVIL, EVIL), TODAY, appendix=True)
    for page in [*pages(found), own]:
        assert "<img" not in page
        assert "<script" not in page
        assert "default-src 'none'" in page
        assert not re.search(r"https?://|src=[^x]", page)


def test_a_german_page_is_german(found: cp.Counterfactuals) -> None:
    page = customer_page(found, "de")

    assert '<html lang="de">' in page
    assert "<h1>Wie das Ergebnis hätte anders ausfallen können</h1>" in page
    assert "<h3>Fall 1</h3>" in page
    assert "Es ist kein Angebot" in page


def test_a_card_shows_each_detail_before_and_after(found: cp.Counterfactuals) -> None:
    page = customer_page(found, "en")

    cells = re.search(
        r'<th scope="row">duration</th><td>48 months</td><td class="new">(.*?)</td>', page
    )

    assert cells is not None
    assert cells[1].endswith(" months")


def test_the_doors_write_files(found: cp.Counterfactuals, tmp_path: Path) -> None:
    found.letter(tmp_path / "letter.html", lang="de", sender="Bank", closing="Ihre Rechte")
    found.report(tmp_path / "customer.html", reader="customer")

    assert "Ihre Rechte" in (tmp_path / "letter.html").read_text(encoding="utf-8")
    assert "your application" in (tmp_path / "customer.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"lang": "fr"}, "lang must be 'en' or 'de', got 'fr'."),
        ({"sender": 3}, "letter.sender must be a text, got 3."),
        ({"sender": "x\n" * 9}, "letter.sender must have at most 8 lines, got 9; a letter is one "
            "page."),
        ({"closing": "x" * 1501}, "letter.closing must have at most 1,500 characters, got 1,501; a "
            "letter is one page."),
        ({"appendix": 1}, "letter.appendix must be True or False, got 1."),
    ],
)  # fmt: skip
def test_what_is_no_letter_is_refused(
    found: cp.Counterfactuals, tmp_path: Path, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(cp.InvalidInput) as raised:
        found.letter(tmp_path / "letter.html", **arguments)

    assert str(raised.value) == message
    assert not (tmp_path / "letter.html").exists()


def test_a_report_for_nobody_is_refused(found: cp.Counterfactuals, tmp_path: Path) -> None:
    with pytest.raises(cp.InvalidInput, match="reader must be 'customer' or 'analyst', got 'boss'"):
        found.report(tmp_path / "x.html", reader="boss")  # type: ignore[arg-type]
