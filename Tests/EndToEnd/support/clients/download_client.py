# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""What tests of downloads share."""

import base64
import json
import os
import time

import pytest
from range_server import Ranging
from request_client import result

SIZE = 1_000_000
PART = 300_000


@pytest.fixture
def server():
    with Ranging(SIZE) as server:
        yield server


def download(wire, url, seconds=20.0, **params):
    return result(wire.call("download.send", {"url": url, **params}, seconds))


def to(path, **more):
    return {"path": str(path), **more}


def hidden(directory):
    """What downloads have left in a directory."""
    return sorted(name for name in os.listdir(directory) if name.startswith("."))


def failure(response, code, *words):
    """Why it failed: the code, and words of the message."""
    assert not response["ok"] and response["error"]["code"] == code, response
    for word in words:
        assert str(word) in response["error"]["message"], response["error"]
    return response["error"]


def interrupted(wire, server, url, path, **params):
    """A download whose connection was lost after PART bytes: its Response."""
    server.cut = PART
    response = download(wire, server.url(url), destination=to(path), **params)
    assert response["error"]["code"] == 1404 and not path.exists(), response
    return response


def resumed(wire, seconds=20.0, **params):
    """The Response of a download that went on."""
    request = result(wire.call("download.resume", params))["request"]
    return result(wire.call("request.wait", {"request": request}, seconds))


def journal(data):
    return json.loads(base64.b64decode(data).split(b"\n")[0])


def slow(wire, server, path, stop=PART, **params):
    """A download of which PART bytes have come, and no more come before server.go: its handle."""
    server.stop = stop
    params = {"url": server.url("/fine"), "destination": to(path), "events": ["progress"], **params}
    request = result(wire.call("download.start", params))["request"]
    server.wait_for("stopped")
    # the last bytes before the stop have come when progress says so
    deadline = time.monotonic() + 20
    while result(wire.call("request.get", {"request": request}))["progress"]["received"] < stop:
        assert time.monotonic() < deadline, "the first bytes never came"
    return request
