# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""A service that is killed while a stream is read."""

from __future__ import annotations

import asyncio
import select
from collections.abc import Callable
from typing import Any

import outrider
import pytest
from outrider import AsyncClient, Client
from outrider._sync.pipe import Pipe
from peers import Peer, serve, stop, until

MakePeer = Callable[..., Peer]

CALL = b'{"jsonrpc":"2.0","id":999999,"method":"diagnostics.echo","params":{}}\n'


@pytest.mark.parametrize("restarted", [False, True])
def test_a_service_that_is_killed_while_it_is_read_has_gone(
    binary: str, directory: str, peer: MakePeer, restarted: bool
) -> None:
    path = f"{directory}/killed.sock"
    half = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"
    child = serve(binary, path)

    def kill() -> None:
        nonlocal child
        child.kill()
        child.wait()
        if restarted:
            child = serve(binary, path)

    async def awaiting() -> None:
        async with AsyncClient(socket=path) as client, client.stream(peer(half, b"").url) as s:
            pieces = s.bytes()
            assert await pieces.__anext__() == b"abc"
            kill()
            with pytest.raises(outrider.ServerGone):
                await pieces.__anext__()

    try:
        with Client(socket=path) as client, client.stream(peer(half, b"").url) as s:
            pipe = s.raw()
            assert pipe.read(3) == b"abc"
            kill()
            with pytest.raises(outrider.ServerGone):
                pipe.read(1)
        stop(child)
        child = serve(binary, path)
        asyncio.run(awaiting())
    finally:
        stop(child)


def test_a_service_that_is_killed_before_it_is_read_has_gone(binary: str, directory: str, peer: MakePeer) -> None:
    path = f"{directory}/unread.sock"
    half = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"
    child = serve(binary, path)

    def kill() -> None:
        child.kill()
        child.wait()

    async def awaiting() -> None:
        async with AsyncClient(socket=path) as client, client.stream(peer(half, b"").url) as s:
            kill()
            with pytest.raises(outrider.ServerGone):
                await s.read()

    try:
        with Client(socket=path) as client:
            streams = [client.stream(peer(half, b"").url) for _ in range(2)]
            kill()
            with pytest.raises(outrider.ServerGone):
                streams[0].raw()
            with pytest.raises(outrider.ServerGone):
                streams[1].read()
            child = serve(binary, path)
            for each in streams:
                each.close()
        asyncio.run(awaiting())
    finally:
        stop(child)


def test_a_session_is_made_again_after_a_restart_of_the_service(binary: str, directory: str, origin: str) -> None:
    path = f"{directory}/restarted.sock"
    child = serve(binary, path)

    def restart() -> None:
        nonlocal child
        child.kill()
        child.wait()
        child = serve(binary, path)

    def field(r: outrider.Response | outrider.AsyncResponse) -> str:
        return {name.lower(): value for name, value in r.json()["headers"]}["x-session"]

    async def awaiting() -> None:
        # the event loop does not run while the service restarts, and so learns nothing of that
        async with AsyncClient(socket=path) as client, client.session(headers={"X-Session": "2"}) as session:
            for _ in range(2):
                assert field(await session.get(f"{origin}/echo")) == "2"
                restart()
            assert field(await session.get(f"{origin}/echo")) == "2"

    try:
        with Client(socket=path) as client, client.session(headers={"X-Session": "1"}) as session:
            for _ in range(2):
                assert field(session.get(f"{origin}/echo")) == "1"
                restart()
            assert session.stream(f"{origin}/json").read() == b'{"id":1,"x":0.1}'
            restart()
            [r] = session.many([f"{origin}/echo"])
            assert isinstance(r, outrider.Response) and field(r) == "1"
        asyncio.run(awaiting())
    finally:
        stop(child)


def test_a_session_may_be_closed_after_a_restart_of_the_service(binary: str, directory: str, origin: str) -> None:
    path = f"{directory}/closed.sock"
    child = serve(binary, path)
    try:
        with Client(socket=path) as client, client.session() as session:
            assert session.get(f"{origin}/json").ok
            child.kill()
            child.wait()
            child = serve(binary, path)
        with Client(socket=path) as client, client.session() as session:
            assert session.get(f"{origin}/json").ok
            client.close()
    finally:
        stop(child)


def test_the_offer_of_a_passphrase_is_repeated_after_a_restart_of_the_service(
    binary: str, directory: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from outrider._connection.awaiting import AsyncConnection
    from outrider._connection.blocking import Connection

    path = f"{directory}/offered.sock"
    child = serve(binary, path)
    made: list[str] = []

    def told(kind: Any) -> None:
        call = kind.call

        def spy(self: Any, method: str, *given: Any) -> Any:
            made.append(method)
            return call(self, method, *given)

        monkeypatch.setattr(kind, "call", spy)

    def restart() -> None:
        nonlocal child
        child.kill()
        child.wait()
        child = serve(binary, path)

    async def awaiting() -> None:
        async with AsyncClient(socket=path) as client:
            await client.oauth.passphrase(lambda locked: None)
            await asyncio.get_running_loop().run_in_executor(None, restart)
            await client.info()

    told(Connection)
    told(AsyncConnection)
    try:
        with Client(socket=path) as client:
            client.oauth.passphrase(lambda locked: None)
            restart()
            client.info()
            assert made.count("oauth.offerPassphrase") == 2 and made[-1] == "server.info"
            made.clear()
        asyncio.run(awaiting())
        assert made.count("oauth.offerPassphrase") == 2 and made[-1] == "server.info"
    finally:
        stop(child)


def test_a_pipe_that_could_not_be_opened_can_be_closed(directory: str) -> None:
    """The interpreter closes it, and in development mode tells of exceptions then."""
    pipe = Pipe.__new__(Pipe)
    with pytest.raises(outrider.ServerGone):
        pipe.__init__(f"{directory}/none.sock", b"", int)  # type: ignore[misc]
    pipe.close()


def test_an_unread_reply_hides_no_restart_of_the_service(binary: str, directory: str, origin: str) -> None:
    """A session is made again also if the lost connection still has bytes to read."""
    path = f"{directory}/unread.sock"
    child = serve(binary, path)

    def restart(stream: Any) -> None:
        nonlocal child
        until(lambda: bool(select.select([stream], [], [], 0)[0]))
        child.kill()
        child.wait()
        child = serve(binary, path)

    async def awaiting() -> None:
        async with AsyncClient(socket=path) as client, client.session(headers={"X-Session": "2"}) as session:
            assert (await session.get(f"{origin}/json")).ok
            stream = client._connections[asyncio.get_running_loop()].socket
            assert stream is not None
            # not by the event loop, which would read the reply
            stream.send(CALL)
            restart(stream)
            [r] = await session.many([f"{origin}/echo"])
            assert isinstance(r, outrider.AsyncResponse) and "X-Session" in r.text

    try:
        with Client(socket=path) as client, client.session(headers={"X-Session": "1"}) as session:
            assert session.get(f"{origin}/json").ok
            assert client._connection is not None
            client._connection._stream.send(CALL)
            restart(client._connection._stream)
            [r] = session.many([f"{origin}/echo"])
            assert isinstance(r, outrider.Response) and "X-Session" in r.text
        asyncio.run(awaiting())
    finally:
        stop(child)
