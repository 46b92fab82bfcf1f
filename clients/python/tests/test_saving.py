# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Bodies that become files: whole, or not at all."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import outrider
import pytest
from outrider import AsyncClient, Client
from peers import Peer

MakePeer = Callable[..., Peer]

CUT = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\nConnection: close\r\n\r\nthe beginning"


@pytest.fixture(params=["socket", "stdio"])
def either(request: pytest.FixtureRequest, service: str, binary: str) -> Any:
    """A client on a socket, where bytes come raw, and one on stdio, where they cannot."""
    ways = {"socket": {"socket": service}, "stdio": {"command": [binary, "serve", "--stdio"]}}
    with Client(**ways[request.param]) as made:
        yield made


def test_a_body_that_ends_early_becomes_no_file(either: Client, service: str, peer: MakePeer, tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.write_bytes(b"as it was")

    def save(server: Peer, path: Path, **options: Any) -> None:
        with either.stream(server.url) as s:
            s.save(path, **options)

    async def later(server: Peer, path: Path, **options: Any) -> None:
        async with AsyncClient(socket=service) as client, client.stream(server.url) as s:
            await s.save(path, **options)

    ways: list[Callable[..., Any]] = [
        save,
        lambda server, path, **options: either.get(server.url, body_to="stream").save(path, **options),
        lambda server, path, **options: asyncio.run(later(server, path, **options)),
    ]
    for way in ways:
        with pytest.raises(outrider.ConnectionLost):
            way(peer(CUT), tmp_path / "new")
        with pytest.raises(outrider.ConnectionLost):
            way(peer(CUT), there, replace=True)
        assert (list(tmp_path.iterdir()), there.read_bytes()) == ([there], b"as it was")


def test_a_file_that_is_replaced_keeps_its_mode_and_its_links(
    client: Client, origin: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"as it was")
    target.chmod(0o640)
    link.symlink_to("target")
    client.get(f"{origin}/json", body_to="stream").save(link, replace=True)
    assert link.is_symlink() and target.read_bytes() == client.get(f"{origin}/json").content
    assert target.stat().st_mode & 0o777 == 0o640
    assert client.get(f"{origin}/json").save("/dev/null", replace=True) == "/dev/null"
    monkeypatch.setattr("os.link", unlinkable)
    client.get(f"{origin}/json").save(tmp_path / "new")
    with pytest.raises(FileExistsError):
        client.get(f"{origin}/json").save(tmp_path / "new")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "new", "target"]


def unlinkable(*_: object) -> None:
    raise PermissionError
