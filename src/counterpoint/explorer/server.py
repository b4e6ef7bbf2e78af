"""Serving: the explorer on a port of this computer, until somebody ends it."""

from __future__ import annotations

import argparse
import asyncio
import math
import secrets
import socket
import sys
import threading
import webbrowser
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from counterpoint.checks import check_choice
from counterpoint.cli.reading import limits_of, read_target
from counterpoint.errors import InvalidInput
from counterpoint.explainer.explainer import Explainer
from counterpoint.explorer.app import VisitorLimits, create_app
from counterpoint.explorer.guard import MOST_SECONDS
from counterpoint.explorer.requests import Rows
from counterpoint.problem.limits import CheckedLimits
from counterpoint.rules.tree import InRange, Word
from counterpoint.streams import check_seed
from counterpoint.table.labels import LANGS, Lang

HOST = "127.0.0.1"
MOST_SEARCHES = 64
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
        """Wait no longer."""
        if (timer := self.silent.pop(self, None)) is not None:
            timer.cancel()

    def _give_up(self) -> None:
        """Close it."""
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
        self.app = create_app(
            explainer, pickable, token=token, port=port, limits=limits, first=first, lang=lang
        )
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


def starting_with(
    options: argparse.Namespace, explainer: Explainer
) -> tuple[VisitorLimits, dict[str, Any]]:
    """Return what the options of the command line allow, and the question they start with."""
    if not 0 < options.seconds < math.inf:
        raise InvalidInput(f"--seconds must be a number above 0, got {options.seconds}.")
    if not 1 <= options.searches <= MOST_SEARCHES:
        raise InvalidInput(
            f"--searches must lie between 1 and {MOST_SEARCHES}, got {options.searches}."
        )
    if options.target is not None:
        read_target(options.target, explainer.classes)
    asked = limits_of(options, explainer.schema).check(explainer.schema, explainer.kept)
    first = {
        "row": options.row,
        "target": options.target or "",
        "fixed": [str(name) for name in np.array(explainer.schema.names)[asked.is_fixed]],
        "rules": [*options.constraints, *rules_of_ranges(asked)],
        "max_changed": options.max_changed,
        "seed": check_seed(options.seed),
    }
    return VisitorLimits(seconds=options.seconds, searches=options.searches), first


def rules_of_ranges(asked: CheckedLimits) -> list[str]:
    """Return the ranges as lines of rules, for the page has no other place for them."""
    features, n_own = asked.rules.schema.features, len(asked.limits.constraints)
    intervals = [
        str(InRange(Word(str(feature.name)), low, high))
        for feature, low, high in zip(features, asked.low, asked.high, strict=True)
        if not np.isnan(low)
    ]
    return [*intervals, *asked.rules.texts[n_own:]]


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
