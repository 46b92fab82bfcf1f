# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""A public key infrastructure for tests, made with openssl: good certificates, and bad ones."""

import base64
import contextlib
import hashlib
import http.server
import ssl
import subprocess
import threading
import urllib.parse

CA = "basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign,cRLSign\n"
LEAF = "basicConstraints=critical,CA:FALSE\nkeyUsage=critical,digitalSignature,keyEncipherment\n"
SERVER = LEAF + "extendedKeyUsage=serverAuth\n"
LOCAL = "subjectAltName=DNS:localhost,IP:127.0.0.1\n"


class Authority:
    """Files in a folder: NAME.crt, NAME.key, and NAME.pem with the chain that a server sends."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def openssl(self, *words, text=None):
        done = subprocess.run(["openssl", *words], cwd=self.folder, input=text, capture_output=True)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout

    def path(self, name):
        return str(self.folder / name)

    def key(self, name, kind="ec"):
        options = {"ec": ["EC", "-pkeyopt", "ec_paramgen_curve:prime256v1"], "ed25519": ["ED25519"],
                   "pss": ["RSA-PSS", "-pkeyopt", "rsa_keygen_bits:2048"]}
        words = options.get(kind) or ["RSA", "-pkeyopt", f"rsa_keygen_bits:{kind}"]
        self.openssl("genpkey", "-algorithm", *words, "-out", f"{name}.key")

    def issue(self, name, by=None, ext=SERVER + LOCAL, kind="ec", chain=(), begin="20200101000000Z",
              end="20491231235959Z", digest="sha256", subject=None, key=None):
        """A certificate by another one, or by itself."""
        if key is None:
            self.key(name, kind)
        else:
            (self.folder / f"{name}.key").write_bytes((self.folder / f"{key}.key").read_bytes())
        (self.folder / f"{name}.cnf").write_text(
            "[ca]\ndefault_ca=d\n[d]\ndatabase=index\nserial=serial\nnew_certs_dir=.\ndefault_md=sha256\npolicy=p\n"
            "unique_subject=no\nemail_in_dn=no\ndefault_crl_days=3650\ncrlnumber=number\n[p]\n"
            f"organizationName=optional\ncommonName=supplied\n[ext]\n{ext}")
        for file, content in (("index", ""), ("serial", "%016X\n" % abs(hash((str(self.folder), name)))),
                              ("number", "01\n")):
            if file == "serial" or not (self.folder / file).exists():
                (self.folder / file).write_text(content)
        self.openssl("req", "-new", "-key", f"{name}.key", "-out", f"{name}.csr", "-subj", subject or f"/CN={name}")
        signer = ["-keyfile", f"{by}.key", "-cert", f"{by}.crt"] if by else ["-selfsign", "-keyfile", f"{name}.key"]
        self.openssl("ca", "-batch", "-notext", "-config", f"{name}.cnf", "-extensions", "ext", "-in", f"{name}.csr",
                     "-out", f"{name}.crt", "-startdate", begin, "-enddate", end, "-md", digest, *signer)
        texts = [(self.folder / f"{part}.crt").read_text() for part in (name, *chain)]
        (self.folder / f"{name}.pem").write_text("".join(texts))
        return self.path(f"{name}.pem")

    def first_version(self, name, by):
        """A certificate of X.509 version 1, which has no extensions."""
        self.key(name)
        self.openssl("req", "-new", "-key", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
        self.openssl("x509", "-req", "-in", f"{name}.csr", "-CA", f"{by}.crt", "-CAkey", f"{by}.key", "-CAcreateserial",
                     "-days", "30", "-out", f"{name}.crt")

    def text(self, name):
        return (self.folder / name).read_text()

    def pin(self, name):
        """The pin of a certificate's key, as RFC 7469 has it."""
        public = self.openssl("x509", "-in", f"{name}.crt", "-noout", "-pubkey")
        der = self.openssl("pkey", "-pubin", "-outform", "DER", text=public)
        return "sha256/" + base64.b64encode(hashlib.sha256(der).digest()).decode()

    def revoke(self, name, by):
        self.openssl("ca", "-config", f"{name}.cnf", "-keyfile", f"{by}.key", "-cert", f"{by}.crt", "-revoke",
                     f"{name}.crt", "-crl_reason", "keyCompromise")

    def crl(self, by, *options, name=None):
        name = name or f"{by}.crl"
        self.openssl("ca", "-config", f"{by}.cnf", "-gencrl", "-keyfile", f"{by}.key", "-cert", f"{by}.crt", "-out",
                     name, *options)
        return self.path(name)


def usual(folder):
    """A root, an intermediate, and a good server; another root that is not trusted, with a server of its own."""
    made = Authority(folder)
    made.issue("root", ext=CA, subject="/CN=Test Root")
    made.issue("inter", "root", ext=CA.replace("CA:TRUE", "CA:TRUE,pathlen:0"), subject="/CN=Test Intermediate")
    made.issue("good", "inter", chain=["inter"])
    made.issue("evilroot", ext=CA, subject="/CN=Other Root")
    made.issue("untrusted", "evilroot", chain=["evilroot"])
    made.issue("self")
    return made


class Page(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        certificate = self.connection.getpeercert() or {}
        names = dict(pair[0] for pair in certificate.get("subject", ()))
        path, _, location = self.path.partition("?")
        if path == "/held":
            self.server.arrived.set()
            self.server.gate.wait(20)
        body = f"host={self.headers['Host']} client={names.get('commonName', '-')}".encode()
        self.send_response(302 if path == "/to" else 200)
        if path == "/to":
            self.send_header("Location", location)
        if path == "/says":
            self.send_header(*urllib.parse.unquote(location).split(": ", 1))
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    made = None
    # a request for /held was read, and may get its response
    arrived, gate = threading.Event(), threading.Event()

    def get_request(self):
        sock, address = super().get_request()
        return self.made.wrap_socket(sock, server_side=True, do_handshake_on_connect=False), address

    def handle_error(self, *_):
        pass


@contextlib.contextmanager
def serving(authority):
    """Gives a function that starts a server with a certificate, and gives its port."""
    started = []

    def start(name, client=None, low=None, high=None, ciphers=None, names=None):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.set_ciphers((ciphers or "DEFAULT") + ":@SECLEVEL=0")
        context.load_cert_chain(authority.path(f"{name}.pem"), authority.path(f"{name}.key"))
        if low:
            context.minimum_version = low
        if high:
            context.maximum_version = high
        if client:
            context.verify_mode = client
            context.load_verify_locations(authority.path("root.crt"))
        if names is not None:
            context.sni_callback = lambda sock, found, _: names.append(found)
        server = Server(("127.0.0.1", 0), Page)
        server.made = context
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        started.append(server)
        return server.server_port

    try:
        yield start
    finally:
        for server in started:
            server.shutdown()
            server.server_close()
