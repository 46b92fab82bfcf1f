# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Programs whose threads are greenlets of gevent: a wait for the service holds up no other greenlet."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any

import outrider
import pytest
from peers import ROOT, Peer

PROGRAM = """
from gevent import monkey
monkey.patch_all()
import gevent, outrider, sys
client = outrider.Client(socket=sys.argv[1])
waiting = gevent.spawn(client.get, sys.argv[2] + "/delay/600")
while waiting.exception is None and not client.call("request.list")["requests"]:
    gevent.sleep(0.01)
assert client.get(sys.argv[2] + "/bytes/700000").size == 700000
waiting.kill(timeout=20)
assert waiting.dead and client.get(sys.argv[2] + "/json").ok
"""


@pytest.fixture
def polls(monkeypatch: pytest.MonkeyPatch) -> list[float | None]:
    """The waits of a program that looks like one of gevent."""
    found: list[float | None] = []
    true = select.poll

    class Poll:
        def __init__(self) -> None:
            self._true = true()

        def register(self, *arguments: Any) -> None:
            self._true.register(*arguments)

        def poll(self, timeout: float | None = None) -> Any:
            found.append(timeout)
            return self._true.poll(timeout)

    monkeypatch.setattr(select, "poll", Poll)
    monkeypatch.setitem(sys.modules, "gevent.monkey", SimpleNamespace(is_module_patched=lambda name: name == "socket"))
    monkeypatch.delitem(sys.modules, "outrider._connection.greenlets", raising=False)
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


@pytest.mark.skipif(find_spec("gevent") is None, reason="gevent is not installed")
def test_greenlets_of_gevent_wait_at_the_same_time(service: str, origin: str) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "clients/python/src")}
    subprocess.run([sys.executable, "-c", PROGRAM, service, origin], env=environment, check=True, timeout=120)
