"""Models behind HTTP: asked in batches, tried again, and never asked twice about the same row."""

from __future__ import annotations

import json
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from counterpoint.errors import InvalidInput, PredictorError
from counterpoint.models.adapters.exchange import Failure, Service, check_address, exchange

Scores: TypeAlias = tuple[float, ...]  # of one row
LONGEST_WAIT = 30.0  # seconds between two attempts, whatever the service asks for


class RemoteModel:
    """A model behind an HTTP service that scores rows sent as JSON.

    Rows are sent by POST as ``{"rows": [{"age": 30, "job": "clerk"}, ...]}``; expected is
    ``{"scores": [0.7, ...]}`` with a number per row, or a list with one per class. Redirects are
    not followed and proxies not used. Answers are kept, so that a row is asked about once.

    Parameters
    ----------
    url : str
        The address, of HTTP or HTTPS.
    classes : sequence, optional
        The class labels in the order of the scores.
    batch_size : int, default=256
        The most rows in one request.
    timeout : float, default=10.0
        Seconds one request may take.
    attempts : int, default=3
        How often a request is tried.
    backoff : float, default=0.5
        Seconds before the second attempt; each further one waits twice as long. The same rows
        always wait alike, others a little differently.
    cache_size : int, default=100000
        How many rows' answers are kept; the longest unused are dropped first.
    headers : mapping of str to str, optional
        Sent with each request, for example ``{"Authorization": "Bearer ..."}``.
    request_key, answer_key : str or None
        The names around rows and scores, "rows" and "scores" unless given; None for a bare list.
        MLflow's servers want "dataframe_records" and "predictions".

    Examples
    --------
    >>> model = RemoteModel("https://models.example.org/score", classes=["bad", "good"])
    >>> model
    RemoteModel('https://models.example.org/score')
    """

    is_shared = True

    def __init__(
        self,
        url: str,
        *,
        classes: Sequence[Any] | None = None,
        batch_size: int = 256,
        timeout: float = 10.0,
        attempts: int = 3,
        backoff: float = 0.5,
        cache_size: int = 100_000,
        headers: Mapping[str, str] | None = None,
        request_key: str | None = "rows",
        answer_key: str | None = "scores",
    ) -> None:
        head = {"Content-Type": "application/json", "Accept": "application/json"}
        timeout = at_least("timeout", timeout, 0.0)
        self._service = Service(check_address(url), head | dict(headers or {}), timeout)
        self.classes_ = classes
        self.batch_size = count("batch_size", batch_size)
        self.attempts = count("attempts", attempts)
        self.backoff = at_least("backoff", backoff, 0.0, is_open=False)
        self._keys = request_key, answer_key
        self._cache = Cache(count("cache_size", cache_size))

    def __repr__(self) -> str:
        return f"RemoteModel({self._service.name!r})"

    def score(self, rows: pd.DataFrame) -> Any:
        """Return the service's scores, shape (n, c).

        Raises
        ------
        PredictorError
            If the service fails, with the number of rows it failed for.
        """
        if rows.isna().any(axis=None):  # NaN is no JSON
            rows = rows.astype(object).where(rows.notna(), None)
        texts = [json.dumps(row, default=str) for row in rows.to_dict("records")]
        known = self._cache.take(texts)
        new = list(dict.fromkeys(text for text in texts if text not in known))
        for start in range(0, len(new), self.batch_size):
            batch = new[start : start + self.batch_size]
            try:
                answers = self._ask(batch)
            except Failure as failure:
                raise self._failed(failure, texts, known, set(batch)) from failure
            found = dict(zip(batch, answers, strict=True))
            known |= found
            self._cache.keep(found)
        widths = {len(scores) for scores in known.values()}
        if len(widths) > 1:
            raise PredictorError(
                f"the service at {self._service.name} gave some rows {min(widths)} scores and "
                f"others {max(widths)}; expected the same number for every row."
            )
        return np.array([known[text] for text in texts], dtype=np.float64)

    def _ask(self, batch: list[str]) -> list[Scores]:
        """Return the scores of a batch, trying as often as allowed."""
        key, answer_key = self._keys
        listed = f"[{','.join(batch)}]"
        body = (listed if key is None else f"{{{json.dumps(key)}:{listed}}}").encode()
        for attempt in range(1, self.attempts + 1):
            try:
                return scores_in(exchange(self._service, body), answer_key, len(batch))
            except Failure as failure:
                failure.attempt = attempt
                if failure.is_final or attempt == self.attempts:
                    raise
                time.sleep(self._pause(failure, attempt, body))
        raise AssertionError("at least one attempt is made")

    def _pause(self, failure: Failure, attempt: int, body: bytes) -> float:
        """Return how long to wait: longer each time, and not in step with other batches."""
        address = blake2b(body, digest_size=8, salt=attempt.to_bytes(8, "little")).digest()
        share = int.from_bytes(address, "little") / 2**64
        wait = self.backoff * 2.0 ** (attempt - 1) * (0.5 + 0.5 * share)
        return min(LONGEST_WAIT, max(wait, failure.wait))

    def _failed(
        self, failure: Failure, texts: list[str], known: dict[str, Scores], batch: set[str]
    ) -> PredictorError:
        """Build the error that says for how many rows there is no answer, and why."""
        n_failed = sum(text in batch for text in texts)
        n_known = sum(text in known for text in texts)
        times = "attempt" if failure.attempt == 1 else "attempts"
        kept = f"; {n_known} others were answered and are kept" if n_known else ""
        return PredictorError(
            f"the service at {self._service.name} failed for {n_failed} of {len(texts)} rows "
            f"after {failure.attempt} {times}: {failure}{kept}."
        )


class Cache:
    """Answers by row, the longest unused dropped first; safe to share among threads.

    Parameters
    ----------
    size : int
        The most rows kept.

    Examples
    --------
    >>> cache = Cache(2)
    >>> cache.keep({"a": (0.1,), "b": (0.2,)})
    >>> cache.take(["a"])
    {'a': (0.1,)}
    >>> cache.keep({"c": (0.3,)})
    >>> cache.take(["a", "b", "c"])
    {'a': (0.1,), 'c': (0.3,)}
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._answers: OrderedDict[str, Scores] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, texts: list[str]) -> dict[str, Scores]:
        """Return the answers that are known."""
        with self._lock:
            known = {text: self._answers[text] for text in texts if text in self._answers}
            for text in known:
                self._answers.move_to_end(text)
        return known

    def keep(self, found: Mapping[str, Scores]) -> None:
        """Add answers, and drop the longest unused of too many."""
        with self._lock:
            self._answers.update(found)
            while len(self._answers) > self.size:
                self._answers.popitem(last=False)


def scores_in(answer: Any, key: str | None, n: int) -> list[Scores]:
    """Return the scores of n rows in an answer, or say what is wrong with it.

    Examples
    --------
    >>> scores_in({"scores": [0.25, 1]}, "scores", 2)
    [(0.25,), (1.0,)]
    """
    if key is not None and (not isinstance(answer, dict) or key not in answer):
        raise Failure(f"an answer without {key!r}")
    values = answer if key is None else answer[key]
    if not isinstance(values, list):
        raise Failure(f"scores that are no list but {type(values).__name__}")
    if len(values) != n:
        raise Failure(f"{len(values)} scores for {n} rows")
    try:
        scores = np.array(values)
    except ValueError:  # rows with different numbers of scores
        scores = np.array(None)
    if scores.dtype.kind not in "iuf" or scores.ndim > 2 or scores.size == 0:
        raise Failure("scores that are not a number, or a list of numbers, for each row")
    if not np.isfinite(scores).all():  # 1e999 is JSON
        raise Failure("scores that are infinite")
    return [tuple(row) for row in scores.reshape(n, -1).astype(np.float64).tolist()]


def count(name: str, value: object) -> int:
    """Return a setting that must be a whole number of at least 1."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise InvalidInput(f"{name} must be a whole number of at least 1, got {value!r}.")
    return int(value)


def at_least(name: str, value: object, low: float, *, is_open: bool = True) -> float:
    """Return a setting that must be a number of seconds from, or above, a lowest one."""
    is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    number = float(value) if is_number else np.nan  # type: ignore[arg-type]
    if not np.isfinite(number) or number < low or (is_open and number == low):
        words = f"above {low:g}" if is_open else f"of at least {low:g}"
        raise InvalidInput(f"{name} must be a number of seconds {words}, got {value!r}.")
    return number
