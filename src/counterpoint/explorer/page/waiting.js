/** Waiting: work that is put off while its reasons still change, and dropped when they have. */

/** Return a function that does `work(signal, ...)` a little later; only the last call's is done, none after `drop`. */
export function putOff(work, delay) {
  let timer = 0;
  let running = null;
  const drop = () => {
    clearTimeout(timer);
    running?.abort();
  };
  const later = (...given) => {
    drop();
    timer = setTimeout(() => {
      running = new AbortController();
      work(running.signal, ...given).catch((error) => {
        if (error.name !== "AbortError") throw error;
      });
    }, delay);
  };
  return Object.assign(later, { drop });
}
