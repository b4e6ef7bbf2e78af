/** All counterfactuals: how many remain and why, and a table that can be sorted. */
import { fill, h } from "./dom.js";
import { bestRelaxation, othersText, remainText } from "./limits.js";
import { changedFeatures } from "./report.js";
import { sorted } from "./sorting.js";
import { body, caption, head } from "./table.js";

const MORE = 100;
const UNPROTECTED = "Without changes of protected features";

/** Return the section with the table. */
export function buildResults(report, store, actions) {
  const remain = h("p", { id: "remain", class: "remain", role: "status", "aria-live": "polite" });
  const helpers = h("div", { class: "helpers" });
  const table = h("table", { id: "table" });
  const more = h("div", { class: "more" });
  const setting = (key) => (isOn) => store.set({ [key]: isOn });
  const boxes = {
    onlyValid: checkbox("only-valid", "Hide near misses", setting("onlyValid")),
    onlyUnprotected: checkbox("only-unprotected", UNPROTECTED, setting("onlyUnprotected")),
    onlyBookmarked: checkbox("only-bookmarked", "Only bookmarked", setting("onlyBookmarked")),
  };
  const hasProtected = [...report.byNumber.values()].some((each) => each.is_protected);
  const element = h(
    "section",
    { id: "results", tabindex: -1, "aria-labelledby": "results-title" },
    h("h2", { id: "results-title" }, tableTitle(report.counterfactuals)),
    remain,
    helpers,
    h(
      "div",
      { class: "filters" },
      boxes.onlyValid.element,
      hasProtected ? boxes.onlyUnprotected.element : null,
      boxes.onlyBookmarked.element,
    ),
    h(
      "div",
      { class: "scroll", role: "region", tabindex: 0, "aria-labelledby": "results-title" },
      table,
    ),
    more,
  );
  function refresh(state, view) {
    const text = remainText(report.counterfactuals, view.constraints, view);
    remain.textContent = `${text}${othersText(view.others.length)}`;
    for (const [key, { box }] of Object.entries(boxes)) box.checked = state[key];
    fill(helpers, relaxButton(view, store), resetButton(report, view, store));
    const rows = sorted(view.shown, state.sort, view.ranks);
    const places = changedFeatures(report, view.shown);
    fill(
      table,
      caption(state, view),
      head(report, places, state, store),
      body(report, places, rows.slice(0, state.nShown), view, actions),
    );
    fill(more, moreButton(rows.length - state.nShown, state, store));
  }
  return { element, refresh };
}

function tableTitle(candidates) {
  if (candidates.every((each) => each.is_valid)) return "All counterfactuals";
  const someReach = candidates.some((each) => each.is_valid);
  return someReach ? "All counterfactuals and near misses" : "All near misses";
}

function moreButton(left, state, store) {
  if (left <= 0) return null;
  const show = () => store.set({ nShown: state.nShown + MORE });
  const text = `Show ${Math.min(MORE, left)} more of ${left}`;
  return h("button", { type: "button", class: "quiet", id: "show-more", onclick: show }, text);
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
  return h(
    "button",
    { type: "button", class: "main", id: "relax", onclick: take },
    `${best.constraint.relax} (${best.n})`,
  );
}

function resetButton(report, view, store) {
  const isLimited = view.constraints.some(
    (constraint) => !["valid", "protected"].includes(constraint.id),
  );
  if (!isLimited) return null;
  const reset = () =>
    store.set({ limits: report.features.map(() => ({})), brush: null, onlyBookmarked: false });
  return h(
    "button",
    { type: "button", class: "quiet", id: "reset-all", onclick: reset },
    "Take back all limits",
  );
}
