import assert from "node:assert/strict";
import { test } from "node:test";

import { withValue } from "../../src/counterpoint/explorer/page/effort.js";
import { questionText, readQuestion } from "../../src/counterpoint/explorer/page/question_text.js";
import "./example.js";

const feature = (name, kind, more = {}) => ({
  name,
  kind,
  is_numeric: kind !== "categorical",
  levels: [],
  may_miss: false,
  ...more,
});
const SETUP = {
  features: [
    feature("age", "integer"),
    feature("age at start", "integer", { may_miss: true }),
    feature("pay = net, EUR", "real"),
    feature("since", "date"),
    feature("job", "categorical", { levels: ["clerk", "a = b", "missing"] }),
  ],
  classes: ["bad", "good"],
};
const QUESTION = {
  label: "17",
  values: [22, null, 1250.5, 20000, 1],
  wish: { label: "good", low: 0.6, high: null },
  fixed: ["age at start", "pay = net, EUR"],
  ranges: { age: [20, null], since: [19000, 20100] },
  costs: { job: 2.5 },
  rules: "age increases\nif age > 30 then job == 'clerk'",
  maxChanged: 3,
  seed: 7,
  isAfresh: false,
};

test("what a question says as text is read as the same question", () => {
  const text = questionText(QUESTION, SETUP.features);

  assert.deepEqual(readQuestion(text, SETUP, QUESTION), QUESTION);
  assert.match(text, /^row: 17\nage = 22\nage at start = missing\n/);
  assert.match(text, /\nrange: since = 2022-01-08\.\.2025-01-12\n/);
});

test("an edit changes what it says, and what is left out is not asked for", () => {
  const said = readQuestion("age = 30\ntarget: opposite", SETUP, QUESTION);

  assert.equal(said.values[0], 30);
  assert.deepEqual(said.values.slice(1), QUESTION.values.slice(1));
  assert.equal(said.wish.label, "opposite");
  assert.deepEqual([said.fixed, said.ranges, said.costs, said.rules], [[], {}, {}, ""]);
  assert.equal(said.maxChanged, null);
});

for (const [line, words] of [
  ["ages = 3", /Line 2: “ages = 3” is none of: a feature = a value, row: \.\.\., target/],
  ["age = x", /Line 2: age must be a number, not “x”\./],
  ["age = 1.5", /Line 2: age must be a whole number, not “1\.5”\./],
  ["age = missing", /Line 2: age must be a number/],
  ["since = soon", /Line 2: since must be a date such as 2024-12-31/],
  ["job = cook", /Line 2: “cook” is no level of job: clerk, a = b, missing\./],
  ["fixed: sex", /Line 2: “sex” is no feature of the table\./],
  ["range: job = 1..2", /Line 2: a range is a number or date, such as range: job = 1\.\.2\./],
  ["range: age", /Line 2: “age” lacks “=” after the feature's name\./],
  ["cost: age = much", /Line 2: cost must be a number, not “much”\./],
  ["target: best", /Line 2: “best” is no target: one of bad, good, opposite, or such as bad:0\.6/],
  ["target:", /Line 2: “” is no target/],
  ["changes at most: -1", /Line 2: changes at most must be a whole number of at least 0/],
  ["seed: 0.5", /Line 2: seed must be a whole number/],
]) {
  test(`a line that says nothing is named with what is right: ${line}`, () => {
    assert.throws(() => readQuestion(`\n${line}`, SETUP, QUESTION), { message: words });
  });
}

test("a regression's target has ends only", () => {
  const setup = { ...SETUP, classes: null };
  assert.deepEqual(readQuestion("target: ..150", setup, QUESTION).wish, {
    label: null,
    low: null,
    high: 150,
  });
  assert.throws(() => readQuestion("target: low", setup, QUESTION), {
    message: "Line 1: “low” is no target; write such as 100..150, or ..150 with an open end.",
  });
});

test("a cost or a range is kept by name, and taken back by null", () => {
  const values = withValue({ age: 2 }, "job", 5);
  assert.deepEqual(values, { age: 2, job: 5 });
  assert.deepEqual(withValue(values, "age", null), { job: 5 });
});
