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
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import fields, replace
from typing import Any, Literal, NamedTuple, Self

import numpy as np

from counterpoint.arrays import Column, Ints, columns_of, values_of
from counterpoint.errors import CounterpointError, PredictorError, told_by
from counterpoint.explainer.building import Built
from counterpoint.explainer.group import GIB, Meter, can_start
from counterpoint.explainer.task import Work, rows_as_given, search_again
from counterpoint.models.files import pickled
from counterpoint.problem.target import Target
from counterpoint.progress import BETWEEN, Channel, Outbox, Reports, Watch
from counterpoint.result.counterfactuals import Counterfactuals
from counterpoint.result.facts import Facts, Live, Trace
from counterpoint.search.ways import WayRows

BEGINS_AFTER = 0.25  # seconds of work in this process before others are started
IS_WORTH = 4.0  # seconds of work that must be left then: a process is ready after one or two
GETS_READY = 5.0  # seconds for which a thread leaves its core to a process that gets ready
LEAVING = 1.0  # seconds a process has to end
AHEAD = 2  # groups that a process has: one that it searches, and the next
# Nothing is thrown away while modules are imported, so nobody need look for it.
CODE = (
    "import gc; gc.disable(); import sys; from counterpoint.explainer.processes import serve; "
    "serve(int(sys.argv[1]))"
)
STAYS = ("encoding", "row", "live")  # what of a result is in both processes, or made again
TAKEN_APART = (Facts, Trace, WayRows, Target)
Handle = Literal["met", "plain", "labels", "other"]  # which problem a result asks when it is used


class Sent(NamedTuple):
    """The results of a group on their way to another process: without what is there, too."""

    values: dict[str, Column]  # their fields, without the rows, model and data
    handles: list[Handle]


def taken_apart(results: list[Counterfactuals], work: Work, group: Ints) -> Sent:
    """Take the results of a group apart, for a process that has model and data, too."""
    built, asks_labels = work.built, work.problem(group[:1]).asks_labels
    names = [each.name for each in fields(Counterfactuals) if each.name not in STAYS]
    values = columns_of(results, names, TAKEN_APART)
    return Sent(values, [handle_of(found, built, asks_labels) for found in results])


def handle_of(found: Counterfactuals, built: Built, asks_labels: bool) -> Handle:
    """Return which problem a result asks when it is used."""
    live: Any = found.live
    if live.again is None:
        return "met"
    if live.problem.predictor is not built.predictor:
        return "other"
    return "labels" if live.problem.asks_labels and not asks_labels else "plain"


def put_together(sent: Sent, work: Work, group: Ints) -> list[Counterfactuals]:
    """Put results together again, with the model, the data and the rows of this process.

    Of the few for which a quick way to ask the model was not believed, the row is searched here.
    """
    (built, task), problem, results = work, work.problem(group), list[Counterfactuals]()
    rows = rows_as_given(task, group, built.encoding)
    columns = values_of(sent.values)
    for a, handle in enumerate(sent.handles):
        if handle == "other":
            results += work.search(group[[a]], Watch())
            continue
        one = problem.alone(np.array([a]))
        if handle == "met":
            live = Live(replace(one, predictor=one.predictor.own))
        else:
            again = search_again(one, task.seed, rows[a])
            live = Live(replace(one, asks_labels=True) if handle == "labels" else one, again)
        values = {name: column[a] for name, column in columns.items()}
        results.append(Counterfactuals(built.encoding, rows[a], **values, live=live))
    return results


class Helper:
    """A process that searches groups, and what this one says to it."""

    def __init__(self) -> None:
        self._turns = threading.Condition()  # answers come in the order of what was asked
        self._n_asked = self._n_answered = 0
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
        with self._asked(packed):
            if reason := self._channel.receive():
                raise OSError(reason)

    def search(self, portion: Any, watch: Watch) -> Any:
        """Return what the process finds for a portion; what it hears and warns of is told here.

        Another thread may hand over the next portion meanwhile, for which the process does not wait
        then.
        """
        with self._asked(pickle.dumps(portion, pickle.HIGHEST_PROTOCOL)):
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

    @contextmanager
    def _asked(self, packed: bytes) -> Iterator[None]:
        """Send something, and wait for the turn to hear the answer."""
        with self._turns:
            self._channel.send_packed(packed)
            place, self._n_asked = self._n_asked, self._n_asked + 1
            self._turns.wait_for(lambda: self._n_answered == place)
        try:
            yield
        finally:
            with self._turns:
                self._n_answered += 1
                self._turns.notify_all()

    def stop(self) -> None:
        """Ask the process to end its searches with the best so far."""
        self._channel.send(None)

    def close(self) -> None:
        """End the process, whatever it does; threads that wait for it see the channel end."""
        self._process.terminate()
        try:
            self._process.wait(LEAVING)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._channel.end()
        with self._turns:
            self._turns.wait_for(lambda: self._n_answered == self._n_asked)
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
    while other processes get ready, for which a thread leaves its core. Each of these is handed its
    next group before it has ended one, as long as there are others for all. Of the `memory` in GiB
    half is for the copies of model and data.
    """

    def __init__(
        self, work: Work, workers: int, most_here: int, memory: float, watch: Watch
    ) -> None:
        self._work, self._watch, n_bytes = work, watch, 2 * work.built.observed.genomes.nbytes
        self._workers, self._most_here = workers, most_here
        self._helpers = Helpers(work, workers - 1, n_bytes, memory, watch, self._welcome)
        self._changed = threading.Condition()
        self._n_there: dict[Helper, int] = {}  # how many groups each process has
        self._waiting: list[int] = []  # the first row of each group that waits for a place
        self._n_here = self._n_begun = 0
        self._is_decided = workers == 1 or not can_start()
        self._meter = Meter()

    def __call__(self, group: Ints) -> list[Counterfactuals]:
        """Search a group wherever there is a place for it; return when it is done."""
        while (helper := self._place(group)) is not None:
            try:
                sent = helper.search(group, self._watch)
            except (EOFError, OSError):  # it was ended, by the system or by its model
                self._dismiss(helper)
                continue
            with self._changed:
                self._n_there[helper] -= 1
                self._changed.notify_all()
            return put_together(sent, self._work, group)
        try:
            return self._work.search(group, self._watch)
        finally:
            with self._changed:
                self._n_here -= 1
                self._changed.notify_all()
            self._consider()

    def _place(self, group: Ints) -> Helper | None:
        """Wait until another process or this one can take a group; None says this one.

        The first rows go first: those after them are told of only when these are done.
        """
        n_rows, n_all = len(group), len(self._work.task.frame)
        with self._changed:
            self._waiting.append(first := int(group[0]))
            while True:
                are_awaited = self._helpers.are_awaited
                most_here = 1 if are_awaited else self._most_here - len(self._n_there)
                are_enough = n_all - self._n_begun > (1 + self._workers) * n_rows
                helper = min(self._n_there, key=self._n_there.__getitem__, default=None)
                if first == min(self._waiting):
                    if self._n_here < max(most_here, 1):
                        helper, self._n_here = None, self._n_here + 1
                        break
                    if helper is not None and self._n_there[helper] < (AHEAD if are_enough else 1):
                        self._n_there[helper] += 1
                        break
                self._changed.wait(BETWEEN if are_awaited else None)
            self._waiting.remove(first)
            self._n_begun += n_rows
            self._changed.notify_all()
            return helper

    def _dismiss(self, helper: Helper) -> None:
        """Ask a process no more that has ended."""
        with self._changed:
            if self._n_there.pop(helper, None) is not None:
                _note("a process that helped has ended; others search its rows")
            self._changed.notify_all()

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
            self._n_there[helper] = 0
            self._changed.notify_all()

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
        gc.enable()
        outbox = Outbox(channel)
        outbox.send("")
        reports = Reports(outbox)
        watch, portions = Watch(reports.hear), queue.SimpleQueue[Any]()
        threading.Thread(target=_listen, args=(channel, watch, portions), daemon=True).start()
        while True:
            _answer(portions.get(), work, watch, reports, outbox)
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


def _answer(portion: Any, work: Any, watch: Watch, reports: Reports, outbox: Outbox) -> None:
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
        outbox.send(("warned", each.message))
    outbox.send(answer)


def _sendable(error: Exception) -> Exception:
    """Return an error that another process can read: itself, or one that says what it was."""
    try:
        copied = pickle.loads(pickle.dumps(error))  # noqa: S301 - made here
    except Exception:  # of whatever kind: every library has its own errors
        copied = None
    if type(copied) is type(error):
        return error
    return PredictorError(f"{type(error).__name__}: {told_by(error)}")
