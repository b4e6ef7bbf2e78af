"""The explorer as a person uses it: a served page, searches that run, tabs side by side."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pandas as pd
import pytest
from tests.browser.browser import Visit
from tests.browser.conftest import EVIL_LEVEL, EVIL_NAME, observed, score
from tests.browser.test_six_tables import ENGLISH
from tests.served import Gated, served
from tests.served import observed as incomplete

import counterpoint as cp
from counterpoint.explorer.server import Explorer
from counterpoint.explorer.sessions import VisitorLimits

Open = Callable[..., Visit]
PHONE = {"viewport": {"width": 390, "height": 844}}


class Held(Gated):
    """The score of the report's tests, held up after some calls."""

    n_free = 0

    def __call__(self, rows: pd.DataFrame) -> Any:
        """Return the probability of "yes"."""
        if self.n_free:
            self.n_free -= 1
        elif not self.gate.is_set():
            self.reached.set()
            assert self.gate.wait(60.0)
        return score(rows)

    def hold_after(self, n: int) -> None:
        """Let so many calls pass, and then none."""
        self.hold()
        self.n_free = n


@pytest.fixture(scope="module")
def model() -> Held:
    return Held()


@pytest.fixture(scope="module")
def explorer(model: Held) -> Iterator[Explorer]:
    data = observed()
    units = {"duration": "months", "income": "EUR"}
    explainer = cp.Explainer(model, data, classes=["no", "yes"], units=units, protected=["sex"])
    with served(explainer, data, limits=VisitorLimits(searches=2)) as running:
        yield running


@pytest.fixture
def page(visit: Open, explorer: Explorer, model: Held) -> Iterator[Any]:
    """Return the page of the question, with the second row, of which the model says no."""
    page = visit(explorer.address).page
    pick(page, 1)
    yield page
    model.gate.set()


def pick(page: Any, position: int) -> None:
    """Pick a row by its label."""
    page.locator("#ask-find").fill(str(position))
    page.locator(f"#ask-row-{position}").click()
    page.locator("#ask-values-title", has_text=f"Row {position}").wait_for()


def search(page: Any) -> None:
    """Search, and wait for the report."""
    page.locator("#ask-go").click()
    page.locator("#answer .groups").wait_for()


def test_a_search_shows_its_progress_and_lands_in_the_report(page: Any, model: Held) -> None:
    model.hold_after(6)
    page.locator("#ask-go").click()

    told = page.locator("#ask-told", has_text=re.compile(r"[1-9]\d* rows asked"))
    told.wait_for()
    assert page.locator("#ask-progress").get_attribute("value") != "0"
    assert page.evaluate("document.activeElement.id") == "ask-cancel"
    model.gate.set()
    page.locator("#answer .groups").wait_for()

    assert page.locator("#answer h1").inner_text() == "Row 1: what would have had to be different?"
    assert page.locator("#answer article.card").count() >= 2
    assert page.locator("#ask").is_hidden()
    page.locator("#figures .figure-frame svg").nth(5).wait_for()
    page.locator("#weight-3").fill("100")
    page.locator("#lock-0").check()
    assert "age is locked" in page.locator("#remain").inner_text()


def test_a_search_that_is_cancelled_shows_what_was_found(page: Any, model: Held) -> None:
    model.hold_after(6)
    page.locator("#ask-go").click()
    page.locator("#ask-told", has_text=re.compile(r"[1-9]\d* rows asked")).wait_for()

    page.locator("#ask-cancel").click()
    page.locator("#ask-told", has_text="Stopping").wait_for()
    model.gate.set()
    page.locator("#answer .groups").wait_for()

    assert "interrupt" in page.locator("#receipt").inner_text()


def test_a_changed_rule_is_obeyed_and_its_search_starts_from_the_last(page: Any) -> None:
    search(page)
    page.locator("#back").click()
    assert page.locator("#answer").is_hidden()

    page.locator("#ask-rules-text").fill("fixed duration")
    search(page)

    assert "started from the" in page.locator("#answer .note").first.inner_text()
    assert "fixed duration" in page.locator("#receipt").inner_text()
    assert page.locator("#lock-2").count() == 0  # no counterfactual changes it


def test_an_edited_value_changes_the_prediction_at_once(page: Any) -> None:
    said = page.locator("#ask-said")
    assert said.inner_text() == "no"

    page.locator("#ask-value-1").fill("3200")
    page.locator("#ask-value-2").fill("6")

    page.locator("#ask-said", has_text="yes").wait_for()
    assert "Before your edits: no" in page.locator(".prediction").inner_text()
    page.locator("#ask-undo").click()
    page.locator("#ask-said", has_text="no").wait_for()
    assert page.locator("#ask-value-2").input_value() != "6"


def test_an_edited_row_is_searched_as_it_was_edited(page: Any) -> None:
    page.locator("#ask-value-0").fill("58")
    page.locator("#ask-value-3").select_option(label="cook")
    page.locator("#ask-keep-0").check()

    search(page)

    assert page.locator("#answer h1").inner_text().startswith("Row 1, edited:")
    assert "58" in page.locator("#answer .row-values").inner_text()
    assert page.locator("#lock-0").count() == 0


def test_a_field_without_a_value_is_told_and_nothing_is_asked(page: Any) -> None:
    page.locator("#ask-value-0").fill("")
    page.locator("#ask-go").click()

    assert page.locator("#ask-error").inner_text() == "age needs a value."
    assert page.locator("#ask-value-0").get_attribute("aria-invalid") == "true"
    page.reload()
    assert page.locator("#ask-value-0").input_value() != ""


def test_rules_that_are_wrong_are_told_with_their_place(page: Any) -> None:
    page.locator("#ask-rules-text").fill("age increases\nage >> 21")

    page.locator("#ask-faults pre").wait_for()
    fault = page.locator("#ask-faults .fault")
    assert fault.inner_text().startswith('Line 2: rule "age >> 21": expected a value')
    assert fault.inner_text().endswith("age >> 21\n           ^")
    page.locator("#ask-go").click()
    page.locator("#ask-error", has_text="Mend the rules first.").wait_for()
    page.locator("#ask-rules-text").fill("age increases")
    page.locator("#ask-faults pre").wait_for(state="detached")


def test_what_is_wrong_with_a_condition_stands_under_its_place(
    visit: Open, explorer: Explorer
) -> None:
    visited = visit(explorer.address)
    page: Any = visited.page
    page.locator("#ask-where").fill("duration >=")
    told = page.locator(".finder .fault")
    told.wait_for()

    assert told.locator("pre").inner_text().splitlines()[-1].strip() == "^"
    assert page.locator("#ask-where").get_attribute("aria-invalid") == "true"
    page.locator("#ask-where").fill("")
    page.locator(".finder [role=status]", has_text=" of ").wait_for()
    assert page.locator(".finder .fault").count() == 0
    visited.errors.clear()  # the browser's own note on what was refused


def test_a_value_that_cannot_be_is_not_what_the_model_says(visit: Open, explorer: Explorer) -> None:
    visited = visit(explorer.address)
    page: Any = visited.page
    page.locator("input[type=number][id^=ask-value]").first.fill("1e99")
    page.locator("#ask-said", has_text="must lie between").wait_for()

    assert page.locator("#ask-said-title").is_hidden()
    assert page.locator(".prediction .hint").inner_text() == ""
    page.locator("#ask-undo").click()
    page.locator("#ask-said", has_text=re.compile("^(yes|no)$")).wait_for()
    assert page.locator("#ask-said-title").is_visible()
    visited.errors.clear()  # the browser's own note on what was refused


def test_a_wish_that_cannot_be_is_told(page: Any) -> None:
    page.locator("#ask-low").fill("2")
    page.locator("#ask-go").click()

    told = re.compile(r"target interval \(2\.0, .*\) (holds no probability|is upside down);")
    page.locator("#ask-error", has_text=told).wait_for()


def test_the_page_can_be_loaded_again_with_the_question_and_with_the_answer(page: Any) -> None:
    page.locator("#ask-rules-text").fill("age increases")
    page.locator("#ask-value-0").fill("31")
    page.reload()
    page.locator("#ask-values-title", has_text="Row 1").wait_for()
    assert page.locator("#ask-value-0").input_value() == "31"
    assert page.locator("#ask-rules-text").input_value() == "age increases"

    search(page)
    before = page.locator("#answer .lead").inner_text()
    assert "token" not in page.url
    page.reload()

    page.locator("#answer .groups").wait_for()
    assert page.locator("#answer .lead").inner_text() == before
    page.locator("#back").click()
    assert page.locator("#ask-value-0").input_value() == "31"


def test_who_loads_the_page_again_while_it_searches_can_search_anew(page: Any, model: Held) -> None:
    model.hold_after(6)
    page.locator("#ask-go").click()
    assert model.reached.wait(60.0)

    page.reload()
    page.locator("#ask-go").wait_for()
    model.gate.set()

    search(page)


def test_two_people_at_once_get_each_their_own(
    visit: Open, explorer: Explorer, model: Held
) -> None:
    pages = [visit(explorer.address).page for _ in range(2)]
    for page, position in zip(pages, (1, 3), strict=True):
        pick(page, position)
    pages[1].locator("#ask-rules-text").fill("fixed income")
    model.hold()
    for page in pages:
        page.locator("#ask-go").click()
    assert model.reached.wait(60.0)
    model.gate.set()

    for page, position in zip(pages, (1, 3), strict=True):
        page.locator("#answer .groups").wait_for()
        assert page.locator("#answer h1").inner_text().startswith(f"Row {position}:")
    assert "fixed income" not in pages[0].locator("#receipt").inner_text()
    assert "fixed income" in pages[1].locator("#receipt").inner_text()


def test_names_and_levels_that_would_be_markup_are_text(page: Any) -> None:
    page.on("dialog", lambda dialog: pytest.fail(f"a script ran: {dialog.message}"))
    page.locator("#ask-value-3").select_option(label=EVIL_LEVEL)
    page.locator("#ask-rules-text").fill("<img src=x onerror=alert(3)> >= 3")
    page.locator("#ask-faults pre").wait_for()

    assert page.locator("img").count() == 0
    assert page.get_by_text(EVIL_NAME).count() > 0
    page.locator("#ask-rules-text").fill("")
    page.locator("#ask-faults pre").wait_for(state="detached")
    page.locator("#ask-undo").click()
    search(page)
    page.locator("#figures .figure-frame svg").nth(5).wait_for()
    assert page.locator("img").count() == 0
    assert page.get_by_text(EVIL_LEVEL).count() > 0


def test_rows_are_found_and_paged(page: Any) -> None:
    page.locator("#ask-find").fill("11")
    page.locator("#ask-row-110").wait_for()
    page.locator("#ask-find").fill("")
    page.locator("#ask-row-0").wait_for()

    page.locator("#ask-after").click()
    page.locator("#ask-row-6").wait_for()
    assert page.locator("#ask-row-0").count() == 0
    page.locator("#ask-before").click()
    page.locator("#ask-row-0").wait_for()
    page.locator("#ask-find").fill("nobody")
    page.get_by_text("No row is like that.").wait_for()


def test_the_report_can_be_saved(page: Any) -> None:
    search(page)

    with page.expect_download() as download:
        page.locator("#save-report").click()

    assert download.value.suggested_filename == "Row-1.html"
    assert download.value.path().read_text().startswith("<!DOCTYPE html>")


def test_all_can_be_done_by_keyboard(page: Any) -> None:
    page.locator("#ask-go").focus()
    page.keyboard.press("Enter")
    page.locator("#answer .groups").wait_for()

    assert page.evaluate("document.activeElement.tagName") == "H1"
    page.locator("#back").press("Enter")
    assert page.evaluate("document.activeElement.id") == "ask-go"


@pytest.mark.parametrize(
    "options", [{}, {"color_scheme": "dark"}, PHONE, PHONE | {"color_scheme": "dark"}]
)
def test_nothing_serious_stands_between_the_page_and_anybody(
    visit: Open, explorer: Explorer, options: dict[str, Any]
) -> None:
    place = visit(explorer.address, **options)
    page = place.page
    page.locator("#ask-rows").wait_for()
    page.locator("#ask-rules-text").fill("age >> 21")
    page.locator("#ask-faults pre").wait_for()
    page.locator("details.more-options summary").click()
    width = "document.documentElement.scrollWidth - document.documentElement.clientWidth"

    assert place.violations() == []
    assert page.evaluate(width) == 0
    page.locator("#ask-rules-text").fill("")
    page.locator("#ask-faults pre").wait_for(state="detached")
    pick(page, 1)
    search(page)
    assert place.violations() == []
    assert page.evaluate(width) == 0


def test_without_the_token_there_is_no_page(browser: Any, explorer: Explorer) -> None:
    context = browser.new_context()
    page = context.new_page()

    answer = page.goto(explorer.address.partition("?")[0])

    assert answer.status == 403
    assert "lacks the token" in page.inner_text("body")
    context.close()


def test_a_server_that_ended_is_told(visit: Open, model: Held) -> None:
    data = observed()
    explainer = cp.Explainer(model, data, classes=["no", "yes"])
    with served(explainer, data) as ending:
        opened = visit(ending.address)
        opened.page.locator("#ask-rows").wait_for()

    opened.page.locator("#ask-go").click()

    opened.page.locator("#ask-error", has_text="cannot be reached").wait_for()
    opened.errors.clear()  # the browser's own note on the request that failed


def income(rows: pd.DataFrame) -> Any:
    """Return a number that needs no income."""
    return rows["income"].fillna(700.0) + 10.0 * rows["age"]


@contextmanager
def visited(
    visit: Open, explainer: cp.Explainer, data: pd.DataFrame, **options: Any
) -> Iterator[Any]:
    """Serve an explorer; leave its page first, since one that was edited still asks the server."""
    with served(explainer, data, **options) as running:
        place = visit(running.address)
        try:
            yield place.page
        finally:
            place.context.close()


def test_a_model_without_classes_and_a_row_with_a_gap_can_be_asked(visit: Open) -> None:
    data = incomplete()
    with visited(visit, cp.Explainer(income, data), data, first={"row": 11}) as page:
        page.locator("#ask-values-title", has_text="Row p11").wait_for()
        assert page.locator("#ask-missing-1").is_checked()
        assert page.locator("#ask-value-1").is_disabled()
        assert page.locator("#ask-label").count() == 0
        page.locator("#ask-go").click()
        page.locator("#ask-error", has_text="Say what you want").wait_for()

        page.locator("#ask-low").fill("2500")
        page.locator("#ask-value-3").fill("2021-05-06")
        search(page)

        assert page.locator("#answer h1").inner_text().startswith("Row p11, edited:")
        row = page.locator("#answer .row-values").inner_text()
        assert "missing" in row
        assert "6 May 2021" in row
        page.locator("#back").click()
        page.locator("#ask-missing-1").uncheck()
        assert page.locator("#ask-value-1").is_enabled()
        page.locator("#ask-value-1").fill("3000")
        page.locator("#ask-said", has_text="3,570").wait_for()
        page.locator("#figures .figure-frame svg").first.wait_for(state="attached")


def test_back_leads_to_the_question_and_answers_stay_at_hand(page: Any) -> None:
    page.locator("#ask-go").click()
    page.locator("#answer .groups").wait_for()

    page.go_back()

    page.locator("#ask-go").wait_for()
    page.locator("[id^=asked-]").first.click()
    page.locator("#answer .groups").wait_for()
    number = page.locator("article.card").first.get_attribute("data-number")
    page.get_by_label(f"Take the values of {number} as my edit").first.click()
    page.locator(".field.edited").first.wait_for()
    page.locator(".curve svg").first.wait_for()


def test_an_answer_opened_while_the_library_of_figures_loads_does_not_load_it_again(
    page: Any,
) -> None:
    held: list[Any] = []
    page.route("**/library.js", lambda route: held.append(route))
    page.locator("#ask-go").click()
    page.locator("#answer .groups").wait_for()
    page.locator("#figures").scroll_into_view_if_needed()
    page.go_back()
    page.locator("[id^=asked-]").first.click()
    page.locator("#answer .groups").wait_for()
    page.locator("#figures").scroll_into_view_if_needed()

    for route in held:
        route.continue_()

    page.locator("#figures .figure-frame svg").first.wait_for(state="attached")
    assert len(held) == 1


def test_a_prediction_of_values_before_is_greyed_and_what_is_outside_the_data_is_said(
    page: Any,
) -> None:
    page.locator("#ask-value-0").fill("")
    assert page.locator(".prediction.stale").count() == 1

    page.locator("#ask-value-0").fill("7")

    assert "outside the data (20 to 59)" in page.locator("#ask-was-0").inner_text()
    page.locator(".prediction:not(.stale)").wait_for()
    assert "(protected)" in page.locator("label[for=ask-value-5]").inner_text()


def test_rows_are_sorted_filtered_and_picked_from_a_scatter(page: Any) -> None:
    page.locator("#ask-sort").select_option("0.1")
    page.locator("#ask-where").fill("age <= 50")
    page.get_by_role("cell", name="50", exact=True).first.wait_for()

    page.locator(".scatter-panel summary").click()
    point = page.locator("[data-position='17']")
    point.wait_for()
    point.dispatch_event("click")

    page.get_by_role("heading", name="Row 17").wait_for()
    assert page.locator("#ask-text").input_value().startswith("row: 17\n")


def test_the_question_as_text_is_edited_and_applied(page: Any) -> None:
    page.locator("summary", has_text="The question as text").click()
    text = page.locator("#ask-text").input_value()
    page.locator("#ask-text").fill(f"{text}\nage = old")

    page.locator("#ask-text-apply").click()

    fault = page.locator("#ask-text-fault")
    fault.wait_for()
    assert "age must be a number, not “old”." in fault.inner_text()
    page.locator("#ask-text").fill(f"{text}\nage = 33\ncost: income = 2\nrule: age increases")
    page.locator("#ask-text-apply").click()
    fault.wait_for(state="hidden")
    assert page.locator("#ask-value-0").input_value() == "33"
    assert page.locator("#ask-cost-1").input_value() == "2"
    assert page.locator("#ask-rules-text").input_value() == "age increases"


def test_effort_and_range_of_a_feature_are_part_of_the_question(page: Any) -> None:
    page.locator("#ask-cost-1").select_option("5")
    page.locator("#ask-to-2").fill("24")
    page.locator("#ask-to-2").press("Tab")

    text = page.locator("#ask-text").input_value()

    assert "cost: income = 5" in text
    assert "range: duration = ..24" in text
    page.locator("#ask-keep-1").check()
    assert page.locator("#ask-cost-1").is_disabled()


def test_the_page_and_the_letter_of_a_customer_are_saved_in_a_language(page: Any) -> None:
    page.locator("#ask-go").click()
    page.locator("#answer .groups").wait_for()
    page.locator("#save-lang").select_option("de")

    saved = []
    for link in ("#save-report", "#save-page", "#save-letter"):
        with page.expect_download() as download:
            page.locator(link).click()
        saved.append(download.value.path().read_text(encoding="utf-8"))

    assert all('<html lang="de">' in text for text in saved)
    assert "Wege zum Ziel" in saved[0]
    assert all("Wie das Ergebnis hätte anders ausfallen können" in text for text in saved[1:])


@pytest.fixture(scope="module")
def german() -> Iterator[Explorer]:
    names = {"age": "das Alter", "income": "das Einkommen", "duration": "die Laufzeit"}
    names |= {EVIL_NAME: "der Beruf", "since": "der Beginn", "sex": "das Geschlecht"}
    labels = cp.Labels(
        features=names,
        levels={EVIL_NAME: {"clerk": "Büro", "cook": "Küche", EVIL_LEVEL: "Sonstiges"}},
        classes={"no": "abgelehnt", "yes": "genehmigt"},
        lang="de",
    )
    data = observed()
    explainer = cp.Explainer(Held(), data, classes=["no", "yes"], labels=labels, protected=["sex"])
    with served(explainer, data, lang="de") as running:
        yield running


def shown(page: Any) -> str:
    """Return what is to be read or heard on a page, without rules and names of the data."""
    page.evaluate("document.querySelectorAll('#ask-text, [lang=en]').forEach((e) => e.remove())")
    texts = page.locator("body").all_inner_texts()
    for name in ("aria-label", "placeholder", "title"):
        said = f"(all) => all.map((each) => each.getAttribute('{name}'))"
        texts += page.eval_on_selector_all(f"[{name}]:not([aria-hidden] *)", said)
    code = re.compile(r"\b[A-Z]\w+\([^()]*\)|„(fixed|increases)“|\b\w+( >= [\d.]+| increases)$")
    return "\n".join(code.sub("", text) for text in texts).replace("JSON", "")


def test_a_german_explorer_has_no_english_word(visit: Open, german: Explorer) -> None:
    page: Any = visit(german.address).page
    page.locator("#ask-row-1").click()
    page.locator("#ask-values-title", has_text="Zeile 1").wait_for()
    for summary in page.locator("#ask-main summary").all():
        summary.click()
    page.locator(".scatter-point").first.wait_for(state="attached")
    page.locator("#ask-value-0").fill("-5")
    page.locator("#ask-low").fill("0.6")
    page.locator("#ask-said", has_text="abgelehnt").wait_for()
    assert "außerhalb der Daten (20 bis 59)" in page.locator("#ask-was-0").inner_text()
    text = page.locator("#ask-text").input_value()
    assert text.startswith("Zeile: 1\nage = -5\n")
    assert "\nZiel: yes:0.6..\n" in text
    page.locator("#ask-text").fill(text.replace("age = -5", "age = 31"))
    page.locator("#ask-text-apply").click()
    assert page.locator("#ask-value-0").input_value() == "31"
    page.locator("#ask-go").click()
    page.locator("#answer .groups").wait_for()
    page.locator("#figures .figure-frame svg").nth(5).wait_for()
    page.locator("#start-interview").click()

    assert page.locator("html").get_attribute("lang") == "de"
    assert page.locator("#answer h1").inner_text().startswith("Zeile 1, geändert: Was hätte")
    assert page.locator("#save-lang").input_value() == "de"
    page.locator("#answer article.card", has_text="Als meine Werte").first.wait_for()
    assert ENGLISH.findall(shown(page).lower()) == []
    page.locator("#back").click()
    page.locator("li", has_text="Zeile 1, geändert: P(„genehmigt“) mindestens 0,6").wait_for()
    assert ENGLISH.findall(shown(page).lower()) == []


def test_a_german_explorer_says_what_is_wrong_in_german(visit: Open, german: Explorer) -> None:
    page: Any = visit(german.address).page
    page.locator("#ask-value-0").fill("")
    page.locator("#ask-go").click()
    page.locator("#ask-error", has_text="Alter braucht einen Wert.").wait_for()
    page.locator("details.panel summary").click()
    page.locator("#ask-text").fill("Zeile: 1\nage = x")
    page.locator("#ask-text-apply").click()

    said = page.locator("#ask-text-fault").inner_text()
    assert said == "Zeile 2: age muss eine Zahl sein, nicht „x“."


def test_fields_of_a_wide_table_are_found_by_name(visit: Open) -> None:
    data = pd.DataFrame({f"measure_{j:02d}": [0.0, 1.0, 2.0, 3.0] for j in range(40)})
    explainer = cp.Explainer(lambda rows: rows["measure_07"] / 3.0, data)
    with visited(visit, explainer, data) as page:
        page.locator("#ask-row-0").click()
        fields = page.locator(".fields > .field:visible")

        assert fields.count() == 12
        page.locator("#ask-find-field").fill("measure 33")
        assert fields.count() == 1
        page.locator("#ask-value-33").fill("2.5")
        page.locator("#ask-find-field").fill("")
        assert fields.count() == 13  # what was edited stays
        page.locator("#ask-all-fields").click()
        assert fields.count() == 40
