# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Bodies from memory that are too long for a message."""

from __future__ import annotations

import asyncio
import io
import os
import socket
import tracemalloc
from collections.abc import Callable
from typing import Any

import outrider
import pytest
from outrider import Client
from peers import Scripted, request_head, whole_request

SIZE = 13_000_000
OCTET_STREAM = "application/octet-stream"
FIELDS = "application/x-www-form-urlencoded; charset=utf-8"
OCTETS, TEXT = b"x" * SIZE, "x" * SIZE


class Trickle:
    """An object to read from, of which a read gives less than asked for, and that has no end to seek to."""

    def __init__(self, content: bytes) -> None:
        self._rest = io.BytesIO(content)

    def read(self, size: int) -> bytes:
        return self._rest.read(min(size, 1_000_000))


class Whole:
    """An object that can only be read as a whole."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def read(self) -> bytes:
        return self._content


def late(content: bytes = OCTETS) -> io.BytesIO:
    """A file that has been read from."""
    file = io.BytesIO(b"-" + content)
    file.seek(1)
    return file


@pytest.mark.parametrize(
    "options, kind, length",
    [
        ({"data": OCTETS}, "application/octet-stream", SIZE),
        ({"data": memoryview(OCTETS), "content_type": "image/x"}, "image/x", SIZE),
        ({"data": TEXT}, "text/plain; charset=utf-8", SIZE),
        ({"data": "é" * 3_000_000}, "text/plain; charset=utf-8", 6_000_000),
        ({"json": [TEXT]}, "application/json", SIZE + 4),
        ({"data": {"a": TEXT, "b": None}}, FIELDS, SIZE + 2),
        ({"data": iter([("a", OCTETS)])}, FIELDS, SIZE + 2),
        ({"data": late()}, "application/octet-stream", SIZE),
        ({"data": io.StringIO(TEXT)}, "text/plain; charset=utf-8", None),
        ({"data": Trickle(OCTETS)}, "application/octet-stream", None),
        ({"data": Whole(OCTETS)}, "application/octet-stream", SIZE),
    ],
    ids=[
        "bytes", "view", "text", "wide text", "json", "fields", "pairs", "file in memory", "text file", "reader",
        "whole reader",
    ],
)
def test_a_long_body_is_sent_in_pieces(
    client: Client, origin: str, options: dict[str, Any], kind: str, length: int | None
) -> None:
    with client.session(headers={"X-Own": "1"}) as session:
        seen = session.post(f"{origin}/echo", timeout=60, **options).json()
    fields = dict(seen["headers"])
    assert (fields["Content-Type"], fields["X-Own"]) == (kind, "1")
    assert fields.get("Content-Length") == (None if length is None else str(length))
    assert len(seen["body"].encode()) == (length or SIZE)


@pytest.mark.parametrize(
    "data", [OCTETS, bytearray(OCTETS), memoryview(OCTETS), TEXT], ids=["bytes", "bytearray", "view", "text"]
)
def test_long_bytes_are_not_put_into_a_message_first(
    client: Client, origin: str, monkeypatch: pytest.MonkeyPatch, data: Any
) -> None:
    """That took four times their memory."""
    monkeypatch.setattr("outrider._sync.client.build", None)
    seen = client.post(f"{origin}/echo", timeout=60, data=data).json()
    assert len(seen["body"]) == int(dict(seen["headers"])["Content-Length"]) == SIZE
    with pytest.raises(TypeError, match="json"):
        client.post(f"{origin}/echo", data=data, json={})


@pytest.mark.parametrize(
    "given, most", [({"files": {"f": OCTETS}}, 0.5), ({"json": [TEXT]}, 2.5)], ids=["form", "json"]
)
def test_a_long_body_takes_no_more_memory_than_its_text(
    client: Client, origin: str, given: dict[str, Any], most: float
) -> None:
    client.get(f"{origin}/json")
    tracemalloc.start()
    try:
        assert client.post(f"{origin}/status/204", timeout=60, **given).status == 204
        assert tracemalloc.get_traced_memory()[1] < most * SIZE
    finally:
        tracemalloc.stop()


def test_half_of_a_surrogate_pair_in_a_long_text_is_named(client: Client, origin: str) -> None:
    for text in ("\ud800", "\ud800" + TEXT):
        with pytest.raises(outrider.InvalidCall, match=r"cannot be written as JSON: /data: .*lone surrogate"):
            client.post(f"{origin}/echo", data=text)
    with pytest.raises(outrider.InvalidCall, match=r"cannot be written as JSON: /files/0/text: .*lone surrogate"):
        client.post(f"{origin}/echo", data={"a": "\ud800"}, files={"f": OCTETS})


def test_a_short_readable_body_comes_with_its_length(client: Client, origin: str) -> None:
    for data in (Trickle(b"short"), Whole(b"short"), io.StringIO("short"), io.BytesIO(b"short")):
        seen = client.post(f"{origin}/echo", data=data).json()
        assert (seen["body"], dict(seen["headers"])["Content-Length"]) == ("short", "5")
    assert client.post(f"{origin}/echo", data=io.BytesIO()).json()["body"] == ""


def test_a_long_body_with_progress_needs_a_file(client: Client, origin: str) -> None:
    with pytest.raises(TypeError, match="progress of a body that is too long for a message needs a file: give file="):
        client.upload(f"{origin}/echo", data=OCTETS, progress=True)


def test_the_awaiting_client_sends_a_long_body_in_pieces(service: str, origin: str) -> None:
    async def work() -> None:
        async with outrider.AsyncClient(socket=service) as client:
            for data in (OCTETS, io.BytesIO(OCTETS)):
                response = await client.post(f"{origin}/echo", data=data)
                assert response.json()["body"] == TEXT and response.elapsed

    asyncio.run(asyncio.wait_for(work(), 60))


def test_a_form_has_long_files_from_memory(client: Client, service: str, origin: str) -> None:
    def files() -> dict[str, Any]:
        last = (None, "d" * 300_000)
        return {"a": io.BytesIO(OCTETS), "b": ("b.txt", "b", "text/x"), "c": ("c.txt", OCTETS), "d": last}

    def check(seen: dict[str, Any]) -> None:
        fields = dict(seen["headers"])
        mark = fields["Content-Type"].removeprefix("multipart/form-data; boundary=")
        parts = [part.partition("\r\n\r\n") for part in seen["body"].split(f"--{mark}")[1:-1]]
        assert [(head.strip(), len(text) - 2) for head, _, text in parts] == [
            ('Content-Disposition: form-data; name="title"', 6),
            (f'Content-Disposition: form-data; name="a"; filename="a"\r\nContent-Type: {OCTET_STREAM}', SIZE),
            ('Content-Disposition: form-data; name="b"; filename="b.txt"\r\nContent-Type: text/x', 1),
            ('Content-Disposition: form-data; name="c"; filename="c.txt"\r\nContent-Type: text/plain', SIZE),
            ('Content-Disposition: form-data; name="d"', 300_000),
        ]
        assert fields["Content-Length"] == str(len(seen["body"].encode()))

    async def work() -> None:
        async with outrider.AsyncClient(socket=service) as other:
            check((await other.post(f"{origin}/echo", data={"title": "wolves"}, files=files())).json())

    check(client.post(f"{origin}/echo", data={"title": "wolves"}, files=files()).json())
    asyncio.run(asyncio.wait_for(work(), 60))


@pytest.mark.usefixtures("short_messages")
def test_a_form_may_be_long_by_the_number_of_its_parts(
    client: Client, scripted: Callable[[Callable[[socket.socket], None]], Scripted]
) -> None:
    seen: list[bytes] = []

    def talk(stream: socket.socket) -> None:
        seen.append(whole_request(stream))
        stream.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    contents = [b"%03d" % number + b"x" * 20_000 for number in range(40)]
    fields = {f"t{number}": content.decode() for number, content in enumerate(contents[:20])}
    files = {f"b{number}": (None, content) for number, content in enumerate(contents[20:])}
    assert client.post(scripted(talk).url, data=fields, files=files).status == 200
    head, _, body = seen[0].partition(b"\r\n\r\n")
    mark = head.partition(b"boundary=")[2].partition(b"\r\n")[0]
    assert [part.partition(b"\r\n\r\n")[2][:-2] for part in body.split(b"--" + mark)[1:-1]] == contents


def test_long_fields_are_written_as_the_service_writes_short_ones(
    client: Client, origin: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = "".join(map(chr, range(1, 0x180))) + "\u20ac\U0001f600"
    fields: list[Any] = [
        {every: every, "": "", "list": [1, 2.5, True, b"x"], "empty": [], "none": None},
        {"false": False, "big": 1e20, "small": -1e-7, "zero": -0.0, "huge": 2**70, "tuple": ("a", "b")},
        [("b", "1"), ("a", "2"), ("b", 3)],
    ]
    short = [client.post(f"{origin}/echo", data=data).json() for data in fields]
    monkeypatch.setattr("outrider._sync.client.LONGEST_MESSAGE", 1)
    for data, seen in zip(fields, short):
        again = client.post(f"{origin}/echo", data=data).json()
        assert (again["body"], again["headers"]) == (seen["body"], seen["headers"])


def test_data_beside_files_is_never_a_body(client: Client, origin: str) -> None:
    """Whatever its length: such data are the fields of the form."""
    for data in (b"x", OCTETS):
        with pytest.raises(TypeError, match="data beside files must be a mapping or pairs, not bytes"):
            client.post(f"{origin}/echo", data=data, files={"f": b"y"})
    pairs = zip(["title"], ["wolves"])
    assert "wolves" in client.post(f"{origin}/echo", data=pairs, files={"f": b"y"}).json()["body"]
    assert client.post(f"{origin}/echo", data=iter([b"wolves"]), files={}).json()["body"] == "wolves"


@pytest.mark.usefixtures("short_messages")
def test_a_form_with_more_long_parts_than_streams(client: Client, origin: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The parts that are left go in the message while there is room, and else the error tells what to do."""
    monkeypatch.setattr("outrider._resources.feeding.MOST_STREAMS", 2)
    files = {f"f{number}": b"x" * 300_000 for number in range(4)}
    assert client.post(f"{origin}/echo", files=files).json()["body"].count("x" * 300_000) == 4
    monkeypatch.setattr("outrider._resources.feeding.MOST_INLINE", 600_000)
    with pytest.raises(outrider.LimitError, match=r"2 of them can be sent in pieces.*give files by their paths"):
        client.post(f"{origin}/echo", files=files)


def target(number: str) -> str:
    """What a descriptor of this process is of."""
    try:
        return os.readlink(f"/proc/self/fd/{number}")
    except OSError:
        return ""


def once_more(first: bytes) -> Callable[[socket.socket], None]:
    """A server that wants each body twice: `first`, then the length of the body that came with the repetition."""

    def talk(stream: socket.socket) -> None:
        while head := whole_request(stream):
            if head.startswith(b"POST /end ") or b"\r\nAuthorization: Digest " in head:
                length = b"%d" % len(head.partition(b"\r\n\r\n")[2])
                stream.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(length), length))
            else:
                stream.sendall(first + b"Content-Length: 0\r\n\r\n")

    return talk


@pytest.fixture
def short_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bodies of a few hundred kilobytes count as long."""
    monkeypatch.setattr("outrider._sync.client.LONGEST_MESSAGE", 300_000)
    monkeypatch.setattr("outrider._async.client.LONGEST_MESSAGE", 300_000)
    monkeypatch.setattr("outrider._resources.feeding.LONG", 300_000)


SOME = b"x" * 600_000
REDIRECT = b"HTTP/1.1 307 Temporary Redirect\r\nLocation: /end\r\n"
CHALLENGE = b'HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Digest realm="r", qop="auth", nonce="n"\r\n'


@pytest.mark.parametrize("first", [REDIRECT, CHALLENGE], ids=["redirect", "login"])
@pytest.mark.parametrize(
    "make",
    [
        lambda: {"data": SOME},
        lambda: {"data": memoryview(SOME).toreadonly()},
        lambda: {"data": late(SOME)},
        lambda: {"json": [SOME.decode()]},
        lambda: {"files": {"a": SOME, "b": io.BytesIO(b"b")}},
        lambda: {"data": {"a": SOME.decode()}, "files": {"b": (None, "b")}},
    ],
    ids=["bytes", "view", "file in memory", "json", "form", "field"],
)
@pytest.mark.usefixtures("short_messages")
def test_a_redirect_and_a_login_get_a_long_body_again(
    client: Client, scripted: Callable[[Callable[[socket.socket], None]], Scripted],
    make: Callable[[], dict[str, Any]], first: bytes,
) -> None:
    auth = {"username": "u", "password": "p", "schemes": ["digest"]}
    response = client.post(scripted(once_more(first)).url, auth=auth, **make())
    assert response.status == 200 and len(SOME) <= int(response.text) <= len(SOME) + 400
    assert client.call("request.list")["requests"] == []


@pytest.mark.usefixtures("short_messages")
def test_the_parts_of_a_form_are_the_same_when_they_are_sent_again(
    client: Client, scripted: Callable[[Callable[[socket.socket], None]], Scripted]
) -> None:
    seen: list[list[bytes]] = []

    def talk(stream: socket.socket) -> None:
        while request := whole_request(stream).removeprefix(b"\r\n\r\n"):
            head, _, body = request.partition(b"\r\n\r\n")
            mark = head.partition(b"boundary=")[2].partition(b"\r\n")[0]
            seen.append(body.split(b"--" + mark))
            first = REDIRECT if head.startswith(b"POST / ") else b"HTTP/1.1 200 OK\r\n"
            stream.sendall(first + b"Content-Length: 0\r\n\r\n")

    fields = {'a "name"\r\nin lines, ä': SOME.decode()}
    own = [("Content-Disposition", 'form-data; name="c"'), ("X-Own", "1")]
    files = [("b", (None, SOME, "text/x", {"X-Own": "1"})), ("c", (None, SOME, None, own)), ("d", ("d.png", SOME))]
    assert client.post(scripted(talk).url, data=fields, files=files).status == 200
    first = seen.pop(0)
    assert [len(part) > len(SOME) for part in first] == [False, True, True, True, True, False]
    assert seen == [first] * len(seen)


@pytest.mark.usefixtures("short_messages")
def test_the_awaiting_client_sends_a_long_body_again(
    service: str, scripted: Callable[[Callable[[socket.socket], None]], Scripted]
) -> None:
    async def work() -> None:
        async with outrider.AsyncClient(socket=service) as client:
            assert (await client.post(scripted(once_more(REDIRECT)).url, data=SOME)).text == str(len(SOME))

    asyncio.run(asyncio.wait_for(work(), 60))


@pytest.mark.usefixtures("short_messages")
def test_a_long_body_that_cannot_be_read_again_is_not_sent_again(
    client: Client, scripted: Callable[[Callable[[socket.socket], None]], Scripted], monkeypatch: pytest.MonkeyPatch
) -> None:
    for options in ({"data": Trickle(SOME)}, {"data": SOME}):
        monkeypatch.setattr("outrider._resources.feeding.MOST_AGAIN", len(SOME) - (options["data"] is SOME))
        with pytest.raises(outrider.ExchangeError, match="the body again, which cannot be sent twice") as problem:
            client.post(scripted(once_more(REDIRECT)).url, **options)  # type: ignore[arg-type]
        assert problem.value.response is not None and problem.value.response.status == 307
    assert not [number for number in os.listdir("/proc/self/fd") if "memfd" in target(number)]
    assert client.call("request.list")["requests"] == []


def test_a_long_body_that_the_server_does_not_read_is_given_up(
    client: Client, scripted: Callable[[Callable[[socket.socket], None]], Scripted]
) -> None:
    def refuse(stream: socket.socket) -> None:
        request_head(stream)
        stream.sendall(b"HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
        stream.settimeout(10)
        while stream.recv(1 << 20):
            pass

    for options in ({"data": OCTETS}, {"files": {"a": OCTETS, "b": OCTETS}}):
        response = client.post(scripted(refuse).url, check=False, **options)  # type: ignore[arg-type]
        assert response.status == 413
    assert client.call("request.list")["requests"] == []


@pytest.mark.parametrize("given", [{"params": {"a": "x" * 17_000_000}}, {"headers": {"A": "x" * 17_000_000}}])
def test_what_is_too_long_and_no_body_is_named(client: Client, origin: str, given: Any) -> None:
    [name] = given
    with pytest.raises(outrider.LimitError, match=rf"^{name} is too long: a message has at most 16777216 bytes"):
        client.get(f"{origin}/echo", **given)
    with pytest.raises(outrider.LimitError, match=r"^url is too long"):
        client.get(f"{origin}/echo?" + "x" * 17_000_000)
