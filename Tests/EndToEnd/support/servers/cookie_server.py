# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""A server on loopback, and a forward proxy that plays every host: it sets cookies, and shows what it got.

/set?JSON          200 with these Set-Cookie fields (a JSON array)
/to/STATUS?JSON    a redirect: {"to": URL, "set": [Set-Cookie, ...]}
/planted           200 with the Set-Cookie fields in `planted`, so that no URL holds them
/early?JSON        103 with these Set-Cookie fields, then 200 without
/anything else     200, the Cookie field in the body
"""

import http.server
import json
import threading
import urllib.parse


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        target = urllib.parse.urlsplit(self.path)
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        host = target.hostname or self.headers["Host"].partition(":")[0]
        self.server.seen.append((host, target.path, self.headers.get_all("Cookie")))
        given = json.loads(urllib.parse.unquote(target.query) or "null")
        if target.path == "/set":
            return self.respond(200, given)
        if target.path == "/planted":
            return self.respond(200, self.server.planted)
        if target.path.startswith("/to/"):
            return self.respond(int(target.path[4:]), given.get("set", []), given["to"])
        if target.path == "/early":
            early = "".join(f"Set-Cookie: {field}\r\n" for field in given)
            self.wfile.write(f"HTTP/1.1 103 Early Hints\r\n{early}\r\n".encode())
            return self.respond(200, [])
        return self.respond(200, [], body=(self.headers["Cookie"] or "").encode("latin-1"))

    do_POST = do_PUT = do_HEAD = do_GET

    def respond(self, status, fields, location=None, body=b""):
        self.send_response(status)
        for field in fields:
            self.send_header("Set-Cookie", field)
        if location:
            self.send_header("Location", location)
        if status == 401:
            self.send_header("WWW-Authenticate", 'Basic realm="x"')
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_):
        pass


class CookieServer(http.server.ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        # host, path and Cookie fields of each request, in order
        self.seen = []
        self.planted = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def origin(self):
        return f"http://127.0.0.1:{self.server_address[1]}"

    def url(self, path="/", host="127.0.0.1", port=None):
        return f"http://{host}:{port or self.server_address[1]}{path}"

    @staticmethod
    def setting(*fields):
        """The path of a response that sets cookies."""
        return "/set?" + urllib.parse.quote(json.dumps(fields))

    @staticmethod
    def leading(status, to, *fields):
        """The path of a redirect that sets cookies."""
        return f"/to/{status}?" + urllib.parse.quote(json.dumps({"to": to, "set": fields}))

    def sent(self):
        """The Cookie field of the last request."""
        fields = self.seen[-1][2]
        assert fields is None or len(fields) == 1
        return fields and fields[0]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()
