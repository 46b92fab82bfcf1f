# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Server-sent events in both clients, and in the editors of the examples."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import outrider
import pytest
from outrider import AsyncClient, Client, ServerSentEvent
from outrider._protocol.parameters import Defaults
from outrider._resources.sockets import build_sse, events_of
from peers import ROOT, serve, stop

sys.path.append(str(ROOT / "Tests/EndToEnd/support/servers"))
from event_server import GONE, OPEN, STREAM, EventServer, status  # type: ignore[import-not-found]

MANY = [str(number) for number in range(10_000)]


@pytest.fixture
def server() -> Iterator[Any]:
    with EventServer() as server:
        yield server


def blocking(service: str, url: str, **options: Any) -> list[ServerSentEvent]:
    with Client(socket=service) as client:
        return list(client.sse(url, **options))


def awaiting(service: str, url: str, **options: Any) -> list[ServerSentEvent]:
    async def main() -> list[ServerSentEvent]:
        async with AsyncClient(socket=service) as client:
            return [event async for event in client.sse(url, **options)]

    return asyncio.run(main())


both = pytest.mark.parametrize("take", [blocking, awaiting])
Take = Callable[..., "list[ServerSentEvent]"]


@both
def test_events_are_iterated_over(service: str, server: Any, take: Take) -> None:
    body = b'id: 1\nretry: 50\nevent: x\ndata: {"a":1}\n\ndata: b\n\nid\ndata: c\n\n'
    url = server.at("/few", [STREAM, body])
    first, second, third = take(service, url, reconnect=False)
    assert first == ServerSentEvent('{"a":1}', "x", "1", 0.05) and first.json() == {"a": 1}
    assert second == ServerSentEvent("b", id="1")
    assert (third.event, third.data, third.id, third.retry) == ("message", "c", "", None)
    assert "data='b'" in repr(second) and "id='1'" in repr(second)
    with pytest.raises(ValueError):
        second.json()


@both
def test_very_many_events_arrive_whole_and_in_order(service: str, server: Any, take: Take) -> None:
    url = server.at("/many", [STREAM, *[f"data: {number}\n\n".encode() for number in MANY]])
    assert [event.data for event in take(service, url, reconnect=False)] == MANY


@both
def test_the_loop_goes_on_with_the_next_connection_and_ends_with_204(service: str, server: Any, take: Take) -> None:
    responses = [STREAM, b"retry: 50\nid: 1\ndata: a\n\n"], [STREAM, b"data: b\n\n"], [GONE]
    url = server.at("/again", *responses)
    assert [event.data for event in take(service, url)] == ["a", "b"]
    assert server.seen["/again"][1].headers["last-event-id"] == "1"


@both
def test_a_model_is_asked_by_a_post_once(service: str, server: Any, take: Take) -> None:
    url = server.at("/model", [STREAM, b'data: {"choices":[]}\n\ndata: [DONE]\n\n'])
    events = take(service, url, json={"stream": True}, headers={"Authorization": "Bearer x"})
    assert [event.data for event in events] == ['{"choices":[]}', "[DONE]"]
    (seen,) = server.seen["/model"]
    assert (seen.method, json.loads(seen.body)) == ("POST", {"stream": True})
    assert seen.headers["authorization"] == "Bearer x"


@both
def test_a_refusal_raises_with_all_that_came(service: str, server: Any, take: Take) -> None:
    url = server.at("/no", [status(429, b'{"error":"slow down"}', "application/json")])
    with pytest.raises(outrider.StatusError) as caught:
        take(service, url)
    assert caught.value.response.status == 429 and caught.value.response.json() == {"error": "slow down"}
    with pytest.raises(outrider.StreamError) as caught_too:
        take(service, server.at("/text", [status(200)]))
    assert caught_too.value.code == 2010
    assert take(service, url, check=False) == []


@both
def test_a_stream_that_breaks_raises_after_its_events(service: str, server: Any, take: Take) -> None:
    url = server.at("/big", [STREAM, b"data: a\n\ndata: " + b"x" * 200 + b"\n\n", OPEN])
    with pytest.raises(outrider.ResponseTooLarge):
        take(service, url, max_event=100)


def test_leaving_the_loop_closes_the_connection(client: Client, server: Any) -> None:
    url = server.at("/leave", [STREAM, b"id: 7\ndata: a\n\nid: 8\ndata: b\n\n", OPEN], [STREAM, b"data: c\n\n"])
    source = client.sse(url)
    for event in source:
        assert event.data == "a"
        break
    server.wait_gone("/leave")
    assert (source.last_event_id, source.stream) == ("7", None)
    assert next(iter(client.sse(url, last_event_id=source.last_event_id))).id == "7"
    assert server.seen["/leave"][1].headers["last-event-id"] == "7"


def test_the_header_names_the_first_id_as_the_option_does(client: Client, server: Any) -> None:
    url = server.at("/header", [STREAM, b"data: a\n\n"], [STREAM, b"data: a\n\n"])
    for options in ({"headers": {"last-event-id": "5"}}, {"headers": [("Last-Event-ID", "4")], "last_event_id": "5"}):
        source = client.sse(url, reconnect=False, **options)  # type: ignore[arg-type]
        assert [event.id for event in source] == ["5"] and source.last_event_id == "5"


def test_leaving_the_awaiting_loop_closes_the_connection(service: str, server: Any) -> None:
    url = server.at("/aleave", [STREAM, b"id: 7\ndata: a\n\n", OPEN])

    async def main() -> None:
        async with AsyncClient(socket=service) as client:
            async with client.sse(url) as source:
                assert source.response is not None and source.response.status == 200
                async for event in source:
                    assert event.id == "7"
                    break
            await asyncio.get_running_loop().run_in_executor(None, server.wait_gone, "/aleave")
            assert (source.last_event_id, source.stream) == ("7", None)

    asyncio.run(main())


def test_a_cancelled_task_leaves_no_stream_behind(service: str, server: Any) -> None:
    url = server.at("/task", [STREAM, b"data: a\n\n", OPEN])

    async def follow(client: AsyncClient, begun: asyncio.Event) -> None:
        async with client.sse(url) as events:
            async for _ in events:
                begun.set()

    async def main() -> None:
        async with AsyncClient(socket=service) as client:
            begun = asyncio.Event()
            task = asyncio.ensure_future(follow(client, begun))
            await begun.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await asyncio.get_running_loop().run_in_executor(None, server.wait_gone, "/task")

    asyncio.run(main())


def test_closing_from_another_thread_ends_the_loop(client: Client, server: Any) -> None:
    from threading import Thread

    url = server.at("/other", [STREAM, b"data: a\n\n", OPEN])
    source = client.sse(url)
    closers = []
    for event in source:
        assert event.data == "a"
        closers.append(Thread(target=source.close))
        closers[0].start()
    closers[0].join()
    server.wait_gone("/other")


def test_other_calls_go_on_beside_a_stream(client: Client, server: Any) -> None:
    url = server.at("/beside", [STREAM, b"data: a\n\n", server.held(), b"data: b\n\n"])
    found = []
    for event in client.sse(url, reconnect=False):
        found.append(event.data)
        assert client.call("diagnostics.echo", a=1) == {"a": 1}
        server.release()
    assert found == ["a", "b"]


def test_a_service_that_goes_says_so(binary: str, directory: str, server: Any) -> None:
    path = f"{directory}/gone.sock"
    url = server.at("/gone-service", [STREAM, b"data: a\n\n", OPEN])
    child = serve(binary, path)
    with Client(socket=path, spawn=False) as client, pytest.raises(outrider.ServerGone):
        for event in client.sse(url):
            assert event.data == "a"
            stop(child)


def test_a_connection_that_was_made_anew_knows_no_stream(client: Client, server: Any) -> None:
    source = client.sse(server.at("/anew", [STREAM, b"data: a\n\n", OPEN]))
    client._live().close()
    with pytest.raises(outrider.ServerGone, match="last_event_id"):
        list(source)


def test_what_is_asked_of_the_service() -> None:
    def parameters(url: str = "http://h/", **options: Any) -> Any:
        return json.loads(build_sse(url, options, Defaults(timeout=9)).params)

    own = {"mode": "pull", "compact": True, "wait": "response"}
    assert parameters() == {"url": "http://h/", "timeout": 9, **own}
    assert parameters(json={}, method="PUT")["method"] == "PUT"
    more = parameters(last_event_id="4", reconnect={"initial": True}, max_event=5, params={"a": 1})
    assert more == {"url": "http://h/", "timeout": 9, "query": {"a": 1}, "lastEventId": "4", "maxEventBytes": 5,
                    "reconnect": {"initial": True}, **own}  # fmt: skip
    for name in ("serialize", "handlers", "body_to", "detach"):
        with pytest.raises(TypeError, match=name):
            parameters(**{name: "x"})
    with pytest.raises(TypeError, match="did you mean"):
        parameters(heders={})


def test_events_that_say_only_what_is_new() -> None:
    values = ["a", {"data": "b", "id": "1"}, "c", {"data": "d", "event": "e", "retry": 2}, {"data": "f", "id": ""}]
    found = [(event.data, event.event, event.id, event.retry) for event in events_of(values, "0")]
    assert found == [("a", "message", "0", None), ("b", "message", "1", None), ("c", "message", "1", None),
                     ("d", "e", "1", 2), ("f", "message", "", None)]  # fmt: skip


# The examples for editors

PLUGIN = f"set runtimepath^={ROOT / 'clients/neovim'}"
SAYS = "You asked, and here are some words:\nnaïve “quotes” 🐺."
LUA = """
vim.cmd("luafile {example}")
vim.api.nvim_buf_set_lines(0, 0, -1, false, {{ "> Hi", "" }})
Chat("{url}", {{ model = "m", messages = {{ {{ role = "user", content = "Hi" }} }} }})
local function text() return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), "\\n") end
vim.wait(20000, function() return text():sub(-5) == "🐺." end, 10)
io.stdout:write(text())
vim.cmd("qa!")
"""
LISP = """
(load-file "{example}")
(with-temp-buffer
  (insert "> Hi\\n")
  (chat "{url}" '(:model "m" :messages [(:role "user" :content "Hi")]))
  (with-timeout (20) (while (not (string-suffix-p "🐺." (buffer-string))) (accept-process-output nil 0.1)))
  (princ (buffer-string)))
"""


@pytest.mark.parametrize(
    ("name", "program", "command"),
    [
        ("chat.lua", LUA, ["nvim", "--headless", "-u", "NONE", "--cmd", PLUGIN, "-c", "luafile {}"]),
        ("chat.el", LISP, ["emacs", "-Q", "--batch", "-L", str(ROOT / "clients/emacs"), "-l", "{}"]),
    ],
)
def test_an_editor_streams_a_response_into_a_buffer(
    name: str, program: str, command: list[str], binary: str, origin: str, tmp_path: Path
) -> None:
    example = ROOT / "clients/examples" / name
    assert len(example.read_text().splitlines()) <= 40
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    (tmp_path / "outrider").symlink_to(binary)
    file = tmp_path / f"program-{name}"
    file.write_text(program.format(example=example, url=f"{origin}/chat"))
    socket = str(tmp_path / "s")
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "LC_ALL": "C.UTF-8", "OUTRIDER_SOCKET": socket}
    words = [word.format(file) for word in command]
    service = serve(binary, socket)
    try:
        done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=60)
    finally:
        stop(service)
    assert done.stdout == f"> Hi\n{SAYS}", done.stdout + done.stderr
