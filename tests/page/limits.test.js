import assert from "node:assert/strict";
import { test } from "node:test";

import {
  bestRelaxation,
  constraintsOf,
  remainText,
  weigh,
} from "../../src/counterpoint/result/report/page/limits.js";
import { readReport } from "../../src/counterpoint/result/report/page/report.js";
import { initialState } from "../../src/counterpoint/result/report/page/store.js";
import { SUMMARY } from "./example.js";

const report = readReport(SUMMARY);
const free = { ...initialState(report), onlyValid: false };
const limited = (j, limit) => ({
  ...free,
  limits: free.limits.map((each, k) => (k === j ? limit : each)),
});
const remaining = (state) =>
  weigh(report.counterfactuals, constraintsOf(report, state)).kept.map((each) => each.number);

test("without limits all remain", () => {
  assert.deepEqual(remaining(free), [1, 2, 3, 4, 5]);
  const view = weigh(report.counterfactuals, []);
  assert.equal(
    remainText(report.counterfactuals, [], view),
    "All 5 candidates (4 counterfactuals; 1 near miss) remain.",
  );
});

test("a locked feature keeps only those that leave it as it is", () => {
  assert.deepEqual(remaining(limited(1, { isLocked: true })), [2, 4]);
});

test("a direction allows the row's own value, and excludes what is missing", () => {
  assert.deepEqual(remaining(limited(0, { direction: "up" })), [1, 2, 4, 5]);
  assert.deepEqual(remaining(limited(0, { direction: "down" })), [1, 3, 4, 5]);
  assert.deepEqual(remaining(limited(1, { direction: "down" })), [1, 2, 3, 4]);
});

test("an end of a range may be zero", () => {
  assert.deepEqual(remaining(limited(0, { high: 0 })), []);
  assert.deepEqual(remaining(limited(1, { low: 20, high: 40 })), [1]);
});

test("levels can be left out", () => {
  assert.deepEqual(remaining(limited(2, { excluded: [1] })), [1, 2, 3, 5]);
});

test("the words say which limit removes how many, the strongest first", () => {
  const state = { ...limited(1, { isLocked: true }), onlyValid: true };
  const constraints = constraintsOf(report, state);
  const weighed = weigh(report.counterfactuals, constraints);
  assert.equal(
    remainText(report.counterfactuals, constraints, weighed),
    "1 of 5 candidates (4 counterfactuals; 1 near miss) remains, because duration is locked (removes 3) and near misses are hidden (removes 1).",
  );
});

test("where none remains, the one limit that brings back most is named and can be taken back", () => {
  const state = { ...free, limits: [{ isLocked: true }, { isLocked: true }, { isLocked: true }] };
  const constraints = constraintsOf(report, state);
  const weighed = weigh(report.counterfactuals, constraints);
  const best = bestRelaxation(constraints, weighed.alone);
  assert.equal(weighed.kept.length, 0);
  assert.equal(best.constraint.relax, "Unlocking age");
  assert.match(
    remainText(report.counterfactuals, constraints, weighed),
    /^None of 5 .* Unlocking age would bring back 1, the most a single step can\.$/,
  );
  const after = best.constraint.without(state);
  assert.deepEqual(after.limits, [{}, { isLocked: true }, { isLocked: true }]);
  assert.equal(remaining(after).length, best.n);
});

test("where no single limit helps, the words say so", () => {
  const state = { ...free, limits: [{ low: 90 }, { low: 90 }, {}] };
  const constraints = constraintsOf(report, state);
  const weighed = weigh(report.counterfactuals, constraints);
  assert.equal(bestRelaxation(constraints, weighed.alone), null);
  assert.match(
    remainText(report.counterfactuals, constraints, weighed),
    /No single limit brings any back/,
  );
});

test("whatever single limit is taken back, as many come back as was promised", () => {
  const choices = [
    {},
    { isLocked: true },
    { direction: "up" },
    { direction: "down" },
    { low: 20 },
    { high: 25 },
  ];
  for (const first of choices) {
    for (const second of choices) {
      const state = {
        ...free,
        onlyValid: true,
        brush: { numbers: [1, 2, 3] },
        limits: [first, second, { excluded: [2] }],
      };
      const constraints = constraintsOf(report, state);
      const { kept, alone } = weigh(report.counterfactuals, constraints);
      constraints.forEach((constraint, k) => {
        assert.equal(remaining(constraint.without(state)).length, kept.length + alone[k]);
      });
    }
  }
});
