# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The blocking client, against the real service."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import outrider
from outrider import Client, Response
from peers import Peer, serve, stop

PATTERN = bytes(range(256)) * 40_000

MakePeer = Callable[..., Peer]


def test_a_get_has_status_fields_and_body(client: Client, origin: str) -> None:
    r = client.get(f"{origin}/json", params={"q": "a b"})
    assert (r.status, r.ok, r.method, r.url) == (200, True, "GET", f"{origin}/json?q=a%20b")
    assert r.headers["content-TYPE"] == "application/json" and "Content-Length" in r.headers
    assert r.content == b'{"id":1,"x":0.1}' and r.text == '{"id":1,"x":0.1}' and r.json() == {"id": 1, "x": 0.1}
    assert (r.attempts, r.redirects, r.error, r.body_kind, r.complete) == (1, [], None, "base64", True)
    assert r.size == 16 and r.request and r.http_version == "1.1" and r.remote
    assert repr(r) == f"<Response [200] GET {origin}/json?q=a%20b>"


def test_repeated_fields_are_kept(client: Client, origin: str) -> None:
    headers = client.get(f"{origin}/headers").headers
    assert headers.get_all("x-twice") == ["one", "two"] and headers["X-Twice"] == "one, two"
    assert headers.get("x-none") is None and headers.get("x-none", "-") == "-"
    assert "x-twice" in list(headers) and len(headers) == len(headers.keys()) == len(headers.values())
    with pytest.raises(KeyError):
        headers["x-none"]


@pytest.mark.parametrize("method", ["post", "put", "patch", "delete", "options"])
def test_each_method_sends_what_it_is_given(client: Client, origin: str, method: str) -> None:
    r = getattr(client, method)(f"{origin}/echo", json={"a": "ë"}, headers={"X-A": "1"}, auth=("u", "p"))
    seen = r.json()
    fields = {name.lower(): value for name, value in seen["headers"]}
    assert seen["method"] == method.upper() and json.loads(seen["body"]) == {"a": "ë"}
    assert fields["content-type"] == "application/json" and fields["x-a"] == "1"
    assert fields["authorization"] == "Basic dTpw"


def test_bodies_of_every_kind_arrive(client: Client, origin: str, tmp_path: Path) -> None:
    file = tmp_path / "body"
    file.write_bytes(b"from a file")
    url = f"{origin}/echo"
    assert client.post(url, data="tëxt").json()["body"] == "tëxt"
    assert client.post(url, data=b"bytes", content_type="image/png").json()["body"] == "bytes"
    assert client.post(url, data={"a": 1, "b": ["x", "y"]}).json()["body"] == "a=1&b=x&b=y"
    assert client.post(url, data=[("a", "1"), ("a", "2")]).json()["body"] == "a=1&a=2"
    assert client.post(url, file=file).json()["body"] == "from a file"
    with file.open("rb") as opened:
        assert client.post(url, data=opened).json()["body"] == "from a file"


def test_a_head_has_no_body(client: Client, origin: str) -> None:
    r = client.head(f"{origin}/json")
    assert r.status == 200 and r.content == b"" and list(r.iter_bytes()) == []


def test_a_status_is_an_error_only_when_asked(client: Client, origin: str) -> None:
    r = client.get(f"{origin}/status/404")
    assert r.status == 404 and not r.ok and r.error is None
    r.raise_for_error()
    with pytest.raises(outrider.StatusError, match="404") as caught:
        r.raise_for_status()
    assert caught.value.response is r and caught.value.code == 1600 and not caught.value.retryable
    client.get(f"{origin}/json").raise_for_status()


def test_a_refused_connection_raises_and_carries_the_response(client: Client) -> None:
    with pytest.raises(outrider.ConnectError) as caught:
        client.get("http://127.0.0.1:1/")
    problem = caught.value
    assert (problem.code, problem.kind, problem.reason) == (1402, "sessionTaskFailed", "refused")
    assert problem.retryable and problem.response.status is None and problem.response.url == "http://127.0.0.1:1/"
    r = client.get("http://127.0.0.1:1/", check=False)
    assert isinstance(r.error, outrider.ConnectError) and not r.ok
    with pytest.raises(outrider.ConnectError):
        r.raise_for_error()
    with pytest.raises(outrider.ConnectError):
        r.raise_for_status()


def test_a_body_that_was_cut_short_is_not_lost(client: Client, peer: MakePeer) -> None:
    cut = peer(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nthe beginning")
    with pytest.raises(outrider.ConnectionLost) as caught:
        client.get(cut.url)
    assert caught.value.response.content == b"the beginning" and caught.value.response.status == 200
    assert caught.value.response.complete is False


def test_text_goes_by_the_charset(client: Client, peer: MakePeer) -> None:
    body = "Zoë".encode("latin-1")
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=iso-8859-1\r\nContent-Length: 3\r\n\r\n"
    assert client.get(peer(head + body).url).text == "Zoë"
    r = client.get(peer(head + body).url, serialize="text")
    assert (r.body_kind, r.text, r.content) == ("text", "Zoë", body)


def test_a_timeout_raises(client: Client, origin: str) -> None:
    began = time.monotonic()
    with pytest.raises(outrider.RequestTimeout) as caught:
        client.get(f"{origin}/delay/20", timeout=0.2)
    assert isinstance(caught.value, TimeoutError) and caught.value.code == 1405
    assert time.monotonic() - began < 5


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:99999/", "nonsense", "http://[::1", "ftp://127.0.0.1/", "http://a b/"]
)
def test_a_wrong_url_names_the_parameter(client: Client, url: str) -> None:
    with pytest.raises(ValueError) as caught:
        client.get(url)
    assert isinstance(caught.value, outrider.OutriderError) and caught.value.pointer == "/url"


def test_wrong_parameters_are_named(client: Client) -> None:
    with pytest.raises(outrider.InvalidCall) as caught:
        client.call("diagnostics.sleep", seconds="soon")
    assert caught.value.pointer == "/seconds" and caught.value.code == -32602
    with pytest.raises(outrider.UnknownMethod):
        client.call("no.such")
    with pytest.raises(outrider.HandleError):
        client.call("response.read", response="rsp_aaaaaaaaaaaaaaaa")


def test_any_method_can_be_called(client: Client) -> None:
    assert client.call("diagnostics.echo", a=1, name="x", b=None, timeout=3) == {
        "a": 1,
        "name": "x",
        "b": None,
        "timeout": 3,
    }
    assert client.invoke("diagnostics.echo") == {}
    assert client.info()["protocol"] == 1 and client.stats()


@pytest.mark.usefixtures("impatient")
def test_a_late_answer_is_given_up_and_cancelled(client: Client) -> None:
    began = time.monotonic()
    with pytest.raises(outrider.RequestTimeout, match=r"diagnostics\.sleep"):
        client.invoke("diagnostics.sleep", {"seconds": 30}, timeout=0.05)
    assert time.monotonic() - began < 8
    assert client.call("diagnostics.echo", still="here") == {"still": "here"}


@pytest.mark.parametrize("size", [1_048_577, 3_000_000])
def test_a_large_body_is_fetched_when_asked_for(client: Client, origin: str, size: int) -> None:
    r = client.get(f"{origin}/bytes/{size}")
    assert r.body_kind == "stored" and r.size == size and r.handle
    assert r.content == PATTERN[:size]
    with pytest.raises(outrider.HandleError):
        client.call("response.read", response=r.handle)


def test_a_large_body_can_be_read_in_pieces_saved_and_given_back(client: Client, origin: str, tmp_path: Path) -> None:
    with client.get(f"{origin}/bytes/2000000", body_to="stored") as r:
        pieces = list(r.iter_bytes(300_000))
        assert [len(piece) for piece in pieces] == [300_000] * 6 + [200_000]
        assert b"".join(pieces) == PATTERN[:2_000_000]
        saved = r.save(tmp_path / "saved")
        assert Path(saved).read_bytes() == PATTERN[:2_000_000]
        with pytest.raises(outrider.OutriderError):
            r.save(tmp_path / "saved")
        r.save(tmp_path / "saved", replace=True)
    r.close()
    with pytest.raises(outrider.HandleError):
        list(r.iter_bytes())


def test_a_small_body_can_be_saved_and_read_in_pieces(client: Client, origin: str, tmp_path: Path) -> None:
    r = client.get(f"{origin}/bytes/1000")
    assert [len(piece) for piece in r.iter_bytes(300)] == [300, 300, 300, 100]
    r.save(tmp_path / "small")
    assert (tmp_path / "small").read_bytes() == PATTERN[:1000]
    with pytest.raises(FileExistsError):
        r.save(tmp_path / "small")
    with pytest.raises(ValueError, match="chunk_size"):
        list(r.iter_bytes(0))


@pytest.mark.parametrize("size", [0, 1, 65_535, 65_536, 400_000, 1_048_576])
def test_bodies_of_any_size_are_exact(client: Client, origin: str, size: int) -> None:
    assert client.get(f"{origin}/bytes/{size}").content == PATTERN[:size]


def test_many_requests_come_back_in_order(client: Client, origin: str) -> None:
    urls = [f"{origin}/bytes/{size}" for size in range(300)]
    for window in (1, 7, 64, 256):
        answers = client.many(urls, window=window)
        assert [len(r.content) for r in answers if isinstance(r, Response)] == list(range(300))


def test_one_failure_among_many_disturbs_nobody(client: Client, origin: str) -> None:
    requests: list[Any] = [
        f"{origin}/json",
        "http://127.0.0.1:1/",
        ("POST", f"{origin}/echo"),
        "http://127.0.0.1:99999/",
        {"url": f"{origin}/echo", "method": "PUT", "data": "x"},
        {"url": "http://127.0.0.1:1/", "check": False},
    ]
    a, b, c, d, e, f = client.many(requests, headers={"X-All": "1"})
    assert isinstance(a, Response) and a.status == 200
    assert isinstance(b, outrider.ConnectError) and b.response.status is None
    assert isinstance(c, Response) and c.json()["method"] == "POST"
    assert isinstance(d, outrider.OutriderError) and d.pointer == "/url"
    assert isinstance(e, Response) and e.json()["body"] == "x"
    assert ["X-All", "1"] in e.json()["headers"]
    assert isinstance(f, Response) and f.error is not None
    assert client.many([]) == []
    with pytest.raises(ValueError, match="window"):
        client.many(["http://h/"], window=0)


def test_many_large_requests_and_answers_do_not_block_each_other(client: Client, origin: str) -> None:
    answers = client.many([{"url": f"{origin}/echo", "method": "POST", "data": "x" * 400_000}] * 40, window=40)
    assert [len(r.json()["body"]) for r in answers if isinstance(r, Response)] == [400_000] * 40


def test_threads_share_a_client(client: Client, origin: str) -> None:
    def work(number: int) -> bool:
        size = number * 37 % 5000
        return client.get(f"{origin}/bytes/{size}").content == PATTERN[:size]

    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(work, range(600)))


def test_more_threads_than_calls_allowed_at_a_time(client: Client) -> None:
    with ThreadPoolExecutor(300) as pool:
        calls = [pool.submit(client.call, "diagnostics.sleep", seconds=0.2) for _ in range(600)]
        assert all(each.result() for each in calls)


def test_a_slow_call_holds_nobody_up(client: Client) -> None:
    began = time.monotonic()
    with ThreadPoolExecutor(8) as pool:
        slow = pool.submit(client.call, "diagnostics.sleep", seconds=1.0)
        quick = [pool.submit(client.call, "diagnostics.sleep", seconds=0.01) for _ in range(50)]
        assert all(each.result() for each in quick)
        assert time.monotonic() - began < 0.9
        assert not slow.done() and slow.result() == {"seconds": 1.0}


@pytest.mark.usefixtures("impatient")
def test_when_the_reading_thread_gives_up_another_goes_on(client: Client) -> None:
    client.info()
    with ThreadPoolExecutor(8) as pool:
        late = pool.submit(client.invoke, "diagnostics.sleep", {"seconds": 30}, timeout=0.1)
        others = [pool.submit(client.call, "diagnostics.sleep", seconds=0.5) for _ in range(5)]
        with pytest.raises(outrider.RequestTimeout):
            late.result()
        assert [each.result() for each in others] == [{"seconds": 0.5}] * 5


def test_threads_and_many_share_a_client(client: Client, origin: str) -> None:
    with ThreadPoolExecutor(8) as pool:
        batches = [pool.submit(client.many, [f"{origin}/bytes/{n}" for n in range(200)]) for _ in range(4)]
        singles = [pool.submit(client.get, f"{origin}/bytes/{n}") for n in range(100)]
        for batch in batches:
            assert [len(r.content) for r in batch.result() if isinstance(r, Response)] == list(range(200))
        assert [len(each.result().content) for each in singles] == list(range(100))


def test_started_requests_are_waited_for_and_cancelled(client: Client, origin: str) -> None:
    request = client.start("GET", f"{origin}/json")
    done = client.wait(request)
    assert done is not None and done.json() == {"id": 1, "x": 0.1}
    request = client.start("GET", f"{origin}/delay/20")
    assert client.wait(request, timeout=0.05) is None
    assert client.cancel(request) == "cancelled"
    with pytest.raises(outrider.Cancelled):
        client.wait(request)


def test_events_are_iterated_over(client: Client, origin: str) -> None:
    with client.events(timeout=10) as events:
        request = client.start("GET", f"{origin}/json", events=True, tag="mine")
        seen = []
        for event in events:
            assert (event.request, event.tag) == (request, "mine")
            seen.append(event.name)
            if event.name == "event.finish":
                break
    assert seen[-1] == "event.finish" and "event.response" in seen and events.dropped == 0
    with client.events("event.none", timeout=0.05) as none:
        client.call("diagnostics.notify", count=3)
        assert list(none) == []


def test_events_that_nobody_takes_are_dropped_and_counted(client: Client) -> None:
    with client.events("diagnostics.tick", timeout=0.5, limit=10) as events:
        client.call("diagnostics.notify", count=25)
        assert [event.params["n"] for event in events] == list(range(15, 25)) and events.dropped == 15


def test_events_are_given_to_functions_in_order(client: Client) -> None:
    seen: list[int] = []
    done = threading.Event()

    @client.on("diagnostics.tick")
    def tick(event: outrider.Event) -> None:
        seen.append(client.call("diagnostics.echo", n=event.params["n"])["n"])
        if len(seen) == 50:
            done.set()

    client.call("diagnostics.notify", count=50)
    assert done.wait(10) and seen == list(range(50))
    client.off("diagnostics.tick", tick)
    client.call("diagnostics.notify", count=1)
    assert client.call("diagnostics.echo", a=1) == {"a": 1} and len(seen) == 50


def test_a_function_that_fails_is_a_warning(client: Client) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        done = threading.Event()
        client.on("diagnostics.tick", lambda event: 1 / 0)
        client.on("diagnostics.tick", lambda event: done.set())
        client.call("diagnostics.notify", count=1)
        assert done.wait(10)
    assert any("ZeroDivisionError" in str(each.message) for each in caught)


def test_callbacks_are_answered_by_functions(client: Client) -> None:
    with pytest.raises(outrider.CallbackError) as refused:
        client.call("diagnostics.callback", method="callback.add", params={"a": 2, "b": 3})
    assert refused.value.data["error"]["code"] == -32601

    @client.on_callback("callback.add")
    def add(params: dict[str, Any]) -> dict[str, Any]:
        return {"sum": params["a"] + params["b"]}

    asked = {"method": "callback.add", "params": {"a": 2, "b": 3}}
    assert client.call("diagnostics.callback", **asked)["answer"] == {"sum": 5}
    assert client.get("http://127.0.0.1:1/", check=False).error is not None
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        with pytest.raises(outrider.CallbackError) as failed:
            client.call("diagnostics.callback", method="callback.add", params={})
        assert "KeyError" in failed.value.data["error"]["message"]


def test_a_child_made_by_fork_has_a_connection_of_its_own(client: Client, origin: str) -> None:
    assert client.get(f"{origin}/json").ok
    with ThreadPoolExecutor(1) as pool, warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        busy = pool.submit(client.call, "diagnostics.sleep", seconds=0.5)
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            try:
                same = all(client.get(f"{origin}/bytes/{n}").content == PATTERN[:n] for n in range(50))
                os._exit(0 if same else 1)
            except BaseException:
                os._exit(2)
        assert busy.result() == {"seconds": 0.5}
        for n in range(50):
            assert client.get(f"{origin}/bytes/{n}").content == PATTERN[:n]
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_service_that_was_restarted_is_found_again(binary: str, directory: str) -> None:
    path = f"{directory}/again.sock"
    first = serve(binary, path)
    with Client(socket=path) as client:
        assert client.info()
        stop(first)
        with pytest.raises(outrider.ServerNotFound, match=path):
            client.info()
        second = serve(binary, path)
        try:
            assert client.info()
        finally:
            stop(second)


def test_a_service_that_goes_away_is_told_with_what_was_in_flight(binary: str, directory: str) -> None:
    path = f"{directory}/gone.sock"
    child = serve(binary, path)
    try:
        with Client(socket=path) as client, ThreadPoolExecutor(3) as pool:
            waiting = [pool.submit(client.call, "diagnostics.sleep", seconds=30) for _ in range(3)]
            while client.call("server.stats")["calls"]["running"] < 4:
                time.sleep(0.01)
            child.kill()
            for each in waiting:
                with pytest.raises(outrider.ServerGone) as caught:
                    each.result(10)
                assert "diagnostics.sleep" in caught.value.in_flight and isinstance(caught.value, ConnectionError)
    finally:
        stop(child)


def test_a_service_of_ones_own_on_stdio(binary: str, origin: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OUTRIDER_BIN", binary)
    with Client(stdio=True) as client:
        assert client.get(f"{origin}/json").json()["id"] == 1
        child = client._child
        assert client.info()["transport"] == "stdio"
    assert child is not None and child.returncode == 0
    with Client(command=[binary, "serve", "--stdio"]) as client:
        assert len(client.many([f"{origin}/json"] * 100)) == 100
        assert client._child is not None
        client._child.kill()
        client._child.wait()
        with pytest.raises(outrider.ServerGone):
            client.info()
        with pytest.raises(outrider.ServerGone, match="has ended"):
            client.info()


def test_the_service_is_found_and_started_when_there_is_none(binary: str, directory: str, origin: str) -> None:
    path = f"{directory}/auto.sock"
    source = os.path.dirname(os.path.dirname(outrider.__file__))
    environment = {**os.environ, "OUTRIDER_SOCKET": path, "OUTRIDER_BIN": binary, "PYTHONPATH": source}
    program = (
        f"import outrider; print(outrider.get('{origin}/json').json()['id'], outrider.get('{origin}/json').status)"
    )
    words = [sys.executable, "-W", "error", "-c", program]
    try:
        for _ in range(2):
            done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=60)
            assert (done.stdout, done.stderr) == ("1 200\n", "")
    finally:
        with Client(socket=path) as client:
            client.call("server.stop")


def test_where_nothing_answers_the_message_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(outrider.ServerNotFound, match=r"no service answers at .*/none\.sock"):
        Client(socket=tmp_path / "none.sock").info()
    monkeypatch.setenv("OUTRIDER_SOCKET", str(tmp_path / "none.sock"))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("OUTRIDER_BIN", raising=False)
    with pytest.raises(outrider.ServerNotFound, match="OUTRIDER_BIN"):
        Client().info()
    with pytest.raises(outrider.ServerNotFound, match="no service answers"):
        Client(spawn=False).info()
    monkeypatch.setenv("OUTRIDER_BIN", str(tmp_path / "missing"))
    with pytest.raises(outrider.ServerNotFound, match="cannot be run"):
        Client().info()
    with pytest.raises(outrider.ServerNotFound, match="107"):
        Client(socket="/tmp/" + "x" * 200).info()


@pytest.mark.parametrize(
    ("script", "problem", "says"),
    [
        ("echo oops >&2; exit 3", outrider.ServerNotFound, "oops"),
        ("exit 7", outrider.ServerNotFound, "exit status 7"),
        ("echo hello", outrider.ProtocolError, "instead of one JSON object"),
        ("""echo '{"socket":"/tmp/x","protocol":9}'""", outrider.ProtocolError, "speaks protocol 9"),
        ("""echo '{"socket":"/tmp/none","protocol":1}'""", outrider.ServerNotFound, "started but does not answer"),
    ],
)
def test_a_get_socket_that_fails_is_explained(
    script: str, problem: type[Exception], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = tmp_path / "outrider"
    fake.write_text(f"#!/bin/sh\n{script}\n")
    fake.chmod(0o755)
    monkeypatch.setenv("OUTRIDER_SOCKET", str(tmp_path / "none.sock"))
    monkeypatch.setenv("OUTRIDER_BIN", str(fake))
    with pytest.raises(problem, match=says):
        Client().info()


def test_a_socket_that_somebody_else_could_have_put_there_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OUTRIDER_SOCKET", raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    (tmp_path / "outrider").mkdir()
    (tmp_path / "outrider").chmod(0o777)
    with pytest.raises(outrider.ServerNotFound, match="nobody else can write to"):
        Client(spawn=False).info()


ANSWER = b'{"jsonrpc":"2.0","id":1,'


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (b"hello\n", outrider.ProtocolError),
        (b"[1]\n", outrider.ProtocolError),
        (ANSWER + b'"result":7}\n', outrider.ProtocolError),
        (ANSWER + b'"error":"no"}\n', outrider.ProtocolError),
        (ANSWER + b'"error":{"code":-32603,"message":"bug"}}\n', outrider.ServerError),
        (ANSWER + b'"error":{"code":-31999,"message":"new"}}\n', outrider.ServerError),
        (b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"?"}}\n', outrider.ServerGone),
        (ANSWER + b'"result":{}', outrider.ServerGone),
        (b'{"jsonrpc":"2.0","id":99,"result":{}}\n', outrider.ServerGone),
    ],
)
def test_a_service_that_breaks_the_protocol_is_an_error(
    peer: MakePeer, answer: bytes, problem: type[Exception]
) -> None:
    with Client(socket=peer(answer, unix=True).path) as client, pytest.raises(problem):
        client.invoke("server.info", timeout=5)


def test_nothing_that_was_sent_is_sent_again(peer: MakePeer) -> None:
    server = peer(b" ", unix=True)
    with Client(socket=server.path) as client:
        with pytest.raises(outrider.ServerGone) as caught:
            client.post("http://h/", data="x")
        assert caught.value.in_flight == ("data.send",)
        outcomes = client.many(["http://h/"] * 3)
        assert [type(each) for each in outcomes] == [outrider.ServerGone] * 3
    assert len(server.received) == 2


@pytest.mark.usefixtures("impatient")
def test_silence_ends_with_a_cancellation(peer: MakePeer) -> None:
    with Client(socket=peer(b"", unix=True).path) as client:
        began = time.monotonic()
        with pytest.raises(outrider.RequestTimeout):
            client.get("http://h/", timeout=0.05)
        (late,) = client.many(["http://h/"], timeout=0.05)
        assert isinstance(late, outrider.RequestTimeout)
        assert time.monotonic() - began < 10


def test_a_closed_client_says_so(service: str) -> None:
    client = Client(socket=service)
    client.info()
    client.close()
    client.close()
    with pytest.raises(outrider.ServerGone, match="closed"):
        client.info()
    with pytest.raises(TypeError, match="only one of"):
        Client(socket="x", stdio=True)
    with pytest.raises(TypeError, match="list of words"):
        Client(command="outrider")


def test_an_interrupted_call_is_cancelled_and_the_client_goes_on(client: Client) -> None:
    client.info()
    main = threading.main_thread().ident
    assert main is not None
    timer = threading.Timer(0.2, signal.pthread_kill, (main, signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        client.call("diagnostics.sleep", seconds=30)
    timer.join()
    assert client.call("diagnostics.echo", a=1) == {"a": 1}


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (["call", "diagnostics.echo", "a=1", "b:=[2]", '{"c":3}'], 0, '{"a":"1","b":[2],"c":3}\n'),
        (["call", "no.such"], 1, "UnknownMethod"),
        (["info"], 0, '"protocol":1'),
        (["get", "http://127.0.0.1:1/"], 1, "ConnectError"),
        (["nonsense"], 2, "usage"),
        (["call", "diagnostics.echo", "word"], 2, "neither"),
        ([], 2, "usage"),
        (["--help"], 0, "usage"),
    ],
)
def test_the_module_is_a_command(service: str, words: list[str], status: int, says: str) -> None:
    command = [sys.executable, "-m", "outrider", "--socket", service, *words]
    source = os.path.dirname(os.path.dirname(outrider.__file__))
    environment = {**os.environ, "PYTHONPATH": source}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == status and says in done.stdout + done.stderr
