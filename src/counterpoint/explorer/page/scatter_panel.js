/** The scatter: rows over two features, coloured by what the model says; a click picks one. */
import { fill, h, svg } from "../../result/report/page/dom.js";
import { writeNumber } from "../../result/report/page/numbers.js";
import { say, wholeText } from "../../result/report/page/texts.js";
import { getJson } from "./api.js";

const [SIDE, EDGE] = [360, 34];

/** Return where a value stands between the ends of its feature; levels side by side. */
export function placeOn(feature, value) {
  const [low, high] = feature.is_numeric
    ? [feature.low, feature.high]
    : [-0.5, feature.levels.length - 0.5];
  return high > low ? Math.min(1, Math.max(0, (value - low) / (high - low))) : 0.5;
}

/** Return the two features to begin with: numbers, in which points lie apart, if there are two. */
export function firstPlaces(features) {
  const places = features.map((_, j) => j);
  const sorted = [
    ...places.filter((j) => features[j].is_numeric),
    ...places.filter((j) => !features[j].is_numeric),
  ];
  return [sorted[0], sorted[1] ?? sorted[0]];
}

/** Return the panel; `pick` is told the position of a row. */
export function buildScatter(setup, pick) {
  const drawing = h("div", { class: "scatter" });
  const status = h("p", { class: "hint", role: "status" });
  const places = firstPlaces(setup.features);
  const selects = ["x", "y"].map((name, k) =>
    h(
      "select",
      { id: `ask-scatter-${name}`, "aria-label": say("ask.axis", { axis: name }), onchange: draw },
      setup.features.map((feature, j) =>
        h("option", { value: j, selected: j === places[k] }, feature.label),
      ),
    ),
  );
  async function draw() {
    const [x, y] = selects.map((select) => Number(select.value));
    try {
      const { points, n_rows: n } = await getJson(`/api/points?x=${x}&y=${y}`);
      const label = setup.class_labels?.at(-1);
      status.textContent = say(setup.classes ? "ask.scatter class" : "ask.scatter value", {
        n: wholeText(points.length),
        of: wholeText(n),
        label,
      });
      fill(drawing, drawPoints(setup, points, [x, y], pick));
    } catch (error) {
      status.textContent = error.message;
    }
  }
  const element = h(
    "details",
    { class: "scatter-panel", ontoggle: (event) => event.target.open && draw() },
    h("summary", {}, say("ask.scatter")),
    h("div", { class: "finder" }, selects, status),
    drawing,
  );
  return { element };
}

function drawPoints(setup, points, [x, y], pick) {
  const outputs = points.map(([, , , output]) => output);
  const [low, high] = setup.classes ? [0, 1] : [Math.min(...outputs), Math.max(...outputs)];
  const at = (feature, value) => EDGE + placeOn(feature, value) * (SIDE - 2 * EDGE);
  const known = points.filter(([, a, b]) => a !== null && b !== null);
  const text = (attributes, words) => svg("text", { class: "map-text", ...attributes }, words);
  return svg(
    "svg",
    { viewBox: `0 0 ${SIDE} ${SIDE}`, role: "group", "aria-label": say("ask.rows region") },
    svg("rect", {
      class: "scatter-ground",
      x: EDGE,
      y: EDGE,
      width: SIDE - 2 * EDGE,
      height: SIDE - 2 * EDGE,
    }),
    text({ x: SIDE / 2, y: SIDE - 8, "text-anchor": "middle" }, setup.features[x].label),
    text({ x: EDGE, y: EDGE - 8 }, setup.features[y].label),
    known.map(([position, a, b, output]) =>
      svg(
        "circle",
        {
          class: "scatter-point",
          cx: at(setup.features[x], a),
          cy: SIDE - at(setup.features[y], b),
          r: 5,
          "fill-opacity": 0.15 + 0.85 * (high > low ? (output - low) / (high - low) : 0.5),
          "data-position": position,
          onclick: () => pick(position),
        },
        svg("title", {}, say("ask.scatter point", { at: writeNumber(output) })),
      ),
    ),
  );
}
