/** Cards: one counterfactual with its sentence, its changes and what can be done with it. */
import { h } from "./dom.js";
import { counted, nounOf } from "./numbers.js";
import { withUnit } from "./report.js";

const MEANING = {
  closest: "moves the values least",
  "fewest changes": "changes the fewest values",
  "most typical": "looks most like rows that were observed",
  safest: "stays surest on the wanted side",
  balanced: "the best compromise of all",
};

const MOST = 6; // changes on a card; more are read in a table

/** Return a counterfactual as a card; `actions` has toggleBookmark and showDetails. */
export function buildCard(report, number, options) {
  const each = report.byNumber.get(number);
  const { title, meaning, actions, sentence = each.sentence, level = "h3" } = options;
  return h(
    "article",
    { class: "card", "data-number": number },
    h(level, {}, title),
    meaning ? h("p", { class: "meaning" }, meaning) : null,
    h(
      "p",
      { class: "sentence" },
      each.changes.length > MOST
        ? `${counted(each.changes.length, "value")} would differ.`
        : sentence,
    ),
    changeList(report, each),
    h(
      "div",
      { class: "card-foot" },
      h(
        "span",
        { class: each.is_valid ? "chip good" : "chip" },
        `${report.row.text} → ${each.text}`,
      ),
      actions.bookmarkButton(number),
      h(
        "button",
        {
          type: "button",
          class: "quiet",
          onclick: () => actions.showDetails(number),
          "aria-label": `Compare ${nounOf(each)} ${number} with the row`,
        },
        "Compare",
      ),
    ),
  );
}

/** Return the changes of a counterfactual as a list: name, old value, new value. */
export function changeList(report, each) {
  const more = each.changes.length - MOST;
  return h(
    "ul",
    { class: "changes" },
    each.changes.slice(0, MOST).map(([j, , text]) => {
      const feature = report.features[j];
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
      );
    }),
    more > 0 ? h("li", { class: "hint" }, `and ${more} more: Compare shows all`) : null,
  );
}

/** Return the section of the ways, or of near misses by name; one of several names is shown once. */
export function buildCards(report, actions) {
  const groups = grouped(report.representatives);
  const isReached = report.counterfactuals.some((each) => each.is_valid);
  return h(
    "section",
    { "aria-labelledby": "cards-title" },
    h(
      "h2",
      { id: "cards-title" },
      isReached
        ? "Ways to get there"
        : groups.length
          ? "None gets there: the nearest misses"
          : "Nothing was found",
    ),
    groups.length
      ? h(
          "div",
          { class: "cards" },
          groups.map(({ number, names, sentence }) =>
            buildCard(report, number, {
              title: titleOf(names),
              meaning: sentence ? null : names.map((name) => MEANING[name]).join("; "),
              sentence,
              actions,
            }),
          ),
        )
      : h(
          "p",
          { class: "notice" },
          report.status === "already_met"
            ? "Nothing has to change: the row reaches the target as it is."
            : "There is no counterfactual to show; the sentence above says why.",
        ),
  );
}

/** Return representatives by number, in the order of their first names. */
export function grouped(representatives) {
  const groups = new Map();
  for (const { name, number, sentence } of representatives) {
    const names = [...(groups.get(number)?.names ?? []), name];
    groups.set(number, { number, names, ...(sentence && { sentence }) });
  }
  return [...groups.values()];
}

function titleOf(names) {
  const text = names.join(" · ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}
