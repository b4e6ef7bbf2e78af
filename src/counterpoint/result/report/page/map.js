/** The map of ways: how much each changes against how sure it is; a click shows its card. */
import { h, svg } from "./dom.js";
import { writeNumber } from "./numbers.js";
import { domainOf } from "./scale.js";
import { say } from "./texts.js";

const [MAP_WIDTH, MAP_HEIGHT] = [560, 250];
const MAP_ROOM = { left: 56, right: 16, top: 26, bottom: 40 };

/** Return where each way stands: effort to the right, prediction upwards, and its radius. */
export function placesOf(report, ways) {
  const [low, high] = domainOf(report);
  const most = Math.max(...ways.map((way) => way.effort)) * 1.1 || 1;
  const x = (effort) =>
    MAP_ROOM.left + (effort / most) * (MAP_WIDTH - MAP_ROOM.left - MAP_ROOM.right);
  const y = (value) =>
    MAP_HEIGHT -
    MAP_ROOM.bottom -
    ((value - low) / (high - low)) * (MAP_HEIGHT - MAP_ROOM.top - MAP_ROOM.bottom);
  const points = ways.map((way) => ({
    ...way,
    x: x(way.effort),
    y: y(report.byNumber.get(way.number).prediction),
    r: 9 + 4 * Math.log10(Math.max(1, way.n)),
  }));
  apart(points);
  return { points, x, y, low, high, most };
}

/** Move points that would hide others to the left, until all numbers can be read. */
function apart(points) {
  points.forEach((point, k) => {
    const others = points.slice(0, k);
    const hides = (other) =>
      Math.hypot(point.x - other.x, point.y - other.y) < 0.8 * (point.r + other.r);
    while (others.some(hides) && point.x > MAP_ROOM.left) point.x -= 4;
  });
}

/** Return the map; null where there are not two ways to tell apart. */
export function buildMap(report, pick) {
  const ways = report.representatives.filter((each) => each.works);
  if (ways.length < 2) return null;
  const map = placesOf(report, ways);
  return h(
    "details",
    { class: "panel map-panel", open: true },
    h("summary", {}, say("map")),
    h("p", { class: "hint" }, say(hasWanted(report) ? "map.how hatched" : "map.how")),
    svg(
      "svg",
      {
        class: "map",
        viewBox: `0 0 ${MAP_WIDTH} ${MAP_HEIGHT}`,
        role: "group",
        "aria-label": say("map"),
      },
      svg("defs", {}, hatching()),
      drawWanted(report, map),
      drawAxes(report, map),
      map.points.map((point, k) => drawPoint(point, k, pick)),
    ),
  );
}

const LEFT_END = MAP_ROOM.left;
const RIGHT_END = MAP_WIDTH - MAP_ROOM.right;
const BOTTOM = MAP_HEIGHT - MAP_ROOM.bottom;

function mapText(attributes, words) {
  return svg("text", { class: "map-text", ...attributes }, words);
}

/** Whether the wanted part of the axis has an end; of several classes none is known. */
function hasWanted({ target }) {
  return target.low !== null || target.high !== null;
}

/** Return the wanted part of the map, if it has an end; its name is above it, where no way is. */
function drawWanted(report, { y, low, high }) {
  if (!hasWanted(report)) return [];
  const ends = [report.target.low, report.target.high];
  const [from, to] = [Math.max(low, ends[0] ?? low), Math.min(high, ends[1] ?? high)];
  return [
    svg("rect", {
      class: "map-target",
      x: LEFT_END,
      y: y(to),
      width: RIGHT_END - LEFT_END,
      height: Math.max(2, y(from) - y(to)),
      fill: "url(#hatch)",
    }),
    mapText({ x: RIGHT_END, y: y(to) - 5, "text-anchor": "end" }, say("wanted")),
  ];
}

function drawAxes(report, { y, low, high, most }) {
  const line = (name, [x1, y1], [x2, y2]) => svg("line", { class: name, x1, y1, x2, y2 });
  const now = y(report.row.prediction);
  const middle = (MAP_ROOM.top + BOTTOM) / 2;
  return [
    line("map-axis", [LEFT_END, BOTTOM], [RIGHT_END, BOTTOM]),
    line("map-axis", [LEFT_END, MAP_ROOM.top], [LEFT_END, BOTTOM]),
    line("map-now", [LEFT_END, now], [RIGHT_END, now]),
    mapText({ x: LEFT_END + 6, y: now - 4 }, say("now")),
    mapText({ x: LEFT_END - 6, y: y(low), "text-anchor": "end" }, writeNumber(low, 3)),
    mapText({ x: LEFT_END - 6, y: y(high) + 10, "text-anchor": "end" }, writeNumber(high, 3)),
    mapText({ x: LEFT_END, y: BOTTOM + 16 }, "0"),
    mapText({ x: RIGHT_END, y: BOTTOM + 16, "text-anchor": "end" }, writeNumber(most, 2)),
    mapText(
      { x: (LEFT_END + RIGHT_END) / 2, y: MAP_HEIGHT - 6, "text-anchor": "middle" },
      say("map.size"),
    ),
    mapText(
      { x: 14, y: middle, "text-anchor": "middle", transform: `rotate(-90 14 ${middle})` },
      say("map.prediction"),
    ),
  ];
}

/** Return the pattern of the wanted part. */
export function hatching() {
  return svg(
    "pattern",
    {
      id: "hatch",
      width: 8,
      height: 8,
      patternUnits: "userSpaceOnUse",
      patternTransform: "rotate(45)",
    },
    svg("rect", { class: "hatch-ground", width: 8, height: 8 }),
    svg("rect", { class: "hatch-line", width: 2, height: 8 }),
  );
}

function drawPoint(point, k, pick) {
  const name = `${k + 1}: ${point.name}`;
  const choose = () => pick(point.number);
  return svg(
    "g",
    {
      class: "map-point",
      role: "button",
      tabindex: 0,
      "aria-label": say("map.way", { name }),
      onclick: choose,
      onkeydown: (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        choose();
      },
    },
    svg("title", {}, name),
    svg("circle", { cx: point.x, cy: point.y, r: point.r }),
    svg("text", { x: point.x, y: point.y + 4, "text-anchor": "middle" }, String(k + 1)),
  );
}
