"""Sessions: what each visitor asked and found, and the searches that run for all of them.

A search explains one row, reports its progress, and starts from an earlier result if that helps.
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
from collections.abc import AsyncIterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from counterpoint.errors import CounterpointError, MissingDependency, TooBusyError
from counterpoint.explainer.explainer import Explainer
from counterpoint.explainer.task import Task, Work, explain_group, rows_as_given
from counterpoint.explorer.requests import SearchRequest, is_same
from counterpoint.problem.objectives import GAP
from counterpoint.problem.problem import Problem, Recalled
from counterpoint.progress import Watch
from counterpoint.result.counterfactuals import Counterfactuals
from counterpoint.result.report.page import draw_figures, report_page, summarise
from counterpoint.result.words import spoken_now
from counterpoint.result.words.sentences import target_text
from counterpoint.search.archive import Archive
from counterpoint.table.labels import Lang


def search_row(
    explainer: Explainer,
    question: SearchRequest,
    watch: Watch,
    earlier: Counterfactuals | None = None,
) -> Counterfactuals:
    """Return what `explain` would; with an earlier result, start from what it found.

    It helps if that is of the same row and about the same output. `watch` hears how it goes, and
    tells it to stop.
    """
    frame = explainer.encoding.decode(question.genome.copy())
    frame.index = pd.Index([question.label])
    task = Task.of(
        frame, "row", question.target, question.search, question.seed, question.limits, explainer
    )
    problem = Work(explainer, task).problem(np.array([0]))
    problem = replace(problem, recalled=recalled_from(earlier, problem))
    row = rows_as_given(task, np.zeros(1, dtype=np.int64), explainer.encoding)[0]
    with explainer.predictor.one_thread():
        return explain_group(problem, task.search, task.seed, [row], watch)[0]


def recalled_from(earlier: Counterfactuals | None, problem: Problem) -> Recalled | None:
    """Return the counterfactuals of an earlier result of the same row, about the same output."""
    if earlier is None or not len(earlier):
        return None
    if not np.array_equal(earlier.genome, problem.rows[0]):
        return None
    old, new = earlier.target, problem.targets[0]
    if (old.column, old.wanted) != (new.column, new.wanted):
        return None
    return Recalled(earlier.genomes, earlier.scores)


MOST_SESSIONS = 64  # the one not seen for longest makes room
MOST_ANSWERS = 8  # of one visitor; the oldest makes room
MOST_WAITING = 8  # searches that wait for a thread
LOG = logging.getLogger("counterpoint")
PAUSE = 0.15  # seconds between two reports of progress


class SearchAnswer:
    """A result and what the page shows of it, figures drawn when first asked for."""

    def __init__(self, found: Counterfactuals, question: SearchRequest, number: int = 1) -> None:
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
        question = self.question.sent
        answer = {"summary": self.summary, "question": question, "number": self.number}
        return json.dumps(answer, allow_nan=False).encode()

    def drawings(self, lang: Lang = "en") -> dict[str, Any] | None:
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

    def page(self, lang: Lang = "en") -> str:
        """Return the report to keep, in a language."""
        now = datetime.datetime.now(datetime.UTC)
        return report_page(self.found, now, self.drawings(lang), lang=lang)


class Running:
    """A search on its way: how far it is, and how it is stopped."""

    def __init__(self) -> None:
        self.watch = Watch(self._hear, self._see)
        self.future: Future[SearchAnswer] | None = None
        self.n_asked = self.n_found = self.n_members = 0
        self._start: float | None = None

    def begin(self) -> None:
        """Note that a thread has taken it up."""
        self._start = time.monotonic()

    def _hear(self, n_asked: int, n_ended: int) -> None:  # noqa: ARG002 - as `Watch` calls it
        self.n_asked += n_asked

    def _see(self, archive: Archive) -> None:
        members = archive.members[0, : archive.n_members[0]]
        self.n_members = len(members)
        self.n_found = int(np.count_nonzero(archive.objectives[0, members, GAP] <= 0.0))

    def progress(self, budget: int) -> dict[str, Any]:
        """Return how far it is."""
        is_waiting = self._start is None
        return {
            "is_waiting": is_waiting,
            "is_stopping": self.watch.is_stopped,
            "evaluations": self.n_asked,
            "budget": budget,
            "found": self.n_found,
            "elapsed": 0.0 if self._start is None else round(time.monotonic() - self._start, 2),
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
        running.begin()
        earlier = earlier_of(session, question)
        found = search_row(self.explainer, question, running.watch, earlier)
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


def earlier_of(session: VisitorSession, question: SearchRequest) -> Counterfactuals | None:
    """Return what a search starts from: the session's answer to another question, if it may.

    The same question is searched from scratch, so that asking twice gives the same answer.
    """
    answer = session.answers[-1] if session.answers else None
    if (
        answer is None
        or question.sent.get("afresh")
        or is_same(answer.question.sent, question.sent)
    ):
        return None
    return answer.found


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
