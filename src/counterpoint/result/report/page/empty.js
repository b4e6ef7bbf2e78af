/** What stands where there are no ways to show: the target is met, or nothing reaches it. */
import { h } from "./dom.js";
import { writeNumber } from "./numbers.js";
import { withUnit } from "./report.js";
import { say } from "./texts.js";

const FEW = 4; // changes that people can keep in mind

/** Return what the section of the cards is called. */
export function headingOf(report, groups) {
  if (report.status === "already_met") return say("heading.met");
  if (report.counterfactuals.some((each) => each.is_valid))
    return say(groups.length ? "heading.ways" : "heading.no way");
  return say(groups.length ? "heading.misses" : "heading.nothing");
}

/** Return what must be said before the cards. */
export function introduction(report, groups) {
  const words = (text) => h("p", { class: "notice" }, text);
  if (report.status === "already_met") return null;
  if (!groups.length)
    return words(
      report.counterfactuals.some((each) => each.is_valid)
        ? say("only protected")
        : say("nothing to show"),
    );
  const first = report.byNumber.get(groups[0].number);
  const hides = report.counterfactuals.some((each) => each.is_protected);
  if (!groups[0].way)
    return words(
      say(hides ? "nearest unprotected" : "nearest", {
        at: first.text,
        target: report.target.text,
        gap: writeNumber(first.objectives[0]),
      }),
    );
  const least = Math.min(...groups.map((group) => group.way.works.length));
  return least > FEW ? words(say("many changes", { few: FEW, least })) : null;
}

/** Return how close the edge of the target is: for each feature the nearest value that loses it. */
export function edgeList(report) {
  if (!report.edges.length) return h("p", { class: "notice" }, say("edge.none"));
  return h(
    "div",
    { class: "panel" },
    h("p", {}, say("edge.how close")),
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
            say("edge.loses", { old: feature.text, new: withUnit(feature, text), prediction }),
          ),
        );
      }),
    ),
  );
}
