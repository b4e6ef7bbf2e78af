/** How hard a feature is to change, beside its field, and between which ends it may go. */
import { h } from "../../result/report/page/dom.js";
import { dayText, fieldNumber } from "../../result/report/page/numbers.js";

const DIFFICULTIES = [
  [0.5, "easy to change"],
  [1, "usual effort"],
  [2, "hard to change"],
  [5, "very hard to change"],
];

/** Return how hard a feature is to change, and between which ends it may go. */
export function buildEffort(feature, j, store, changed) {
  const set = (key, value) => changed({ [key]: withValue(store.get()[key], feature.name, value) });
  const select = h("select", {
    id: `ask-cost-${j}`,
    "aria-label": `How hard ${feature.label} is to change`,
    onchange: () => set("costs", select.value === "1" ? null : Number(select.value)),
  });
  const isDate = feature.kind === "date";
  const text = (end) => (end === null ? "" : isDate ? dayText(end) : String(end));
  const ends = feature.is_numeric ? ["from", "to"].map(buildEnd) : [];
  function buildEnd(word, k) {
    return h("input", {
      type: isDate ? "date" : "number",
      step: isDate ? null : "any",
      id: `ask-${word}-${j}`,
      placeholder: isDate ? null : text([feature.low, feature.high][k]),
      "aria-label": `${feature.label} ${word}`,
      onchange: () => {
        const both = ends.map((input) => fieldNumber(input.value, isDate));
        set("ranges", both.some((end) => end !== null) ? both : null);
      },
    });
  }
  function refresh({ costs, ranges }, isFixed) {
    const now = costs[feature.name] ?? 1;
    const known = DIFFICULTIES.some(([value]) => value === now);
    const options = known ? DIFFICULTIES : [...DIFFICULTIES, [now, `costs ${now}`]];
    if (document.activeElement !== select)
      select.replaceChildren(
        ...options.map(([value, word]) => h("option", { value, selected: value === now }, word)),
      );
    const limits = ranges[feature.name] ?? [null, null];
    ends.forEach((input, k) => {
      input.disabled = isFixed;
      if (document.activeElement !== input) input.value = text(limits[k]);
    });
    select.disabled = isFixed;
  }
  const pair = ends.map((input, k) => h("label", { class: "end" }, ["from", "to"][k], input));
  return { element: h("div", { class: "effort" }, select, pair), refresh };
}

/** Return values by name with one replaced, or left out if it is null. */
export function withValue(values, name, value) {
  const others = Object.entries(values).filter(([each]) => each !== name);
  return Object.fromEntries(value === null ? others : [...others, [name, value]]);
}
