/** The question: what the form holds, and the request that says the same. */
import { decimalText, say, wholeText } from "../../result/report/page/texts.js";

/** Return the question the page starts with. */
export function firstQuestion(setup) {
  const { first, row, classes } = setup;
  return {
    ...chosenRow(row),
    wish: first.target ? readWish(first.target, classes) : defaultWish(classes, row.prediction),
    fixed: first.fixed,
    ranges: {},
    costs: {},
    rules: first.rules.join("\n"),
    maxChanged: first.max_changed,
    seed: first.seed,
    isAfresh: false,
    nFaults: 0,
  };
}

/** Return what a row that is picked changes of a question. */
export function chosenRow(row) {
  return {
    row: row.position,
    label: row.label,
    own: row.values,
    values: row.values,
    said: row.prediction,
  };
}

/** Return what picking a row changes: also the wish, unless somebody wished for something else. */
export function pickedRow(row, question, classes) {
  const isFirst =
    targetText(question.wish) === targetText(defaultWish(classes, question.said)) && classes;
  return { ...chosenRow(row), ...(isFirst && { wish: defaultWish(classes, row.prediction) }) };
}

/** Return the wish for what the model does not say now. */
export function defaultWish(classes, prediction) {
  if (!classes) return { label: null, low: null, high: null };
  const others = classes.filter((label) => label !== prediction.decision);
  return { label: others.length === 1 ? others[0] : "opposite", low: null, high: null };
}

/** Return a wish from a target's text: "good", "good:0.8..1", "opposite", "..1500" or "3". */
export function readWish(text, classes) {
  if (classes?.includes(text) || text === "opposite") return { label: text, low: null, high: null };
  const colon = text.lastIndexOf(":");
  const ends = text.slice(colon + 1).split("..");
  const [low, high] = ends.length === 2 ? ends : [ends[0], ends[0]];
  return {
    label: colon < 0 ? null : text.slice(0, colon),
    low: numberOrNull(low),
    high: numberOrNull(high),
  };
}

function numberOrNull(text) {
  return text.trim() === "" ? null : Number(text);
}

/** Return the target's text of a wish; empty if nothing is wished for. */
export function targetText({ label, low, high }) {
  const isOpen = low === null && high === null;
  if (label !== null && (isOpen || label === "opposite")) return label;
  if (isOpen) return "";
  const ends = `${low ?? ""}..${high ?? ""}`;
  return label === null ? ends : `${label}:${ends}`;
}

/** Return the places of the values that are not the row's own. */
export function editedPlaces({ own, values }) {
  return values.flatMap((value, j) => (value === own[j] ? [] : [j]));
}

/** Whether every feature has a value; undefined stands for what is no value. */
export function isComplete({ values }) {
  return values.every((value) => value !== undefined);
}

/** Return the request that asks the question. */
export function requestOf(question) {
  return {
    row: question.row,
    values: question.values,
    target: targetText(question.wish),
    fixed: question.fixed,
    ranges: question.ranges,
    costs: question.costs,
    rules: question.rules.split("\n"),
    max_changed: question.maxChanged,
    seed: question.seed,
    afresh: question.isAfresh,
  };
}

/** Return why the question cannot be asked yet; empty if it can. */
export function whyNot(question, features) {
  const lacking = features.find((_, j) => question.values[j] === undefined);
  if (lacking) return say("ask.lacks", { name: lacking.label });
  if (!targetText(question.wish)) return say("ask.no wish");
  if (question.nFaults) return say("ask.mend");
  if (question.fixed.length === features.length) return say("ask.all kept");
  return "";
}

/** Return how far a search is, in words. */
export function progressText({
  is_waiting: isWaiting,
  is_stopping: isStopping,
  evaluations,
  found,
  elapsed,
}) {
  if (isStopping) return say("ask.stopping");
  if (isWaiting) return say("ask.waiting");
  return say("ask.going", {
    asked: wholeText(evaluations),
    found: wholeText(found),
    seconds: decimalText(elapsed, elapsed < 10 ? 1 : 0, elapsed < 10 ? 1 : 0),
  });
}
