/** Ranking: objectives on one scale, weighed by what matters to the reader. */

/** Return each objective of a counterfactual from 0, the best of the set, to 1, the worst. */
export function normalised(objectives, values) {
  return objectives.map(({ low, high }, m) => (high > low ? (values[m] - low) / (high - low) : 0));
}

/** Return the weighted mean of the normalised objectives; 0 is the best in all. */
export function score(objectives, values, weights) {
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  if (total === 0) return 0;
  const scaled = normalised(objectives, values);
  return scaled.reduce((sum, value, m) => sum + weights[m] * value, 0) / total;
}

/** Return the numbers of counterfactuals from best to worst; ties keep their order. */
export function ranked(report, weights) {
  return report.counterfactuals
    .map((each) => ({ number: each.number, score: score(report.objectives, each.objectives, weights) }))
    .sort((a, b) => a.score - b.score || a.number - b.number)
    .map((each) => each.number);
}
