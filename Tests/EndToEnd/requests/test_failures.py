# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Every failure of the contract, provoked: none stands there that never happens."""

import errno
import os
import pathlib
import re
import shlex
import shutil
import subprocess

import contract
import pytest
from capture_server import HELD, Capture
from code_client import Refused, call_with_code
from request_client import get, result

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

NOBODY = "http://127.0.0.1:1/"
TEXT = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 4\r\nConnection: close\r\n\r\ntext"
BARE = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\ntext"
EMPTY = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
NOTHING = b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"
SHORT = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\nConnection: close\r\n\r\ntext"
BROKEN = b"HTTP/1.1 two hundred\r\n\r\n"
DOWNHILL = b"HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
ROUND = b"HTTP/1.1 302 Found\r\nLocation: /again\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


# What provokes what. A request: its response, and its parameters

REQUESTS = {
    1100: (None, {"url": "http://127.0.0.1:99999/"}),
    1101: (None, {"url": NOBODY, "method": "NOT A METHOD"}),
    1102: (None, {"url": NOBODY, "body": {"text": "x"}}),
    1103: (None, {"url": NOBODY, "method": "PUT", "body": {"file": "/nonexistent/file"}}),
    1201: (None, {"url": NOBODY, "method": "PUT", "parameters": {"a": {"$decimal": ""}}, "encoding": {"kind": "json"}}),
    1211: (None, {"url": NOBODY, "method": "PUT", "body": {"text": "€", "charset": "iso-8859-1"}}),
    1220: (None, {"url": NOBODY, "method": "PUT", "body": {"multipart": [{"name": "a", "file": "relative"}]}}),
    1221: (None, {"url": NOBODY, "method": "PUT", "body": {"multipart": [{"name": "a", "file": "/tmp/"}]}}),
    1222: (None, {"url": NOBODY, "method": "PUT", "body": {"multipart": [{"name": "a", "file": "/nonexistent"}]}}),
    1223: (None, {"url": NOBODY, "method": "PUT", "body": {"multipart": [{"name": "a", "file": "/tmp/" + "x" * 300}]}}),
    1224: (None, {"url": NOBODY, "method": "PUT", "body": {"multipart": [{"name": "a", "file": "/tmp"}]}}),
    1225: (None, {"url": NOBODY, "method": "PUT", "body": {"multipart": [{"name": "a", "file": "/dev/null"}]}}),
    1402: (None, {"url": NOBODY}),
    1404: (SHORT, {}),
    1405: (HELD, {"timeout": 0.2}),
    1406: (TEXT, {"url": "https://127.0.0.1:{port}/"}),
    1407: (ROUND, {"redirect": {"max": 2}}),
    1408: (BROKEN, {}),
    1411: (TEXT, {"maxBody": 3}),
    1413: (None, {"url": "ftp://127.0.0.1/"}),
    1414: (DOWNHILL, {}),
    1600: (TEXT, {"validate": {"status": [201]}}),
    1601: (TEXT, {"validate": {"contentType": ["image/png"]}}),
    1602: (BARE, {"validate": {"contentType": ["image/png"]}}),
    1700: (EMPTY, {"serialize": {"as": "json"}}),
    1703: (BARE.replace(b"text", b"\xff\xfe\xfd\xfc"), {"serialize": {"as": "text", "encoding": "utf-8"}}),
    1704: (TEXT, {"serialize": {"as": "json"}}),
    1705: (BARE.replace(b"text", b'"aa"'), {"serialize": {"as": "json", "schema": {"type": "object"}}}),
    1707: (NOTHING, {"serialize": {"as": "json", "schema": {"type": "object"}}}),
}  # fmt: skip

# The client's own code, which fails
CALLBACKS = {
    1202: ({"method": "PUT", "parameters": {"a": 1}, "encoding": {"kind": "custom", "callback": "x"}}, None),
    1300: ({"interceptors": [{"callback": "x", "asks": ["adapt"]}]}, None),
    1310: (
        {"validate": {"status": [201]}, "interceptors": [{"callback": "x", "asks": ["retry"]}]},
        {"retry": False, "error": "no"},
    ),
    1605: ({"validate": {"callback": "x"}}, None),
    1706: ({"serialize": {"callback": "x"}}, None),
}


@pytest.fixture
def line():
    with contract.Wire() as line:
        yield line


def check(error, code):
    """The code, and what always goes with it."""
    known = contract.FAILURES[code]
    assert error["code"] == code, error
    assert error["kind"] == known["kind"] and error.get("reason") == known.get("reason")
    assert error["message"] and not error["message"].endswith(".") and "\n" not in error["message"]
    # what is usually not worth repeating never is; what usually is may not be once it was sent
    assert error["retryable"] <= known["retryable"]
    assert set(error.get("data", {})) <= set(known["data"])


@pytest.mark.parametrize("code", REQUESTS)
def test_a_failure_is_what_the_contract_says(line, code):
    """Number, kind, reason, sentence, and whether repeating helps. [AB1] [AB3] [AB4] [AB6]"""
    given, params = REQUESTS[code]
    if given is None:
        response = get(line, **params)
    else:
        with Capture(response=given) as capture:
            url = params.get("url", capture.url()).replace("{port}", str(capture.port))
            response = get(line, **{**params, "url": url})
    assert response["ok"] is False
    check(response["error"], code)


def refuse(_):
    raise Refused({"code": 7, "message": "not today"})


@pytest.mark.parametrize("code", CALLBACKS)
def test_a_failure_of_the_clients_code(line, code):
    """With its own words in `data`. [AB1] [AB5]"""
    params, given = CALLBACKS[code]
    names = ("adapt", "retry", "validate", "serialize", "encode")
    functions = {f"callback.{name}": (lambda _: given) if given else refuse for name in names}
    with Capture(response=TEXT) as capture:
        reply, _ = call_with_code(line, "data.send", {"url": capture.url(), **params}, functions)
    check(result(reply)["error"], code)
    assert "no" in result(reply)["error"]["message"]


def test_cancelling_and_closing(line):
    """[AB1]"""
    with Capture(response=HELD) as capture:
        session = result(line.call("session.create"))["session"]
        started = [result(line.call("data.start", {"url": capture.url(), "session": session}))["request"] for _ in "ab"]
        result(line.call("request.cancel", {"request": started[0]}))
        result(line.call("session.close", {"session": session}))
        for handle, code in zip(started, (1900, 1902)):
            check(result(line.call("request.wait", {"request": handle}))["error"], code)


def test_files_that_cannot_be_written(line, tmp_path):
    """What a call would have failed with stands in its error. [AB1]"""
    with Capture(response=TEXT) as capture:
        response = get(line, capture.url(), bodyTo="stored")
    kept = {"response": response["body"]["response"]}
    (tmp_path / "there").write_text("x")
    for path, code in ((tmp_path / "there", 1801), (tmp_path / "no" / "x", 1803)):
        error = line.call("response.save", {**kept, "path": str(path)})["error"]
        assert error["code"] == -32602 and error["data"]["failure"]["code"] == code, error


def test_a_disk_that_fails(tmp_path):
    """Its files are there, and cannot be asked for their size. [AB1]"""
    if not shutil.which("strace"):
        pytest.skip("strace is not here; it makes system calls fail")
    path = tmp_path / "file"
    path.write_text("x")
    calls = "stat,lstat,newfstatat,statx"
    failing = ["strace", "-f", "-o", os.devnull, "-P", str(path), f"--trace={calls}", f"--inject={calls}:error=EIO"]
    with contract.Wire(under=failing) as wire:
        body = {"multipart": [{"name": "a", "file": str(path)}]}
        error = get(wire, NOBODY, method="PUT", body=body)["error"]
        check(error, 1226)
        assert error["underlying"]["code"] == errno.EIO and error["data"]["path"] == str(path)
        assert get(wire, NOBODY, method="PUT", body={"text": "x"})["error"]["code"] == 1402


def test_a_disk_that_becomes_full(tmp_path):
    """What could be written goes again. [AB1]"""
    mount = f'mount -t tmpfs -o size=64k tmpfs {shlex.quote(str(tmp_path))} && exec "$@"'
    alone = ["unshare", "--user", "--map-root-user", "--mount", "--"]
    if subprocess.run([*alone, "sh", "-c", mount, "sh", "true"], capture_output=True).returncode != 0:
        pytest.skip("no small disk can be made here: user namespaces are not permitted")
    path = str(tmp_path / "form")
    with contract.Wire(under=[*alone, "sh", "-c", mount, "sh"]) as wire:
        parts = [{"name": "a", "text": "x" * 100_000}]
        for _ in range(2):
            error = wire.call("multipart.encode", {"parts": parts, "to": "file", "path": path})["error"]
            assert error["data"]["failure"]["code"] == 1231 and "space" in error["message"], error
        short = {"parts": [{"name": "a", "text": "x"}], "to": "file", "path": path}
        assert result(wire.call("multipart.encode", short))["path"] == path


def test_a_kept_body_whose_file_is_gone(line):
    """[AB1] [AB6]"""
    with Capture(response=TEXT) as capture:
        body = get(line, capture.url(), bodyTo="file")["body"]
    pathlib.Path(body["path"]).unlink()
    kept = {"response": body["response"]}
    told = result(line.call("response.validate", {**kept, "validate": {"schema": {"type": "object"}}}))
    check(told["error"], 1604)
    told = result(line.call("response.serialize", {**kept, "serialize": {"as": "json"}}))
    check(told["error"], 1702)


def test_a_session_that_ends_with_its_client(listening):
    """A request of it that outlives the client ends all the same. [AB1] [A12]"""
    with Capture(response=HELD) as capture, contract.Wire(listening) as stays:
        with contract.Wire(listening) as leaves:
            session = result(leaves.call("session.create"))["session"]
            params = {"url": capture.url(), "session": session, "detach": True}
            handle = result(leaves.call("data.start", params))["request"]
        check(result(stays.call("request.wait", {"request": handle}))["error"], 1901)


def test_every_failure_of_the_contract_is_shown():
    """Here, or in a test that names its number. [AB2]"""
    root = pathlib.Path(contract.ROOT)
    tests = [*root.glob("Tests/**/*.py"), *root.glob("Tests/**/*.swift")]
    texts = (path.read_text("utf-8") for path in tests if path.name != "test_failures.py")
    words = {word for text in texts for word in re.findall(r"\w+", text)}
    here = {*REQUESTS, *CALLBACKS, 1226, 1231, 1604, 1702, 1801, 1803, 1900, 1901, 1902}
    reasons = {code: failure.get("reason", failure["kind"]) for code, failure in contract.FAILURES.items()}
    for code in sorted(set(contract.FAILURES) - here):
        assert words & {str(code), reasons[code]}, f"no test shows failure {code}, {reasons[code]}"
