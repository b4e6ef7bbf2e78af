/** The figures' panel: drawn when the page is there, and linked: what one selects, all show. */
import { h } from "./dom.js";
import { countedFeatures, hasNumbers, onlyNumbers, selectedNumbers } from "./figures.js";
import { constraintsOf, weigh } from "./limits.js";
import { say } from "./texts.js";
import { isDark } from "./theme.js";

const SELECTIONS = ["brush_store", "picked_store"];
const LINKED = new Set(["parallel", "objectives"]);
const LEAST = { parallel: 420 }; // pixels, below which names would overlap; the drawing is scaled
const MARGINS = { parallel: 30, frequency: 190 }; // pixels beside the drawing, for labels
const OPTIONS = {
  actions: false,
  ast: true,
  renderer: "svg",
  defaultStyle: false,
  tooltip: { disableDefaultStyle: true, theme: "own" },
};

/** Return the section of the figures that `load` gets; null if there are none to get. */
export function buildFigures(report, store, load) {
  if (!load) return null;
  const status = h("p", { class: "hint", role: "status" }, say("figures.drawing"));
  const grid = h("div", { class: "figures" });
  const clear = h(
    "button",
    { type: "button", class: "quiet", id: "clear-brush", hidden: true, onclick: () => clearAll() },
    say("figures.clear"),
  );
  const element = h(
    "section",
    { id: "figures", "aria-labelledby": "figures-title" },
    h("h2", { id: "figures-title" }, say("figures")),
    status,
    clear,
    grid,
  );
  let drawn = [];
  let given = null;
  async function draw() {
    for (const each of drawn) each.finalize();
    const colours = isDark() ? "dark" : "light";
    grid.dataset.colours = colours; // for print, which is always light
    drawn = await Promise.all(
      given.map((figure, k) =>
        drawFigure(figure, grid.children[k].lastChild, colours, report, store),
      ),
    );
    refresh(store.get());
  }
  async function clearAll() {
    store.set({ brush: null });
    await draw();
  }
  function refresh(state) {
    clear.hidden = !state.brush;
    for (const each of drawn) each.show(state);
  }
  async function start() {
    given = await load();
    grid.append(...given.map(buildFrame));
    await draw();
    status.textContent = say(given.length ? "figures.how" : "figures.none");
  }
  start().catch((error) => {
    status.textContent = say("figures.failed", { error: error.message });
  });
  const finalize = () => drawn.forEach((each) => each.finalize());
  return { element, refresh, recolour: () => given && draw(), finalize };
}

function buildFrame(figure) {
  return h(
    "figure",
    { class: "figure panel", id: `figure-${figure.name}` },
    h(
      "figcaption",
      {},
      h("h3", {}, figure.title),
      [figure.subtitle].flat().map((line) => h("p", { class: "hint" }, line)),
    ),
    h("div", {
      class: "figure-frame",
      tabindex: 0,
      role: "img",
      "aria-label": [figure.title, figure.subtitle].flat().join(". "),
    }),
  );
}

/** Return a specification without ground, and no wider than its place where one width is all it has. */
function fitted(given, room, least = 200) {
  const spec = { ...given, config: { ...given.config, background: "transparent" } };
  if (spec.concat) return rearranged(spec, room);
  return spec.width ? { ...spec, width: Math.max(least, Math.min(spec.width, room)) } : spec;
}

const LABELS_ROOM = 62; // pixels that the numbers of a panel take

/** Return panels side by side as far as there is room, each as wide as that leaves. */
function rearranged(spec, room) {
  const wide = Math.max(...spec.concat.map((panel) => panel.width));
  const columns = Math.max(1, Math.min(spec.columns, Math.floor(room / (wide + LABELS_ROOM))));
  const width = Math.max(120, Math.floor(room / columns) - LABELS_ROOM);
  const concat = spec.concat.map((panel) => ({ ...panel, width: Math.min(width, 2 * wide) }));
  return { ...spec, columns, concat };
}

/** Draw one figure; return how to show a state in it, and how to take it away. */
async function drawFigure(figure, place, colours, report, store) {
  // Vega marks the rows it is given as its own, so it gets copies each time.
  const spec = {
    ...fitted(figure[colours], place.clientWidth - (MARGINS[figure.name] ?? 0), LEAST[figure.name]),
    datasets: structuredClone(figure.datasets),
  };
  const { view, finalize } = await window.vegaEmbed(place, spec, OPTIONS);
  place.querySelector("svg").setAttribute("aria-hidden", "true"); // its place says what it is
  for (const name of LINKED.has(figure.name) ? SELECTIONS : []) {
    listen(view, name, (selection) => {
      const numbers = selectedNumbers(report.counterfactuals, selection);
      if (!numbers && store.get().brush?.figure !== figure.name) return;
      store.set({ brush: numbers && { figure: figure.name, numbers } });
    });
  }
  let last = "";
  function show(state) {
    const others = state.brush?.figure === figure.name ? { ...state, brush: null } : state;
    const { kept } = weigh(report.counterfactuals, constraintsOf(report, others));
    const key = kept.map((each) => each.number).join();
    if (key === last) return;
    last = key;
    const numbers = new Set(kept.map((each) => each.number));
    for (const [name, rows] of Object.entries(figure.datasets)) {
      if (hasNumbers(rows)) view.data(name, structuredClone(onlyNumbers(rows, numbers)));
      if (figure.name === "frequency" && name === "features")
        view.data(name, countedFeatures(rows, kept));
    }
    view.runAsync();
  }
  return { show, finalize };
}

/** Tell when a selection of a view changes, where it has one of that name; not at each pixel. */
function listen(view, name, told) {
  let timer = 0;
  try {
    view.addDataListener(name, (_, selection) => {
      clearTimeout(timer);
      timer = setTimeout(() => told(selection), 60);
    });
  } catch {
    // this figure has no such selection
  }
}
