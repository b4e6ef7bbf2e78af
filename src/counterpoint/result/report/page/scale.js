/** The scale: where the row's prediction is, where it should be, and where counterfactuals are. */
import { svg } from "./dom.js";
import { countedAll, writeNumber } from "./numbers.js";
import { say } from "./texts.js";

const WIDTH = 640;
const MARGIN = 12;

/** Return the ends of the scale: 0 and 1 for probabilities, else all there is to show. */
export function domainOf(report) {
  if (report.target.is_probability) return [0, 1];
  const values = [report.row.prediction, ...report.counterfactuals.map((each) => each.prediction)];
  const ends = [report.target.low, report.target.high].filter((end) => end !== null);
  if ([...values, ...ends].every((value) => value >= 0 && value <= 1)) return [0, 1];
  const low = [...values, ...ends].reduce((a, b) => Math.min(a, b));
  const high = [...values, ...ends].reduce((a, b) => Math.max(a, b));
  const slack = high > low ? 0.05 * (high - low) : 1;
  return [low - slack, high + slack];
}

/** Return what the scale says, in words. */
export function scaleText(report) {
  const predictions = report.counterfactuals.map((each) => each.prediction);
  const head = say("scale", { now: report.row.text, target: report.target.text });
  if (!predictions.length) return head;
  const low = predictions.reduce((a, b) => Math.min(a, b));
  const high = predictions.reduce((a, b) => Math.max(a, b));
  const ends = { low: writeNumber(low), high: writeNumber(high) };
  return `${head} ${say("scale.lie", { all: countedAll(report.counterfactuals), ...ends })}`;
}

/** Return the part of the scale that is wanted. */
function band(from, to) {
  const width = Math.max(3, to - from);
  return svg("rect", { class: "scale-target", x: from, y: 38, width, height: 8, rx: 4 });
}

/** Return on which side of a place a text has room. */
function sideOf(x) {
  return x > WIDTH - 90 ? "end" : x < 90 ? "start" : "middle";
}

/** Return the scale as a drawing. */
export function drawScale(report) {
  const [low, high] = domainOf(report);
  const x = (value) => MARGIN + ((value - low) / (high - low)) * (WIDTH - 2 * MARGIN);
  const from = x(Math.max(low, report.target.low ?? low));
  const to = x(Math.min(high, report.target.high ?? high));
  const places = new Set(report.counterfactuals.map((each) => x(each.prediction).toFixed(0)));
  const now = x(report.row.prediction);
  // Of several classes no end is known: which is decided for depends on all probabilities.
  const hasEnds = report.target.low !== null || report.target.high !== null;
  const wanted = (from + to) / 2;
  const isClose = hasEnds && Math.abs(wanted - now) < 110;
  return svg(
    "svg",
    { class: "scale", viewBox: `0 0 ${WIDTH} 84`, role: "img", "aria-label": scaleText(report) },
    svg("rect", {
      class: "scale-line",
      x: MARGIN,
      y: 38,
      width: WIDTH - 2 * MARGIN,
      height: 8,
      rx: 4,
    }),
    hasEnds ? band(from, to) : null,
    [...places].map((place) =>
      svg("line", { class: "scale-tick", x1: place, x2: place, y1: 36, y2: 48 }),
    ),
    svg("circle", { class: "scale-row", cx: now, cy: 42, r: 8 }),
    svg(
      "text",
      { class: "scale-now", x: now, y: 22, "text-anchor": sideOf(now) },
      say("scale.now", { now: report.row.text }),
    ),
    hasEnds
      ? svg(
          "text",
          {
            class: "scale-wanted",
            x: isClose ? WIDTH - MARGIN : wanted,
            y: isClose ? 72 : 22,
            "text-anchor": isClose ? "end" : sideOf(wanted),
          },
          say("wanted"),
        )
      : null,
    svg("text", { class: "scale-end", x: MARGIN, y: 72 }, writeNumber(low)),
    isClose
      ? null
      : svg(
          "text",
          { class: "scale-end", x: WIDTH - MARGIN, y: 72, "text-anchor": "end" },
          writeNumber(high),
        ),
  );
}
