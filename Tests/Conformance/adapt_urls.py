# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Adapter of the URL suite: what request.build makes of names and values, and where redirects lead."""

import atexit
import http.server
import threading
import urllib.parse

import wire

# forms are written here, never read; a URL with credentials, controls or backslashes is refused, where browsers mend it
parse_form = href = None
_references = []


class Mirror(http.server.BaseHTTPRequestHandler):
    """Responds with the body that it got; as a proxy, redirects once to the waiting reference."""

    def do_GET(self):
        self.send_response(302 if _references else 200)
        if _references:
            self.send_header("Location", _references.pop())
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


_wire = wire.Wire()
atexit.register(_wire.close)
_mirror = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Mirror)
threading.Thread(target=_mirror.serve_forever, daemon=True).start()


def _object(pairs):
    """Names and values as an object: repeated names as a list, where the first stood."""
    found = {}
    for name, value in pairs:
        found.setdefault(name, []).append(value)
    return {name: values[0] if len(values) == 1 else values for name, values in found.items()}


def resolve(base, reference):
    """Where a redirect of a response from the base leads."""
    _references[:] = [reference]
    proxy = {"url": f"http://127.0.0.1:{_mirror.server_port}"}
    response = _wire.call("data.send", {"url": base, "proxy": proxy})
    if not response["ok"]:
        raise RuntimeError(response["error"]["message"])
    return response["url"]


def form(pairs):
    """The bytes that arrive."""
    url = f"http://127.0.0.1:{_mirror.server_port}/"
    params = {"url": url, "method": "POST", "body": {"form": _object(pairs)}, "serialize": {"as": "text"}}
    return _wire.call("data.send", params)["body"].get("text", "").encode()


def query(pairs):
    """The query of the URL that would be asked for."""
    built = _wire.call("request.build", {"url": "http://127.0.0.1/", "query": _object(pairs)})
    return urllib.parse.urlsplit(built["url"]).query
