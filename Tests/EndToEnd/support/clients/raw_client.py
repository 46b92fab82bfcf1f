# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""A connection that `stream.attach` turns into the bytes of a stream."""

import json
import socket

import contract


def attaching(stream, direction="read", **more):
    """The call, as text."""
    params = {"stream": stream, "direction": direction, **more}
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "stream.attach", "params": params})


class Raw:
    """A connection that attaches to a stream."""

    def __init__(self, path, stream, direction="read", behind=b"", head=b"", **more):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(30)
        self.socket.connect(path)
        call = attaching(stream, direction, **more).encode()
        self.send(head % len(call) + call + behind if head else call + b"\n" + behind)
        self.buffer = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def reply(self):
        """The reply to the call: its result, or its error."""
        while b"\n" not in self.buffer:
            piece = self.socket.recv(65536)
            assert piece, "the connection ended without a reply"
            self.buffer += piece
        line, self.buffer = self.buffer.split(b"\n", 1)
        message = contract.check_message("stream.attach", json.loads(line))
        return message.get("result") or message["error"]

    def rest(self):
        pieces = [self.buffer]
        while piece := self.socket.recv(1 << 20):
            pieces.append(piece)
        return b"".join(pieces)
