/** The finder of fields: of many few are shown at first, and the others found by name. */
import { h } from "./dom.js";
import { say } from "./texts.js";

/**
 * Return how to find one of some fields, and to see all of them; nothing where they are few.
 *
 * `names(k)` are what field k may be found by, and `isSet(state, k)` is whether it is shown anyway.
 */
export function buildFinder(fields, store, { first, ids, label, names, isSet }) {
  const n = fields.length;
  if (n <= first) return { element: null, refresh() {} };
  let isAll = false;
  const find = h("input", {
    type: "search",
    id: ids[0],
    "aria-label": label,
    placeholder: say("find"),
    oninput: () => refresh(store.get()),
  });
  const all = h(
    "button",
    { type: "button", class: "quiet", id: ids[1], onclick: toggle },
    say("limits.all", { n }),
  );
  function toggle() {
    isAll = !isAll;
    all.textContent = say(isAll ? "limits.fewer" : "limits.all", { n });
    refresh(store.get());
  }
  function refresh(state) {
    const wanted = find.value.trim().toLowerCase();
    fields.forEach((field, k) => {
      const isNamed = names(k).some((text) => text.toLowerCase().includes(wanted));
      field.element.hidden = wanted ? !isNamed : !(isAll || k < first || isSet(state, k));
    });
  }
  return { element: h("div", { class: "finder" }, find, all), refresh };
}
