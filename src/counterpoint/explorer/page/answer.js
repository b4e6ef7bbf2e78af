/** The answer: a result on its page, with a way back to the question. */
import { h } from "../../result/report/page/dom.js";
import { mount } from "../../result/report/page/mount.js";
import { readReport } from "../../result/report/page/report.js";
import { say, spokenNow } from "../../result/report/page/texts.js";
import { themeLabel } from "../../result/report/page/theme.js";
import { getJson } from "./api.js";

const at = (id) => document.getElementById(id);

let library = null; // the promise of it, so that an answer opened meanwhile does not load it again

/** Return how to get a result's figures, and once the library that draws them. */
function figuresOf(session, which) {
  return async () => {
    library ??= loaded("/library.js");
    await library;
    return (await getJson(`/api/sessions/${session}/figures?which=${which}`)).figures;
  };
}

function loaded(source) {
  return new Promise((resolve, reject) => {
    document.head.append(
      h("script", {
        src: source,
        onload: resolve,
        onerror: () => {
          library = null; // it may be there the next time
          reject(new Error(say("ask.no library")));
        },
      }),
    );
  });
}

/** Return how to show an answer, and the question again; `edit` takes values as edits. */
export function buildAnswer(session, onView, edit) {
  let shown = null;
  const view = (name) => {
    at("ask").hidden = name !== "ask";
    at("answer").hidden = name !== "answer";
    window.scrollTo(0, 0);
    onView(name);
  };
  const ask = () => {
    view("ask");
    at("ask-theme").textContent = themeLabel(document.documentElement.dataset.theme ?? "auto");
    at("ask-go").focus();
  };
  const back = () => (history.state?.which ? history.back() : ask());
  window.addEventListener("popstate", ({ state }) =>
    state?.which ? show(state.which, false).catch(ask) : ask(),
  );
  const editButton = (each) => buildEdit(each, () => (edit(each.values), back()));
  async function show(wanted = "", isNew = true) {
    const { summary, number } = await getJson(`/api/sessions/${session}/result?which=${wanted}`);
    if (isNew) history.pushState({ which: number }, "");
    shown?.unmount();
    view("answer");
    const place = {
      hash: "",
      storage: () => ({ getItem: () => null, setItem() {}, removeItem() {} }),
      replaceHash() {},
    };
    shown = mount(
      readReport(summary),
      { header: at("header"), main: at("main"), footer: at("footer") },
      {
        place,
        load: figuresOf(session, number),
        extra: buildExtra(session, number, back),
        more: { editButton },
      },
    );
    const title = document.querySelector("#header h1");
    title.tabIndex = -1;
    title.focus({ preventScroll: true });
  }
  return { show };
}

/** Return the button that takes a counterfactual as edits of the row. */
function buildEdit(each, take) {
  return h(
    "button",
    {
      type: "button",
      class: "quiet",
      "aria-label": say("ask.edit label", { number: each.number }),
      onclick: take,
    },
    say("ask.edit"),
  );
}

// What can be saved: the id of its link, which is also the key of its text, and its path.
const SAVED = [
  ["save-report", "report?"],
  ["save-page", "report?reader=customer&"],
  ["save-letter", "letter?"],
];

// What a language calls itself.
const LANGUAGES = [
  ["en", "English"],
  ["de", "Deutsch"],
];

/** Return the buttons of an answer: back to the question, its report and its letter. */
function buildExtra(session, number, back) {
  const links = SAVED.map(([id, path]) =>
    h("a", { class: "quiet button", id, download: "", "data-path": path }, say(`ask.${id}`)),
  );
  const lang = h(
    "select",
    { id: "save-lang", "aria-label": say("ask.save lang"), onchange: point },
    LANGUAGES.map(([value, name]) =>
      h("option", { value, selected: value === spokenNow(), lang: value }, name),
    ),
  );
  function point() {
    for (const link of links)
      link.href = `/api/sessions/${session}/${link.dataset.path}which=${number}&lang=${lang.value}`;
  }
  point();
  return [
    h("button", { type: "button", class: "quiet", id: "back", onclick: back }, say("ask.back")),
    lang,
    ...links,
  ];
}
