/** The question as text that can be edited: the row's values, what is wanted, limits and rules. */
import { dayText, fieldNumber } from "../../result/report/page/numbers.js";
import { say } from "../../result/report/page/texts.js";
import { readWish, targetText } from "./question.js";

// What a line may begin with; a reader of another language finds and writes its own words.
const KEYS = ["row", "target", "fixed", "range", "cost", "changes at most", "rule", "seed"];
const keyText = (key) => say(`ask.key ${key}`);
const keyOf = (text) => KEYS.find((key) => key === text || keyText(key) === text);
const isMissing = (text) => text === "missing" || text === say("missing");

function valueText({ is_numeric: isNumeric, kind, levels }, value) {
  if (value === null || value === undefined) return say("missing");
  if (!isNumeric) return levels[value];
  return kind === "date" ? dayText(value) : String(value);
}

/** Return the question as text: one thing on each line. */
export function questionText(question, features) {
  const byName = new Map(features.map((feature) => [feature.name, feature]));
  const line = (key, rest) => `${keyText(key)}: ${rest}`;
  const end = (name, value) => (value === null ? "" : valueText(byName.get(name), value));
  return [
    line("row", question.label),
    ...features.map((feature, j) => `${feature.name} = ${valueText(feature, question.values[j])}`),
    "",
    line("target", targetText(question.wish)),
    ...question.fixed.map((name) => line("fixed", name)),
    ...Object.entries(question.ranges).map(([name, [low, high]]) =>
      line("range", `${name} = ${end(name, low)}..${end(name, high)}`),
    ),
    ...Object.entries(question.costs).map(([name, cost]) => line("cost", `${name} = ${cost}`)),
    ...(question.maxChanged ? [line("changes at most", question.maxChanged)] : []),
    ...question.rules
      .split("\n")
      .filter((rule) => rule.trim())
      .map((rule) => line("rule", rule)),
    line("seed", question.seed),
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
      throw new Error(`${say("ask.line", { line: k + 1 })} ${error.message}`, { cause: error });
    }
  });
  return { ...said, rules: rules.join("\n") };
}

function readLine(line, said, rules, setup) {
  const value = valueLine(line, setup.features);
  if (value) {
    const [j, rest] = value;
    said.values[j] = readValue(setup.features[j], rest);
    return;
  }
  const colon = line.indexOf(":");
  const key = colon < 0 ? undefined : keyOf(line.slice(0, colon).trim());
  const rest = line.slice(colon + 1).trim();
  if (!key) {
    const keys = KEYS.map((each) => `${keyText(each)}: ...`).join(", ");
    throw new Error(say("ask.text unknown", { line, keys }));
  }
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
      throw new Error(say("ask.text range", { key: keyText("range"), name: feature.name }));
    said.ranges[feature.name] = parts.map((part) =>
      part.trim() === "" ? null : readValue(feature, part.trim()),
    );
  },
  cost: (rest, said, _, { features }) => {
    const [feature, text] = assigned(rest, features);
    said.costs[feature.name] = numberOf(text, keyText("cost"));
  },
  "changes at most": (rest, said) => (said.maxChanged = wholeOf(rest, keyText("changes at most"))),
  rule: (rest, _, rules) => rules.push(rest),
  seed: (rest, said) => (said.seed = wholeOf(rest, keyText("seed"))),
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
  throw new Error(say("ask.text lacks", { text: rest }));
}

function featureCalled(name, features) {
  const found = features.find((feature) => feature.name === name);
  if (!found) throw new Error(say("ask.text no feature", { name }));
  return found;
}

function readValue(feature, text) {
  if (isMissing(text) && feature.may_miss) return null;
  if (!feature.is_numeric) {
    const code = feature.levels.indexOf(text);
    const levels = feature.levels.join(", ");
    if (code < 0) throw new Error(say("ask.text no level", { text, name: feature.name, levels }));
    return code;
  }
  const value = fieldNumber(text, feature.kind === "date");
  const { name } = feature;
  const wanted = feature.kind === "date" ? "ask.text no date" : "ask.text no number";
  if (value === null) throw new Error(say(wanted, { name, text }));
  if (feature.kind !== "real" && !Number.isInteger(value))
    throw new Error(say("ask.text not whole", { name, text }));
  return value;
}

function wishOf(text, classes) {
  const wish = text ? readWish(text, classes) : { label: null, low: null, high: null };
  const isNumber = [wish.low, wish.high].every((end) => end === null || Number.isFinite(end));
  const isKnown = !wish.label || wish.label === "opposite" || classes?.includes(wish.label);
  if (!isNumber || !isKnown || (classes && !wish.label))
    throw new Error(
      classes
        ? say("ask.text no class", { text, classes: classes.join(", "), first: classes[0] })
        : say("ask.text no target", { text }),
    );
  return wish;
}

function numberOf(text, what) {
  const value = fieldNumber(text);
  if (value === null) throw new Error(say("ask.text no number", { name: what, text }));
  return value;
}

function wholeOf(text, what) {
  const value = numberOf(text, what);
  if (!Number.isInteger(value) || value < 0)
    throw new Error(say("ask.text not natural", { name: what, text }));
  return value;
}
