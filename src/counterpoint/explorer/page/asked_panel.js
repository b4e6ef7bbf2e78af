/** What was asked before, each with its answer, and the question as it stands as text. */
import { fill, h } from "../../result/report/page/dom.js";
import { counted, say } from "../../result/report/page/texts.js";
import { getJson } from "./api.js";
import { chosenRow } from "./question.js";
import { questionText, readQuestion } from "./question_text.js";

/** Return the list of questions that were answered; `open` is told which to show. */
export function buildAsked(session, open) {
  const list = h("ol", { class: "asked-list", reversed: true });
  const element = h(
    "section",
    { class: "panel", hidden: true, "aria-labelledby": "ask-before-title" },
    h("h2", { id: "ask-before-title" }, say("ask.before")),
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
    const found = counted(n, "counterfactual");
    const text = say("ask.before line", { label, target, found });
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

/** Return the question as text, to read, copy or edit; `changed` is told what an edit changes. */
export function buildText(setup, store, changed) {
  const text = h("textarea", {
    class: "question-text",
    id: "ask-text",
    rows: 12,
    spellcheck: "false",
    autocapitalize: "off",
    "aria-label": say("ask.text"),
    "aria-describedby": "ask-text-fault",
    oninput: () => (isEdited = true),
  });
  const fault = h("p", { class: "fault", id: "ask-text-fault", role: "alert", hidden: true });
  const button = (id, kind, word, onclick) =>
    h("button", { type: "button", class: kind, id, onclick }, word);
  let isEdited = false;
  const tell = (words) => {
    fault.textContent = words;
    fault.hidden = !words;
  };
  async function apply() {
    try {
      const { label, ...said } = readQuestion(text.value, setup, store.get());
      const row = label === store.get().label ? {} : await rowCalled(label);
      isEdited = false;
      tell("");
      changed({ ...row, ...said });
    } catch (error) {
      tell(error.message);
    }
  }
  function discard() {
    isEdited = false;
    tell("");
    refresh(store.get());
  }
  const element = h(
    "details",
    { class: "panel" },
    h("summary", {}, say("ask.text")),
    h("p", { class: "hint" }, say("ask.text how")),
    text,
    fault,
    h(
      "div",
      { class: "text-actions" },
      button("ask-text-apply", "main", say("ask.apply"), apply),
      button("ask-text-discard", "quiet", say("ask.discard"), discard),
    ),
  );
  function refresh(question) {
    if (!isEdited) text.value = questionText(question, setup.features);
  }
  return { element, refresh };
}

/** Return the row of a label as a question keeps it. */
async function rowCalled(label) {
  const { rows } = await getJson(`/api/rows?find=${encodeURIComponent(label)}`);
  const row = rows.find((each) => each.label === label);
  if (!row) throw new Error(say("ask.no row", { label }));
  const { values: own, ...chosen } = chosenRow(row);
  return { ...chosen, own };
}
