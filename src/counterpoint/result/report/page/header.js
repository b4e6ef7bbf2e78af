/** The head of the page: what was asked, where the row is, and the row itself. */
import { h } from "./dom.js";
import { withUnit } from "./report.js";
import { drawScale } from "./scale.js";
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
      h("p", { class: "brand" }, "Counterfactual report"),
      h(
        "div",
        { class: "bar-actions" },
        extra,
        button,
        h(
          "button",
          { type: "button", class: "quiet", id: "print", onclick: () => print() },
          "Print",
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
        report.notes.map((note) => h("p", { class: "note" }, note)),
        report.is_loaded
          ? h(
              "p",
              { class: "note" },
              "This result was loaded from a file, without its model: figures that need the model are left out.",
            )
          : null,
      ),
      drawScale(report),
    ),
  ];
}

/** Return the page's title: what this is about. */
function headline(report) {
  return `${report.title}: what would have had to be different?`;
}

function sentenceCase(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Return the explained row as a list of features and values. */
export function buildRow(report) {
  return h(
    "section",
    { class: "panel", "aria-labelledby": "row-title" },
    h("h2", { id: "row-title" }, "The row as it is"),
    h(
      "dl",
      { class: "row-values" },
      report.features.map((feature) =>
        h(
          "div",
          {},
          h("dt", {}, feature.name),
          h("dd", {}, withUnit(feature, feature.text)),
          h(
            "dd",
            { class: "observed" },
            feature.is_numeric ? `observed ${feature.range}` : `one of ${feature.levels.length}`,
          ),
        ),
      ),
    ),
  );
}
