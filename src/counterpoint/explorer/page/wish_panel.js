/** The wish's panel: which outcome is wanted, and what counterfactuals must obey. */
import { fill, h } from "../../result/report/page/dom.js";
import { fieldNumber } from "../../result/report/page/numbers.js";
import { say } from "../../result/report/page/texts.js";
import { postJson } from "./api.js";
import { faultParts } from "./fault.js";
import { putOff } from "./waiting.js";

/** Return the panel of the wanted outcome; `changed` is told what changes of the question. */
export function buildWish(setup, store, changed) {
  const set = (part) => changed({ wish: { ...store.get().wish, ...part } });
  const label =
    setup.classes &&
    h(
      "select",
      {
        id: "ask-label",
        onchange: (event) => set({ label: event.target.value, low: null, high: null }),
      },
      setup.classes.map((each, k) => h("option", { value: each }, setup.class_labels[k])),
      setup.classes.includes("opposite")
        ? null
        : h("option", { value: "opposite" }, say("ask.opposite")),
    );
  const what = say(setup.classes ? "ask.probability" : "prediction");
  const ends = ["low", "high"].map((end) =>
    h("input", {
      type: "number",
      step: "any",
      id: `ask-${end}`,
      inputmode: "decimal",
      "aria-label": `${what}: ${say(end === "low" ? "ask.from" : "ask.to")}`,
      oninput: (event) => set({ [end]: fieldNumber(event.target.value) }),
    }),
  );
  const element = h(
    "section",
    { class: "panel", "aria-labelledby": "ask-wish-title" },
    h("h2", { id: "ask-wish-title" }, say("ask.wish")),
    label
      ? h("div", { class: "field" }, h("label", { for: "ask-label" }, say("ask.outcome")), label)
      : null,
    h(
      "div",
      { class: "ends pair" },
      h("span", {}, what),
      h("label", { class: "end" }, say("ask.from"), ends[0]),
      h("label", { class: "end" }, say("ask.to"), ends[1]),
    ),
    h("p", { class: "hint" }, say(setup.classes ? "ask.wish class" : "ask.wish value")),
  );
  function refresh({ wish }) {
    if (label) label.value = wish.label;
    ends.forEach((input, k) => {
      const value = [wish.low, wish.high][k];
      input.disabled = wish.label === "opposite";
      if (document.activeElement !== input) input.value = value ?? "";
    });
  }
  return { element, refresh };
}

/** Return the panel of rules, checked line by line while they are written. */
export function buildRules(setup, store, changed) {
  const faults = h("div", { id: "ask-faults", role: "status" });
  const area = h("textarea", {
    id: "ask-rules-text",
    rows: 4,
    spellcheck: "false",
    autocapitalize: "off",
    "aria-describedby": "ask-rules-hint ask-faults",
    placeholder: example(setup),
    oninput: (event) => changed({ rules: event.target.value }),
  });
  const most = h("input", {
    type: "number",
    id: "ask-most",
    min: 1,
    max: setup.features.length,
    step: 1,
    inputmode: "numeric",
    oninput: (event) => changed({ maxChanged: fieldNumber(event.target.value) }),
  });
  const element = h(
    "section",
    { class: "panel", "aria-labelledby": "ask-rules-title" },
    h("h2", { id: "ask-rules-title" }, say("ask.rules")),
    h("label", { class: "unseen", for: "ask-rules-text" }, say("ask.rules label")),
    area,
    faults,
    h("p", { class: "hint", id: "ask-rules-hint" }, say("ask.rules how")),
    h("div", { class: "ends" }, h("label", { for: "ask-most" }, say("ask.most")), most),
  );
  const check = putOff(async (signal, text) => {
    const { faults: found } = await postJson(
      "/api/rules",
      { rules: text.split("\n") },
      signal,
    ).catch((error) => {
      if (error.name === "AbortError") throw error;
      return { faults: [{ line: 0, error: error.message }] };
    });
    area.setAttribute("aria-invalid", String(found.length > 0));
    changed({ nFaults: found.length });
    fill(
      faults,
      found.map((fault) => drawFault(fault)),
    );
  }, 250);
  let last = "";
  function refresh({ rules, maxChanged }) {
    if (document.activeElement !== area) area.value = rules;
    if (document.activeElement !== most) most.value = maxChanged ?? "";
    if (rules === last) return;
    last = rules;
    check(rules);
  }
  return { element, refresh };
}

/** Return what is wrong with a line. */
function drawFault({ line, error }) {
  const at = say("ask.line", { line: line + 1 });
  return h("div", { class: "fault" }, `${at} `, ...faultParts(error));
}

/** Return rules that fit the features, to show what one looks like. */
function example({ features }) {
  const plain = features.filter((feature) => /^[A-Za-z_]\w*$/.test(feature.name));
  const number = plain.find((feature) => feature.is_numeric && feature.kind !== "date");
  const level = plain.find((feature) => !feature.is_numeric);
  return [number && `${number.name} increases`, level && `fixed ${level.name}`]
    .filter(Boolean)
    .join("\n");
}
