/** The question as text that can be edited: the row's values, what is wanted, limits and rules. */
import { dayText, fieldNumber } from "../../result/report/page/numbers.js";
import { readWish, targetText } from "./question.js";

const MISSING = "missing";

function valueText({ is_numeric: isNumeric, kind, levels }, value) {
  if (value === null || value === undefined) return MISSING;
  if (!isNumeric) return levels[value];
  return kind === "date" ? dayText(value) : String(value);
}

/** Return the question as text: one thing on each line. */
export function questionText(question, features) {
  const byName = new Map(features.map((feature) => [feature.name, feature]));
  const end = (name, value) => (value === null ? "" : valueText(byName.get(name), value));
  return [
    `row: ${question.label}`,
    ...features.map((feature, j) => `${feature.name} = ${valueText(feature, question.values[j])}`),
    "",
    `target: ${targetText(question.wish)}`,
    ...question.fixed.map((name) => `fixed: ${name}`),
    ...Object.entries(question.ranges).map(
      ([name, [low, high]]) => `range: ${name} = ${end(name, low)}..${end(name, high)}`,
    ),
    ...Object.entries(question.costs).map(([name, cost]) => `cost: ${name} = ${cost}`),
    ...(question.maxChanged ? [`changes at most: ${question.maxChanged}`] : []),
    ...question.rules
      .split("\n")
      .filter((rule) => rule.trim())
      .map((rule) => `rule: ${rule}`),
    `seed: ${question.seed}`,
  ].join("\n");
}

/**
 * Return what a text says of a question: the label of its row, values, target, limits and rules.
 * What it leaves out of limits and rules is not asked for. Errors name the line.
 */
export function readQuestion(text, setup, question) {
  const said = {
    label: question.label,
    values: [...question.values],
    wish: question.wish,
    fixed: [],
    ranges: {},
    costs: {},
    maxChanged: null,
    seed: question.seed,
    isAfresh: question.isAfresh,
  };
  const rules = [];
  text.split("\n").forEach((line, k) => {
    if (!line.trim()) return;
    try {
      readLine(line.trim(), said, rules, setup);
    } catch (error) {
      throw new Error(`Line ${k + 1}: ${error.message}`, { cause: error });
    }
  });
  return { ...said, rules: rules.join("\n") };
}

const KEYS = ["row", "target", "fixed", "range", "cost", "changes at most", "rule", "seed"];

function readLine(line, said, rules, setup) {
  const value = valueLine(line, setup.features);
  if (value) {
    const [j, rest] = value;
    said.values[j] = readValue(setup.features[j], rest);
    return;
  }
  const colon = line.indexOf(":");
  const key = line.slice(0, colon).trim();
  const rest = line.slice(colon + 1).trim();
  if (colon < 0 || !KEYS.includes(key))
    throw new Error(
      `“${line}” is none of: a feature = a value, ${KEYS.map((each) => `${each}: ...`).join(", ")}.`,
    );
  READERS[key](rest, said, rules, setup);
}

const READERS = {
  row: (rest, said) => (said.label = rest),
  target: (rest, said, _, { classes }) => (said.wish = wishOf(rest, classes)),
  fixed: (rest, said, _, { features }) => said.fixed.push(featureCalled(rest, features).name),
  range: (rest, said, _, { features }) => {
    const [feature, ends] = assigned(rest, features);
    const parts = ends.split("..");
    if (parts.length !== 2 || !feature.is_numeric)
      throw new Error(`a range is a number or date, such as range: ${feature.name} = 1..2.`);
    said.ranges[feature.name] = parts.map((part) =>
      part.trim() === "" ? null : readValue(feature, part.trim()),
    );
  },
  cost: (rest, said, _, { features }) => {
    const [feature, text] = assigned(rest, features);
    said.costs[feature.name] = numberOf(text, "a cost");
  },
  "changes at most": (rest, said) => (said.maxChanged = wholeOf(rest, "changes at most")),
  rule: (rest, _, rules) => rules.push(rest),
  seed: (rest, said) => (said.seed = wholeOf(rest, "a seed")),
};

/** Return the place of the feature that a line gives a value, and that value; null if it is none. */
function valueLine(line, features) {
  const places = features
    .map((_, j) => j)
    .filter((j) => line.startsWith(features[j].name))
    .filter((j) => /^\s*=/.test(line.slice(features[j].name.length)))
    .sort((a, b) => features[b].name.length - features[a].name.length);
  if (!places.length) return null;
  const rest = line.slice(features[places[0]].name.length);
  return [places[0], rest.slice(rest.indexOf("=") + 1).trim()];
}

function assigned(rest, features) {
  const found = valueLine(rest, features);
  if (found) return [features[found[0]], found[1]];
  const name = rest.split("=")[0].trim();
  featureCalled(name, features);
  throw new Error(`“${rest}” lacks “=” after the feature's name.`);
}

function featureCalled(name, features) {
  const found = features.find((feature) => feature.name === name);
  if (!found) throw new Error(`“${name}” is no feature of the table.`);
  return found;
}

function readValue(feature, text) {
  if (text === MISSING && feature.may_miss) return null;
  if (!feature.is_numeric) {
    const code = feature.levels.indexOf(text);
    if (code < 0)
      throw new Error(`“${text}” is no level of ${feature.name}: ${feature.levels.join(", ")}.`);
    return code;
  }
  const value = fieldNumber(text, feature.kind === "date");
  const what = feature.kind === "date" ? "a date such as 2024-12-31" : "a number";
  if (value === null) throw new Error(`${feature.name} must be ${what}, not “${text}”.`);
  if (feature.kind !== "real" && !Number.isInteger(value))
    throw new Error(`${feature.name} must be a whole number, not “${text}”.`);
  return value;
}

function wishOf(text, classes) {
  const wish = text ? readWish(text, classes) : { label: null, low: null, high: null };
  const isNumber = [wish.low, wish.high].every((end) => end === null || Number.isFinite(end));
  const isKnown = !wish.label || wish.label === "opposite" || classes?.includes(wish.label);
  if (!isNumber || !isKnown || (classes && !wish.label))
    throw new Error(
      classes
        ? `“${text}” is no target: one of ${classes.join(", ")}, opposite, or such as ${classes[0]}:0.6..1.`
        : `“${text}” is no target; write such as 100..150, or ..150 with an open end.`,
    );
  return wish;
}

function numberOf(text, what) {
  const value = fieldNumber(text);
  if (value === null) throw new Error(`${what} must be a number, not “${text}”.`);
  return value;
}

function wholeOf(text, what) {
  const value = numberOf(text, what);
  if (!Number.isInteger(value) || value < 0)
    throw new Error(`${what} must be a whole number of at least 0, not “${text}”.`);
  return value;
}
