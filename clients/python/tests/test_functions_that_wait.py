# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Functions that take long: other functions run meanwhile, and the end of a request ends its functions."""

import asyncio
import os
import signal
import threading
import warnings

import outrider
import pytest
from peers import request_head, until

EMPTY = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


def test_a_function_sends_many_requests_of_a_session_with_functions(client, origin):
    session, other = client.session(), client.session()
    found, signed = [], []

    @other.adapter
    def sign(attempt):
        signed.append(attempt.url)

    @session.adapter(timeout=5)
    def prepare(attempt):
        found.extend(other.many([origin + "/json"] * 3))

    assert session.get(origin + "/json").status == 200
    assert [response.status for response in found] == [200] * len(signed) == [200] * 3


def test_a_function_follows_a_download_of_a_session_with_functions(client, scripted, tmp_path):
    """The function is called after the start of the download: at the end of its body."""
    session, other = client.session(), client.session()
    asked = threading.Event()

    def talk(stream):
        if b"/file" in request_head(stream):
            asked.wait(20)
        stream.sendall(EMPTY)

    url = scripted(talk).url

    @other.validator
    def check(answered):
        return True

    @session.adapter(timeout=5)
    def prepare(attempt):
        threading.Timer(0.1, asked.set).start()
        other.download(url + "file", tmp_path / "file", progress=lambda progress: None)

    assert session.get(url).status == 200
    assert (tmp_path / "file").exists()


def test_a_function_that_waits_lets_those_run_that_came_before(client, scripted):
    """The request of the first function gets its response after the second function has replied."""
    session = client.session()
    second = threading.Event()

    def talk(stream):
        head = request_head(stream)
        if b"/second" in head:
            second.set()
        elif b"/behind" in head:
            second.wait(20)
        stream.sendall(EMPTY)

    url = scripted(talk).url
    begun, statuses = threading.Event(), []

    @session.adapter(timeout=20)
    def prepare(attempt):
        if attempt.url.endswith("/first"):
            begun.set()
            until(lambda: bool(client._subscriptions._waiting))
            statuses.append(client.get(url + "behind", timeout=5).status)

    def send(path):
        try:
            statuses.append(session.get(url + path).status)
        except outrider.OutriderError as problem:
            statuses.append(problem)

    threads = [threading.Thread(target=send, args=(path,)) for path in ("first", "second")]
    threads[0].start()
    assert begun.wait(20)
    threads[1].start()
    for thread in threads:
        thread.join()
    assert statuses == [200] * 3


def test_a_cancelled_request_cancels_the_coroutine_of_its_callback(service, origin):
    async def work():
        async with outrider.AsyncClient(socket=service) as client:
            session, began, ended = client.session(), asyncio.Event(), asyncio.Event()
            events = client.events()

            @session.adapter
            async def sign(attempt):
                began.set()
                try:
                    await asyncio.Event().wait()
                finally:
                    ended.set()

            task = asyncio.create_task(session.get(origin + "/json"))
            await asyncio.wait_for(began.wait(), 20)
            task.cancel()
            await asyncio.wait_for(ended.wait(), 20)
            with pytest.raises(asyncio.CancelledError):
                await task
            # the notification of the service is no event for programs
            assert not events._events
            assert (await client.get(origin + "/json")).status == 200

    asyncio.run(work())


def test_a_function_is_not_called_for_a_request_that_has_been_cancelled(client, origin):
    session, called, go = client.session(), [], threading.Event()
    events = client.events()

    @session.adapter
    def sign(attempt):
        called.append(attempt.url)
        go.wait(20)

    first = session.start("GET", origin + "/json?1")
    until(lambda: called)
    second = session.start("GET", origin + "/json?2")
    until(lambda: client.info() and client._subscriptions._waiting)
    second.cancel()
    until(lambda: client.info() and not client._subscriptions._waiting)
    go.set()
    assert first.response().status == 200
    assert called == [origin + "/json?1"]
    assert not events._events


def test_a_forked_child_leaves_what_has_come_to_its_parent(client, origin):
    """A callback that waits for its function while the program forks is one of the parent."""
    session, called, go = client.session(), [], threading.Event()

    @session.adapter
    def sign(attempt):
        called.append(attempt.url[-1])
        if attempt.url.endswith("1"):
            go.wait(20)

    first = session.start("GET", origin + "/json?1")
    until(lambda: called)
    second = session.start("GET", origin + "/json?2")
    until(lambda: client.info() and client._subscriptions._waiting)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        signal.alarm(20)
        status = 1
        try:
            status = session.get(origin + "/json?3").status if called == ["1"] else 2
        finally:
            os._exit(0 if status == 200 and called == ["1", "3"] else 3)
    assert os.waitpid(pid, 0)[1] == 0
    go.set()
    assert first.response().status == second.response().status == 200
    assert called == ["1", "2"]
