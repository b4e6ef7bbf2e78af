import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import {
  fromHash,
  keep,
  recalled,
  toggled,
  toHash,
} from "../../src/counterpoint/result/report/page/bookmarks.js";
import { grouped } from "../../src/counterpoint/result/report/page/cards.js";
import { othersText } from "../../src/counterpoint/result/report/page/limits.js";
import { cleaned } from "../../src/counterpoint/result/report/page/limits_panel.js";
import {
  counted,
  countedAll,
  dayText,
  fieldNumber,
  listed,
  writeNumber,
} from "../../src/counterpoint/result/report/page/numbers.js";
import { fullReceipt, receiptLines } from "../../src/counterpoint/result/report/page/receipt.js";
import { readReport } from "../../src/counterpoint/result/report/page/report.js";
import { domainOf, scaleText } from "../../src/counterpoint/result/report/page/scale.js";
import { createStore, initialState } from "../../src/counterpoint/result/report/page/store.js";
import { weightWord } from "../../src/counterpoint/result/report/page/weights_panel.js";
import { SUMMARY } from "./example.js";

const report = readReport(SUMMARY);
const GOLDEN = JSON.parse(readFileSync(new URL("numbers.golden.json", import.meta.url), "utf-8"));
const forbidden = () => {
  throw new Error("SecurityError");
};

test("bookmarks survive the address, and nonsense in it does nothing", () => {
  assert.deepEqual(fromHash(toHash([2, 5]), report.byNumber), [2, 5]);
  assert.deepEqual(fromHash("#keep=0,2,2,99", report.byNumber), [2]);
  assert.equal(fromHash("#results", report.byNumber), null);
  assert.equal(fromHash("#keep=<img>", report.byNumber), null);
  assert.equal(toHash([]), "");
});

test("a bookmark is put in, and taken out again", () => {
  assert.deepEqual(toggled(toggled([5], 2), 5), [2]);
});

test("a browser that forbids storage loses no page", () => {
  keep("key", [1], { replaceHash: forbidden, storage: forbidden });
  assert.deepEqual(recalled("key", report.byNumber, { hash: "", storage: forbidden }), []);
});

test("bookmarks come from the address first, then from the browser", () => {
  const kept = new Map();
  const storage = () => ({
    getItem: (key) => kept.get(key) ?? null,
    setItem: (key, value) => kept.set(key, value),
    removeItem: (key) => kept.delete(key),
  });
  let hash = "";
  keep("key", [3], { replaceHash: (value) => (hash = value), storage });
  assert.equal(hash, "#keep=3");
  assert.deepEqual(recalled("key", report.byNumber, { hash: "", storage }), [3]);
  assert.deepEqual(recalled("key", report.byNumber, { hash: "#keep=4", storage }), [4]);
  keep("key", [], { replaceHash: () => {}, storage });
  assert.equal(kept.size, 0);
});

test("a store tells its listeners, and its states do not change", () => {
  const store = createStore({ n: 1 });
  const seen = [];
  store.subscribe((state) => seen.push(state.n));
  const before = store.get();
  store.set({ n: 2 });
  assert.deepEqual(seen, [2]);
  assert.equal(before.n, 1);
  assert.throws(() => (before.n = 3), TypeError);
});

test("what misses the target is a near miss", () => {
  const [hit, miss] = [{ is_valid: true }, { is_valid: false }];
  assert.equal(countedAll([hit, miss, miss]), "1 counterfactual; 2 near misses");
  assert.equal(countedAll([miss]), "1 near miss");
  assert.equal(countedAll([]), "0 counterfactuals");
});

test("numbers, days and lists as texts", () => {
  assert.deepEqual(
    GOLDEN.map(([value]) => [value, writeNumber(value)]),
    GOLDEN,
  );
  assert.deepEqual([counted(1, "change"), counted(1422, "change")], ["1 change", "1,422 changes"]);
  assert.deepEqual([listed([]), listed(["a"]), listed(["a", "b", "c"])], ["", "a", "a, b and c"]);
  assert.equal(fieldNumber(dayText(20000), true), 20000);
  assert.deepEqual(
    [fieldNumber(""), fieldNumber("0"), fieldNumber("-1.5"), fieldNumber("x")],
    [null, 0, -1.5, null],
  );
});

test("what a limit does not say is left out; zero says something", () => {
  assert.deepEqual(cleaned({ isLocked: false, direction: "", low: 0, high: null, excluded: [] }), {
    low: 0,
  });
});

test("representatives of one counterfactual share a card", () => {
  const named = [
    { name: "closest", number: 2 },
    { name: "safest", number: 3 },
    { name: "balanced", number: 2 },
  ];
  assert.deepEqual(grouped(named), [
    { number: 2, names: ["closest", "balanced"] },
    { number: 3, names: ["safest"] },
  ]);
  const way = { name: "age + job", number: 4, sentence: "if age were at least 30." };
  assert.deepEqual(grouped([way]), [{ number: 4, names: ["age + job"], sentence: way.sentence }]);
});

test("what represents a way beside the set is known by its number and not counted", () => {
  const other = { ...SUMMARY.counterfactuals[0], number: 6, is_way: true };
  const more = readReport({ ...SUMMARY, counterfactuals: [...SUMMARY.counterfactuals, other] });
  assert.equal(countedAll(more.counterfactuals), countedAll(report.counterfactuals));
  assert.deepEqual(
    more.others.map((each) => [each.number, each.values[1]]),
    [[6, 30]],
  );
  assert.equal(more.byNumber.size, 6);
  assert.deepEqual(report.others, []);
  assert.deepEqual([0, 1, 3].map(othersText), [
    "",
    " 1 more way that the set leaves out is in the table.",
    " 3 more ways that the set leaves out are in the table.",
  ]);
});

test("the receipt holds what was asked and what was chosen", () => {
  const state = {
    ...initialState(report),
    bookmarks: [2],
    answers: [{ a: 0, b: 1, answer: 0, better: 1, worse: 2, equal: false }],
  };
  const receipt = fullReceipt(report, state, {
    constraints: [{ text: "age is locked" }],
    kept: [1, 2],
  });
  assert.deepEqual(receipt.choices.bookmarks, [
    { counterfactual: 2, prediction: 0.55, changes: [{ feature: "age", from: "22", to: "30" }] },
  ]);
  assert.deepEqual(receipt.choices.answers, [{ better: 1, worse: 2, equal: false }]);
  assert.deepEqual(receipt.choices.constraints, ["age is locked"]);
  assert.deepEqual(JSON.parse(JSON.stringify(receipt)), receipt);
});

test("empty entries of the receipt are not shown", () => {
  const lines = Object.fromEntries(receiptLines(SUMMARY.receipt));
  assert.deepEqual(lines.seed, ["3"]);
  assert.deepEqual(lines.limits, ["ranges age: 18 to 30, most changes 3"]);
  assert.ok(!("rules" in lines));
});

test("the scale shows probabilities from 0 to 1, and else all there is", () => {
  assert.deepEqual(domainOf(report), [0, 1]);
  const open = {
    ...report,
    target: { ...report.target, is_probability: false, low: 2, high: null },
  };
  const [low, high] = domainOf(open);
  assert.ok(low < 0.3 && high > 2);
  const alone = {
    ...open,
    counterfactuals: [],
    target: { low: null, high: 0.3, is_probability: false, text: "" },
  };
  assert.deepEqual(domainOf(alone), [-0.7, 1.3]);
  assert.match(
    scaleText(report),
    /row is 0.3; wanted is P\('good'\).* 4 counterfactuals; 1 near miss lie from 0.4 to 0.8\./,
  );
});

test("weights have words", () => {
  assert.deepEqual([0, 0.2, 0.5, 0.9, 1].map(weightWord), [
    "does not matter",
    "matters little",
    "matters",
    "matters much",
    "matters most",
  ]);
});
