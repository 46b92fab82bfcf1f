# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""What tests of requests share: asking, reading kept bodies, and what the hostile server's bytes are."""

import base64
import os
import pathlib
import time

BLOCK = bytes(range(256)) * 256

# a program: prints how many bytes a service on the socket sends to a stranger
STRANGER = """
import socket, sys
client = socket.socket(socket.AF_UNIX)
client.connect(sys.argv[1])
try:
    client.sendall(b'{"jsonrpc":"2.0","id":1,"method":"server.info"}\\n')
    print(len(client.recv(100)))
except ConnectionError:
    print(0)
"""


def result(reply):
    assert "result" in reply, reply
    return reply["result"]


def get(wire, url, seconds=20.0, **params):
    return result(wire.call("data.send", {"url": url, **params}, seconds))


def upload(wire, url, body, seconds=20.0, **params):
    return result(wire.call("upload.send", {"url": url, "body": body, **params}, seconds))


def until(wire, number, seconds=15.0):
    """The events that arrive before the reply to a call, and the reply."""
    events = []
    while True:
        message = wire.receive(seconds)
        if "method" not in message:
            assert message["id"] == number
            return events, message
        events.append(message)


def memory(wire):
    """Bytes resident in the service, which has started when it replies."""
    pid = result(wire.call("server.info"))["pid"]
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS"))


def processor_seconds(pid):
    """That a process has used so far, which do not depend on what else the machine does."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def read_all(wire, handle, **params):
    pieces, offset = [], 0
    while True:
        piece = result(wire.call("response.read", {"response": handle, "offset": offset, **params}))
        data = base64.b64decode(piece["base64"])
        pieces.append(data)
        offset += len(data)
        if piece["end"]:
            return b"".join(pieces)


def expected(size):
    return (BLOCK * (size // len(BLOCK) + 1))[:size]


def sent(wire, origin, **params):
    """What the server saw: method, target, fields by lower-case name, body."""
    response = get(wire, origin + "/echo" + params.pop("more", ""), serialize={"as": "json"}, **params)
    assert response["ok"], response
    seen = response["body"]["json"]
    seen["fields"] = {name.lower(): value for name, value in seen["headers"]}
    return seen


def stood_still(look, seconds=1.0):
    """The number that `look` gives once it has been the same for so long: the buffers of the kernel are full, or empty.
    """
    number, since, deadline = look(), time.monotonic(), time.monotonic() + 30
    while time.monotonic() - since < seconds:
        time.sleep(0.02)
        found = look()
        if found != number:
            number, since = found, time.monotonic()
        assert time.monotonic() < deadline, f"{number} goes on"
    return number


def until_shared(wire, cache, count=1):
    """Until so many requests have shared the exchange of another one."""
    deadline = time.monotonic() + 20
    while result(wire.call("cache.stats", {"cache": cache}))["collapsed"] < count:
        assert time.monotonic() < deadline, f"no {count} requests share an exchange"


def built(wire, **params):
    return result(wire.call("request.build", {"url": "http://example.org/", **params}))
