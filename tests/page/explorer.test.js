import assert from "node:assert/strict";
import { test } from "node:test";

import "./example.js";
import { splitEvents } from "../../src/counterpoint/explorer/page/api.js";
import {
  fits,
  keepTab,
  namesOf,
  recallTab,
  restored,
} from "../../src/counterpoint/explorer/page/memory.js";
import {
  chosenRow,
  defaultWish,
  editedPlaces,
  firstQuestion,
  isComplete,
  pickedRow,
  progressText,
  readWish,
  requestOf,
  targetText,
  whyNot,
} from "../../src/counterpoint/explorer/page/question.js";

const ROW = {
  position: 4,
  label: "p4",
  values: [22, null, 1],
  prediction: { decision: "bad", text: "bad (0.6)" },
};
const SETUP = {
  features: [
    { name: "age", label: "age", levels: [] },
    { name: "income", label: "income", levels: [] },
    { name: "job", label: "job", levels: ["a", "b"] },
  ],
  classes: ["bad", "good"],
  n_rows: 9,
  row: ROW,
  first: {
    row: 4,
    target: "",
    fixed: ["age"],
    rules: ["age increases", "fixed job"],
    max_changed: null,
    seed: 3,
  },
};

test("events are read whole, wherever the stream was cut", () => {
  const text = 'event: progress\ndata: {"found":1}\n\nevent: done\ndata: {"status":"found"}\n\n';
  for (let cut = 0; cut <= text.length; cut += 1) {
    const first = splitEvents(text.slice(0, cut));
    const second = splitEvents(first.rest + text.slice(cut));
    const events = [...first.events, ...second.events];
    assert.deepEqual(events, [
      { kind: "progress", data: { found: 1 } },
      { kind: "done", data: { status: "found" } },
    ]);
    assert.equal(second.rest, "");
  }
});

test("comments and events without a name are no harm", () => {
  assert.deepEqual(splitEvents(": waiting\n\ndata: 3\n\n").events, [
    { kind: "message", data: null },
    { kind: "message", data: 3 },
  ]);
});

test("a target's text is read into the wish that writes it", () => {
  for (const text of ["good", "opposite", "good:0.8..1", "good:..0.4", "a:b:0.5.."]) {
    assert.equal(targetText(readWish(text, ["bad", "good", "a:b"])), text);
  }
  assert.equal(targetText(readWish("0.5..", null)), "0.5..");
  assert.deepEqual(readWish("3", null), { label: null, low: 3, high: 3 });
});

test("one wishes for what the model does not say", () => {
  assert.equal(defaultWish(["bad", "good"], { decision: "bad" }).label, "good");
  assert.equal(defaultWish(["a", "b", "c"], { decision: "b" }).label, "opposite");
  assert.equal(targetText(defaultWish(null, {})), "");
});

test("the first question is the setup's, and its request says the same", () => {
  const request = requestOf(firstQuestion(SETUP));
  assert.deepEqual(request, {
    row: 4,
    values: [22, null, 1],
    target: "good",
    fixed: ["age"],
    ranges: {},
    costs: {},
    rules: ["age increases", "fixed job"],
    max_changed: null,
    seed: 3,
    afresh: false,
  });
});

test("a row that is picked is wished what the model does not say of it", () => {
  const first = firstQuestion(SETUP);
  const good = { ...ROW, prediction: { decision: "good", text: "good (0.9)" } };
  assert.equal(pickedRow(good, first, SETUP.classes).wish.label, "bad");
  const own = { ...first, wish: { label: "good", low: 0.8, high: null } };
  assert.equal(pickedRow(good, own, SETUP.classes).wish, undefined);
});

test("edits are told from the row's own values, and a new row has none", () => {
  const question = { ...firstQuestion(SETUP), values: [23, null, 0] };
  assert.deepEqual(editedPlaces(question), [0, 2]);
  assert.deepEqual(editedPlaces({ ...question, ...chosenRow(ROW) }), []);
});

test("what cannot be asked yet is told why", () => {
  const question = firstQuestion(SETUP);
  assert.equal(whyNot(question, SETUP.features), "");
  const empty = { ...question, values: [undefined, null, 1] };
  assert.equal(isComplete(empty), false);
  assert.equal(whyNot(empty, SETUP.features), "age needs a value.");
  assert.match(
    whyNot({ ...question, wish: { label: null, low: null, high: null } }, SETUP.features),
    /^Say what you want/,
  );
  assert.equal(whyNot({ ...question, nFaults: 1 }, SETUP.features), "Mend the rules first.");
  assert.match(
    whyNot({ ...question, fixed: ["age", "income", "job"] }, SETUP.features),
    /nothing could change/,
  );
});

test("progress is told in words", () => {
  const going = {
    is_waiting: false,
    is_stopping: false,
    evaluations: 1234,
    found: 5,
    elapsed: 2.04,
  };
  assert.equal(progressText(going), "1,234 rows asked, 5 found, 2.0 s");
  assert.equal(progressText({ ...going, elapsed: 12.6 }), "1,234 rows asked, 5 found, 13 s");
  assert.equal(progressText({ ...going, is_waiting: true }), "Waiting for other searches ...");
  assert.equal(progressText({ ...going, is_stopping: true }), "Stopping ...");
});

test("a tab recalls what it kept, if it fits the model that is served", () => {
  const kept = new Map();
  const storage = () => ({
    getItem: (key) => kept.get(key) ?? null,
    setItem: (key, value) => kept.set(key, value),
  });
  assert.equal(recallTab(storage), null);
  keepTab({ session: "s", question: firstQuestion(SETUP), names: namesOf(SETUP) }, storage);
  assert.equal(fits(recallTab(storage), SETUP), true);
  assert.equal(fits(recallTab(storage), { ...SETUP, n_rows: 3 }), false);
  assert.equal(fits(recallTab(storage), { ...SETUP, features: SETUP.features.slice(1) }), false);
  assert.equal(fits({ session: "s" }, SETUP), false);
});

test("what was no value when it was kept is the row's own again", () => {
  const features = [{ may_miss: false }, { may_miss: true }, { may_miss: false }];
  const kept = JSON.parse(
    JSON.stringify({ question: { own: [22, 5, 1], values: [undefined, null, 0] } }),
  );
  assert.deepEqual(restored(kept, { features }).values, [22, null, 0]);
});

test("a browser that keeps nothing is no harm", () => {
  const forbidden = () => {
    throw new Error("forbidden");
  };
  keepTab({}, forbidden);
  assert.equal(recallTab(forbidden), null);
});
