# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Events and callbacks of the blocking client."""

from __future__ import annotations

import threading
import warnings
from typing import Any

import outrider
import pytest
from outrider import Client


def test_events_are_iterated_over(client: Client, origin: str) -> None:
    """[AC4]"""
    with client.events(timeout=10) as events:
        request = client.start("GET", f"{origin}/json", events=True, tag="mine")
        seen = []
        for event in events:
            assert (event.request, event.tag) == (request, "mine")
            seen.append(event.name)
            if event.name == "event.finish":
                break
    assert seen[-1] == "event.finish" and "event.response" in seen and events.dropped == 0
    with client.events("event.none", timeout=0.05) as none:
        client.call("diagnostics.notify", count=3)
        assert list(none) == []


def test_events_that_nobody_takes_are_dropped_and_counted(client: Client) -> None:
    with client.events("diagnostics.tick", timeout=0.5, limit=10) as events:
        client.call("diagnostics.notify", count=25)
        assert [event.params["n"] for event in events] == list(range(15, 25)) and events.dropped == 15


def test_events_are_given_to_functions_in_order(client: Client) -> None:
    seen: list[int] = []
    done = threading.Event()

    @client.on("diagnostics.tick")
    def tick(event: outrider.Event) -> None:
        seen.append(client.call("diagnostics.echo", n=event.params["n"])["n"])
        if len(seen) == 50:
            done.set()

    client.call("diagnostics.notify", count=50)
    assert done.wait(10) and seen == list(range(50))
    client.off("diagnostics.tick", tick)
    client.call("diagnostics.notify", count=1)
    assert client.call("diagnostics.echo", a=1) == {"a": 1} and len(seen) == 50


def test_a_function_that_fails_is_a_warning(client: Client) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        done = threading.Event()
        client.on("diagnostics.tick", lambda event: 1 / 0)
        client.on("diagnostics.tick", lambda event: done.set())
        client.call("diagnostics.notify", count=1)
        assert done.wait(10)
    assert any("ZeroDivisionError" in str(each.message) for each in caught)


def test_callbacks_are_answered_by_functions(client: Client) -> None:
    with pytest.raises(outrider.CallbackError) as refused:
        client.call("diagnostics.callback", method="callback.add", params={"a": 2, "b": 3})
    assert refused.value.data["error"]["code"] == -32601

    @client.on_callback("callback.add")
    def add(params: dict[str, Any]) -> dict[str, Any]:
        return {"sum": params["a"] + params["b"]}

    asked = {"method": "callback.add", "params": {"a": 2, "b": 3}}
    assert client.call("diagnostics.callback", **asked)["answer"] == {"sum": 5}
    assert client.get("http://127.0.0.1:1/", check=False).error is not None
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        with pytest.raises(outrider.CallbackError) as failed:
            client.call("diagnostics.callback", method="callback.add", params={})
        assert "KeyError" in failed.value.data["error"]["message"]
