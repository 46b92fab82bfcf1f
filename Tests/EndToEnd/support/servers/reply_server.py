# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""A server on loopback that responds as the URL says: status, fields and body; and counts.

with Replying() as server:
    server.url(404, "text/plain", b"gone", X="y")
    server.held(200, "text/html")      # a head, and a body that comes when the test says `server.release()`
    server.count                       # of requests
"""

import base64
import http.server
import threading
import urllib.parse


class Replying:
    """Serves every connection in a thread of its own."""

    def __init__(self):
        self.count, self.released, self.gone = 0, threading.Event(), threading.Event()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler(self))
        self.server.daemon_threads = True

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.released.set()
        self.server.shutdown()
        self.server.server_close()

    def url(self, status=200, content_type=None, body=b"", path="reply", **fields):
        """Where a response like this is to be had."""
        if content_type is not None:
            fields["Content-Type"] = content_type
        wanted = {"status": status, "body": base64.urlsafe_b64encode(body).decode(), **fields}
        return f"http://127.0.0.1:{self.server.server_port}/{path}?{urllib.parse.urlencode(wanted)}"

    def held(self, *words, **fields):
        """The same, but the body waits for `release`."""
        return self.url(*words, path="held", **fields)

    def release(self):
        self.released.set()


def handler(owner):
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def handle_any(self):
            owner.count += 1
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            path, _, query = self.path.partition("?")
            wanted = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
            status, body = int(wanted.pop("status")), base64.urlsafe_b64decode(wanted.pop("body"))
            self.send_response_only(status)
            for name, value in wanted.items():
                self.send_header(name, value)
            bare = self.command == "HEAD" or status in (204, 304)
            if not bare:
                self.send_header("Content-Length", str(len(body) if path == "/reply" else 1 << 30))
            self.end_headers()
            if path == "/held":
                self.wait_for_the_end()
            elif not bare:
                self.wfile.write(body)

        def wait_for_the_end(self):
            """Until the test releases the body, or the client has gone."""
            self.connection.settimeout(0.05)
            while not owner.released.is_set():
                try:
                    if not self.connection.recv(1):
                        owner.gone.set()
                        break
                except TimeoutError:
                    continue
                except ConnectionError:
                    owner.gone.set()
                    break
            self.close_connection = True

        do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = handle_any

        def log_message(self, *_):
            pass

    return Handler
