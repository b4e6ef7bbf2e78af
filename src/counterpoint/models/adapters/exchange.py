"""One exchange with a service: JSON goes there by POST, JSON comes back, or a reason why not."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple
from urllib.parse import SplitResult, urlsplit

from counterpoint.errors import InvalidInput

MOST_BYTES = 64 * 2**20  # of one answer: a service gone wild must not fill the memory
MOST_TOLD = 200  # bytes of what a service says about an error
MAY_PASS = (408, 425, 429)  # of the client's errors, those that are about the moment


class Failure(Exception):  # noqa: N818 - it is caught and tried again, not shown
    """An exchange that brought no answer.

    Parameters
    ----------
    reason : str
        What happened, as the end of a sentence.
    is_final : bool, default=False
        Whether trying again cannot help.
    wait : float, default=0.0
        How many seconds the service asked to be left alone.
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
