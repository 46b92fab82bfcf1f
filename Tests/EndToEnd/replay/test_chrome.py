# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""What a real Chrome writes plays, and a cassette opens in its network panel.

`chrome.har` is what Chrome 156 wrote of the page below, unchanged: `python test_chrome.py` writes it anew.
"""

import base64
import gzip
import http.server
import json
import pathlib
import socket
import sys
import tempfile
import threading

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(one) for one in HERE.parent.joinpath("support").iterdir() if one.is_dir()]

import chrome_panel  # noqa: E402
import contract  # noqa: E402
import pytest  # noqa: E402
from request_client import get, result  # noqa: E402
from tape_client import start, stop  # noqa: E402

SAVED = HERE / "chrome.har"
built = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")
needs_chrome = pytest.mark.skipif(chrome_panel.BINARY is None, reason="no chromium here: apt-get install chromium")
SCRIPT = """<!doctype html><title>page</title><link rel=icon href=data:,><script>
(async () => {
  for (const path of ['/old', '/data.json?b=2&a=1', '/packed', '/bytes', '/missing', '/events'])
    await (await fetch(path)).arrayBuffer();
  await (await fetch('/form', {method: 'POST', body: new URLSearchParams({x: '1', y: 'a b'})})).text();
  await (await fetch('/json', {method: 'POST', headers: {'Content-Type': 'application/json'},
    body: JSON.stringify({a: [1, 2.5]})})).text();
  await fetch('http://127.0.0.1:CLOSED/').catch(() => {});
  document.title = 'done';
})()</script>"""


# of the page and its script, the redirect and the refused one among them
REQUESTS = 11


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        """Says nothing."""

    def reply(self, status, body=b"", **fields):
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        data = json.dumps({"path": self.path, "name": "Åda"}).encode()
        packed = gzip.compress(b"packed " * 50)
        status, body, fields = {
            "/": (200, self.server.page, {"Content_Type": "text/html"}),
            "/old": (302, b"", {"Location": "/data.json?from=old"}),
            "/data.json": (200, data, {"Content_Type": "application/json"}),
            "/packed": (200, packed, {"Content_Type": "text/plain", "Content_Encoding": "gzip"}),
            "/bytes": (200, bytes(range(256)), {"Content_Type": "application/octet-stream"}),
            "/events": (200, b"data: one\n\ndata: two\n\n", {"Content_Type": "text/event-stream"}),
        }.get(self.path.split("?")[0], (404, b"none", {"Content_Type": "text/plain"}))
        self.reply(status, body, **fields)

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.reply(201, b"got " + body, Content_Type="text/plain")


def written(directory):
    """What Chrome writes of the page."""
    with socket.socket() as closed, http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        closed.bind(("127.0.0.1", 0))
        server.page = SCRIPT.replace("CLOSED", str(closed.getsockname()[1])).encode()
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with chrome_panel.Chrome(directory) as chrome:
            text = chrome.export(f"http://127.0.0.1:{server.server_port}/", REQUESTS)
        server.shutdown()
    return text


def check_plays(path):
    """Each entry plays as what the server sent."""
    found = json.loads(pathlib.Path(path).read_text())["log"]["entries"]
    assert len(found) == REQUESTS, [one["request"]["url"] for one in found]
    origin, refused = found[0]["request"]["url"].rstrip("/"), found[-1]["request"]["url"]
    with contract.Wire() as wire:
        assert not start(wire, str(path), mode="none")["unusable"]

        def seen(path, **params):
            reply = get(wire, origin + path, **params)
            body = reply["body"]
            if "base64" in body:
                return reply["status"], base64.b64decode(body["base64"])
            return reply["status"], body.get("text", body.get("json"))

        status, page = seen("/")
        assert status == 200 and "fetch('/form'" in page
        assert seen("/old") == (200, {"path": "/data.json?from=old", "name": "Åda"})
        assert seen("/data.json?a=1&b=2")[0] == 200
        assert seen("/packed") == (200, "packed " * 50)
        assert seen("/bytes") == (200, bytes(range(256)))
        assert seen("/missing") == (404, "none")
        assert seen("/events") == (200, "data: one\n\ndata: two\n\n")
        assert seen("/form", method="POST", body={"form": {"y": "a b", "x": "1"}}) == (201, "got x=1&y=a+b")
        assert seen("/json", method="POST", body={"json": {"a": [1.0, 2.5]}}) == (201, 'got {"a":[1,2.5]}')
        failed = result(wire.call("data.send", {"url": refused}))
        assert failed["error"]["reason"] == "refused", failed
        told = stop(wire)
    assert (told["missed"], told["unused"]) == (0, []), told


@built
def test_what_chrome_wrote_plays():
    assert json.loads(SAVED.read_text())["log"]["creator"]["name"] == "WebInspector"
    check_plays(SAVED)


@built
@needs_chrome
def test_what_this_chrome_writes_plays(tmp_path):
    path = tmp_path / "live.har"
    path.write_text(written(tmp_path / "profile"))
    check_plays(path)


@built
@needs_chrome
def test_a_cassette_opens_in_the_network_panel(server, tape, tmp_path):
    """Bodies, forms, failures, streams: the panel shows each entry of a cassette."""
    asked = [
        {"url": server.url + "/json?b=2&a=1"}, {"url": server.url + "/old"}, {"url": server.url + "/big"},
        {"url": server.url + "/echo", "method": "POST", "body": {"form": {"x": "1", "token": "s3cr3t-t0ken"}}},
        {"url": server.url + "/sse"}, {"url": "http://127.0.0.1:9/refused"},
    ]  # fmt: skip
    with contract.Wire() as wire:
        start(wire, tape)
        for params in asked:
            result(wire.call("data.send", params))
        assert stop(wire)["recorded"] == 7
    with chrome_panel.Chrome(tmp_path / "profile") as chrome:
        opened = chrome.open(pathlib.Path(tape).read_text())
    found = opened["requests"]
    recorded = json.loads(pathlib.Path(tape).read_text())["log"]["entries"]
    assert [(one["method"], one["url"]) for one in found] == [
        (one["request"]["method"], one["request"]["url"]) for one in recorded
    ]
    assert [one["status"] for one in found] == [200, 302, 200, 200, 200, 200, 0]
    assert json.loads(found[0]["body"])["path"] == "/json?b=2&a=1"
    assert found[4]["sent"] == "x=1&token=***" and found[4]["body"].startswith("seen: x=1")
    assert found[5]["body"].count("data: ") == 3
    # the panel scrolls to the last rows
    assert len(opened["shown"]) >= 3 and any("refused" in one for one in opened["shown"]), opened["shown"]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        SAVED.write_text(written(place))
