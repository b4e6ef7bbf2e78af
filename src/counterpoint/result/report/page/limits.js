/**
 * Limits: which counterfactuals remain, which limit removes how many, and what would help.
 *
 * A limit of a feature is an object with any of: isLocked, direction ("up" or "down"), low, high,
 * and excluded (codes of levels). Each of these is one constraint, which can be taken back alone.
 */
import { counted, countedAll, dayText, listed, writeNumber } from "./numbers.js";

/** Return the constraints of a state: each has an id, words for it and for its end, and a test. */
export function constraintsOf(report, state) {
  const found = report.features.flatMap((feature, j) =>
    featureConstraints(feature, j, state.limits[j]),
  );
  if (state.onlyValid) {
    found.push({
      id: "valid",
      text: "near misses are hidden",
      relax: "Showing near misses",
      allows: (each) => each.is_valid,
      without: (now) => ({ ...now, onlyValid: false }),
    });
  }
  if (state.onlyUnprotected) {
    found.push({
      id: "protected",
      text: "those that change a protected feature are hidden",
      relax: "Showing changes of protected features",
      allows: (each) => !each.is_protected,
      without: (now) => ({ ...now, onlyUnprotected: false }),
    });
  }
  if (state.onlyBookmarked) {
    found.push({
      id: "bookmarks",
      text: "only bookmarked ones are shown",
      relax: "Showing those without a bookmark",
      allows: (each) => state.bookmarks.includes(each.number),
      without: (now) => ({ ...now, onlyBookmarked: false }),
    });
  }
  if (state.brush) {
    const numbers = new Set(state.brush.numbers);
    found.push({
      id: "brush",
      text: "a figure is brushed",
      relax: "Clearing the brush",
      allows: (each) => numbers.has(each.number),
      without: (now) => ({ ...now, brush: null }),
    });
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
  const add = (key, text, relax, allows) =>
    found.push({ id: `${j}.${key}`, text, relax, allows, without: without(key) });
  if (limit.isLocked) {
    add("isLocked", `${name} is locked`, `Unlocking ${name}`, (each) => !each.isChanged[j]);
  }
  if (limit.direction === "up") {
    add("direction", `${name} may only rise`, `Letting ${name} fall`, (each) =>
      isBetween(each.values[j], feature.row, null),
    );
  }
  if (limit.direction === "down") {
    add("direction", `${name} may only fall`, `Letting ${name} rise`, (each) =>
      isBetween(each.values[j], null, feature.row),
    );
  }
  if (isGiven(limit.low)) {
    const end = endText(feature, limit.low);
    add("low", `${name} must be at least ${end}`, `Letting ${name} go below ${end}`, (each) =>
      isBetween(each.values[j], limit.low, null),
    );
  }
  if (isGiven(limit.high)) {
    const end = endText(feature, limit.high);
    add("high", `${name} must be at most ${end}`, `Letting ${name} go above ${end}`, (each) =>
      isBetween(each.values[j], null, limit.high),
    );
  }
  if (limit.excluded?.length) {
    const levels = limit.excluded.map((code) => feature.levels[code]);
    add(
      "excluded",
      `${name} must not be ${listed(levels)}`,
      `Allowing every ${name}`,
      (each) => !limit.excluded.includes(each.values[j]),
    );
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
  const ways = counted(n, "more way");
  return ` ${ways} that the set leaves out ${n === 1 ? "is" : "are"} in the table.`;
}

/** Return "n of N remain, because ..." and, if none does, what would help. */
export function remainText(all, constraints, { kept, removed, alone }) {
  const [n, total] = [kept.length, all.length];
  const isMixed = new Set(all.map((each) => each.is_valid)).size > 1;
  const of = isMixed ? `${counted(total, "candidate")} (${countedAll(all)})` : countedAll(all);
  const head =
    n === total ? `All ${of} remain` : `${n || "None"} of ${of} ${n === 1 ? "remains" : "remain"}`;
  const reasons = constraints
    .map((constraint, k) => ({ text: constraint.text, n: removed[k] }))
    .filter((reason) => reason.n > 0)
    .sort((a, b) => b.n - a.n)
    .map((reason) => `${reason.text} (removes ${reason.n})`);
  const because = reasons.length ? `, because ${listed(reasons)}` : "";
  if (n > 0 || total === 0) return `${head}${because}.`;
  const best = bestRelaxation(constraints, alone);
  if (!best) return `${head}${because}. No single limit brings any back: take back two or more.`;
  return `${head}${because}. ${best.constraint.relax} would bring back ${best.n}, the most a single step can.`;
}
