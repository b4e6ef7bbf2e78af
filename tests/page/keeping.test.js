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
import { groupsOf, groupText } from "../../src/counterpoint/result/report/page/groups.js";
import { placesOf } from "../../src/counterpoint/result/report/page/map.js";
import { domainOfFeature, spansOf } from "../../src/counterpoint/result/report/page/strip.js";
import { cleaned } from "../../src/counterpoint/result/report/page/limits_panel.js";
import {
  countedAll,
  dayText,
  fieldNumber,
  writeNumber,
} from "../../src/counterpoint/result/report/page/numbers.js";
import { counted, listed } from "../../src/counterpoint/result/report/page/texts.js";
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

const FIRST = initialState(report);
const again = (hash) => fromHash(hash, FIRST, report.byNumber);

test("a state survives the address, and nonsense in it does nothing", () => {
  const state = {
    ...FIRST,
    bookmarks: [2, 5],
    weights: [0, 0.25, 1, 0.5],
    onlyValid: false,
    limits: [{ isLocked: true }, { low: 3, direction: "up" }, { excluded: [1] }],
  };
  assert.deepEqual({ ...FIRST, ...again(toHash(state, FIRST)) }, state);
  assert.deepEqual(again("#keep=0,2,2,99").bookmarks, [2]);
  for (const nonsense of ["#results", "#keep=<img>", "#weights=7", "#limits=%5B%5B0", ""])
    assert.equal(again(nonsense), null, nonsense);
  const strange = encodeURIComponent(
    JSON.stringify([
      [1, { low: "<b>", isLocked: 7 }],
      [9, {}],
    ]),
  );
  assert.deepEqual(again(`#limits=${strange}`).limits, [{}, {}, {}]);
  assert.equal(toHash(FIRST, FIRST), "");
});

test("a bookmark is put in, and taken out again", () => {
  assert.deepEqual(toggled(toggled([5], 2), 5), [2]);
});

test("a browser that forbids storage loses no page", () => {
  keep("key", "#keep=1", { replaceHash: forbidden, storage: forbidden });
  const nowhere = { hash: "", storage: forbidden };
  assert.deepEqual(recalled("key", FIRST, report.byNumber, nowhere), {});
});

test("bookmarks come from the address first, then from the browser", () => {
  const kept = new Map();
  const storage = () => ({
    getItem: (key) => kept.get(key) ?? null,
    setItem: (key, value) => kept.set(key, value),
    removeItem: (key) => kept.delete(key),
  });
  let hash = "";
  keep("key", "#keep=3", { replaceHash: (value) => (hash = value), storage });
  assert.equal(hash, "#keep=3");
  const at = (address) => recalled("key", FIRST, report.byNumber, { hash: address, storage });
  assert.deepEqual(at(""), { bookmarks: [3] });
  assert.deepEqual(at("#keep=4"), { bookmarks: [4] });
  keep("key", "", { replaceHash: () => {}, storage });
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
  assert.deepEqual(
    [counted(1, "variant"), counted(1422, "variant")],
    ["1 variant", "1,422 variants"],
  );
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
    { number: 2, names: ["closest", "balanced"], way: null },
    { number: 3, names: ["safest"], way: null },
  ]);
  const way = { name: "age + job", number: 4, sentence: "if age were at least 30.", works: [] };
  assert.deepEqual(grouped([way]), [{ number: 4, names: ["age + job"], way }]);
});

test("candidates are grouped by what they change, and those that change much are the last group", () => {
  const all = [...report.counterfactuals];
  const many = { ...all[0], number: 9, changes: [0, 1, 2, 3, 4].map((j) => [j, 1, "1"]) };
  const groups = groupsOf([many, ...all]);
  assert.deepEqual(
    groups.map(({ key, rows }) => [key, rows.map((each) => each.number)]),
    [
      ["1", [1]],
      ["0", [2]],
      ["0,1", [3]],
      ["2", [4]],
      ["1,2", [5]],
      ["many", [9]],
    ],
  );
  assert.equal(groupText(report, groupsOf([all[0]])[0]), "duration: 30 months");
  assert.equal(groupText(report, groups[2]), "age and duration");
});

test("a strip has room for all that was observed, the row and what works", () => {
  const feature = { ...report.features[1], bars: [[-5, 20, 1]], low: 0, high: 72 };
  assert.deepEqual(domainOfFeature(feature, [90]), [-5, 90]);
  assert.deepEqual(domainOfFeature(report.features[2], []), [-0.5, 2.5]);
});

test("no span of values that work reaches across the row's own", () => {
  assert.deepEqual(spansOf([9, 3, null, 40, 12], 10), [
    [3, 9],
    [12, 40],
  ]);
  assert.deepEqual(spansOf([], 10), []);
});

test("points of the map that would hide others are moved aside", () => {
  const ways = [1, 1, 1].map((number) => ({ number, effort: 0.1, n: 1 }));
  const { points } = placesOf(report, ways);
  assert.equal(new Set(points.map(({ x }) => x)).size, 3);
});

test("on the map of ways larger changes are further right and larger predictions higher", () => {
  const ways = [
    { number: 1, effort: 0.1, n: 1 },
    { number: 3, effort: 0.4, n: 100 },
  ];
  const [first, second] = placesOf(report, ways).points;
  assert.ok(first.x < second.x && first.y > second.y && first.r < second.r);
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
  assert.deepEqual(domainOf(alone), [0, 1]);
  const one = { ...alone, row: { prediction: 3 }, target: { ...alone.target, high: 3 } };
  assert.deepEqual(domainOf(one), [2, 4]);
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
