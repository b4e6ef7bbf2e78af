"""Processes: groups of rows searched in other processes, where threads wait for Python's lock.

Threads share everything and begin at once, and of slow models they fill all cores. Beside a fast
model most of a search is Python, which one thread at a time may run. So a call begins with threads;
if seconds of work are left and the threads are seen to wait for each other, or if the model bears
one thread only, other processes are started and take groups as soon as they are ready. What is
found for a row does not depend on who searches it.

Each process builds an explainer of its own from the pickle of this one. What cannot be pickled is
searched here. They are started as plain interpreters, which import nothing of the caller's script,
share no state with this process, and end with it.
"""

from __future__ import annotations

import gc
import logging
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from contextlib import closing
from dataclasses import fields, replace
from typing import Any, Literal, NamedTuple, Self

import numpy as np

from counterpoint.arrays import Ints
from counterpoint.errors import CounterpointError, PredictorError, told_by
from counterpoint.explainer.building import Built
from counterpoint.explainer.group import GIB, Meter, can_start
from counterpoint.explainer.task import Work, rows_as_given, search_again
from counterpoint.models.files import pickled
from counterpoint.progress import Channel, Watch
from counterpoint.result.counterfactuals import Counterfactuals
from counterpoint.result.facts import Live

BEGINS_AFTER = 0.5  # seconds of work in this process before others are started
IS_WORTH = 4.0  # seconds of work that must be left then: a process is ready after one or two
GETS_READY = 5.0  # seconds for which a thread leaves its core to a process that gets ready
BETWEEN = 0.2  # seconds between two reports of progress
LEAVING = 1.0  # seconds a process has to end
CODE = "import sys; from counterpoint.explainer.processes import serve; serve(int(sys.argv[1]))"
Handle = Literal["met", "plain", "labels", "other"]  # which problem a result asks when it is used


class Sent(NamedTuple):
    """A result on its way to another process: without what is there, too."""

    values: dict[str, Any]  # its fields, without the row, model and data
    handle: Handle

    @classmethod
    def of(cls, found: Counterfactuals, built: Built, asks_labels: bool) -> Sent:
        """Take a result apart."""
        values = {each.name: getattr(found, each.name) for each in fields(found)}
        live = values.pop("live")
        del values["encoding"], values["row"]
        handle: Handle = "plain"
        if live.again is None:
            handle = "met"
        elif live.problem.predictor is not built.predictor:
            handle = "other"
        elif live.problem.asks_labels and not asks_labels:
            handle = "labels"
        return cls(values, handle)


def taken_apart(results: list[Counterfactuals], work: Work, group: Ints) -> list[Sent]:
    """Take the results of a group apart, for a process that has model and data, too."""
    asks_labels = work.problem(group[:1]).asks_labels
    return [Sent.of(found, work.built, asks_labels) for found in results]


def put_together(sent: list[Sent], work: Work, group: Ints) -> list[Counterfactuals]:
    """Put results together again, with the model, the data and the rows of this process.

    Of the few for which a quick way to ask the model was not believed, the row is searched here.
    """
    (built, task), problem, results = work, work.problem(group), list[Counterfactuals]()
    rows = rows_as_given(task, group, built.encoding)
    for a, (values, handle) in enumerate(sent):
        if handle == "other":
            results += work.search(group[[a]], Watch())
            continue
        one = problem.alone(np.array([a]))
        if handle == "met":
            live = Live(replace(one, predictor=one.predictor.own))
        else:
            again = search_again(one, task.seed, rows[a])
            live = Live(replace(one, asks_labels=True) if handle == "labels" else one, again)
        own: Any = {"encoding": built.encoding, "row": rows[a], "live": live}
        results.append(Counterfactuals(**own, **values))
    return results


class Helper:
    """A process that searches groups, and what this one says to it."""

    def __init__(self) -> None:
        self._turn = threading.Lock()  # held by who waits for an answer
        self._channel, theirs = Channel.pair()
        with closing(theirs):
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and code
                [sys.executable, "-c", CODE, str(theirs.number)],
                env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, sys.path))},
                pass_fds=[theirs.number],
                stdin=subprocess.DEVNULL,
                process_group=0,  # a Ctrl-C of the terminal is for this process to handle
            )

    def get_ready(self, packed: bytes) -> None:
        """Hand over the pickle of the `Work`, and wait until the explainer is built there."""
        with self._turn:
            self._channel.send_packed(packed)
            if reason := self._channel.receive():
                raise OSError(reason)

    def search(self, portion: Any, watch: Watch) -> Any:
        """Return what the process finds for a portion; what it hears and warns of is told here."""
        with self._turn:
            self._channel.send(portion)
            while True:
                while not self._channel.has_message(BETWEEN):
                    if watch.is_stopped:
                        self.stop()
                kind, content = self._channel.receive()
                if kind == "heard":
                    watch.hear(*content)
                elif kind == "warned":
                    warnings.warn(content, stacklevel=2)
                elif kind == "failed":
                    raise content
                else:
                    return content
                if watch.is_stopped:
                    self.stop()

    def stop(self) -> None:
        """Ask the process to end its searches with the best so far."""
        self._channel.send(None)

    def close(self) -> None:
        """End the process, whatever it does; who waits for it is told by the end of the channel."""
        self._process.terminate()
        try:
            self._process.wait(LEAVING)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._channel.end()
        with self._turn:
            self._channel.close()


class Helpers:
    """Starts processes that help with some work; each is reported as soon as it is ready.

    They are sent the `work`, whose `search` does a portion of it, given one and a watch; told to
    stop, it starts no other process. `data_bytes` are what each holds of the data, as far as the
    pickle does not tell. Of the `memory` in GiB half is for the copies of model and data. `welcome`
    is told of each process that is ready.
    """

    def __init__(
        self,
        work: Any,
        n: int,
        data_bytes: int,
        memory: float,
        watch: Watch,
        welcome: Callable[[Helper], None],
    ) -> None:
        self._work, self._n, self._watch, self._welcome = work, n, watch, welcome
        self._data_bytes, self._memory = data_bytes, memory
        self._lock = threading.Lock()
        self._begun: list[Helper] = []  # to be ended, ready or not
        self._n_awaited, self._start = 0, 0.0

    @property
    def are_awaited(self) -> bool:
        """Whether one is getting ready, and should not have to share its core with a thread."""
        return self._n_awaited > 0 and time.monotonic() < self._start + GETS_READY

    def start(self) -> None:
        """Start the processes while others work; note what is in the way."""
        self._n_awaited, self._start = self._n, time.monotonic()
        threading.Thread(target=self._start_all, daemon=True).start()

    def _start_all(self) -> None:
        """Start the processes, each by a thread that waits for it."""
        try:
            packed = pickled(self._work, "what is asked", "so it is searched in this process")
        except CounterpointError as error:
            self._refuse(str(error).removesuffix("."))
            return
        needed = self._n * (len(packed) + self._data_bytes) / GIB
        if needed > self._memory / 2:
            self._refuse(f"copies of the data would take {needed:.2g} GiB")
            return
        for _ in range(self._n):
            threading.Thread(target=self._start_one, args=(packed,), daemon=True).start()

    def _refuse(self, reason: str) -> None:
        """Start no process, and say why."""
        self._n_awaited = 0
        _note(f"no other process helps: {reason}")

    def _start_one(self, packed: bytes) -> None:
        """Start a process and report it once it is ready."""
        try:
            with self._lock:
                if self._watch.is_stopped:
                    return
                self._begun.append(helper := Helper())
            helper.get_ready(packed)
        except (EOFError, OSError) as error:
            if not self._watch.is_stopped:
                _note(f"no other process helps: {error or 'it ended'}")
        else:
            self._welcome(helper)
        finally:
            with self._lock:
                self._n_awaited -= 1

    def close(self) -> None:
        """End all processes; no other is started once the watch was told to stop."""
        with self._lock:
            for helper in self._begun:
                helper.close()


class Searchers:
    """Searches groups for several threads: here, or in processes as soon as there are some.

    This process searches `most_here` of the groups at a time: 1 if the model bears no threads, and
    while other processes get ready, for which a thread leaves its core. Of the `memory` in GiB half
    is for the copies of model and data.
    """

    def __init__(
        self, work: Work, workers: int, most_here: int, memory: float, watch: Watch
    ) -> None:
        self._work, self._watch, n_bytes = work, watch, 2 * work.built.observed.genomes.nbytes
        self._workers, self._most_here = workers, most_here
        self._helpers = Helpers(work, workers - 1, n_bytes, memory, watch, self._welcome)
        self._changed = threading.Condition()
        self._idle: list[Helper] = []
        self._n_here = self._n_ready = self._n_begun = 0
        self._is_decided = workers == 1 or not can_start()
        self._meter = Meter()

    def __call__(self, group: Ints) -> list[Counterfactuals]:
        """Search a group wherever there is room; return when it is done."""
        with self._changed:
            self._n_begun += len(group)
        return self._searched(group)

    def _searched(self, group: Ints) -> list[Counterfactuals]:
        """Search a group; if the process that should is ended, elsewhere."""
        helper = self._place()
        if helper is None:
            try:
                return self._work.search(group, self._watch)
            finally:
                with self._changed:
                    self._n_here -= 1
                    self._changed.notify()
                self._consider()
        try:
            sent = helper.search(group, self._watch)
        except (EOFError, OSError):  # it was ended, by the system or by its model
            _note("a process that helped has ended; others search its rows")
            with self._changed:
                self._n_ready -= 1
            return self._searched(group)
        with self._changed:
            self._idle.append(helper)
            self._changed.notify()
        return put_together(sent, self._work, group)

    def _place(self) -> Helper | None:
        """Wait for a process that is idle, or for room in this one; None says here."""
        with self._changed:
            while True:
                if self._idle:
                    return self._idle.pop()
                are_awaited = self._helpers.are_awaited
                if self._n_here < max(1 if are_awaited else self._most_here - self._n_ready, 1):
                    self._n_here += 1
                    return None
                self._changed.wait(BETWEEN if are_awaited else None)

    def _look(self) -> None:
        """Look again and again whether processes should be started, also while groups take long."""
        while not (self._is_decided or self._watch.wait(BETWEEN)):
            self._consider()

    def _consider(self) -> None:
        """Start processes if much is left to do and threads are seen to wait.

        What is begun counts as done, so at least the time that is estimated is left.
        """
        with self._changed:
            spent, n_rows = self._meter.seconds, len(self._work.task.frame)
            left = spent * (n_rows / max(self._n_begun, 1) - 1.0)
            if self._is_decided or spent < BEGINS_AFTER or left < IS_WORTH:
                return
            self._is_decided = True
        if self._most_here == 1 or self._meter.shows_waiting(self._workers):
            self._helpers.start()

    def _welcome(self, helper: Helper) -> None:
        """Let a process that is ready take the place of a thread."""
        with self._changed:
            self._n_ready += 1
            self._idle.append(helper)
            self._changed.notify()

    def __enter__(self) -> Self:
        threading.Thread(target=self._look, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        """End all processes."""
        self._watch.stop()
        self._helpers.close()


def _note(text: str) -> None:
    """Tell those who look at the log."""
    logging.getLogger("counterpoint").info("%s.", text)


class Reports:
    """What a process that helps tells of its searches, a few times a second."""

    def __init__(self, channel: Channel) -> None:
        self._channel, self._last = channel, 0.0
        self._asked = self._ended = 0

    def hear(self, n_asked: int, n_ended: int) -> None:
        """Note what happened in a generation."""
        self._asked += n_asked
        self._ended += n_ended
        if time.monotonic() - self._last > BETWEEN:
            self.tell()

    def tell(self) -> None:
        """Tell what was heard."""
        if self._asked or self._ended:
            self._channel.send(("heard", (self._asked, self._ended)))
        self._asked = self._ended = 0
        self._last = time.monotonic()


def serve(number: int) -> None:
    """Do portions of work for the process at the other end of a channel, until it is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    channel = Channel.of(number)
    try:
        packed = channel.receive_packed()
        try:
            work = pickle.loads(packed)  # noqa: S301 - of the process that started this
        except Exception as error:  # of whatever kind: a class of the caller's script is not here
            channel.send(f"{type(error).__name__}: {told_by(error)}")
            return
        gc.freeze()  # what the explainer holds is there to stay, and need not be looked at again
        channel.send("")
        reports = Reports(channel)
        watch, portions = Watch(reports.hear), queue.SimpleQueue[Any]()
        threading.Thread(target=_listen, args=(channel, watch, portions), daemon=True).start()
        while True:
            _answer(portions.get(), work, watch, reports, channel)
    except (EOFError, OSError):  # nobody waits for it any more
        return


def _listen(channel: Channel, watch: Watch, portions: queue.SimpleQueue[Any]) -> None:
    """Hear what the other process wants, while it is worked; without it, end at once."""
    try:
        while True:
            wanted = channel.receive()
            if wanted is None:
                watch.stop()
            else:
                portions.put(wanted)
    except (EOFError, OSError):
        os._exit(0)


def _answer(portion: Any, work: Any, watch: Watch, reports: Reports, channel: Channel) -> None:
    """Do one portion of the work, and send what was found, or what went wrong."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            found = work.search(portion, watch)
        except Exception as error:  # which is raised there
            answer: Any = ("failed", _sendable(error))
        else:
            answer = (
                "found",
                taken_apart(found, work, portion) if isinstance(work, Work) else found,
            )
    reports.tell()
    for each in told:
        channel.send(("warned", each.message))
    channel.send(answer)


def _sendable(error: Exception) -> Exception:
    """Return an error that another process can read: itself, or one that says what it was."""
    try:
        copied = pickle.loads(pickle.dumps(error))  # noqa: S301 - made here
    except Exception:  # of whatever kind: every library has its own errors
        copied = None
    if type(copied) is type(error):
        return error
    return PredictorError(f"{type(error).__name__}: {told_by(error)}")
