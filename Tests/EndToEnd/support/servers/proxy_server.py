# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Proxies on loopback: real ones, one by hand that does everything right and writes it down, and some that do not.

with Proxy(basic=True) as proxy:      # asks for Ada's password; Proxy() asks for none, Proxy("SHA-256") wants Digest
    proxy.address                     # http://127.0.0.1:PORT
    proxy.requests                    # what came: method, target, fields, connection; and proxy.statuses
"""

import contextlib
import http.client
import select
import socket
import ssl
import subprocess
import threading
import time
from urllib.parse import urlsplit

from digest_server import PASSWORD, USER, Guard
from http_server import Listening
from listeners import free_port
from upload_server import LONG, Reader, Taken

TELLING = {"connection", "keep-alive", "transfer-encoding", "content-length"}


class Proxy(Guard):
    """Carries http requests on, and opens tunnels."""

    def __init__(self, algorithm=None, *, basic=False, closes=False, context=None, leads=None, **guard):
        # closes: the connection ends with each 407; leads: host and port that every tunnel ends at
        self.guarded, self.closes, self.context, self.leads = algorithm is not None or basic, closes, context, leads
        self.requests = []
        challenges = ['Basic realm="the gate"'] if basic else None
        super().__init__(algorithm or "MD5", challenges=challenges, realm="the gate", **guard)

    @property
    def address(self):
        return f"{'https' if self.context else 'http'}://127.0.0.1:{self.port}"

    @property
    def named(self):
        """The same with the password that it wants."""
        return self.address.replace("//", f"//{USER}:{PASSWORD}@")

    @property
    def connects(self):
        return [one for one in self.requests if one.method == "CONNECT"]

    def serve(self, connection, number):
        if self.context:
            connection = self.context.wrap_socket(connection, server_side=True)
        connection.settimeout(LONG)
        reader = Reader(connection)
        while head := reader.until(b"\r\n\r\n"):
            request = Taken(head, number)
            self.requests.append(request)
            self.take(reader, request)
            self.note(self.arrived, request.method)
            status, fields = self.judge(Seen(request)) if self.guarded else (200, [])
            if status != 200:
                end = "Connection: close\r\n" if self.closes else ""
                lines = "".join(f"{name}: {value}\r\n" for name, value in fields)
                body = b"<h1>who asks?</h1>"
                head = f"HTTP/1.1 407 Who\r\n{lines}{end}Content-Length: {len(body)}\r\n\r\n"
                connection.sendall(head.encode() + body)
                if self.closes:
                    return
            elif request.method == "CONNECT":
                return self.tunnel(connection, reader, request)
            else:
                self.forward(connection, request, fields)

    def refusal(self, stale=False):
        status, fields = super().refusal(stale)
        return 407, [("Proxy-Authenticate", value) for _, value in fields]

    def info(self, said):
        return [("Proxy-Authentication-Info", value) for _, value in super().info(said)]

    def forward(self, connection, request, fields):
        place = urlsplit(request.path)
        assert place.scheme == "http", request.path
        carrier = http.client.HTTPConnection(place.hostname, place.port or 80, timeout=LONG)
        target = request.path[len(f"http://{place.netloc}"):]
        carrier.putrequest(request.method, target or "/", skip_host=True, skip_accept_encoding=True)
        for name, value in request.fields:
            if not name.lower().startswith("proxy-") and name.lower() not in TELLING:
                carrier.putheader(name, value)
        if request.framing != "none":
            carrier.putheader("Content-Length", str(len(request.body)))
        carrier.endheaders(request.body)
        response = carrier.getresponse()
        body = response.read()
        lines = [(name, value) for name, value in response.getheaders() if name.lower() not in TELLING]
        lines += [*fields, ("Via", "1.1 by-hand"), ("Content-Length", str(len(body)))]
        head = f"HTTP/1.1 {response.status} {response.reason}\r\n"
        head += "".join(f"{name}: {value}\r\n" for name, value in lines)
        connection.sendall(f"{head}\r\n".encode() + (b"" if request.method == "HEAD" else body))
        carrier.close()

    def tunnel(self, connection, reader, request):
        host, _, port = request.path.rpartition(":")
        with socket.create_connection(self.leads or (host.strip("[]"), int(port)), LONG) as far:
            # the length is a lie that clients must not believe, RFC 9110 section 9.3.6
            connection.sendall(b"HTTP/1.1 200 Connection established\r\nContent-Length: 5\r\n\r\n")
            if self.context:
                far.sendall(reader.buffer)
                return relay(connection, far)
            back = threading.Thread(target=pump, args=(far, connection), daemon=True)
            back.start()
            far.sendall(reader.buffer)
            pump(connection, far)
            back.join(LONG)


class Seen:
    """What a proxy is told, for a Guard to look at."""

    def __init__(self, request):
        self.request, self.method, self.path, self.body = request, request.method, request.path, request.body

    def field(self, name):
        return self.request.field("proxy-authorization" if name == "authorization" else name)


def pump(source, sink):
    """One direction; its end is passed on, and what comes the other way still arrives."""
    try:
        while piece := source.recv(1 << 16):
            sink.sendall(piece)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        for one in (source, sink):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)


def relay(secure, far):
    """Both directions in one thread: Python's TLS connections lose data when two threads read and write at once."""
    with contextlib.suppress(OSError, ssl.SSLError):
        while True:
            for one in [secure] if secure.pending() else select.select([secure, far], [], [], LONG)[0]:
                piece = one.recv(1 << 16)
                if not piece:
                    return
                (far if one is secure else secure).sendall(piece)


class Odd(Listening):
    """Does with each connection what the function does: it gets the connection and the head that came."""

    def __init__(self, act):
        self.act = act
        super().__init__()

    address = property(lambda self: f"http://127.0.0.1:{self.port}")

    def serve(self, connection, number):
        connection.settimeout(LONG)
        head = Reader(connection).until(b"\r\n\r\n")
        self.note(self.arrived, head.split(b" ")[0].decode() if head else "")
        self.act(connection, head)

    def until_gone(self, connection):
        """Waits for the client to go."""
        with contextlib.suppress(OSError):
            while connection.recv(1 << 16):
                pass
        self.note(self.arrived, "gone")


@contextlib.contextmanager
def running(command, port, ready):
    """A program that listens on the port, until this ends."""
    with open(ready, "wb") as said, subprocess.Popen(command, stdout=said, stderr=said) as process:
        try:
            deadline = time.monotonic() + 20
            while True:
                try:
                    socket.create_connection(("127.0.0.1", port), 1).close()
                    break
                except OSError:
                    assert process.poll() is None and time.monotonic() < deadline, open(ready).read()
                    time.sleep(0.02)
            yield
        finally:
            process.terminate()
            process.wait(10)


@contextlib.contextmanager
def tinyproxy(folder, password=None):
    """The address of a tinyproxy on loopback; what it did stands in `tiny.log`."""
    port = free_port()
    lines = [f"Port {port}", "Listen 127.0.0.1", "Timeout 60", f'LogFile "{folder}/tiny.log"', "LogLevel Connect"]
    if password:
        lines.append(f"BasicAuth {USER} {password}")
    (folder / "tiny.conf").write_text("\n".join(lines) + "\n")
    with running(["tinyproxy", "-d", "-c", str(folder / "tiny.conf")], port, folder / "tiny.out"):
        yield f"http://127.0.0.1:{port}"


@contextlib.contextmanager
def microsocks(folder, password=None):
    """The port of a microsocks on loopback; what it did stands in `micro.out`."""
    port = free_port()
    login = ["-u", USER, "-P", password] if password else []
    with running(["microsocks", "-i", "127.0.0.1", "-p", str(port), *login], port, folder / "micro.out"):
        yield port
