# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Bodies from memory that are too long for a message."""

from __future__ import annotations

import asyncio
import io
import socket
from collections.abc import Callable
from typing import Any

import outrider
import pytest
from outrider import Client
from peers import Scripted, request_head

SIZE = 13_000_000
OCTET_STREAM = "application/octet-stream"
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


def late() -> io.BytesIO:
    """A file that has been read from."""
    file = io.BytesIO(b"-" + OCTETS)
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
        ({"data": late()}, "application/octet-stream", SIZE),
        ({"data": io.StringIO(TEXT)}, "text/plain; charset=utf-8", None),
        ({"data": Trickle(OCTETS)}, "application/octet-stream", None),
        ({"data": Whole(OCTETS)}, "application/octet-stream", SIZE),
    ],
    ids=["bytes", "view", "text", "wide text", "json", "file in memory", "text file", "reader", "whole reader"],
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
