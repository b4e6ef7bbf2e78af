"""The application: routes, each a few lines over what the other modules do."""

from __future__ import annotations

import asyncio
import copy
import datetime
import json
import logging
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from html import escape
from importlib.resources import files
from typing import Any, TypeVar

from fastapi import FastAPI, Request
from fastapi.exceptions import HTTPException
from fastapi.responses import Response, StreamingResponse
from starlette.exceptions import HTTPException as StarletteHTTPException

from counterpoint.checks import check_choice
from counterpoint.errors import CounterpointError, InvalidInput, MissingDependency, TooBusyError
from counterpoint.explainer.explainer import Explainer
from counterpoint.explorer import requests
from counterpoint.explorer.sessions import SearchAnswer, Sessions, VisitorSession, events_of
from counterpoint.result.figures.plots import drawing_library
from counterpoint.result.report.page import script_json
from counterpoint.result.report.summary import title_of
from counterpoint.result.words import speaking, spoken_now, texts_of
from counterpoint.result.words.letters import customer_page, letter_page
from counterpoint.table.labels import LANGS, Lang

T = TypeVar("T")
LOG = logging.getLogger("counterpoint")
# The page's files under the paths they have in the package, so that they find each other.
FOLDERS = ("explorer/page", "result/report/page")
TYPES = {".js": "text/javascript", ".css": "text/css"}


@dataclass(frozen=True, kw_only=True)
class VisitorLimits:
    """What a visitor may take."""

    seconds: float = 60.0  # the longest search
    searches: int = 2  # searches at a time
    # seconds the model may take for a single prediction, and figures to be drawn
    patience: float = 60.0


@dataclass(frozen=True)
class Desk:
    """What the routes share: the explainer, the rows to pick from, and the visitors."""

    explainer: Explainer  # asked by several threads at once
    rows: requests.Rows  # the rows to pick from
    limits: VisitorLimits  # what a visitor may take
    first: dict[str, Any]  # the question the page starts with
    sessions: Sessions  # the visitors
    predictions: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(4))

    async def in_thread(self, function: Callable[..., T], *arguments: Any) -> T:
        """Run what asks the model beside the server's loop, for a limited time."""
        work = asyncio.to_thread(function, *arguments)
        try:
            return await asyncio.wait_for(work, self.limits.patience)
        except TimeoutError:
            raise HTTPException(
                503, f"this took longer than the {self.limits.patience:g} seconds allowed."
            ) from None

    async def setup(self) -> Response:
        """Return what the page is built from."""
        explainer, classes = self.explainer, self.explainer.classes
        called, lang = explainer.schema.labels.class_, spoken_now()
        return reply(
            {
                "features": requests.describe_features(explainer.schema),
                "classes": classes and [str(each) for each in classes],
                "class_labels": classes and [called(each, lang) for each in classes],
                "n_rows": len(self.rows),
                "per_page": requests.ROWS_PER_PAGE,
                "seconds": self.limits.seconds,
                "first": self.first,
                "row": requests.describe_row(self.rows, explainer, self.first["row"]),
            }
        )

    async def list_rows(self, request: Request) -> Response:
        """Return a page of rows."""
        sent = request.query_params
        start = whole(sent.get("start", "0"), 10**12, "start must be a whole number of at least 0")
        wanted = requests.RowsWanted(
            sent.get("find", ""),
            sent.get("where", ""),
            sent.get("sort", ""),
            sent.get("descending", "") == "1",
        )
        if sent.get("at"):  # the page that has this row, in their own order
            n = len(self.rows)
            row = whole(sent["at"], n, f"a row must be a number below {n}")
            start = row // requests.ROWS_PER_PAGE * requests.ROWS_PER_PAGE
        arguments = (self.rows, self.explainer, start, wanted)
        return reply(await self.in_thread(requests.describe_rows, *arguments))

    async def list_points(self, request: Request) -> Response:
        """Return rows as points over two features."""
        places = [self._place(request.query_params.get(name, "")) for name in "xy"]
        return reply(requests.describe_points(self.rows, *places))

    async def curve(self, request: Request) -> Response:
        """Return what the model says as one feature of a row changes."""
        sent = await sent_with(request)
        genome = requests.read_values(sent.get("values"), self.explainer.schema.features)
        place = self._place(str(sent.get("place")))
        async with self.predictions:
            return reply(await self.in_thread(requests.curve_of, self.explainer, genome, place))

    def _place(self, text: str) -> int:
        """Return which feature is meant by its place."""
        d = len(self.explainer.schema.features)
        return whole(text, d, f"a feature's place must be a whole number below {d}")

    async def predict(self, request: Request) -> Response:
        """Return what the model says of a row as it is edited."""
        sent = await sent_with(request)
        genome = requests.read_values(sent.get("values"), self.explainer.schema.features)
        async with self.predictions:
            said = await self.in_thread(requests.predict, self.explainer, genome)
        return reply(said)

    async def check(self, request: Request) -> Response:
        """Return what is wrong with each line of rules."""
        sent = await sent_with(request)
        return reply({"faults": requests.check_lines(sent.get("rules"), self.explainer)})

    async def open(self, request: Request) -> Response:
        """Begin a session, or go on with the one a page had before it was loaded again."""
        had = (await sent_with(request)).get("session")
        is_known = isinstance(had, str) and self.sessions.get(had) is not None
        return reply({"session": had if is_known else self.sessions.open()})

    def session(self, name: str) -> VisitorSession:
        """Return a session, or say that there is none of that name."""
        session = self.sessions.get(name)
        if session is None:
            raise HTTPException(404, "there is no such session; load the page again.")
        return session

    async def search(self, name: str, request: Request) -> Response:
        """Search, and send how it goes as events until it ends."""
        session = self.session(name)
        sent = await sent_with(request)
        question = requests.read_question(sent, self.explainer, self.rows, self.limits.seconds)
        running = self.sessions.start(session, question)
        budget = question.search.most_candidates

        async def stream() -> AsyncIterator[str]:
            async for kind, event in events_of(running, budget):
                yield f"event: {kind}\ndata: {json.dumps(event)}\n\n"

        return StreamingResponse(stream(), media_type="text/event-stream")

    async def cancel(self, name: str) -> Response:
        """Stop the session's search; its events end with what was found."""
        self.session(name).cancel()
        return reply({})

    async def questions(self, name: str) -> Response:
        """Return the questions of the session that were answered, the latest last."""
        return reply({"questions": [each.described() for each in self.session(name).answers]})

    async def result(self, name: str, request: Request) -> Response:
        """Return the session's latest result, or that of an earlier question."""
        return Response(self._answer(name, request).as_json(), media_type="application/json")

    async def figures(self, name: str, request: Request) -> Response:
        """Return the figures of a result of the session."""
        drawn = await self.in_thread(self._answer(name, request).figures)
        return Response(drawn, media_type="application/json")

    async def report(self, name: str, request: Request) -> Response:
        """Return a result of the session as a report to keep, one file of HTML."""
        answer, lang = self._answer(name, request), lang_of(request)
        reader = request.query_params.get("reader", "analyst")
        if reader == "customer":
            page = await self.in_thread(customer_page, answer.found, lang)
        else:
            page = await self.in_thread(
                answer.page, check_choice("reader", reader, READERS) and lang
            )
        kept = "".join(c if c.isascii() and c.isalnum() else "-" for c in title_of(answer.found))
        headers = {"content-disposition": f'attachment; filename="{kept}.html"'}
        return Response(page, media_type="text/html; charset=utf-8", headers=headers)

    async def letter(self, name: str, request: Request) -> Response:
        """Return the letter of a result of the session to its customer, in a language."""
        lang = lang_of(request)
        today = datetime.datetime.now(datetime.UTC).date()
        answer = self._answer(name, request)
        page = await self.in_thread(letter_page, answer.found, lang, ("", ""), today)
        headers = {"content-disposition": 'attachment; filename="letter.html"'}
        return Response(page, media_type="text/html; charset=utf-8", headers=headers)

    def _answer(self, name: str, request: Request) -> SearchAnswer:
        """Return the session's latest answer, or that of a number; say if there is none."""
        answers, text = self.session(name).answers, request.query_params.get("which", "")
        known = {str(answer.number): answer for answer in answers}
        if not answers:
            raise HTTPException(404, "nothing was searched in this session yet.")
        if text and text not in known:
            raise HTTPException(404, f"there is no answer {text} any more; ask again.")
        return known[text] if text else answers[-1]


def whole(text: str, below: int, expected: str) -> int:
    """Return a whole number from 0 on that a request names; say what was expected instead."""
    if not text.isdecimal() or len(text) > 12 or int(text) >= below:
        raise InvalidInput(f"{expected}, got {text!r}.")
    return int(text)


READERS = ("analyst", "customer")


def lang_of(request: Request) -> Lang:
    """Return the language that is asked for."""
    lang = request.query_params.get("lang", spoken_now())
    if lang not in LANGS:
        raise InvalidInput(f"lang must be one of {', '.join(LANGS)}, got {lang!r}.")
    return lang


def create_app(
    explainer: Explainer,
    rows: requests.Rows,
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
    desk = Desk(polite, rows, limits, question | (first or {}), sessions)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await asyncio.to_thread(sessions.close)

    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, lifespan=lifespan)
    app.state.desk = desk
    add_routes(app, desk)
    add_files(app, lang)
    for kind, answer in ((CounterpointError, tell_wrong), (StarletteHTTPException, tell_http)):
        app.add_exception_handler(kind, answer)
    app.add_exception_handler(Exception, tell_failure)
    app.add_middleware(Spoken, lang=lang)
    return app


class Spoken:
    """Lets all that answers a request speak one language."""

    def __init__(self, app: Any, lang: Lang) -> None:
        self.app, self.lang = app, lang

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request."""
        with speaking(self.lang):
            await self.app(scope, receive, send)


def add_routes(app: FastAPI, desk: Desk) -> None:
    """Give each path its route."""
    routes: list[tuple[str, str, Any]] = [
        ("GET", "/api/setup", desk.setup),
        ("GET", "/api/rows", desk.list_rows),
        ("GET", "/api/points", desk.list_points),
        ("POST", "/api/curve", desk.curve),
        ("POST", "/api/prediction", desk.predict),
        ("POST", "/api/rules", desk.check),
        ("POST", "/api/sessions", desk.open),
        ("POST", "/api/sessions/{name}/search", desk.search),
        ("POST", "/api/sessions/{name}/cancel", desk.cancel),
        ("GET", "/api/sessions/{name}/questions", desk.questions),
        ("GET", "/api/sessions/{name}/result", desk.result),
        ("GET", "/api/sessions/{name}/figures", desk.figures),
        ("GET", "/api/sessions/{name}/report", desk.report),
        ("GET", "/api/sessions/{name}/letter", desk.letter),
    ]
    for method, path, route in routes:
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
    for path, (text, kind) in texts.items():
        app.add_api_route(path, _file(text, kind), methods=["GET"], response_model=None)

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


def _file(text: str, kind: str) -> Callable[[], Any]:
    async def send() -> Response:
        return Response(text, media_type=f"{kind}; charset=utf-8")

    return send


async def sent_with(request: Request) -> dict[str, Any]:
    """Return the object a request holds; what cannot be read is 400, and a wrong value 422."""
    try:
        return requests.read_object(await request.body())
    except InvalidInput as error:
        raise HTTPException(400, str(error)) from error


def reply(value: Any, status: int = 200) -> Response:
    """Answer with a value as JSON, all of it ASCII: half a character of somebody's is no harm."""
    return Response(json.dumps(value, allow_nan=False), status, media_type="application/json")


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
