/** The interview's panel: a question with two cards, the answers so far, and the recommendation. */
import { buildCard } from "./cards.js";
import { fill, h } from "./dom.js";
import { replay, unpackShares, utilities } from "./interview.js";
import { counted } from "./numbers.js";

const ENOUGH = 5;

/** Return the panel; null if there is nothing to choose between. */
export function buildInterview(report, store, actions) {
  const given = report.interview;
  if (!given || given.numbers.length < 2) return null;
  const body = h("div", { class: "interview" });
  let worth = null;
  const element = h("section", { class: "panel", id: "interview", "aria-labelledby": "interview-title" },
    h("h2", { id: "interview-title" }, "Not sure? Answer A or B"),
    h("p", { class: "hint" }, "Each question shows two counterfactuals. Say which you like better: the answers tell what matters to you. About five are enough, and each can be undone."),
    body,
  );
  let shown; // the answers on the page: neither some nor none yet
  function refresh(state) {
    if (shown === state.answers) return;
    shown = state.answers;
    if (shown === null) return fill(body, h("button", { type: "button", class: "main", id: "start-interview", onclick: () => store.set({ answers: [] }) }, "Start"));
    worth ??= utilities(unpackShares(given.particles, given.width), unpackShares(given.attributes, given.width));
    show(replay(worth, shown));
  }
  function show({ question, best }) {
    const n = shown.length;
    fill(body,
      question ? buildQuestion(question) : h("p", {}, "There is nothing left to ask."),
      h("div", { class: "interview-foot" },
        h("p", { role: "status" }, n ? `${counted(n, "answer")}${n >= ENOUGH ? ": the choice below should fit you well" : ""}.` : "No answer yet."),
        n ? h("button", { type: "button", class: "quiet", id: "undo-answer", onclick: () => store.set({ answers: shown.slice(0, -1) }) }, "Undo the last answer") : null,
        n ? h("button", { type: "button", class: "quiet", id: "restart-interview", onclick: () => store.set({ answers: [] }) }, "Start again") : null,
      ),
      n ? h("div", { class: "recommended" }, buildCard(report, given.numbers[best], { title: "Best for your answers", meaning: `counterfactual ${given.numbers[best]}`, actions })) : null,
    );
  }
  function buildQuestion({ a, b }) {
    const answer = (code) => store.set({ answers: [...shown, { a, b, answer: code, better: code === 1 ? given.numbers[b] : given.numbers[a], worse: code === 1 ? given.numbers[a] : given.numbers[b], equal: code === 2 }] });
    const option = (i, letter, code) =>
      h("div", { class: "option" },
        buildCard(report, given.numbers[i], { title: letter, meaning: `counterfactual ${given.numbers[i]}`, actions }),
        h("button", { type: "button", class: "main", id: `answer-${letter.toLowerCase()}`, onclick: () => answer(code) }, `I prefer ${letter}`),
      );
    return h("div", { class: "question", role: "group", "aria-label": `Question ${shown.length + 1}: A or B?` },
      option(a, "A", 0),
      option(b, "B", 1),
      h("button", { type: "button", class: "quiet", id: "answer-equal", onclick: () => answer(2) }, "Both alike"),
    );
  }
  return { element, refresh };
}
