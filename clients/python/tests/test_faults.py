# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""What happens when the service is late, gone, or not itself."""

from __future__ import annotations

import asyncio
import signal
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import outrider
import pytest
from outrider import Client
from peers import Peer, serve, stop, until

MakePeer = Callable[..., Peer]


@pytest.mark.usefixtures("impatient")
def test_a_late_reply_is_given_up_and_cancelled(client: Client) -> None:
    began = time.monotonic()
    with pytest.raises(outrider.RequestTimeout, match=r"diagnostics\.sleep"):
        client.invoke("diagnostics.sleep", {"seconds": 30}, timeout=0.05)
    assert time.monotonic() - began < 8
    assert client.call("diagnostics.echo", still="here") == {"still": "here"}


def test_a_service_that_goes_away_is_told_with_what_was_in_flight(binary: str, directory: str) -> None:
    path = f"{directory}/gone.sock"
    child = serve(binary, path)
    try:
        with Client(socket=path) as client, ThreadPoolExecutor(3) as pool:
            waiting = [pool.submit(client.call, "diagnostics.sleep", seconds=30) for _ in range(3)]
            until(lambda: client.call("server.stats")["calls"]["running"] >= 4)
            child.kill()
            for each in waiting:
                with pytest.raises(outrider.ServerGone) as caught:
                    each.result(10)
                assert "diagnostics.sleep" in caught.value.in_flight and isinstance(caught.value, ConnectionError)
    finally:
        stop(child)


REPLY = b'{"jsonrpc":"2.0","id":1,'


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        (b"hello\n", outrider.ProtocolError),
        (b"[1]\n", outrider.ProtocolError),
        (REPLY + b'"result":7}\n', outrider.ProtocolError),
        (REPLY + b'"error":"no"}\n', outrider.ProtocolError),
        (REPLY + b'"error":{"code":-32603,"message":"bug"}}\n', outrider.ServerError),
        (REPLY + b'"error":{"code":-31999,"message":"new"}}\n', outrider.ServerError),
        (b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"?"}}\n', outrider.ServerGone),
        (REPLY + b'"result":{}', outrider.ServerGone),
        (b'{"jsonrpc":"2.0","id":99,"result":{}}\n', outrider.ServerGone),
    ],
)
def test_a_service_that_breaks_the_protocol_is_an_error(
    peer: MakePeer, reply: bytes, problem: type[Exception]
) -> None:
    with Client(socket=peer(reply, unix=True).path) as client, pytest.raises(problem):
        client.invoke("server.info", timeout=5)


def test_a_service_with_too_many_clients_says_so(binary: str, directory: str) -> None:
    path = f"{directory}/crowd.sock"
    child = serve(binary, path)
    crowd: list[socket.socket] = []

    def comes_in() -> bool:
        crowd.append(socket.socket(socket.AF_UNIX))
        crowd[-1].settimeout(20)
        crowd[-1].connect(path)
        # the service does not read refused calls
        with suppress(BrokenPipeError):
            crowd[-1].sendall(b'{"jsonrpc":"2.0","id":1,"method":"diagnostics.echo"}\n')
        if b"-32011" not in crowd[-1].recv(65536):
            return True
        crowd.pop().close()
        return False

    def is_full() -> bool:
        while comes_in():
            pass
        return len(crowd) == limit

    try:
        with Client(socket=path) as client:
            limit = client.info()["limits"]["connections"]
        # clients that have left may still be counted for a moment
        until(is_full)

        async def awaiting() -> None:
            async with outrider.AsyncClient(socket=path) as client:
                with pytest.raises(outrider.LimitError):
                    await client.info()
                (reply,) = await client.many(["http://127.0.0.1:1/"])
                assert isinstance(reply, outrider.LimitError)

        for _ in range(20):
            with Client(socket=path) as client:
                with pytest.raises(outrider.LimitError) as caught:
                    client.info()
                assert caught.value.code == -32011 and caught.value.retryable
                (reply,) = client.many(["http://127.0.0.1:1/"])
                assert isinstance(reply, outrider.LimitError)
            asyncio.run(awaiting())
    finally:
        for each in crowd:
            each.close()
        stop(child)


@pytest.mark.parametrize("code", [-32600, -32700, -32603])
def test_an_error_for_nobody_in_particular_is_why_the_connection_ends(peer: MakePeer, code: int) -> None:
    line = b'{"jsonrpc":"2.0","id":null,"error":{"code":%d,"message":"it is full moon"}}\n' % code
    path = peer(line, b"", unix=True).path
    with Client(socket=path) as client, pytest.raises(outrider.ServerGone, match="full moon"):
        client.info()

    async def awaiting() -> None:
        async with outrider.AsyncClient(socket=peer(line, b"", unix=True).path) as client:
            with pytest.raises(outrider.ServerGone, match="full moon"):
                await client.info()

    asyncio.run(awaiting())


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
