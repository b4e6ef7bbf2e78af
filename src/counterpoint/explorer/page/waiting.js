/** Waiting: work that is put off while its reasons still change, and dropped when they have. */

/** Return a function that does `work(signal, ...)` a little later; only the last call's is done. */
export function putOff(work, delay) {
  let timer = 0;
  let running = null;
  return (...given) => {
    clearTimeout(timer);
    running?.abort();
    timer = setTimeout(() => {
      running = new AbortController();
      work(running.signal, ...given).catch((error) => {
        if (error.name !== "AbortError") throw error;
      });
    }, delay);
  };
}
