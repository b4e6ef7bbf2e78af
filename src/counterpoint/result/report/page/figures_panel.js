/** The figures' panel. */
import { h } from "./dom.js";

/** Return the section of figures; null if the report has none. */
export function buildFigures() {
  if (!document.getElementById("figure-data").textContent) return null;
  return { element: h("section", {}), refresh() {} };
}
