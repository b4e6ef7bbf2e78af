"""The report as a person uses it: opened from disk, without a network."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.browser.browser import Visit
from tests.browser.conftest import EVIL_LEVEL, EVIL_NAME

import counterpoint as cp

Open = Callable[..., Visit]
DRAWN = "#figures .figure-frame svg"


def numbers(page: Any) -> list[int]:
    """Return the counterfactuals in the table, in their order, as one list."""
    page.locator("#is-grouped").uncheck()
    rows = page.locator("#table tbody tr[data-number]").all()
    return [int(row.get_attribute("data-number")) for row in rows]


def remaining(page: Any) -> tuple[int, str]:
    """Return how many remain, and the sentence that says so."""
    text = page.locator("#remain").inner_text()
    match = re.match(r"(?:All )?(\d+|None)", text)
    assert match, text
    return 0 if match[1] == "None" else int(match[1]), text


def wait_until(page: Any, is_so: Callable[[], bool]) -> None:
    """Wait until something is so; the page's policy lets nobody evaluate texts in it."""
    for _ in range(200):
        if is_so():
            return
        page.wait_for_timeout(100)
    pytest.fail("waited in vain")


def wait_for_figures(page: Any, n: int = 6) -> None:
    """Wait until all figures are drawn."""
    wait_until(page, lambda: page.locator(DRAWN).count() == n)


def test_it_opens_from_disk_and_shows_everything(
    visit: Open, report: Path, found: cp.Counterfactuals
) -> None:
    page = visit(report).page
    wait_for_figures(page)

    assert "what would have had to be different?" in page.locator("h1").inner_text()
    assert page.locator("article.card").count() >= 2
    n, text = remaining(page)
    assert re.search(r"of [\d,]+ (candidates \(.*\)|counterfactuals) remain", text)
    assert n == int((found.reaches & ~found.changed[:, 5]).sum())
    assert page.locator("#receipt").inner_text().count(found.fingerprints.data) == 1


def test_names_and_levels_that_would_be_markup_are_text(visit: Open, report: Path) -> None:
    page = visit(report).page
    page.on("dialog", lambda dialog: pytest.fail(f"a script ran: {dialog.message}"))
    wait_for_figures(page)

    assert page.locator("img").count() == 0
    assert page.get_by_text(EVIL_NAME).count() > 0
    assert page.get_by_text(EVIL_LEVEL).count() > 0


def test_a_slider_ranks_the_table_at_once(visit: Open, report: Path) -> None:
    page = visit(report).page
    before = numbers(page)

    for slider in (1, 2):
        page.locator(f"#weight-{slider}").fill("0")
    page.locator("#weight-3").fill("100")

    column = page.locator("#table thead th").count() - 1
    unusual = [
        float(row.locator("td, th").nth(column).inner_text())
        for row in page.locator("#table tbody tr[data-number]").all()
    ]
    assert numbers(page) != before
    assert unusual == sorted(unusual)
    assert page.locator("#weight-3").get_attribute("aria-valuetext") == "matters most"


def test_a_slider_moves_by_keyboard(visit: Open, report: Path) -> None:
    page = visit(report).page
    page.locator("#weight-1").focus()

    page.keyboard.press("End")

    assert page.locator("#weight-1").input_value() == "100"
    assert page.evaluate("document.activeElement.id") == "weight-1"


def test_a_locked_feature_stays_and_the_words_say_why(
    visit: Open, report: Path, found: cp.Counterfactuals
) -> None:
    page = visit(report).page

    page.locator("#lock-2").check()

    keeps = found.reaches & ~found.changed[:, 5] & ~found.changed[:, 2]
    n, text = remaining(page)
    assert n == int(keeps.sum())
    assert f"duration is locked (removes {int(found.changed[:, 2].sum())})" in text
    page.locator("#reset-all").click()
    assert remaining(page)[0] > n


def test_where_none_remains_one_click_brings_back_most(visit: Open, report: Path) -> None:
    page = visit(report).page
    for lock in page.locator("[id^=lock-]").all():
        lock.check()
    n, text = remaining(page)
    assert n == 0
    promised = re.search(r"would bring back (\d+), the most a single step can", text)
    assert promised

    page.locator("#relax").click()

    assert remaining(page)[0] == int(promised[1])


def test_direction_range_and_levels_limit_what_remains(
    visit: Open, report: Path, found: cp.Counterfactuals
) -> None:
    page = visit(report).page
    row, genomes = found.genome, found.genomes
    allowed = found.reaches & ~found.changed[:, 5]

    page.locator("#direction-1").select_option("up")
    allowed = allowed & (genomes[:, 1] >= row[1])
    assert remaining(page)[0] == int(allowed.sum())

    page.locator("#low-2").fill("12")
    page.locator("#low-2").press("Enter")
    allowed = allowed & (genomes[:, 2] >= 12)
    assert remaining(page)[0] == int(allowed.sum())

    page.locator("details.levels summary").first.click()
    page.get_by_role("checkbox", name=EVIL_LEVEL).uncheck()
    levels = found.encoding.schema.features[3].levels
    allowed = allowed & (genomes[:, 3] != levels.index(EVIL_LEVEL))
    assert remaining(page)[0] == int(allowed.sum())


def test_headings_sort_both_ways(visit: Open, report: Path) -> None:
    page = visit(report).page
    page.locator("#is-grouped").uncheck()
    heading = page.locator("#table th", has=page.locator("[id='sort-prediction']"))

    def predictions() -> list[float]:
        return [float(cell.inner_text()) for cell in page.locator("#table td.valid").all()]

    page.locator("[id='sort-prediction']").click()
    assert heading.get_attribute("aria-sort") == "ascending"
    assert predictions() == sorted(predictions())
    assert page.evaluate("document.activeElement.id") == "sort-prediction"

    page.keyboard.press("Enter")
    assert heading.get_attribute("aria-sort") == "descending"
    assert predictions() == sorted(predictions(), reverse=True)


def test_the_interview_recommends_what_python_does_and_answers_can_be_undone(
    visit: Open, report: Path, found: cp.Counterfactuals
) -> None:
    page = visit(report).page
    interview = found.prefer()
    page.locator("#start-interview").click()

    for answer in ("A", "B", "equal", "A", "A"):
        assert interview.question is not None
        shown = page.locator("#interview .question article").all()
        pair = [int(card.get_attribute("data-number")) - 1 for card in shown]
        assert pair == list(interview.question.positions)
        page.locator(f"#answer-{answer.lower()}").click()
        interview.answer(answer)

    best = page.locator("#interview .recommended article")
    assert int(best.get_attribute("data-number")) - 1 == interview.position
    page.locator("#undo-answer").click()
    interview.undo()
    assert int(best.get_attribute("data-number")) - 1 == interview.position
    assert "4 answers" in page.locator("#interview").inner_text()


def test_bookmarks_are_kept_in_the_address_and_shown_alone(visit: Open, report: Path) -> None:
    page = visit(report).page
    chosen = numbers(page)[:2]
    for number in chosen:
        page.locator(f"#table [data-bookmark='{number}']").click()

    assert (
        page.evaluate("location.hash") == f"#keep={','.join(map(str, sorted(chosen)))}&isGrouped=0"
    )
    page.locator("#only-bookmarked").check()
    assert sorted(numbers(page)) == sorted(chosen)
    page.reload()
    pressed = page.locator("#table [data-bookmark][aria-pressed=true]")
    assert pressed.count() == 2


def test_a_counterfactual_is_compared_with_the_row_in_a_dialog(visit: Open, report: Path) -> None:
    page = visit(report).page
    number = numbers(page)[0]

    page.locator(f"#details-{number}").press("Enter")

    assert page.locator("dialog[open] h2").inner_text() == f"Counterfactual {number}"
    assert page.locator("dialog .compare tbody tr").count() == 6
    page.keyboard.press("Escape")
    assert page.locator("dialog[open]").count() == 0
    assert page.evaluate("document.activeElement.id") == f"details-{number}"


def test_the_receipt_is_saved_as_json_with_what_was_chosen(
    visit: Open, report: Path, found: cp.Counterfactuals
) -> None:
    page = visit(report).page
    number = numbers(page)[0]
    page.locator(f"#table [data-bookmark='{number}']").click()
    page.locator("#lock-2").check()

    with page.expect_download() as download:
        page.locator("#save-receipt").click()

    receipt = json.loads(Path(download.value.path()).read_text(encoding="utf-8"))
    assert receipt["model fingerprint"] == found.fingerprints.model
    assert receipt["choices"]["bookmarks"][0]["counterfactual"] == number
    assert "duration is locked" in receipt["choices"]["constraints"]


def test_brushing_a_figure_filters_the_table_and_the_other_figures(
    visit: Open, report: Path
) -> None:
    page = visit(report).page
    wait_for_figures(page)
    n = remaining(page)[0]
    lines = page.locator("#figure-parallel svg path").count()
    panel = page.locator("#figure-objectives .figure-frame")
    panel.scroll_into_view_if_needed()
    box = page.locator("g.objectives_1_3_group path.background").first.bounding_box()

    page.mouse.move(box["x"] + 2, box["y"] + 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=8)
    page.mouse.up()

    page.wait_for_selector("#clear-brush:not([hidden])")
    brushed, text = remaining(page)
    assert brushed < n
    assert "a figure is brushed" in text
    wait_until(page, lambda: page.locator("#figure-parallel svg path").count() < lines)
    page.locator("#clear-brush").click()
    page.wait_for_selector("#clear-brush", state="hidden")
    assert remaining(page)[0] == n


def test_it_prints_without_controls(visit: Open, report: Path, tmp_path: Path) -> None:
    page = visit(report).page
    wait_for_figures(page)

    content = page.pdf(path=tmp_path / "row.pdf", format="A4")

    assert content.startswith(b"%PDF")
    page.emulate_media(media="print")
    assert not page.locator(".controls").is_visible()
    assert not page.locator("#interview").is_visible()
    assert page.locator("#receipt").is_visible()
    assert page.locator(".groups").is_visible()


def test_dark_and_light_as_the_system_says_and_as_the_reader_chooses(
    visit: Open, report: Path
) -> None:
    page = visit(report, color_scheme="dark").page
    wait_for_figures(page)

    def ground() -> str:
        return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))

    dark = ground()
    page.locator("#theme").click()
    light = ground()
    page.locator("#theme").click()
    assert dark != light
    assert ground() == dark
    wait_for_figures(page)


@pytest.mark.parametrize("width", [360, 390, 820, 1280])
def test_no_width_makes_the_page_scroll_sideways(visit: Open, report: Path, width: int) -> None:
    page = visit(report, viewport={"width": width, "height": 800}).page
    wait_for_figures(page)
    page.locator("#start-interview").click()

    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_axe_finds_nothing_serious(visit: Open, report: Path, scheme: str, width: int) -> None:
    visited = visit(report, color_scheme=scheme, viewport={"width": width, "height": 900})
    page = visited.page
    wait_for_figures(page)
    page.locator("#start-interview").click()
    assert page.locator("#answer-b").inner_text() == "I prefer B"
    assert page.locator("#answer-equal").inner_text() == "Both alike"
    page.locator("#answer-a", has_text="I prefer A").click()

    assert visited.violations() == []


def test_an_open_dialog_has_nothing_serious_either(visit: Open, report: Path) -> None:
    visited = visit(report)
    numbers(visited.page)
    visited.page.locator("button.link").first.click()

    assert visited.violations() == []


def test_a_loaded_result_says_what_is_left_out(
    visit: Open, found: cp.Counterfactuals, tmp_path: Path
) -> None:
    found.save(tmp_path / "found.json")
    cp.load(tmp_path / "found.json").report(tmp_path / "loaded.html")

    page = visit(tmp_path / "loaded.html").page

    wait_for_figures(page, 4)
    assert "figures that need the model are left out" in page.locator("header").inner_text()


def test_nothing_found_is_a_page_too(
    visit: Open, found: cp.Counterfactuals, tmp_path: Path
) -> None:
    found.take([]).report(tmp_path / "none.html", figures=False)

    visited = visit(tmp_path / "none.html")

    assert visited.page.locator("article.card").count() == 0
    assert visited.page.locator("#receipt").is_visible()
    assert visited.violations() == []


def test_without_figures_the_page_is_whole(
    visit: Open, found: cp.Counterfactuals, tmp_path: Path
) -> None:
    found.report(tmp_path / "plain.html", figures=False)

    page = visit(tmp_path / "plain.html").page

    assert page.locator("#figures").count() == 0
    assert len(numbers(page)) > 0


def test_the_keyboard_reaches_the_table_by_one_link(visit: Open, report: Path) -> None:
    page = visit(report).page

    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")

    assert page.evaluate("location.hash") == "#results"
