/** What is wrong with a rule: rules are a language of their own, and so is what is said of them. */
import { h } from "../../result/report/page/dom.js";

/** Return an error's first line, and below it where in the rule it is, under its place. */
export function faultParts(error) {
  const [first, ...where] = error.split("\n");
  return [
    h("span", { lang: "en" }, first),
    where.length ? h("pre", { tabindex: 0 }, where.join("\n")) : null,
  ];
}
