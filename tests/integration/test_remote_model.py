"""A model behind a real local server that drops, delays and corrupts answers."""

from __future__ import annotations

import json
import shutil
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import counterpoint as cp
from counterpoint.models.adapters import remote as exchange

Reply = Callable[[BaseHTTPRequestHandler, list[dict[str, Any]]], None]
DATA = pd.DataFrame(
    {
        "income": np.arange(60),
        "debt": (np.arange(60) * 7 % 50) / 10,
        "job": pd.Categorical(np.array(["clerk", "nurse", "smith"])[np.arange(60) % 3]),
    }
)


def scores_of(rows: list[dict[str, Any]]) -> list[float]:
    return [
        float(1 / (1 + np.exp(row["debt"] - row["income"] / 12 - (row["job"] == "nurse"))))
        for row in rows
    ]


def send(handler: BaseHTTPRequestHandler, body: bytes, status: int = 200, **headers: str) -> None:
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def answer(value: Any) -> Reply:
    return lambda handler, _: send(handler, json.dumps(value).encode())


def text(body: bytes) -> Reply:
    return lambda handler, _: send(handler, body)


def status(code: int, body: bytes = b"", **headers: str) -> Reply:
    return lambda handler, _: send(handler, body, code, **headers)


def good(handler: BaseHTTPRequestHandler, rows: list[dict[str, Any]]) -> None:
    send(handler, json.dumps({"scores": scores_of(rows)}).encode())


def drop(handler: BaseHTTPRequestHandler, _: list[dict[str, Any]]) -> None:
    handler.connection.shutdown(socket.SHUT_RDWR)


def delay(handler: BaseHTTPRequestHandler, rows: list[dict[str, Any]]) -> None:
    time.sleep(1.6)
    good(handler, rows)


def drip(handler: BaseHTTPRequestHandler, _: list[dict[str, Any]]) -> None:
    """Send a byte now and then: each is in time, all of them are not."""
    handler.send_response(200)
    handler.send_header("Content-Length", "100")
    handler.end_headers()
    for _i in range(32):
        handler.wfile.write(b"[")
        handler.wfile.flush()
        time.sleep(0.05)


def drip_head(handler: BaseHTTPRequestHandler, _: list[dict[str, Any]]) -> None:
    """Do the same before the answer begins, where no length is announced."""
    for _i in range(32):
        handler.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        handler.wfile.flush()
        time.sleep(0.05)


def truncate(handler: BaseHTTPRequestHandler, rows: list[dict[str, Any]]) -> None:
    body = json.dumps({"scores": scores_of(rows)}).encode()
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body[: len(body) // 2])


class Server:
    """A service that follows a script of replies, and then behaves."""

    def __init__(self, encryption: ssl.SSLContext | None = None) -> None:
        self.script: list[Reply] = []
        self.asked: list[list[dict[str, Any]]] = []
        self.heads: list[dict[str, str]] = []
        self.times: list[float] = []
        self.otherwise: Reply = good
        self.key = "rows"
        self._lock = threading.Lock()
        own = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                rows = body[own.key] if own.key else body
                with own._lock:
                    own.asked.append(rows)
                    own.heads.append(dict(self.headers))
                    own.times.append(time.monotonic())
                    reply = own.script.pop(0) if own.script else own.otherwise
                try:
                    reply(self, rows)
                except OSError:  # the client has gone
                    self.close_connection = True

            def log_message(self, *_: Any) -> None:
                """Stay silent."""

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}/score"
        if encryption is not None:
            self.http.socket = encryption.wrap_socket(self.http.socket, server_side=True)
            self.url = self.url.replace("http:", "https:")
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.02,), daemon=True)
        self.thread.start()

    def close(self) -> None:
        """Stop listening."""
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()


@pytest.fixture
def server() -> Iterator[Server]:
    running = Server()
    yield running
    running.close()


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """Make a certificate of this machine, signed by itself, with its key in the same file."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl makes the certificate and is not installed")
    file = tmp_path / "own.pem"
    command = f"{openssl} req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2"
    names = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    command += f" -keyout {file} -out {tmp_path / 'signed.pem'}"
    subprocess.run([*command.split(), *names], check=True, capture_output=True)  # noqa: S603
    file.write_text(file.read_text() + (tmp_path / "signed.pem").read_text())
    return file


@pytest.fixture
def secure(certificate: Path) -> Iterator[Server]:
    encryption = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    encryption.load_cert_chain(certificate)
    running = Server(encryption)
    yield running
    running.close()


def remote(server: Server, **settings: Any) -> cp.RemoteModel:
    return cp.RemoteModel(server.url, **{"timeout": 20.0, "backoff": 0.01, **settings})


def patience(trouble: Reply, short: float = 1.0) -> float:
    """Return a short time-out where it is to be met, else one a busy machine keeps."""
    return short if trouble in (delay, drip, drip_head) else 20.0


def expected(rows: pd.DataFrame) -> Any:
    records: Any = rows.to_dict("records")
    return np.asarray(scores_of(records), dtype=np.float64)[:, None]


def test_a_remote_model_is_explained_and_asked_about_each_row_once(server: Server) -> None:
    model = remote(server)
    search = cp.Search(evaluations=300)

    found = cp.Explainer(model, DATA, classes=["bad", "good"]).explain(
        DATA.iloc[[3]], "good", search
    )

    valid = found.valid().to_frame()
    assert found.status == "found"
    np.testing.assert_array_equal(valid["prediction"], expected(valid[DATA.columns])[:, 0])
    texts = [json.dumps(row) for rows in server.asked for row in rows]
    assert len(texts) == len(set(texts))
    assert max(map(len, server.asked)) <= 256


def test_rows_side_by_side_get_what_they_get_alone(server: Server) -> None:
    search = cp.Search(evaluations=200)
    explainer = cp.Explainer(remote(server), DATA)

    together = explainer.explain_many(DATA[:4], (0.9, 1.0), search, workers=2)

    for i, found in enumerate(together):
        alone = cp.Explainer(remote(server), DATA).explain(DATA.iloc[[i]], (0.9, 1.0), search)
        np.testing.assert_array_equal(found.genomes, alone.genomes)


def test_rows_are_sent_as_plain_json_in_batches(server: Server) -> None:
    scores = remote(server, batch_size=25).score(DATA)

    assert [len(rows) for rows in server.asked] == [25, 25, 10]
    assert server.asked[0][1] == {"income": 1, "debt": 0.7, "job": "nurse"}
    assert server.heads[0]["Content-Type"] == "application/json"
    np.testing.assert_array_equal(scores, expected(DATA))


@pytest.mark.parametrize(
    "trouble",
    [
        drop,
        delay,
        drip,
        drip_head,
        truncate,
        text(b"<html>oops</html>"),
        text(b""),
        text(b'{"scores": [NaN]}'),
        text(b"[" * 100_000),
        answer({"scores": [0.5]}),
        answer({"scores": ["high"] * 60}),
        answer({"scores": [None] * 60}),
        answer({"scores": [[0.5]] * 59 + [[0.5, 0.5]]}),
        answer({"scores": 0.5}),
        answer({"score": []}),
        answer([0.5] * 60),
        status(500),
        status(503),
        status(429),
    ],
)
def test_a_service_that_recovers_is_believed(server: Server, trouble: Reply) -> None:
    server.script = [trouble, trouble]

    scores = remote(server, timeout=patience(trouble)).score(DATA)

    assert len(server.asked) == 3
    np.testing.assert_array_equal(scores, expected(DATA))


@pytest.mark.parametrize(
    ("trouble", "reason"),
    [
        (drop, r"the connection failed \(RemoteDisconnected: Remote end closed"),
        (delay, r"no answer within 0\.5 s\.$"),
        (drip, r"no answer within 0\.5 s\.$"),
        (drip_head, r"no answer within 0\.5 s\.$"),
        (truncate, r"an answer that is not JSON \(\d+ bytes\)\.$"),
        (text(b"oops"), r"an answer that is not JSON \(4 bytes\)\.$"),
        (text(b'{"scores": [Infinity]}'), "an answer that is not JSON"),
        (text(b'{"scores": [' + b"1e999," * 59 + b"1e999]}"), "scores that are infinite"),
        (answer({"scores": [0.5]}), "1 scores for 60 rows"),
        (answer({"scores": [True] * 60}), "scores that are not a number, or a list of numbers"),
        (answer({"scores": ["0.5"] * 60}), "scores that are not a number, or a list of numbers"),
        (answer({"scores": [[]] * 60}), "scores that are not a number, or a list of numbers"),
        (answer({"scores": {}}), "scores that are no list but dict"),
        (answer({"error": "busy"}), "an answer without 'scores'"),
        (status(503), r"HTTP 503 Service Unavailable\.$"),
    ],
)
def test_a_service_that_does_not_recover_is_told_with_the_row_count(
    server: Server, trouble: Reply, reason: str
) -> None:
    server.otherwise = trouble
    message = rf"^the service at {server.url} failed for 60 of 60 rows after 2 attempts: {reason}"

    with pytest.raises(cp.PredictorError, match=message):
        remote(server, attempts=2, timeout=patience(trouble, 0.5)).score(DATA)

    assert len(server.asked) == 2


def test_an_explainer_tells_the_services_failure_as_it_is(server: Server) -> None:
    server.otherwise = status(503)

    with pytest.raises(cp.PredictorError, match=r"^the service at .* failed for 8 of 8 rows after"):
        cp.Explainer(remote(server), DATA)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (status(404), r"HTTP 404 Not Found\.$"),
        (status(401), r"HTTP 401 Unauthorized\.$"),
        (
            status(422, b'{"detail":\n "job is unknown"}' + b"." * 500),
            r"HTTP 422 Unprocessable \w+ \(\{\"detail\": \"job is unknown\"\}\.{100,200}\)\.$",
        ),
        (
            status(307, Location="http://other.example/score"),
            "HTTP 307 Temporary Redirect to http://other.example/score; redirects are not "
            r"followed, give the final address\.$",
        ),
    ],
)
def test_what_will_not_pass_is_not_tried_again(server: Server, reply: Reply, reason: str) -> None:
    server.otherwise = reply

    with pytest.raises(cp.PredictorError, match=f"60 of 60 rows after 1 attempt: {reason}"):
        remote(server).score(DATA)

    assert len(server.asked) == 1


def test_an_answer_without_end_does_not_fill_the_memory(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchange, "MOST_BYTES", 2**20)
    server.otherwise = text(b" " * 2**21)

    with pytest.raises(cp.PredictorError, match="after 1 attempt: an answer of more than 1 MiB"):
        remote(server).score(DATA)


def test_a_service_without_encryption_is_not_asked_when_it_was_wanted(server: Server) -> None:
    model = cp.RemoteModel(server.url.replace("http:", "https:"), attempts=2, backoff=0.0)

    with pytest.raises(cp.PredictorError, match=r"2 attempts: the connection failed \(SSLError: "):
        model.score(DATA)

    assert server.asked == []


def test_an_encrypted_service_is_asked_if_its_certificate_is_trusted(
    secure: Server, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(cp.PredictorError, match=r"connection failed \(SSLCertVerificationError: "):
        remote(secure, attempts=1).score(DATA)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    secure.script = [drip, drip_head]

    scores = remote(secure, timeout=1.0).score(DATA)

    assert len(secure.asked) == 3
    np.testing.assert_array_equal(scores, expected(DATA))


def test_an_encrypted_service_that_drips_is_cut_off(
    secure: Server, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    secure.otherwise = drip

    with pytest.raises(cp.PredictorError, match=r"2 attempts: no answer within 0\.5 s\.$"):
        remote(secure, attempts=2, timeout=0.5).score(DATA)


def test_a_redirect_sends_the_rows_nowhere(server: Server) -> None:
    other = Server()
    server.otherwise = status(308, Location=other.url)

    with pytest.raises(cp.PredictorError, match="redirects are not followed"):
        remote(server).score(DATA)

    other.close()
    assert other.asked == []


def test_answers_before_a_failure_are_kept(server: Server) -> None:
    model = remote(server, batch_size=20, attempts=2)
    server.script = [good, status(503), status(503)]
    message = (
        "failed for 20 of 60 rows after 2 attempts: HTTP 503 Service Unavailable; "
        r"20 others were answered and are kept\.$"
    )

    with pytest.raises(cp.PredictorError, match=message):
        model.score(DATA)
    model.score(DATA)

    assert [len(rows) for rows in server.asked] == [20, 20, 20, 20, 20]
    assert server.asked[3] == server.asked[1]


def test_a_service_that_is_not_there_is_told(server: Server) -> None:
    server.close()

    with pytest.raises(cp.PredictorError, match=r"3 attempts: the connection failed \(Connection"):
        remote(server).score(DATA)


def test_attempts_are_further_and_further_apart(server: Server) -> None:
    server.script = [status(503)] * 3

    remote(server, attempts=4, backoff=0.1).score(DATA)

    first, second, third = np.diff(server.times)
    assert first >= 0.05
    assert second >= 0.1
    assert third >= 0.2


def test_the_service_may_ask_for_more_time(server: Server) -> None:
    server.script = [status(429, Retry_After="1")]

    remote(server).score(DATA)

    assert server.times[1] - server.times[0] >= 1.0


def test_the_longest_unused_rows_are_forgotten(server: Server) -> None:
    model = remote(server, cache_size=2)

    for i in (0, 1, 0, 2, 0, 1):  # 2 takes the place of 1, which was used before 0
        model.score(DATA.iloc[[i]])

    assert [rows[0]["income"] for rows in server.asked] == [0, 1, 2, 1]


def test_more_rows_than_are_kept_are_scored_all_the_same(server: Server) -> None:
    np.testing.assert_array_equal(
        remote(server, cache_size=5, batch_size=7).score(DATA), expected(DATA)
    )


def test_scores_of_several_classes_and_other_names_are_understood(server: Server) -> None:
    def reply(handler: BaseHTTPRequestHandler, rows: list[dict[str, Any]]) -> None:
        both = [[1 - score, score] for score in scores_of(rows)]
        send(handler, json.dumps({"predictions": both}).encode())

    server.otherwise, server.key = reply, "dataframe_records"
    model = remote(
        server,
        classes=["bad", "good"],
        request_key="dataframe_records",
        answer_key="predictions",
    )

    explainer = cp.Explainer(model, DATA)

    assert explainer.classes == ("bad", "good")
    np.testing.assert_array_equal(explainer.observed.outputs[:, 1:], expected(DATA))


def test_rows_and_scores_may_be_bare_lists(server: Server) -> None:
    server.key = ""
    server.otherwise = lambda handler, rows: send(handler, json.dumps(scores_of(rows)).encode())

    scores = remote(server, request_key=None, answer_key=None).score(DATA)

    np.testing.assert_array_equal(scores, expected(DATA))


def test_a_changing_number_of_scores_is_refused(server: Server) -> None:
    server.script = [answer({"scores": [0.5] * 30}), answer({"scores": [[0.5, 0.5]] * 30})]

    with pytest.raises(cp.PredictorError, match="gave some rows 1 scores and others 2; expected"):
        remote(server, batch_size=30).score(DATA)


def test_headers_are_sent_and_a_key_in_the_address_is_not_shown(server: Server) -> None:
    server.otherwise = status(403)
    model = cp.RemoteModel(
        f"{server.url}?key=secret", headers={"Authorization": "Bearer hidden"}, attempts=1
    )

    with pytest.raises(cp.PredictorError) as caught:
        model.score(DATA)

    assert server.heads[0]["Authorization"] == "Bearer hidden"
    assert "secret" not in str(caught.value) + repr(model)
    assert "hidden" not in str(caught.value) + repr(model)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"url": "ftp://host/score"}, r"url must be an address like 'https://.*got 'ftp://host"),
        ({"url": "host/score"}, "url must be an address like"),
        ({"url": "http://host:port/"}, "url must be an address like"),
        ({"url": "http://host/a score"}, "url must be an address like .*got 'http://host/a score'"),
        ({"url": "http://host/\u00e4"}, "url must be an address like"),
        ({"url": "http://host/\r\nX: y"}, "url must be an address like"),
        ({"url": 3}, "url must be an address like .*got 3"),
        ({"url": "http://me:key@host/"}, "url must not hold a user or password; pass headers="),
        ({"batch_size": 0}, "batch_size must be a whole number of at least 1, got 0"),
        ({"attempts": 1.5}, "attempts must be a whole number of at least 1, got 1.5"),
        ({"cache_size": True}, "cache_size must be a whole number of at least 1, got True"),
        ({"timeout": 0}, "timeout must be a number of seconds above 0, got 0"),
        ({"timeout": "long"}, "timeout must be a number of seconds above 0, got 'long'"),
        ({"backoff": -1}, "backoff must be a number of seconds of at least 0, got -1"),
        ({"backoff": float("nan")}, "backoff must be a number of seconds of at least 0, got nan"),
    ],
)
def test_settings_that_mean_nothing_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(cp.InvalidInput, match=message):
        cp.RemoteModel(**{"url": "http://localhost/", **settings})


def test_missing_values_are_sent_as_null(server: Server) -> None:
    def of_debt(handler: BaseHTTPRequestHandler, rows: list[dict[str, Any]]) -> None:
        known = [0.0 if row["debt"] is None else row["debt"] / 10.0 for row in rows]
        send(handler, json.dumps({"scores": known}).encode())

    server.otherwise = of_debt
    data = DATA.assign(debt=DATA["debt"].where(DATA.index > 5))

    cp.Explainer(cp.RemoteModel(server.url), data)

    assert {row["debt"] for row in server.asked[0] if row["income"] <= 5} == {None}
