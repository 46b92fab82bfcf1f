# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""HTTP/2 servers that others wrote, on free ports of the loopback, in front of the tests' origin.

with serving("caddy", folder, certificates, origin) as (secure, plain): base URLs for TLS and for prior knowledge.
"""

import contextlib
import json
import os
import pathlib
import shutil
import socket
import subprocess
import time

from listeners import free_port

MODULES = "/usr/lib/apache2/modules"

NGINX = """
daemon off; master_process off; pid {folder}/pid; error_log stderr; user root;
events {{}}
http {{ access_log off; client_body_temp_path {folder}/b; proxy_temp_path {folder}/p;
  fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s; client_max_body_size 0;
  gzip on; gzip_types *; gzip_min_length 1; gzip_proxied any;
  upstream origin {{ server {origin}; keepalive 64; }}
  server {{ listen 127.0.0.1:{tls} ssl http2; listen 127.0.0.1:{plain} http2; keepalive_requests 200;
    ssl_certificate {certificates}/good.pem; ssl_certificate_key {certificates}/good.key;
    location / {{ proxy_pass http://origin; proxy_http_version 1.1; proxy_set_header Connection ""; }} }} }}
"""

APACHE = """
Listen 127.0.0.1:{tls}
Listen 127.0.0.1:{plain}
ServerName localhost
ServerRoot {folder}
DocumentRoot {folder}
PidFile {folder}/pid
ErrorLog {folder}/errors
DefaultRuntimeDir {folder}
User #65534
Group #65534
Protocols h2 h2c http/1.1
H2Direct on
LimitRequestBody 0
AddOutputFilterByType BROTLI_COMPRESS;DEFLATE text/plain application/json
ProxyPass / http://{origin}/
<VirtualHost 127.0.0.1:{tls}>
SSLEngine on
SSLCertificateFile {certificates}/good.pem
SSLCertificateKeyFile {certificates}/good.key
SSLCACertificateFile {certificates}/ca.pem
<Location /certified>
SSLVerifyClient require
</Location>
</VirtualHost>
"""

HAPROXY = """
global
  maxconn 1000
  ssl-default-bind-options ssl-min-ver TLSv1.2
  tune.h2.max-concurrent-streams 50
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
frontend secure
  bind 127.0.0.1:{tls} ssl crt {folder}/both.pem alpn h2,http/1.1
  http-request early-hint Link "</style.css>; rel=preload" if {{ path /json }}
  default_backend origin
frontend plain
  bind 127.0.0.1:{plain} proto h2
  default_backend origin
frontend dead
  bind 127.0.0.1:{dead} proto h2
  default_backend gone
backend origin
  compression algo gzip
  compression type text/plain application/json
  server origin {origin}
backend gone
  server gone 127.0.0.1:1
"""

H2O = """
listen:
  host: 127.0.0.1
  port: {tls}
  ssl:
    certificate-file: {certificates}/good.pem
    key-file: {certificates}/good.key
    ocsp-update-interval: 0
listen:
  host: 127.0.0.1
  port: {plain}
compress: ON
limit-request-body: 1073741824
user: root
pid-file: {folder}/pid
error-log: {folder}/errors
hosts:
  default:
    paths:
      /:
        proxy.reverse.url: http://{origin}/
"""

# ASGI, in the place of the origin
HYPERCORN = """
import asyncio, gzip, json
TEXT = b"this was compressed with gzip\\n"
async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        while (await receive())["type"] != "lifespan.shutdown":
            await send({"type": "lifespan.startup.complete"})
        return
    body, more = bytearray(), True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    _, name, *rest = scope["path"].split("/")
    status, kind, fields, result = 200, b"text/plain", [], b""
    if name == "json":
        kind, result = b"application/json", b'{"id":1,"x":0.1}'
    elif name == "echo":
        kind, result = b"application/json", json.dumps({"method": scope["method"], "body": body.decode()}).encode()
    elif name == "gzip":
        fields, result = [(b"content-encoding", b"gzip")], gzip.compress(TEXT)
    elif name == "status":
        status = int(rest[0])
    elif name == "bytes":
        left = int(rest[0])
        await send({"type": "http.response.start", "status": 200,
                    "headers": [(b"content-length", str(left).encode())]})
        while left > 0 and scope["method"] != "HEAD":
            piece = (bytes(range(256)) * 256)[:left]
            left -= len(piece)
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        return await send({"type": "http.response.body", "body": b""})
    fields += [(b"content-type", kind)] if result else []
    fields += [(b"content-length", str(len(result)).encode())] if status != 204 else []
    await send({"type": "http.response.start", "status": status, "headers": fields})
    await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else result})
"""


def program(name):
    return shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin")


def nginx(folder, names):
    (folder / "conf").write_text(NGINX.format(**names))
    return ["-c", str(folder / "conf")]


def apache2(folder, names):
    wanted = "mpm_event authn_core authz_core unixd http2 ssl socache_shmcb proxy proxy_http deflate brotli filter"
    lines = [f"LoadModule {name}_module {MODULES}/mod_{name}.so" for name in wanted.split()
             if os.path.exists(f"{MODULES}/mod_{name}.so")]  # fmt: skip
    (folder / "conf").write_text("\n".join(lines) + APACHE.format(**names))
    return ["-f", str(folder / "conf"), "-DFOREGROUND"]


def haproxy(folder, names):
    certificates = pathlib.Path(names["certificates"])
    both = certificates.joinpath("good.pem").read_bytes() + certificates.joinpath("good.key").read_bytes()
    (folder / "both.pem").write_bytes(both)
    (folder / "conf").write_text(HAPROXY.format(**names))
    return ["-db", "-f", str(folder / "conf")]


def caddy(folder, names):
    proxy = {"handler": "reverse_proxy", "upstreams": [{"dial": names["origin"]}]}
    codings = {"encodings": {"zstd": {}, "gzip": {}}, "prefer": ["zstd", "gzip"]}
    encode = {"handler": "encode", **codings, "minimum_length": 1}
    files = [{"certificate": f"{names['certificates']}/good.pem", "key": f"{names['certificates']}/good.key"}]
    server = {"routes": [{"handle": [encode, proxy]}], "automatic_https": {"disable": True}}
    servers = {
        "secure": {**server, "listen": [f"127.0.0.1:{names['tls']}"], "tls_connection_policies": [{}]},
        "plain": {**server, "listen": [f"127.0.0.1:{names['plain']}"], "protocols": ["h1", "h2", "h2c"]},
    }
    conf = {
        "admin": {"disabled": True},
        "storage": {"module": "file_system", "root": str(folder / "storage")},
        "apps": {"http": {"servers": servers}, "tls": {"certificates": {"load_files": files}}},
    }
    (folder / "conf").write_text(json.dumps(conf))
    return ["run", "--config", str(folder / "conf")]


def h2o(folder, names):
    (folder / "conf").write_text(H2O.format(**names))
    return ["-m", "worker", "-c", str(folder / "conf")]


def hypercorn(folder, names):
    (folder / "app.py").write_text(HYPERCORN)
    certificates = names["certificates"]
    return [
        "--certfile", f"{certificates}/good.pem", "--keyfile", f"{certificates}/good.key", "-b",
        f"127.0.0.1:{names['tls']}", "--insecure-bind", f"127.0.0.1:{names['plain']}", "app:app",
    ]  # fmt: skip


KINDS = {one.__name__: one for one in (nginx, apache2, haproxy, caddy, h2o, hypercorn)}


@contextlib.contextmanager
def serving(kind, folder, certificates, origin, names=None):
    """Yields the base URLs for TLS and for prior knowledge."""
    names = names if names is not None else {}
    names |= {"tls": free_port(), "plain": free_port(), "dead": free_port(), "folder": folder}
    names |= {"certificates": certificates, "origin": origin.removeprefix("http://")}
    command = [program(kind), *KINDS[kind](folder, names)]
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    environment = {**os.environ, "HOME": str(folder), "PYTHONPATH": str(folder)}
    with subprocess.Popen(command, cwd=folder, env=environment, **quiet) as process:
        try:
            deadline = time.monotonic() + 20
            for port in (names["tls"], names["plain"]):
                while True:
                    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                        break
                    assert process.poll() is None and time.monotonic() < deadline, f"{kind} did not start"
                    time.sleep(0.02)
            yield f"https://localhost:{names['tls']}", f"http://127.0.0.1:{names['plain']}"
        finally:
            process.terminate()
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
