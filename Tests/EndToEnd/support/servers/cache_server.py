# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""A server whose responses a test scripts: `server.scripts[KEY]`, a function of the request's number, is for /KEY."""

import collections
import http.server
import threading
import time
import uuid
from typing import NamedTuple, Optional


class Reply(NamedTuple):
    """What the server says; `cut` closes the connection after so many bytes of the body."""

    body: bytes = b"body"
    status: int = 200
    fields: tuple = (("Cache-Control", "max-age=600"),)
    pause: float = 0
    cut: Optional[int] = None


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        key = self.path[1:].partition("?")[0].partition("/")[0]
        with self.server.lock:
            self.server.seen[key].append((self.command, self.path, dict(self.headers)))
            number = len(self.server.seen[key])
        reply = self.server.scripts[key](number, dict(self.headers))
        time.sleep(reply.pause)
        self.send_response(reply.status)
        for name, value in reply.fields:
            self.send_header(name, value)
        if reply.status != 304:
            self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        if self.command != "HEAD" and reply.status != 304:
            self.wfile.write(reply.body if reply.cut is None else reply.body[: reply.cut])
        if reply.cut is not None:
            self.close_connection = True

    do_POST = do_PUT = do_DELETE = do_HEAD = do_GET

    def log_message(self, *_):
        pass


class CacheServer(http.server.ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.lock = threading.Lock()
        self.scripts, self.seen = {}, collections.defaultdict(list)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def script(self, reply):
        """The URL of a new resource, and the requests for it."""
        key = uuid.uuid4().hex
        self.scripts[key] = reply if callable(reply) else lambda number, fields: reply
        return f"http://127.0.0.1:{self.server_address[1]}/{key}", self.seen[key]

    def handle_error(self, request, client_address):
        pass

    def close(self):
        self.shutdown()
        self.server_close()
