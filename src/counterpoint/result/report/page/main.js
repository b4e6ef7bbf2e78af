/** The page of a report by itself: all it shows is in it. */
import { h } from "./dom.js";
import { unpacked } from "./figures.js";
import { mount } from "./mount.js";
import { readReport } from "./report.js";

const at = (id) => document.getElementById(id);

/** Return how to get the figures that are packed in the page, and the library that draws them. */
function packedFigures() {
  const figures = at("figure-data").textContent.trim();
  if (!figures) return null;
  return async () => {
    const library = await unpacked(at("figure-library").textContent.trim());
    document.head.append(h("script", {}, library));
    return JSON.parse(await unpacked(figures)).figures;
  };
}

function start() {
  const report = readReport(JSON.parse(at("data").textContent));
  const place = {
    hash: location.hash,
    storage: () => localStorage,
    replaceHash: (hash) =>
      history.replaceState(null, "", hash || location.pathname + location.search),
  };
  const places = { header: at("header"), main: at("main"), footer: at("footer") };
  mount(report, places, { place, load: packedFigures() });
}

start();
