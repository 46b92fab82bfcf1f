# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Servers on loopback that speak TLS, and the authority that vouches for them; see the fixtures `certificates` and
`listen`."""

import contextlib
import http.server
import ssl
import subprocess
import threading
import urllib.parse

CURVE = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]


def vouch(folder):
    """Puts an authority `ca.pem` there, and what it signed: `good`, for another name, and out of date."""

    def openssl(*words):
        subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)

    openssl("req", "-x509", *CURVE, "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=test authority")
    for name, host, days in (("good", "DNS:localhost,IP:127.0.0.1", 2), ("other", "DNS:elsewhere.test", 2)):
        (folder / f"{name}.ext").write_text(f"subjectAltName={host}\nbasicConstraints=CA:false\n")
        openssl("req", *CURVE, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
        openssl(
            *("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial"),
            *("-days", str(days), "-extfile", f"{name}.ext", "-out", f"{name}.pem"),
        )


class Page(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        path, _, location = self.path.partition("?")
        self.send_response(302 if path == "/to" else 200)
        if path == "/to":
            self.send_header("Location", urllib.parse.unquote(location))
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", "6")
        self.end_headers()
        self.wfile.write(b"secure")

    def log_message(self, *_):
        pass


class Quiet(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass


def context(certificates, name, version=ssl.TLSVersion.TLSv1_3):
    """What a server needs to be one of those."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.maximum_version = version
    made.load_cert_chain(certificates / f"{name}.pem", certificates / f"{name}.key")
    return made


@contextlib.contextmanager
def serving(certificates):
    """Gives a function that starts a server with a certificate, and gives its port; they end with this."""
    started = []

    def start(name, version=ssl.TLSVersion.TLSv1_3, page=Page):
        server = Quiet(("127.0.0.1", 0), page)
        server.socket = context(certificates, name, version).wrap_socket(
            server.socket, server_side=True, do_handshake_on_connect=False
        )
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        started.append(server)
        return server.server_port

    try:
        yield start
    finally:
        for server in started:
            server.shutdown()
            server.server_close()
