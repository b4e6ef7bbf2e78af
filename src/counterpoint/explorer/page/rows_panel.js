/** The rows' panel: find one by its label, page through them, pick one. */
import { fill, h } from "../../result/report/page/dom.js";
import { say, wholeText } from "../../result/report/page/texts.js";
import { getJson } from "./api.js";
import { faultParts } from "./fault.js";
import { pickedRow } from "./question.js";
import { buildScatter } from "./scatter_panel.js";
import { putOff } from "./waiting.js";

const MOST_COLUMNS = 5;

/** Return the panel to pick a row; `changed` is told what changes of the question. */
export function buildRows(setup, store, changed) {
  const pick = (row) => changed(pickedRow(row, store.get(), setup.classes));
  const table = h("div", {
    class: "scroll",
    tabindex: 0,
    role: "region",
    "aria-label": say("ask.rows region"),
  });
  const find = h("input", {
    type: "search",
    id: "ask-find",
    placeholder: say("ask.find hint"),
    autocomplete: "off",
    oninput: () => look(0),
  });
  const where = buildWhere(setup, () => look(0));
  const count = buildCount(where);
  const sort = buildSort(setup, () => look(0));
  const scatter = buildScatter(setup, (position) => pickAt(position, pick));
  const pager = buildPager((way) => look(Math.max(0, shown.start + way * setup.per_page)));
  const findLabel = h("label", { for: "ask-find" }, say("ask.find"));
  const whereLabel = h("label", { for: "ask-where" }, say("ask.where"));
  const element = h(
    "section",
    { class: "panel", "aria-labelledby": "ask-rows-title" },
    h("h2", { id: "ask-rows-title" }, say("ask.pick")),
    h("div", { class: "finder" }, findLabel, find, whereLabel, where, sort.element, count.element),
    table,
    pager.element,
    scatter.element,
  );
  let shown = { rows: [], start: 0, n_found: 0 };
  const look = putOff(async (signal, start) => {
    const texts = [find.value, where.value].map(encodeURIComponent);
    const query = `start=${start}&find=${texts[0]}&where=${texts[1]}&${sort.query()}`;
    try {
      shown = await getJson(`/api/rows?${query}`, signal);
      count.tellFault(null);
      draw();
    } catch (error) {
      if (error.name === "AbortError") throw error;
      count.tellFault(error);
    }
  }, 120);
  function draw() {
    count.tell(shown);
    pager.refresh(shown.start === 0, shown.start + shown.rows.length >= shown.n_found);
    fill(table, shown.n_found ? drawTable(setup, shown.rows, store.get().row, pick) : []);
  }
  look(Math.floor(store.get().row / setup.per_page) * setup.per_page);
  return { element, refresh: () => draw() };
}

/** Return where it stands how many rows there are, or what is wrong with the condition. */
function buildCount(where) {
  const element = h("div", { class: "hint", role: "status" });
  let isFaulty = false;
  function tellFault(error) {
    isFaulty = error !== null;
    element.classList.toggle("fault", isFaulty);
    where.setAttribute("aria-invalid", String(isFaulty));
    if (isFaulty) fill(element, faultParts(error.message));
  }
  function tell({ rows, start, n_found: n }) {
    if (isFaulty) return; // the rows are those of before
    const [first, last] = [start + 1, start + rows.length].map(wholeText);
    element.textContent = n
      ? say("ask.rows shown", { first, last, n: wholeText(n) })
      : say("ask.rows none");
  }
  return { element, tell, tellFault };
}

/** Return the choice of an order, and how to ask for it. */
function buildSort(setup, changed) {
  const option = (value, text) => h("option", { value }, text);
  const select = h(
    "select",
    { id: "ask-sort", "aria-label": say("ask.order"), onchange: changed },
    option("", say("ask.order own")),
    option("prediction", say("ask.order up", { name: say("ask.order prediction") })),
    option("prediction.1", say("ask.order down", { name: say("ask.order prediction") })),
    setup.features.flatMap((feature, j) => [
      option(`${j}`, say("ask.order up", { name: feature.label })),
      option(`${j}.1`, say("ask.order down", { name: feature.label })),
    ]),
  );
  const query = () => {
    const [sort, isDescending] = select.value.split(".");
    return `sort=${sort}&descending=${isDescending ? 1 : 0}`;
  };
  return { element: select, query };
}

/** Return the field of a rule that rows must satisfy to be listed. */
function buildWhere(setup, changed) {
  return h("input", {
    type: "search",
    id: "ask-where",
    placeholder: whereExample(setup),
    "aria-label": say("ask.where label"),
    autocomplete: "off",
    oninput: changed,
  });
}

/** Pick the row at a position. */
async function pickAt(position, pick) {
  const found = await getJson(`/api/rows?at=${position}`);
  pick(found.rows.find((each) => each.position === position));
}

function whereExample({ features }) {
  const number = features.find(
    (feature) => feature.is_numeric && /^[A-Za-z_]\w*$/.test(feature.name),
  );
  return number ? `${number.name} >= ${number.low}` : say("ask.where hint");
}

/** Return the buttons that turn pages; `turn` is told which way. */
function buildPager(turn) {
  const button = (id, way, text) =>
    h("button", { type: "button", class: "quiet", id, onclick: () => turn(way) }, text);
  const before = button("ask-before", -1, say("ask.previous"));
  const after = button("ask-after", 1, say("ask.next"));
  function refresh(isFirst, isLast) {
    before.disabled = isFirst;
    after.disabled = isLast;
  }
  return { element: h("div", { class: "pager" }, before, after), refresh };
}

function drawTable(setup, rows, current, pick) {
  const places = setup.features.map((_, j) => j).slice(0, MOST_COLUMNS);
  const number = (j) => (setup.features[j].is_numeric ? "number" : null);
  return h(
    "table",
    { id: "ask-rows" },
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        h("th", { scope: "col" }, say("ask.row")),
        h("th", { scope: "col" }, say("prediction")),
        places.map((j) => h("th", { scope: "col", class: number(j) }, setup.features[j].label)),
      ),
    ),
    h(
      "tbody",
      {},
      rows.map((row) =>
        h(
          "tr",
          {
            class: row.position === current ? "own" : null,
            "aria-current": row.position === current ? "true" : null,
          },
          h(
            "th",
            { scope: "row" },
            h(
              "button",
              {
                type: "button",
                class: "link",
                id: `ask-row-${row.position}`,
                "aria-label": say("ask.pick row", { label: row.label }),
                onclick: () => pick(row),
              },
              row.label,
            ),
          ),
          h("td", {}, row.prediction.text),
          places.map((j) => h("td", { class: number(j) }, row.texts[j])),
        ),
      ),
    ),
  );
}
