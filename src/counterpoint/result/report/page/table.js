/** The table of counterfactuals: headings that sort, the row on top, changed values in bold. */
import { h } from "./dom.js";
import { nounOf, writeNumber } from "./numbers.js";
import { ariaSort, nextSort } from "./sorting.js";
import { say } from "./texts.js";

/** Return what the table is, in a line. */
export function caption(shown, all) {
  return h("caption", {}, say("table.caption", { shown, all }));
}

/** Return the headings, which sort; `k` tells the tables of a page apart. */
export function head(report, places, state, store, k = 0) {
  const column = (key, text, { isNumber = false, hint = null, more = "" } = {}) =>
    h(
      "th",
      {
        scope: "col",
        "aria-sort": ariaSort(state.sort, key),
        class: `${isNumber ? "number" : ""}${more}`,
      },
      h(
        "button",
        {
          type: "button",
          id: k === 0 ? `sort-${key}` : `sort-${k}-${key}`,
          title: hint,
          onclick: () => store.set({ sort: nextSort(state.sort, key) }),
        },
        text,
        h("span", { class: "sort-mark", "aria-hidden": "true" }, sortMark(state.sort, key)),
      ),
    );
  return h(
    "thead",
    {},
    h(
      "tr",
      {},
      h("th", { scope: "col" }, h("span", { class: "unseen" }, say("bookmark"))),
      column("rank", say("rank"), { isNumber: true, hint: say("rank.hint"), more: " rank" }),
      column("number", say("number"), { isNumber: true, hint: say("number.hint") }),
      column("prediction", say("prediction"), { isNumber: true }),
      places.map((j) =>
        column(`feature.${j}`, headText(report.features[j]), {
          isNumber: report.features[j].is_numeric,
        }),
      ),
      report.objectives.map((objective, m) =>
        column(`objective.${m}`, objective.short, { isNumber: true, hint: objective.hint }),
      ),
    ),
  );
}

function headText(feature) {
  return feature.unit ? `${feature.name} (${feature.unit})` : feature.name;
}

function sortMark(sort, key) {
  if (sort.key !== key) return "";
  return sort.isDescending ? "\u00a0▼" : "\u00a0▲"; // on the line of the heading
}

/** Return the row itself, then the counterfactuals. */
export function body(report, places, rows, view, actions) {
  const own = h(
    "tr",
    { class: "own" },
    h("td", {}),
    h("td", { class: "rank" }),
    h("th", { scope: "row", class: "number" }, say("row.short")),
    h("td", { class: "number" }, report.row.text),
    places.map((j) =>
      h("td", { class: report.features[j].is_numeric ? "number" : null }, report.features[j].text),
    ),
    report.objectives.map(() => h("td", {})),
  );
  return h(
    "tbody",
    {},
    own,
    rows.map((each) => bodyRow(report, places, each, view, actions)),
  );
}

function bodyRow(report, places, each, view, actions) {
  return h(
    "tr",
    { "data-number": each.number },
    h("td", {}, actions.bookmarkButton(each.number)),
    h("td", { class: "number rank" }, String(view.ranks.get(each.number))),
    h(
      "th",
      { scope: "row", class: "number" },
      h(
        "button",
        {
          type: "button",
          class: "link",
          id: `details-${each.number}`,
          "aria-label": say("compare.label", { noun: nounOf(each), number: each.number }),
          onclick: () => actions.showDetails(each.number),
        },
        String(each.number),
      ),
    ),
    h(
      "td",
      { class: each.is_valid ? "number valid" : "number", "data-label": say("prediction") },
      each.text,
    ),
    places.map((j) =>
      h(
        "td",
        {
          class: `${each.isChanged[j] ? "changed" : "same"}${report.features[j].is_numeric ? " number" : ""}`,
          "data-label": report.features[j].name,
        },
        each.texts[j],
      ),
    ),
    each.objectives.map((value, m) =>
      h("td", { class: "number", "data-label": report.objectives[m].short }, writeNumber(value)),
    ),
  );
}
