"""A browser for tests: Debian's Chromium, cut off from the network; skipped where it is missing."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import which
from typing import Any

import pytest

FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
AXE = Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js"


def is_required() -> bool:
    """Whether a missing browser is a failure: `COUNTERPOINT_BROWSER` is "required"."""
    return os.environ.get("COUNTERPOINT_BROWSER") == "required"


def lacking(what: str) -> None:
    """Skip the tests, or fail them where a browser must be there."""
    message = f"{what} is missing; install Chromium and counterpoint[browser-test]"
    if is_required():
        pytest.fail(message)
    pytest.skip(message)


@contextmanager
def chromium() -> Iterator[Any]:
    """Run a browser."""
    program = which("chromium") or which("chromium-browser")
    if program is None:
        lacking("chromium")
    try:
        playwright = importlib.import_module("playwright.sync_api")
    except ImportError:
        lacking("playwright")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=FLAGS)
        yield browser
        browser.close()


# Words that do not fit where they stand, and so go on in the next line.
BROKEN = """selector => [...document.querySelectorAll(selector)].flatMap((each) => {
  const broken = [];
  const walker = document.createTreeWalker(each, NodeFilter.SHOW_TEXT);
  while (walker.nextNode())
    for (const word of walker.currentNode.data.matchAll(/\\p{L}+/gu)) {
      const range = document.createRange();
      range.setStart(walker.currentNode, word.index);
      range.setEnd(walker.currentNode, word.index + word[0].length);
      if (range.getClientRects().length > 1) broken.push(word[0]);
    }
  return broken;
})"""


class Visit:
    """One visit to a page, with a record of all that a page should not do.

    Parameters
    ----------
    browser : Browser
        The browser.
    address : str
        Of a file, which is visited without a network, or of a server, the only one there is then.
    options : dict
        Of the browser's context: viewport, color_scheme and the like.
    """

    def __init__(self, browser: Any, address: str, options: dict[str, Any]) -> None:
        self.errors: list[str] = []
        self.requests: list[str] = []
        self.context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}} | options)
        is_file = address.startswith("file:")
        self.allowed = ("file:" if is_file else address.partition("?")[0], "data:", "blob:")
        self.context.set_offline(is_file)
        self.context.route("**/*", self._judge)
        self.page = self.context.new_page()
        self.page.on("console", self._listen)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(address)

    def _judge(self, route: Any) -> None:
        is_local = route.request.url.startswith(self.allowed)
        route.continue_() if is_local else route.abort()

    def _listen(self, message: Any) -> None:
        if message.type == "error":
            self.errors.append(message.text)

    def violations(self, without: str = "") -> list[str]:
        """Return what axe-core finds that is serious or critical, `without` parts by selector."""
        if not AXE.exists():
            lacking("axe-core")
        if not self.page.evaluate("'axe' in window"):
            self.page.evaluate(AXE.read_text(encoding="utf-8"))
        chosen = {"include": [["html"]], "exclude": [[without]] if without else []}
        found = self.page.evaluate("chosen => axe.run(chosen)", chosen)["violations"]
        return [
            f"{each['id']}: {each['nodes'][0]['html'][:120]} {each['nodes'][0]['failureSummary']}"
            for each in found
            if each["impact"] in ("serious", "critical")
        ]
