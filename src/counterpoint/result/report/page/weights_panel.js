/** Sliders: how much each objective matters, which ranks the table at once. */
import { h } from "./dom.js";
import { say } from "./texts.js";

/** Return the panel of sliders. */
export function buildWeights(report, store) {
  const rows = report.objectives.map((objective, m) => {
    const output = h("output", { for: `weight-${m}`, class: "weight-value" });
    const input = h("input", {
      type: "range",
      id: `weight-${m}`,
      min: 0,
      max: 100,
      step: 1,
      "aria-describedby": `weight-hint-${m}`,
      oninput: (event) => setWeight(m, Number(event.target.value) / 100),
    });
    const label = h("label", { for: `weight-${m}` }, objective.label);
    const hint = h(
      "p",
      { id: `weight-hint-${m}`, class: "hint" },
      say("weights.hint", { hint: objective.hint }),
    );
    return { input, output, element: h("div", { class: "weight" }, label, output, input, hint) };
  });
  function setWeight(m, weight) {
    const weights = store.get().weights.map((each, k) => (k === m ? weight : each));
    store.set({ weights, sort: { key: "rank", isDescending: false } });
  }
  const element = h(
    "section",
    { class: "panel", "aria-labelledby": "weights-title" },
    h("h2", { id: "weights-title" }, say("weights.title")),
    h("p", { class: "hint" }, say("weights.how")),
    rows.map((row) => row.element),
    h(
      "button",
      {
        type: "button",
        class: "quiet",
        id: "even-weights",
        onclick: () => store.set({ weights: report.objectives.map(() => 0.5) }),
      },
      say("weights.alike"),
    ),
  );
  function refresh(state, view) {
    rows.forEach(({ input, output, element: row }, m) => {
      const isAlike = !(view.ranges[m][1] > view.ranges[m][0]);
      input.disabled = isAlike;
      row.classList.toggle("alike", isAlike);
      const percent = Math.round(100 * state.weights[m]);
      input.value = percent;
      input.setAttribute("aria-valuetext", weightWord(state.weights[m]));
      output.textContent = isAlike ? say("weights.same") : weightWord(state.weights[m]);
    });
  }
  return { element, refresh };
}

/** Return a weight in words. */
export function weightWord(weight) {
  if (weight === 0) return say("weight.none");
  if (weight < 0.35) return say("weight.little");
  if (weight < 0.65) return say("weight.some");
  if (weight < 1) return say("weight.much");
  return say("weight.most");
}
