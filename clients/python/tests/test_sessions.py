# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Sessions of both clients, and the functions that are asked about their requests."""

import asyncio
import gc
import http.server
import pathlib
import re
import threading
import warnings

import outrider
import pytest

PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs/guide/sessions.md"


def sent(response):
    return dict(response.json()["headers"])


def test_settings_of_a_session_are_those_of_its_requests(client, origin):
    session = client.session(headers={"X-Api": "1"}, timeout=5)
    assert sent(session.get(origin + "/echo"))["X-Api"] == "1"
    assert session.post(origin + "/echo", json={"a": 1}).json()["body"] == '{"a":1}'
    session.close()


def test_what_a_session_says_goes_before_what_its_client_says(service, origin):
    fields = {"User-Agent": "client", "X-Client": "1", "X-Request": "client"}
    settings = {"headers": {"user-agent": "session", "X-Session": "1", "X-Request": "session"}, "timeout": 0.2}

    def check(response):
        found = {name.lower(): value for name, value in response.json()["headers"]}
        assert found["user-agent"] == "session" and found["x-request"] == "request"
        assert found["x-client"] == found["x-session"] == "1"

    with outrider.Client(socket=service, headers=fields, timeout=30) as client:
        with client.session(**settings) as session:
            check(session.get(origin + "/echo", headers={"X-Request": "request"}))
            with pytest.raises(outrider.RequestTimeout):
                session.get(origin + "/delay/20")
            assert session.get(origin + "/echo", timeout=20).ok
            handle = session.handle
        with pytest.raises(outrider.HandleError):
            client.call("session.close", session=handle)
    with outrider.Client(socket=service, auth=("a", "b")) as client:
        with client.session(headers={"Authorization": "mine"}) as session:
            assert sent(session.get(origin + "/echo"))["Authorization"] == "mine"
        with client.session() as session:
            assert sent(session.get(origin + "/echo"))["Authorization"].startswith("Basic ")

    async def work():
        awaiting = outrider.AsyncClient(socket=service, headers=fields, timeout=30)
        async with awaiting as client, client.session(**settings) as session:
            check(await session.get(origin + "/echo", headers={"X-Request": "request"}))
            with pytest.raises(outrider.RequestTimeout):
                await session.get(origin + "/delay/20")

    asyncio.run(work())


def test_an_adapter_and_a_retrier(client, origin):
    session = client.session()
    called = []

    @session.adapter
    def sign(attempt):
        called.append(attempt.attempt)
        attempt.headers["X-Signed"] = str(attempt.attempt)
        attempt.headers.pop("X-Plain", None)
        attempt.url = "http://127.0.0.1:1/" if attempt.attempt == 1 else origin + "/echo"

    @session.retrier(timeout=5)
    def again(response):
        return response.error["code"] == 1402 and response.retries < 2

    fields = sent(session.get(origin + "/nowhere", headers={"X-Plain": "1"}))
    assert fields["X-Signed"] == "2" and "X-Plain" not in fields and called == [1, 2]


def test_a_function_that_is_added_later_is_asked_too(client, origin):
    session = client.session()
    assert "X-Late" not in sent(session.get(origin + "/echo"))

    @session.adapter
    def late(attempt):
        return {"headers": {"X-Late": "1"}}

    assert sent(session.get(origin + "/echo"))["X-Late"] == "1"


def test_what_a_retrier_may_say(client):
    session = client.session()
    decisions = iter([True, 0.01, "no more"])

    @session.retrier
    def again(response):
        return next(decisions)

    with pytest.raises(outrider.InterceptionError) as caught:
        session.get("http://127.0.0.1:1/")
    assert caught.value.code == 1310 and caught.value.response.raw["attempts"] == 3


def test_a_function_that_raises_fails_its_request(client, origin):
    session = client.session()

    @session.adapter
    def broken(attempt):
        raise RuntimeError("no key")

    with pytest.warns(RuntimeWarning), pytest.raises(outrider.InterceptionError) as caught:
        session.get(origin + "/json")
    assert caught.value.code == 1300 and "no key" in str(caught.value)


def test_a_redirector(client, origin):
    session = client.session()

    @session.redirector
    def lead(redirect):
        return origin + "/echo" if redirect.target.endswith("/redirect/1") else True

    assert session.get(origin + "/redirect/2").url == origin + "/echo"
    assert session.get(origin + "/redirect/1").url == origin + "/json"


def test_two_sessions_ask_their_own_functions(client, origin):
    one, two = client.session(), client.session()
    one.adapter(lambda attempt: {"headers": {"X": "one"}})
    two.adapter(lambda attempt: {"headers": {"X": "two"}})
    assert [sent(session.get(origin + "/echo"))["X"] for session in (one, two, one)] == ["one", "two", "one"]


def test_the_awaiting_client_asks_coroutines(service, origin):
    async def main():
        async with outrider.AsyncClient(socket=service) as client:
            session = client.session(headers={"X-Api": "1"})

            @session.adapter
            async def sign(attempt):
                await asyncio.sleep(0)
                attempt.headers["X-Signed"] = "yes"

            responses = await asyncio.gather(*[session.get(origin + "/echo") for _ in range(10)])
            for response in responses:
                fields = sent(response)
                assert fields["X-Signed"] == "yes" and fields["X-Api"] == "1"
            await session.close()

    asyncio.run(main())


def test_a_session_is_one_session_for_each_event_loop(service):
    client = outrider.AsyncClient(socket=service)
    session = client.session(cookies=True)

    async def several():
        found = set(await asyncio.gather(*[session.handle() for _ in range(3)]))
        assert len(found) == 1
        return found.pop()

    async def gone(handle):
        with pytest.raises(outrider.HandleError):
            while await client.call("session.get", session=handle):
                await asyncio.sleep(0.01)

    one, other = asyncio.new_event_loop(), asyncio.new_event_loop()
    made = [(one.run_until_complete(several()), other.run_until_complete(several())) for _ in range(3)]
    assert made[0] == made[1] == made[2] and made[0][0] != made[0][1]
    one.run_until_complete(session.close())
    one.run_until_complete(asyncio.wait_for(gone(made[0][0]), 60))
    other.run_until_complete(asyncio.wait_for(gone(made[0][1]), 60))
    one.close()
    other.close()
    for _ in range(3):
        last = asyncio.run(several())
    # what belonged to the event loops before has gone with them
    assert list(session._made.values()) == [(last, 0)]
    assert list(client._defaults.sessions) == [last] and len(client._events.connections) == 1
    asyncio.run(client.close())


def test_a_validator_and_a_serializer(client, origin):
    session = client.session()
    session.validator(lambda response: response.status == 200 or f"status {response.status}")
    assert session.get(origin + "/json").json() == {"id": 1, "x": 0.1}
    with pytest.raises(outrider.ValidationError) as caught:
        session.get(origin + "/status/404")
    assert "status 404" in str(caught.value)

    counted = client.session()
    counted.serializer(lambda response: {"length": len(response.text), "id": response.json()["id"]})
    assert counted.get(origin + "/json").json() == {"length": 16, "id": 1}


class Private(http.server.BaseHTTPRequestHandler):
    """Only for those who have the new token."""

    def do_GET(self):
        known = self.headers["Authorization"] == "Bearer fresh" and self.headers["X-Api"] == "1"
        self.send_response(200 if known else 401)
        self.end_headers()
        self.wfile.write(b"welcome" if known else b"who are you?")

    def log_message(self, *_):
        pass


def test_the_example_of_the_page_runs(service, monkeypatch, capsys):
    """An adapter and a retrier, in fewer than thirty lines."""
    [example] = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.S)
    assert example.count("\n") < 30 and "@session.adapter" in example and "@session.retrier" in example
    monkeypatch.setenv("OUTRIDER_SOCKET", service)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Private) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/private"
        exec(example.replace("https://example.org/private", url), {"__name__": "example"})
        server.shutdown()
    assert capsys.readouterr().out == "welcome\n"


def guarded(server, password="s3cret"):
    return f"{server}/digest-auth/ada/{password}"


def test_the_example_of_the_page_on_authentication(service, origin, monkeypatch, capsys):
    page = (PAGE.parent / "authentication.md").read_text("utf-8")
    [example] = re.findall(r"```python\n(.*?)```", page, re.S)
    monkeypatch.setenv("OUTRIDER_SOCKET", service)
    exec(example.replace("https://example.org/private", guarded(origin)), {"__name__": "example"})
    assert capsys.readouterr().out == "200\n200\n"


def test_a_function_says_who_asks(client, origin):
    session = client.session()
    called = []

    @session.challenge
    def prompt(challenge):
        called.append((challenge.status, challenge.realm, challenge.failures, challenge.username))
        return ("ada", ["wrong", "s3cret"][challenge.failures])

    assert session.get(guarded(origin)).json() == {"id": 1, "x": 0.1}
    assert called == [(401, "origin", 0, None), (401, "origin", 1, "ada")]
    # it is kept for the session
    assert session.get(guarded(origin)).status == 200 and len(called) == 2


@pytest.mark.parametrize(
    "given, status",
    [
        (None, 401),
        ({"username": "ada", "password": "s3cret", "schemes": ["digest"]}, 200),
        ({"credential": {"username": "ada", "password": "s3cret"}, "persistence": "none"}, 200),
    ],
)
def test_what_a_function_may_say_of_who_asks(client, origin, given, status):
    session = client.session()
    session.challenge(lambda _: given)
    assert session.get(guarded(origin)).status == status


def test_credentials_of_a_session(client, origin):
    session = client.session(credentials={origin + "/": ("ada", "s3cret")})
    assert session.get(guarded(origin)).status == 200 and session.get(guarded(origin, "other")).status == 401


def test_a_client_whose_every_request_says_who_asks(service, origin):
    with outrider.Client(socket=service, auth={"digest": ("ada", "s3cret")}) as client:
        assert client.get(guarded(origin)).status == 200
        assert client.get(guarded(origin), tag="x", auth={"digest": ("ada", "wrong")}).status == 401
        assert client.get(guarded(origin), headers={"Authorization": "Token x"}).status == 401
        assert client.post(guarded(origin), data="x").status == 200


def test_a_coroutine_says_who_asks(service, origin):
    async def main():
        async with outrider.AsyncClient(socket=service) as client:
            session = client.session()

            @session.challenge
            async def prompt(challenge):
                await asyncio.sleep(0)
                return ("ada", "s3cret")

            assert (await session.get(guarded(origin))).status == 200

    asyncio.run(main())


def test_a_function_may_use_its_own_session(client, origin):
    session = client.session()
    called = []

    @session.adapter(timeout=10)
    def sign(attempt):
        called.append(attempt.url)
        if "token" not in attempt.url:
            attempt.headers["X-Token"] = sent(session.get(origin + "/echo?token"))["X-Mark"]
        else:
            attempt.headers["X-Mark"] = "made"

    for _ in range(3):
        assert sent(session.get(origin + "/echo"))["X-Token"] == "made"
    assert called == [origin + "/echo", origin + "/echo?token"] * 3


def test_functions_that_use_their_session_without_end_are_refused(client, origin):
    session = client.session()

    @session.adapter(timeout=20)
    def again(attempt):
        session.get(origin + "/echo")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        with pytest.raises(outrider.InterceptionError):
            session.get(origin + "/echo", timeout=30)
    assert client.call("diagnostics.echo", a=1) == {"a": 1}


def test_dropped_sessions_make_room_for_others(service, origin):
    """A connection has 256 sessions at most."""

    async def work():
        async with outrider.AsyncClient(socket=service) as client:
            for _ in range(300):
                assert (await client.session(headers={"X-Api": "1"}).get(origin + "/json")).ok

    asyncio.run(work())
    with outrider.Client(socket=service) as client:
        for _ in range(300):
            session = client.session(headers={"X-Api": "1"})

            @session.adapter
            def sign(attempt):
                attempt.headers["X-Signed"] = "1"

            assert session.get(origin + "/json").ok
        handle = client.session(headers={"X-Api": "2"}).handle
        response = client.session().get(origin + "/bytes/3000000", body_to="stream")
        started = session.start("GET", origin + "/echo")
        del session
        gc.collect()
        assert client.info()["protocol"] == 1
        assert len(response.content) == 3_000_000
        assert sent(started.response())["X-Signed"] == "1"
        assert sent(client.get(origin + "/echo", session=handle))["X-Api"] == "2"
        assert len(client._defaults.sessions) == 1
