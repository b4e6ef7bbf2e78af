/** Figures: what is packed in the page is unpacked, and brushes tell which counterfactuals are meant. */
import { say, wholeText } from "./texts.js";

/** Return a text that was compressed with gzip and written in base64. */
export async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}

/** Return what figures know of a counterfactual: the fields that their brushes name. */
export function recordOf(each) {
  const objectives = each.objectives.map((value, m) => [`objective_${m}`, value]);
  return {
    counterfactual: each.number,
    prediction: each.prediction,
    ...Object.fromEntries(objectives),
  };
}

/** Whether a record lies in one of a selection's parts, as Vega-Lite stores them. */
export function isSelected(store, record) {
  return store.some(({ fields, values }) =>
    fields.every(({ field, type }, k) => fits(record[field], type, values[k])),
  );
}

function fits(value, type, wanted) {
  if (type === "E") return Array.isArray(wanted) ? wanted.includes(value) : value === wanted;
  const [low, high] = [Math.min(...wanted), Math.max(...wanted)];
  return value >= low && value <= high;
}

/** Return the numbers that a selection means, or null if it is empty. */
export function selectedNumbers(counterfactuals, store) {
  if (!store.length) return null;
  return counterfactuals
    .filter((each) => isSelected(store, recordOf(each)))
    .map((each) => each.number);
}

/** Whether a dataset shows counterfactuals one by one. */
export function hasNumbers(rows) {
  return rows.length > 0 && "counterfactual" in rows[0];
}

/** Return a dataset with only the row and those counterfactuals. */
export function onlyNumbers(rows, numbers) {
  return rows.filter((each) => each.counterfactual === 0 || numbers.has(each.counterfactual));
}

/** Return how often each feature is changed by counterfactuals, in the rows the figure has. */
export function countedFeatures(rows, counterfactuals) {
  const valid = counterfactuals.filter((each) => each.is_valid);
  const counted = valid.length ? valid : counterfactuals;
  const total = Math.max(1, counted.length);
  return rows.map((row) => {
    const changing = counted.filter((each) => each.isChanged[row.place]);
    const share = changing.length / total;
    return {
      ...row,
      count: changing.length,
      share,
      text: say("share", { percent: Math.round(100 * share), n: wholeText(changing.length) }),
    };
  });
}
