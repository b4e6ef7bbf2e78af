/** Small drawings of a way: each feature on what was observed, a ring of safety, bars of classes. */
import { h, svg } from "./dom.js";
import { say } from "./texts.js";

const [STRIP_WIDTH, STRIP_HEIGHT, EDGE] = [240, 44, 8];
const BASE = 30; // where the axis is, in pixels from the top

/** Return where a feature's axis begins and ends: all that was observed, the row and what works. */
export function domainOfFeature(feature, genes) {
  if (!feature.is_numeric) return [-0.5, Math.max(0.5, feature.levels.length - 0.5)];
  const ends = feature.bars.flatMap(([start, end]) => [start, end]);
  const known = [feature.row, feature.low, feature.high, ...genes, ...ends];
  const all = known.filter((value) => value !== null && value !== undefined);
  const [low, high] = [Math.min(...all), Math.max(...all)];
  return high > low ? [low, high] : [low - 0.5, high + 0.5];
}

/** Return a feature as a strip: the observed values, the spans that work, before and after. */
export function drawStrip(feature, value, works) {
  const spans = (works?.spans ?? []).filter(([gene]) => gene !== null);
  const [low, high] = domainOfFeature(feature, [...spans.flat(), value]);
  const x = (at) => EDGE + ((at - low) / (high - low)) * (STRIP_WIDTH - 2 * EDGE);
  return svg(
    "svg",
    { class: "strip", viewBox: `0 0 ${STRIP_WIDTH} ${STRIP_HEIGHT}`, "aria-hidden": "true" },
    feature.bars.map(([start, end, share]) =>
      svg("rect", {
        class: "strip-bar",
        x: x(start) + 0.4,
        y: BASE - 24 * share,
        width: Math.max(0.8, x(end) - x(start) - 0.8),
        height: 24 * share,
      }),
    ),
    svg("line", { class: "strip-axis", x1: EDGE, x2: STRIP_WIDTH - EDGE, y1: BASE, y2: BASE }),
    drawWorks(feature, spans, x),
    feature.row === null || value === null
      ? null
      : svg("line", { class: "strip-move", x1: x(feature.row), x2: x(value), y1: BASE, y2: BASE }),
    feature.row === null
      ? null
      : svg("circle", { class: "strip-old", cx: x(feature.row), cy: BASE, r: 5 }),
    value === null ? null : svg("circle", { class: "strip-new", cx: x(value), cy: BASE, r: 6 }),
  );
}

function drawWorks(feature, spans, x) {
  const bar = (from, to) =>
    svg("rect", {
      class: "strip-works",
      x: from,
      y: BASE + 6,
      width: Math.max(3, to - from),
      height: 5,
      rx: 2.5,
    });
  const around = feature.is_numeric ? 0 : 0.35;
  return spans.map((span) => bar(x(span[0] - around), x(span[span.length - 1] + around)));
}

/** Return a ring that shows which share of the cases near it get there, too. */
export function drawRing(share) {
  const around = 2 * Math.PI * 13;
  const percent = Math.round(100 * share);
  const text = say("ring", { percent });
  return h(
    "span",
    { class: "ring", role: "img", "aria-label": text, title: text },
    svg(
      "svg",
      { viewBox: "0 0 34 34", "aria-hidden": "true" },
      svg("circle", { class: "ring-all", cx: 17, cy: 17, r: 13 }),
      svg("circle", {
        class: "ring-safe",
        cx: 17,
        cy: 17,
        r: 13,
        "stroke-dasharray": `${around * share} ${around}`,
        transform: "rotate(-90 17 17)",
      }),
      svg("text", { x: 17, y: 21, "text-anchor": "middle" }, String(percent)),
    ),
  );
}

/** Return the probabilities of all classes before and after, two bars each. */
export function drawClasses(report, after) {
  const before = report.outputs[0];
  const bar = (value, name) =>
    svg(
      "svg",
      { class: "class-bar", viewBox: "0 0 100 5", preserveAspectRatio: "none" },
      svg("rect", { class: "scale-line", width: 100, height: 5 }),
      svg("rect", { class: name, width: 100 * value, height: 5 }),
    );
  return h(
    "ul",
    { class: "classes" },
    report.classes.map((label, k) =>
      h(
        "li",
        {},
        h("span", { class: "class-name" }, label),
        h(
          "span",
          { class: "class-bars", "aria-hidden": "true" },
          bar(before[k], "class-old"),
          bar(after[k], "class-new"),
        ),
        h("span", { class: "class-text" }, `${percentOf(before[k])} → ${percentOf(after[k])} %`),
      ),
    ),
  );
}

function percentOf(share) {
  return String(Math.round(100 * share));
}

/** Return the values as spans on either side of the row's own, which is in none of them. */
export function spansOf(values, row) {
  const known = values.filter((value) => value !== null).sort((a, b) => a - b);
  const sides = [known.filter((value) => value < row), known.filter((value) => value >= row)];
  return sides.filter((side) => side.length).map((side) => [side[0], side[side.length - 1]]);
}
