# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""How the service is found, and started when there is none."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import outrider
import pytest
from outrider import Client
from peers import serve, stop


def test_a_service_that_was_restarted_is_found_again(binary: str, directory: str) -> None:
    path = f"{directory}/again.sock"
    first = serve(binary, path)
    with Client(socket=path) as client:
        assert client.info()
        stop(first)
        with pytest.raises(outrider.ServerNotFound, match=path):
            client.info()
        second = serve(binary, path)
        try:
            assert client.info()
        finally:
            stop(second)


def test_a_service_of_ones_own_on_stdio(binary: str, origin: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OUTRIDER_BIN", binary)
    with Client(stdio=True) as client:
        assert client.get(f"{origin}/json").json()["id"] == 1
        child = client._child
        assert client.info()["transport"] == "stdio"
    assert child is not None and child.returncode == 0
    with Client(command=[binary, "serve", "--stdio"]) as client:
        assert len(client.many([f"{origin}/json"] * 100)) == 100
        assert client._child is not None
        client._child.kill()
        client._child.wait()
        with pytest.raises(outrider.ServerGone):
            client.info()
        with pytest.raises(outrider.ServerGone, match="has ended"):
            client.info()


def test_the_service_is_found_and_started_when_there_is_none(binary: str, directory: str, origin: str) -> None:
    path = f"{directory}/auto.sock"
    source = os.path.dirname(os.path.dirname(outrider.__file__))
    environment = {**os.environ, "OUTRIDER_SOCKET": path, "OUTRIDER_BIN": binary, "PYTHONPATH": source}
    program = (
        f"import outrider; print(outrider.get('{origin}/json').json()['id'], outrider.get('{origin}/json').status)"
    )
    words = [sys.executable, "-W", "error", "-c", program]
    try:
        for _ in range(2):
            done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=60)
            assert (done.stdout, done.stderr) == ("1 200\n", "")
    finally:
        with Client(socket=path) as client:
            client.call("server.stop")


def test_where_no_service_listens_the_message_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(outrider.ServerNotFound, match=r"no service answers at .*/none\.sock"):
        Client(socket=tmp_path / "none.sock").info()
    monkeypatch.setenv("OUTRIDER_SOCKET", str(tmp_path / "none.sock"))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("OUTRIDER_BIN", raising=False)
    with pytest.raises(outrider.ServerNotFound, match="OUTRIDER_BIN"):
        Client().info()
    with pytest.raises(outrider.ServerNotFound, match="no service answers"):
        Client(spawn=False).info()
    monkeypatch.setenv("OUTRIDER_BIN", str(tmp_path / "missing"))
    with pytest.raises(outrider.ServerNotFound, match="cannot be run"):
        Client().info()
    with pytest.raises(outrider.ServerNotFound, match="107"):
        Client(socket="/tmp/" + "x" * 200).info()


@pytest.mark.parametrize(
    ("script", "problem", "says"),
    [
        ("echo oops >&2; exit 3", outrider.ServerNotFound, "oops"),
        ("exit 7", outrider.ServerNotFound, "exit status 7"),
        ("echo hello", outrider.ProtocolError, "instead of one JSON object"),
        ("""echo '{"socket":"/tmp/x","protocol":9}'""", outrider.ProtocolError, "speaks protocol 9"),
        ("""echo '{"socket":"/tmp/none","protocol":1}'""", outrider.ServerNotFound, "started but does not answer"),
    ],
)
def test_a_get_socket_that_fails_is_explained(
    script: str, problem: type[Exception], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = tmp_path / "outrider"
    fake.write_text(f"#!/bin/sh\n{script}\n")
    fake.chmod(0o755)
    monkeypatch.setenv("OUTRIDER_SOCKET", str(tmp_path / "none.sock"))
    monkeypatch.setenv("OUTRIDER_BIN", str(fake))
    with pytest.raises(problem, match=says):
        Client().info()


def test_a_socket_that_somebody_else_could_have_put_there_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OUTRIDER_SOCKET", raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    (tmp_path / "outrider").mkdir()
    (tmp_path / "outrider").chmod(0o777)
    with pytest.raises(outrider.ServerNotFound, match="not writable by other users"):
        Client(spawn=False).info()


def test_the_executable_of_the_virtual_environment_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from outrider._connection import discovery

    places = [tmp_path / name for name in ("environment/bin", "path")]
    for place in places:
        place.mkdir(parents=True)
        (place / "outrider").write_text("")
        (place / "outrider").chmod(0o755)
    monkeypatch.delenv("OUTRIDER_BIN", raising=False)
    monkeypatch.setenv("PATH", str(places[1]))
    monkeypatch.setattr("sys.prefix", str(tmp_path / "environment"))
    monkeypatch.setattr("sys.base_prefix", "/usr")
    assert discovery.binary() == str(places[0] / "outrider")
    monkeypatch.setattr("sys.base_prefix", str(tmp_path / "environment"))
    assert discovery.binary() == str(places[1] / "outrider")
    # an interpreter that PATH does not name, as that of a container in a job of cron, has commands beside it, too
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert discovery.binary() == str(places[0] / "outrider")


def test_a_runtime_directory_of_another_user_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from outrider._connection import discovery

    monkeypatch.delenv("OUTRIDER_SOCKET", raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert discovery.socket_path() == (f"{tmp_path}/outrider/outrider.sock", True)
    if os.getuid() == 0:
        os.chown(tmp_path, 61000, 61000)
    # of whom no program runs, so that there is no /run/user for it
    user = next(number for number in range(1 << 30, 1 << 31) if not os.path.lexists(f"/run/user/{number}"))
    monkeypatch.setattr("os.getuid", lambda: user)
    elsewhere = (f"/tmp/outrider-{user}/outrider.sock", True)
    assert discovery.socket_path() == elsewhere
    monkeypatch.setenv("XDG_RUNTIME_DIR", "relative")
    assert discovery.socket_path() == elsewhere
