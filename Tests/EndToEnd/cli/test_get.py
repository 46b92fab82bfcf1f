# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""`outrider get`, as a shell sees it."""

import hashlib
import json
import os
import pty
import socket
import subprocess
import sys
import threading
import time

import contract
import pytest
from listeners import shut
from shell import LONG, outrider, refused

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


def test_get_writes_the_body_as_it_is(get, origin):
    assert get(origin + "/json").stdout == b'{"id":1,"x":0.1}'
    assert get(origin + "/gzip").stdout == outrider("get", "--stdio", origin + "/gzip").stdout


@pytest.mark.parametrize("size", [0, 1, 1 << 20, (1 << 20) + 1, 5_000_000])
def test_get_is_binary_safe_at_every_size(get, origin, size, tmp_path):
    there = subprocess.run(
        [sys.executable, "-c", "import sys,urllib.request as u; sys.stdout.buffer.write(u.urlopen(sys.argv[1]).read())"]
        + [f"{origin}/bytes/{size}"],
        capture_output=True,
        check=True,
    ).stdout
    assert len(there) == size
    assert hashlib.sha256(get(f"{origin}/bytes/{size}").stdout).digest() == hashlib.sha256(there).digest()
    file = tmp_path / "out"
    done = get("-o", str(file), f"{origin}/bytes/{size}")
    assert (done.returncode, done.stdout) == (0, b"")
    assert file.read_bytes() == there


def test_get_joins_repeated_data_as_curl_does(get, origin, tmp_path):
    file = tmp_path / "piece"
    file.write_bytes(b"c=\xff")
    assert json.loads(get("-d", "a=1", "-d", "b=2", origin + "/echo").stdout)["body"] == "a=1&b=2"
    with_file = json.loads(get("-d", "a=1", "-d", f"@{file}", "-d", "@-", origin + "/echo", stdin=b"d=4").stdout)
    assert with_file["body"].startswith("a=1&c=") and with_file["body"].endswith("&d=4")
    refused(get("-d", "a=1", "-d", "@/nonexistent", origin + "/echo"), 2, "/nonexistent")
    refused(get("-d", "a=1", "--json", "{}", origin + "/echo"), 2, "only one of --data and --json")


def test_get_includes_the_head(get, origin):
    head, body = get("-i", origin + "/status/404").stdout.split(b"\r\n\r\n", 1)
    assert head.startswith(b"HTTP/1.1 404 \r\n") and b"Server: outrider-origin" in head
    assert body == get(origin + "/status/404").stdout


def test_a_status_is_a_failure_only_when_asked(get, origin):
    assert get(origin + "/status/404").returncode == 0
    refused(get("-f", origin + "/status/404"), 14, "404")
    assert get("-f", origin + "/json").returncode == 0


def test_a_file_that_is_current_stays_as_it_is(get, origin, tmp_path):
    """304 has no content, as curl knows."""
    path = tmp_path / "file"
    path.write_bytes(b"kept")
    for name in ("file", "new"):
        assert get("-H", 'If-None-Match: "a"', "-o", str(tmp_path / name), origin + "/status/304").returncode == 0
    assert path.read_bytes() == b"kept" and os.listdir(tmp_path) == ["file"]
    assert get("-i", "-o", str(path), origin + "/status/304").returncode == 0
    assert path.read_bytes().startswith(b"HTTP/1.1 304 ")


@pytest.mark.parametrize("data, sent", [("a=b", "a=b"), ("@-", "from stdin"), ("@FILE", "from a file")])
def test_get_sends_data(get, origin, data, sent, tmp_path):
    file = tmp_path / "data"
    file.write_text("from a file")
    done = get("-d", data.replace("FILE", str(file)), "-H", "X-Test:  1", origin + "/echo", stdin=b"from stdin")
    echo = json.loads(done.stdout)
    fields = {name.lower(): value for name, value in echo["headers"]}
    assert (echo["method"], echo["body"]) == ("POST", sent)
    assert (fields["x-test"], fields["content-type"]) == ("1", "application/x-www-form-urlencoded")


@pytest.mark.parametrize("size", [4 << 20, (4 << 20) + 1, 20 << 20])
def test_get_sends_long_standard_input(get, origin, size):
    sent = b"0123456789abcdef" * (size // 16) + b"x" * (size % 16)
    echo = json.loads(get("-d", "@-", origin + "/echo", stdin=sent).stdout)
    assert echo["body"] == sent.decode()


def test_get_takes_a_method_and_a_content_type(get, origin):
    done = get("-X", "PUT", "-H", "content-type: text/plain", "-d", "x", origin + "/echo")
    echo = json.loads(done.stdout)
    assert echo["method"] == "PUT"
    assert [value for name, value in echo["headers"] if name.lower() == "content-type"] == ["text/plain"]


def test_get_tells_failures_on_standard_error(get, tmp_path):
    refused(get("http://127.0.0.1:1/"), 12, "127.0.0.1:1")
    assert refused(get("-s", "http://127.0.0.1:1/"), 12) == ""
    refused(get("-H", "no field", "http://127.0.0.1:1/"), 2, "Name: value")
    refused(get("-d", "@" + str(tmp_path / "none"), "http://127.0.0.1:1/"), 2, "none")
    refused(get("-o", str(tmp_path / "none/out"), "http://127.0.0.1:1/"), 16, "none/out")
    assert get("not a url").returncode in (1, 10)


def test_get_gives_up_in_time(get, origin):
    begin = time.monotonic()
    refused(get("--timeout", "0.3", origin + "/delay/30"), 12)
    assert time.monotonic() - begin < 10


def test_get_needs_no_service(origin, tmp_path):
    done = outrider("get", origin + "/json", env={"XDG_RUNTIME_DIR": str(tmp_path)})
    assert done.stdout == b'{"id":1,"x":0.1}'
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("words, shown", [([], False), (["-o", "-"], True)])
def test_a_terminal_gets_no_binary_data_unless_asked(service, words, shown):
    def respond(peer):
        peer.recv(65536)
        peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: 4\r\n\r\na\0bc")

    listener = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=lambda: respond(listener.accept()[0]), daemon=True)
    thread.start()
    ours, theirs = pty.openpty()
    done = subprocess.run(
        [contract.binary(), "get", "--socket", service, *words, f"http://127.0.0.1:{listener.getsockname()[1]}/"],
        stdout=theirs,
        stderr=subprocess.PIPE,
        timeout=LONG,
    )
    os.write(theirs, b"|")
    seen = b""
    while not seen.endswith(b"|"):
        seen += os.read(ours, 100)
    os.close(ours)
    os.close(theirs)
    shut(listener)
    assert seen == (b"a\0bc|" if shown else b"|")
    assert done.returncode == (0 if shown else 1)
    if not shown:
        assert b"image/png" in done.stderr and b"-o" in done.stderr


BARS = [(3_000_000, [], True), (1000, [], False), (3_000_000, ["-s"], False)]


@pytest.mark.parametrize(("size", "words", "shown"), BARS)
def test_a_line_shows_how_far_a_long_body_is(service, origin, tmp_path, size, words, shown):
    """On a terminal, and only if the body goes to a file."""
    ours, theirs = pty.openpty()
    file = str(tmp_path / "out")
    command = [contract.binary(), "get", "--socket", service, *words, "-o", file, f"{origin}/bytes/{size}"]
    assert subprocess.run(command, stderr=theirs, timeout=LONG).returncode == 0
    os.write(theirs, b"|")
    seen = b""
    while not seen.endswith(b"|"):
        seen += os.read(ours, 1000)
    os.close(ours)
    os.close(theirs)
    assert os.path.getsize(file) == size
    if not shown:
        assert seen == b"|"
        return
    # a terminal makes CR LF of a line feed
    last = seen.removesuffix(b"\r\n|").split(b"\r")[-1]
    assert seen.endswith(b"\r\n|") and last.startswith(b"100% [====") and b"3.0 MB" in last
    assert all(len(line) <= 79 + len(b"\x1b[K") for line in seen.split(b"\r"))


def test_get_shows_the_request_as_a_command(get):
    done = get("--curl", "-H", "Authorization: Bearer s3cr3t", "-d", "it's", "http://127.0.0.1:1/")
    assert done.returncode == 0 and done.stderr == b""
    command = done.stdout.decode()
    assert command.startswith("curl -X POST ") and "s3cr3t" not in command and command.count("\n") == 1
    assert command.endswith("--data-raw 'it'\\''s' 'http://127.0.0.1:1/'\n")
    refused(get("--curl", "http://127.0.0.1:99999/"), 1, "port")


def test_get_writes_what_comes_when_it_comes(service):
    """Nothing waits for the rest, and a reader that has enough ends the request."""
    listener = socket.create_server(("127.0.0.1", 0))
    command = [contract.binary(), "get", "--socket", service, f"http://127.0.0.1:{listener.getsockname()[1]}/"]
    listener.settimeout(LONG)
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process, listener:
        peer, _ = listener.accept()
        with peer:
            peer.settimeout(LONG)
            peer.recv(65536)
            peer.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nfirst\n\r\n")
            assert process.stdout.readline() == b"first\n"
            peer.sendall(b"7\r\nsecond\n\r\n")
            assert process.stdout.readline() == b"second\n"
            process.stdout.close()
            with pytest.raises(OSError):
                while True:
                    peer.sendall(b"6\r\nmore.\n\r\n")
        assert process.wait(LONG) != 0


def test_get_writes_what_came_of_a_body_that_breaks_off(get):
    listener = socket.create_server(("127.0.0.1", 0))

    def respond():
        peer, _ = listener.accept()
        with peer:
            peer.recv(65536)
            peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")

    thread = threading.Thread(target=respond, daemon=True)
    thread.start()
    done = get(f"http://127.0.0.1:{listener.getsockname()[1]}/")
    shut(listener)
    assert (done.returncode, done.stdout) == (12, b"half")
    assert b"closed" in done.stderr or b"lost" in done.stderr, done.stderr


def test_get_sends_json(get, origin):
    echo = json.loads(get("--json", '{"name":"wolf"}', origin + "/echo").stdout)
    fields = {name.lower(): value for name, value in echo["headers"]}
    assert (echo["method"], echo["body"], fields["content-type"]) == ("POST", '{"name":"wolf"}', "application/json")
    refused(get("--json", "{}", "-d", "a=b", origin + "/echo"), 2, "--json")


def test_get_repeats_what_may_be_repeated(get, home):
    url = home.url("/fails/1/429")
    assert get("-f", "--retry", "2", url).returncode == 0
    assert [one["path"] for one in home.seen] == ["/fails/1/429"] * 2
    home.forget()
    refused(get("-f", "--retry", "2", "-d", "a=b", url), 14, "429")
    assert len(home.seen) == 1
    refused(get("--retry", "101", url), 2, "--retry")


@pytest.mark.parametrize("scheme", ["basic-auth", "digest-auth/auth"])
def test_get_says_who_asks_when_it_is_asked(get, bin, scheme):
    url = f"{bin}/{scheme}/wolf/secret"
    assert json.loads(get("-u", "wolf:secret", url).stdout)["user"] == "wolf"
    assert json.loads(get("-u", "wolf", url, stdin=b"secret\n").stdout)["user"] == "wolf"
    refused(get("-f", "-u", "wolf:wrong", url), 14, "401")
    refused(get("-u", "wolf:secret", "--oauth", "work", url), 2, "--oauth", "--user")


def test_get_sends_basic_at_once_where_that_is_wished(get, bin, origin):
    """Many servers respond with 403 or 404 in place of a challenge."""
    seen = [
        "Authorization" in dict(json.loads(get(*words, "-u", "wolf:secret", origin + "/echo").stdout)["headers"])
        for words in ([], ["--basic"], ["--digest"])
    ]
    assert seen == [False, True, False]
    proven = get("--digest", "-u", "wolf:secret", f"{bin}/digest-auth/auth/wolf/secret")
    assert json.loads(proven.stdout)["user"] == "wolf"
    # whatever the server asks for
    refused(get("-f", "--digest", "-u", "wolf:secret", f"{bin}/basic-auth/wolf/secret"), 14, "401")
    refused(get("--basic", "--digest", "-u", "wolf:secret", origin), 2, "--basic", "--digest")
    refused(get("--basic", origin), 2, "-u NAME")
