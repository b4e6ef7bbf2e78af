/** The explorer: a question and its answer, one of them shown at a time. */
import { h } from "../../result/report/page/dom.js";
import { createStore } from "../../result/report/page/store.js";
import { say, useTexts, wholeText } from "../../result/report/page/texts.js";
import { applyTheme, nextTheme, themeLabel } from "../../result/report/page/theme.js";
import { getJson, postJson } from "./api.js";
import { fits, keepTab, namesOf, recallTab, restored } from "./memory.js";
import { buildAnswer } from "./answer.js";
import { buildAsked, buildText } from "./asked_panel.js";
import { buildPrediction } from "./prediction_panel.js";
import { firstQuestion } from "./question.js";
import { buildRows } from "./rows_panel.js";
import { buildSearch } from "./search_panel.js";
import { buildValues } from "./values_panel.js";
import { buildRules, buildWish } from "./wish_panel.js";

const at = (id) => document.getElementById(id);

/** Return the session this tab had, if the server still has it, else a new one. */
async function sessionOf(kept) {
  const { session } = kept?.session
    ? await postJson("/api/sessions", { session: kept.session })
    : await postJson("/api/sessions", {});
  return session;
}

function buildHead(setup) {
  const theme = h(
    "button",
    { type: "button", class: "quiet", id: "ask-theme", onclick: change },
    themeLabel("auto"),
  );
  function change() {
    const next = nextTheme(document.documentElement.dataset.theme ?? "auto");
    applyTheme(next);
    theme.textContent = themeLabel(next);
  }
  return [
    h(
      "div",
      { class: "bar" },
      h("p", { class: "brand" }, say("ask.brand")),
      h("div", { class: "bar-actions" }, theme),
    ),
    h(
      "div",
      { class: "ask-hero" },
      h("h1", {}, say("ask.title")),
      h("p", { class: "lead" }, say("ask.lead", { n: wholeText(setup.n_rows) })),
    ),
  ];
}

function buildAsk(setup, store, { session, ended, asked }) {
  const changed = (part) => store.set(part);
  const rows = buildRows(setup, store, changed);
  const prediction = buildPrediction();
  const values = buildValues(setup, store, changed, prediction);
  const wish = buildWish(setup, store, changed);
  const rules = buildRules(setup, store, changed);
  const search = buildSearch(setup, store, { session, changed, ended });
  const text = buildText(setup, store, changed);
  at("ask-header").replaceChildren(...buildHead(setup));
  at("ask-main").replaceChildren(
    h(
      "div",
      { class: "asking" },
      h("div", { class: "asked-row" }, rows.element, values.element),
      h(
        "div",
        { class: "asked-for" },
        wish.element,
        rules.element,
        search.element,
        asked.element,
        text.element,
      ),
    ),
  );
  const panels = [values, prediction, wish, rules, search, text];
  let row = store.get().row;
  const refresh = (question) => {
    for (const panel of panels) panel.refresh(question);
    if (question.row !== row) rows.refresh();
    row = question.row;
  };
  store.subscribe(refresh);
  refresh(store.get());
}

async function start() {
  history.replaceState(null, "", location.pathname); // a reload begins at the question; the cookie has the token now; addresses get around
  useTexts(JSON.parse(at("texts").textContent), document.documentElement.lang);
  const setup = await getJson("/api/setup");
  const kept = recallTab();
  const session = await sessionOf(kept);
  const isSame = fits(kept, setup);
  const store = createStore(isSame ? restored(kept, setup) : firstQuestion(setup));
  let view = "ask";
  const keep = () => keepTab({ session, view, question: store.get(), names: namesOf(setup) });
  const edit = (values) => store.set({ values });
  const answer = buildAnswer(
    session,
    (name) => {
      view = name;
      keep();
      if (name === "ask") asked.refresh();
    },
    edit,
  );
  const asked = buildAsked(session, (number) => answer.show(number));
  store.subscribe(keep);
  buildAsk(setup, store, { session, ended: () => answer.show(), asked });
  asked.refresh();
  if (isSame && kept.session === session && kept.view === "answer") await answer.show();
  keep();
}

start().catch((error) =>
  at("ask-main").replaceChildren(h("p", { class: "notice", role: "alert" }, error.message)),
);
