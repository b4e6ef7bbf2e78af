/**
 * Limits: which counterfactuals remain, which limit removes how many, and what would help.
 *
 * A limit of a feature is an object with any of: isLocked, direction ("up" or "down"), low, high,
 * and excluded (codes of levels). Each of these is one constraint, which can be taken back alone.
 */
import { countedAll, dayText, writeNumber } from "./numbers.js";
import { counted, listed, say, wholeText } from "./texts.js";

/** Return the constraints of a state: each has an id, words for it and for its end, and a test. */
export function constraintsOf(report, state) {
  const found = report.features.flatMap((feature, j) =>
    featureConstraints(feature, j, state.limits[j]),
  );
  const add = (id, allows, without) =>
    found.push({
      id,
      text: say(`limit.${id}`),
      relax: say(`relax.${id}`),
      allows,
      without: (now) => ({ ...now, ...without }),
    });
  if (state.onlyValid) add("valid", (each) => each.is_valid, { onlyValid: false });
  if (state.onlyUnprotected)
    add("protected", (each) => !each.is_protected, { onlyUnprotected: false });
  if (state.onlyBookmarked)
    add("bookmarks", (each) => state.bookmarks.includes(each.number), { onlyBookmarked: false });
  if (state.brush) {
    const numbers = new Set(state.brush.numbers);
    add("brush", (each) => numbers.has(each.number), { brush: null });
  }
  return found;
}

function featureConstraints(feature, j, limit) {
  const name = feature.name;
  const without = (key) => (now) => ({
    ...now,
    limits: now.limits.map((each, k) => (k === j ? dropped(each, key) : each)),
  });
  const found = [];
  const add = (key, kind, allows, values = {}) => {
    const [text, relax] = ["limit", "relax"].map((word) =>
      say(`${word}.${kind}`, { name, ...values }),
    );
    found.push({ id: `${j}.${key}`, text, relax, allows, without: without(key) });
  };
  const isFrom = (low, high) => (each) => isBetween(each.values[j], low, high);
  if (limit.isLocked) add("isLocked", "locked", (each) => !each.isChanged[j]);
  if (limit.direction === "up") add("direction", "up", isFrom(feature.row, null));
  if (limit.direction === "down") add("direction", "down", isFrom(null, feature.row));
  if (isGiven(limit.low))
    add("low", "low", isFrom(limit.low, null), { end: endText(feature, limit.low) });
  if (isGiven(limit.high))
    add("high", "high", isFrom(null, limit.high), { end: endText(feature, limit.high) });
  if (limit.excluded?.length) {
    const levels = listed(limit.excluded.map((code) => feature.levels[code]));
    add("excluded", "excluded", (each) => !limit.excluded.includes(each.values[j]), { levels });
  }
  return found;
}

function isGiven(end) {
  return end !== null && end !== undefined;
}

/** Whether a value lies between two ends, null being open; a missing value lies nowhere. */
function isBetween(value, low, high) {
  if (value === null) return low === null && high === null;
  return (low === null || value >= low) && (high === null || value <= high);
}

function endText(feature, end) {
  return feature.kind === "date" ? dayText(end) : writeNumber(end, 12);
}

function dropped(limit, key) {
  return Object.fromEntries(Object.entries(limit).filter(([name]) => name !== key));
}

/**
 * Return which counterfactuals satisfy all constraints, how many each constraint excludes, and how
 * many would come back without it: those that no other constraint excludes.
 */
export function weigh(counterfactuals, constraints) {
  const removed = constraints.map(() => 0);
  const alone = constraints.map(() => 0);
  const kept = [];
  for (const each of counterfactuals) {
    const against = constraints.flatMap((constraint, k) => (constraint.allows(each) ? [] : [k]));
    for (const k of against) removed[k] += 1;
    if (against.length === 0) kept.push(each);
    if (against.length === 1) alone[against[0]] += 1;
  }
  return { kept, removed, alone };
}

/** Return the constraint whose end brings back most, or null if no single one brings back any. */
export function bestRelaxation(constraints, alone) {
  const most = Math.max(0, ...alone);
  return most === 0 ? null : { constraint: constraints[alone.indexOf(most)], n: most };
}

/** Return how many are shown that represent ways beside the set, if any. */
export function othersText(n) {
  if (n === 0) return "";
  return ` ${say(n === 1 ? "others.one" : "others.many", { ways: counted(n, "more way") })}`;
}

/** Return "n of N remain, because ..." and, if none does, what would help. */
export function remainText(all, constraints, { kept, removed, alone }) {
  const [n, total] = [kept.length, all.length];
  const isMixed = new Set(all.map((each) => each.is_valid)).size > 1;
  const of = isMixed ? `${counted(total, "candidate")} (${countedAll(all)})` : countedAll(all);
  const head = say(remainKey(n, total), { n: wholeText(n), of });
  const reasons = constraints
    .map((constraint, k) => ({ text: constraint.text, n: removed[k] }))
    .filter((reason) => reason.n > 0)
    .sort((a, b) => b.n - a.n)
    .map(({ text, n: n_removed }) => say("remain.removes", { text, n: wholeText(n_removed) }));
  const because = reasons.length ? say("remain.because", { reasons: listed(reasons) }) : "";
  if (n > 0 || total === 0) return `${head}${because}.`;
  const best = bestRelaxation(constraints, alone);
  if (!best) return `${head}${because}. ${say("remain.two")}`;
  return `${head}${because}. ${say("remain.step", { step: best.constraint.relax, n: best.n })}`;
}

function remainKey(n, total) {
  if (n === total) return "remain.all";
  if (n === 0) return "remain.none";
  return n === 1 ? "remain.one" : "remain.some";
}
