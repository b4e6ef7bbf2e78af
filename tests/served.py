"""A served explorer for tests: a table of all kinds, a model to hold up, a server on a port."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import numpy as np
import pandas as pd

import counterpoint as cp
from counterpoint.explorer.server import Explorer
from counterpoint.explorer.sessions import VisitorLimits

PATIENCE = 60.0  # seconds until a test that waits for an event gives up


def observed() -> pd.DataFrame:
    """Return rows of every kind of feature, some of them incomplete."""
    n = np.arange(90)
    return pd.DataFrame(
        {
            "age": 20 + (n * 7) % 40,
            "income": np.where(n % 11 == 0, np.nan, 900.0 + (n * 37) % 2400),
            "job": pd.Categorical([["clerk", "cook", "<b>"][i % 3] for i in n]),
            "since": pd.to_datetime("2020-01-01") + pd.to_timedelta((n * 13) % 900, unit="D"),
        },
        index=[f"p{i}" for i in n],
    )


class Gated:
    """A classifier's probabilities, which can be held up until a gate opens."""

    def __init__(self) -> None:
        self.reached, self.gate = threading.Event(), threading.Event()
        self.gate.set()

    def __call__(self, rows: pd.DataFrame) -> Any:
        """Return the probabilities of "bad" and "good"."""
        if not self.gate.is_set():
            self.reached.set()
            assert self.gate.wait(PATIENCE)
        income = rows["income"].fillna(1000.0).to_numpy()
        raw = (income - 1500.0) / 900.0 + (rows["age"].to_numpy() - 40) / 30.0
        raw = raw + 0.8 * (rows["job"].astype(str) == "<b>").to_numpy()
        good = 1.0 / (1.0 + np.exp(-raw))
        return np.column_stack([1.0 - good, good])

    def hold(self) -> None:
        """Let nobody pass from now on."""
        self.reached.clear()
        self.gate.clear()


def explainer_of(model: Callable[[Any], Any], **options: Any) -> cp.Explainer:
    """Return an explainer of the table."""
    return cp.Explainer(model, observed(), classes=["bad", "good"], **options)


@contextmanager
def served(explainer: cp.Explainer, data: pd.DataFrame, **options: Any) -> Iterator[Explorer]:
    """Serve an explorer on a free port."""
    explorer = Explorer(explainer, data, **options)
    thread = threading.Thread(target=explorer.run, daemon=True)
    thread.start()
    try:
        yield explorer
    finally:
        explorer.stop()
        thread.join(PATIENCE)
        assert not thread.is_alive()


class Tab:
    """One tab of a browser: a session of its own."""

    def __init__(self, explorer: Explorer) -> None:
        parts = urlsplit(explorer.address)
        once = httpx.Limits(max_keepalive_connections=0)  # nothing is left open
        home = f"http://{parts.netloc}"
        self.client = httpx.Client(base_url=home, timeout=PATIENCE, limits=once)
        token = parse_qs(parts.query)["token"][0]
        assert self.client.get("/", params={"token": token}).status_code == 200
        self.session = self.client.post("/api/sessions", json={}).json()["session"]

    def post(self, path: str, value: Any) -> httpx.Response:
        """Send a value to a path of the session."""
        return self.client.post(f"/api/sessions/{self.session}/{path}", json=value)

    def get(self, path: str) -> httpx.Response:
        """Return what is at a path of the session."""
        return self.client.get(f"/api/sessions/{self.session}/{path}")

    def search(self, question: dict[str, Any]) -> list[tuple[str, Any]]:
        """Search; return all events."""
        return events_of(self.post("search", question).text)

    def summary(self) -> dict[str, Any]:
        """Return the summary of the latest result."""
        answer: dict[str, Any] = self.get("result").json()["summary"]
        return answer


def events_of(text: str) -> list[tuple[str, Any]]:
    """Return the events of a stream: kind and data."""
    events = []
    for part in text.strip().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in part.split("\n"))
        events.append((fields["event"], json.loads(fields["data"])))
    return events


def question_of(tab: Tab, position: int, **changes: Any) -> dict[str, Any]:
    """Return the question for one row: what would make it good."""
    rows = tab.client.get("/api/rows", params={"find": f"p{position}"}).json()["rows"]
    row = next(each for each in rows if each["position"] == position)
    return {"row": position, "values": row["values"], "target": "good", "seed": 3} | changes


SHORT = VisitorLimits(seconds=PATIENCE, searches=2)
