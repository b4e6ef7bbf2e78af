/** The interview's panel: a question with two cards, the answers so far, and the recommendation. */
import { buildCard } from "./cards.js";
import { fill, h } from "./dom.js";
import { learnt, NEITHER, replay, unpackShares, utilities } from "./interview.js";
import { nounOf } from "./numbers.js";
import { withUnit } from "./report.js";
import { counted, listed, say } from "./texts.js";

/** Return the panel; null if there is nothing to choose between. */
export function buildInterview(report, store, actions) {
  const given = report.interview;
  if (!given || given.numbers.length < 2) return null;
  const body = h("div", { class: "interview" });
  const someReach = given.numbers.some((number) => report.byNumber.get(number).is_valid);
  let worth = null; // reckoned when the interview begins
  let shown; // the answers on the page: neither some nor none yet
  function refresh({ answers }) {
    if (shown === answers) return;
    shown = answers;
    if (!answers)
      return fill(body, button("start-interview", "main", say("interview.start"), begin));
    worth ??= worthOf(given);
    const state = replay(worth, answers, given.ways, changes);
    fill(
      body,
      state.question ? buildQuestion(state) : null,
      buildFoot(answers, store, !state.question),
      answers.length ? h("p", { class: "learnt" }, learntText(report, given, state)) : null,
      answers.length
        ? h("div", { class: "recommended" }, card(state.best, say("interview.best")))
        : null,
    );
  }
  const at = (i) => report.byNumber.get(given.numbers[i]);
  const changes = (i, place) => at(i).isChanged[place];
  const begin = () => store.set({ answers: [] });
  const card = (i, title, list = null) => {
    const number = given.numbers[i];
    const meaning = `${nounOf(report.byNumber.get(number))} ${number}`;
    return buildCard(report, number, { title, meaning, actions, changes: list });
  };
  function buildQuestion(state) {
    const { a, b } = state.question;
    const reply = (code) => () => store.set({ answers: [...shown, answerOf(given, a, b, code)] });
    const leave = (place) =>
      store.set({ answers: [...shown, { ...answerOf(given, a, b, NEITHER), place }] });
    const side = (i, j, title) => card(i, title, differences(report, at(i), at(j)));
    const label = say("interview.question", { n: shown.length + 1 });
    return h(
      "div",
      { class: "question", role: "group", "aria-label": label },
      h(
        "div",
        { class: "option" },
        side(a, b, "A"),
        button("answer-a", "main", say("interview.prefer", { which: "A" }), reply(0)),
      ),
      h(
        "div",
        { class: "option" },
        side(b, a, "B"),
        button("answer-b", "main", say("interview.prefer", { which: "B" }), reply(1)),
      ),
      button("answer-equal", "quiet", say("interview.alike"), reply(2)),
      buildNeither(report, reasons(report, given, state), leave),
    );
  }
  return { element: buildSection(body, someReach), refresh };
}

/** Return the features that A or B changes and without which something would be left. */
function reasons(report, { numbers }, { question, excluded }) {
  const changes = (i, j) => report.byNumber.get(numbers[i]).isChanged[j];
  const isLeft = (i, j) => ![...excluded, j].some((place) => changes(i, place));
  return report.features
    .map((_, j) => j)
    .filter((j) => changes(question.a, j) || changes(question.b, j))
    .filter((j) => numbers.some((_, i) => isLeft(i, j)));
}

/** Return what differs between a candidate and the other of a question, and what both share. */
function differences(report, each, other) {
  const places = report.features.map((_, j) => j);
  const differing = places.filter((j) => each.values[j] !== other.values[j]);
  const shared = places.filter((j) => each.isChanged[j] && !differing.includes(j));
  const line = (j) => {
    const feature = report.features[j];
    return h(
      "li",
      {},
      h("span", { class: "change-name" }, feature.name),
      each.isChanged[j]
        ? h("span", { class: "change-new" }, withUnit(feature, each.texts[j]))
        : h("span", {}, `${withUnit(feature, feature.text)}, ${say("unchanged")}`),
    );
  };
  const both = listed(shared.map((j) => `${report.features[j].name} ${each.texts[j]}`));
  return h(
    "div",
    {},
    h("ul", { class: "changes differing" }, differing.map(line)),
    shared.length ? h("p", { class: "hint" }, say("interview.both", { both })) : null,
  );
}

/** Return the choice "neither, because of ..."; null where every reason would leave nothing. */
function buildNeither(report, places, leave) {
  if (!places.length) return null;
  const select = h(
    "select",
    { id: "answer-neither", onchange: () => leave(Number(select.value)) },
    h("option", { value: "" }, say("interview.neither")),
    places.map((j) => h("option", { value: j }, report.features[j].name)),
  );
  return h(
    "label",
    { class: "neither", for: "answer-neither" },
    h("span", { class: "unseen" }, say("interview.neither label")),
    select,
  );
}

/** Return what the answers tell, in words. */
export function learntText(report, given, { belief, excluded }) {
  const { aim, minded } = learnt(belief, unpackShares(given.particles, given.width), given);
  const name = (j) => report.features[j].name;
  const label = report.objectives.find((objective) => objective.name === aim)?.label;
  return [
    aim ? say("learnt.aim", { label }) : "",
    minded.length ? say("learnt.minded", { names: listed(minded.map(name)) }) : "",
    excluded.length ? say("learnt.excluded", { names: listed(excluded.map(name)) }) : "",
  ]
    .filter(Boolean)
    .join(" ");
}

function buildSection(body, someReach) {
  const nouns = say(someReach ? "counterfactual.many" : "near miss.many");
  return h(
    "section",
    { class: "panel", id: "interview", "aria-labelledby": "interview-title" },
    h("h2", { id: "interview-title" }, say("interview.title")),
    h("p", { class: "hint" }, say("interview.about", { nouns })),
    body,
  );
}

function buildFoot(answers, store, isDone) {
  const n = answers.length;
  const enough = isDone ? say("interview.enough") : "";
  const undo = () => store.set({ answers: answers.slice(0, -1) });
  return h(
    "div",
    { class: "interview-foot" },
    h("p", { role: "status" }, n ? `${counted(n, "answer")}${enough}.` : say("interview.none yet")),
    n ? button("undo-answer", "quiet", say("interview.undo"), undo) : null,
    n
      ? button("restart-interview", "quiet", say("interview.again"), () =>
          store.set({ answers: [] }),
        )
      : null,
  );
}

/** Return what each candidate is worth to each particle, from what the page was given. */
function worthOf({ particles, attributes, width }) {
  return utilities(unpackShares(particles, width), unpackShares(attributes, width));
}

/** Return an answer as the state and the receipt keep it: 0 for a, 1 for b, 2 for equal. */
function answerOf({ numbers }, a, b, answer) {
  const [better, worse] = answer === 1 ? [b, a] : [a, b];
  return { a, b, answer, better: numbers[better], worse: numbers[worse], equal: answer === 2 };
}

function button(id, kind, text, onclick) {
  return h("button", { type: "button", class: kind, id, onclick }, text);
}
