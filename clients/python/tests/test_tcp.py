# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""TCP connections through the service, and the way out of this machine."""

from __future__ import annotations

import asyncio
import math
import os
import select
import signal
import socket
import tempfile
import threading
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import outrider
import pytest
from outrider import AsyncClient, Client
from peers import Scripted, held, until

Serve = Callable[[Callable[[socket.socket], None]], Scripted]


def shouting(stream: socket.socket) -> None:
    """Greets, then repeats each line in capitals until the end of what it is sent, and says goodbye."""
    stream.sendall(b"220 hello\r\n")
    with stream.makefile("rb") as lines:
        for line in lines:
            stream.sendall(line.upper())
    stream.sendall(b"bye")


def test_bytes_go_both_ways(client: Client, scripted: Serve) -> None:
    server = scripted(shouting)
    with client.tcp("127.0.0.1", server.port) as connection:
        assert connection.remote == f"127.0.0.1:{server.port}" and connection.tls is None
        assert connection.read_line() == b"220 hello\r\n"
        connection.write(b"one\n")
        connection.write("naïve\n")
        assert connection.read(4, min=4) == b"ONE\n"
        assert connection.read_line(timeout=10) == "NAïVE\n".encode()
        with pytest.raises(outrider.RequestTimeout, match=r"nothing came within 0\.05 seconds"):
            connection.read(timeout=0.05)
        connection.write(b"x" * 1_000_000 + b"\n" + b"y" * 600_000 + b"\nend\n")
        assert len(connection.read_line()) == 1_000_001
        assert connection.read(600_001, min=600_001) == b"Y" * 600_000 + b"\n"
        connection.finish()
        assert list(connection.lines()) == [b"END", b"bye"] and connection.read() == b""
    connection.close()
    with pytest.raises(ValueError, match="not open"):
        connection.write(b"x")
    with pytest.raises(ValueError, match="1 <= min <= max"):
        connection.read(0)


@pytest.mark.parametrize("given", ["s", "~/s", Path("s"), "/", "@"])
def test_a_path_of_a_unix_socket_is_one_of_the_program(
    client: Client, directory: str, monkeypatch: pytest.MonkeyPatch, given: str | Path
) -> None:
    with socket.socket(socket.AF_UNIX) as server, tempfile.TemporaryDirectory(dir=directory) as place:
        monkeypatch.chdir(place)
        monkeypatch.setenv("HOME", place)
        name = f"@{place}" if given == "@" else f"{place}/s"
        server.bind(name.replace("@", "\0"))
        server.listen()
        path = name if given in ("/", "@") else given
        with client.tcp(path=path) as connection, server.accept()[0] as peer:
            peer.sendall(b"hello\n")
            assert connection.read_line(timeout=60) == b"hello\n"


def test_the_bytes_before_a_failure_come_before_it() -> None:
    """Those of one read come with the failure."""
    failure = {"code": 1404, "message": "lost", "kind": "sessionTaskFailed", "reason": "connectionLost"}
    made: dict[str, Any] = {"stream": "str_1"}
    last: dict[str, Any] = {"base64": "b25lCnR3bw==", "end": True, "error": failure}

    class Fake:
        def invoke(self, method: str, params: Any = None, *, timeout: Any = None) -> dict[str, Any]:
            return {"tcp.open": made, "stream.read": last}.get(method, {})

        _invoke_raw = invoke

        def _leave(self, calls: Any) -> None:
            pass

    client: Any = Fake()
    with outrider.TCPConnection(client, dict) as connection:
        assert connection.read_line() == b"one\n"
        with pytest.raises(outrider.ConnectionLost):
            connection.read(4, min=4)
        assert connection.read_line() == b"two" and connection.read() == b""


def test_each_of_the_tasks_that_wait_gets_the_failure() -> None:
    failure = {"code": 1404, "message": "lost", "kind": "sessionTaskFailed", "reason": "connectionLost"}

    async def work() -> None:
        all_wait = asyncio.Event()

        class Fake:
            async def invoke(self, method: str, params: Any = None, *, timeout: Any = None) -> dict[str, Any]:
                if method != "stream.read":
                    return {"stream": "str_1"}
                await all_wait.wait()
                return {"base64": "", "end": True, "error": failure}

            _invoke_raw = invoke

            def _leave(self, calls: Any) -> None:
                pass

        async def given() -> dict[str, Any]:
            return {}

        client: Any = Fake()
        async with outrider.AsyncTCPConnection(client, given) as connection:
            tasks = [asyncio.ensure_future(connection.read()) for _ in range(3)]
            while len(connection._turns._waiting) < 2:
                await asyncio.sleep(0)
            all_wait.set()
            found = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 60)
            assert [type(one) for one in found] == [outrider.ConnectionLost] * 3
            assert await connection.read() == b""

    asyncio.run(work())


def test_a_child_made_by_fork_waits_for_no_thread_of_the_parent(client: Client, scripted: Serve) -> None:
    with client.tcp("127.0.0.1", scripted(pair).port) as connection:
        thread = threading.Thread(target=connection.read, args=(2,), kwargs={"min": 2})
        thread.start()
        until(lambda: held(connection._turns))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child == 0:
            signal.alarm(60)
            try:
                connection.read(1)
            except outrider.HandleError:
                os._exit(0)
            finally:
                os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        connection.write(b"x")
        thread.join(60)
        assert not thread.is_alive()


def test_a_timeout_is_for_all_that_is_awaited(client: Client, scripted: Serve) -> None:
    def dripping(stream: socket.socket) -> None:
        stream.sendall(b"one")
        while not select.select([stream], [], [], 0.05)[0]:
            stream.sendall(b".")

    with client.tcp("127.0.0.1", scripted(dripping).port) as connection:
        assert connection.read(3, min=3, timeout=3600) == b"one"
        with pytest.raises(outrider.RequestTimeout):
            connection.read_line(timeout=0.2)
        with pytest.raises(outrider.RequestTimeout):
            connection.read(timeout=-1, min=1000, max=1000)
        # and nothing was taken
        assert connection.read(2, min=2, timeout=10) == b".."


def test_what_cannot_be_opened(client: Client) -> None:
    with pytest.raises(outrider.ConnectError):
        client.tcp("127.0.0.1", 1)
    with pytest.raises(TypeError, match="a TCP connection has no option tsl"):
        client.tcp("127.0.0.1", 1, tsl=True)


def test_a_connection_of_a_session_and_a_socket_of_the_program(client: Client, scripted: Serve) -> None:
    server = scripted(shouting)
    connection = client.session().tcp("127.0.0.1", server.port)
    with connection.makefile("rwb") as file:
        assert file.readline() == b"220 hello\r\n"
        file.write(b"two\n")
        file.flush()
        assert file.readline() == b"TWO\n"
    made = client.tcp("127.0.0.1", server.port).detach()
    with made:
        assert made.recv(100).startswith(b"2")
        made.shutdown(socket.SHUT_WR)


def test_a_connection_outlives_a_socket_that_could_not_be_made(
    client: Client, scripted: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError("no descriptor is left")

    monkeypatch.setattr("outrider._sync.pipe.open_socket", fail)
    with client.tcp("127.0.0.1", scripted(shouting).port) as connection:
        with pytest.raises(OSError, match="no descriptor"):
            connection.detach()
        assert connection.read_line() == b"220 hello\r\n"


def test_the_awaiting_client_does_the_same(service: str, scripted: Serve) -> None:
    server = scripted(shouting)

    async def work() -> None:
        async with AsyncClient(socket=service) as client:
            async with client.tcp("127.0.0.1", server.port) as connection:
                assert await connection.read_line() == b"220 hello\r\n"
                await connection.write(b"one\n")
                await connection.finish()
                assert [line async for line in connection.lines()] == [b"ONE", b"bye"]
            assert (await client.reachability(host="127.0.0.1")).status == "reachable"

    asyncio.run(work())


def pair(stream: socket.socket) -> None:
    """Sends two bytes at once when it gets one."""
    if stream.recv(1):
        stream.sendall(b"ab")
        stream.recv(1)


def test_what_one_reader_reads_ahead_is_there_for_the_next(client: Client, service: str, scripted: Serve) -> None:
    server = scripted(pair)
    with client.tcp("127.0.0.1", server.port) as connection, ThreadPoolExecutor(2) as threads:
        readers = [threads.submit(connection.read, 1, timeout=60) for _ in "ab"]
        connection.write(b"x")
        assert sorted(one.result() for one in readers) == [b"a", b"b"]
        # a reader whose turn does not come in time
        waiting = threads.submit(connection.read, 1, timeout=math.inf)
        until(lambda: held(connection._turns))
        with pytest.raises(outrider.RequestTimeout):
            connection.read(1, timeout=0.05)
        connection.finish()
        assert waiting.result() == b""

    async def work() -> None:
        async with AsyncClient(socket=service) as other, other.tcp("127.0.0.1", server.port) as connection:
            first, second, cancelled, third = [asyncio.ensure_future(connection.read(1)) for _ in "abcd"]
            await connection.write(b"x")
            cancelled.cancel()
            assert await asyncio.wait_for(asyncio.gather(first, second), 60) == [b"a", b"b"]
            with pytest.raises(outrider.RequestTimeout):
                await connection.read(1, timeout=0.05)
            assert not connection._turns._waiting
            await connection.finish()
            assert await asyncio.wait_for(third, 60) == b""

    asyncio.run(work())


def test_lines_and_many_bytes_come_whole(client: Client, scripted: Serve) -> None:
    def talk(stream: socket.socket) -> None:
        stream.sendall(b"x" * 600_000 + b"\n" + b"ab\n" * 3 + bytes(700_000) + b"end")

    with client.tcp("127.0.0.1", scripted(talk).port) as connection:
        assert len(connection.read_line()) == 600_001
        assert [connection.read_line() for _ in "abc"] == [b"ab\n"] * 3
        found = connection.read(700_000, min=700_000, timeout=60)
        assert type(found) is bytes and found == bytes(700_000)
        assert [connection.read_line(), connection.read_line(), connection.read()] == [b"end", b"", b""]


def test_what_is_neither_bytes_nor_text_is_not_written(client: Client, scripted: Serve) -> None:
    given: Any = 7
    with client.tcp("127.0.0.1", scripted(shouting).port) as connection:
        with pytest.raises(TypeError, match="bytes or text is sent, not int"):
            connection.write(given)
        connection.write(bytearray(b"one\n"))
        assert [connection.read_line(), connection.read_line()] == [b"220 hello\r\n", b"ONE\n"]


def test_tls_is_not_begun_over_unread_bytes(client: Client, scripted: Serve) -> None:
    def talk(stream: socket.socket) -> None:
        stream.sendall(b"220 ready\r\n250 injected\r\n")
        stream.recv(100)

    with client.tcp("127.0.0.1", scripted(talk).port) as connection:
        assert connection.read_line() == b"220 ready\r\n"
        with pytest.raises(outrider.StreamError):
            connection.start_tls()


def test_reachability(client: Client, origin: str) -> None:
    found = client.reachability(host="127.0.0.1")
    assert (found.status, found.kind, bool(found)) == ("reachable", "loopback", True)
    assert client.reachability(origin, probe="connect").status == "reachable"
    assert [one.status for one in client.reachability.watch(host="127.0.0.1", timeout=0.1)] == ["reachable"]
    assert "reachability" in dir(client) and "reachable" in repr(found)
    with pytest.raises(outrider.InvalidCall, match="without a scheme"):
        next(client.reachability.watch(host="http://a"))


def test_a_dropped_connection_ends(client: Client, service: str, scripted: Serve) -> None:
    ended = threading.Semaphore(0)

    def wait(stream: socket.socket) -> None:
        stream.sendall(b"hello\n")
        while stream.recv(100):
            pass
        ended.release()

    server = scripted(wait)
    connection = client.tcp("127.0.0.1", server.port)
    assert connection.read_line() == b"hello\n"
    del connection
    assert ended.acquire(timeout=10)

    async def work() -> None:
        async with AsyncClient(socket=service) as other:
            connection = other.tcp("127.0.0.1", server.port)
            await connection.__aenter__()
            assert await connection.read_line() == b"hello\n"
            del connection
            assert await asyncio.get_running_loop().run_in_executor(None, ended.acquire, True, 10)

    asyncio.run(work())
