/** The dialog: one counterfactual beside the row, feature by feature. */
import { fill, h } from "./dom.js";
import { writeNumber } from "./numbers.js";
import { withUnit } from "./report.js";
import { say } from "./texts.js";

/** Return the dialog and a function that opens it. */
export function buildDetails(report, bookmarkButton) {
  const content = h("div", {});
  const dialog = h(
    "dialog",
    { id: "details", "aria-labelledby": "details-title" },
    content,
    h(
      "form",
      { method: "dialog", class: "dialog-foot" },
      h(
        "button",
        {
          class: "main",
          id: "close-details",
          onclick: (event) => {
            event.preventDefault();
            dialog.close();
          },
        },
        say("close"),
      ),
    ),
  );
  function show(number) {
    const each = report.byNumber.get(number);
    fill(
      content,
      h("h2", { id: "details-title" }, `${nounTitle(each)} ${number}`),
      each.lands ? h("p", { class: "hint" }, say("model says", { label: each.lands })) : null,
      compareTable(report, each),
      objectiveList(report, each),
      bookmarkButton(number),
    );
    dialog.showModal();
  }
  return { element: dialog, show };
}

function nounTitle(each) {
  return say(each.is_valid ? "counterfactual.title" : "near miss.title");
}

function compareTable(report, each) {
  const line = (feature, j) =>
    h(
      "tr",
      { class: each.isChanged[j] ? "is-changed" : null },
      h("th", { scope: "row" }, feature.name),
      h("td", { class: feature.is_numeric ? "number" : null }, withUnit(feature, feature.text)),
      h(
        "td",
        {
          class: `${each.isChanged[j] ? "changed" : "same"}${feature.is_numeric ? " number" : ""}`,
        },
        each.isChanged[j] ? withUnit(feature, each.texts[j]) : say("unchanged"),
      ),
    );
  return h(
    "table",
    { class: "compare" },
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        h("th", { scope: "col" }, say("feature")),
        h("th", { scope: "col" }, say("row")),
        h("th", { scope: "col" }, nounTitle(each)),
      ),
    ),
    h("tbody", {}, report.features.map(line)),
  );
}

function objectiveList(report, each) {
  return h(
    "dl",
    { class: "row-values" },
    h("div", {}, h("dt", {}, say("prediction")), h("dd", {}, `${report.row.text} → ${each.text}`)),
    report.objectives.map((objective, m) =>
      h("div", {}, h("dt", {}, objective.label), h("dd", {}, writeNumber(each.objectives[m]))),
    ),
  );
}
