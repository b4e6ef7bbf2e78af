/** The values' panel: one field per feature, and whether a search must keep it. */
import { h } from "../../result/report/page/dom.js";
import { buildCurve } from "./curve.js";
import { buildEffort } from "./effort.js";
import { buildFinder } from "../../result/report/page/finder.js";
import { dateText, dayText, fieldNumber, writeNumber } from "../../result/report/page/numbers.js";
import { counted, say } from "../../result/report/page/texts.js";

const FIRST = 12; // fields of a wide table that are shown unasked

/** Return the finder of a wide table's fields; those that something is said of are shown anyway. */
function findField(setup, fields, store) {
  return buildFinder(fields, store, {
    first: FIRST,
    ids: ["ask-find-field", "ask-all-fields"],
    label: say("find.label"),
    names: (j) => [setup.features[j].name, setup.features[j].label],
    isSet: ({ values, own, fixed, ranges, costs }, j) => {
      const { name } = setup.features[j];
      return values[j] !== own[j] || fixed.includes(name) || name in ranges || name in costs;
    },
  });
}

/** Return the panel of values below the prediction; `changed` is told what changes of the question. */
export function buildValues(setup, store, changed, prediction) {
  const title = h("h2", { id: "ask-values-title" });
  const setValue = (j, value) =>
    changed({ values: store.get().values.map((each, k) => (k === j ? value : each)) });
  const setFixed = (name, isFixed) =>
    changed({
      fixed: [...store.get().fixed.filter((each) => each !== name), ...(isFixed ? [name] : [])],
    });
  const fields = setup.features.map((feature, j) =>
    buildField(feature, j, {
      changed,
      set: (value) => setValue(j, value),
      fix: (isFixed) => setFixed(feature.name, isFixed),
      setup,
      store,
    }),
  );
  const finder = findField(setup, fields, store);
  const undo = h(
    "button",
    {
      type: "button",
      class: "quiet",
      id: "ask-undo",
      onclick: () => changed({ values: store.get().own }),
    },
    say("ask.undo"),
  );
  const element = h(
    "section",
    { class: "panel", "aria-labelledby": "ask-values-title" },
    h("div", { class: "panel-head" }, title, undo),
    prediction.element,
    h("p", { class: "hint" }, say("ask.values how")),
    finder.element,
    h(
      "div",
      { class: "fields" },
      fields.map((field) => field.element),
    ),
  );
  function refresh(question) {
    title.textContent = say("row.named", { label: question.label });
    finder.refresh(question);
    undo.hidden = question.values.every((value, j) => value === question.own[j]);
    fields.forEach((field, j) =>
      field.refresh(
        question.values[j],
        question.own[j],
        question.fixed.includes(setup.features[j].name),
        question,
      ),
    );
  }
  return { element, refresh };
}

/** Whether a number lies outside of what was observed. */
export function isOutside(feature, value) {
  const isNumber = feature.is_numeric && typeof value === "number";
  return isNumber && (value < feature.low || value > feature.high);
}

function buildField(feature, j, { set, fix, changed, setup, store }) {
  const curve = buildCurve(setup, j);
  const effort = buildEffort(feature, j, store, changed);
  const control = feature.is_numeric ? buildNumber(feature, j, set) : buildLevel(feature, j, set);
  const was = h("span", { class: "hint", id: `ask-was-${j}` });
  const keep = buildCheck(`ask-keep-${j}`, say("ask.keep"), feature.label, fix);
  const lacks = feature.may_miss
    ? buildCheck(`ask-missing-${j}`, say("ask.missing"), feature.label, (lacking) =>
        set(lacking ? null : control.read()),
      )
    : null;
  const element = h(
    "div",
    { class: "field" },
    h(
      "label",
      { for: `ask-value-${j}` },
      h("span", { title: feature.label === feature.name ? null : feature.name }, feature.label),
      feature.unit ? h("span", { class: "hint" }, ` ${feature.unit}`) : null,
      feature.is_protected ? h("span", { class: "hint" }, ` ${say("protected")}`) : null,
    ),
    control.element,
    curve.element,
    was,
    h("div", { class: "field-checks" }, keep.element, lacks?.element),
    effort.element,
  );
  element.addEventListener("focusin", () => curve.refresh(store.get().values));
  function refresh(value, own, isFixed, question) {
    effort.refresh(question, isFixed);
    if (value !== own || !curve.element.hidden) curve.refresh(store.get().values);
    const isEdited = value !== own;
    element.classList.toggle("edited", isEdited);
    const outside = isOutside(feature, value) ? say("ask.outside", { range: feature.range }) : "";
    was.classList.toggle("warning", Boolean(outside));
    was.textContent =
      value === undefined
        ? say("ask.needs")
        : isEdited
          ? [say("ask.was", { value: own === null ? say("missing") : control.text(own) }), outside]
              .filter(Boolean)
              .join("; ")
          : outside || feature.range || counted(feature.levels.length, "level");
    keep.input.checked = isFixed;
    if (lacks) lacks.input.checked = value === null;
    control.refresh(value);
  }
  return { element, refresh };
}

/** Return a checkbox with a word; who cannot see the field hears its name, too. */
function buildCheck(id, word, name, told) {
  const input = h("input", {
    type: "checkbox",
    id,
    onchange: (event) => told(event.target.checked),
  });
  const unseen = h("span", { class: "unseen" }, ` ${name}`);
  return { input, element: h("label", { class: "check", for: id }, input, word, unseen) };
}

function buildNumber(feature, j, set) {
  const isDate = feature.kind === "date";
  const isWhole = feature.kind === "integer";
  const read = () => {
    const value = fieldNumber(input.value, isDate);
    return value === null || (isWhole && !Number.isInteger(value)) ? undefined : value;
  };
  const input = h("input", {
    type: isDate ? "date" : "number",
    id: `ask-value-${j}`,
    step: isDate ? null : isWhole ? 1 : "any",
    inputmode: isDate ? null : isWhole ? "numeric" : "decimal",
    "aria-describedby": `ask-was-${j}`,
    oninput: () => set(read()),
  });
  const text = (value) => (isDate ? dateText(value) : writeNumber(value, 15));
  const field = (value) => (isDate ? dayText(value) : String(value));
  function refresh(value) {
    input.disabled = value === null;
    input.setAttribute("aria-invalid", String(value === undefined));
    if (document.activeElement !== input && value !== undefined && value !== null)
      input.value = field(value);
  }
  return { element: input, read, text, refresh };
}

function buildLevel(feature, j, set) {
  const read = () => Number(select.value);
  const select = h(
    "select",
    { id: `ask-value-${j}`, "aria-describedby": `ask-was-${j}`, onchange: () => set(read()) },
    feature.level_labels.map((level, code) => h("option", { value: code }, level)),
  );
  function refresh(value) {
    select.disabled = value === null;
    if (value !== null && value !== undefined) select.value = String(value);
  }
  return { element: select, read, text: (code) => feature.level_labels[code], refresh };
}
