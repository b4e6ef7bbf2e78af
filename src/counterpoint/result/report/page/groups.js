/** Groups: candidates that change the same features, which is how people tell them apart. */
import { writeNumber } from "./numbers.js";
import { withUnit } from "./report.js";
import { listed, say, wholeText } from "./texts.js";

const FEW_CHANGES = 4;

/**
 * Return candidates by the features they change, in the order of the first of each. Those that
 * change more features than people keep in mind are one group, the last.
 */
export function groupsOf(candidates) {
  const groups = new Map();
  for (const each of candidates) {
    const own = each.changes.map(([j]) => j);
    const isMany = own.length > FEW_CHANGES;
    const key = isMany ? "many" : own.join(",");
    const group = groups.get(key) ?? { key, isMany, places: [], rows: [] };
    group.places = [...new Set([...group.places, ...own])].sort((a, b) => a - b);
    group.rows.push(each);
    groups.set(key, group);
  }
  return [...groups.values()].sort((a, b) => a.isMany - b.isMany);
}

/** Return the least and the largest value of a feature among candidates; null where one is missing. */
export function endsOf(rows, j) {
  const known = rows.filter((each) => each.values[j] !== null);
  if (!known.length) return null;
  const order = [...known].sort((a, b) => a.values[j] - b.values[j]);
  return [order[0], order[order.length - 1]];
}

/** Return a group in words: "duration: 9 to 43 months", "duration and amount". */
export function groupText(report, group) {
  const names = group.places.map((j) => report.features[j].name);
  if (group.isMany) return say("group.many", { n: FEW_CHANGES });
  if (names.length !== 1) return names.length ? listed(names) : say("group.none");
  const [j] = group.places;
  const feature = report.features[j];
  if (!feature.is_numeric)
    return `${names[0]}: ${[...new Set(group.rows.map((each) => each.texts[j]))].slice(0, 4).join(", ")}`;
  const sides = [(value) => value < feature.row, (value) => !(value < feature.row)]
    .map((isThere) =>
      endsOf(
        group.rows.filter((each) => isThere(each.values[j])),
        j,
      ),
    )
    .filter(Boolean)
    .map((ends) => [...new Set(ends.map((each) => each.texts[j]))].join(` ${say("to")} `));
  if (!sides.length) return `${names[0]}: ${say("missing")}`;
  return `${names[0]}: ${withUnit(feature, listed(sides))}`;
}

/** Return how many a group has and where their predictions lie. */
export function countText(group) {
  const values = group.rows.map((each) => each.prediction);
  const ends = [Math.min(...values), Math.max(...values)].map((value) => writeNumber(value, 3));
  const range = ends[0] === ends[1] ? ends[0] : ends.join(` ${say("to")} `);
  return say("group.count", { n: wholeText(group.rows.length), range });
}
