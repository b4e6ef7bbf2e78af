/** How hard a feature is to change, beside its field, and between which ends it may go. */
import { h } from "../../result/report/page/dom.js";
import { dayText, fieldNumber, writeNumber } from "../../result/report/page/numbers.js";
import { say } from "../../result/report/page/texts.js";

const DIFFICULTIES = [0.5, 1, 2, 5];

/** Return how hard a feature is to change, and between which ends it may go. */
export function buildEffort(feature, j, store, changed) {
  const set = (key, value) => changed({ [key]: withValue(store.get()[key], feature.name, value) });
  const select = h("select", {
    id: `ask-cost-${j}`,
    "aria-label": say("ask.cost label", { name: feature.label }),
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
      "aria-label": `${feature.label}: ${say(`ask.${word}`)}`,
      onchange: () => {
        const both = ends.map((input) => fieldNumber(input.value, isDate));
        set("ranges", both.some((end) => end !== null) ? both : null);
      },
    });
  }
  function refresh({ costs, ranges }, isFixed) {
    const now = costs[feature.name] ?? 1;
    const options = DIFFICULTIES.includes(now) ? DIFFICULTIES : [...DIFFICULTIES, now];
    if (document.activeElement !== select)
      select.replaceChildren(
        ...options.map((value) => h("option", { value, selected: value === now }, costText(value))),
      );
    const limits = ranges[feature.name] ?? [null, null];
    ends.forEach((input, k) => {
      input.disabled = isFixed;
      if (document.activeElement !== input) input.value = text(limits[k]);
    });
    select.disabled = isFixed;
  }
  const pair = ends.map((input, k) =>
    h("label", { class: "end" }, say(["ask.from", "ask.to"][k]), input),
  );
  return { element: h("div", { class: isDate ? "effort days" : "effort" }, select, pair), refresh };
}

/** Return how hard a cost makes a change, in words. */
function costText(cost) {
  return DIFFICULTIES.includes(cost)
    ? say(`ask.cost ${cost}`)
    : say("ask.cost other", { cost: writeNumber(cost, 15) });
}

/** Return values by name with one replaced, or left out if it is null. */
export function withValue(values, name, value) {
  const others = Object.entries(values).filter(([each]) => each !== name);
  return Object.fromEntries(value === null ? others : [...others, [name, value]]);
}
