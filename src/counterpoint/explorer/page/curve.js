/** The curve beside an edited field: what the model says as this value changes and all others stay. */
import { fill, h, svg } from "../../result/report/page/dom.js";
import { say } from "../../result/report/page/texts.js";
import { postJson } from "./api.js";
import { placeOn } from "./scatter_panel.js";
import { putOff } from "./waiting.js";

const [WIDE, TALL, ROOM] = [180, 46, 4];

/** Return the curve of one field; it is asked for when the field has the focus or was edited. */
export function buildCurve(setup, j) {
  const feature = setup.features[j];
  const element = h("div", { class: "curve", id: `ask-curve-${j}`, hidden: true });
  let asked = "";
  const ask = putOff(async (signal, values) => {
    try {
      const { curve } = await postJson("/api/curve", { values, place: j }, signal);
      element.hidden = false;
      fill(element, drawCurve(setup, feature, curve, values[j]));
    } catch (error) {
      if (error.name === "AbortError") throw error;
      element.hidden = true;
    }
  }, 200);
  function refresh(values) {
    const now = JSON.stringify(values);
    if (now === asked || values.some((value) => value === undefined)) return;
    asked = now;
    ask(values);
  }
  return { element, refresh };
}

function drawCurve(setup, feature, curve, value) {
  const outputs = curve.map(([, output]) => output);
  const [low, high] = setup.classes ? [0, 1] : [Math.min(...outputs), Math.max(...outputs)];
  const x = (gene) => ROOM + placeOn(feature, gene) * (WIDE - 2 * ROOM);
  const y = (output) =>
    TALL - ROOM - (high > low ? (output - low) / (high - low) : 0.5) * (TALL - 2 * ROOM);
  const points = curve.map(([gene, output]) => `${x(gene)},${y(output)}`).join(" ");
  const what = setup.classes
    ? say("ask.curve class", { label: setup.class_labels.at(-1) })
    : say("ask.curve value");
  return [
    svg(
      "svg",
      {
        viewBox: `0 0 ${WIDE} ${TALL}`,
        role: "img",
        "aria-label": say("ask.curve label", { what, name: feature.label }),
      },
      svg("rect", { class: "scatter-ground", width: WIDE, height: TALL }),
      feature.is_numeric
        ? svg("polyline", { class: "curve-line", points })
        : curve.map(([gene, output]) =>
            svg("circle", { class: "curve-level", cx: x(gene), cy: y(output), r: 3 }),
          ),
      value === null
        ? null
        : svg("line", { class: "curve-now", x1: x(value), x2: x(value), y1: 0, y2: TALL }),
    ),
    h("span", { class: "hint" }, setup.classes ? say("ask.curve scale", { what }) : what),
  ];
}
