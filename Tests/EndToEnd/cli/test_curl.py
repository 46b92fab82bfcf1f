# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The printed curl commands, run by real shells: what they send is what outrider sent, byte for byte."""

import base64
import os
import random
import shutil
import string
import subprocess

import contract
import pytest
from capture_server import Capture
from request_client import result

pytestmark = [
    pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it"),
    pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not here"),
]
SHELLS = [shell for shell in ("bash", "dash", "sh") if shutil.which(shell)]
CLEAN = {"PATH": os.environ.get("PATH", ""), "HOME": "/nonexistent", "LC_ALL": "C.UTF-8"}


@pytest.fixture(scope="module")
def capture():
    with Capture() as capture:
        yield capture


def run(command, shell, stdin=b""):
    done = subprocess.run(
        [shell, "-c", command], input=stdin, env=CLEAN, capture_output=True, timeout=30, cwd="/", check=False
    )
    assert done.returncode == 0 and done.stdout.endswith(b"ok"), (command, done)


def both(line, capture, params, shells=SHELLS, stdin=b""):
    """What outrider sends and what curl sends for one request."""
    response = result(line.call("data.send", params, 20))
    assert response["ok"], response
    sent = capture.take()
    told = result(line.call("request.curl", {"request": response["request"], "secrets": True}))
    for shell in shells:
        run(told["command"], shell, stdin)
        again = capture.take()
        # an empty field is sent with a space by the one, without by the other; it means the same
        assert again.raw == sent.raw.replace(b": \r\n", b":\r\n"), told["command"]
    return sent, told


TEXTS = {
    "quotes": 'it\'s "quoted" `id` $(id) $HOME \\ \\n !! # ; & | < > * ? ~ {a,b} [x]',
    "lines": "one\ntwo\n\n  three\n",
    "carriage-returns": "one\r\ntwo\ttab\x07bell\x1b[31m\x03",
    "percent": "100% %s %d %% %n",
    "at": "@/etc/passwd",
    "dash": "--data-raw -X",
    "utf-8": "Grüße, 日本語, العربية, 😃, e\u0301",
    "empty": "",
    "space": " ",
    "equals": "a=b&c=d+e%20f",
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_in_the_body_arrives_as_it_is(line, capture, name):
    """Whatever a shell, printf or curl would take for its own. [AA1] [AA5] [AA6]"""
    sent, _ = both(line, capture, {"url": capture.url(), "method": "POST", "body": {"text": TEXTS[name]}})
    assert sent.body == TEXTS[name].encode()


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_in_a_field_arrives_as_it_is(line, capture, name):
    """Also an empty one, and JSON. [AA4] [AA5]"""
    value = "".join(letter for letter in TEXTS[name] if letter >= " " or letter == "\t").strip()
    fields = [{"name": "X-Text", "value": value}, {"name": "x-text", "value": '{"key": "value"}'}]
    sent, _ = both(line, capture, {"url": capture.url(), "headers": fields})
    assert [known for known in sent.fields if known[0].lower() == b"x-text"] == [
        (b"X-Text", value.encode()),
        (b"x-text", b'{"key": "value"}'),
    ]


def test_without_cookies_there_is_no_cookie_field(line, capture):
    """[3.S.8]"""
    sent, told = both(line, capture, {"url": capture.url()}, ["sh"])
    assert sent.first("Cookie") is None and "ookie" not in told["command"]


def test_a_field_with_json_is_shown_once(line, capture):
    """[3.S.3]"""
    both(line, capture, {"url": capture.url(), "headers": {"X-Custom-Header": '{"key": "value"}'}})


def test_every_byte_can_be_in_a_body(line, capture):
    """[AA6]"""
    everything = bytes(range(256)) * 8
    body = {"base64": base64.b64encode(everything).decode()}
    sent, _ = both(line, capture, {"url": capture.url(), "method": "PUT", "body": body})
    assert sent.body == everything


def test_a_body_from_a_file(line, capture, tmp_path):
    """Also with a name that looks like an option or a quotation. [AA6]"""
    for name in ("-o it's.bin", "@x;type=y", "b"):
        path = tmp_path / name
        path.write_bytes(b"\x00\r\nfile\n" * 3)
        sent, _ = both(line, capture, {"url": capture.url(), "method": "PUT", "body": {"file": str(path)}}, SHELLS[:1])
        assert sent.body == path.read_bytes()


@pytest.mark.parametrize(
    "method", ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "QUERY", "pUrGe", "X-1!#$%&'*+.^_`|~"]
)
def test_any_method(line, capture, method):
    """With and without a body, and with the length that goes with it. [3.S.1] [3.S.5] [B11] [E3]"""
    _, told = both(line, capture, {"url": capture.url("/a"), "method": method}, SHELLS[:2])
    assert (" -X " in told["command"]) == (method != "GET")
    both(
        line, capture, {"url": capture.url("/a"), "method": method, "body": {"text": "x"}, "allowGetBody": True}, ["sh"]
    )


def test_a_head_request(line, capture):
    response = result(line.call("data.send", {"url": capture.url("/a"), "method": "HEAD"}))
    sent = capture.take()
    command = result(line.call("request.curl", {"request": response["request"]}))["command"]
    subprocess.run(["sh", "-c", command], env=CLEAN, capture_output=True, timeout=30, check=True)
    assert capture.take().raw == sent.raw


def test_defaults_of_curl_are_left_out(line, capture):
    """Neither its User-Agent nor its Accept, nor the form's Content-Type; `Expect` only if it was there. [AA4]"""
    sent, told = both(line, capture, {"url": capture.url(), "headers": {"User-Agent": "me", "Accept": ""}})
    assert sent.first("User-Agent") == b"me" and sent.first("Accept") == b""
    body = {"base64": base64.b64encode(b"y" * 900_000).decode()}
    both(line, capture, {"url": capture.url(), "method": "POST", "body": body}, [], b"")


@pytest.mark.parametrize(
    "target",
    [
        "/",
        "/a[1]{b,c}?x[]=1",
        "/%2e%2e/x?y=/../z",
        "/.hidden/..a",
        "/a;b=c,d?e=f&g='h'&i=\"j\"",
        "/ä?ö=ü",
        "/?",
        "/a//b",
    ],
)
def test_any_target(line, capture, target):
    """Globbing and tidying are curl's habits, not ours. [AA1]"""
    both(line, capture, {"url": capture.url(target)})


def test_a_unix_socket(line, tmp_path):
    path = str(tmp_path / "it's a.sock")
    with Capture(path) as capture:
        url = "http+unix://" + path.replace("%", "%25").replace("/", "%2F").replace(" ", "%20").replace("'", "%27")
        sent, told = both(line, capture, {"url": url + "/x?y=1"})
        assert "--unix-socket" in told["command"] and sent.first("Host") == b"localhost"


def test_asked_twice_it_says_the_same(line, capture):
    """While it is known, and before it is sent. [3.S.2] [AA8]"""
    params = {"url": capture.url("/?a=b"), "headers": {"X-A": "b"}}
    sent, told = both(line, capture, params, ["sh"])
    built = result(line.call("request.build", params))
    assert built["curl"] == told["command"]
    response = result(line.call("data.send", params))
    capture.take()
    for _ in range(2):
        assert result(line.call("request.curl", {"request": response["request"]}))["command"] == told["command"]


def test_secrets_are_masked_unless_asked_for(line, capture):
    """In fields, query, forms and JSON. [AA2] [AA3] [AA10]"""
    params = {
        "url": capture.url("/?access_token=s3cr3t&a=b"),
        "method": "POST",
        "headers": {"Authorization": "Bearer s3cr3t", "Cookie": "id=s3cr3t", "X-Api-Key": "s3cr3t"},
    }
    for body in ({"json": {"password": "s3cr3t", "user": "wolf"}}, {"form": {"password": "s3cr3t", "user": "wolf"}}):
        handle = result(line.call("data.send", {**params, "body": body}))["request"]
        capture.take()
        masked = result(line.call("request.curl", {"request": handle}))["command"]
        whole = result(line.call("request.curl", {"request": handle, "secrets": True}))["command"]
        assert "s3cr3t" not in masked and masked.count("***") == 5 and "wolf" in masked
        assert whole.count("s3cr3t") == 5
        run(masked, "sh")
        assert b"***" in capture.take().body


def test_what_was_never_built_has_no_command(line):
    """[AA7]"""
    handle = result(line.call("data.start", {"url": "http://127.0.0.1:99999/"}))["request"]
    error = line.call("request.curl", {"request": handle})["error"]
    assert error["code"] == -32602 and "could not be built" in error["message"]
    assert error["data"]["pointer"] == "/request"


def test_a_long_body_is_left_to_its_user(line, capture):
    """After the end only short bodies are kept; the command says what it lacks, and works when it is given."""
    body = b"0123456789abcdef" * 4096
    params = {"url": capture.url(), "method": "PUT", "body": {"base64": base64.b64encode(body).decode()}}
    _, told = both(line, capture, params, SHELLS[:1], body)
    assert "65536 bytes" in told["note"] and "standard input" in told["note"]


# Random requests


TOKEN = string.ascii_letters + string.digits + "!#$%&'*+-.^_`|~"
PLAIN = string.ascii_letters + string.digits + "-._~/?=&%"
ODD = "'\"`$\\!@#;:&|<>(){}[]*?~= \t\n\r%\x00\x01\x1b\x7fäß€日😃\u0301\u2028"


def text(chance, letters, most):
    return "".join(chance.choice(letters) for _ in range(chance.randrange(most)))


def request(chance, capture):
    params = {"url": capture.url("/" + text(chance, PLAIN.replace("%", "") + "[]{}'\"äö,;", 20))}
    params["method"] = chance.choice(["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "x" + text(chance, TOKEN, 6)])
    fields = []
    for _ in range(chance.randrange(4)):
        name = chance.choice(
            ["X-A", "Accept", "User-Agent", "Content-Type", "Accept-Encoding", "Accept-Language", "Cookie"]
        )
        name = chance.choice([name, "X-" + text(chance, TOKEN, 8)])
        value = text(chance, PLAIN + ODD, 24)
        value = "".join(letter for letter in value if letter == "\t" or letter >= " " and letter != "\x7f").strip()
        fields.append({"name": name, "value": value})
    params["headers"] = fields
    names = (PLAIN + ODD).replace("\0", "")
    params["query"] = {text(chance, names, 6): text(chance, PLAIN + ODD, 12) for _ in range(chance.randrange(3))}
    kind = chance.choice(["none", "text", "base64", "json", "form"]) if params["method"] != "GET" else "none"
    if kind == "text":
        params["body"] = {"text": text(chance, PLAIN + ODD, 200)}
    elif kind == "base64":
        params["body"] = {"base64": base64.b64encode(chance.randbytes(chance.randrange(300))).decode()}
    elif kind == "json":
        params["body"] = {"json": {text(chance, names, 5): text(chance, ODD, 20)}}
    elif kind == "form":
        params["body"] = {"form": {text(chance, names, 5): text(chance, PLAIN + ODD, 20)}}
    return params


@pytest.mark.parametrize("seed", range(6))
def test_any_request_is_sent_again_byte_for_byte(line, capture, seed):
    """Hundreds of random ones, each by outrider and by the command in every shell. [AA1]"""
    chance = random.Random(f"curl {seed}")
    for _ in range(60):
        both(line, capture, request(chance, capture), [chance.choice(SHELLS)])
