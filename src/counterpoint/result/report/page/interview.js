/**
 * The interview: what "A or B?" tells of somebody's trade-off.
 *
 * Line by line what result/choosing/interview.py does, on the same particles; see there for why.
 * Matrices are arrays of rows. `worth[s][i]` is what candidate i is worth to particle s.
 */

const SURE = 16.0;
const TIE = 0.5;
const N_PROMISING = 14;
const WAYS_FIRST = 2;
const MOST_QUESTIONS = 8;
const GAIN = 0.001;
export const NEITHER = 3;

/** Return what each candidate is worth to each particle, from 0, the worst, to 1. */
export function utilities(particles, attributes) {
  return particles.map((weights) => {
    const costs = attributes.map((values) => dot(weights, values));
    const least = smallest(costs);
    const most = largest(costs);
    const span = most > least ? most - least : Infinity;
    return Float64Array.from(costs, (cost) => 1 - (cost - least) / span);
  });
}

/** Return how likely somebody answers "A", "B" and "equal" to whom A and B are worth that much. */
export function likelihood(uA, uB) {
  const half = Math.exp(0.5 * SURE * (uA - uB));
  const total = half + 1 / half + TIE;
  return [half / total, 1 / half / total, TIE / total];
}

/** Return the belief after an answer about candidates a and b: 0 for a, 1 for b, 2 for equal. */
export function update(belief, worth, a, b, answer) {
  const after = belief.map((p, s) => p * likelihood(worth[s][a], worth[s][b])[answer]);
  const total = after.reduce((sum, p) => sum + p, 0);
  return after.map((p) => p / total);
}

/** Return the expected utility of each candidate. */
export function expected(belief, worth) {
  const sums = new Float64Array(worth[0].length);
  worth.forEach((values, s) => {
    for (let i = 0; i < sums.length; i += 1) sums[i] += belief[s] * values[i];
  });
  return sums;
}

/** Return the candidate with the largest expected utility, the first of several. */
export function recommend(belief, worth) {
  return firstLargest(expected(belief, worth));
}

/** Return the candidates worth asking about: at most n, the recommended one first. */
export function promising(belief, worth, n = N_PROMISING) {
  const chosen = [recommend(belief, worth)];
  const best = worth.map((values) => values[chosen[0]]);
  while (chosen.length < Math.min(n, worth[0].length)) {
    const gains = gainsOver(best, belief, worth);
    for (const i of chosen) gains[i] = -1;
    const next = firstLargest(gains);
    chosen.push(next);
    worth.forEach((values, s) => (best[s] = Math.max(best[s], values[next])));
  }
  return chosen;
}

function gainsOver(best, belief, worth) {
  const gains = new Float64Array(worth[0].length);
  worth.forEach((values, s) => {
    for (let i = 0; i < gains.length; i += 1) {
      if (values[i] > best[s]) gains[i] += belief[s] * (values[i] - best[s]);
    }
  });
  return gains;
}

/** Return the pair to ask next: the first few are of the representatives of ways. */
export function askNext(belief, worth, asked, ways, among = [...worth[0].keys()]) {
  const some = ways.filter((i) => among.includes(i));
  const isAboutWays = asked.size < WAYS_FIRST && some.length > 1;
  const question = isAboutWays ? ask(belief, worth, asked, some) : null;
  return question ?? ask(belief, worth, asked, among);
}

/** Whether an answer is expected to gain enough, of at most so many questions. */
function isWorthAsking(question, best, nAsked) {
  return nAsked < WAYS_FIRST || (nAsked < MOST_QUESTIONS && question.worth - best >= GAIN);
}

/** Return the pair among candidates whose answer is expected to be worth most, or null. */
export function ask(belief, worth, asked, among = [...worth[0].keys()]) {
  const own = worth.map((values) => among.map((i) => values[i]));
  const some = promising(belief, own).map((k) => among[k]);
  const few = worth.map((values) => some.map((i) => values[i]));
  let best = null;
  for (let i = 0; i < some.length; i += 1) {
    for (let j = i + 1; j < some.length; j += 1) {
      const [a, b] = [some[i], some[j]];
      if (asked.has(pairKey(a, b))) continue;
      const value = rounded(valueOfAsking(belief, few, i, j));
      if (best === null || value > best.worth) best = { a, b, worth: value };
    }
  }
  return best;
}

/** Return the expected utility of what will be recommended after "A or B?" is answered. */
export function valueOfAsking(belief, worth, a, b) {
  const sums = [0, 1, 2].map(() => new Float64Array(worth[0].length));
  worth.forEach((values, s) => {
    likelihood(values[a], values[b]).forEach((p, answer) => {
      const joint = belief[s] * p;
      for (let i = 0; i < values.length; i += 1) sums[answer][i] += joint * values[i];
    });
  });
  return sums.reduce((total, answer) => total + largest(answer), 0);
}

/** Return the name of a pair, whichever comes first. */
export function pairKey(a, b) {
  return `${Math.min(a, b)},${Math.max(a, b)}`;
}

/**
 * Return the state of an interview after answers [{a, b, answer, place}]: question, recommendation
 * and belief. An answer NEITHER leaves out what changes the feature at its place.
 */
export function replay(worth, answers, ways, changes = () => false) {
  let belief = worth.map(() => 1 / worth.length);
  for (const { a, b, answer } of answers)
    if (answer !== NEITHER) belief = update(belief, worth, a, b, answer);
  const places = answers.filter(({ answer }) => answer === NEITHER).map(({ place }) => place);
  const among = [...worth[0].keys()].filter((i) => !places.some((place) => changes(i, place)));
  const asked = new Set(answers.map(({ a, b }) => pairKey(a, b)));
  const values = expected(belief, worth);
  const best = among[firstLargest(among.map((i) => values[i]))];
  const next = askNext(belief, worth, asked, ways, among);
  const isEnough = !next || !isWorthAsking(next, values[best], answers.length);
  return { question: isEnough ? null : next, best, belief, excluded: places, nLeft: among.length };
}

/** Return what matters by a belief, as names: the objective that counts most, changes that are minded. */
export function learnt(belief, particles, { aims, features }) {
  const mean = Array.from(expected(belief, particles));
  const [ofAims, rest] = [mean.slice(0, aims.length), mean.slice(aims.length)];
  const minded = features.map((_, k) => rest[k] + rest[features.length + k]);
  const most = Math.max(0, ...minded);
  return {
    aim: aims.length ? aims[firstLargest(ofAims)] : null,
    minded: features.filter((_, k) => most > 0 && minded[k] >= 0.8 * most).slice(0, 3),
  };
}

/** Return shares from 0 to 1 that were written as 16 bits each, in rows of `width`. */
export function unpackShares(text, width) {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  const rows = [];
  for (let start = 0; start < bytes.length / 2; start += width) {
    rows.push(
      Float64Array.from({ length: width }, (_, k) => view.getUint16(2 * (start + k), true) / 65535),
    );
  }
  return rows;
}

function dot(weights, values) {
  let sum = 0;
  for (let k = 0; k < values.length; k += 1) sum += weights[k] * values[k];
  return sum;
}

function smallest(values) {
  return values.reduce((a, b) => Math.min(a, b), Infinity);
}

function largest(values) {
  return values.reduce((a, b) => Math.max(a, b), -Infinity);
}

/** Return the index of the largest value; a difference below 1e-12 is none. */
function firstLargest(values) {
  let best = 0;
  for (let i = 1; i < values.length; i += 1)
    if (rounded(values[i]) > rounded(values[best])) best = i;
  return best;
}

function rounded(value) {
  return Math.round(value * 1e12) / 1e12;
}
