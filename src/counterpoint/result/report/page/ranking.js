/** Ranking: objectives on one scale, weighed by what matters to the reader. */

/** Return the least and the largest of each objective among counterfactuals: [[low, high], ...]. */
export function rangesOf(counterfactuals, nObjectives) {
  return Array.from({ length: nObjectives }, (_, m) => {
    const values = counterfactuals.map((each) => each.objectives[m]);
    return [
      values.reduce((a, b) => Math.min(a, b), Infinity),
      values.reduce((a, b) => Math.max(a, b), -Infinity),
    ];
  });
}

/** Return the weighted mean of objectives as shares of their ranges; 0 is the best in all. */
export function score(values, ranges, weights) {
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  if (total === 0) return 0;
  const share = (value, [low, high]) => (high > low ? (value - low) / (high - low) : 0);
  return values.reduce((sum, value, m) => sum + weights[m] * share(value, ranges[m]), 0) / total;
}

/** Return the rank of each counterfactual by its number, 1 being the best; ties keep their order. */
export function ranksOf(counterfactuals, ranges, weights) {
  const scored = counterfactuals.map((each) => ({
    number: each.number,
    score: score(each.objectives, ranges, weights),
  }));
  scored.sort((a, b) => a.score - b.score || a.number - b.number);
  return new Map(scored.map(({ number }, i) => [number, i + 1]));
}
