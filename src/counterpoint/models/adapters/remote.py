"""Models behind HTTP: asked in batches, tried again, and never asked twice about the same row."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from hashlib import blake2b
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import SplitResult, urlsplit

import numpy as np
import pandas as pd

from counterpoint.checks import check_number, check_whole
from counterpoint.errors import InvalidInput, PredictorError, Signal

MOST_BYTES = 64 * 2**20  # of one answer: a service gone wild must not fill the memory
MOST_TOLD = 200  # bytes of what a service says about an error
MAY_PASS = (408, 425, 429)  # of the client's errors, those that are about the moment


class Failure(Signal):
    """An exchange that brought no answer.

    `reason` is the end of a sentence; if it `is_final`, trying again cannot help; `wait` is how
    many seconds the service asked to be left alone.
    """

    def __init__(self, reason: str, *, is_final: bool = False, wait: float = 0.0) -> None:
        super().__init__(reason)
        self.is_final, self.wait = is_final, wait
        self.attempt = 1


class Service(NamedTuple):
    """Where to ask, with what in the head of each request, and how long to wait."""

    address: SplitResult
    headers: dict[str, str]
    timeout: float

    @property
    def name(self) -> str:
        """The address without its query, which may hold a key."""
        return f"{self.address.scheme}://{self.address.netloc}{self.address.path}"


def check_address(url: object) -> SplitResult:
    """Return the parts of an address of HTTP.

    Examples
    --------
    >>> check_address("http://localhost:8080/score").port
    8080
    """
    # http.client refuses other signs too, but late, and shows the query when it does.
    is_plain = isinstance(url, str) and url.isascii() and url.isprintable() and " " not in url
    try:
        parts = urlsplit(str(url) if is_plain else "")
        is_usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is no number
        is_usable = False
    if not is_usable:
        raise InvalidInput(f"url must be an address like 'https://host:8443/score', got {url!r}.")
    if "@" in parts.netloc:
        raise InvalidInput(
            "url must not hold a user or password; pass headers={'Authorization': ...}."
        )
    return parts


def exchange(service: Service, body: bytes) -> Any:
    """Send one request and return the parsed answer; raise `Failure` if there is none."""
    deadline = time.monotonic() + service.timeout
    secure = service.address.scheme == "https"
    kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
    # A proxy is not looked for: rows go to the host that was named, and to no other.
    connection = kind(service.address.hostname or "", service.address.port, timeout=service.timeout)
    try:
        connection.connect()
        with cut_at(deadline, connection.sock):
            return parsed(received(service, connection, body))
    except (OSError, http.client.HTTPException, Failure) as error:
        if isinstance(error, TimeoutError) or time.monotonic() >= deadline:
            raise Failure(f"no answer within {service.timeout:g} s") from error
        if isinstance(error, Failure):
            raise
        told = str(error) or "no reason given"
        raise Failure(f"the connection failed ({type(error).__name__}: {told})") from error
    finally:
        connection.close()


@contextmanager
def cut_at(deadline: float, connected: socket.socket) -> Iterator[None]:
    """Cut a connection off at the deadline, whatever is being sent or read then.

    A socket's own time-out starts anew with every byte that drips in.
    """

    def cut() -> None:
        with suppress(OSError):  # closed already
            # Of a TLS socket this is the layer below: its own would discard what is in use.
            socket.socket.shutdown(connected, socket.SHUT_RDWR)

    timer = threading.Timer(max(0.0, deadline - time.monotonic()), cut)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def received(service: Service, connection: http.client.HTTPConnection, body: bytes) -> bytes:
    """Return the bytes of an answer of success."""
    address = service.address
    path = (address.path or "/") + (f"?{address.query}" if address.query else "")
    connection.request("POST", path, body, service.headers)
    with connection.getresponse() as answer:
        check_status(answer)
        told = answer.read(MOST_BYTES + 1)
    if len(told) > MOST_BYTES:
        raise Failure(f"an answer of more than {MOST_BYTES // 2**20} MiB", is_final=True)
    return told


def check_status(answer: http.client.HTTPResponse) -> None:
    """Raise `Failure` for any status but success."""
    status = answer.status
    if 200 <= status < 300:
        return
    told = f"HTTP {status} {answer.reason}".strip()
    if 300 <= status < 400:  # followed, it could send the rows anywhere
        place = answer.headers.get("Location", "nowhere")
        raise Failure(
            f"{told} to {place}; redirects are not followed, give the final address", is_final=True
        )
    why = " ".join(answer.read(MOST_TOLD).decode(errors="replace").split())
    text = answer.headers.get("Retry-After", "")
    wait = float(text) if text.isdecimal() else 0.0
    is_final = status < 500 and status not in MAY_PASS
    raise Failure(f"{told} ({why})" if why else told, is_final=is_final, wait=wait)


def parsed(answer: bytes) -> Any:
    """Return an answer's JSON; NaN and Infinity are none."""
    try:
        return json.loads(answer, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise Failure(f"an answer that is not JSON ({len(answer)} bytes)") from error


def _refuse(constant: str) -> None:
    """Refuse what Python reads although JSON has no such number."""
    raise ValueError(constant)


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
        timeout = check_number("timeout", timeout, 0.0, above=True, unit="seconds")
        self._service = Service(check_address(url), head | dict(headers or {}), timeout)
        self.classes_ = classes
        self.batch_size = check_whole("batch_size", batch_size, 1)
        self.attempts = check_whole("attempts", attempts, 1)
        self.backoff = check_number("backoff", backoff, 0.0, unit="seconds")
        self._keys = request_key, answer_key
        self._cache = Cache(check_whole("cache_size", cache_size, 1))

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
