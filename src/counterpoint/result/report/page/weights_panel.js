/** Sliders: how much each objective matters, which ranks the table at once. */
import { h } from "./dom.js";

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
      `Less is better: ${objective.hint}.`,
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
    h("h2", { id: "weights-title" }, "What matters to you"),
    h(
      "p",
      { class: "hint" },
      "Move a slider to the right if that matters more. The table ranks itself anew.",
    ),
    rows.map((row) => row.element),
    h(
      "button",
      {
        type: "button",
        class: "quiet",
        id: "even-weights",
        onclick: () => store.set({ weights: report.objectives.map(() => 0.5) }),
      },
      "All alike",
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
      output.textContent = isAlike ? "the same for all" : weightWord(state.weights[m]);
    });
  }
  return { element, refresh };
}

/** Return a weight in words. */
export function weightWord(weight) {
  if (weight === 0) return "does not matter";
  if (weight < 0.35) return "matters little";
  if (weight < 0.65) return "matters";
  if (weight < 1) return "matters much";
  return "matters most";
}
