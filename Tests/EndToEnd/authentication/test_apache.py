# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Digest and Basic by Apache httpd, which keeps count of nonces, expires them and names the next."""

import base64
import contextlib
import hashlib
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time
import unicodedata

import contract
import pytest
from callback_client import callback, reply_to
from digest_server import ADA, PASSWORD, USER, session
from listeners import free_port
from request_client import get, result

BINARY = shutil.which("apache2", path=os.environ["PATH"] + ":/usr/sbin")
MODULES = "/usr/lib/apache2/modules"
NAME = "J\u00e4s\u00f8n"
pytestmark = [
    pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it"),
    pytest.mark.skipif(BINARY is None, reason="apache2 is not here; scripts/setup --test installs it"),
]

NEEDED = "mpm_event authn_core authz_core authz_user authn_file auth_basic auth_digest unixd"


class Apache:
    """One server; `/digest`, `/once` (each nonce counts once) and `/basic` need a password."""

    def __init__(self, directory):
        self.directory = directory
        self.port = free_port()
        names = {USER: PASSWORD, NAME: "S\u00e9cret"}
        hashed = {name: hashlib.md5(f"{name}:vault:{word}".encode()).hexdigest() for name, word in names.items()}
        self.write("digests", "".join(f"{name}:vault:{hashed[name]}\n" for name in names))
        plain = [f"{name}:{{SHA}}" + sha(word) for name, word in names.items()]
        self.write("passwords", "\n".join(plain) + "\n")
        (directory / "htdocs").mkdir()
        places = {"digest": "AuthDigestQop auth", "once": "AuthDigestNonceLifetime 0"}
        lines = [f"LoadModule {name}_module {MODULES}/mod_{name}.so" for name in NEEDED.split()
                 if os.path.exists(f"{MODULES}/mod_{name}.so")]
        lines += [f"Listen 127.0.0.1:{self.port}", "ServerName localhost", f"ServerRoot {directory}",
                  f"DocumentRoot {directory}/htdocs", f"PidFile {directory}/pid", f"ErrorLog {directory}/errors",
                  "User #65534", "Group #65534", f"DefaultRuntimeDir {directory}"]
        for place, more in places.items():
            self.page(place)
            lines += [f"<Location /{place}>", "AuthType Digest", 'AuthName "vault"', "AuthDigestProvider file",
                      f"AuthUserFile {directory}/digests", more, "Require valid-user", "</Location>"]
        self.page("basic")
        lines += ["<Location /basic>", "AuthType Basic", 'AuthName "vault"', "AuthBasicProvider file",
                  f"AuthUserFile {directory}/passwords", "Require valid-user", "</Location>"]
        self.write("conf", "\n".join(lines) + "\n")

    def write(self, name, text):
        (self.directory / name).write_text(text, "utf-8")

    def page(self, name):
        (self.directory / "htdocs" / name).write_text(f"{name}\n")

    def url(self, path):
        return f"http://127.0.0.1:{self.port}{path}"

    def start(self):
        self.process = subprocess.Popen([BINARY, "-f", str(self.directory / "conf"), "-DFOREGROUND"],
                                        stderr=subprocess.DEVNULL)  # fmt: skip
        deadline = time.monotonic() + 20
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return
            errors = self.directory / "errors"
            said = errors.read_text() if errors.exists() else ""
            assert self.process.poll() is None and time.monotonic() < deadline, said

    def stop(self):
        self.process.terminate()
        self.process.wait(20)


def sha(word):
    return base64.b64encode(hashlib.sha1(word.encode()).digest()).decode()


@pytest.fixture(scope="module")
def apache():
    with tempfile.TemporaryDirectory() as name:
        # its workers run as `nobody`, and read what is here
        directory = pathlib.Path(name)
        directory.chmod(0o755)
        server = Apache(directory)
        server.start()
        yield server
        server.stop()


def sendings(wire, response):
    """The statuses that one request met, the refusals that no event tells of among them."""
    known = result(wire.call("request.get", {"request": response["request"]}))
    return [one["status"] for one in known["requests"]]


@pytest.mark.parametrize("path", ["/digest", "/once"])
def test_apache_s_digest_lets_the_right_ones_in(wire, apache, path):
    """[M1] [M4]"""
    assert get(wire, apache.url(path), auth={"digest": ADA})["body"]["text"] == path[1:] + "\n"
    refused = get(wire, apache.url(path), auth={"digest": {**ADA, "password": "wrong"}})
    assert refused["status"] == 401 and sendings(wire, refused) == [401, 401]


def test_apache_s_nonces_serve_many_requests(wire, apache):
    """[M3] [M11]"""
    place = session(wire, apache.url("/"))
    seen = [sendings(wire, get(wire, apache.url("/digest"), session=place)) for _ in range(20)]
    assert seen == [[401, 200]] + [[200]] * 19


def test_apache_s_next_nonce_is_used_at_once(wire, apache):
    """Each nonce counts once there, and the response names the next one. [M11]"""
    place = session(wire, apache.url("/"))
    responses = [get(wire, apache.url("/once"), session=place) for _ in range(10)]
    assert all("nextnonce" in str(one["headers"]) for one in responses)
    assert [sendings(wire, one) for one in responses] == [[401, 200]] + [[200]] * 9


def test_nonces_that_apache_does_not_know_any_more_are_replaced(wire, apache):
    """It forgets them all when it starts anew. [M11]"""
    place = session(wire, apache.url("/"))
    assert get(wire, apache.url("/digest"), session=place)["status"] == 200
    apache.stop()
    apache.start()
    again = get(wire, apache.url("/digest"), session=place)
    assert sendings(wire, again) == [401, 200]


@pytest.mark.parametrize("path", ["/digest", "/once"])
def test_fifty_requests_at_once_convince_apache(wire, apache, path):
    """Though where a nonce counts once, most of theirs are used up by the time that they arrive. [M11]"""
    place = session(wire, apache.url("/"), **({"limits": {"concurrent": 1}} if path == "/once" else {}))
    numbers = [wire.start("data.send", {"url": apache.url(path), "session": place}) for _ in range(50)]
    assert {result(reply)["status"] for reply in wire.replies(numbers, 60).values()} == {200}


def test_many_ask_once_for_apache_s_password(wire, apache):
    """[M15]"""
    spec = {"url": apache.url("/digest"), "session": session(wire, challenge=callback())}
    numbers = [wire.start("data.send", spec) for _ in range(20)]
    message = wire.receive()
    assert message["params"]["offers"] == [{"scheme": "digest", "realm": "vault", "algorithm": "MD5"}]
    reply_to(wire, message, {"credential": ADA})
    assert {result(reply)["status"] for reply in wire.replies(numbers, 60).values()} == {200}


@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize("path, scheme", [("/digest", "digest"), ("/basic", "basic")])
def test_names_that_are_not_ascii(wire, apache, path, scheme, form):
    """Apache says no charset: they go as they were given. [M8]"""
    who = {"username": unicodedata.normalize(form, NAME), "password": unicodedata.normalize(form, "S\u00e9cret")}
    response = get(wire, apache.url(path), auth={**who, "schemes": [scheme]})
    assert response["status"] == (200 if form == "NFC" else 401)


def test_apache_s_basic(wire, apache):
    """[M2] [M4]"""
    assert get(wire, apache.url("/basic"), auth=ADA)["body"]["text"] == "basic\n"
    assert get(wire, apache.url("/basic"), auth={**ADA, "password": "wrong"})["status"] == 401
