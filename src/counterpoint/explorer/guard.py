"""Guard: who may ask the server, and how much; everything else never reaches a route.

The server listens on this computer only, but any page open in a browser here can send requests to
it. So each must carry the token that only the printed address has, name the server by its own
address (a foreign name that was made to resolve to this computer does not), and not come from a
page of another origin.
"""

from __future__ import annotations

import asyncio
import json
import math
import secrets
from collections.abc import Iterable, Mapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from counterpoint.errors import InvalidInput

MOST_BYTES = 1_000_000  # of a request: a wide row and a page of rules take a few thousand
MOST_SECONDS = 10.0  # until a request must have arrived
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
NOT_INVITED = (
    "this address lacks the token of this server, or has another's; open the whole address that "
    "counterpoint serve printed when it started."
)
NO_HOST = "this server answers to its own address on this computer only, such as {host}."
NO_ORIGIN = "this server takes no requests from pages of other origins."


class Guard:
    """Lets pass only requests that may ask, and puts the policy's headers on every answer.

    `token` is the secret of the address, `port` where the server listens. A request may have
    `most_bytes` and take `most_seconds` to arrive.
    """

    def __init__(
        self,
        app: ASGIApp,
        token: str,
        port: int,
        most_bytes: int = MOST_BYTES,
        most_seconds: float = MOST_SECONDS,
    ) -> None:
        self.app, self._token = app, token
        self._hosts = (f"127.0.0.1:{port}", f"localhost:{port}")
        self._cookie = f"counterpoint-{port}"  # cookies do not tell ports apart
        self._most_bytes, self._most_seconds = most_bytes, most_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        headers = {
            key.decode("latin-1"): value.decode("latin-1") for key, value in scope["headers"]
        }
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[-1]
        send = self._with_headers(send, is_new=self._is_token(given))
        if refusal := self._refusal(headers, given):
            await _refuse(send, *refusal)
            return
        try:
            body = await asyncio.wait_for(self._read(receive, headers), self._most_seconds)
        except TimeoutError:
            await _refuse(send, 408, "the request did not arrive in time.")
            return
        if body is None:
            most = f"{self._most_bytes:,}"
            await _refuse(send, 413, f"the request is larger than the {most} bytes allowed.")
            return
        await self.app(scope, _replayed(body, receive), send)

    def _refusal(self, headers: Mapping[str, str], given: str) -> tuple[int, str] | None:
        """Return why a request may not pass, if it may not."""
        host = headers.get("host", "")
        if host not in self._hosts:
            return 403, NO_HOST.format(host=self._hosts[0])
        if headers.get("origin", f"http://{host}") != f"http://{host}":
            return 403, NO_ORIGIN
        kept = _cookie_of(headers.get("cookie", ""), self._cookie)
        if not (self._is_token(given) or self._is_token(kept)):
            return 403, NOT_INVITED
        return None

    def _is_token(self, text: str) -> bool:
        """Whether a text is the token; how long the answer takes tells nothing of it."""
        return secrets.compare_digest(text.encode(), self._token.encode())

    def _with_headers(self, send: Send, *, is_new: bool) -> Send:
        """Return a way to answer with our headers, and with the cookie for who brings the token."""
        cookie = f"{self._cookie}={self._token}; Path=/; HttpOnly; SameSite=Strict"
        added = _encoded((HEADERS | {"set-cookie": cookie} if is_new else HEADERS).items())

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", []), *added]}
            await send(message)

        return answer

    async def _read(self, receive: Receive, headers: Mapping[str, str]) -> bytes | None:
        """Return the body of a request; None if it is too large."""
        length = headers.get("content-length", "0")
        if not length.isdecimal() or len(length) > 12 or int(length) > self._most_bytes:
            return None
        parts: list[bytes] = []
        is_more, size = True, 0
        while is_more:
            message = await receive()
            if message["type"] == "http.disconnect":
                break
            parts.append(message.get("body", b""))
            size, is_more = size + len(parts[-1]), message.get("more_body", False)
            if size > self._most_bytes:
                return None
        return b"".join(parts)


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Return a way to receive a body that was read, and then whatever comes."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return waiting.pop() if waiting else await receive()

    return receive_again


def _cookie_of(text: str, name: str) -> str:
    """Return one cookie's value, empty if there is none."""
    try:
        cookies = SimpleCookie(text)
    except CookieError:
        return ""
    return cookies[name].value if name in cookies else ""


def _encoded(headers: Iterable[tuple[str, Any]]) -> list[tuple[bytes, bytes]]:
    """Return headers as they travel."""
    return [(key.encode("latin-1"), value.encode("latin-1")) for key, value in headers]


async def _refuse(send: Send, status: int, text: str) -> None:
    """Answer with an error in words."""
    body = json.dumps({"error": text}).encode()
    headers = _encoded([("content-type", "application/json"), ("content-length", str(len(body)))])
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def read_object(body: bytes) -> dict[str, Any]:
    """Return the JSON object of a request."""
    try:
        value = json.loads(
            body, parse_constant=_no_value, parse_int=_whole_of, parse_float=_real_of
        )
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"the request must be JSON, but it cannot be read ({error}).") from error
    if not isinstance(value, dict):
        raise InvalidInput(f"the request must be a JSON object, got {type(value).__name__}.")
    return value


def _no_value(name: str) -> Any:
    """Refuse what Python takes for JSON and nobody else does."""
    raise ValueError(f"{name} is no value of JSON")


def _real_of(text: str) -> float:
    """Return a number that a double can hold."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"the number {text[:20]}... is beyond 1.8e308")
    return number


def _whole_of(text: str) -> int:
    """Return a whole number that a double can hold: nothing here counts further."""
    _real_of(text)
    return int(text)
