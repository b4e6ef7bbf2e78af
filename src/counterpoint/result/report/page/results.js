/** All candidates: how many remain and why, grouped by what changes, or as one table that sorts. */
import { fill, h } from "./dom.js";
import { countText, groupsOf, groupText } from "./groups.js";
import { bestRelaxation, othersText, remainText } from "./limits.js";
import { changedFeatures } from "./report.js";
import { sorted } from "./sorting.js";
import { drawStrip, spansOf } from "./strip.js";
import { body, caption, head } from "./table.js";
import { say } from "./texts.js";

const MORE = 100;

/** Return the section with the table, and the bar above it that says how many remain. */
export function buildResults(report, store, actions) {
  const remain = h("p", { id: "remain", class: "remain", role: "status", "aria-live": "polite" });
  const helpers = h("div", { class: "helpers" });
  const shown = h("div", { id: "listed" });
  const more = h("div", { class: "more" });
  const setting = (key) => (isOn) => store.set({ [key]: isOn });
  const boxes = {
    onlyValid: checkbox("only-valid", say("only.valid"), setting("onlyValid")),
    onlyUnprotected: checkbox(
      "only-unprotected",
      say("only.unprotected"),
      setting("onlyUnprotected"),
    ),
    onlyBookmarked: checkbox("only-bookmarked", say("only.bookmarked"), setting("onlyBookmarked")),
    isGrouped: checkbox("is-grouped", say("grouped"), setting("isGrouped")),
  };
  const hasProtected = [...report.byNumber.values()].some((each) => each.is_protected);
  const element = h(
    "section",
    { id: "results", tabindex: -1, "aria-labelledby": "results-title" },
    h("h2", { id: "results-title" }, tableTitle(report.counterfactuals)),
    h(
      "div",
      { class: "filters" },
      boxes.onlyValid.element,
      hasProtected ? boxes.onlyUnprotected.element : null,
      boxes.onlyBookmarked.element,
      boxes.isGrouped.element,
    ),
    shown,
    more,
  );
  function refresh(state, view) {
    const text = remainText(report.counterfactuals, view.constraints, view);
    remain.textContent = `${text}${othersText(view.others.length)}`;
    for (const [key, { box }] of Object.entries(boxes)) box.checked = state[key];
    fill(helpers, relaxButton(view, store), resetButton(report, view, store));
    const rows = sorted(view.shown, state.sort, view.ranks);
    const context = { report, state, view, store, actions };
    fill(shown, state.isGrouped ? groupList(context, rows) : flatTable(context, rows));
    fill(more, state.isGrouped ? null : moreButton(rows.length - state.nShown, state, store));
  }
  return { element, bar: h("div", { class: "remain-bar" }, remain, helpers), refresh };
}

function flatTable({ report, state, view, store, actions }, rows) {
  const places = changedFeatures(report, view.shown);
  return scrolled(
    h(
      "table",
      { id: "table" },
      caption(Math.min(state.nShown, rows.length), rows.length),
      head(report, places, state, store),
      body(report, places, rows.slice(0, state.nShown), view, actions),
    ),
    "results-title",
  );
}

function scrolled(table, title) {
  return h(
    "div",
    { class: "scroll", role: "region", tabindex: 0, "aria-labelledby": title },
    table,
  );
}

/** Return the groups; those that were opened with their tables. */
function groupList(context, rows) {
  const groups = groupsOf(rows);
  return h(
    "div",
    { class: "groups" },
    groups.map((group, k) => buildGroup(context, group, k, groups.length === 1)),
  );
}

function buildGroup({ report, state, view, store, actions }, group, k, isOnly) {
  const isOpen = isOnly || state.opened.includes(group.key);
  const toggle = () => {
    const others = store.get().opened.filter((key) => key !== group.key);
    store.set({ opened: isOpen ? others : [...others, group.key] });
  };
  const title = `group-${group.key || "none"}`;
  const single = group.places.length === 1 ? report.features[group.places[0]] : null;
  const button = h(
    "button",
    {
      type: "button",
      class: "group-head",
      id: title,
      "aria-expanded": String(isOpen),
      onclick: toggle,
    },
    h("span", { class: "group-mark", "aria-hidden": "true" }, isOpen ? "▾" : "▸"),
    h("span", { class: "group-name" }, groupText(report, group)),
    h("span", { class: "hint" }, countText(group)),
  );
  const strip =
    single?.is_numeric && single.bars.length && group.rows.some((each) => each.is_valid)
      ? drawStrip(single, group.rows[0].values[group.places[0]], worksOf(group, single.row))
      : null;
  const rows = group.rows.slice(0, state.nShown);
  return h(
    "div",
    { class: "group" },
    h("div", { class: "group-line" }, button, strip),
    isOpen
      ? scrolled(
          h(
            "table",
            { id: k === 0 ? "table" : null },
            caption(rows.length, group.rows.length),
            head(report, group.places, state, store, k),
            body(report, group.places, rows, view, actions),
          ),
          title,
        )
      : null,
    isOpen ? moreButton(group.rows.length - state.nShown, state, store, k) : null,
  );
}

function worksOf(group, row) {
  const valid = group.rows.filter((each) => each.is_valid);
  return {
    spans: spansOf(
      valid.map((each) => each.values[group.places[0]]),
      row,
    ),
  };
}

function tableTitle(candidates) {
  if (candidates.every((each) => each.is_valid)) return say("table.title");
  const someReach = candidates.some((each) => each.is_valid);
  return say(someReach ? "table.title both" : "table.title misses");
}

function moreButton(left, state, store, k = 0) {
  if (left <= 0) return null;
  const show = () => store.set({ nShown: state.nShown + MORE });
  const text = say("table.more", { n: Math.min(MORE, left), left });
  const id = k === 0 ? "show-more" : `show-more-${k}`;
  return h("button", { type: "button", class: "quiet", id, onclick: show }, text);
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
    say("limits.reset"),
  );
}
