/** The report's data: the summary as Python wrote it, with what is easier to reckon here. */
import { say } from "./texts.js";

/**
 * Return the summary with whole counterfactuals: values of all features, changed or not.
 * `counterfactuals` are those of the set; `others` represent ways that the set leaves out.
 */
export function readReport(summary) {
  const row = summary.features.map((feature) => feature.row);
  const all = summary.counterfactuals.map((each) => {
    const values = row.slice();
    const texts = summary.features.map((feature) => feature.text);
    const isChanged = row.map(() => false);
    for (const [j, value, text] of each.changes) {
      values[j] = value;
      texts[j] = text;
      isChanged[j] = true;
    }
    return { ...each, values, texts, isChanged };
  });
  const counterfactuals = all.filter((each) => !each.is_way);
  const others = all.filter((each) => each.is_way);
  const byNumber = new Map(all.map((each) => [each.number, each]));
  return { ...summary, counterfactuals, others, byNumber };
}

/** Return a text with the feature's unit, if it has one; nothing has no unit. */
export function withUnit(feature, text) {
  return feature.unit && text !== say("missing") ? `${text} ${feature.unit}` : text;
}

/** Return the positions of the features that some of the counterfactuals change, most often first. */
export function changedFeatures(report, counterfactuals = report.counterfactuals) {
  const counts = report.features.map(
    (_, j) => counterfactuals.filter((each) => each.isChanged[j]).length,
  );
  return counts
    .map((_, j) => j)
    .filter((j) => counts[j] > 0)
    .sort((a, b) => counts[b] - counts[a] || a - b);
}
