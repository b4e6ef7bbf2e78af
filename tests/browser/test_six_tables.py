"""Reports of six tables, in every width and colour: nothing sticks out, fails or is fetched."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tests.browser.browser import BROKEN, Visit
from tests.browser.subjects import EMPTY, SUBJECTS, contact_sheet, found_of

import counterpoint as cp

Open = Callable[..., Visit]
WIDTHS = (390, 820, 1440)
# What sticks out of the page on the right, and is not in a part that scrolls by itself.
OVERFLOWING = """() => [...document.querySelectorAll("main *")]
  .filter((each) => !each.closest(".scroll, .figure-frame, [hidden], details:not([open])"))
  .filter((each) => each.getBoundingClientRect().right > innerWidth + 1)
  .map((each) => each.outerHTML.slice(0, 90))"""


def in_every_look(visited: Visit) -> None:
    """Look at a page in three widths, light and dark: nothing sticks out, and axe is content."""
    for scheme in ("light", "dark"):
        visited.page.emulate_media(color_scheme=scheme)
        for width in WIDTHS:
            visited.page.set_viewport_size({"width": width, "height": 900})
            assert visited.page.evaluate(OVERFLOWING) == []
            assert visited.page.evaluate("document.documentElement.scrollWidth") <= width
            # The drawings' many texts are the same in each width, so they are judged in one.
            assert visited.violations("" if width == WIDTHS[-1] else ".figure-frame svg") == []


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return the report of a table on the disk, written once."""
    folder = tmp_path_factory.mktemp("six")

    def write(name: str) -> Path:
        place = folder / f"{name}.html"
        if not place.exists():
            found_of(name).report(place)
        return place

    return write


@pytest.mark.parametrize("name", [*SUBJECTS, *EMPTY])
def test_a_report_fits_every_width_in_light_and_dark(
    visit: Open, written: Callable[[str], Path], name: str
) -> None:
    in_every_look(visit(written(name)))


@pytest.mark.parametrize("name", [*SUBJECTS, *EMPTY])
def test_a_customers_page_fits_every_width_in_light_and_dark(
    visit: Open, tmp_path: Path, name: str
) -> None:
    place = tmp_path / f"{name}.html"
    found_of(name).report(place, reader="customer", lang="de")
    in_every_look(visit(place))


@pytest.mark.parametrize("name", SUBJECTS)
def test_cards_are_ways_of_at_most_four_changes_that_a_map_selects(
    visit: Open, written: Callable[[str], Path], name: str
) -> None:
    page: Any = visit(written(name)).page

    cards = page.locator("article.card")
    n = cards.count()
    assert n >= 1
    assert all(card.locator(".changes > li").count() <= 4 for card in cards.all())
    assert page.locator(".strip").count() >= n
    assert page.locator(".ring").count() == n
    points = page.locator(".map-point")
    assert points.count() == (n if n > 1 else 0)
    if n > 1:
        points.last.press("Enter")
        assert page.locator("article.picked").get_attribute(
            "data-number"
        ) == cards.last.get_attribute("data-number")


def test_an_empty_result_says_what_it_means(visit: Open, written: Callable[[str], Path]) -> None:
    met, none = (visit(written(name)).page for name in ("already_met", "none_found"))

    assert "You already get it" in met.locator("main").inner_text()
    assert "40 → 29 would lose it" in met.locator(".edges").inner_text()
    assert met.locator("input[type=range]").count() == 0
    said = none.locator("main .notice").first.inner_text()
    assert said.startswith(
        "The nearest comes to 0.9516; wanted is prediction between 0.99999 and 1."
    )
    assert none.locator("article.card").count() == 1
    assert "lacks least" in none.locator("article.card").inner_text()
    for claim in ("safest", "moves the values least", "changes the fewest values"):
        assert claim not in none.locator("main").inner_text()


def test_the_nearest_miss_says_that_nearer_ones_are_left_out(visit: Open, tmp_path: Path) -> None:
    data = pd.DataFrame({"age": range(20, 60), "debt": range(40)})
    model = lambda rows: rows["age"] / 160 + (40 - rows["debt"]) / 100  # noqa: E731
    found = cp.Explainer(model, data, protected=["age"]).explain(data[20:21], (0.9, 1.0), seed=0)
    assert not found
    place = tmp_path / "protected.html"
    found.report(place, figures=False)

    said = visit(place).page.locator("main .notice", has_text="comes to").inner_text()

    assert said.startswith("The nearest that changes nothing protected comes to 0.65; wanted")


def test_words_are_whole_and_fields_show_their_ends(visit: Open, tmp_path: Path) -> None:
    """Names of classes are, and a customer's table on a phone; the scale's name is not cut."""
    classes = {"Barolo": "zurückgestellt", "Grignolino": "bewilligt", "Barbera": "abgelehnt"}
    found = found_of("wine").labelled(cp.Labels(classes=classes, lang="de"))
    found.report(tmp_path / "all.html", lang="de")
    found.report(tmp_path / "customer.html", lang="de", reader="customer")
    none = tmp_path / "none.html"
    found_of("none_found").report(none)

    page: Any = visit(tmp_path / "all.html").page
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate(BROKEN, ".class-name") == []
    assert page.locator(".limit-row input[type=number]").first.bounding_box()["width"] > 95
    page = visit(tmp_path / "customer.html").page
    page.set_viewport_size({"width": 390, "height": 900})
    assert page.evaluate(BROKEN, "thead th, td.new") == []
    page = visit(none).page
    name, scale = (page.locator(each).bounding_box() for each in (".scale-wanted", ".scale"))
    assert name["x"] + name["width"] <= scale["x"] + scale["width"]


def test_sixty_columns_show_what_changes_and_find_the_rest(
    visit: Open, written: Callable[[str], Path]
) -> None:
    page: Any = visit(written("sixty")).page

    assert page.locator("#row > dl > div").count() <= 12
    assert page.locator("fieldset.limit:visible").count() == 6
    page.locator("#find-limit").fill("measure 07")
    assert page.locator("fieldset.limit:visible").count() <= 1
    page.locator(".rest summary").click()
    page.locator("#find-value").fill("measure 07")
    assert page.locator(".rest dl > div:visible").count() == 1


def test_every_kind_of_figure_of_every_table_is_drawn(browser: Any) -> None:
    folder = Path(__file__).parents[2] / "build" / "contact-sheet"  # kept, to be looked at

    sheet = contact_sheet(browser, folder, SUBJECTS)

    drawn = sorted(folder.glob("*.svg"))
    assert len(drawn) == 7 * len(SUBJECTS) - 1  # one feature has no surface
    assert all("<path" in image.read_text(encoding="utf-8") for image in drawn)
    assert sheet.stat().st_size > 50_000


# Words that no German page has, but in names and levels of the data, which are left out here.
ENGLISH = re.compile(
    r"\b(the|and|or|of|is|are|were|with|not|by|from|that|this|counterfactuals?|near miss(es)?|"
    r"rows?|features?|prediction|changes?|target|figures?|show|less|more|ways?|now|wanted)\b"
)


SETTINGS = re.compile(r"\b[A-Z]\w+\([^()]*\)")


@pytest.mark.parametrize("name", ["credit", "wine", "long_names", "already_met", "none_found"])
def test_an_analysts_german_page_has_no_english_word(
    visit: Open, tmp_path: Path, name: str
) -> None:
    place = tmp_path / f"{name}.html"
    found_of(name).report(place, lang="de")
    page: Any = visit(place).page
    page.locator("#figures[aria-labelledby]").wait_for()
    page.wait_for_function("!document.querySelector('#figures .hint').textContent.includes('...')")

    if page.locator("#start-interview").count():
        page.locator("#start-interview").click()
        page.locator("#answer-a", has_text="Lieber A").click()
    if name == "long_names":  # which drawings break into lines, so that they are not known again
        page.evaluate("document.querySelectorAll('.figure-frame').forEach((each) => each.remove())")
    text = page.locator("header, main, footer").all_inner_texts()
    said = "\n".join(text).replace("JSON", "")
    for word in names_in(name):
        said = said.replace(word, "")

    assert page.locator("html").get_attribute("lang") == "de"
    receipt = page.locator(".receipt > div", has_text="Modell").all_inner_texts()
    for code in [*receipt, *SETTINGS.findall(said)]:  # types, fingerprints and settings are code
        said = said.replace(code, "")
    assert ENGLISH.findall(said.lower()) == []


def names_in(name: str) -> list[str]:
    """Return the names and levels of a table, the longest first, as a page says them."""
    found = found_of(name)
    features = found.encoding.schema.features
    texts = [str(feature.name) for feature in features]
    texts += [str(level) for feature in features for level in feature.levels]
    texts += [text.replace("_", " ") for text in texts]
    texts += [text[:1].upper() + text[1:] for text in texts]
    return sorted(texts, key=len, reverse=True)
