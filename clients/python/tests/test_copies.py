# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""What a client gives can be copied, and sent to another process."""

from __future__ import annotations

import asyncio
import copy
import multiprocessing
import pickle
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import outrider
import pytest
from outrider import AsyncClient, Client
from outrider._resources.oauth import AccessToken
from peers import Peer

MakePeer = Callable[..., Peer]
WAYS: list[Callable[[Any], Any]] = [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))]


def fetch(socket: str, url: str) -> Any:
    with Client(socket=socket) as client:
        return client.get(url)


@pytest.mark.parametrize("way", WAYS)
def test_a_response_can_be_copied(client: Client, origin: str, way: Callable[[Any], Any]) -> None:
    first = client.get(f"{origin}/json")
    r = way(first)
    assert r.elapsed == first.elapsed
    assert (r.status, r.content, r.json()) == (200, b'{"id":1,"x":0.1}', {"id": 1, "x": 0.1})
    assert way(r.headers) == r.headers and r.headers.pairs == way(r.headers).pairs
    large = client.get(f"{origin}/bytes/9000000")
    unread = way(large)
    for take in (lambda: unread.content, lambda: next(unread.iter_bytes()), lambda: unread.save("/nowhere/at/all")):
        with pytest.raises(RuntimeError, match="read its body before"):
            take()
    unread.close()
    assert len(large.content) == 9_000_000 and way(large).content == large.content
    stream = client.get(f"{origin}/json", body_to="stream")
    with pytest.raises(RuntimeError, match="read its body before"):
        way(stream).content  # noqa: B018
    assert stream.json() == {"id": 1, "x": 0.1}


@pytest.mark.parametrize("way", WAYS)
def test_an_exception_can_be_copied(client: Client, origin: str, peer: MakePeer, way: Callable[[Any], Any]) -> None:
    cut = peer(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf").url
    readers: list[Callable[[], Any]] = [
        lambda: client.get(cut),
        lambda: client.get("http://127.0.0.1:1/"),
        lambda: client.get(f"{origin}/status/404").raise_for_status(),
        lambda: client.get("http://"),
        lambda: client.get(f"{origin}/delay/20", timeout=0.1),
        lambda: client.call("no.such"),
        lambda: Client(socket="/nonexistent", spawn=False).info(),
    ]
    for read in readers:
        with pytest.raises(outrider.OutriderError) as caught:
            read()
        one, other = caught.value, way(caught.value)
        assert type(one) is type(other) and (str(one), one.code, one.data) == (str(other), other.code, other.data)
        if isinstance(one, outrider.ExchangeError):
            assert other.response.content == one.response.content and other.response.url == one.response.url


@pytest.mark.parametrize("way", WAYS)
def test_a_failure_to_save_a_kept_body_can_be_copied(
    client: Client, origin: str, tmp_path: Path, way: Callable[[Any], Any]
) -> None:
    (tmp_path / "there").write_bytes(b"")
    with client.get(f"{origin}/json", body_to="stored") as r:
        for kind, path in ((FileExistsError, tmp_path / "there"), (FileNotFoundError, tmp_path / "no" / "folder")):
            with pytest.raises(kind) as caught:
                r.save(path)
            one, other = caught.value, way(caught.value)
            assert isinstance(other, kind) and isinstance(other, outrider.InvalidCall)
            assert (str(other), other.errno, other.filename) == (str(one), one.errno, str(path))
            assert (other.args, other.__dict__) == (one.args, one.__dict__)


class Own(outrider.ServerGone):
    """An exception of a program, with a constructor of its own."""

    def __init__(self, number: int, *, name: str) -> None:
        super().__init__(f"{number}: {name}")
        self.number = number


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "problem",
    [
        outrider.WebSocketClosed({"code": 1008, "reason": "policy", "clean": True}),
        outrider.LoginFailed({"message": "no", "kind": "oauth", "reason": "access_denied"}),
        outrider.ServerGone("gone", in_flight=("data.send",)),
        Own(7, name="x"),
    ],
)
def test_an_exception_with_its_own_constructor_can_be_copied(
    problem: outrider.OutriderError, way: Callable[[Any], Any]
) -> None:
    other = way(problem)
    assert type(other) is type(problem) and other.__dict__ == problem.__dict__
    assert (str(other), other.args, repr(other)) == (str(problem), problem.args, repr(problem))


def test_a_process_pool_loses_neither(service: str, origin: str) -> None:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        assert pool.submit(fetch, service, f"{origin}/json").result(60).json() == {"id": 1, "x": 0.1}
        with pytest.raises(outrider.ConnectError) as caught:
            pool.submit(fetch, service, "http://127.0.0.1:1/").result(60)
        assert caught.value.response.url == "http://127.0.0.1:1/"


@pytest.mark.parametrize("way", WAYS)
def test_an_awaited_response_can_be_copied(service: str, origin: str, way: Callable[[Any], Any]) -> None:
    async def work() -> None:
        async with AsyncClient(socket=service) as client:
            assert way(await client.get(f"{origin}/json")).json() == {"id": 1, "x": 0.1}
            with pytest.raises(RuntimeError, match="read its body before"):
                await way(await client.get(f"{origin}/json", body_to="stored")).read()

    asyncio.run(work())


@pytest.mark.parametrize("way", WAYS)
def test_a_token_can_be_copied(way: Callable[[Any], Any]) -> None:
    token = way(AccessToken({"accessToken": "t", "tokenType": "Bearer", "scope": ["a"], "missingScope": ["b"]}))
    assert (token, type(token), token.header) == ("t", AccessToken, {"Authorization": "Bearer t"})
    assert (token.expires_at, token.scope, token.missing_scope) == (None, ["a"], ["b"])


@pytest.mark.parametrize("way", WAYS)
def test_a_client_cannot_be_copied(client: Client, service: str, way: Callable[[Any], Any]) -> None:
    client.info()
    for one in (client, client.session(), AsyncClient(socket=service)):
        if one is client or way is not copy.copy:
            with pytest.raises(TypeError, match="make one with the same arguments in each process"):
                way(one)
