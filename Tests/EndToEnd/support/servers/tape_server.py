# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""A server whose responses are worth recording: redirects, challenges, failures, streams, tokens.

with TapeServer() as server:
    server.url, server.count, server.close()
"""

import base64
import contextlib
import hashlib
import http.server
import json
import threading
import time

SECRET = "c4n4ry-S3cr3t/+Wert"


class Handler(http.server.BaseHTTPRequestHandler):
    """What a run asks for: redirects, challenges, failures, streams, bodies."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        """Says nothing."""

    def do_GET(self):
        self.server.count += 1
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        name = self.path.split("?")[0].strip("/").split("/")[0] or "root"
        getattr(self, "at_" + name)(body)

    do_POST = do_PUT = do_GET

    def reply(self, status, body=b"", **fields):
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def at_json(self, body):
        self.reply(200, json.dumps({"n": self.server.count, "path": self.path}).encode(),
                   Content_Type="application/json")  # fmt: skip

    def at_old(self, body):
        self.reply(302, b"there", Location="/json?from=old", Set_Cookie=f"sid={SECRET}; Path=/; HttpOnly")

    def at_locked(self, body):
        if self.headers.get("Authorization"):
            return self.reply(200, b"open")
        return self.reply(401, b"who?", WWW_Authenticate='Basic realm="a"')

    def at_flaky(self, body):
        self.server.tries += 1
        self.reply(503 if self.server.tries % 3 else 200, b"try %d" % self.server.tries)

    def at_echo(self, body):
        self.reply(200, b"seen: " + body + b" " + (self.headers.get("Authorization") or "").encode())

    def at_big(self, body):
        self.reply(200, bytes(range(256)) * 8192, Content_Type="application/octet-stream")

    def at_digest(self, body):
        text = json.dumps({"token": SECRET}).encode()
        digest = base64.b64encode(hashlib.sha256(text).digest()).decode()
        self.reply(200, text, Content_Type="application/json", Repr_Digest=f"sha-256=:{digest}:")

    def at_broken(self, body):
        self.send_response(200)
        self.send_header("Content-Length", "100")
        self.end_headers()
        self.wfile.write(b"only this")
        self.close_connection = True

    def at_sse(self, body):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for number in range(3):
            self.wfile.write(b'data: {"n": %d, "token": "%s"}\n\n' % (number, SECRET.encode()))
            self.wfile.flush()
            if self.server.go:
                self.server.go.acquire(timeout=20)
            time.sleep(0.05)
        self.close_connection = True

    def at_login(self, body):
        self.reply(200, b"in", Set_Cookie=f"sid={SECRET}; Path=/; Max-Age=9999", Content_Type="text/plain")

    def at_doc(self, body):
        self.reply(200, b"doc %d" % self.server.count, Cache_Control="max-age=9999", Content_Type="text/plain")

    def at_cookie(self, body):
        self.reply(200, (self.headers.get("Cookie") or "").encode(), Content_Type="text/plain")

    def at_stall(self, body):
        self.send_response(200)
        self.send_header("Content-Type", "application/octet-stream")
        self.send_header("Content-Length", "1000000")
        self.end_headers()
        self.wfile.write(bytes(65536))
        self.wfile.flush()
        self.server.hurry.wait(10)
        self.close_connection = True

    def at_api(self, body):
        if self.headers.get("Authorization") == f"Bearer {SECRET}":
            return self.reply(200, b"api")
        return self.reply(401, b"old", WWW_Authenticate='Bearer error="invalid_token"')

    def at_token(self, body):
        self.server.tokens += 1
        if self.server.token_error:
            error = json.dumps({"error": self.server.token_error}).encode()
            return self.reply(400, error, Content_Type="application/json")
        tokens = {"access_token": SECRET, "token_type": "Bearer", "expires_in": 3600, "refresh_token": SECRET + "2"}
        return self.reply(200, json.dumps(tokens).encode(), Content_Type="application/json")


class TapeServer(http.server.ThreadingHTTPServer):
    """Serves until it is closed; counts the requests."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.count = self.tries = self.tokens = 0
        self.token_error = None
        # ends bodies that stall
        self.hurry = threading.Event()
        # a semaphore of a test: an event stream waits for a release after each of its events
        self.go = None
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.open = True
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def close(self):
        if self.open:
            self.open = False
            self.hurry.set()
            self.shutdown()
            with contextlib.suppress(OSError):
                self.server_close()

    def __exit__(self, *_):
        self.close()
