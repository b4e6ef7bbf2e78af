"""The explorer on a port of this computer: its pages, and who may ask it and how much.

The server listens on this computer only, but any page open in a browser here can send requests to
it. So each must carry the token that only the printed address has, name the server by its own
address (a foreign name that was made to resolve to this computer does not), and not come from a
page of another origin. Everything else never reaches a route.
"""

from __future__ import annotations

import asyncio
import copy
import json
import re
import secrets
import socket
import sys
import threading
import webbrowser
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from html import escape
from http.cookies import CookieError, SimpleCookie
from importlib.resources import files
from typing import Any, ClassVar
from urllib.parse import parse_qs

import pandas as pd
import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import Response
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from counterpoint.checks import check_choice
from counterpoint.errors import CounterpointError, InvalidInput, MissingDependency, TooBusyError
from counterpoint.explainer.explainer import Explainer
from counterpoint.explorer.requests import Rows
from counterpoint.explorer.sessions import LOG, Routes, Sessions, VisitorLimits, reply
from counterpoint.result.figures.plots import drawing_library
from counterpoint.result.report.page import script_json
from counterpoint.result.words import speaking, texts_of
from counterpoint.table.labels import LANGS, Lang

# The page's files under the paths they have in the package, so that they find each other.
FOLDERS = ("explorer/page", "result/report/page")
TYPES = {".js": "text/javascript", ".css": "text/css"}

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
    return [(key.encode("latin-1"), value.encode("latin-1")) for key, value in headers]


async def _refuse(send: Send, status: int, text: str) -> None:
    """Answer with an error in words."""
    body = json.dumps({"error": text}).encode()
    headers = _encoded([("content-type", "application/json"), ("content-length", str(len(body)))])
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def create_app(
    explainer: Explainer,
    rows: Rows,
    *,
    limits: VisitorLimits | None = None,
    first: dict[str, Any] | None = None,
    lang: Lang = "en",
) -> FastAPI:
    """Return the application, which a `Guard` has to stand before.

    A model that does not bear several threads is asked in turns. `first` is the question the page
    starts with: row, target, fixed, rules, max_changed, seed.
    """
    limits, polite = limits or VisitorLimits(), copy.copy(explainer)
    polite.predictor = explainer.predictor.taking_turns()
    sessions = Sessions(polite, limits.searches)
    question = {"row": 0, "target": "", "fixed": [], "rules": [], "max_changed": None, "seed": 0}
    routes = Routes(polite, rows, limits, question | (first or {}), sessions)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await asyncio.to_thread(sessions.close)

    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, lifespan=lifespan)
    app.state.routes = routes
    add_routes(app, routes)
    add_files(app, lang)
    for kind, answer in ((CounterpointError, tell_wrong), (StarletteHTTPException, tell_http)):
        app.add_exception_handler(kind, answer)
    app.add_exception_handler(Exception, tell_failure)
    app.add_middleware(LanguageMiddleware, lang=lang)
    return app


class LanguageMiddleware:
    """Has every request answered in one language."""

    def __init__(self, app: Any, lang: Lang) -> None:
        self.app, self.lang = app, lang

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request."""
        with speaking(self.lang):
            await self.app(scope, receive, send)


def add_routes(app: FastAPI, routes: Routes) -> None:
    """Give each path its route."""
    paths: list[tuple[str, str, Any]] = [
        ("GET", "/api/setup", routes.setup),
        ("GET", "/api/rows", routes.list_rows),
        ("GET", "/api/points", routes.list_points),
        ("POST", "/api/curve", routes.curve),
        ("POST", "/api/prediction", routes.predict),
        ("POST", "/api/rules", routes.check),
        ("POST", "/api/sessions", routes.open),
        ("POST", "/api/sessions/{name}/search", routes.search),
        ("POST", "/api/sessions/{name}/cancel", routes.cancel),
        ("GET", "/api/sessions/{name}/questions", routes.questions),
        ("GET", "/api/sessions/{name}/result", routes.result),
        ("GET", "/api/sessions/{name}/figures", routes.figures),
        ("GET", "/api/sessions/{name}/report", routes.report),
        ("GET", "/api/sessions/{name}/letter", routes.letter),
    ]
    for method, path, route in paths:
        app.add_api_route(path, route, methods=[method], response_model=None)


def add_files(app: FastAPI, lang: Lang) -> None:
    """Serve the page, our modules and styles, and the library that draws; nothing else."""
    package = files("counterpoint")
    texts = {
        f"/{folder}/{file.name}": (file.read_text("utf-8"), TYPES["." + file.name.split(".")[-1]])
        for folder in FOLDERS
        for file in package.joinpath(folder).iterdir()
        if file.name.endswith(tuple(TYPES))
    }
    page = package.joinpath("explorer/page/explorer.html").read_text("utf-8")
    texts["/"] = (filled(page, lang), "text/html")

    async def file(request: Request) -> Response:
        text, kind = texts[request.scope["path"]]
        return Response(text, media_type=f"{kind}; charset=utf-8")

    for path in texts:
        app.add_api_route(path, file, methods=["GET"], response_model=None)

    async def library() -> Response:
        try:
            text = await asyncio.to_thread(drawing_library)
        except MissingDependency:
            text = ""
        return Response(text, media_type="text/javascript")

    app.add_api_route("/library.js", library, methods=["GET"], response_model=None)


def filled(page: str, lang: Lang) -> str:
    """Return the page in a language: its few texts, and all others as data for its modules."""
    texts = {key: escape(text) for key, text in texts_of(lang).items()}
    parts = texts | {"lang": lang, "texts": script_json(texts_of(lang))}
    return re.sub(r"\{([a-z. ]+)\}", lambda match: parts[match[1]], page)


async def tell_wrong(_: Request, error: Exception) -> Response:
    """Answer with our own message."""
    return reply({"error": str(error)}, 429 if isinstance(error, TooBusyError) else 422)


async def tell_http(_: Request, error: Exception) -> Response:
    """Answer with what a route or the router says."""
    assert isinstance(error, StarletteHTTPException)
    return reply({"error": str(error.detail)}, error.status_code)


async def tell_failure(_: Request, error: Exception) -> Response:
    """Say that something is wrong with the server, and what only in its log."""
    LOG.error("a request failed", exc_info=error)
    return reply({"error": "the server failed; its log says how."}, 500)


HOST = "127.0.0.1"
GRACE = 2  # seconds that open requests have when the server ends
MOST_SILENT = 100  # connections that have not said what they want; a browser opens six


class TimedProtocol(H11Protocol):
    """A connection that is closed if the head of its request does not arrive in time.

    The guard sees a request only when its head is whole. Until then a connection takes a place
    among a limited number, and the oldest makes room.
    """

    seconds: ClassVar[float] = MOST_SECONDS
    silent: ClassVar[dict[TimedProtocol, asyncio.TimerHandle]]  # the oldest first

    @classmethod
    def of_one_server(cls) -> type[TimedProtocol]:
        """Return the protocol with a list of connections of its own."""
        return type(cls.__name__, (cls,), {"silent": {}})

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Take what arrives; a request whose head is whole is waited for no longer."""
        before = self.cycle
        super().data_received(data)
        if self.cycle is not before:
            self._forget()
        elif (before is None or before.response_complete) and self not in self.silent:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Note that it is gone."""
        self._forget()
        super().connection_lost(exc)

    def _wait(self) -> None:
        """Close it later, and the oldest now if there are too many."""
        self.silent[self] = self.loop.call_later(self.seconds, self._give_up)
        if len(self.silent) > MOST_SILENT:
            next(iter(self.silent))._give_up()

    def _forget(self) -> None:
        if (timer := self.silent.pop(self, None)) is not None:
            timer.cancel()

    def _give_up(self) -> None:
        self._forget()
        self.transport.close()


class Explorer:
    """The explorer of one explainer, bound to a port.

    `data` have the labels of the rows; `rows` are others to pick from. Port 0 takes any free one.
    `address` says where to find it, with its token; `app` is the guarded application.
    """

    def __init__(
        self,
        explainer: Explainer,
        data: pd.DataFrame,
        rows: pd.DataFrame | None = None,
        *,
        port: int = 0,
        limits: VisitorLimits | None = None,
        first: dict[str, Any] | None = None,
        lang: Lang = "en",
    ) -> None:
        self._socket = bound(port)
        port, token = self._socket.getsockname()[1], secrets.token_urlsafe(24)
        self.address = f"http://{HOST}:{port}/?token={token}"
        pickable = Rows.of(explainer, data, rows)
        app = create_app(explainer, pickable, limits=limits, first=first, lang=lang)
        self.app = Guard(app, token, port)
        config = uvicorn.Config(
            self.app,
            http=TimedProtocol.of_one_server(),
            log_level="critical",  # what fails is in our own log; what ends with it is no failure
            access_log=False,  # it would keep the token
            timeout_graceful_shutdown=GRACE,
            server_header=False,
        )
        self._server = uvicorn.Server(config)

    def run(self) -> None:
        """Serve until Ctrl-C or `stop`."""
        self._server.run(sockets=[self._socket])

    def stop(self) -> None:
        """End serving; may be called from another thread."""
        self._server.should_exit = True


def serve_model(
    explainer: Explainer, rows: pd.DataFrame | None, port: int, lang: Lang, *, opens: bool
) -> None:
    """Serve a model in memory; its rows are numbered unless others are given."""
    check_choice("lang", lang, LANGS)
    data = pd.DataFrame(index=pd.RangeIndex(len(explainer.observed.genomes)))
    serve_until_ended(Explorer(explainer, data, rows, port=port, lang=lang), opens=opens)


def bound(port: int) -> socket.socket:
    """Return a socket bound to a port of this computer only."""
    if not 0 <= port <= 65535:
        raise InvalidInput(f"--port must lie between 0 and 65535, got {port}; 0 takes a free one.")
    try:
        return socket.create_server((HOST, port))
    except OSError as error:
        raise InvalidInput(
            f"--port {port} cannot be used ({error.strerror}); choose another, or 0 for a free one."
        ) from error


def serve_until_ended(explorer: Explorer, *, opens: bool = False) -> None:
    """Tell the address and serve until Ctrl-C; with `opens` a browser is sent there."""
    sys.stdout.write(f"The explorer is at {explorer.address}\nCtrl-C ends it.\n")
    sys.stdout.flush()
    if opens:
        threading.Timer(0.5, webbrowser.open, [explorer.address]).start()
    try:
        explorer.run()
    except KeyboardInterrupt:  # uvicorn passes it on when it is done
        sys.stdout.write("\n")
