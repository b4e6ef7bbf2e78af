/** What was asked before, each with its answer, and the question as it stands as text. */
import { fill, h } from "../../result/report/page/dom.js";
import { counted } from "../../result/report/page/texts.js";
import { getJson } from "./api.js";
import { questionText } from "./question.js";

/** Return the list of questions that were answered; `open` is told which to show. */
export function buildAsked(session, open) {
  const list = h("ol", { class: "asked-list", reversed: true });
  const element = h(
    "section",
    { class: "panel", hidden: true, "aria-labelledby": "ask-before-title" },
    h("h2", { id: "ask-before-title" }, "Asked before"),
    list,
  );
  async function refresh() {
    const { questions } = await getJson(`/api/sessions/${session}/questions`).catch(() => ({
      questions: [],
    }));
    element.hidden = !questions.length;
    fill(list, questions.reverse().map(line));
  }
  function line({ number, label, target, n_found: n }) {
    const text = `Row ${label}: ${target}, ${counted(n, "counterfactual")}`;
    return h(
      "li",
      {},
      h(
        "button",
        { type: "button", class: "link", id: `asked-${number}`, onclick: () => open(number) },
        text,
      ),
    );
  }
  return { element, refresh };
}

/** Return the question as text, to read or to copy. */
export function buildText(setup) {
  const text = h("pre", { class: "question-text", id: "ask-text", tabindex: 0 });
  const element = h("details", { class: "panel" }, h("summary", {}, "The question as text"), text);
  return {
    element,
    refresh: (question) => (text.textContent = questionText(question, setup.features)),
  };
}
