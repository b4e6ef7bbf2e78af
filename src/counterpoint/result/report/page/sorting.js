/** Sorting the table: by rank, number, prediction, an objective ("objective.2") or a feature ("feature.0"). */

/** Return counterfactuals in the order of a sort; `ranks` maps numbers to ranks. Ties go by rank. */
export function sorted(counterfactuals, sort, ranks) {
  const rank = (each) => ranks.get(each.number);
  const key = keyOf(sort.key, rank);
  const sign = sort.isDescending ? -1 : 1;
  return [...counterfactuals].sort((a, b) => sign * compared(key(a), key(b)) || rank(a) - rank(b));
}

function keyOf(name, rank) {
  const [kind, place] = name.split(".");
  if (kind === "objective") return (each) => each.objectives[Number(place)];
  if (kind === "feature") return (each) => each.values[Number(place)];
  if (kind === "number") return (each) => each.number;
  if (kind === "prediction") return (each) => each.prediction;
  return rank;
}

/** Compare numbers; what is missing comes last. */
function compared(a, b) {
  if (a === null || b === null) return (a === null) - (b === null);
  return a - b;
}

/** Return the sort after a click on a column: up first, then down. */
export function nextSort(sort, key) {
  return { key, isDescending: sort.key === key ? !sort.isDescending : false };
}

/** Return what `aria-sort` says of a column. */
export function ariaSort(sort, key) {
  if (sort.key !== key) return "none";
  return sort.isDescending ? "descending" : "ascending";
}
