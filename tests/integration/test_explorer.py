"""The explorer as its page asks it: a real server on a port, real searches, several tabs."""

from __future__ import annotations

import datetime
import socket
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from tests.served import (
    PATIENCE,
    SHORT,
    Gated,
    Tab,
    events_of,
    explainer_of,
    observed,
    question_of,
    served,
)
from tests.visitor import Visitor

import counterpoint as cp
from counterpoint.cli.main import main
from counterpoint.explorer.requests import Rows
from counterpoint.explorer.server import (
    MOST_SILENT,
    Explorer,
    Guard,
    TimedProtocol,
    bound,
    create_app,
)
from counterpoint.explorer.sessions import MOST_SESSIONS, MOST_WAITING, Sessions, VisitorLimits
from counterpoint.result.report.page import summarise

NOW = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)


@pytest.fixture(scope="module")
def model() -> Gated:
    return Gated()


@pytest.fixture(scope="module")
def explainer(model: Gated) -> cp.Explainer:
    return explainer_of(model)


@pytest.fixture(scope="module")
def explorer(explainer: cp.Explainer) -> Iterator[Explorer]:
    with served(explainer, observed(), limits=SHORT) as running:
        yield running


@pytest.fixture
def tab(explorer: Explorer) -> Tab:
    return Tab(explorer)


def expected(explainer: cp.Explainer, position: int, **asked: Any) -> Any:
    """Return the counterfactuals that `explain` gives, as the page reads them."""
    found = explainer.explain(observed().iloc[[position]], "good", seed=3, **asked)
    return summarise(found, NOW)["counterfactuals"]


def sessions_of(explorer: Explorer) -> Sessions:
    sessions: Sessions = explorer.app.app.state.routes.sessions  # type: ignore[attr-defined]
    return sessions


def test_a_search_tells_how_it_goes_and_finds_what_explain_does(
    tab: Tab, explainer: cp.Explainer
) -> None:
    events = tab.search(question_of(tab, 1))

    kinds = [kind for kind, _ in events]
    progress = [data for kind, data in events if kind == "progress"]
    evaluations = [data["evaluations"] for data in progress]
    assert kinds == ["progress"] * (len(events) - 1) + ["done"]
    assert evaluations == sorted(evaluations)
    assert progress[-1]["found"] > 0
    assert events[-1][1]["status"] == "found"
    assert tab.summary()["counterfactuals"] == expected(explainer, 1)
    assert tab.summary()["title"] == "Row p1"


def test_several_tabs_at_once_get_what_each_would_get_alone(
    explorer: Explorer, explainer: cp.Explainer
) -> None:
    wishes: list[tuple[int, dict[str, Any], dict[str, Any]]] = [
        (1, {}, {}),
        (4, {"rules": ["age increases"]}, {"constraints": ["age increases"]}),
        (7, {"fixed": ["job"]}, {"fixed": ["job"]}),
        (1, {"max_changed": 1}, {"max_changed": 1}),
    ]
    tabs = [Tab(explorer) for _ in wishes]

    with ThreadPoolExecutor(len(wishes)) as pool:
        jobs = [
            pool.submit(tab.search, question_of(tab, position, **sent))
            for tab, (position, sent, _) in zip(tabs, wishes, strict=True)
        ]
        endings = [job.result()[-1][0] for job in jobs]

    assert endings == ["done"] * len(wishes)
    for tab, (position, _, asked) in zip(tabs, wishes, strict=True):
        assert tab.summary()["counterfactuals"] == expected(explainer, position, **asked)


def test_the_same_question_twice_has_the_same_answer_and_another_starts_from_it(tab: Tab) -> None:
    question = question_of(tab, 1)
    tab.search(question)
    first = tab.summary()

    tab.search(question)
    same = tab.summary()
    tab.search(question | {"rules": ["age increases"]})
    warm = tab.summary()
    tab.search(question | {"rules": ["age increases"], "afresh": True})
    cold = tab.summary()

    assert same["counterfactuals"] == first["counterfactuals"]
    assert not any("earlier" in note for note in first["notes"] + same["notes"] + cold["notes"])
    assert any("earlier" in note for note in warm["notes"])
    assert warm["receipt"]["rules"] == cold["receipt"]["rules"] == ["age increases"]


def test_cancel_ends_a_search_with_what_was_found(tab: Tab, model: Gated) -> None:
    question = question_of(tab, 1)
    model.hold()
    with ThreadPoolExecutor(1) as pool:
        job = pool.submit(tab.search, question)
        assert model.reached.wait(PATIENCE)

        tab.post("cancel", {})
        model.gate.set()

        kind, data = job.result(PATIENCE)[-1]
    assert (kind, data["stopped"]) == ("done", "interrupt")
    assert tab.summary()["receipt"]["ended by"] == "interrupt"


def test_who_leaves_stops_the_search(explorer: Explorer, tab: Tab, model: Gated) -> None:
    question = question_of(tab, 1)
    model.hold()
    with httpx.Client(cookies=tab.client.cookies, base_url=tab.client.base_url) as leaving:
        path = f"/api/sessions/{tab.session}/search"
        with leaving.stream("POST", path, json=question, timeout=PATIENCE) as response:
            next(response.iter_text())
            assert model.reached.wait(PATIENCE)
            session = sessions_of(explorer).get(tab.session)
            assert session is not None
            running = session.running
            assert running is not None
            ended = threading.Event()
            assert running.future is not None
            running.future.add_done_callback(lambda _: ended.set())

    assert running.watch.wait(PATIENCE)
    model.gate.set()

    assert ended.wait(PATIENCE)
    assert running.future.result().found.stopped == "interrupt"


def test_a_new_search_of_a_session_stops_its_last_one(tab: Tab, model: Gated) -> None:
    question = question_of(tab, 1)
    model.hold()
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(tab.search, question)
        assert model.reached.wait(PATIENCE)
        second = pool.submit(tab.search, question | {"seed": 4})
        model.gate.set()

        endings = [job.result(PATIENCE)[-1] for job in (first, second)]

    assert [kind for kind, _ in endings] == ["done", "done"]
    assert tab.get("result").json()["question"]["seed"] == 4


def test_an_edited_value_changes_the_prediction_at_once(tab: Tab) -> None:
    question = question_of(tab, 1)
    values = [59, 3200.0, *question["values"][2:]]

    before, after = (
        tab.client.post("/api/prediction", json={"values": each}).json()
        for each in (question["values"], values)
    )

    assert (before["decision"], after["decision"]) == ("bad", "good")
    assert [output["label"] for output in after["outputs"]] == ["bad", "good"]
    assert sum(output["value"] for output in after["outputs"]) == pytest.approx(1.0)


def test_a_row_with_a_missing_value_can_be_asked_about(tab: Tab) -> None:
    question = question_of(tab, 22)

    events = tab.search(question)

    assert question["values"][1] is None
    assert events[-1][0] == "done"


def test_figures_and_a_report_to_keep_come_with_a_result(tab: Tab) -> None:
    tab.search(question_of(tab, 1, rules=["fixed since"]))

    figures = tab.get("figures").json()["figures"]
    report = tab.get("report")

    assert {"parallel", "objectives"} <= {figure["name"] for figure in figures}
    assert report.headers["content-disposition"] == 'attachment; filename="Row-p1.html"'
    assert report.text.startswith("<!DOCTYPE html>")
    assert "vegaEmbed" in tab.client.get("/library.js").text


def test_a_page_that_is_loaded_again_goes_on_with_its_session(tab: Tab) -> None:
    known = tab.client.post("/api/sessions", json={"session": tab.session}).json()["session"]
    unknown = tab.client.post("/api/sessions", json={"session": "nobody"}).json()["session"]

    assert known == tab.session
    assert unknown not in ("nobody", tab.session)


@pytest.mark.parametrize(
    ("method", "path", "sent", "status", "words"),
    [
        ("POST", "search", b"{", 400, "the request must be JSON"),
        ("POST", "search", b'{"seed": 1%s}' % (b"0" * 400), 400, "the number 10000000000000000000"),
        ("POST", "search", b'{"values": [-1e400]}', 400, "the number -1e400... is beyond 1.8e308"),
        ("POST", "search", b'{"row": 1}', 422, "target must be a text"),
        ("GET", "result", None, 404, "nothing was searched in this session yet."),
        ("GET", "figures", None, 404, "nothing was searched in this session yet."),
        ("GET", "nothing", None, 404, "Not Found"),
        ("GET", "search", None, 405, "Method Not Allowed"),
    ],
)
def test_what_cannot_be_done_is_told_in_words(
    tab: Tab, method: str, path: str, sent: bytes | None, status: int, words: str
) -> None:
    place = f"/api/sessions/{tab.session}/{path}"

    answer = tab.client.request(method, place, content=sent)

    assert answer.status_code == status
    assert words in answer.json()["error"]


def test_an_unknown_session_and_a_wrong_page_of_rows_are_told(tab: Tab) -> None:
    lost = tab.client.post("/api/sessions/nobody/search", json={})
    rows = tab.client.get("/api/rows", params={"start": "-1"})

    assert lost.status_code == 404
    assert lost.json()["error"] == "there is no such session; load the page again."
    assert rows.status_code == 422
    assert rows.json()["error"] == "start must be a whole number of at least 0, got '-1'."


def test_rules_that_contradict_end_a_search_with_our_words(tab: Tab) -> None:
    question = question_of(tab, 1, rules=["age <= 10"])

    events = tab.search(question)

    assert events[-1][0] == "failed"
    assert "age <= 10" in events[-1][1]["error"]


def test_rules_are_checked_while_they_are_written(tab: Tab) -> None:
    answer = tab.client.post("/api/rules", json={"rules": ["age increases", "age >> 3"]}).json()

    assert [fault["line"] for fault in answer["faults"]] == [1]


def test_half_a_character_is_told_like_any_other_fault(tab: Tab) -> None:
    sent = b'{"rules": ["\\ud800 >> 3"]}'

    answer = tab.client.post("/api/rules", content=sent)

    assert answer.status_code == 200
    assert [fault["line"] for fault in answer.json()["faults"]] == [0]


def test_only_the_pages_own_files_are_served(tab: Tab) -> None:
    good = (
        "/",
        "/explorer/page/main.js",
        "/result/report/page/dom.js",
        "/explorer/page/explorer.css",
    )
    bad = ("/explorer/app.py", "/explorer/page/../app.py", "/result/report/page/", "/docs")

    assert [tab.client.get(path).status_code for path in good] == [200] * len(good)
    assert [tab.client.get(path).status_code for path in bad] == [404] * len(bad)


def test_without_the_token_the_server_tells_nothing(explorer: Explorer) -> None:
    home = explorer.address.partition("/?")[0]

    for path in ("/", "/api/setup", "/explorer/page/main.js", "/library.js", "/nothing"):
        refused = httpx.get(home + path)
        assert refused.status_code == 403
        assert "lacks the token" in refused.json()["error"]


class Failing:
    """A model that fails once it is told to, with words that are not for visitors."""

    fails = False

    def __call__(self, rows: Any) -> Any:
        """Return the ages, or fail."""
        if self.fails:
            raise RuntimeError("secret of the model")
        return rows["age"] / 100


def test_a_model_that_fails_is_told_and_nothing_of_the_server_is() -> None:
    model = Failing()
    explainer = cp.Explainer(model, observed()[["age"]])
    with served(explainer, observed()) as explorer:
        tab = Tab(explorer)
        model.fails = True

        answer = tab.client.post("/api/prediction", json={"values": [22]})

    assert answer.status_code == 422
    assert answer.json()["error"].startswith("the model raised RuntimeError on ")


def test_an_error_of_our_own_is_told_without_its_traceback(
    explainer: cp.Explainer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    rows = Rows.of(explainer, observed(), None)
    app = Guard(create_app(explainer, rows), "t", 1)
    visitor = Visitor(app, "http://127.0.0.1:1")
    monkeypatch.setattr("counterpoint.explorer.requests.describe_rows", lambda *_: 1 / 0)

    answer = visitor.get("/api/rows", params={"token": "t"})

    assert answer.status_code == 500
    assert answer.json() == {"error": "the server failed; its log says how."}
    assert "ZeroDivisionError" in caplog.text


def test_a_model_that_is_too_slow_is_given_up(model: Gated, explainer: cp.Explainer) -> None:
    with served(explainer, observed(), limits=VisitorLimits(patience=0.05)) as explorer:
        tab = Tab(explorer)
        model.hold()

        answer = tab.client.post("/api/prediction", json={"values": [22, None, 0, 18300]})
        model.gate.set()

    assert answer.status_code == 503
    assert answer.json()["error"] == "this took longer than the 0.05 seconds allowed."


def test_searches_beyond_what_the_server_takes_wait_and_then_are_refused(
    model: Gated, explainer: cp.Explainer
) -> None:
    with served(explainer, observed(), limits=VisitorLimits(searches=1)) as explorer:
        tabs = [Tab(explorer) for _ in range(2 + MOST_WAITING)]
        question = question_of(tabs[0], 1)
        sessions = sessions_of(explorer)
        model.hold()
        with ThreadPoolExecutor(len(tabs)) as pool:
            jobs = [pool.submit(tabs[0].search, question)]
            assert model.reached.wait(PATIENCE)
            for each in tabs[1:-1]:
                begun = threading.Event()
                jobs.append(pool.submit(stream_until, each, question, begun))
                assert begun.wait(PATIENCE)
            refused = tabs[-1].post("search", question)
            for each in tabs:
                each.post("cancel", {})
            model.gate.set()
            endings = [job.result(PATIENCE)[-1][0] for job in jobs]

    assert refused.status_code == 429
    assert refused.json()["error"] == (
        f"{1 + MOST_WAITING} searches are running or waiting, which is all this server takes; try "
        "again when some are done."
    )
    assert endings == ["done"] * len(endings)
    assert sessions is not None


def test_asking_again_where_there_is_no_room_leaves_the_running_search_alone(
    model: Gated, explainer: cp.Explainer
) -> None:
    with served(explainer, observed(), limits=VisitorLimits(searches=1)) as explorer:
        tabs = [Tab(explorer) for _ in range(1 + MOST_WAITING)]
        question = question_of(tabs[0], 1)
        model.hold()
        with ThreadPoolExecutor(len(tabs)) as pool:
            mine = pool.submit(tabs[0].search, question)
            assert model.reached.wait(PATIENCE)
            others = []
            for each in tabs[1:]:
                begun = threading.Event()
                others.append(pool.submit(stream_until, each, question, begun))
                assert begun.wait(PATIENCE)
            refused = tabs[0].post("search", question | {"max_changed": 1})
            for each in tabs[1:]:
                each.post("cancel", {})
            model.gate.set()
            ending = mine.result(PATIENCE)[-1]
            for other in others:
                other.result(PATIENCE)

        assert refused.status_code == 429
        assert ending[0] == "done"
        assert ending[1]["stopped"] != "interrupt"
        assert tabs[0].summary()["counterfactuals"] == expected(explainer, 1)


HALF = b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\nx-slow: "


def half_asked(explorer: Explorer, sent: bytes = HALF) -> socket.socket:
    """Open a connection and send a part of a request."""
    parts = urlsplit(explorer.address)
    connection = socket.create_connection((parts.hostname, parts.port), timeout=PATIENCE)
    connection.sendall(sent)
    return connection


@pytest.mark.parametrize("sent", [b"", b"G", HALF, b"GET / HTTP/1.1\r\nhost: x\r\n\r\n" + HALF])
def test_half_a_head_is_not_waited_for(
    explainer: cp.Explainer, monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    """Nor is the second half if it comes byte by byte, or after another request."""
    assert TimedProtocol.seconds == 10.0
    monkeypatch.setattr(TimedProtocol, "seconds", 0.4)
    with served(explainer, observed()) as explorer, half_asked(explorer, sent) as connection:
        start, is_open = time.monotonic(), True
        connection.settimeout(0.05)
        while is_open and time.monotonic() - start < 20.0:
            try:
                connection.sendall(b"a" if sent else b"")
                is_open = connection.recv(4096) != b""
            except TimeoutError:
                pass
            except OSError:
                is_open = False

        assert not is_open
        assert 0.2 < time.monotonic() - start < 15.0


def test_nine_hundred_halves_of_requests_shut_nobody_out(explainer: cp.Explainer) -> None:
    with served(explainer, observed()) as explorer, ExitStack() as stack:
        halves = [stack.enter_context(half_asked(explorer)) for _ in range(900)]

        tab = Tab(explorer)

        assert tab.search(question_of(tab, 1))[-1][0] == "done"
        n_closed = 0
        for connection in halves[: 900 - MOST_SILENT]:
            with suppress(ConnectionResetError):
                assert connection.recv(1) == b""
            n_closed += 1
        assert n_closed == 900 - MOST_SILENT


def test_an_open_search_is_not_cut_off_by_the_time_for_heads(
    model: Gated, explainer: cp.Explainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TimedProtocol, "seconds", 0.2)
    with served(explainer, observed()) as explorer:
        tab = Tab(explorer)
        model.hold()
        threading.Timer(1.0, model.gate.set).start()

        assert tab.search(question_of(tab, 1))[-1][0] == "done"


def stream_until(tab: Tab, question: dict[str, Any], begun: threading.Event) -> Any:
    """Search, tell when it has begun, and return all events."""
    path, text = f"/api/sessions/{tab.session}/search", ""
    with tab.client.stream("POST", path, json=question) as response:
        for part in response.iter_text():
            text += part
            begun.set()
    return events_of(text)


def test_of_too_many_sessions_the_oldest_makes_room(explainer: cp.Explainer) -> None:
    sessions = Sessions(explainer, 1)
    names = [sessions.open() for _ in range(MOST_SESSIONS + 1)]

    assert sessions.get(names[0]) is None
    assert sessions.get(names[1]) is not None
    sessions.close()


@pytest.mark.parametrize(
    ("port", "words"), [(-1, "--port must lie between 0 and 65535, got -1"), (65536, "got 65536")]
)
def test_a_port_that_is_none_is_refused(port: int, words: str) -> None:
    with pytest.raises(cp.InvalidInput, match=words):
        bound(port)


def test_a_port_that_is_taken_is_told(explorer: Explorer) -> None:
    port = int(explorer.address.split(":")[2].split("/")[0])

    with pytest.raises(cp.InvalidInput, match=rf"^--port {port} cannot be used \(.*\); choose"):
        bound(port)


def test_it_listens_on_this_computer_only() -> None:
    with bound(0) as sock:
        assert sock.getsockname()[0] == "127.0.0.1"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a model and a table."""
    from sklearn.linear_model import LogisticRegression
    from skops.io import dump

    folder = tmp_path_factory.mktemp("served")
    data = observed()[["age"]].assign(income=range(90))
    data.to_csv(folder / "data.csv", index=False)
    dump(LogisticRegression().fit(data, data["age"] > 40), folder / "model.skops")
    return folder


def serve(files: Path, *more: str) -> list[str]:
    """Return the command that serves the folder's model."""
    model, data = str(files / "model.skops"), str(files / "data.csv")
    command = [sys.executable, "-m", "counterpoint", "serve", "--model", model, "--data", data]
    return [*command, *more]


def test_the_command_prints_an_address_that_answers_and_ends_with_ctrl_c(files: Path) -> None:
    command = serve(files, "--row", "3", "--constraint", "age increases", "--target", "True")
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:  # noqa: S603
        assert server.stdout is not None
        address = server.stdout.readline().split()[-1]

        with httpx.Client(timeout=PATIENCE) as client:
            page = client.get(address)
            setup = client.get(address.partition("?")[0] + "api/setup").json()
        server.send_signal(2)

        assert server.wait(PATIENCE) == 0
    assert "<title>Explorer" in page.text
    assert setup["first"]["row"] == 3
    assert setup["first"]["rules"] == ["age increases"]
    assert setup["first"]["target"] == "True"


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--row", "90"], "--row 90 is not in the data"),
        (["--seconds", "0"], "--seconds must be a number above 0, got 0.0."),
        (["--searches", "0"], "--searches must lie between 1 and 64, got 0."),
        (["--constraint", "agee increases"], "did you mean 'age'?"),
        (["--fixed", "agee"], "fixed names 'agee'"),
        (["--target", "3"], "--target '3' is neither a class"),
        (["--port", "99999"], "--port must lie between 0 and 65535, got 99999"),
    ],
)
def test_what_cannot_be_served_is_told_before_it_starts(
    files: Path,
    more: list[str],
    words: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)  # which the command sets
    command = serve(files, *more)

    status = main(command[command.index("serve") :])

    told = capsys.readouterr().err
    assert status == 2
    assert words in told
    assert "Traceback" not in told


def test_another_table_of_rows_is_scored(explainer: cp.Explainer, model: Gated) -> None:
    other = observed().iloc[[5, 1]]

    rows = Rows.of(explainer, observed(), other)

    assert rows.labels == ("p5", "p1")
    assert rows.outputs.tolist() == model(other).tolist()


def test_without_the_servers_packages_the_command_says_what_to_install(
    files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)

    status = main(serve(files)[3:])

    assert status == 2
    assert capsys.readouterr().err == (
        "counterpoint: counterpoint serve needs uvicorn, which is not installed; run: pip install "
        '"counterpoint[serve]".\n'
    )


def test_a_model_in_memory_is_served_with_its_rows_numbered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    explainer = explainer_of(Gated())
    served: list[Any] = []
    monkeypatch.setattr(Explorer, "run", lambda self: served.append(self))

    explainer.serve(opens=False)

    assert served[0].app.app.state.routes.rows.labels[:2] == ("0", "1")
    served[0]._socket.close()
