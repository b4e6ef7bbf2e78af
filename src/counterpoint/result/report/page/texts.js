/** Texts: every word of the page, in the language that the report was written in. */

let spoken = {};
let language = "en";

/** Take texts of a language, which come with a page or a report, beside those that are known. */
export function useTexts(texts, lang = "en") {
  spoken = { ...spoken, ...texts };
  language = lang;
}

/** Return the language that is spoken. */
export function spokenNow() {
  return language;
}

/** Return a text by its key, with values put where braces name them. */
export function say(key, values = {}) {
  const text = spoken[key] ?? key; // a test finds keys that have no text
  return text.replace(/\{(\w+)\}/g, (_, name) => String(values[name] ?? ""));
}

/** Return a count with its noun, of which the texts have one form for 1 and one for all others. */
export function counted(n, noun) {
  return `${wholeText(n)} ${say(n === 1 ? `${noun}.one` : `${noun}.many`)}`;
}

/** Return a whole number with thousands as the language writes them. */
export function wholeText(n) {
  return n.toLocaleString(language);
}

/** Return a number with at most so many decimals, and at least some. */
export function decimalText(value, places, least = 0) {
  const decimals = { minimumFractionDigits: least, maximumFractionDigits: places };
  return value.toLocaleString(language, decimals);
}

/** Return texts as a list in a sentence: "a", "a and b", "a, b and c". */
export function listed(texts) {
  if (texts.length < 2) return texts.join("");
  return `${texts.slice(0, -1).join(", ")} ${say("and")} ${texts[texts.length - 1]}`;
}
