# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""One list of names whose values are masked, the same in the docs, in the code, and wherever a request is shown."""

import http.server
import json
import re
import threading

import contract
import pytest
from request_client import result

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")
SECRET = "s3cr3t"
NUMBER = 31415926
NAMES = ["Ocp-Apim-Subscription-Key", "X-Functions-Key", "X-Session", "X-Signing-Key", "X-Shared-Secret"]
MEMBERS = ["passphrase", "otp", "code", "code_verifier", "jwt", "assertion", "signingKey", "client_secret"]


class Handler(http.server.BaseHTTPRequestHandler):
    """Responds with secrets in fields, URLs and bodies; /moved leads to a URL with a password. GET echoes."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):  # noqa: N802
        body = f"path {self.path}, fields {self.headers['Authorization']}".encode()
        self.send_response(200)
        for name, value in [("X-Path", self.path), ("Content-Type", "text/plain"), ("Content-Length", str(len(body)))]:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):  # noqa: N802
        self.rfile.read(int(self.headers["Content-Length"]))
        url = f"//user:{SECRET}@127.0.0.1:{self.server.server_port}/end?code={SECRET}#id_token={SECRET}"
        body = json.dumps({name: [SECRET, NUMBER, {"deep": SECRET}] for name in MEMBERS}).encode()
        self.send_response(302 if self.path.startswith("/moved") else 201)
        for name, value in [("Location", f"http:{url}"), ("Content-Location", url), ("X-Session", SECRET),
                            ("Content-Type", "application/json"), ("Content-Length", str(len(body)))]:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def origin():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()


def hides(shown, *, but=""):
    text = shown if isinstance(shown, str) else json.dumps(shown)
    assert "***" in text, text
    for secret in (SECRET, str(NUMBER)):
        assert secret not in text, text
    assert but in text, text


FORMS = {
    "a form": {"parameters": dict.fromkeys(MEMBERS, SECRET), "encoding": "urlEncodedForm"},
    "JSON": {"body": {"json": {name: [SECRET, NUMBER] for name in MEMBERS}}},
}


@pytest.mark.parametrize("kind", FORMS)
@pytest.mark.parametrize("path", ["/end", "/moved"])
def test_no_name_of_the_list_shows_its_value(origin, kind, path):
    with contract.Wire() as wire:
        assert result(wire.call("events.subscribe", {"topics": ["*"]}))
        number = wire.start("data.send", {
            "url": f"http://{origin}{path}?otp={SECRET}&q=plain", "method": "POST", **FORMS[kind],
            "headers": {**dict.fromkeys(NAMES, SECRET), "Referer": f"http://user:{SECRET}@{origin}/?jwt={SECRET}"},
        })
        events, reply = [], None
        while reply is None:
            message = wire.receive()
            if message.get("id") == number:
                reply = message["result"]
            else:
                events.append(message)
        handle = {"request": reply["request"]}
        hides(result(wire.call("request.describe", handle))["text"], but="q=plain")
        hides(result(wire.call("request.describe", {**handle, "style": "short"}))["text"])
        hides(result(wire.call("request.curl", handle))["command"], but="q=plain")
        hides(result(wire.call("har.export", {"bodies": True})), but="q=plain")
        assert len(events) > 3
        hides(events)


def test_a_password_in_a_url_is_masked_although_it_is_refused(origin):
    """The request fails, and may be looked at like any other."""
    with contract.Wire() as wire:
        assert result(wire.call("events.subscribe", {"topics": ["*"]}))
        handle = result(wire.call("data.start", {"url": f"http://user:{SECRET}@{origin}/?q=plain"}))
        result(wire.call("request.wait", handle))
        assert SECRET not in result(wire.call("request.describe", handle))["text"]
        hides(result(wire.call("request.describe", {**handle, "style": "short"}))["text"], but="q=plain")
        hides(result(wire.call("har.export", {})), but="q=plain")


def test_the_secret_of_a_field_is_masked_wherever_else_it_occurs(origin):
    """In paths, in fields with other names, in bodies that are no JSON, and in other requests of the archive."""
    token = "tok-4d1f0b7e21"
    url = f"http://{origin}/files/{token}/a"
    with contract.Wire() as wire:
        sent = {"url": url, "headers": {"Authorization": f"Bearer {token}"}}
        reply = result(wire.call("data.send", sent))
        assert result(wire.call("data.send", {"url": url}))["ok"]
        handle = {"request": reply["request"]}
        shown = [result(wire.call("request.describe", handle))["text"]]
        shown.append(json.dumps(result(wire.call("har.export", {"bodies": True}))["har"]["log"]["entries"]))
        for text in shown:
            assert "4d1f" not in text and "files/***/a" in text and "path /files" in text, text
        bare = result(wire.call("har.export", {"bodies": True, "secrets": True}))["har"]["log"]["entries"]
        assert all("4d1f" in entry["request"]["url"] for entry in bare)


def words(text):
    return {word for word in re.findall(r'[`"]([a-z_-]+)[`"]', text)}


def test_the_docs_list_what_the_code_masks():
    source = (contract.ROOT / "Sources/OutriderHTTP/Values/SecretFields.swift").read_text()
    lists = {name: words(items) for name, items in re.findall(r"package static let (\w+) = \[(.*?)\]", source, re.S)}
    table = (contract.ROOT / "docs/guide/describing.md").read_text().split("| names |")[1]
    rows = [words(row.split("|")[1]) for row in table.splitlines()[2:] if row.startswith("|")]
    assert rows == [lists["fields"], lists["parts"], lists["endings"], lists["parameters"]]
