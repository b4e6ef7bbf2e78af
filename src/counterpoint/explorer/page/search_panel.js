/** The search's panel: begin, watch, cancel. */
import { h } from "../../result/report/page/dom.js";
import { fieldNumber } from "../../result/report/page/numbers.js";
import { decimalText, say } from "../../result/report/page/texts.js";
import { postJson, postStream } from "./api.js";
import { progressText, requestOf, whyNot } from "./question.js";

/** Return the panel; `ended` is called when there is a result to show. */
export function buildSearch(setup, store, { session, changed, ended }) {
  const status = h("p", { class: "fault", role: "alert", id: "ask-error", hidden: true });
  const go = h(
    "button",
    { type: "button", class: "main", id: "ask-go", onclick: () => search() },
    say("ask.search"),
  );
  const running = buildRunning(() =>
    postJson(`/api/sessions/${session}/cancel`, {}).catch((error) => tell(error.message)),
  );
  const options = buildOptions(setup, changed);
  const element = h(
    "section",
    { class: "panel", id: "ask-search", tabindex: -1, "aria-labelledby": "ask-search-title" },
    h("h2", { id: "ask-search-title" }, say("ask.search")),
    h("div", { class: "go" }, go),
    running.element,
    status,
    options.element,
  );
  async function search() {
    tell(whyNot(store.get(), setup.features));
    if (!status.hidden) return;
    go.hidden = true;
    running.begin();
    try {
      await postStream(`/api/sessions/${session}/search`, requestOf(store.get()), running.hear);
      await ended();
    } catch (error) {
      tell(error.message);
    }
    running.element.hidden = true;
    go.hidden = false;
    if (!status.hidden) go.focus();
  }
  function tell(text) {
    status.textContent = text;
    status.hidden = !text;
  }
  return { element, refresh: options.refresh };
}

/** Return what is shown while a search runs; `cancel` stops it. */
function buildRunning(cancel) {
  const bar = h("progress", { id: "ask-progress", "aria-label": say("ask.progress") });
  const told = h("p", { id: "ask-told" });
  const button = h(
    "button",
    { type: "button", class: "quiet", id: "ask-cancel", onclick: stop },
    say("ask.cancel"),
  );
  const element = h("div", { class: "running", hidden: true }, bar, told, button);
  function begin() {
    told.textContent = say("ask.starting");
    bar.removeAttribute("value");
    button.disabled = false;
    element.hidden = false;
    button.focus();
  }
  function hear({ kind, data }) {
    if (kind === "failed") throw new Error(data.error);
    if (kind !== "progress") return;
    told.textContent = progressText(data);
    if (data.is_waiting) bar.removeAttribute("value");
    else [bar.max, bar.value] = [data.budget, Math.min(data.evaluations, data.budget)];
  }
  function stop() {
    button.disabled = true;
    told.textContent = say("ask.stopping");
    cancel();
  }
  return { element, begin, hear };
}

/** Return the options few need; `changed` is told what changes of the question. */
function buildOptions(setup, changed) {
  const seed = h("input", {
    type: "number",
    id: "ask-seed",
    min: 0,
    step: 1,
    inputmode: "numeric",
    oninput: (event) => changed({ seed: fieldNumber(event.target.value) ?? 0 }),
  });
  const afresh = h("input", {
    type: "checkbox",
    id: "ask-afresh",
    onchange: (event) => changed({ isAfresh: event.target.checked }),
  });
  const element = h(
    "details",
    { class: "more-options" },
    h("summary", {}, say("ask.options")),
    h("div", { class: "ends" }, h("label", { for: "ask-seed" }, say("ask.seed")), seed),
    h("label", { class: "check", for: "ask-afresh" }, afresh, say("ask.afresh")),
    h("p", { class: "hint" }, say("ask.afresh how", { seconds: decimalText(setup.seconds, 3) })),
  );
  function refresh(question) {
    if (document.activeElement !== seed) seed.value = question.seed;
    afresh.checked = question.isAfresh;
  }
  return { element, refresh };
}
