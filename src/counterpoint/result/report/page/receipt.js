/** The receipt: what was asked, and what the reader chose, as lines and as JSON. */
import { say } from "./texts.js";

/** Return the receipt with the reader's choices: weights, limits, answers and bookmarks. */
export function fullReceipt(report, state, remaining) {
  return {
    ...report.receipt,
    choices: {
      weights: Object.fromEntries(report.objectives.map(({ name }, m) => [name, state.weights[m]])),
      constraints: remaining.constraints.map((constraint) => constraint.text),
      remaining: remaining.kept.length,
      answers: (state.answers ?? []).map(({ better, worse, equal }) => ({ better, worse, equal })),
      bookmarks: state.bookmarks.map((number) => bookmarked(report, number)),
    },
  };
}

function bookmarked(report, number) {
  const each = report.byNumber.get(number);
  return {
    counterfactual: number,
    prediction: each.prediction,
    changes: each.changes.map(([j, , text]) => ({
      feature: report.features[j].name,
      from: report.features[j].text,
      to: text,
    })),
  };
}

/** Return the receipt as pairs of a name and lines of text, to be shown; the file keeps its keys. */
export function receiptLines(receipt) {
  return Object.entries(receipt)
    .map(([name, value]) => [say(`receipt.${name}`), linesOf(value)])
    .filter(([, lines]) => lines.length > 0);
}

function linesOf(value) {
  if (value === null || value === undefined) return [];
  if (Array.isArray(value)) return value.map((entry) => String(entry));
  if (typeof value !== "object") return [String(value)];
  const parts = Object.entries(value).flatMap(([key, entry]) => {
    const lines = linesOf(entry);
    return lines.length ? [`${wordOf(key)} ${lines.join("; ")}`] : [];
  });
  return parts.length ? [parts.join(", ")] : [];
}

/** Return what a part of the receipt is called; settings and packages keep their own names. */
function wordOf(key) {
  const text = say(`receipt.${key}`);
  return text.startsWith("receipt.") ? key : text;
}
