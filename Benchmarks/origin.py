# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The origin of the benchmark: nginx on loopback with TLS, a private CA, and a proxy that adds a round-trip time."""
import asyncio
import contextlib
import os
import selectors
import shutil
import socket
import ssl
import statistics
import subprocess
import sys
import threading
import time

CONF = """
daemon off; master_process off; pid {dir}/nginx.pid; error_log stderr crit;
worker_rlimit_nofile 8192;
events {{ worker_connections 4096; }}
http {{
  access_log off; keepalive_requests 10000000; keepalive_timeout 300s;
  client_body_temp_path {dir}/body; proxy_temp_path {dir}/proxy; fastcgi_temp_path {dir}/fcgi;
  uwsgi_temp_path {dir}/uwsgi; scgi_temp_path {dir}/scgi;
  default_type application/json;
  server {{
    listen 127.0.0.1:{http}; listen 127.0.0.1:{https} ssl; server_name localhost;
    ssl_certificate {dir}/leaf.pem; ssl_certificate_key {dir}/leaf.key; ssl_protocols TLSv1.3;
    {places}
    location / {{ root {dir}/www; }}
  }}
}}
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def certificates(folder):
    """A CA and a leaf for localhost and 127.0.0.1, made by openssl."""

    def openssl(*args):
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        subprocess.run(("openssl",) + args, cwd=folder, check=True, **quiet)

    curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    openssl("req", "-x509", *curve, "-keyout", "ca.key", "-out", "ca.pem", "-days", "30", "-subj", "/CN=bench CA",
            "-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign")
    openssl("req", *curve, "-keyout", "leaf.key", "-out", "leaf.csr", "-subj", "/CN=localhost")
    with open(os.path.join(folder, "ext"), "w") as ext:
        ext.write("subjectAltName=DNS:localhost,IP:127.0.0.1\nbasicConstraints=CA:FALSE\nextendedKeyUsage=serverAuth\n")
    openssl("x509", "-req", "-in", "leaf.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial",
            "-out", "leaf.pem", "-days", "20", "-extfile", "ext")


@contextlib.contextmanager
def nginx(folder, places=""):
    """Yields (http port, https port, path of the CA). `places` are further locations."""
    if not shutil.which("nginx"):
        raise SystemExit("nginx is missing: apt-get install nginx-light")
    certificates(folder)
    os.makedirs(os.path.join(folder, "www"), exist_ok=True)
    with open(os.path.join(folder, "www", "1k.json"), "w") as body:
        body.write('{"id":1,"pad":"' + "x" * 1000 + '"}')
    http, https = free_port(), free_port()
    with open(os.path.join(folder, "nginx.conf"), "w") as conf:
        conf.write(CONF.format(dir=folder, http=http, https=https, places=places))
    process = subprocess.Popen(["nginx", "-p", folder, "-c", os.path.join(folder, "nginx.conf")])
    try:
        wait_for(https)
        yield http, https, os.path.join(folder, "ca.pem")
    finally:
        process.terminate()
        process.wait()


def wait_for(port, seconds=10):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.02)
    raise SystemExit("nothing listens on port %d" % port)


class DelayProxy:
    """Hands bytes on after half the round-trip time, in both directions, in a process of its own.

    A new connection costs one round trip, too. What the proxy itself takes, about a millisecond, is measured first, and
    is part of that time.
    """

    def __init__(self, target, round_trip):
        with echo() as port:
            self.start(port, round_trip)
            excess = self.measured() - round_trip
            self.stop()
            self.start(port, round_trip - excess)
            self.round_trip = self.measured()
            self.stop()
        self.start(target, round_trip - excess)

    def start(self, target, round_trip):
        self.port = free_port()
        command = (sys.executable, os.path.abspath(__file__), str(self.port), str(target), str(round_trip))
        self.process = subprocess.Popen(command)
        wait_for(self.port)

    def measured(self):
        """Seconds for one byte to come back: the median of 30."""
        with socket.create_connection(("127.0.0.1", self.port)) as stream:
            times = []
            for _ in range(30):
                began = time.perf_counter()
                stream.sendall(b"x")
                stream.recv(1)
                times.append(time.perf_counter() - began)
        return statistics.median(times)

    def stop(self):
        self.process.kill()
        self.process.wait()


@contextlib.contextmanager
def echo():
    """A server that sends back what it gets, one connection after the other; its port."""
    def serve():
        with contextlib.suppress(OSError):
            while True:
                stream, _ = listener.accept()
                with stream, contextlib.suppress(OSError):
                    while data := stream.recv(100):
                        stream.sendall(data)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, daemon=True).start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)


async def delay(port, target, round_trip):
    loop = asyncio.get_running_loop()

    def forward(writer, data):
        with contextlib.suppress(OSError, RuntimeError):
            writer.write(data) if data else writer.close()

    async def pump(reader, writer):
        data = b" "
        while data:
            try:
                data = await reader.read(65536)
            except ConnectionError:
                data = b""
            loop.call_later(round_trip / 2, forward, writer, data)

    async def serve(reader, writer):
        await asyncio.sleep(round_trip)
        up_reader, up_writer = await asyncio.open_connection("127.0.0.1", target)
        await asyncio.gather(pump(reader, up_writer), pump(up_reader, writer))

    async with await asyncio.start_server(serve, "127.0.0.1", port) as server:
        await server.serve_forever()


def context(ca):
    return ssl.create_default_context(cafile=ca)


if __name__ == "__main__":
    # epoll waits for whole milliseconds
    loop = asyncio.SelectorEventLoop(selectors.SelectSelector())
    loop.run_until_complete(delay(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])))


SINK = """
import socket, sys
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
block = memoryview(bytearray(1 << 20))
while True:
    connection, _ = listener.accept()
    with connection:
        data = b""
        while b"\\r\\n\\r\\n" not in data:
            data += connection.recv(4096) or sys.exit("the client went away")
        head, rest = data.split(b"\\r\\n\\r\\n", 1)
        lengths = [int(l[15:]) for l in head.split(b"\\r\\n") if l.lower().startswith(b"content-length:")]
        left = lengths[0] - len(rest)
        while left:
            left -= connection.recv_into(block) or sys.exit("the client went away")
        text = b"%d" % lengths[0]
        reply = b"HTTP/1.1 200 OK\\r\\nConnection: close\\r\\nContent-Length: %d\\r\\n\\r\\n"
        connection.sendall(reply % len(text) + text)
"""


class Sink:
    """A server that reads bodies as fast as it can, one connection after the other, and responds with their length."""

    def __init__(self):
        self.process = subprocess.Popen((sys.executable, "-c", SINK), stdout=subprocess.PIPE, text=True)
        self.url = "http://127.0.0.1:%d/" % int(self.process.stdout.readline())

    def stop(self):
        self.process.terminate()
        self.process.wait()
