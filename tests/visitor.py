"""A visitor of an ASGI application, without a network: asks and gets whole answers."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import httpx

T = TypeVar("T")


def run_alone(coroutine: Coroutine[Any, Any, T]) -> T:
    """Return what a coroutine comes to, in a thread of its own: this one may have a loop."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, coroutine).result()


class Visitor:
    """Asks an application and keeps its cookies.

    Parameters
    ----------
    app : ASGI application
        Whom it asks.
    home : str
        By which address.
    """

    def __init__(self, app: Any, home: str) -> None:
        self.app, self.home, self.cookies = app, home, httpx.Cookies()

    def ask(self, method: str, path: str, **options: Any) -> httpx.Response:
        """Return the answer to one request."""
        return run_alone(self._ask(method, path, options))

    def get(self, path: str, **options: Any) -> httpx.Response:
        """Return what is at a path."""
        return self.ask("GET", path, **options)

    def post(self, path: str, **options: Any) -> httpx.Response:
        """Send something to a path."""
        return self.ask("POST", path, **options)

    async def _ask(self, method: str, path: str, options: dict[str, Any]) -> httpx.Response:
        transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
        async with httpx.AsyncClient(
            transport=transport, base_url=self.home, cookies=self.cookies
        ) as client:
            answer = await client.request(method, path, **options)
            self.cookies = client.cookies
        return answer
