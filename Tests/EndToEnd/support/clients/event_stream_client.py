# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""An event stream over the wire, followed to its end.

source = Source(wire, url, credit=100)
source.data(2)        # the data of the next two events
source.rest()         # that of all others, and why it ended
"""

QUICK = {"delay": 0.05, "maxDelay": 0.05}
"""A reconnection policy for those who do not want to wait."""


class Source:
    """An event stream in mode push, and what has come of it."""

    def __init__(self, wire, url, **params):
        self.wire = wire
        params = {"url": url, "mode": "push", "credit": 1 << 20, **params}
        self.reply = wire.call("sse.open", params)
        assert "result" in self.reply, self.reply
        self.stream, self.request = self.reply["result"]["stream"], self.reply["result"]["request"]
        self.end = None

    def next(self, name="event.sse", seconds=10.0):
        """The next event of the stream that has this name."""
        while True:
            message = self.wire.receive(seconds)
            if message.get("params", {}).get("stream") == self.stream:
                assert message["method"] == name, message
                return message["params"]

    def data(self, count):
        return [self.next()["data"] for _ in range(count)]

    def rest(self):
        """The data of all events to the end, and why it ended."""
        found = []
        while True:
            message = self.wire.receive()
            if message.get("params", {}).get("stream") != self.stream:
                continue
            if message["method"] == "event.end":
                return found, message["params"].get("error", {}).get("code")
            found.append(message["params"]["data"])


def read_all(wire, stream, **params):
    """All values of a pull stream, and the last read."""
    values = []
    while True:
        result = wire.call("stream.read", {"stream": stream, **params})["result"]
        values += result["values"]
        if result["end"]:
            return values, result
