# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""What the tests stand on: the real service, the origin that comes with it, and peers that misbehave."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import requests

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "src"), str(HERE), str(HERE.parents[2] / "schema")]

from outrider import Client  # noqa: E402
from peers import ROOT, Peer, Scripted, serve, stop  # noqa: E402


@pytest.fixture(scope="session")
def binary() -> str:
    """The service's executable: $OUTRIDER, else what was built in this repository."""
    candidates = [os.environ["OUTRIDER"]] if os.environ.get("OUTRIDER") else []
    candidates += [str(ROOT / ".build" / kind / "outrider") for kind in ("release", "debug")] if not candidates else []
    for candidate in candidates:
        if os.access(candidate, os.X_OK):
            return os.path.abspath(candidate)
    pytest.fail(f"no executable at {' or '.join(candidates)}: run make build, or set OUTRIDER to its path")


@pytest.fixture(scope="session")
def directory() -> Iterator[str]:
    """A short path of our own: the path of a Unix socket has at most 107 bytes."""
    with tempfile.TemporaryDirectory(prefix="or-", dir="/tmp") as path:
        yield path


@pytest.fixture(scope="session")
def service(binary: str, directory: str) -> Iterator[str]:
    """The socket of a running service."""
    path = f"{directory}/o.sock"
    child = serve(binary, path)
    yield path
    stop(child)


@pytest.fixture(scope="session")
def origin() -> Iterator[str]:
    """The base URL of the origin that comes with the service."""
    words = [sys.executable, str(ROOT / "scripts/origin.py"), "--port", "0", "--quiet"]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        yield f"http://127.0.0.1:{int(child.stdout.readline())}"
        stop(child)


@pytest.fixture
def client(service: str) -> Iterator[Client]:
    """A blocking client of the running service."""
    with Client(socket=service) as made:
        yield made


@pytest.fixture
def peer(directory: str) -> Iterator[Callable[..., Peer]]:
    """Makes peers that reply what they are told to, on TCP or on a Unix socket."""
    made: list[Peer] = []

    def make(*replies: bytes, unix: bool = False) -> Peer:
        made.append(Peer(replies, f"{directory}/p{id(made)}-{len(made)}.sock" if unix else None))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture
def scripted() -> Iterator[Callable[[Callable[[socket.socket], None]], Scripted]]:
    """Makes servers that hand each connection to a function."""
    made: list[Scripted] = []

    def make(talk: Callable[[socket.socket], None]) -> Scripted:
        made.append(Scripted(talk))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture
def session(service: str, native: requests.Session) -> Iterator[requests.Session]:
    """A session of requests that goes through the service."""
    import requests
    from outrider.requests import Adapter

    with requests.Session() as made:
        adapter = Adapter(socket=service)
        made.mount("http://", adapter)
        made.mount("https://", adapter)
        yield made


@pytest.fixture
def native(monkeypatch: pytest.MonkeyPatch) -> Iterator[requests.Session]:
    """A session of requests as it comes, without files of certificates in the environment."""
    import requests

    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)
    with requests.Session() as made:
        yield made


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that gives the service next to no grace after a timeout."""
    monkeypatch.setattr("outrider._protocol.parameters.GRACE", 0.05)
