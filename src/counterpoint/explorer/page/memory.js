/** Memory: what a tab keeps when its page is loaded again, as far as the browser lets it. */

const KEY = "counterpoint-explorer";

/** Return what the tab kept, or null. */
export function recallTab(storage = () => sessionStorage) {
  try {
    return JSON.parse(storage().getItem(KEY) ?? "null");
  } catch {
    return null;
  }
}

/** Keep a value in the tab. */
export function keepTab(value, storage = () => sessionStorage) {
  try {
    storage().setItem(KEY, JSON.stringify(value));
  } catch {
    // a browser that keeps nothing starts anew
  }
}

/** Whether what was kept fits the model that is served now. */
export function fits(kept, setup) {
  const question = kept?.question;
  return (
    Boolean(question) &&
    question.values?.length === setup.features.length &&
    question.row < setup.n_rows &&
    kept.names === namesOf(setup)
  );
}

/** Return the question that was kept; what was no value then is the row's own. */
export function restored({ question }, { features }) {
  const values = question.values.map((value, j) =>
    value === null && !features[j].may_miss ? question.own[j] : value,
  );
  return { ranges: {}, costs: {}, ...question, values };
}

/** Return the features' names and levels as one text, to compare. */
export function namesOf(setup) {
  return JSON.stringify(setup.features.map((feature) => [feature.name, feature.levels]));
}
