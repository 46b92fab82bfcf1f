# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Programs whose threads are greenlets of gevent: a wait for the service holds up no other greenlet."""

from __future__ import annotations

import os
import select
import socket
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any

import outrider
import pytest
from outrider._connection import discovery, greenlets
from peers import ROOT, Peer, Scripted
from test_websockets import frame, shake

PATCHED = "from gevent import monkey\nmonkey.patch_all()\n"

# the client is loaded when its name is asked for
LATE = "import outrider\noutrider.Client\n" + PATCHED

AT_THE_SAME_TIME = """
import gevent, outrider, sys
client = outrider.Client(socket=sys.argv[1])
waiting = gevent.spawn(client.get, sys.argv[2] + "/delay/600")
while waiting.exception is None and not client.call("request.list")["requests"]:
    gevent.sleep(0.01)
assert client.get(sys.argv[2] + "/bytes/700000").size == 700000
waiting.kill(timeout=20)
assert waiting.dead and client.get(sys.argv[2] + "/json").ok
"""

IN_ANY_ORDER = """
import gevent, outrider, sys
client = outrider.Client(socket=sys.argv[1])
all = [gevent.spawn(client.get, sys.argv[2] + path) for path in ("/delay/0.3", "/bytes/700000", "/json")]
gevent.joinall(all, raise_error=True)
"""

TOGETHER = """
import gevent, outrider, sys
with outrider.Client(command=[sys.argv[1], "serve", "--stdio"]) as client:
    before = len(client.call("session.list")["sessions"])
    session = client.session(headers={"A": "b"})
    all = [gevent.spawn(session.get, sys.argv[2] + "/json") for _ in range(10)]
    gevent.joinall(all, raise_error=True)
    assert len(client.call("session.list")["sessions"]) == before + 1
    for patience in (None, 60):
        ws = client.websocket(sys.argv[3])
        all = [gevent.spawn(ws.recv, patience) for _ in range(2)]
        gevent.sleep(0)
        ws.send("now")
        gevent.joinall(all, raise_error=True)
        assert sorted(one.value for one in all) == ["one", "two"]
        ws.close()
"""

HUNG_UP = """
from _socket import socketpair
from outrider._connection.discovery import is_hung_up
one, other = socketpair()
other.send(b"x")
assert not is_hung_up(one)
other.close()
assert is_hung_up(one)
"""


@pytest.fixture
def polls(monkeypatch: pytest.MonkeyPatch) -> list[float | None]:
    """The waits of a program that looks like one of gevent."""
    found: list[float | None] = []

    class Poll:
        def __init__(self) -> None:
            self._true = select.poll()

        def register(self, *arguments: Any) -> None:
            self._true.register(*arguments)

        def poll(self, timeout: float | None = None) -> Any:
            found.append(timeout)
            return self._true.poll(timeout)

    monkeypatch.setattr(greenlets, "poll", Poll)
    monkeypatch.setattr(discovery, "ON_GREENLETS", True)
    return found


@pytest.mark.parametrize("own", [False, True])
def test_reads_wait_in_the_poll_of_gevent(
    service: str, binary: str, origin: str, polls: list[float | None], own: bool
) -> None:
    with outrider.Client(command=[binary, "serve", "--stdio"]) if own else outrider.Client(socket=service) as client:
        assert client.get(f"{origin}/bytes/700000", timeout=20).size == 700_000
        assert polls and all(wait is None or 0 <= wait <= 1e9 for wait in polls)
        polls.clear()
        assert client.get(f"{origin}/bytes/9").size == 9
        assert polls


@pytest.mark.usefixtures("impatient")
def test_a_wait_in_the_poll_of_gevent_ends_in_time(peer: Callable[..., Peer], polls: list[float | None]) -> None:
    silent = peer(b"", unix=True).path
    with outrider.Client(socket=silent) as client, pytest.raises(outrider.RequestTimeout, match="sent no reply"):
        client.get("http://127.0.0.1:1/", timeout=0.1)
    assert polls and polls[-1] is not None


def test_reads_wait_as_ever_where_the_threads_are_not_those_of_gevent(
    monkeypatch: pytest.MonkeyPatch, service: str, origin: str, polls: list[float | None]
) -> None:
    seems = SimpleNamespace(is_module_patched=lambda name: name == "socket", get_original=lambda _, name: select.poll)
    monkeypatch.setitem(sys.modules, "gevent.monkey", seems)
    monkeypatch.setattr(discovery, "ON_GREENLETS", False)
    with outrider.Client(socket=service) as client:
        assert client.get(f"{origin}/bytes/9").size == 9
    assert not polls


def run(program: str, *arguments: str) -> None:
    if find_spec("gevent") is None:
        pytest.skip("gevent is not installed; scripts/setup --test installs it")
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "clients/python/src")}
    subprocess.run([sys.executable, "-c", program, *arguments], env=environment, check=True, timeout=120)


def test_greenlets_of_gevent_wait_at_the_same_time(service: str, origin: str) -> None:
    run(PATCHED + AT_THE_SAME_TIME, service, origin)


@pytest.mark.parametrize("patch", [LATE, PATCHED.replace("all()", "all(thread=False)")])
def test_greenlets_whose_locks_are_not_those_of_gevent_wait_one_after_another(
    service: str, origin: str, patch: str
) -> None:
    run(patch + IN_ANY_ORDER, service, origin)


def test_greenlets_of_gevent_share_a_session_and_a_websocket(
    binary: str, origin: str, scripted: Callable[..., Scripted]
) -> None:
    def talk(stream: socket.socket) -> None:
        shake(stream)
        stream.recv(65536)
        stream.sendall(frame(1, b"one") + frame(1, b"two"))
        stream.recv(65536)

    run(PATCHED + TOGETHER, binary, origin, scripted(talk).url.replace("http", "ws"))


def test_a_program_of_gevent_sees_that_a_service_has_hung_up() -> None:
    run(PATCHED + HUNG_UP)
