import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import {
  askNext,
  expected,
  learnt,
  NEITHER,
  pairKey,
  recommend,
  replay,
  unpackShares,
  update,
  utilities,
} from "../../src/counterpoint/result/report/page/interview.js";

const golden = JSON.parse(readFileSync(new URL("interview.golden.json", import.meta.url), "utf-8"));
const worthOf = ({ particles, attributes, width }) =>
  utilities(unpackShares(particles, width), unpackShares(attributes, width));
const isClose = (a, b) => Math.abs(a - b) < 1e-9;

for (const [i, given] of golden.entries()) {
  test(`interview ${i} asks, believes and recommends as Python does`, () => {
    const worth = worthOf(given);
    let belief = worth.map(() => 1 / worth.length);
    const asked = new Set();
    for (const turn of given.turns) {
      const question = askNext(belief, worth, asked, given.ways);
      assert.deepEqual([question.a, question.b], [turn.a, turn.b]);
      assert.ok(isClose(question.worth, turn.worth));
      belief = update(belief, worth, turn.a, turn.b, turn.answer);
      asked.add(pairKey(turn.a, turn.b));
      assert.equal(recommend(belief, worth), turn.best);
      assert.ok(expected(belief, worth).every((value, k) => isClose(value, turn.expected[k])));
    }
  });
}

test("answers replayed give what answers in turn give, and an undone one leaves no trace", () => {
  const [given] = golden;
  const worth = worthOf(given);
  const answers = given.turns.map(({ a, b, answer }) => ({ a, b, answer }));
  assert.equal(replay(worth, answers, given.ways).best, given.turns.at(-1).best);
  const undone = replay(worth, answers.slice(0, 1), given.ways);
  assert.deepEqual([undone.question.a, undone.question.b], [given.turns[1].a, given.turns[1].b]);
});

test("the first questions are about ways, if there are two", () => {
  for (const { ways, turns } of golden) {
    for (const { a, b } of turns.slice(0, 2)) assert.ok(ways.includes(a) && ways.includes(b));
  }
  const worth = worthOf(golden[0]);
  assert.deepEqual(replay(worth, [], [3]).question, replay(worth, [], []).question);
});

test("no pair is asked twice, and there is an end", () => {
  const worth = [Float64Array.from([1, 0.5, 0]), Float64Array.from([0, 0.2, 1])];
  const answers = [];
  const next = () => replay(worth, answers, [0, 2]).question;
  for (let question = next(); question; question = next()) {
    answers.push({ a: question.a, b: question.b, answer: 0 });
    assert.ok(answers.length <= 3);
  }
  assert.equal(new Set(answers.map(({ a, b }) => pairKey(a, b))).size, answers.length);
});

test("somebody who answers by one particle's taste is offered what that particle likes", () => {
  const worth = worthOf(golden[0]);
  const taste = worth[17];
  const answers = [];
  for (let k = 0; k < 12; k += 1) {
    const { question } = replay(worth, answers, []);
    if (!question) break;
    answers.push({
      a: question.a,
      b: question.b,
      answer: taste[question.a] > taste[question.b] ? 0 : 1,
    });
  }
  const regret = (i) => 1 - taste[i];
  assert.ok(regret(replay(worth, answers, []).best) < 0.1);
  assert.ok(regret(replay(worth, answers, []).best) <= regret(replay(worth, [], []).best));
});

test("an interview ends by itself, and what was ruled out is neither asked about nor recommended", () => {
  for (const given of golden) {
    const worth = worthOf(given);
    const changes = (i, place) => i % 4 === place;
    const answers = [{ a: 1, b: 4, answer: NEITHER, place: 1 }];
    for (let state = replay(worth, answers, given.ways, changes); state.question;) {
      const { a, b } = state.question;
      assert.ok(a % 4 !== 1 && b % 4 !== 1 && state.best % 4 !== 1);
      answers.push({ a, b, answer: answers.length % 2 });
      state = replay(worth, answers, given.ways, changes);
    }
    assert.ok(answers.length <= 8);
  }
});

test("what is learnt names the attribute that particles weigh most", () => {
  const particles = [Float64Array.from([0.1, 0.6, 0.1, 0.1, 0.1, 0.0])];
  const named = { aims: ["distance", "changes"], features: [4, 7] };
  assert.deepEqual(learnt([1], particles, named), { aim: "changes", minded: [4] });
});
