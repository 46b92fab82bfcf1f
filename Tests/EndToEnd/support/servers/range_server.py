# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""A server on loopback that gives parts of one file, well or badly: the path says how.

with Ranging(size=1_000_000) as server:
    server.url("/fine")           # and see MANNERS for the others
    server.cut = 300_000          # the next response breaks off after so many bytes of its body
    server.spoils = {0}           # the parts (206) that have one byte wrong, by their number from 0
    server.says = True            # each part says its Content-Digest, as it was before it was spoilt
    server.requests               # what came: path, fields by lower-case name
    server.data, server.etag      # what it serves; both may be changed
"""

import base64
import hashlib
import random
import re
import socket
import struct
import threading

from http_server import Listening

DATE = "Sat, 01 Nov 2025 10:00:00 GMT"
OTHER = "Sun, 02 Nov 2025 10:00:00 GMT"

# the twelve ways to misbehave, and two that are fine
MANNERS = {
    "fine": "ranges as they should be",
    "dated": "no ETag, but Last-Modified",
    "deaf": "Range is ignored: 200 and all of it",
    "retagged": "another ETag for each request",
    "weak": "only a weak ETag",
    "bare": "no validators at all",
    "shifted": "a part that begins elsewhere",
    "silent": "206 without Content-Range",
    "lengthened": "206 of a longer file",
    "shrunk": "416, since the file has become shorter",
    "stubborn": "416 without Content-Range",
    "refusing": "412",
    "short": "parts of at most 100,000 bytes",
    "coded": "the part is in another coding than the whole",
    "busy": "503",
    "unasked": "206 though nothing was asked for",
}


class Ranging(Listening):
    """Serves every connection in a thread of its own; a response breaks off, or waits, where it is told to."""

    def __init__(self, size=1_000_000):
        self.data = random.Random(size).randbytes(size)
        self.etag, self.date = '"first"', DATE
        self.requests, self.cut, self.stop = [], None, None
        # the length that a response claims, where it is another
        self.length = None
        self.spoils, self.says, self.parts = (), False, 0
        self.go = threading.Event()
        self.fields = []
        self.statuses = {}
        # status and page in response to a request for a part, by manner
        self.pages = {}
        super().__init__()

    def digest(self, algorithm="sha256"):
        return hashlib.new(algorithm, self.data).hexdigest()

    def digest_field(self, algorithm="sha256"):
        return base64.b64encode(hashlib.new(algorithm, self.data).digest()).decode()

    def ranges(self):
        """The Range of each request, in order; None for none."""
        return [request["fields"].get("range") for request in self.requests]

    def serve(self, connection, number):
        reader = connection.makefile("rb")
        while not self.ended.is_set():
            line = reader.readline()
            if not line:
                return
            method, path, _ = line.decode().split(" ")
            fields = {}
            while (line := reader.readline().strip()) != b"":
                name, _, value = line.decode().partition(":")
                fields[name.lower()] = value.strip()
            self.requests.append({"method": method, "path": path, "fields": fields})
            self.note(self.arrived, path)
            if not self.respond(connection, path.strip("/").split("/")[0], fields):
                return

    def respond(self, connection, manner, fields):
        status, head, body = self.response(manner, fields)
        if status == 206:
            head, body = self.part(head, body)
        lines = [f"HTTP/1.1 {status} Ranging", f"Content-Length: {self.length or len(body)}", *head, *self.fields]
        # before the head, which lets the segments come
        cut, self.cut = self.cut, None
        stop, self.stop = self.stop, None
        connection.sendall("\r\n".join([*lines, "", ""]).encode("utf-8", "surrogateescape"))
        if stop is not None:
            connection.sendall(body[:stop])
            self.note(self.arrived, "stopped")
            if not self.may_go_on(connection):
                return False
            body = body[stop:]
        if cut is not None:
            connection.sendall(body[:cut])
            # what has been sent must arrive before the end does
            connection.shutdown(socket.SHUT_WR)
            return False
        connection.sendall(body)
        return True

    def may_go_on(self, connection):
        """Waits for `go`; not if the client goes away before that, which is noted."""
        while not self.go.wait(0.02):
            try:
                is_gone = not connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
            except OSError as error:
                is_gone = not isinstance(error, BlockingIOError)
            if is_gone:
                self.note(self.arrived, "gone")
                return False
        return True

    def part(self, head, body):
        """A part as it is sent."""
        number, self.parts = self.parts, self.parts + 1
        if self.says:
            head = [*head, f"Content-Digest: sha-256=:{base64.b64encode(hashlib.sha256(body).digest()).decode()}:"]
        if number in self.spoils:
            middle = len(body) // 2
            body = body[:middle] + bytes([body[middle] ^ 1]) + body[middle + 1 :]
        return head, body

    def response(self, manner, fields):
        """Status, fields and body of a response."""
        data, total = self.data, len(self.data)
        head = ["Accept-Ranges: bytes", "Content-Type: application/octet-stream"]
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", fields.get("range", ""))
        if manner == "unasked":
            return 206, [*head, f"Content-Range: bytes 0-9/{total}"], data[:10]
        if wanted and manner in self.pages:
            status, page = self.pages[manner]
            return status, head, page
        if manner in self.statuses:
            return self.statuses[manner], head, b"%d" % self.statuses[manner]
        if manner == "retagged":
            head.append(f'ETag: "{len(self.requests)}"')
        elif manner == "weak":
            head.append(f"ETag: W/{self.etag}")
        elif manner == "dated":
            head.append(f"Last-Modified: {self.date}")
        elif manner != "bare":
            head += [f"ETag: {self.etag}", f"Last-Modified: {self.date}"]
        condition = fields.get("if-range")
        if not wanted or manner == "deaf" or (condition and condition not in (self.etag, self.date)):
            return 200, head, data
        first, last = int(wanted[1]), min(total - 1, int(wanted[2] or total - 1))
        if manner == "refusing":
            return 412, head, b"no"
        if manner == "busy":
            return 503, head, b"later"
        if manner == "stubborn":
            return 416, head, b""
        if manner == "shrunk":
            return 416, [*head, f"Content-Range: bytes */{first - 1}"], b""
        if first >= total:
            return 416, [*head, f"Content-Range: bytes */{total}"], b""
        if manner == "short":
            last = min(last, first + 99_999)
        if manner == "silent":
            return 206, head, data[first : last + 1]
        if manner == "coded":
            head.append("Content-Encoding: gzip")
        if manner == "lengthened":
            total += 10
        if manner == "shifted":
            first += 10
        return 206, [*head, f"Content-Range: bytes {first}-{last}/{total}"], data[first : last + 1]


def reset(connection):
    """Ends a connection so that its peer sees a reset."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()
