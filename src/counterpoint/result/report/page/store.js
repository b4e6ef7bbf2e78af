/** The state of the page: one plain object, replaced whole, and those who want to know. */

/** Return a store: `get()`, `set(changes)` and `subscribe(listener)`. */
export function createStore(initial) {
  let state = Object.freeze({ ...initial });
  const listeners = [];
  return {
    get: () => state,
    set(changes) {
      state = Object.freeze({ ...state, ...changes });
      for (const listener of listeners) listener(state);
    },
    subscribe(listener) {
      listeners.push(listener);
    },
  };
}

/** Return what a page of a report starts with. */
export function initialState(report) {
  return {
    weights: report.objectives.map(() => 0.5),
    limits: report.features.map(() => ({})),
    onlyValid: report.counterfactuals.some((each) => each.is_valid),
    onlyUnprotected: [...report.byNumber.values()].some((each) => each.is_protected),
    onlyBookmarked: false,
    brush: null,
    isGrouped: true,
    opened: [], // groups of the table
    sort: { key: "rank", isDescending: false },
    bookmarks: [],
    answers: null, // the interview has not begun
    nShown: 25,
  };
}
