"""Sessions: what each visitor asked and found, the searches that run for all, and the routes.

A search reports its progress, and starts from an earlier result if that helps. Each route is a few
lines over what sessions and `requests` do.
"""

from __future__ import annotations

import asyncio
import datetime
import json
import logging
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from fastapi import Request
from fastapi.exceptions import HTTPException
from fastapi.responses import Response, StreamingResponse

from counterpoint.checks import check_choice
from counterpoint.errors import CounterpointError, InvalidInput, MissingDependency, TooBusyError
from counterpoint.explainer.explainer import Explainer
from counterpoint.explorer import requests
from counterpoint.explorer.requests import SearchRequest, is_same, search_row
from counterpoint.problem.objectives import GAP
from counterpoint.progress import Watch
from counterpoint.result.counterfactuals import Counterfactuals
from counterpoint.result.figures.plots import draw_figures
from counterpoint.result.report.page import customer_page, letter_page, report_page, summarise
from counterpoint.result.report.summary import title_of
from counterpoint.result.words import spoken_now
from counterpoint.result.words.sentences import target_text
from counterpoint.search.archive import Archive
from counterpoint.table.labels import LANGS, Lang

T = TypeVar("T")

MOST_SESSIONS = 64  # the one not seen for longest makes room
MOST_ANSWERS = 8  # of one visitor; the oldest makes room
MOST_WAITING = 8  # searches that wait for a thread
LOG = logging.getLogger("counterpoint")
PAUSE = 0.15  # seconds between two reports of progress


class SearchAnswer:
    """A result and what the page shows of it, figures drawn when first asked for."""

    def __init__(self, found: Counterfactuals, question: SearchRequest, number: int) -> None:
        self.found, self.question, self.number = found, question, number
        self.summary = summarise(found, datetime.datetime.now(datetime.UTC), spoken_now())
        self._lock = threading.Lock()
        self._drawings: dict[Lang, dict[str, Any]] = {}

    def described(self) -> dict[str, Any]:
        """Return the question and its answer in a line."""
        return {
            "number": self.number,
            "label": self.question.label,
            "target": target_text(self.found),
            "n_found": int(self.found.reaches.sum()),
        }

    def as_json(self) -> bytes:
        """Return the summary and the question as the page reads them."""
        answer = {"summary": self.summary, "question": self.question.sent, "number": self.number}
        return json.dumps(answer, allow_nan=False).encode()

    def drawings(self, lang: Lang) -> dict[str, Any] | None:
        """Return the figures as `draw_figures` does; None where nothing is installed to draw."""
        with self._lock:
            if lang not in self._drawings:
                try:
                    self._drawings[lang] = draw_figures(self.found, lang)
                except MissingDependency:
                    return None
            return self._drawings[lang]

    def figures(self) -> bytes:
        """Return the figures as the page reads them."""
        drawings = self.drawings(spoken_now())
        return json.dumps({"figures": drawings["figures"] if drawings else []}).encode()

    def page(self, lang: Lang) -> str:
        """Return the report to keep, in a language."""
        now = datetime.datetime.now(datetime.UTC)
        return report_page(self.found, now, self.drawings(lang), lang=lang)


class Running:
    """A search on its way: how far it is, and how it is stopped."""

    def __init__(self) -> None:
        self.watch = Watch(self._hear, self._see)
        self.future: Future[SearchAnswer] | None = None
        self.n_asked = self.n_found = 0
        self.start: float | None = None  # when a thread took it up

    def _hear(self, n_asked: int, n_ended: int) -> None:  # noqa: ARG002 - as `Watch` calls it
        self.n_asked += n_asked

    def _see(self, archive: Archive) -> None:
        members = archive.members[0, : archive.n_members[0]]
        self.n_found = int(np.count_nonzero(archive.objectives[0, members, GAP] <= 0.0))

    def progress(self, budget: int) -> dict[str, Any]:
        """Return how far it is."""
        return {
            "is_waiting": self.start is None,
            "is_stopping": self.watch.is_stopped,
            "evaluations": self.n_asked,
            "budget": budget,
            "found": self.n_found,
            "elapsed": 0.0 if self.start is None else round(time.monotonic() - self.start, 2),
        }


class VisitorSession:
    """One visitor's latest answers and running search."""

    def __init__(self) -> None:
        self.answers: list[SearchAnswer] = []
        self.running: Running | None = None

    def cancel(self) -> None:
        """Stop the running search, if there is one; it ends with the best so far."""
        if self.running is not None:
            self.running.watch.stop()


class Sessions:
    """All visitors, and the threads that search for them.

    `n_searches` run at a time; others wait.
    """

    def __init__(self, explainer: Explainer, n_searches: int) -> None:
        self.explainer = explainer
        self._pool = ThreadPoolExecutor(n_searches, thread_name_prefix="counterpoint-search")
        self._most = n_searches + MOST_WAITING
        self._sessions: OrderedDict[str, VisitorSession] = OrderedDict()
        self._lock = threading.Lock()
        self._active: set[Running] = set()

    def open(self) -> str:
        """Begin a session; return its name."""
        name = secrets.token_urlsafe(12)
        with self._lock:
            self._sessions[name] = VisitorSession()
            while len(self._sessions) > MOST_SESSIONS:
                self._sessions.popitem(last=False)[1].cancel()
        return name

    def get(self, name: str) -> VisitorSession | None:
        """Return a session by its name, if it is still there."""
        with self._lock:
            if name in self._sessions:
                self._sessions.move_to_end(name)
            return self._sessions.get(name)

    def start(self, session: VisitorSession, question: SearchRequest) -> Running:
        """Begin a search; an earlier one of the session is stopped, unless there is no room."""
        running = Running()
        with self._lock:
            if len(self._active) >= self._most:
                raise TooBusyError(
                    f"{len(self._active)} searches are running or waiting, which is all this "
                    "server takes; try again when some are done."
                )
            self._active.add(running)
        session.cancel()
        session.running = running
        search = copy_context().run  # in the language of the page
        running.future = self._pool.submit(search, self._search, session, question, running)
        running.future.add_done_callback(lambda _: self._end(session, running))
        return running

    def _search(
        self, session: VisitorSession, question: SearchRequest, running: Running
    ) -> SearchAnswer:
        """Search, keep the answer in the session, and return it."""
        running.start = time.monotonic()
        last = session.answers[-1] if session.answers else None
        # The same question is searched from scratch, so that asking twice gives the same answer.
        if last and (question.sent.get("afresh") or is_same(last.question.sent, question.sent)):
            last = None
        found = search_row(self.explainer, question, running.watch, last.found if last else None)
        number = session.answers[-1].number + 1 if session.answers else 1
        answer = SearchAnswer(found, question, number)
        if session.running is running:  # else the visitor has asked something else meanwhile
            session.answers = [*session.answers, answer][-MOST_ANSWERS:]
        return answer

    def _end(self, session: VisitorSession, running: Running) -> None:
        """Note that a search has ended, however it did."""
        with self._lock:
            self._active.discard(running)
        if session.running is running:
            session.running = None

    def close(self) -> None:
        """Stop everything."""
        with self._lock:
            active = list(self._active)
        for running in active:
            running.watch.stop()
        self._pool.shutdown(wait=True, cancel_futures=True)


async def events_of(running: Running, budget: int) -> AsyncIterator[tuple[str, dict[str, Any]]]:
    """Yield how a search goes until it ends: progress, then done or failed.

    Who stops listening stops the search.
    """
    assert running.future is not None
    ended = asyncio.wrap_future(running.future)
    ended.add_done_callback(lambda each: each.cancelled() or each.exception())  # seen, if unasked
    try:
        while not ended.done():
            yield "progress", running.progress(budget)
            await asyncio.wait({ended}, timeout=PAUSE)
        yield "progress", running.progress(budget)
        yield _ending(ended)
    finally:
        running.watch.stop()


def _ending(ended: asyncio.Future[SearchAnswer]) -> tuple[str, dict[str, Any]]:
    """Return the last event of a search."""
    if ended.cancelled():
        return "failed", {"error": "the search was given up before it began."}
    error = ended.exception()
    if isinstance(error, CounterpointError):
        return "failed", {"error": str(error)}
    if error is not None:
        LOG.error("a search failed", exc_info=error)
        return "failed", {"error": "the search failed; the server's log says how."}
    found = ended.result().found
    return "done", {"status": found.status, "stopped": found.stopped, "n_found": len(found)}


@dataclass(frozen=True, kw_only=True)
class VisitorLimits:
    """What a visitor may take."""

    seconds: float = 60.0  # the longest search
    searches: int = 2  # searches at a time
    # seconds the model may take for a single prediction, and figures to be drawn
    patience: float = 60.0


@dataclass(frozen=True)
class Routes:
    """The routes, which share the explainer, the rows to pick from, and the visitors."""

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
            return reply(await self.in_thread(requests.predict, self.explainer, genome))

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
        if (session := self.sessions.get(name)) is None:
            raise HTTPException(404, "there is no such session; load the page again.")
        return session

    async def search(self, name: str, request: Request) -> Response:
        """Search, and send how it goes as events until it ends."""
        session = self.session(name)
        sent = await sent_with(request)
        question = requests.read_question(sent, self.explainer, self.rows, self.limits.seconds)
        running = self.sessions.start(session, question)

        async def stream() -> AsyncIterator[str]:
            async for kind, event in events_of(running, question.search.most_candidates):
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
        reader = check_choice("reader", request.query_params.get("reader", "analyst"), READERS)
        asked: Any = (customer_page, answer.found) if reader == "customer" else (answer.page,)
        page = await self.in_thread(*asked, lang)
        kept = "".join(c if c.isascii() and c.isalnum() else "-" for c in title_of(answer.found))
        return kept_page(page, kept)

    async def letter(self, name: str, request: Request) -> Response:
        """Return the letter of a result of the session to its customer, in a language."""
        lang = lang_of(request)
        today = datetime.datetime.now(datetime.UTC).date()
        answer = self._answer(name, request)
        page = await self.in_thread(letter_page, answer.found, lang, ("", ""), today)
        return kept_page(page, "letter")

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


def kept_page(page: str, name: str) -> Response:
    """Answer with a page that a browser saves under a name."""
    headers = {"content-disposition": f'attachment; filename="{name}.html"'}
    return Response(page, media_type="text/html; charset=utf-8", headers=headers)


async def sent_with(request: Request) -> dict[str, Any]:
    """Return the object a request holds; what cannot be read is 400, and a wrong value 422."""
    try:
        return requests.read_object(await request.body())
    except InvalidInput as error:
        raise HTTPException(400, str(error)) from error


def reply(value: Any, status: int = 200) -> Response:
    """Answer with a value as JSON, all in ASCII, so that broken Unicode in a text does no harm."""
    return Response(json.dumps(value, allow_nan=False), status, media_type="application/json")
