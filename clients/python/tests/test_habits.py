# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""What users of requests and httpx try in their first hour: members of responses, defaults of clients, iterators as
bodies, requests that are started, routers and functions of sessions."""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import outrider
import pytest
from outrider import AsyncClient, Client
from peers import Peer

MakePeer = Callable[..., Peer]
EXACT = b'{"a": 1.10, "b":1e3}'


def response(body: bytes, *fields: bytes) -> bytes:
    head = [b"HTTP/1.1 200 OK", b"Content-Length: %d" % len(body), *fields]
    return b"\r\n".join([*head, b"", body])


def echoed(r: outrider.Response) -> Any:
    """What the origin received, with the fields by their names in lower case."""
    seen = r.json()
    return {**seen, "headers": {name.lower(): value for name, value in seen["headers"]}}


def test_members_of_a_response(client: Client, origin: str) -> None:
    r = client.get(f"{origin}/redirect/2")
    assert (r.status, r.status_code, r.reason, r.ok) == (200, 200, "OK", True)
    assert datetime.timedelta(0) < r.elapsed < datetime.timedelta(seconds=30)
    assert [one.status_code for one in r.history] == [302, 302]
    assert [one.url for one in r.history] == [f"{origin}/redirect/2", f"{origin}/redirect/1"]
    assert [one.headers["location"] for one in r.history] == [f"{origin}/redirect/1", f"{origin}/json"]
    assert client.get(f"{origin}/json").history == []
    assert client.get(f"{origin}/status/404").reason == "Not Found"
    [other] = client.many([f"{origin}/json"])
    assert isinstance(other, outrider.Response)
    with pytest.raises(RuntimeError, match="metrics=True"):
        _ = other.elapsed
    [timed] = client.many([f"{origin}/json"], metrics=True)
    assert isinstance(timed, outrider.Response) and timed.elapsed.total_seconds() > 0


def test_links(client: Client, peer: MakePeer) -> None:
    field = b'Link: <https://h/?a=1,2>; rel="next"; title="a, \\"b\\"", <https://h/l>;rel=last,<https://h/x>'
    r = client.get(peer(response(b"", field)).url)
    assert r.links["next"] == {"url": "https://h/?a=1,2", "rel": "next", "title": 'a, \\"b\\"'}
    assert r.links["last"]["url"] == "https://h/l" and r.links["https://h/x"] == {"url": "https://h/x"}
    assert client.get(peer(response(b"")).url).links == {}


def test_options_of_a_client_are_for_every_request(service: str, origin: str) -> None:
    with Client(
        socket=service, base_url=f"{origin}/", params={"a": "1", "b": "2"}, headers={"X-A": "1"}, timeout=(3, 10),
        auth=("u", "p"), retry=3, allow_redirects=False,
    ) as client:  # fmt: skip
        seen = echoed(client.get("/echo"))
        assert seen["target"] == "/echo?a=1&b=2" and seen["headers"]["x-a"] == "1"
        assert seen["headers"]["authorization"] == "Basic dTpw"
        seen = echoed(client.get("echo", params={"b": ["3", "4"]}, headers={"Authorization": "mine"}))
        assert seen["target"] == "/echo?a=1&b=3&b=4" and seen["headers"]["authorization"] == "mine"
        assert client.get("echo", params="b=5").json()["target"] == "/echo?a=1&b=5"
        assert client.get(f"{origin}/redirect/1").status == 302
        assert client.get("redirect/1", follow_redirects=True).status == 200
        assert client.start("GET", "json").response().ok
        assert client.stream("json").read() == b'{"id":1,"x":0.1}'
        with client.session(base_url=f"{origin}/status", params={"c": "3"}, validate=True) as session:
            assert session.get("204").url == f"{origin}/status/204?a=1&b=2&c=3"
            with pytest.raises(outrider.StatusError):
                session.get("404")
        with pytest.raises(TypeError, match="no setting retri; did you mean retry"):
            client.session(retri=3)
    with pytest.raises(TypeError, match="a request has no option heders; did you mean headers"):
        Client(heders={})  # type: ignore[call-arg]


def test_a_field_that_is_none_leaves_out_that_of_the_client(service: str, origin: str) -> None:
    with Client(socket=service, headers={"X-A": "1", "X-B": "2"}) as client:
        for r in (
            client.get(f"{origin}/echo", headers={"x-a": None, "X-C": "3"}),
            client.get(f"{origin}/echo", headers=[("X-A", None), ("X-C", "3")]),
        ):
            seen = dict(r.json()["headers"])
            assert (seen.get("X-A"), seen.get("X-B"), seen.get("X-C")) == (None, "2", "3")
        assert "X-A" in dict(client.get(f"{origin}/echo").json()["headers"])


@pytest.mark.parametrize(
    ("base", "url", "whole"),
    [
        ("http://h/v1", "/users", "http://h/v1/users"),
        ("http://h/v1/", "users?u=http://x", "http://h/v1/users?u=http://x"),
        ("http://h/v1", "", "http://h/v1"),
        ("http://h/v1", "?q=1", "http://h/v1?q=1"),
        ("http://h/v1", "https://other/", "https://other/"),
        ("http://h/v1", "web/https://other/?a=b://c", "http://h/v1/web/https://other/?a=b://c"),
        ("http://h/v1", "/web#http://other/", "http://h/v1/web#http://other/"),
        (None, "http://h/", "http://h/"),
    ],
)
def test_a_url_behind_a_base(base: str | None, url: str, whole: str) -> None:
    from outrider._protocol.arguments import absolute_url

    assert absolute_url(base, url) == whole


def test_timeouts_of_two_parts(client: Client, origin: str) -> None:
    from outrider._protocol.arguments import timeout_of

    phases = {"resolve": 3, "connect": 3, "tls": 3, "firstByte": 10, "idle": 10}
    assert timeout_of((3, 10)) == phases and timeout_of((None, 1)) == {"firstByte": 1, "idle": 1}
    with pytest.raises(outrider.RequestTimeout):
        client.get(f"{origin}/delay/20", timeout=(5, 0.1))
    with pytest.raises(ValueError, match=r"\(connect, read\)"):
        client.get(f"{origin}/json", timeout=(1, 2, 3))  # type: ignore[arg-type]


def test_a_body_from_an_iterator(client: Client, service: str, origin: str) -> None:
    def parts(count: int, size: int) -> Iterator[bytes]:
        for _ in range(count):
            yield b"x" * size

    url = f"{origin}/echo"
    assert client.post(url, data=parts(3, 5)).json()["body"] == "x" * 15
    assert client.post(url, data=(text for text in ("naïve", " 🐺"))).json()["body"] == "naïve 🐺"
    assert client.post(url, data=iter([("a", "1"), ("b", "2")])).json()["body"] == "a=1&b=2"
    assert client.post(url, data=iter(())).json()["body"] == ""
    assert len(client.put(url, data=parts(40, 100_000), content_type="text/plain").json()["body"]) == 4_000_000
    seen = echoed(client.session(headers={"X-A": "1"}).post(url, data=parts(1, 1)))
    assert (seen["body"], seen["headers"]["x-a"]) == ("x", "1")
    with pytest.raises(TypeError, match="leave body_to"):
        client.post(url, data=parts(1, 1), body_to="stream")

    def broken() -> Iterator[bytes]:
        yield b"x"
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        client.post(url, data=broken())
    assert client.get(f"{origin}/json").ok
    with pytest.raises(outrider.ConnectError):
        client.post("http://127.0.0.1:1/", data=parts(200, 100_000))

    async def awaited() -> AsyncIterator[bytes]:
        for part in (b"a", b"b"):
            await asyncio.sleep(0)
            yield part

    async def work() -> None:
        async with AsyncClient(socket=service) as awaiting:
            assert (await awaiting.post(url, data=awaited())).json()["body"] == "ab"
            assert (await awaiting.post(url, data=parts(2, 2))).json()["body"] == "xxxx"

    asyncio.run(work())


def test_an_iterator_gives_bytes_of_any_type_but_no_integers(client: Client, origin: str) -> None:
    url = f"{origin}/echo"
    assert client.post(url, data=iter([bytearray(b"a"), memoryview(b"xby")[::2]])).json()["body"] == "axy"
    with pytest.raises(TypeError, match="bytes or text is sent, not NoneType"):
        # and not: no more of the body
        client.post(origin + "/echo", data=iter([None, b"wolf"]))
    with pytest.raises(TypeError, match="bytes or text is sent, not int"):
        client.post(url, data=iter(b"AB"))


@pytest.mark.parametrize("problem", [outrider.HandleError("mine"), outrider.RequestTimeout("mine")])
def test_an_iterator_may_fail_with_an_error_of_this_client(
    client: Client, service: str, origin: str, problem: outrider.OutriderError
) -> None:
    def broken() -> Iterator[bytes]:
        yield b"x"
        raise problem

    async def work() -> None:
        async with AsyncClient(socket=service) as awaiting:
            await awaiting.post(f"{origin}/echo", data=broken(), timeout=5)

    for post in (lambda: client.post(f"{origin}/echo", data=broken(), timeout=5), lambda: asyncio.run(work())):
        with pytest.raises(type(problem), match="mine"):
            post()


def test_a_server_that_refuses_a_body_early_is_heard(client: Client, peer: MakePeer) -> None:
    def parts() -> Iterator[bytes]:
        while True:
            yield b"x" * 100_000

    early = peer(b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
    try:
        assert client.post(early.url, data=parts()).status == 413
    except outrider.ConnectionLost:
        pass  # the server closed before its response was read


@pytest.mark.parametrize("how", ["json", "auto", "text", {"as": "json", "schema": {"type": "object"}}])
def test_content_is_what_the_server_sent(client: Client, peer: MakePeer, how: Any) -> None:
    r = client.get(peer(response(EXACT, b"Content-Type: application/json")).url, serialize=how)
    assert (r.content, r.text, r.json(), r.results) == (EXACT, EXACT.decode(), {"a": 1.1, "b": 1000.0}, {})


def test_content_where_a_serializer_decided_or_failed(client: Client, service: str, peer: MakePeer) -> None:
    session = client.session()
    server = peer(*[response(EXACT)] * 3)

    @session.serializer
    def sizes(response: Any) -> int:
        return len(response.content)

    r = session.get(server.url)
    assert (r.json(), r.content) == (20, EXACT)

    class Mine(Exception):
        pass

    @session.serializer
    def failing(response: Any) -> int:
        raise Mine("not today")

    with pytest.raises(Mine, match="not today") as caught:
        session.get(server.url)
    failure = caught.value.__cause__
    assert isinstance(failure, outrider.SerializationError) and failure.response.content == EXACT
    quiet = session.get(server.url, check=False)
    assert isinstance(quiet.error, outrider.SerializationError) and quiet.content == EXACT

    async def work() -> None:
        async with AsyncClient(socket=service) as awaiting:
            session = awaiting.session()

            @session.serializer
            async def failing(response: Any) -> int:
                raise Mine("nor here")

            with pytest.raises(Mine, match="nor here"):
                await session.get(peer(response(EXACT)).url)

    asyncio.run(work())


def test_a_refusal_and_a_charset_are_data(client: Client, peer: MakePeer) -> None:
    session = client.session()
    session.validator(lambda response: "not today")
    with pytest.raises(outrider.ValidationError) as refused:
        session.get(peer(response(EXACT)).url)
    assert refused.value.data["data"]["error"] == {"valid": False, "reason": "not today"}
    with pytest.raises(outrider.SerializationError) as unread:
        client.get(peer(response(b"a\xff")).url, serialize="text")
    assert unread.value.data["data"]["encoding"] == "utf-8"


def test_an_upload_is_started_held_and_continued(client: Client, origin: str, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"x" * 300_000)
    request = client.start("POST", f"{origin}/echo", file=file, start_immediately=False)
    assert request.wait(0.05) is None and request.progress("upload").completed == 0
    request.resume()
    assert len(request.response().json()["body"]) == 300_000
    sent = request.progress("upload")
    assert (sent.completed, sent.total, sent.fraction, sent.done) == (300_000, 300_000, 1.0, True)
    with pytest.raises(ValueError, match="download or upload"):
        request.progress("sideways")
    assert "Request" in repr(request) and isinstance(request, outrider.Request)


def test_a_router_of_functions(client: Client, service: str, origin: str) -> None:
    things = client.router("things", base_url=origin, headers={"X-A": "1"}, timeout=(3, 10))

    @things.endpoint("GET", "/echo/{id}")
    def get_thing(id: int, page: int = 1, size: int | None = None) -> None:
        """One thing."""

    @things.endpoint("POST", "/echo", places={"thing": "body", "trace": {"in": "header", "name": "X-Trace"}})
    def make(thing: Any, **more: str) -> None: ...

    seen = echoed(get_thing(7))
    assert seen["target"] == "/echo/7?page=1" and seen["headers"]["x-a"] == "1"
    assert get_thing(7, page=2, size=3).json()["target"] == "/echo/7?page=2&size=3"
    seen = echoed(make({"name": "wolf"}, trace="t"))
    assert (seen["method"], seen["body"], seen["headers"]["x-trace"]) == ("POST", '{"name":"wolf"}', "t")
    assert things.get_thing(id=8).json()["target"] == "/echo/8?page=1"
    assert (get_thing.__name__, get_thing.__doc__) == ("get_thing", "One thing.")
    with pytest.raises(TypeError, match="missing a required argument: 'id'"):
        get_thing()
    things.endpoint("GET", "/json", get_thing)
    assert things.get_thing(id=1).content == b'{"id":1,"x":0.1}', "what the server sent"
    with pytest.raises(TypeError, match="defined elsewhere"):
        client.router("other").endpoint("GET", "/")
    with pytest.raises(TypeError, match="give base_url"):
        client.router("other", headers={})

    async def work() -> None:
        async with AsyncClient(socket=service) as awaiting:
            things = awaiting.router("things", base_url=origin)

            @things.endpoint("GET", "/status/{code}")
            def status(code: int) -> None: ...

            assert (await status(204)).status == 204

    asyncio.run(work())


def test_destinations_and_encoders_of_a_session(client: Client, service: str, origin: str, tmp_path: Path) -> None:
    session = client.session()

    @session.destination
    def place(arrived: Any) -> Path:
        assert (arrived.status, arrived.size) == (200, 1000)
        return tmp_path / f"own-{arrived.suggested_filename}"

    saved = session.download(f"{origin}/file/1000", directory=tmp_path)
    assert saved.path == str(tmp_path / "own-1000") and Path(saved.path).stat().st_size == 1000
    session.destination(lambda arrived: {"path": tmp_path / "own-1000", "replace": True})
    assert session.download(f"{origin}/file/1000", directory=tmp_path).path == saved.path

    @session.encoder
    def encode(attempt: Any) -> None:
        attempt.text = ";".join(f"{name}={value}" for name, value in attempt.parameters.items())

    assert session.post(f"{origin}/echo", parameters={"a": 1, "b": 2}).json()["body"] == "a=1;b=2"
    seen = session.post(f"{origin}/echo", parameters={"a": 1}, encoding="json").json()
    assert seen["body"] == '{"a":1}', "its own encoding wins"
    assert session.get(f"{origin}/json").ok

    async def work() -> None:
        async with AsyncClient(socket=service) as awaiting:
            session = awaiting.session()

            @session.encoder
            async def encode(attempt: Any) -> dict[str, Any]:
                return {"body": {"text": "mine"}}

            assert (await session.post(f"{origin}/echo", parameters={})).json()["body"] == "mine"

    asyncio.run(work())


def test_versions_of_http(client: Client, origin: str) -> None:
    assert client.get(f"{origin}/json", http2=False).http_version == "1.1"
    assert client.get(f"{origin}/json", http2=True).http_version == "1.1", "http without TLS has nothing to agree on"
    with pytest.raises(outrider.ExchangeError):
        client.get(f"{origin}/json", http2="prior", timeout=5)
    with pytest.raises(ValueError, match="http2 must be True, False or 'prior', not 'x'"):
        client.get(f"{origin}/json", http2="x")  # type: ignore[arg-type]
    with client.session(http2=False) as session:
        assert session.get(f"{origin}/json").http_version == "1.1"


def test_names_that_users_of_requests_type_first(origin, service, monkeypatch):
    monkeypatch.setenv("OUTRIDER_SOCKET", service)
    with outrider.session(base_url=origin) as session:
        assert session.get("/json").status == 200
    with outrider.stream(origin + "/json") as stream:
        assert b"".join(stream.bytes()) == b'{"id":1,"x":0.1}'
    with pytest.raises(TypeError, match=r"by outrider\.session"):
        outrider.Session()
    with pytest.raises(TypeError, match=r"by outrider\.session"):
        outrider.Session(base_url=origin)
    with pytest.raises(TypeError, match=r"use stream\(url\)"):
        outrider.get(origin + "/json", stream=True)
