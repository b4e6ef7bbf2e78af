/** Bookmarks: numbers of counterfactuals, kept in the address, and in the browser where it may be. */

/** Return the numbers in an address's hash, "#keep=3,7"; those there are none of are left out. */
export function fromHash(hash, known) {
  const match = /^#keep=([\d,]*)$/.exec(hash);
  if (!match) return null;
  const numbers = match[1].split(",").map(Number);
  return [...new Set(numbers)].filter((n) => known.has(n));
}

/** Return the hash that stands for bookmarks; empty for none. */
export function toHash(numbers) {
  return numbers.length ? `#keep=${numbers.join(",")}` : "";
}

/** Return bookmarks with one put in or taken out. */
export function toggled(numbers, number) {
  if (numbers.includes(number)) return numbers.filter((each) => each !== number);
  return [...numbers, number].sort((a, b) => a - b);
}

/** Return the bookmarks of earlier visits: of the address, else of the browser, else none. */
export function recalled(key, known, { hash, storage }) {
  const fromAddress = fromHash(hash, known);
  if (fromAddress) return fromAddress;
  try {
    return fromHash(storage().getItem(key) ?? "", known) ?? [];
  } catch {
    return []; // a browser may forbid storage to files
  }
}

/** Keep bookmarks for later visits, as far as the browser lets us. */
export function keep(key, numbers, { replaceHash, storage }) {
  try {
    replaceHash(toHash(numbers));
  } catch {
    // an address that may not change is no reason to lose the page
  }
  try {
    if (numbers.length) storage().setItem(key, toHash(numbers));
    else storage().removeItem(key);
  } catch {
    // kept in memory only
  }
}
