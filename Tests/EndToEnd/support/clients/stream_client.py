# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""What tests of streams share: opening, reading to the end, and the events of a push stream."""

import base64


def opened(wire, url, **params):
    """The result of stream.open."""
    return wire.call("stream.open", {"url": url, **params})["result"]


def read(wire, stream, **params):
    return wire.call("stream.read", {"stream": stream, "wait": 10, **params}, 20)["result"]


def events(wire, count=None, until="event.end"):
    """So many events, or all up to the last: their names without `event.`, and their params."""
    found = []
    while len(found) != count:
        message = wire.receive(20)
        assert "id" not in message, message
        found.append((message["method"].removeprefix("event."), message["params"]))
        if count is None and message["method"] == until:
            break
    return found


def data(params):
    return base64.b64decode(params["base64"])


def response(wire, request):
    return wire.call("request.wait", {"request": request}, 30)["result"]


def whole(wire, stream, key="values", **params):
    """All that a pull stream gives, and its last piece."""
    found = []
    while True:
        piece = read(wire, stream, **params)
        found.append(piece)
        if piece["end"]:
            return [one for each in found for one in each[key]], piece
