/** The page of a report by itself: all it shows is in it. */
import { h } from "./dom.js";
import { unpacked } from "./figures.js";
import { mount } from "./mount.js";
import { readReport } from "./report.js";

/** Return how to get the figures that are packed in the page, and the library that draws them. */
function packedFigures() {
  const [figures, library] = ["figure-data", "figure-library"].map((id) => document.getElementById(id).textContent.trim());
  if (!figures) return null;
  return async () => {
    document.head.append(h("script", {}, await unpacked(library)));
    return JSON.parse(await unpacked(figures)).figures;
  };
}

function start() {
  const report = readReport(JSON.parse(document.getElementById("data").textContent));
  const [header, main, footer] = ["header", "main", "footer"].map((id) => document.getElementById(id));
  const place = { hash: location.hash, storage: () => localStorage, replaceHash: (hash) => history.replaceState(null, "", hash || location.pathname + location.search) };
  mount(report, { header, main, footer }, { place, load: packedFigures() });
}

start();
