/** What stands where there are no ways to show: the target is met, or nothing reaches it. */
import { h } from "./dom.js";
import { writeNumber } from "./numbers.js";
import { withUnit } from "./report.js";

const FEW = 4; // changes that people can keep in mind

/** Return what the section of the cards is called. */
export function headingOf(report, groups) {
  if (report.status === "already_met") return "You already get it";
  if (report.counterfactuals.some((each) => each.is_valid))
    return groups.length ? "Ways to get there" : "No way to show";
  return groups.length ? "None gets there: these come nearest" : "Nothing was found";
}

/** Return what must be said before the cards. */
export function introduction(report, groups) {
  const words = (text) => h("p", { class: "notice" }, text);
  if (report.status === "already_met") return null;
  if (!groups.length)
    return words(
      report.counterfactuals.some((each) => each.is_valid)
        ? "All that reach the target change protected features; the table below can show them."
        : "There is no counterfactual to show; the sentence above says why.",
    );
  const first = report.byNumber.get(groups[0].number);
  if (!groups[0].way)
    return words(
      `The nearest comes to ${first.text}; wanted is ${report.target.text}. It lacks ${writeNumber(first.objectives[0])}.`,
    );
  const least = Math.min(...groups.map((group) => group.way.works.length));
  return least > FEW
    ? words(`No way of ${FEW} or fewer changes was found: each of these needs at least ${least}.`)
    : null;
}

/** Return how close the edge of the target is: for each feature the nearest value that loses it. */
export function edgeList(report) {
  if (!report.edges.length)
    return h("p", { class: "notice" }, "No single value that was tried would lose it.");
  return h(
    "div",
    { class: "panel" },
    h("p", {}, "This is how close the edge is, if one value changes and all others stay:"),
    h(
      "ul",
      { class: "changes edges" },
      report.edges.map(({ place, text, prediction }) => {
        const feature = report.features[place];
        return h(
          "li",
          {},
          h("span", { class: "change-name" }, feature.name),
          h(
            "span",
            { class: "change-values" },
            `${feature.text} → ${withUnit(feature, text)} would lose it (${prediction})`,
          ),
        );
      }),
    ),
  );
}
