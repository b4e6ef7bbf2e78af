import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";

import {
  countedFeatures,
  hasNumbers,
  onlyNumbers,
  selectedNumbers,
  unpacked,
} from "../../src/counterpoint/result/report/page/figures.js";
import { readReport } from "../../src/counterpoint/result/report/page/report.js";
import { SUMMARY } from "./example.js";

const report = readReport(SUMMARY);

test("what was packed is unpacked", async () => {
  const text = "Größe → <b>";
  assert.equal(await unpacked(gzipSync(text).toString("base64")), text);
});

test("a brush means all counterfactuals in it, an empty one says nothing", () => {
  const range = (field, values) => ({ fields: [{ field, type: "R" }], values: [values] });
  assert.deepEqual(
    selectedNumbers(report.counterfactuals, [range("objective_1", [0.35, 0.15])]),
    [1, 4],
  );
  assert.deepEqual(
    selectedNumbers(report.counterfactuals, [
      range("objective_1", [0, 0.1]),
      range("objective_3", [0.9, 1]),
    ]),
    [2, 5],
  );
  assert.equal(selectedNumbers(report.counterfactuals, []), null);
});

test("a picked line means its counterfactual", () => {
  const store = [{ fields: [{ field: "counterfactual", type: "E" }], values: [3] }];
  assert.deepEqual(selectedNumbers(report.counterfactuals, store), [3]);
});

test("figures keep the row, which has number 0", () => {
  const rows = [0, 1, 2].map((counterfactual) => ({ counterfactual }));
  assert.deepEqual(
    onlyNumbers(rows, new Set([2])).map((each) => each.counterfactual),
    [0, 2],
  );
  assert.deepEqual(
    [hasNumbers(rows), hasNumbers([]), hasNumbers([{ x: 1 }])],
    [true, false, false],
  );
});

test("frequencies are counted anew", () => {
  const place = report.features.findIndex(({ name }) => name === "duration");
  const rows = [{ feature: "duration (2)", place, count: 9, share: 0.9, text: "" }];
  const [counted] = countedFeatures(rows, report.counterfactuals.slice(0, 2));
  assert.deepEqual([counted.count, counted.share, counted.text], [1, 0.5, "50%  (1)"]);
  assert.equal(rows[0].count, 9);
  assert.equal(countedFeatures(rows, [])[0].share, 0);
});
