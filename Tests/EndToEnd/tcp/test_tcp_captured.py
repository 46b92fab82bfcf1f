# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""A TCP stream that a second connection of the client carries, and `outrider connect`."""

import hashlib
import os
import shutil
import socket
import subprocess
import threading
import time

import contract
import pytest
from listeners import free_port
from proxy_server import Proxy
from raw_client import Raw
from request_client import result
from shell import outrider, refused
from tcp_server import Host, dial, echo, read

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


def listens(port):
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


def needs(program):
    return pytest.mark.skipif(shutil.which(program) is None, reason=f"{program} is not installed")


@pytest.fixture
def echoing():
    with Host(echo) as host:
        yield host


@pytest.fixture
def owner(listening):
    """A connection on a socket."""
    with contract.Wire(listening) as wire:
        wire.path = listening
        yield wire


def test_a_second_connection_is_the_socket(owner, echoing):
    """Both ways, with the end of each. [S6]"""
    made = dial(owner, echoing.port)
    sent = os.urandom(5_000_000)
    with Raw(owner.path, made["stream"], "both", behind=b"") as raw:
        assert raw.reply() == {"raw": True}

        def send():
            raw.send(sent)
            raw.socket.shutdown(socket.SHUT_WR)

        sender = threading.Thread(target=send)
        sender.start()
        got = raw.rest()
        sender.join()
    assert hashlib.sha256(got).digest() == hashlib.sha256(sent).digest()
    assert result(owner.call("request.wait", {"request": made["request"]}))["ok"]
    assert owner.call("stream.read", {"stream": made["stream"]})["error"]["code"] == -32012


def test_a_captured_stream_goes_on_when_the_peer_has_ended(owner):
    """[S6]"""
    heard = []

    def act(connection):
        connection.sendall(b"all")
        connection.shutdown(socket.SHUT_WR)
        while piece := connection.recv(100):
            heard.append(piece)

    with Host(act) as host:
        made = dial(owner, host.port)
        with Raw(owner.path, made["stream"], "both") as raw:
            raw.reply()
            assert raw.rest() == b"all"
            time.sleep(0.7)  # clock: the end of the peer ends nothing later on
            raw.send(b"later")
            raw.socket.shutdown(socket.SHUT_WR)
            assert result(owner.call("request.wait", {"request": made["request"]}))["ok"]
    assert b"".join(heard) == b"later"


def test_a_client_that_breaks_off_closes_the_stream(owner):
    ended = threading.Event()

    def act(connection):
        while connection.recv(100):
            pass
        ended.set()

    with Host(act) as host:
        made = dial(owner, host.port)
        with Raw(owner.path, made["stream"], "both") as raw:
            raw.reply()
        assert ended.wait(20)


def test_what_is_read_already_cannot_be_captured(owner, echoing):
    made = dial(owner, echoing.port, mode="push", credit=10)
    with Raw(owner.path, made["stream"], "both") as raw:
        assert raw.reply()["code"] == -32013
    made = dial(owner, echoing.port)
    with Raw(owner.path, made["stream"], "write") as raw:
        assert "both" in raw.reply()["message"]
    with Raw(owner.path, made["stream"], "both") as raw:
        raw.reply()
        error = owner.call("stream.read", {"stream": made["stream"]})["error"]
        assert error["code"] == -32013 and "another connection carries the stream" in error["message"], error


def test_a_stream_that_cannot_be_captured_can_still_be_read(owner):
    """The writing half is finished: the stream cannot become a socket, and the reply of the peer is not lost."""

    def answer(connection):
        while connection.recv(100):
            pass
        connection.sendall(b"late")

    with Host(answer) as host:
        stream = dial(owner, host.port)["stream"]
        result(owner.call("stream.finish", {"stream": stream}))
        with Raw(owner.path, stream, "both") as raw:
            assert "finished" in raw.reply()["message"]
        assert read(owner, stream, min=4)[0] == b"late"


@needs("socat")
def test_socat_talks_through_it(owner, tmp_path):
    """A real peer. [S6]"""
    port = free_port()
    with subprocess.Popen(["socat", f"TCP-LISTEN:{port},bind=127.0.0.1,reuseaddr", "SYSTEM:tr a-z A-Z"]):
        for _ in range(100):
            opened = result(owner.call("tcp.open", {"host": "127.0.0.1", "port": port}))
            if opened["ok"]:
                break
            time.sleep(0.05)
        with Raw(owner.path, opened["stream"], "both") as raw:
            raw.reply()
            raw.send(b"hello\n")
            raw.socket.shutdown(socket.SHUT_WR)
            assert raw.rest() == b"HELLO\n"


# In a shell


def test_a_shell_talks_to_a_host(listening, echoing):
    """Both ways, with the end of each."""
    sent = os.urandom(3_000_000)
    done = outrider("connect", "--socket", listening, "127.0.0.1", str(echoing.port), stdin=sent)
    assert done.returncode == 0, done.stderr
    assert hashlib.sha256(done.stdout).digest() == hashlib.sha256(sent).digest()


def test_a_shell_names_host_and_port_in_one_word(listening, echoing):
    done = outrider("connect", "--socket", listening, f"127.0.0.1:{echoing.port}", stdin=b"hello")
    assert (done.returncode, done.stdout) == (0, b"hello"), done.stderr
    with Host(echo, socket.AF_INET6, ("::1", 0)) as host:
        done = outrider("connect", "--socket", listening, f"[::1]:{host.port}", stdin=b"hello")
        assert (done.returncode, done.stdout) == (0, b"hello"), done.stderr


def test_a_shell_chooses_the_version_of_ip(listening):
    with Host(echo, socket.AF_INET6, ("::1", 0)) as host:
        place = ("--socket", listening, "localhost", str(host.port))
        done = outrider("connect", "-6", *place, stdin=b"hello")
        assert (done.returncode, done.stdout) == (0, b"hello"), done.stderr
        refused(outrider("connect", "-4", *place), 12, "127.0.0.1")
        refused(outrider("connect", "--ipv4", "--socket", listening, "::1", str(host.port)), 12, "(-4)")
    done = outrider("connect", "-6", "--unix", "/run/s")
    assert done.returncode == 2 and b"--ipv6 is for HOST and PORT" in done.stderr, done.stderr


def test_a_shell_names_a_unix_socket_from_its_directory(listening, tmp_path):
    with Host(echo, socket.AF_UNIX, str(tmp_path / "peer")):
        done = outrider("connect", "--socket", listening, "--unix", "peer", stdin=b"hello", cwd=tmp_path)
        assert (done.returncode, done.stdout) == (0, b"hello"), done.stderr


def test_a_shell_goes_through_a_proxy(listening, echoing):
    with Proxy(basic=True) as proxy:
        place = ("127.0.0.1", str(echoing.port))
        done = outrider("connect", "--socket", listening, "-x", proxy.named, *place, stdin=b"hello")
        assert (done.returncode, done.stdout) == (0, b"hello"), done.stderr
        refused(outrider("connect", "--socket", listening, "-x", proxy.address, *place), 12, "proxy")


def test_a_host_that_ends_first_is_heard(listening):
    """What it sent is written, and what stands on standard input is still sent."""
    heard = []

    def act(connection):
        connection.sendall(b"banner")
        connection.shutdown(socket.SHUT_WR)
        while piece := connection.recv(100):
            heard.append(piece)

    with Host(act) as host:
        command = [contract.binary(), "connect", "--socket", listening, "127.0.0.1", str(host.port)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdout.read() == b"banner"
            process.stdin.write(b"later")
            process.stdin.close()
            assert process.wait(10) == 0
    assert b"".join(heard) == b"later"


def test_a_shell_ends_with_a_lost_connection(listening):
    """Standard input stays open."""

    def act(connection):
        connection.recv(1)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")

    with Host(act) as host:
        command = [contract.binary(), "connect", "--socket", listening, "127.0.0.1", str(host.port)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            process.stdin.write(b"x")
            process.stdin.flush()
            try:
                process.wait(20)
            finally:
                process.kill()


def test_what_cannot_be_reached_is_told(listening):
    refused(outrider("connect", "--socket", listening, "127.0.0.1", str(free_port())), 12, "refused")
    refused(outrider("connect", "--socket", listening, "--unix", "/nonexistent/s"), 12, "no socket")
    assert b"HOST and PORT" in outrider("connect", "127.0.0.1").stderr
    assert outrider("connect", "--server-name", "x", "127.0.0.1", "1").returncode == 2


@pytest.mark.parametrize(
    "words, option",
    [
        (["connect", "--timeout", "nan", "127.0.0.1", "1"], "--timeout must be from 0.001"),
        (["connect", "--timeout", "0", "127.0.0.1", "1"], "--timeout must be from 0.001"),
        (["connect", "--unix", ""], "--unix needs the path"),
        (["reachability", "--watch", "--connect", "--interval", "inf", "http://h/"], "--interval must be from 5"),
    ],
)
def test_a_word_that_no_call_can_carry_is_named(words, option):
    done = outrider(*words)
    assert done.returncode == 2 and option in done.stderr.decode(), done.stderr


@needs("ssh-keygen")
@needs("sshd")
def test_ssh_goes_through_it(listening, tmp_path):
    """A ProxyCommand."""
    home, port = tmp_path, free_port()
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(home / name)], check=True)
    shutil.copy(home / "user.pub", home / "authorized")
    options = [
        f"HostKey={home}/host", f"AuthorizedKeysFile={home}/authorized", "StrictModes=no", "UsePAM=no",
        f"PidFile={home}/pid", f"Port={port}", "ListenAddress=127.0.0.1",
    ]
    words = [word for option in options for word in ("-o", option)]
    with subprocess.Popen([shutil.which("sshd"), "-D", "-e", "-f", "/dev/null", *words], stderr=subprocess.PIPE) as far:
        try:
            while far.poll() is None and not listens(port):
                time.sleep(0.01)
            if far.poll() is not None:
                pytest.skip(f"sshd does not start here: {far.stderr.read().decode()[-200:]}")
            command = f"{contract.binary()} connect --socket {listening} %h %p"
            done = subprocess.run(
                [
                    "ssh", "-F", "/dev/null", "-i", str(home / "user"), "-p", str(port), "-o", "BatchMode=yes",
                    "-o", "StrictHostKeyChecking=no", "-o", f"UserKnownHostsFile={home}/known",
                    "-o", f"ProxyCommand={command}", "127.0.0.1", "echo over ssh",
                ],
                capture_output=True, timeout=30,
            )
            assert done.stdout == b"over ssh\n", done.stderr
        finally:
            far.terminate()
            far.wait(10)
