/** The finder of fields: in a wide table few are shown at first, and the others found by name. */
import { h } from "../../result/report/page/dom.js";
import { say } from "../../result/report/page/texts.js";

const FIRST = 12; // fields of a wide table that are shown unasked

/** Return how to find a field among many, and to see all of them; nothing where they are few. */
export function buildFinder(setup, fields, store) {
  if (fields.length <= FIRST) return { element: null, refresh() {} };
  let isAll = false;
  const n = fields.length;
  const find = h("input", {
    type: "search",
    id: "ask-find-field",
    "aria-label": say("find.label"),
    placeholder: say("find"),
    oninput: () => refresh(store.get()),
  });
  const all = h(
    "button",
    { type: "button", class: "quiet", id: "ask-all-fields", onclick: toggle },
    say("limits.all", { n }),
  );
  function toggle() {
    isAll = !isAll;
    all.textContent = say(isAll ? "limits.fewer" : "limits.all", { n });
    refresh(store.get());
  }
  function refresh(question) {
    const wanted = find.value.trim().toLowerCase();
    fields.forEach((field, j) => {
      const { name, label } = setup.features[j];
      const isNamed = [name, label].some((text) => text.toLowerCase().includes(wanted));
      const isSet =
        question.values[j] !== question.own[j] ||
        question.fixed.includes(name) ||
        name in question.ranges ||
        name in question.costs;
      field.element.hidden = wanted ? !isNamed : !(isAll || j < FIRST || isSet);
    });
  }
  return { element: h("div", { class: "finder" }, find, all), refresh };
}
