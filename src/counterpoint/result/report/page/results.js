/** All counterfactuals: how many remain and why, and a table that can be sorted. */
import { fill, h } from "./dom.js";
import { bestRelaxation, remainText } from "./limits.js";
import { shortNumber } from "./numbers.js";
import { changedFeatures } from "./report.js";
import { ariaSort, nextSort, sorted } from "./sorting.js";

const MORE = 100;

/** Return the section with the table. */
export function buildResults(report, store, actions) {
  const remain = h("p", { id: "remain", class: "remain", role: "status", "aria-live": "polite" });
  const helpers = h("div", { class: "helpers" });
  const table = h("table", { id: "table" });
  const more = h("div", { class: "more" });
  const onlyValid = checkbox("only-valid", "Only those that reach the target", (isOn) => store.set({ onlyValid: isOn }));
  const onlyBookmarked = checkbox("only-bookmarked", "Only bookmarked", (isOn) => store.set({ onlyBookmarked: isOn }));
  const onlyUnprotected = checkbox("only-unprotected", "Without changes of protected features", (isOn) => store.set({ onlyUnprotected: isOn }));
  const hasProtected = report.counterfactuals.some((each) => each.is_protected);
  const element = h("section", { id: "results", tabindex: -1, "aria-labelledby": "results-title" },
    h("h2", { id: "results-title" }, "All counterfactuals"),
    remain, helpers,
    h("div", { class: "filters" }, onlyValid.element, hasProtected ? onlyUnprotected.element : null, onlyBookmarked.element),
    h("div", { class: "scroll", role: "region", tabindex: 0, "aria-labelledby": "results-title" }, table),
    more,
  );
  function refresh(state, view) {
    remain.textContent = remainText(view.kept.length, report.counterfactuals.length, view.constraints, view);
    onlyValid.box.checked = state.onlyValid;
    onlyUnprotected.box.checked = state.onlyUnprotected;
    onlyBookmarked.box.checked = state.onlyBookmarked;
    fill(helpers, relaxButton(view, store), resetButton(report, view, store));
    const rows = sorted(view.kept, state.sort, view.ranks);
    const places = changedFeatures(report, view.kept);
    fill(table, caption(state, view), head(report, places, state, store), body(report, places, rows.slice(0, state.nShown), view, actions));
    const left = rows.length - state.nShown;
    fill(more, left > 0 ? h("button", { type: "button", class: "quiet", id: "show-more", onclick: () => store.set({ nShown: state.nShown + MORE }) }, `Show ${Math.min(MORE, left)} more of ${left}`) : null);
  }
  return { element, refresh };
}

function checkbox(id, text, set) {
  const box = h("input", { type: "checkbox", id, onchange: (event) => set(event.target.checked) });
  return { box, element: h("label", { class: "check", for: id }, box, text) };
}

/** Return the button that takes back the one limit that helps most, where none remains. */
function relaxButton(view, store) {
  const best = view.kept.length ? null : bestRelaxation(view.constraints, view.alone);
  if (!best) return null;
  const take = () => store.set(best.constraint.without(store.get()));
  return h("button", { type: "button", class: "main", id: "relax", onclick: take }, `${best.constraint.relax} (${best.n})`);
}

function resetButton(report, view, store) {
  const isLimited = view.constraints.some((constraint) => !["valid", "protected"].includes(constraint.id));
  if (!isLimited) return null;
  const reset = () => store.set({ limits: report.features.map(() => ({})), brush: null, onlyBookmarked: false });
  return h("button", { type: "button", class: "quiet", id: "reset-all", onclick: reset }, "Take back all limits");
}

function caption(state, view) {
  const shown = Math.min(state.nShown, view.kept.length);
  return h("caption", {}, `${shown} of ${view.kept.length} shown. Changed values are bold, unchanged ones grey.`);
}

function head(report, places, state, store) {
  const column = (key, text, { isNumber = false, hint = null, more = "" } = {}) =>
    h("th", { scope: "col", "aria-sort": ariaSort(state.sort, key), class: `${isNumber ? "number" : ""}${more}` },
      h("button", { type: "button", id: `sort-${key}`, title: hint, onclick: () => store.set({ sort: nextSort(state.sort, key) }) },
        text, h("span", { class: "sort-mark", "aria-hidden": "true" }, sortMark(state.sort, key))));
  return h("thead", {}, h("tr", {},
    h("th", { scope: "col" }, h("span", { class: "unseen" }, "Bookmark")),
    column("rank", "Rank", { isNumber: true, hint: "by the sliders", more: " rank" }),
    column("number", "No.", { isNumber: true, hint: "its number in the result" }),
    column("prediction", "Prediction", { isNumber: true }),
    places.map((j) => column(`feature.${j}`, headText(report.features[j]), { isNumber: report.features[j].is_numeric })),
    report.objectives.map((objective, m) => column(`objective.${m}`, objective.short, { isNumber: true, hint: objective.hint })),
  ));
}

function headText(feature) {
  return feature.unit ? `${feature.name} (${feature.unit})` : feature.name;
}

function sortMark(sort, key) {
  if (sort.key !== key) return "";
  return sort.isDescending ? "\u00a0▼" : "\u00a0▲"; // on the line of the heading
}

function body(report, places, rows, view, actions) {
  const own = h("tr", { class: "own" },
    h("td", {}), h("td", { class: "rank" }), h("th", { scope: "row", class: "number" }, "row"),
    h("td", { class: "number" }, report.row.text),
    places.map((j) => h("td", { class: report.features[j].is_numeric ? "number" : null }, report.features[j].text)),
    report.objectives.map(() => h("td", {})),
  );
  return h("tbody", {}, own, rows.map((each) => bodyRow(report, places, each, view, actions)));
}

function bodyRow(report, places, each, view, actions) {
  return h("tr", { "data-number": each.number },
    h("td", {}, actions.bookmarkButton(each.number)),
    h("td", { class: "number rank" }, String(view.ranks.get(each.number))),
    h("th", { scope: "row", class: "number" },
      h("button", { type: "button", class: "link", id: `details-${each.number}`, "aria-label": `Compare counterfactual ${each.number} with the row`, onclick: () => actions.showDetails(each.number) }, String(each.number))),
    h("td", { class: each.is_valid ? "number valid" : "number" }, each.text),
    places.map((j) => h("td", { class: `${each.isChanged[j] ? "changed" : "same"}${report.features[j].is_numeric ? " number" : ""}` }, each.texts[j])),
    each.objectives.map((value) => h("td", { class: "number" }, shortNumber(value))),
  );
}
