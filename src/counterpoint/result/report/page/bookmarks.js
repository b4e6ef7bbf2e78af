/** What a visit keeps: bookmarks, sliders, limits, in the address, and in the browser where it may. */

const FLAGS = ["onlyValid", "onlyUnprotected", "onlyBookmarked", "isGrouped"];

/** Return the hash that stands for what differs between a state and the first one. */
export function toHash(state, first) {
  const parts = [];
  if (state.bookmarks.length) parts.push(`keep=${state.bookmarks.join(",")}`);
  if (String(state.weights) !== String(first.weights))
    parts.push(`weights=${state.weights.map((weight) => Math.round(100 * weight)).join(",")}`);
  for (const flag of FLAGS) {
    if (state[flag] !== first[flag]) parts.push(`${flag}=${state[flag] ? 1 : 0}`);
  }
  const limits = state.limits.flatMap((limit, j) =>
    Object.keys(limit).length ? [[j, limit]] : [],
  );
  if (limits.length) parts.push(`limits=${encodeURIComponent(JSON.stringify(limits))}`);
  return parts.length ? `#${parts.join("&")}` : "";
}

/** Return what a hash says of a state; null if it says nothing. What makes no sense is left out. */
export function fromHash(hash, first, known) {
  const parts = new Map(
    hash
      .replace(/^#/, "")
      .split("&")
      .map((part) => part.split("=")),
  );
  const said = {};
  const kept = parts.get("keep");
  if (kept && /^[\d,]+$/.test(kept))
    said.bookmarks = [...new Set(kept.split(",").map(Number))].filter((n) => known.has(n));
  const weights = parts.get("weights")?.split(",").map(Number) ?? [];
  if (weights.length === first.weights.length && weights.every((each) => each >= 0 && each <= 100))
    said.weights = weights.map((each) => each / 100);
  for (const flag of FLAGS) if (parts.has(flag)) said[flag] = parts.get(flag) === "1";
  const limits = readLimits(parts.get("limits"), first.limits);
  if (limits) said.limits = limits;
  return Object.keys(said).length ? said : null;
}

function readLimits(text, first) {
  try {
    const limits = first.map(() => ({}));
    for (const [j, limit] of JSON.parse(decodeURIComponent(text ?? ""))) {
      if (j in limits) limits[j] = cleanLimit(limit);
    }
    return limits;
  } catch {
    return null;
  }
}

/** Return what of a limit has the right kind; an address may come from anybody. */
function cleanLimit({ isLocked, direction, low, high, excluded }) {
  const isCode = (code) => Number.isInteger(code);
  return {
    ...(isLocked === true && { isLocked }),
    ...(["up", "down"].includes(direction) && { direction }),
    ...(Number.isFinite(low) && { low }),
    ...(Number.isFinite(high) && { high }),
    ...(Array.isArray(excluded) && excluded.every(isCode) && { excluded }),
  };
}

/** Return bookmarks with one put in or taken out. */
export function toggled(numbers, number) {
  if (numbers.includes(number)) return numbers.filter((each) => each !== number);
  return [...numbers, number].sort((a, b) => a - b);
}

/** Return what earlier visits left: of the address, else of the browser, else nothing. */
export function recalled(key, first, known, { hash, storage }) {
  const fromAddress = fromHash(hash, first, known);
  if (fromAddress) return fromAddress;
  try {
    return fromHash(storage().getItem(key) ?? "", first, known) ?? {};
  } catch {
    return {}; // a browser may forbid storage to files
  }
}

/** Keep a state for later visits, as far as the browser lets us. */
export function keep(key, hash, { replaceHash, storage }) {
  try {
    replaceHash(hash);
  } catch {
    // an address that may not change is no reason to lose the page
  }
  try {
    if (hash) storage().setItem(key, hash);
    else storage().removeItem(key);
  } catch {
    // kept in memory only
  }
}
