# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""A server that leads elsewhere, fails for a while, and writes down what it was sent."""

import collections
import contextlib
import http.server
import json
import socket
import threading
import time
import urllib.parse


class Handler(http.server.BaseHTTPRequestHandler):
    """/to/STATUS?location, /around, /echo, /fails/N/STATUS, /dies/N, /many/BYTES, /big/STATUS?location"""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        body = b"".join(self.pieces(int(self.headers.get("Content-Length", 0))))
        path, _, query = self.path.partition("?")
        seen = {"method": self.command, "path": self.path, "body": body.decode("latin-1"),
                "headers": [name.lower() for name in self.headers], "port": self.connection.getpeername()[1]}
        self.server.seen.append(seen)
        self.server.counts[path] += 1
        name, *rest = path[1:].split("/")
        getattr(self, "at_" + name)(seen, urllib.parse.unquote(query), *rest)

    do_POST = do_PUT = do_HEAD = do_DELETE = do_PATCH = do_GET

    def pieces(self, left):
        while left > 0 and (piece := self.rfile.read1(min(left, 1 << 16))):
            left -= len(piece)
            self.server.read += len(piece)
            if self.path == "/slow":
                time.sleep(0.001)
            else:
                yield piece

    def at_slow(self, seen, query):
        self.respond(200, b"taken")

    def respond(self, status, body=b"", **headers):
        self.send_response(status)
        for field, value in headers.items():
            self.send_header(field.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        # a 304 has a length and no body, RFC 9110 section 15.4.5
        if self.command != "HEAD" and status != 304:
            self.wfile.write(body)

    def at_echo(self, seen, query):
        self.respond(200, json.dumps(seen).encode(), Content_Type="application/json")

    def at_to(self, seen, query, status):
        self.respond(int(status), b"elsewhere", Location=query)

    def at_around(self, seen, query):
        self.respond(302, Location="around")

    def at_big(self, seen, query, status):
        self.respond(int(status), bytes(1 << 20), Location=query)

    def at_silent(self, seen, query, status):
        self.send_response(int(status))
        self.send_header("Location", query)
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.server.leaving.wait(20)
        self.close_connection = True

    def at_fails(self, seen, query, times, status):
        failing = self.server.counts[self.path.partition("?")[0]] <= int(times)
        headers = {"Retry_After": query} if failing and query else {}
        self.respond(int(status) if failing else 200, b"busy" if failing else b"fine", **headers)

    def at_dies(self, seen, query, times):
        if self.server.counts[self.path] <= int(times):
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        self.respond(200, b"fine")

    def at_many(self, seen, query, size):
        self.send_response(200)
        self.send_header("Content-Length", size)
        self.end_headers()
        left, piece = int(size), bytes(1 << 16)
        with contextlib.suppress(OSError):
            while left > 0:
                self.server.written += self.connection.send(piece[:left])
                left = int(size) - self.server.written
        self.close_connection = True

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.forget()
        self.leaving = threading.Event()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def forget(self):
        """What the tests before have asked."""
        self.seen, self.counts, self.written, self.read = [], collections.Counter(), 0, 0

    def handle_error(self, request, client_address):
        pass

    def url(self, path="/echo", host="127.0.0.1"):
        return f"http://{host}:{self.server_address[1]}{path}"

    def close(self):
        self.leaving.set()
        self.shutdown()
        self.server_close()
