/** Cards: a way, or one candidate, with its changes and what can be done with it. */
import { h } from "./dom.js";
import { edgeList, headingOf, introduction } from "./empty.js";
import { buildMap } from "./map.js";
import { nounOf } from "./numbers.js";
import { withUnit } from "./report.js";
import { drawClasses, drawRing, drawStrip } from "./strip.js";
import { counted, listed, say } from "./texts.js";

const MOST = 4; // changes on a card; more are read in a table

/** Return a candidate as a card; `way` adds what is known of its way, `actions` what one can do. */
export function buildCard(report, number, options) {
  const each = report.byNumber.get(number);
  const { title, meaning, actions, way = null, level = "h3", changes = null } = options;
  const sentence = way?.sentence ?? null;
  return h(
    "article",
    { class: "card", "data-number": number, tabindex: way ? -1 : null },
    h(level, {}, title),
    meaning ? h("p", { class: "meaning" }, meaning) : null,
    sentence ? h("p", { class: "sentence" }, sentence) : null,
    way?.is_larger ? h("p", { class: "hint" }, say("safer")) : null,
    changes ?? changeList(report, each, way),
    stepList(report, way),
    way?.outputs ? drawClasses(report, way.outputs) : landing(report, each),
    cardFoot(report, each, way, actions),
  );
}

/** Return what the model says after each change of a way, one after another, if they are several. */
function stepList(report, way) {
  if (!way?.steps?.length) return null;
  const said = way.steps.map(({ place, text }) =>
    say("steps.one", { name: report.features[place].name, prediction: text }),
  );
  return h("p", { class: "hint steps" }, say("steps", { steps: said.join(say("steps.then")) }));
}

function cardFoot(report, each, way, actions) {
  const variants = way && way.n > 1 ? ` · ${counted(way.n, "variant")}` : "";
  return h(
    "div",
    { class: "card-foot" },
    way && way.safe !== null ? drawRing(way.safe) : null,
    h(
      "span",
      { class: each.is_valid ? "chip good" : "chip" },
      `${report.row.text} → ${each.text}${variants}`,
    ),
    actions.bookmarkButton(each.number),
    h(
      "button",
      {
        type: "button",
        class: "quiet",
        onclick: () => actions.showDetails(each.number),
        "aria-label": say("compare.label", { noun: nounOf(each), number: each.number }),
      },
      say("compare"),
    ),
    actions.editButton ? actions.editButton(each) : null,
  );
}

/** Return where a candidate lands among the classes, if there are any. */
function landing(report, each) {
  if (!each.lands) return null;
  const key = each.lands === report.row.lands ? "lands.same" : "lands";
  return h("p", { class: "hint" }, say(key, { label: each.lands, now: report.row.lands }));
}

/** Return the changes of a candidate as a list: name, old value, new value, and a strip of a way. */
export function changeList(report, each, way = null) {
  const more = each.changes.length - MOST;
  return h(
    "ul",
    { class: "changes" },
    each.changes.slice(0, MOST).map(([j, value, text]) => {
      const feature = report.features[j];
      const works = way?.works.find((one) => one.place === j);
      return h(
        "li",
        {},
        h("span", { class: "change-name" }, feature.name),
        h(
          "span",
          { class: "change-values" },
          h("span", { class: "change-old" }, feature.text),
          " → ",
          h("span", { class: "change-new" }, withUnit(feature, text)),
        ),
        works && feature.bars.length ? drawStrip(feature, value, works) : null,
        works && new Set(works.spans.flat()).size > 1
          ? h(
              "span",
              { class: "hint works" },
              say("works", { values: withUnit(feature, works.text) }),
            )
          : null,
      );
    }),
    more > 0 ? h("li", { class: "hint" }, say("more changes", { n: more })) : null,
  );
}

/** Return the section of the ways, or of near misses by name, or of how close the edge is. */
export function buildCards(report, actions) {
  const groups = grouped(report.representatives);
  const grid = h(
    "div",
    { class: "cards" },
    groups.map((group, k) =>
      buildCard(report, group.number, { ...headOf(report, group, k), way: group.way, actions }),
    ),
  );
  function pick(number) {
    for (const card of grid.children)
      card.classList.toggle("picked", Number(card.dataset.number) === number);
    const card = grid.querySelector(".picked");
    card.scrollIntoView({ block: "nearest" });
    card.focus({ preventScroll: true });
  }
  return h(
    "section",
    { "aria-labelledby": "cards-title" },
    h("h2", { id: "cards-title" }, headingOf(report, groups)),
    introduction(report, groups),
    buildMap(report, pick),
    groups.length ? grid : null,
    report.status === "already_met" ? edgeList(report) : null,
  );
}

function headOf(report, { names, way }, k) {
  if (way) return { title: `${k + 1}. ${listed(wayNames(report, way))}` };
  const meanings = names.map((name) => say(`meaning.${name}`));
  return {
    title: titleOf(names.map((name) => say(`named.${name}`))),
    meaning: meanings.join("; "),
  };
}

/** Return representatives by number, in the order of their first names. */
export function grouped(representatives) {
  const groups = new Map();
  for (const each of representatives) {
    const names = [...(groups.get(each.number)?.names ?? []), each.name];
    groups.set(each.number, { number: each.number, names, way: each.works ? each : null });
  }
  return [...groups.values()];
}

/** Return the names of the features of a way. */
function wayNames(report, way) {
  return way.works.map(({ place }) => report.features[place].name);
}

function titleOf(names) {
  const text = listed(names);
  return text.charAt(0).toUpperCase() + text.slice(1);
}
