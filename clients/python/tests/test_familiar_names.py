# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Names and habits that programs for requests and httpx bring along."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable

import outrider
import pytest
from outrider import AsyncClient, Client
from peers import Peer


def test_a_good_response_is_returned_by_raise_for_status(client: Client, origin: str) -> None:
    assert client.get(f"{origin}/json").raise_for_status().json() == {"id": 1, "x": 0.1}
    response = client.get(f"{origin}/status/404")
    assert response.status_code == response.status == 404
    with pytest.raises(outrider.StatusError):
        response.raise_for_status()


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        (b"", []),
        (b"one", ["one"]),
        (b"one\ntwo\r\n\r\nthree\rfour\n", ["one", "two", "", "three", "four"]),
        ("naïve 🐺\nend".encode(), ["naïve 🐺", "end"]),
        (b"one\r", ["one"]),
    ],
)
def test_a_body_is_read_line_by_line(
    client: Client, service: str, peer: Callable[..., Peer], body: bytes, lines: list[str]
) -> None:
    server = peer(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
    assert list(client.get(server.url).iter_lines()) == lines
    assert list(client.get(server.url, body_to="stream").iter_lines()) == lines

    async def work() -> list[str]:
        async with AsyncClient(socket=service) as awaiting:
            return [line async for line in (await awaiting.get(server.url)).iter_lines()]

    assert asyncio.run(work()) == lines


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_lines_are_the_same_however_the_body_is_cut(size: int) -> None:
    from outrider._resources.lines import LineSplitter

    body = "one\r\ntwo\rnaïve\n\n🐺\r".encode()
    splitter = LineSplitter("utf-8")
    found = [line for start in range(0, len(body), size) for line in splitter.lines(body[start : start + size])]
    assert found + splitter.lines(b"", end=True) == ["one", "two", "naïve", "", "🐺"]


@pytest.mark.parametrize("size", [1, 2, 3, 100])
@pytest.mark.parametrize("text", ["one\n2ë\r\n🐺", "\ufeffone\n", "", "x"])
@pytest.mark.parametrize(
    ("charset", "encoding"),
    [
        ("utf-16", f"utf-16-{sys.byteorder[0]}e"), ("utf-16", "utf-16"), ("UTF_32", f"utf-32-{sys.byteorder[0]}e"),
        ("utf-32", "utf-32"), ("utf-8", "utf-8"), ("base64", "utf-8"), ("undefined", "utf-8"), ("x\0y", "utf-8"),
    ],
)  # fmt: skip
def test_lines_have_the_charset_of_the_text(charset: str, encoding: str, text: str, size: int) -> None:
    from outrider._resources.lines import LineSplitter

    body, splitter = text.encode(encoding), LineSplitter(charset)
    found = [line for start in range(0, len(body), size) for line in splitter.lines(body[start : start + size])]
    assert found + splitter.lines(b"", end=True) == text.removeprefix("\ufeff").splitlines()


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_dir_names_the_resources_that_are_loaded_later(kind: type[Client]) -> None:
    assert {"download", "oauth", "get"} <= set(dir(kind(socket="/nonexistent")))


def test_the_arguments_of_functions_have_public_classes() -> None:
    from outrider._resources.sessions import KINDS

    for shape, _ in KINDS.values():
        assert getattr(outrider, shape.__name__) is shape  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("name", "remedy"),
    [("retries", "retry"), ("content", "data"), ("hooks", "session.validator"), ("transport", "outrider.testing")],
)
def test_an_option_of_requests_or_httpx_names_its_replacement(name: str, remedy: str) -> None:
    with pytest.raises(TypeError, match=f"; .*{remedy}"):
        Client(**{name: True})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=f"; .*{remedy}"):
        Client().session(**{name: True})


@pytest.mark.parametrize("name", ["auth", "headers", "verify"])
def test_an_attribute_of_another_session_is_refused_and_not_without_effect(client: Client, name: str) -> None:
    for holder in (client, client.session()):
        with pytest.raises(AttributeError, match=f"give {name}= to the client"):
            setattr(holder, name, ("ada", "s3cret"))
        with pytest.raises(AttributeError, match=f"give {name}= to the client"):
            getattr(holder, name)


def test_an_exception_of_requests_names_its_replacement() -> None:
    with pytest.raises(AttributeError, match="use ConnectError"):
        assert outrider.ConnectionError  # type: ignore[attr-defined]


def test_iter_content_is_iter_bytes(client: Client, origin: str) -> None:
    pieces = list(client.get(f"{origin}/bytes/1000").iter_content(chunk_size=300))
    assert list(map(len, pieces)) == [300, 300, 300, 100]
