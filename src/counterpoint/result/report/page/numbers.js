/** Numbers and days as texts, and texts as numbers. */

const DAY = 86_400_000;

/** Return a number with at most `digits` significant digits, thousands apart. */
export function shortNumber(value, digits = 3) {
  if (!Number.isFinite(value)) return "";
  if (Math.abs(value) >= 1000) return value.toLocaleString("en", { maximumFractionDigits: 0 });
  return String(Number(value.toPrecision(digits)));
}

/** Return a count with its noun: "1 change", "3 changes". */
export function counted(n, noun) {
  return `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;
}

/** Return texts as a list in a sentence: "a", "a and b", "a, b and c". */
export function listed(texts) {
  if (texts.length < 2) return texts.join("");
  return `${texts.slice(0, -1).join(", ")} and ${texts[texts.length - 1]}`;
}

/** Return days since 1970-01-01 as what a date field holds. */
export function dayText(days) {
  return new Date(days * DAY).toISOString().slice(0, 10);
}

/** Return what a field holds as a number, or null if it is empty; dates as days since 1970-01-01. */
export function fieldNumber(text, isDate = false) {
  if (text.trim() === "") return null;
  const value = isDate ? Date.parse(`${text}T00:00:00Z`) / DAY : Number(text);
  return Number.isFinite(value) ? value : null;
}
