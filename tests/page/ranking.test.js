import assert from "node:assert/strict";
import { test } from "node:test";

import { rangesOf, ranksOf, score } from "../../src/counterpoint/result/report/page/ranking.js";
import {
  changedFeatures,
  readReport,
  withUnit,
} from "../../src/counterpoint/result/report/page/report.js";
import { ariaSort, nextSort, sorted } from "../../src/counterpoint/result/report/page/sorting.js";
import { SUMMARY } from "./example.js";

const report = readReport(SUMMARY);
const all = report.counterfactuals;
const ranges = rangesOf(all, 4);
const order = (weights) => [...ranksOf(all, ranges, weights).keys()];

test("one weight alone orders by its objective", () => {
  assert.deepEqual(order([0, 1, 0, 0]), [2, 1, 4, 3, 5]);
  assert.deepEqual(order([0, 0, 0, 1]), [3, 4, 1, 2, 5]);
});

test("scores are shares, and the same for weights in the same proportions", () => {
  for (const each of all) {
    const value = score(each.objectives, ranges, [0.2, 0.4, 0.6, 0.8]);
    assert.ok(value >= 0 && value <= 1);
    assert.ok(Math.abs(value - score(each.objectives, ranges, [0.1, 0.2, 0.3, 0.4])) < 1e-12);
  }
});

test("without any weight, or with nothing to choose by, the order stays", () => {
  assert.deepEqual(order([0, 0, 0, 0]), [1, 2, 3, 4, 5]);
  assert.equal(
    score(
      [1, 1, 1, 1],
      [
        [1, 1],
        [1, 1],
        [1, 1],
        [1, 1],
      ],
      [1, 1, 1, 1],
    ),
    0,
  );
});

test("one that is at least as good in all objectives never ranks behind", () => {
  const better = { number: 9, objectives: all[0].objectives.map((value) => value - 0.01) };
  for (const weights of [
    [1, 1, 1, 1],
    [0.1, 0.9, 0.3, 0.2],
    [0, 0, 1, 0],
  ]) {
    const ranks = ranksOf([...all, better], ranges, weights);
    assert.ok(ranks.get(9) <= ranks.get(1));
  }
});

test("the table sorts by anything, both ways, what is missing last going up", () => {
  const ranks = ranksOf(all, ranges, [0, 1, 0, 0]);
  const by = (key, isDescending = false) =>
    sorted(all, { key, isDescending }, ranks).map((each) => each.number);
  assert.deepEqual(by("rank"), [2, 1, 4, 3, 5]);
  assert.deepEqual(by("number", true), [5, 4, 3, 2, 1]);
  assert.deepEqual(by("prediction"), [4, 2, 1, 5, 3]);
  assert.deepEqual(by("feature.1"), [3, 1, 2, 4, 5]);
  assert.deepEqual(by("objective.2"), [2, 1, 4, 3, 5]);
});

test("a click sorts up, a second one down, and headings say so", () => {
  const once = nextSort({ key: "rank", isDescending: false }, "prediction");
  const twice = nextSort(once, "prediction");
  assert.equal(ariaSort(once, "prediction"), "ascending");
  assert.equal(ariaSort(twice, "prediction"), "descending");
  assert.equal(ariaSort(twice, "rank"), "none");
});

test("counterfactuals are whole: changed values in the row's, which stays as it is", () => {
  assert.deepEqual(all[2].values, [18, 12, 0]);
  assert.deepEqual(all[2].texts, ["18", "12", "clerk"]);
  assert.deepEqual(all[2].isChanged, [true, true, false]);
  assert.deepEqual(
    SUMMARY.features.map((feature) => feature.row),
    [22, 48, 0],
  );
});

test("features are listed by how often they change", () => {
  assert.deepEqual(changedFeatures(report), [1, 0, 2]);
  assert.deepEqual(changedFeatures(report, [all[3]]), [2]);
  assert.equal(withUnit(report.features[1], "30"), "30 months");
});
