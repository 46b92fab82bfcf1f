# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Secrets in arguments are overwritten in the list of processes, and there are ways to give them without arguments."""

import base64
import http.server
import json
import socket
import subprocess
import threading
import time

import contract
import pytest
from shell import outrider, refused

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")
SECRET = "s3cr3t"


@pytest.fixture
def silent():
    """A server that accepts connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"127.0.0.1:{listener.getsockname()[1]}"


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path


WORDS = {
    "a user": ["get", "-u", f"ada:{SECRET}", "http://{0}/"],
    "a user in one word": ["get", f"-uada:{SECRET}", "http://{0}/"],
    "a user behind a flag": ["get", "-fsu", f"ada:{SECRET}", "http://{0}/"],
    "a user in long form": ["get", f"--user=ada:{SECRET}", "http://{0}/"],
    "a proxy": ["get", "-x", f"http://ada:{SECRET}@{{0}}", "http://127.0.0.1:1/"],
    "a proxy in long form": ["sse", "--proxy", f"http://ada:{SECRET}@{{0}}", "http://127.0.0.1:1/"],
    "the user of a proxy": ["get", "-x", "http://{0}", "-U", f"ada:{SECRET}", "http://127.0.0.1:1/"],
    "a field": ["get", "-H", f"Authorization: Bearer {SECRET}", "http://{0}/"],
    "a field of a download": ["download", "--header", f"X-Key: {SECRET}", "http://{0}/file"],
    "data": ["get", "-d", f"password={SECRET}", "http://{0}/"],
    "JSON": ["get", "--json", f'{{"token":"{SECRET}"}}', "http://{0}/"],
    "a query": ["get", f"http://{{0}}/?access_token={SECRET}#{SECRET}"],
    "parameters": ["call", "--spawn", "data.send", "url=http://{0}/", f'auth:={{"bearer":"{SECRET}"}}'],
    "an object of parameters": [
        "call", "--spawn", "data.send", f'{{{{"url":"http://{{0}}/","auth":{{{{"bearer":"{SECRET}"}}}}}}}}'],
    "a command line of curl": ["import", "--run", f"curl -u ada:{SECRET} http://{{0}}/"],
    "a variable of a file": ["run", "--variable", f"token={SECRET}", "requests.http"],
    "the proxy of a service": ["serve", "--stdio", "--proxy", f"http://ada:{SECRET}@{{0}}"],
}


@pytest.mark.parametrize("kind", WORDS)
def test_no_secret_stays_in_the_arguments(silent, home, kind):
    words = [word.format(silent) if "{0}" in word else word for word in WORDS[kind]]
    (home / "requests.http").write_text(f"GET http://{silent}/\n")
    process = subprocess.Popen(
        [contract.binary(), *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=home)
    try:
        deadline = time.monotonic() + 10
        while True:
            with open(f"/proc/{process.pid}/cmdline", "rb") as file:
                shown = file.read()
            if b"***" in shown or time.monotonic() > deadline:
                break
            time.sleep(0.01)
        assert process.poll() is None, process.communicate()
        assert SECRET.encode() not in shown and b"***" in shown, shown
        assert len(shown.split(b"\0")) == len(words) + 2
    finally:
        process.kill()
        process.communicate()
        subprocess.run([contract.binary(), "call", "server.stop"], capture_output=True, timeout=30)


def test_what_is_no_secret_is_still_shown(silent, home):
    """Names of files, hosts and paths."""
    (home / "fields").write_text("X-A: b\n")
    words = ["get", "-H", "@fields", "-u", "ada", "--netrc-file", "netrc", "-o", "page", f"http://{silent}/path"]
    (home / "netrc").write_text("default login ada password x")
    (home / "netrc").chmod(0o600)
    process = subprocess.Popen([contract.binary(), *words], stderr=subprocess.PIPE, cwd=home)
    try:
        time.sleep(0.2)
        with open(f"/proc/{process.pid}/cmdline", "rb") as file:
            shown = file.read().decode().split("\0")[1:-1]
        assert process.poll() is None, process.communicate()
        assert [word if word != "***" else "ada" for word in shown] == words
    finally:
        process.kill()
        process.communicate()


def fields(ran):
    """What the origin was sent."""
    assert ran.returncode == 0, ran
    return {name.lower(): value for name, value in json.loads(ran.stdout)["headers"]}


def test_fields_come_from_a_file(origin, home):
    path = home / "fields"
    path.write_text(f"X-Token: {SECRET}\r\n\nX-Empty:\nAuthorization: Bearer {SECRET}:x")
    got = fields(outrider("get", "-H", f"@{path}", "-H", "X-Other: 1", f"{origin}/echo"))
    assert got["x-token"] == SECRET and got["x-other"] == "1"
    assert got["authorization"] == f"Bearer {SECRET}:x"


def test_fields_come_from_standard_input(origin, home):
    got = fields(outrider("get", "-H", "@-", f"{origin}/echo", stdin=f"X-Token: {SECRET}\n".encode()))
    assert got["x-token"] == SECRET


@pytest.mark.parametrize(("text", "said"), [
    ("no field", "line 1 of"), ("A: b\n:c", "line 2 of"), (None, "cannot read"),
])  # fmt: skip
def test_a_file_without_fields_is_refused(origin, home, text, said):
    path = home / "fields"
    if text is not None:
        path.write_text(text)
    refused(outrider("get", "-H", f"@{path}", f"{origin}/echo"), 2, said)


def basic(user, password):
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


@pytest.fixture
def guarded():
    """A server that wants Basic, and notes what came."""
    seen = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):  # noqa: N802
            seen.append(self.headers.get("Authorization"))
            self.send_response(200 if seen[-1] else 401)
            if not seen[-1]:
                self.send_header("WWW-Authenticate", 'Basic realm="r"')
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/", seen
        server.shutdown()


NETRC = "machine 127.0.0.1 login ada password one\nmachine 127.0.0.1 login bob password two\n"


@pytest.mark.parametrize(("words", "expected"), [
    (["-n"], ("ada", "one")), (["--netrc"], ("ada", "one")), (["--netrc", "-u", "bob"], ("bob", "two")),
    (["--netrc-file", "{}/.netrc"], ("ada", "one")),
])  # fmt: skip
def test_a_password_comes_from_netrc(guarded, home, words, expected):
    url, seen = guarded
    (home / ".netrc").write_text(NETRC)
    (home / ".netrc").chmod(0o600)
    ran = outrider("get", *[word.format(home) for word in words], url)
    assert ran.returncode == 0, ran
    assert seen[-1] == basic(*expected)


def test_the_environment_names_another_netrc(guarded, home, monkeypatch):
    url, seen = guarded
    path = home / "other"
    path.write_text("default login eve password three")
    path.chmod(0o600)
    monkeypatch.setenv("NETRC", str(path))
    assert outrider("get", "-n", url).returncode == 0
    assert seen[-1] == basic("eve", "three")


def test_a_netrc_that_others_may_read_is_refused(guarded, home):
    url, seen = guarded
    (home / ".netrc").write_text(NETRC)
    (home / ".netrc").chmod(0o640)
    refused(outrider("get", "-n", url), 2, "chmod 600")
    assert seen == []


def test_a_password_in_netrc_that_is_not_utf8_is_refused_and_not_changed(guarded, home):
    url, seen = guarded
    lines = b"machine other.example login \xe9 password one\nmachine 127.0.0.1 login ada password caf\xe9\n"
    (home / ".netrc").write_bytes(lines)
    (home / ".netrc").chmod(0o600)
    refused(outrider("get", "-n", url), 2, "is not UTF-8", "127.0.0.1")
    assert seen == []
    (home / ".netrc").write_bytes(lines.replace(b"caf\xe9", b"one"))
    assert outrider("get", "-n", url).returncode == 0 and seen[-1] == basic("ada", "one")


@pytest.mark.parametrize("words", [
    ["-n", "-u", "ada:x"], ["-n", "--oauth", "work"], ["-H", "@-", "-d", "@-"], ["-u", "ada", "-d", "@-"],
])  # fmt: skip
def test_two_sources_of_one_thing_are_refused(home, words):
    refused(outrider("get", *words, "http://127.0.0.1:1/", stdin=b"x"), 2)


def test_a_host_without_an_entry_is_asked_without_a_password(guarded, home):
    url, seen = guarded
    (home / ".netrc").write_text("machine other.example login ada password one")
    (home / ".netrc").chmod(0o600)
    assert outrider("get", "-n", url).returncode == 0
    assert set(seen) == {None}
    refused(outrider("get", "-n", "-u", "bob", url), 2, "no password of bob")
