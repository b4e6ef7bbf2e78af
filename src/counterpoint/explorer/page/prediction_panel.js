/** The prediction's panel: what the model says of the row as it is now. */
import { fill, h, svg } from "../../result/report/page/dom.js";
import { postJson } from "./api.js";
import { editedPlaces, isComplete } from "./question.js";
import { putOff } from "./waiting.js";

const WIDTH = 240;

/** Return the panel; it asks the server whenever the values change. */
export function buildPrediction() {
  const text = h("p", { class: "said", id: "ask-said" });
  const bars = h("ul", { class: "outputs" });
  const hint = h("p", { class: "hint" });
  const element = h("section", { class: "panel", "aria-labelledby": "ask-said-title" },
    h("h2", { id: "ask-said-title" }, "The model says"),
    h("div", { "aria-live": "polite" }, text), bars, hint);
  let last = null;
  const ask = putOff(async (signal, question) => {
    try {
      show(await postJson("/api/prediction", { values: question.values }, signal), question);
    } catch (error) {
      if (error.name === "AbortError") throw error;
      text.textContent = error.message;
      fill(bars);
    }
  }, 120);
  function show(said, question) {
    text.textContent = said.decision ?? said.text;
    fill(bars, said.outputs.filter((output) => output.label !== null).map(drawOutput));
    hint.textContent = editedPlaces(question).length ? `Before your edits: ${question.said.text}.` : "Of the row as it is in the table.";
  }
  function refresh(question) {
    const now = JSON.stringify([question.row, question.values]);
    if (now === last || !isComplete(question)) return;
    last = now;
    if (editedPlaces(question).length) ask(question);
    else show(question.said, question);
  }
  return { element, refresh };
}

function drawOutput(output) {
  return h("li", {},
    h("span", { class: "output-name" }, output.label),
    svg("svg", { class: "output-bar", viewBox: `0 0 ${WIDTH} 8`, preserveAspectRatio: "none", "aria-hidden": "true" },
      svg("rect", { class: "scale-line", width: WIDTH, height: 8, rx: 4 }),
      svg("rect", { class: "output-share", width: Math.max(0, Math.min(1, output.value)) * WIDTH, height: 8, rx: 4 })),
    h("span", { class: "output-text" }, output.text));
}
