/** The interview's panel: a question with two cards, the answers so far, and the recommendation. */
import { buildCard } from "./cards.js";
import { fill, h } from "./dom.js";
import { replay, unpackShares, utilities } from "./interview.js";
import { counted, nounOf } from "./numbers.js";

const ENOUGH = 5;
const ABOUT =
  "Say which you like better: the answers tell what matters to you. About five are enough, and " +
  "each can be undone.";

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
    if (!answers) return fill(body, button("start-interview", "main", "Start", begin));
    worth ??= worthOf(given);
    const { question, best } = replay(worth, answers, given.ways);
    fill(
      body,
      question ? buildQuestion(question) : h("p", {}, "There is nothing left to ask."),
      buildFoot(answers, store),
      answers.length
        ? h("div", { class: "recommended" }, card(best, "Best for your answers"))
        : null,
    );
  }
  const begin = () => store.set({ answers: [] });
  const card = (i, title) => {
    const number = given.numbers[i];
    const meaning = `${nounOf(report.byNumber.get(number))} ${number}`;
    return buildCard(report, number, { title, meaning, actions });
  };
  function buildQuestion({ a, b }) {
    const say = (code) => () => store.set({ answers: [...shown, answerOf(given, a, b, code)] });
    const label = `Question ${shown.length + 1}: A or B?`;
    return h(
      "div",
      { class: "question", role: "group", "aria-label": label },
      h("div", { class: "option" }, card(a, "A"), button("answer-a", "main", "I prefer A", say(0))),
      h("div", { class: "option" }, card(b, "B"), button("answer-b", "main", "I prefer B", say(1))),
      button("answer-equal", "quiet", "Both alike", say(2)),
    );
  }
  return { element: buildSection(body, someReach), refresh };
}

function buildSection(body, someReach) {
  const nouns = someReach ? "counterfactuals" : "near misses";
  return h(
    "section",
    { class: "panel", id: "interview", "aria-labelledby": "interview-title" },
    h("h2", { id: "interview-title" }, "Not sure? Answer A or B"),
    h("p", { class: "hint" }, `Each question shows two ${nouns}. ${ABOUT}`),
    body,
  );
}

function buildFoot(answers, store) {
  const n = answers.length;
  const enough = n >= ENOUGH ? ": the choice below should fit you well" : "";
  const undo = () => store.set({ answers: answers.slice(0, -1) });
  return h(
    "div",
    { class: "interview-foot" },
    h("p", { role: "status" }, n ? `${counted(n, "answer")}${enough}.` : "No answer yet."),
    n ? button("undo-answer", "quiet", "Undo the last answer", undo) : null,
    n
      ? button("restart-interview", "quiet", "Start again", () => store.set({ answers: [] }))
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
