"""The guard: without token, from elsewhere or too large, nothing reaches a route."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send
from tests.visitor import Visitor, run_alone

from counterpoint.explorer.server import HEADERS, Guard

PORT, TOKEN = 8765, "the-token"
HOME = f"http://127.0.0.1:{PORT}"


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer with the size of the body."""
    size = len(await Request(scope, receive).body())
    await JSONResponse({"size": size})(scope, receive, send)


def client(host: str = HOME, **options: Any) -> Visitor:
    """Return a visitor of a guarded application."""
    return Visitor(Guard(echo, TOKEN, PORT, **options), host)


def error_of(response: Any) -> tuple[int, str]:
    """Return status and words of a refusal."""
    return response.status_code, response.json()["error"]


def test_who_brings_the_token_gets_a_cookie_that_scripts_cannot_read_and_passes_with_it() -> None:
    visitor = client()

    first = visitor.get("/", params={"token": TOKEN})

    cookie = first.headers["set-cookie"]
    assert first.json() == {"size": 0}
    assert cookie == f"counterpoint-{PORT}={TOKEN}; Path=/; HttpOnly; SameSite=Strict"
    assert visitor.get("/anything").status_code == 200


@pytest.mark.parametrize("token", ["", "other", TOKEN + "x", TOKEN[:-1], "tökèn"])
def test_without_the_token_nobody_passes(token: str) -> None:
    refused = client().get("/", params={"token": token})

    assert error_of(refused) == (
        403,
        "this address lacks the token of this server, or has another's; open the whole address "
        "that counterpoint serve printed when it started.",
    )
    assert "set-cookie" not in refused.headers


def test_a_cookie_of_another_server_or_a_broken_one_does_not_pass() -> None:
    for cookie in (f"counterpoint-1={TOKEN}", "counterpoint-8765=other", "\x01=;;=", ""):
        assert client().get("/", headers={"cookie": cookie}).status_code == 403


@pytest.mark.parametrize(
    "host", ["http://evil.example", f"http://evil.example:{PORT}", "http://127.0.0.1:1"]
)
def test_a_name_that_only_resolves_to_this_computer_does_not_pass(host: str) -> None:
    refused = client(host).get("/", params={"token": TOKEN})

    assert error_of(refused) == (
        403,
        f"this server answers to its own address on this computer only, such as 127.0.0.1:{PORT}.",
    )


def test_localhost_is_this_computer_too() -> None:
    assert client(f"http://localhost:{PORT}").get("/", params={"token": TOKEN}).status_code == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1"])
def test_a_page_of_another_origin_does_not_pass_even_with_the_token(origin: str) -> None:
    refused = client().post("/", params={"token": TOKEN}, headers={"origin": origin})

    assert error_of(refused) == (403, "this server takes no requests from pages of other origins.")


def test_its_own_page_passes() -> None:
    answer = client().post("/", params={"token": TOKEN}, headers={"origin": HOME}, content=b"abc")

    assert answer.json() == {"size": 3}


def test_what_is_too_large_is_refused_whether_its_length_is_told_or_not() -> None:
    visitor = client(most_bytes=10)

    async def parts() -> AsyncIterator[bytes]:
        yield b"x" * 6
        yield b"x" * 6

    told = visitor.post("/", params={"token": TOKEN}, content=b"x" * 11)
    untold = visitor.post("/", params={"token": TOKEN}, content=parts())

    for refused in (told, untold):
        assert error_of(refused) == (413, "the request is larger than the 10 bytes allowed.")
    assert visitor.post("/", params={"token": TOKEN}, content=b"x" * 10).json() == {"size": 10}


@pytest.mark.parametrize("length", ["-1", "abc", "9" * 5000])
def test_a_length_that_is_none_is_refused(length: str) -> None:
    answer = client().post("/", params={"token": TOKEN}, headers={"content-length": length})

    assert answer.status_code == 413


def test_a_request_that_does_not_arrive_is_given_up() -> None:
    sent: list[Any] = []

    async def never() -> Any:
        await asyncio.Event().wait()

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "headers": [(b"host", f"127.0.0.1:{PORT}".encode())],
        "query_string": f"token={TOKEN}".encode(),
    }
    run_alone(Guard(echo, TOKEN, PORT, most_seconds=0.01)(scope, never, send))

    assert sent[0]["status"] == 408
    assert b"did not arrive in time" in sent[1]["body"]


@pytest.mark.parametrize("token", [TOKEN, "other"])
def test_every_answer_has_the_policy_and_none_allows_other_origins(token: str) -> None:
    answer = client().get("/", params={"token": token}, headers={"origin": HOME})

    for name, value in HEADERS.items():
        assert answer.headers[name] == value
    assert not [name for name in answer.headers if name.startswith("access-control")]
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
