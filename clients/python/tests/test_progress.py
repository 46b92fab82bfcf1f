# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""How far a transfer is: told to functions, drawn as bars."""

from __future__ import annotations

import asyncio
import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from collections.abc import AsyncIterator
from io import StringIO
from itertools import repeat
from pathlib import Path

import outrider
import pytest
from outrider import AsyncClient, Client, Progress
from outrider._resources.bars import bar, clock, line, size

HERE = Path(__file__).resolve().parent
BYTES = 3_000_000


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "body.bin"
    path.write_bytes(os.urandom(BYTES))
    return path


def report(**more: object) -> Progress:
    return Progress({"direction": "download", "completed": 0, **more})


# Functions


def test_a_function_hears_how_far_a_download_is(client: Client, origin: str) -> None:
    told: list[Progress] = []
    response = client.get(f"{origin}/bytes/{BYTES}", progress=told.append)
    assert len(response.content) == BYTES and response.status == 200
    numbers = [one.completed for one in told]
    assert numbers == sorted(numbers) and numbers[-1] == BYTES and told[-1].done and told[-1].fraction == 1
    assert all(one.direction == "download" and one.total == BYTES and one.attempt == 1 for one in told)
    assert told[-1].rate is not None and told[-1].remaining == 0


def test_a_function_hears_how_far_an_upload_is(client: Client, origin: str, file: Path) -> None:
    told: list[Progress] = []
    response = client.upload(f"{origin}/echo", file, progress=told.append)
    assert response.ok and len(response.content) > BYTES
    sent = [one for one in told if one.direction == "upload"]
    assert sent[-1].completed == sent[-1].total == BYTES and sent[-1].done
    assert client.upload(f"{origin}/echo", data=b"short", method="PUT").ok


def test_the_response_is_the_same(client: Client, origin: str) -> None:
    plain, followed = client.get(f"{origin}/json"), client.get(f"{origin}/json", progress=lambda _: None)
    assert plain.json() == followed.json() and plain.headers["Content-Type"] == followed.headers["Content-Type"]
    with pytest.raises(outrider.StatusError):
        client.get(f"{origin}/status/500", progress=lambda _: None).raise_for_status()
    with pytest.raises(outrider.ConnectError):
        client.get("http://127.0.0.1:1/", progress=lambda _: None)
    assert not client.get("http://127.0.0.1:1/", progress=lambda _: None, check=False).ok
    assert client.session(headers={"X-One": "1"}).get(f"{origin}/echo", progress=lambda _: None).ok


def test_a_body_that_comes_as_a_stream_has_no_progress(client: Client, service: str, origin: str) -> None:
    with pytest.raises(TypeError, match="body_to"):
        client.get(f"{origin}/bytes/{BYTES}", progress=lambda _: None, body_to="stream", timeout=5)

    async def work() -> None:
        async with AsyncClient(socket=service) as awaiting:
            with pytest.raises(TypeError, match="body_to"):
                await awaiting.get(f"{origin}/bytes/{BYTES}", progress=lambda _: None, body_to="stream", timeout=5)

    asyncio.run(work())


def test_a_body_that_comes_in_pieces_has_no_progress(client: Client, service: str, origin: str) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        yield b"x"

    async def work(data: object) -> None:
        async with AsyncClient(socket=service) as awaiting:
            await awaiting.post(f"{origin}/echo", data=data, progress=lambda _: None)

    with pytest.raises(TypeError, match="without progress="):
        client.post(f"{origin}/echo", data=repeat(b"x"), progress=lambda _: None)
    for data in (repeat(b"x"), pieces()):
        with pytest.raises(TypeError, match="without progress="):
            asyncio.run(work(data))
    form = client.post(f"{origin}/echo", data=iter([("a", "1"), ("b", "2")]), progress=lambda _: None)
    assert form.json()["body"] == "a=1&b=2"
    assert client.post(f"{origin}/echo", data=iter(()), progress=lambda _: None).json()["body"] == ""


def test_the_function_may_use_the_client(client: Client, origin: str) -> None:
    seen: list[int] = []
    client.get(f"{origin}/bytes/100000", progress=lambda _: seen.append(client.get(f"{origin}/json").status))
    assert seen and set(seen) == {200}


def test_what_the_function_raises_ends_the_request(client: Client, origin: str) -> None:
    class Enough(Exception):
        pass

    def refuse(_: Progress) -> None:
        raise Enough

    with pytest.raises(Enough):
        client.get(f"{origin}/bytes/50000000", progress=refuse, body_to="discard")
    listed = client.call("request.list")["requests"]
    assert [one for one in listed if one["state"] not in ("finished", "cancelled")] == []
    assert client.get(f"{origin}/json").ok


def test_nothing_stays_behind_in_the_service(client: Client, origin: str) -> None:
    before = len(client.call("request.list")["requests"])
    for _ in range(5):
        client.get(f"{origin}/json", progress=lambda _: None)
    assert len(client.call("request.list")["requests"]) == before


def test_what_is_expected_is_the_whole_where_the_server_does_not_say(client: Client, origin: str) -> None:
    told: list[Progress] = []
    client.get(f"{origin}/chunked", expected_size=10_000_000, progress=told.append)
    assert all(one.estimated and one.total == 10_000_000 and not one.done for one in told[:-1])
    assert told[-1].done and not told[-1].estimated


def test_a_coroutine_function_hears_it_too(service: str, origin: str, file: Path) -> None:
    told: list[int] = []

    async def hear(progress: Progress) -> None:
        await asyncio.sleep(0)
        told.append(progress.completed)

    async def run() -> None:
        async with AsyncClient(socket=service) as client:
            response = await client.get(f"{origin}/bytes/{BYTES}", progress=hear)
            assert len(response.content) == BYTES and told[-1] == BYTES
            response = await client.upload(f"{origin}/echo", file, progress=lambda one: told.append(one.completed))
            assert response.ok and BYTES in told
            task = asyncio.ensure_future(client.get(f"{origin}/delay/30", progress=hear))
            while not (await client.call("server.stats"))["requests"]["running"]:
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            while (await client.call("server.stats"))["requests"]["running"]:
                await asyncio.sleep(0)

    asyncio.run(asyncio.wait_for(run(), 30))


def test_what_is_no_progress_is_refused(client: Client, origin: str) -> None:
    with pytest.raises(TypeError, match="progress must be True, a function"):
        client.get(origin, progress="yes")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="one request that is waited for"):
        client.many([origin], progress=True)
    with pytest.raises(TypeError, match="one request that is waited for"):
        client.start("GET", origin, progress=True)
    with pytest.raises(TypeError, match="an upload needs a file"):
        client.upload(origin)
    assert client.get(f"{origin}/json", progress=False).ok and client.get(f"{origin}/json", progress=None).ok


# Bars


def test_there_is_no_bar_without_a_terminal(client: Client, origin: str, capsys: pytest.CaptureFixture[str]) -> None:
    client.get(f"{origin}/bytes/{BYTES}", progress=True)
    assert capsys.readouterr() == ("", "")


SCRIPT = """
import sys
for name in {missing}:
    sys.modules[name] = None
import outrider
with outrider.Client(socket={service!r}) as client:
    client.get({url!r}, progress=True)
    {more}
"""


def shown(words: str, **environment: str) -> str:
    """What a script writes to standard error, which is a terminal of 100 columns."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
    env = {**os.environ, "COLUMNS": "100", "TERM": "xterm", "PYTHONPATH": str(HERE.parent / "src"), **environment}
    with subprocess.Popen([sys.executable, "-c", words], stderr=theirs, env=env) as child:
        os.close(theirs)
        seen = b""
        try:
            while piece := os.read(ours, 65536):
                seen += piece
        except OSError:
            pass
        assert child.wait(30) == 0, seen.decode()
    os.close(ours)
    return seen.decode()


@pytest.mark.parametrize("kind", ["rich", "tqdm", "plain"])
def test_a_bar_on_a_terminal(kind: str, service: str, origin: str, file: Path) -> None:
    """Rich's where it is installed, else tqdm's, else a line; for what comes and for what is sent."""
    if kind != "plain":
        pytest.importorskip(kind, reason=f"{kind} is not installed; scripts/setup --test installs it")
    missing = {"rich": [], "tqdm": ["rich"], "plain": ["rich", "tqdm"]}[kind]
    more = f"client.upload({origin + '/status/200'!r}, {str(file)!r}, progress=True)"
    seen = shown(SCRIPT.format(missing=missing, service=service, url=f"{origin}/bytes/{BYTES}", more=more))
    assert "100%" in seen and str(BYTES) in seen and "body.bin" in seen
    if kind == "plain":
        assert "[====" in seen and "3.0 MB" in seen and seen.endswith("\n")


def test_a_line_fits_its_terminal() -> None:
    half = report(completed=5_000_000, total=10_000_000, fraction=0.5, rate=1_250_000.0, remaining=4.0)
    assert line(half, 100) == " 50% [====================>                   ]  5.0 MB of 10.0 MB  1.3 MB/s  0:04"
    assert line(half, 40) == " 50%  5.0 MB of 10.0 MB  1.3 MB/s  0:04"
    assert line(half, 10) == " 50%" and line(half, 2) == ""
    assert line(report(completed=1500, rate=700.0), 80, "name") == "name  1.5 kB  700 B/s"
    for width in range(120):
        for fraction in (None, 0, 0.004, 0.999, 1):
            text = line(report(completed=12_345_678, total=999_999_999, fraction=fraction, rate=1e9), width, "a name")
            assert len(text) <= width


def test_sizes_and_times_are_short() -> None:
    sizes = {0: "0 B", 999: "999 B", 999.7: "1.0 kB", 99_949: "99.9 kB", 99_950: "100 kB", 999_500: "1.0 MB"}
    assert {count: size(count) for count in sizes} == sizes and size(9e18) == "9.0 EB"
    times = {0: "0:00", 7.4: "0:07", 59.6: "1:00", 754: "12:34", 3723: "1:02:03", 1e9: "-:--", -1: "-:--"}
    assert {seconds: clock(seconds) for seconds in times} == times


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def test_a_line_that_is_interrupted_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("rich", "rich.progress", "tqdm"):
        monkeypatch.setitem(sys.modules, name, None)
    terminal = Terminal()
    with pytest.raises(KeyboardInterrupt), bar("name", terminal) as show:
        show(report(completed=1, total=2, fraction=0.5))
        raise KeyboardInterrupt
    assert terminal.getvalue().endswith("\n") and "50%" in terminal.getvalue()
