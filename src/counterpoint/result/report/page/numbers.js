/** Numbers and days as texts, and texts as numbers. */
import { counted, decimalText, say, spokenNow } from "./texts.js";

const DAY = 86_400_000;

/** Return a number as the library's `write_number` does: so many digits, whole thousands in full. */
export function writeNumber(value, digits = 4) {
  if (!Number.isFinite(value)) return "";
  if (value === 0) return "0";
  const size = Math.floor(Math.log10(Math.abs(value)));
  if (size < -4 || size >= 15) return String(Number(value.toPrecision(digits)));
  return decimalText(value, Math.min(20, Math.max(0, digits - 1 - size)));
}

/** Return how many counterfactuals and near misses there are, in words. */
export function countedAll(candidates) {
  const n = candidates.filter((each) => each.is_valid).length;
  const missed = candidates.length - n;
  const nouns = [
    ...(n || !missed ? [counted(n, "counterfactual")] : []),
    ...(missed ? [counted(missed, "near miss")] : []),
  ];
  return nouns.join("; ");
}

/** Return what a candidate is called: only one that reaches the target is a counterfactual. */
export function nounOf(each) {
  return say(each.is_valid ? "counterfactual.one" : "near miss.one");
}

/** Return days since 1970-01-01 as what a date field holds. */
export function dayText(days) {
  return new Date(days * DAY).toISOString().slice(0, 10);
}

/** Return days since 1970-01-01 as the language writes a date. */
export function dateText(days) {
  const format = { day: "numeric", month: "long", year: "numeric", timeZone: "UTC" };
  const place = spokenNow() === "en" ? "en-GB" : spokenNow(); // the day before the month
  return new Date(days * DAY).toLocaleDateString(place, format);
}

/** Return what a field holds as a number, or null if it is empty; dates as days since 1970-01-01. */
export function fieldNumber(text, isDate = false) {
  if (text.trim() === "") return null;
  const value = isDate ? Date.parse(`${text}T00:00:00Z`) / DAY : Number(text);
  return Number.isFinite(value) ? value : null;
}
