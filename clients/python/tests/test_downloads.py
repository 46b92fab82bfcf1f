# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Downloads of both clients, against the real service."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from pathlib import Path
from typing import Any

import contract_tables
import outrider
import pytest
from outrider import AsyncClient, Client
from outrider._protocol.parameters import Defaults
from outrider._resources import downloads as _downloads
from outrider._sync.transfers import Downloads

BODY = bytes(range(256)) * 400


def response(body: bytes, first: int = 0, cut: int | None = None) -> bytes:
    """A whole response or a part; ``cut`` is where it breaks off."""
    status = b"206 Partial Content" if first else b"200 OK"
    fields = b'ETag: "a"\r\nContent-Length: %d\r\n' % (len(body) - first)
    if first:
        fields += b"Content-Range: bytes %d-%d/%d\r\n" % (first, len(body) - 1, len(body))
    return b"HTTP/1.1 " + status + b"\r\n" + fields + b"\r\n" + body[first : len(body) if cut is None else cut]


class Files:
    """A server of one file: the first response breaks off at ``cut``, the next ones give what is asked for."""

    def __init__(self, cut: int | None = None) -> None:
        import socket

        self.cut = cut
        self.ranges: list[str | None] = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}/dir/name.bin"
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with connection:
                head = b""
                while b"\r\n\r\n" not in head:
                    piece = connection.recv(65536)
                    if not piece:
                        break
                    head += piece
                ranges = [line.split(b": ")[1].decode() for line in head.split(b"\r\n") if line.startswith(b"Range: ")]
                self.ranges.append(ranges[0] if ranges else None)
                first = int(ranges[0].split("=")[1].rstrip("-")) if ranges else 0
                cut, self.cut = self.cut, None
                connection.sendall(response(BODY, first, cut))

    def close(self) -> None:
        import contextlib
        import socket

        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


@pytest.fixture
def files() -> Any:
    server = Files()
    yield server
    server.close()


def test_a_file_arrives_under_its_name(client: Client, files: Files, tmp_path: Path) -> None:
    r = client.download(files.url, tmp_path / "file", checksum={"md5": "0" * 32}, check=False)
    assert isinstance(r.error, outrider.FileError) and r.error.reason == "checksumMismatch"
    r = client.download(files.url, tmp_path / "file")
    assert r.path == str(tmp_path / "file") and r.size == len(BODY) and (tmp_path / "file").read_bytes() == BODY
    assert client.download(files.url, directory=tmp_path).path == str(tmp_path / "name.bin")
    with pytest.raises(outrider.FileError, match="replace"):
        client.download(files.url, tmp_path / "file")
    assert client.download(files.url, tmp_path / "file", replace=True).ok
    assert client.download(files.url, tmp_path / "a/b", create_directories=True).ok


def test_a_name_is_relative_to_the_program_and_not_to_the_service(
    client: Client, files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert client.download(files.url, "here").path == str(tmp_path / "here")
    assert client.download(files.url).path == str(tmp_path / "name.bin")


def test_a_status_that_is_no_success_raises_and_leaves_no_file(client: Client, origin: str, tmp_path: Path) -> None:
    with pytest.raises(outrider.StatusError) as caught:
        client.download(f"{origin}/status/404", tmp_path / "file")
    assert caught.value.response.content == b"404 Not Found\n" and os.listdir(tmp_path) == []
    assert client.download(f"{origin}/status/404", tmp_path / "file", validate=False).status == 404


def test_what_was_interrupted_goes_on_when_it_is_called_again(client: Client, tmp_path: Path) -> None:
    for again in (True, False):
        files = Files(cut=50_000)
        path = tmp_path / str(again)
        with pytest.raises(outrider.ConnectionLost) as caught:
            client.download(files.url, path)
        assert caught.value.resume_data and not path.exists()
        r = client.download(files.url, path) if again else client.download.resume(caught.value.resume_data)
        assert r.status == 206 and path.read_bytes() == BODY and files.ranges == [None, "bytes=50000-"]
        files.close()


def test_progress_is_told(client: Client, files: Files, tmp_path: Path) -> None:
    seen: list[int] = []
    client.download(files.url, tmp_path / "file", progress=lambda told: seen.append(told.completed))
    assert seen[-1] == len(BODY) and seen == sorted(seen)


def test_a_function_that_fails_ends_the_download_and_keeps_what_came(
    client: Client, files: Files, tmp_path: Path
) -> None:
    def refuse(told: outrider.Progress) -> None:
        raise KeyError("enough")

    with pytest.raises(KeyError):
        client.download(files.url, tmp_path / "file", progress=refuse, rate_limit=1000)
    assert not (tmp_path / "file").exists()
    assert client.download(files.url, tmp_path / "file").status == 206
    assert (tmp_path / "file").read_bytes() == BODY


def test_a_started_download_can_be_cancelled_and_resumed(client: Client, files: Files, tmp_path: Path) -> None:
    request = client.download.start(files.url, tmp_path / "file", rate_limit=1000)
    while not request.progress().completed:
        pass
    data = client.download.cancel(request)
    assert data is not None and client.download.resume(data).ok
    assert (tmp_path / "file").read_bytes() == BODY
    assert client.download.cancel(request) == data, "what has ended stays as it was"


def test_the_awaiting_client_does_the_same(service: str, tmp_path: Path) -> None:
    async def run() -> None:
        async with AsyncClient(socket=service) as client:
            files = Files(cut=50_000)
            seen: list[int] = []
            with pytest.raises(outrider.ConnectionLost) as caught:
                await client.download(files.url, tmp_path / "one")
            r = await client.download.resume(
                caught.value.resume_data or "", progress=lambda told: seen.append(told.completed)
            )
            assert r.status == 206 and (tmp_path / "one").read_bytes() == BODY
            assert seen[0] > 50_000 and seen[-1] == len(BODY)
            request = await client.download.start(files.url, tmp_path / "two", rate_limit=1000)
            while not (await request.progress()).completed:
                pass
            assert (await client.download.resume(await client.download.cancel(request) or "")).ok
            assert (await client.download(files.url, directory=tmp_path, filename="three")).ok
            assert (tmp_path / "two").read_bytes() == (tmp_path / "three").read_bytes() == BODY
            files.close()

    asyncio.run(run())


def test_parameters_are_those_of_the_protocol() -> None:
    options = {
        "checksum": {"md5": "x"}, "verify_digest": False, "segments": 2, "rate_limit": 9, "resume": False,
        "if_range": True, "when_changed": "fail",
        "replace": True, "create_directories": True, "directory": "/d", "filename": "f",
    }  # fmt: skip
    built = json.loads(_downloads.build_download("http://h/", None, options, Defaults()).text("progress"))
    _, known = contract_tables.METHODS["download.send"]
    assert set(built) <= {"url", *known}
    assert built["destination"] == {"directory": "/d", "filename": "f", "replace": True, "createDirectories": True}
    assert built["resume"] is False and built["events"] == ["progress"] and "serialize" not in built
    sources = [("req_a", "request"), ("eyJ", "resumeData"), ("/a", "path"), (Path("/a"), "path"), ("a.iso", "path")]
    for source, name in sources:
        built = json.loads(_downloads.build_resume(source, {"url": "http://h/"}, Defaults()).text())
        assert built.pop(name) and built == {"url": "http://h/"}
    with pytest.raises(TypeError, match="source must be resume data or a path, not None: if nothing was kept"):
        _downloads.build_resume(None, {}, Defaults())
    with pytest.raises(TypeError, match="body_to"):
        _downloads.build_download("http://h/", None, {"body_to": "file"}, Defaults())
    with pytest.raises(TypeError, match="only one"):
        _downloads.build_download("http://h/", "/a", {"directory": "/b"}, Defaults())
    with pytest.raises(ValueError, match="give it as directory"):
        _downloads.build_download("http://h/", "downloads/", {}, Defaults())


def test_both_kinds_of_downloads_have_the_same_methods() -> None:
    import inspect

    from outrider._async.transfers import AsyncDownloads

    def methods(kind: type) -> dict[str, list[str]]:
        found = {name: each for name, each in vars(kind).items() if callable(each) and not name.startswith("_")}
        found["call"] = kind.__call__  # type: ignore[operator]
        return {name: list(inspect.signature(each).parameters) for name, each in found.items()}

    assert methods(Downloads) == methods(AsyncDownloads)
