# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The commands where a shell is unkind: closed files, words that are no text, signals, terminals, odd responses."""

import contextlib
import json
import os
import pty
import shutil
import signal
import socket
import subprocess
import termios
import threading
import time

import contract
import pytest
from event_server import OPEN, STREAM, EventServer
from hostile_server import Hostile
from range_server import Ranging
from shell import LONG, outrider, refused
from tcp_server import Host
from websocket_server import websockets_server

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

LONG_NUMBER = 18446744073709551616


@contextlib.contextmanager
def saying(*responses):
    """The URL of a server that says just these bytes, one after the other, each on a connection of its own."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        def serve():
            for response in responses:
                with contextlib.suppress(OSError), listener.accept()[0] as connection:
                    connection.recv(1 << 16)
                    connection.sendall(response)
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        thread.join(LONG)


def response(body, kind, status="200 OK"):
    return b"HTTP/1.1 %b\r\nContent-Type: %b\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%b" % (
        status.encode(), kind.encode(), len(body), body)


def in_shell(line, *words, **more):
    """As a shell runs it; "$0" is the binary, "$@" the words."""
    return subprocess.run(
        ["sh", "-c", line, contract.binary(), *words], capture_output=True, timeout=LONG,
        env={**os.environ, "SWIFT_BACKTRACE": "enable=no"}, **more)


# Files that are closed


def test_a_body_is_no_call_though_standard_output_is_closed(service, tmp_path):
    """The connection to the service must not get its number."""
    file = tmp_path / "written"
    call = {"jsonrpc": "2.0", "id": 99, "method": "download.send",
            "params": {"url": "http://127.0.0.1:1/", "destination": {"path": str(file)}}}
    stop = {"jsonrpc": "2.0", "id": 98, "method": "server.stop", "params": {}}
    body = b"".join(json.dumps(one).encode() + b"\n" for one in (call, stop)) + b"\n" * 1000
    with saying(response(body, "text/plain")) as url:
        done = in_shell('exec "$0" get --socket "$1" "$2" >&-', service, url)
    assert done.returncode == 1 and b"standard output" in done.stderr
    assert outrider("call", "--socket", service, "server.info").returncode == 0 and not file.exists()


@pytest.mark.parametrize("words", [["call", "server.info"], ["get-socket"], ["stats"], ["describe"]], ids=" ".join)
def test_what_cannot_be_said_is_no_success(service, words):
    place = [] if words == ["describe"] else ["--socket", service]
    for target in ("&-", "/dev/full"):
        done = in_shell(f'exec "$0" "$@" >{target}', *words, *place)
        assert done.returncode == 1 and b"standard output" in done.stderr, target


@pytest.mark.parametrize(
    "words",
    [["--help"], [], ["--version"], ["help", "get"], ["get", "--help"], ["cookies"],
     ["--generate-completion-script", "bash"]], ids=" ".join)
def test_help_that_cannot_be_said_is_no_success(words):
    for target in ("&-", "/dev/full"):
        done = in_shell(f'exec "$0" "$@" >{target}', *words)
        assert done.returncode == 1 and b"standard output" in done.stderr, target
    done = in_shell('exec "$0" "$@"', *words)
    assert done.returncode == 0 and done.stdout.endswith(b"\n") and done.stderr == b""


def test_a_closed_standard_input_of_connect_is_an_empty_one(service):
    """The host hears the end of the input, and what it says then is shown."""
    def reply(connection):
        said = connection.recv(100)
        connection.sendall(b"heard %d bytes\n" % len(said))

    with Host(reply) as host:
        for files in ("<&-", "</dev/null"):
            done = in_shell(f'exec "$0" connect --socket "$1" 127.0.0.1 {host.port} {files}', service)
            assert (done.returncode, done.stdout, done.stderr) == (0, b"heard 0 bytes\n", b""), (files, done)


@pytest.mark.parametrize("kind", ["sse", "websocket"])
def test_a_command_ends_with_the_reader_of_its_output_though_nothing_more_comes(kind):
    def greet(connection):
        connection.send("hello")
        connection.recv()

    with websockets_server(greet) as url, EventServer() as server:
        url = url if kind == "websocket" else server.at("/e", [STREAM, b"data: hello\n\n", OPEN])
        process = subprocess.Popen(
            [contract.binary(), kind, "--stdio", url], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)
        try:
            assert b"hello" in process.stdout.readline()
            process.stdout.close()
            assert process.wait(LONG) == 1 and process.stderr.read() == b""
        finally:
            process.kill()
            process.wait(LONG)


def test_a_service_says_which_of_its_files_is_closed():
    for closed, name in ((">&-", b"standard output"), ("<&-", b"standard input")):
        done = in_shell(f'exec "$0" serve --stdio {closed}', stdin=None if closed == "<&-" else subprocess.DEVNULL)
        assert done.returncode == 2 and name in done.stderr, done.stderr
    assert in_shell('exec "$0" serve --stdio <&- >&- 2>&-').returncode == 2


def test_standard_input_that_is_closed_is_no_empty_body(service):
    done = in_shell('exec "$0" get --socket "$1" -d @- http://127.0.0.1:1/ <&-', service)
    assert done.returncode == 1 and b"cannot read" in done.stderr


# Files that are there already


@pytest.mark.parametrize("words", [["http://127.0.0.1:1/"], ["ftp://x/"], ["--oauth", "nobody", "http://127.0.0.1:1/"]])
def test_a_file_is_kept_until_there_is_something_to_write(get, origin, tmp_path, words):
    old, new = tmp_path / "old", tmp_path / "new"
    old.write_text("old")
    for file in (old, new):
        assert get("-o", str(file), *words).returncode > 0
        assert get("-o", str(file), "-f", origin + "/status/404").returncode == 14
    assert old.read_text() == "old" and not new.exists()
    assert get("-o", str(old), origin + "/bytes/2").returncode == 0 and old.stat().st_size == 2
    assert get("-o", str(old), origin + "/bytes/0").returncode == 0 and old.stat().st_size == 0
    assert get("-o", "/dev/stdout", origin + "/bytes/3").stdout == get(origin + "/bytes/3").stdout


def test_what_is_sent_is_not_written_over(get, origin, tmp_path):
    file = tmp_path / "both"
    file.write_text("kept")
    refused(get("-d", f"@{file}", "-o", str(file), origin + "/echo"), 2, "both")
    assert file.read_text() == "kept"


def test_a_pipe_is_sent_as_a_file_is(get, origin, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for size in (5, 5_000_000):
        thread = threading.Thread(target=pipe.write_bytes, args=(b"x" * size,))
        thread.start()
        echo = json.loads(get("-d", f"@{pipe}", origin + "/echo").stdout)
        thread.join(LONG)
        assert len(echo["body"]) == size
    assert json.loads(get("-d", "@/dev/stdin", origin + "/echo", stdin=b"abc").stdout)["body"] == "abc"


def test_a_missing_place_for_temporary_files_is_named(origin):
    words, environment = ["--stdio", "-d", "@-", origin + "/echo"], {"TMPDIR": "/nonexistent"}
    done = outrider("get", *words, stdin=b"x" * (5 << 20), env=environment)
    refused(done, 1, "/nonexistent", "set TMPDIR")


def test_a_message_over_the_limit_names_the_option_that_raises_the_limit():
    with websockets_server(lambda connection: connection.send("x" * 1_100_000)) as url:
        said = refused(outrider("websocket", url), 18, "longer than 1048576 bytes (--max-message)")
        assert "maxMessage" not in said
        done = outrider("websocket", "--max-message", "2M", url)
        assert (done.returncode, len(done.stdout)) == (0, 1_100_001), done.stderr
    for most in ("65M", "0", "-1", "wolf"):
        refused(outrider("websocket", f"--max-message={most}", url), 2, "--max-message", "64M")


def test_a_command_that_is_interrupted_before_the_first_byte_leaves_no_empty_file(tmp_path):
    (tmp_path / "old").write_text("old")
    for name, left in (("new", None), ("old", "old")):
        with Hostile() as server:
            words = [contract.binary(), "get", "--stdio", "-o", name, server.url("/stall")]
            child = subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.PIPE)
            server.wait_for("/stall")
            child.send_signal(signal.SIGINT)
            child.communicate(timeout=LONG)
            found = (tmp_path / name).read_text() if (tmp_path / name).exists() else None
            assert (child.returncode, found) == (-signal.SIGINT, left)
    refused(outrider("get", "--stdio", "-o", "none/x", "http://127.0.0.1:1/", cwd=tmp_path), 16, "none/x")


@pytest.mark.parametrize("words", [["-d", "@-"], ["-T", "-"], ["-H", "@-"]])
def test_input_that_does_not_wait_is_waited_for(origin, words):
    """Programs leave O_NONBLOCK on terminals and pipes that they share."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    child = subprocess.Popen(
        [contract.binary(), "get", "--stdio", *words, origin + "/echo"], stdin=reading, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE)
    os.close(reading)
    # the command waits, or has failed
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(0.2)
    assert child.poll() is None
    os.write(writing, b"X-Wolf: howl")
    os.close(writing)
    said, complaint = child.communicate(timeout=LONG)
    assert child.returncode == 0 and b"howl" in said, complaint


def test_a_shell_may_allow_few_open_files(origin):
    """The files of the service that a command starts have the lowest numbers."""
    done = in_shell('ulimit -n 64 && exec "$0" get --stdio "$1"', origin + "/json")
    assert done.returncode == 0 and json.loads(done.stdout), done.stderr


# Words


def test_words_that_are_no_text_are_refused(get, origin, tmp_path):
    for words in (["-d", b"\xff\xfe"], ["-o", bytes(tmp_path) + b"/out\xff"]):
        refused(get(*words, origin + "/echo"), 2, "UTF-8")
    place = bytes(tmp_path) + b"/\xff"
    os.mkdir(place)
    refused(outrider("download", "--stdio", origin + "/bytes/1", cwd=place), 2, "UTF-8")
    assert os.listdir(bytes(tmp_path)) == [b"\xff"] and os.listdir(place) == []


def test_a_file_of_the_kernel_is_sent_though_its_size_is_given_as_0(get, origin, tmp_path):
    for words in (["-d", "@/proc/version"], ["-T", "/proc/version"], ["-F", "a=@/proc/version"]):
        done = get(*words, origin + "/echo")
        assert done.returncode == 0 and "Linux" in json.loads(done.stdout)["body"], done.stderr
    (tmp_path / "empty").touch()
    assert json.loads(get("-T", "empty", origin + "/echo", cwd=tmp_path).stdout)["body"] == ""


def test_a_file_whose_path_is_no_text_is_sent_all_the_same(get, origin, tmp_path):
    """Its own name is, and the names of its directories need not be."""
    place = bytes(tmp_path) + b"/\xff"
    os.mkdir(place)
    with open(place + b"/wolf", "w") as file:
        file.write("howl")
    for words in (["-d", "@wolf"], ["-T", "wolf"], ["-F", "a=@wolf"], ["-F", "a=<wolf"]):
        done = get(*words, origin + "/echo", cwd=place)
        assert done.returncode == 0 and "howl" in json.loads(done.stdout)["body"], done.stderr


@pytest.mark.parametrize("seconds", ["nan", "inf", "1e300", "-5", "0"])
def test_times_that_are_none_are_refused(seconds):
    for command in (["get-socket", "--no-spawn"], ["stats"], ["call", "server.info"]):
        refused(outrider(*command, f"--timeout={seconds}"), 2, "--timeout")


def test_help_is_laid_out_for_a_narrow_screen():
    done = outrider("--help", env={"COLUMNS": "10"})
    assert done.returncode == 0 and max(map(len, done.stdout.decode().splitlines()[:3])) <= 40


def test_only_names_are_described():
    for name in ("", "RequestSpec/properties", "nothing"):
        refused(outrider("describe", name), 2, "outrider describe")


# Signals and terminals


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT])
def test_signals_that_are_ignored_end_no_download(service, tmp_path, number):
    """As nohup has it, and a shell for what goes on in the background."""
    with Ranging(300_000) as server:
        server.stop = 100_000
        child = subprocess.Popen(
            ["env", f"--ignore-signal={number.value}", contract.binary(), "download", "--socket", service, "-o", "x",
             server.url("/fine")], cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        server.wait_for("stopped")
        child.send_signal(number)
        child.send_signal(number)
        time.sleep(0.5)  # clock: two rounds of the command, which looks for signals five times a second
        server.go.set()
        assert child.wait(LONG) == 0 and (tmp_path / "x").read_bytes() == server.data


def echoes(terminal):
    return bool(termios.tcgetattr(terminal)[3] & termios.ECHO)


@contextlib.contextmanager
def asked(service, url):
    """The terminal of a command that waits for a password, and the command."""
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        [contract.binary(), "get", "--socket", service, "-u", "me", url], stdin=theirs, stdout=subprocess.PIPE,
        stderr=theirs, preexec_fn=lambda: (os.setsid(), __import__("fcntl").ioctl(theirs, termios.TIOCSCTTY, 0)))
    try:
        seen = b""
        while b"Password of me: " not in seen:
            seen += os.read(ours, 100)
        assert not echoes(theirs)
        yield ours, theirs, child
    finally:
        child.kill()
        child.communicate()
        os.close(ours)
        os.close(theirs)


def test_a_prompt_that_is_given_up_leaves_the_terminal_as_it_was(service):
    with asked(service, "http://127.0.0.1:1/") as (ours, theirs, child):
        os.write(ours, b"\x03")
        assert child.wait(LONG) == -signal.SIGINT
        assert echoes(theirs)
    with asked(service, "http://127.0.0.1:1/") as (ours, theirs, child):
        os.write(ours, b"\x04")
        assert child.wait(LONG) == 2
        assert echoes(theirs)


def test_a_password_is_never_nothing_by_mistake(get, service):
    refused(get("-u", "me", "http://127.0.0.1:1/", stdin=b""), 2, "ended")
    refused(get("-u", "me", "-d", "@-", "http://127.0.0.1:1/", stdin=b"body"), 2, "--netrc")
    refused(get("-u", "me", "http://127.0.0.1:1/", stdin=b"secret\r\n"), 12, "127.0.0.1:1")


def test_a_dumb_terminal_gets_no_line_that_is_written_over(service, origin, tmp_path):
    ours, theirs = pty.openpty()
    command = [contract.binary(), "get", "--socket", service, "-o", str(tmp_path / "x"), f"{origin}/bytes/3000000"]
    assert subprocess.run(command, stderr=theirs, env={**os.environ, "TERM": "dumb"}, timeout=LONG).returncode == 0
    os.write(theirs, b"|")
    assert os.read(ours, 1000) == b"|"
    os.close(ours)
    os.close(theirs)


# The program itself


@pytest.mark.parametrize("is_replaced", [True, False])
def test_a_command_outlives_an_upgrade_of_its_file(origin, tmp_path, is_replaced):
    program = tmp_path / "outrider"
    shutil.copy2(contract.binary(), program)
    child = subprocess.Popen(
        [program, "get", "--stdio", "-d", "@-", origin + "/echo"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE)
    program.unlink()
    if is_replaced:
        program.write_text(f'#!/bin/sh\ntouch {tmp_path}/new\nexec {contract.binary()} "$@"\n')
        program.chmod(0o755)
    out, said = child.communicate(b"late", timeout=LONG)
    assert child.returncode == 0 and json.loads(out)["body"] == "late", said
    assert (tmp_path / "new").exists() == is_replaced


# What servers say


def test_events_pass_through_as_the_server_wrote_them(service):
    """Also what no program of ours could keep."""
    values = [str(LONG_NUMBER), '{"a":1,"a":2}', "1e999", '["]",{"b":[1,{}]}]']
    body = b"".join(b"data: " + one.encode() + b"\n\n" for one in ["first", *values, "last"])
    with saying(response(body, "text/event-stream")) as url:
        done = outrider("sse", "--socket", service, "--no-reconnect", url)
    lines = done.stdout.decode().splitlines()
    assert done.returncode == 0 and [json.loads(line)["data"] for line in lines] == ["first", *values, "last"]
    for line, value in zip(lines[1:], values):
        assert line.endswith(f'"value":{value}}}'), line


def test_a_status_is_told_from_what_we_say_and_not_from_the_body(call, service):
    body = f'{{"id":{LONG_NUMBER},"ok":false,"error":{{"code":1500}}}}'.encode()
    good, bad = response(body, "application/json"), response(body, "application/json", "401 Unauthorized")
    with saying(good, bad, bad) as url:
        done = call("--exit-by-kind", "data.send", f"url={url}")
        assert done.returncode == 0 and str(LONG_NUMBER).encode() in done.stdout
        assert call("--exit-by-kind", "data.send", f"url={url}", 'validate:={"status":[200]}').returncode == 14
        assert outrider("sse", "--socket", service, url).returncode == 14
