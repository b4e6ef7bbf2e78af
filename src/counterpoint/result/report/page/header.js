/** The head of the page: what was asked, where the row is, and the row itself. */
import { h } from "./dom.js";
import { withUnit } from "./report.js";
import { drawScale } from "./scale.js";
import { say } from "./texts.js";
import { applyTheme, nextTheme, themeLabel } from "./theme.js";

/** Return the page's header; `onTheme` is told when the colours change, `extra` are more buttons. */
export function buildHeader(report, onTheme, extra = []) {
  let theme = document.documentElement.dataset.theme ?? "auto";
  const button = h(
    "button",
    { type: "button", class: "quiet", id: "theme", onclick: change },
    themeLabel(theme),
  );
  function change() {
    theme = nextTheme(theme);
    applyTheme(theme);
    button.textContent = themeLabel(theme);
    onTheme();
  }
  return [
    h(
      "div",
      { class: "bar" },
      h("p", { class: "brand" }, say("brand")),
      h(
        "div",
        { class: "bar-actions" },
        extra,
        button,
        h(
          "button",
          { type: "button", class: "quiet", id: "print", onclick: () => print() },
          say("print"),
        ),
      ),
    ),
    h(
      "div",
      { class: "hero" },
      h(
        "div",
        {},
        h("h1", {}, headline(report)),
        h("p", { class: "lead" }, sentenceCase(report.message)),
        report.row.lands
          ? h("p", { class: "now" }, say("model says now", { label: report.row.lands }))
          : null,
        report.headline ? h("p", { class: "note", id: "headline" }, report.headline) : null,
        report.notes.map((note) => h("p", { class: "note" }, sentenceCase(note))),
        report.is_loaded ? h("p", { class: "note" }, say("loaded")) : null,
      ),
      drawScale(report),
    ),
  ];
}

/** Return the page's title: what this is about. */
function headline(report) {
  const key = report.status === "already_met" ? "title.met" : "title";
  return say(key, { title: report.title });
}

function sentenceCase(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

const MANY = 12; // values, of which one would be looked for

/** Return the explained row: what would change first, the rest on demand. */
export function buildRow(report) {
  const shown = new Set(report.representatives.flatMap(({ number }) => changesOf(report, number)));
  const places = report.features.map((_, j) => j);
  const rest = places.filter((j) => !shown.has(j));
  const isShort = places.length <= MANY || !shown.size;
  return h(
    "section",
    { class: "panel", id: "row", "aria-labelledby": "row-title" },
    h("h2", { id: "row-title" }, say("row.title")),
    valueList(
      report,
      isShort && rest.length <= MANY ? places : places.filter((j) => shown.has(j)).slice(0, MANY),
    ),
    isShort && rest.length <= MANY ? null : buildRest(report, places),
  );
}

function changesOf(report, number) {
  return report.byNumber.get(number).changes.map(([j]) => j);
}

/** Return all values behind a summary, with a field to find one. */
function buildRest(report, places) {
  const list = valueList(report, places);
  const find = h("input", {
    type: "search",
    id: "find-value",
    "aria-label": say("find.label"),
    placeholder: say("find"),
    oninput: () => {
      const wanted = find.value.trim().toLowerCase();
      report.features.forEach((feature, j) => {
        list.children[j].hidden = !feature.name.toLowerCase().includes(wanted);
      });
    },
  });
  return h(
    "details",
    { class: "rest" },
    h("summary", {}, say("row.all", { n: places.length })),
    find,
    list,
  );
}

function valueList(report, places) {
  return h(
    "dl",
    { class: "row-values" },
    places.map((j) => {
      const feature = report.features[j];
      return h(
        "div",
        {},
        h("dt", {}, feature.name, feature.is_protected ? ` ${say("protected")}` : ""),
        h("dd", {}, withUnit(feature, feature.text)),
        h(
          "dd",
          { class: "observed" },
          feature.is_numeric
            ? say("observed", { range: feature.range })
            : say("one of", { n: feature.levels.length }),
        ),
      );
    }),
  );
}
