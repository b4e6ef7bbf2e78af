/** A report on a page: data in, panels out, and one state between them. */
import { keep, recalled, toHash, toggled } from "./bookmarks.js";
import { buildCards } from "./cards.js";
import { buildDetails } from "./details.js";
import { h } from "./dom.js";
import { buildFigures } from "./figures_panel.js";
import { buildHeader, buildRow } from "./header.js";
import { buildInterview } from "./interview_panel.js";
import { constraintsOf, weigh } from "./limits.js";
import { buildLimits } from "./limits_panel.js";
import { nounOf } from "./numbers.js";
import { rangesOf, ranksOf } from "./ranking.js";
import { buildReceipt } from "./receipt_panel.js";
import { buildResults } from "./results.js";
import { createStore, initialState } from "./store.js";
import { say, useTexts } from "./texts.js";
import { buildWeights } from "./weights_panel.js";

/** Return what a state means: constraints, who remains, and everybody's rank. */
function viewOf(report, state) {
  const constraints = constraintsOf(report, state);
  const weighed = weigh(report.counterfactuals, constraints);
  const others = weigh(report.others, constraints).kept; // they are shown, and not counted
  const shown = [...weighed.kept, ...others];
  const pool = report.counterfactuals.filter((each) => each.is_valid || !state.onlyValid);
  const ranges = rangesOf(pool, report.objectives.length); // of all: a limit must not move the scale
  const ranks = ranksOf(shown, ranges, state.weights);
  return { constraints, ...weighed, others, shown, ranges, ranks };
}

/** Return the actions that any panel may offer for a counterfactual. */
function actionsOf(report, store) {
  const bookmarkButton = (number) => {
    const isKept = store.get().bookmarks.includes(number);
    return h(
      "button",
      {
        type: "button",
        class: "bookmark",
        "data-bookmark": number,
        "aria-pressed": String(isKept),
        "aria-label": say("bookmark.label", { noun: nounOf(report.byNumber.get(number)), number }),
        onclick: () => store.set({ bookmarks: toggled(store.get().bookmarks, number) }),
      },
      isKept ? "★" : "☆",
    );
  };
  return { bookmarkButton };
}

/** Show in every button whether its counterfactual is bookmarked. */
function refreshBookmarks(state) {
  for (const button of document.querySelectorAll("[data-bookmark]")) {
    const isKept = state.bookmarks.includes(Number(button.dataset.bookmark));
    button.setAttribute("aria-pressed", String(isKept));
    button.textContent = isKept ? "★" : "☆";
  }
}

/**
 * Show a report in a page's header, main part and footer; return how to take its figures away.
 * `place` keeps the state, `load` gets the figures, `extra` are buttons for the header and `more` actions
 * of cards.
 */
export function mount(report, places, { place, load = null, extra = [], more = {} }) {
  useTexts(report.texts, report.lang);
  const key = `counterpoint:${report.receipt["data fingerprint"]}:${report.receipt["model fingerprint"]}:${report.receipt.seed}:${report.title}`;
  const first = initialState(report);
  const store = createStore({ ...first, ...recalled(key, first, report.byNumber, place) });
  const actions = { ...actionsOf(report, store), ...more };
  const details = buildDetails(report, actions.bookmarkButton);
  actions.showDetails = details.show;
  const isEmpty = report.byNumber.size === 0; // nothing to weigh, limit or list
  const weights = buildWeights(report, store);
  const limits = buildLimits(report, store);
  const interview = buildInterview(report, store, actions);
  const results = buildResults(report, store, actions);
  const figures = buildFigures(report, store, load);
  const receipt = buildReceipt(report);
  const panels = [weights, limits, interview, results, figures, receipt].filter(Boolean);
  places.header.replaceChildren(...buildHeader(report, () => figures?.recolour(), extra));
  places.main.replaceChildren(
    buildCards(report, actions),
    buildRow(report),
    ...(interview ? [interview.element] : []),
    ...(isEmpty
      ? []
      : [
          h(
            "div",
            { class: "choose" },
            results.bar,
            h("div", { class: "wide-controls" }, limits.element),
            h("div", { class: "controls" }, weights.element),
            h("div", { class: "shown" }, results.element),
          ),
        ]),
    ...(figures ? [figures.element] : []),
    receipt.element,
    details.element,
  );
  places.footer.replaceChildren(h("p", {}, say("footer")));
  const refresh = (state) => {
    const view = viewOf(report, state);
    for (const panel of panels) panel.refresh(state, view);
    refreshBookmarks(state);
  };
  store.subscribe(refresh);
  store.subscribe((state) => keep(key, toHash(state, first), place));
  refresh(store.get());
  return { unmount: () => figures?.finalize() };
}
