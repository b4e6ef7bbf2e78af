/** The prediction: what the model says of the row as it is now. */
import { fill, h, svg } from "../../result/report/page/dom.js";
import { say } from "../../result/report/page/texts.js";
import { postJson } from "./api.js";
import { editedPlaces, isComplete } from "./question.js";
import { putOff } from "./waiting.js";

const WIDTH = 240;
const MOST_SHOWN = 4;

/** Return the strip of the prediction; it asks the server whenever the values change. */
export function buildPrediction() {
  const text = h("p", { class: "said", id: "ask-said" });
  const bars = h("ul", { class: "outputs" });
  const hint = h("p", { class: "hint" });
  const element = h(
    "div",
    { class: "prediction", role: "group", "aria-labelledby": "ask-said-title" },
    h(
      "div",
      {},
      h("h3", { id: "ask-said-title" }, say("ask.says")),
      h("div", { "aria-live": "polite" }, text),
      hint,
    ),
    bars,
  );
  let last = null;
  const ask = putOff(async (signal, question) => {
    try {
      show(await postJson("/api/prediction", { values: question.values }, signal), question);
    } catch (error) {
      if (error.name === "AbortError") throw error;
      element.classList.remove("stale");
      element.classList.add("refused");
      text.textContent = error.message;
      hint.textContent = "";
      fill(bars);
    }
  }, 120);
  function show(said, question) {
    element.classList.remove("stale", "refused");
    text.textContent = said.called ?? said.text;
    fill(bars, likeliest(said.outputs).map(drawOutput));
    hint.textContent = editedPlaces(question).length
      ? say("ask.said before", { text: question.said.text })
      : say("ask.said as is");
  }
  function refresh(question) {
    const now = JSON.stringify([question.row, question.values]);
    if (!isComplete(question)) {
      last = null;
      ask.drop();
      element.classList.add("stale");
      hint.textContent = say("ask.said stale");
      return;
    }
    if (now === last) return;
    last = now;
    element.classList.add("stale");
    if (editedPlaces(question).length) ask(question);
    else show(question.said, question);
  }
  return { element, refresh };
}

/** Return the classes to show, in their own order: of many the likeliest. */
function likeliest(outputs) {
  const values = outputs.map((output) => output.value).sort((a, b) => b - a);
  const least = values[MOST_SHOWN - 1] ?? -Infinity;
  return outputs
    .filter((output) => output.label !== null && output.value >= least)
    .slice(0, MOST_SHOWN);
}

function drawOutput(output) {
  return h(
    "li",
    {},
    h("span", { class: "output-name" }, output.label),
    svg(
      "svg",
      {
        class: "output-bar",
        viewBox: `0 0 ${WIDTH} 8`,
        preserveAspectRatio: "none",
        "aria-hidden": "true",
      },
      svg("rect", { class: "scale-line", width: WIDTH, height: 8, rx: 4 }),
      svg("rect", {
        class: "output-share",
        width: Math.max(0, Math.min(1, output.value)) * WIDTH,
        height: 8,
        rx: 4,
      }),
    ),
    h("span", { class: "output-text" }, output.text),
  );
}
