/** Limits: lock a feature, give it a direction, a range, or leave out levels. */
import { h } from "./dom.js";
import { buildFinder } from "./finder.js";
import { dayText, fieldNumber } from "./numbers.js";
import { changedFeatures } from "./report.js";
import { say } from "./texts.js";

/** Return the panel of limits: one row per feature that some counterfactual changes. */
export function buildLimits(report, store) {
  const places = changedFeatures(report, [...report.byNumber.values()]);
  const rest = report.features.filter((_, j) => !places.includes(j));
  const setLimit = (j, changes) => {
    const limits = store
      .get()
      .limits.map((limit, k) => (k === j ? cleaned({ ...limit, ...changes }) : limit));
    store.set({ limits });
  };
  const rows = places.map((j) =>
    buildFeature(report.features[j], j, (changes) => setLimit(j, changes)),
  );
  const finder = buildFinder(rows, store, {
    first: FIRST,
    ids: ["find-limit", "all-limits"],
    label: say("limits.find"),
    names: (k) => [report.features[places[k]].name],
    isSet: ({ limits }, k) => Object.keys(limits[places[k]]).length > 0,
  });
  const element = h(
    "section",
    { class: "panel", "aria-labelledby": "limits-title" },
    h("h2", { id: "limits-title" }, say("limits.title")),
    h("p", { class: "hint" }, say(places.length ? "limits.how" : "limits.nothing")),
    finder.element,
    h(
      "div",
      { class: "limit-list" },
      rows.map((row) => row.element),
    ),
    rest.length && rest.length <= FIRST
      ? h(
          "p",
          { class: "hint" },
          say("limits.rest", { names: rest.map((feature) => feature.name).join(", ") }),
        )
      : null,
    h(
      "button",
      {
        type: "button",
        class: "quiet",
        id: "reset-limits",
        onclick: () => store.set({ limits: report.features.map(() => ({})) }),
      },
      say("limits.reset"),
    ),
  );
  return {
    element,
    refresh: (state) => {
      rows.forEach((row, k) => row.refresh(state.limits[places[k]]));
      finder.refresh(state);
    },
  };
}

const FIRST = 6; // features that are shown before one is looked for

/** Return a limit without what says nothing. */
export function cleaned(limit) {
  const says = ([, value]) =>
    value !== null && value !== undefined && value !== false && value !== "" && value.length !== 0;
  return Object.fromEntries(Object.entries(limit).filter(says));
}

function buildFeature(feature, j, set) {
  const lock = h("input", {
    type: "checkbox",
    id: `lock-${j}`,
    onchange: (event) => set({ isLocked: event.target.checked }),
  });
  const controls = [
    ...(feature.is_ordered && feature.row !== null ? [buildDirection(feature, j, set)] : []),
    ...(feature.is_numeric
      ? [buildEnd(feature, j, "low", set), buildEnd(feature, j, "high", set)]
      : []),
    ...(feature.levels.length > 1 ? [buildLevels(feature, j, set)] : []),
  ];
  const element = h(
    "fieldset",
    { class: "limit" },
    h(
      "legend",
      {},
      feature.name,
      h("span", { class: "hint" }, ` ${say("limits.now", { value: feature.text })}`),
    ),
    h(
      "div",
      { class: "limit-row" },
      h("label", { class: "check", for: `lock-${j}` }, lock, say("limits.lock")),
      controls.map((control) => control.element),
    ),
  );
  function refresh(limit) {
    lock.checked = Boolean(limit.isLocked);
    for (const control of controls) control.refresh(limit);
  }
  return { element, refresh };
}

function buildDirection(feature, j, set) {
  const select = h(
    "select",
    {
      id: `direction-${j}`,
      "aria-label": say("limits.direction", { name: feature.name }),
      onchange: (event) => set({ direction: event.target.value }),
    },
    h("option", { value: "" }, say("limits.either")),
    h("option", { value: "up" }, say("limits.up")),
    h("option", { value: "down" }, say("limits.down")),
  );
  return { element: select, refresh: (limit) => (select.value = limit.direction ?? "") };
}

function buildEnd(feature, j, key, set) {
  const isDate = feature.kind === "date";
  const word = say(key === "low" ? "from" : "up to");
  const end = feature[key];
  const input = h("input", {
    type: isDate ? "date" : "number",
    id: `${key}-${j}`,
    step: isDate ? null : "any",
    inputmode: isDate ? null : "decimal",
    placeholder: isDate || end === null ? null : String(end),
    "aria-label": `${feature.name} ${word}`,
    onchange: (event) => set({ [key]: fieldNumber(event.target.value, isDate) }),
  });
  const text = (value) => (isDate ? dayText(value) : String(value));
  const refresh = (limit) => {
    if (document.activeElement !== input)
      input.value = limit[key] === undefined ? "" : text(limit[key]);
  };
  return { element: h("label", { class: "end" }, word, input), refresh };
}

function buildLevels(feature, j, set) {
  const boxes = feature.levels.map((level, code) =>
    h("input", { type: "checkbox", id: `level-${j}-${code}`, checked: true, onchange: change }),
  );
  function change() {
    set({ excluded: boxes.flatMap((box, code) => (box.checked ? [] : [code])) });
  }
  const element = h(
    "details",
    { class: "levels" },
    h("summary", {}, say("limits.levels", { name: feature.name })),
    boxes.map((box, code) =>
      h("label", { class: "check", for: box.id }, box, feature.levels[code]),
    ),
  );
  const refresh = (limit) =>
    boxes.forEach((box, code) => (box.checked = !limit.excluded?.includes(code)));
  return { element, refresh };
}
