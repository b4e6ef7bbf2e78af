/** A small report as Python writes it: three features, five counterfactuals; and the page's texts. */
import { readFileSync } from "node:fs";
import { useTexts } from "../../src/counterpoint/result/report/page/texts.js";

const PLACE = new URL("../../src/counterpoint/result/words/texts.json", import.meta.url);

/** All texts of the page by language and key. */
export const TEXTS = JSON.parse(readFileSync(PLACE, "utf-8"));

useTexts(TEXTS.en); // a page does it when it is shown

const feature = (name, kind, row, text, more = {}) => ({
  name,
  kind,
  row,
  text,
  is_numeric: kind !== "categorical",
  is_ordered: kind !== "categorical",
  levels: [],
  decimals: 0,
  unit: null,
  low: 0,
  high: 100,
  range: "0 to 100",
  is_fixed: false,
  n_changed: 1,
  ...more,
});

const one = (changes, prediction, objectives) => ({
  changes,
  prediction,
  text: String(prediction),
  is_valid: objectives[0] === 0,
  objectives,
  sentence: `${prediction} if so.`,
});

export const SUMMARY = {
  title: "Row 7",
  row: { prediction: 0.3, text: "0.3" },
  target: { text: "P('good') between 0.5 and 1", low: 0.5, high: 1, is_probability: true },
  features: [
    feature("age", "integer", 22, "22"),
    feature("duration", "integer", 48, "48", { unit: "months" }),
    feature("job", "categorical", 0, "clerk", { levels: ["clerk", "cook", "<b>"] }),
  ],
  objectives: ["gap", "distance", "changes", "implausibility"].map((name) => ({
    name,
    label: name,
    short: name,
    hint: "",
  })),
  counterfactuals: [
    one([[1, 30, "30"]], 0.6, [0, 0.2, 1, 0.4]),
    one([[0, 30, "30"]], 0.55, [0, 0.1, 1, 0.5]),
    one(
      [
        [0, 18, "18"],
        [1, 12, "12"],
      ],
      0.8,
      [0, 0.6, 2, 0.1],
    ),
    one([[2, 1, "cook"]], 0.4, [0.1, 0.3, 1, 0.2]),
    one(
      [
        [1, null, "missing"],
        [2, 2, "<b>"],
      ],
      0.7,
      [0, 0.7, 2, 0.9],
    ),
  ].map((each, i) => ({ number: i + 1, ...each })),
  representatives: [],
  receipt: {
    date: "2026-01-01T00:00:00+00:00",
    seed: 3,
    rules: [],
    limits: { fixed: [], ranges: ["age: 18 to 30"], "most changes": 3 },
    versions: { python: "3.11" },
  },
};
