/** The receipt's panel: to read, to print, or to save as JSON. */
import { fill, h } from "./dom.js";
import { fullReceipt, receiptLines } from "./receipt.js";
import { decimalText, say } from "./texts.js";

/** Return the section of the receipt. */
export function buildReceipt(report) {
  const list = h("dl", { class: "receipt" });
  let latest = null;
  const element = h(
    "section",
    { class: "panel", id: "receipt", "aria-labelledby": "receipt-title" },
    h("h2", { id: "receipt-title" }, say("receipt")),
    h("p", { class: "hint" }, say("receipt.about")),
    list,
    h(
      "div",
      { class: "receipt-actions" },
      h(
        "button",
        {
          type: "button",
          class: "main",
          id: "save-receipt",
          onclick: () => saveJson("receipt.json", latest),
        },
        say("receipt.save"),
      ),
      h("button", { type: "button", class: "quiet", onclick: () => print() }, say("print")),
    ),
  );
  function refresh(state, view) {
    latest = fullReceipt(report, state, view);
    fill(
      list,
      receiptLines(shortened(latest, report)).map(([name, lines]) =>
        h(
          "div",
          {},
          h("dt", {}, name),
          lines.map((line) => h("dd", {}, line)),
        ),
      ),
    );
  }
  return { element, refresh };
}

/** Return the receipt as it is shown: in the page's language, bookmarks by number. */
function shortened(receipt, { receipt_texts: texts, objectives }) {
  const labels = new Map(objectives.map(({ name, label }) => [name, label]));
  const choices = {
    ...receipt.choices,
    weights: Object.entries(receipt.choices.weights).map(
      ([name, weight]) => `${labels.get(name)} ${decimalText(weight, 3)}`,
    ),
    bookmarks: receipt.choices.bookmarks.map((each) => each.counterfactual),
    answers: receipt.choices.answers.length || null,
  };
  return { ...receipt, ...texts, choices };
}

/** Let the browser save a value as a file of JSON. */
function saveJson(name, value) {
  const blob = new Blob([`${JSON.stringify(value, null, 2)}\n`], { type: "application/json" });
  const link = h("a", { href: URL.createObjectURL(blob), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
