# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""A server on loopback that lets only Ada in, and is as strict about it as RFC 7616 permits.

with Guard(algorithm="SHA-256", lives=3) as guard:
    guard.url("/vault")       # needs a password; "/open" needs none, "/to?URL" leads to that URL
    guard.visits              # what came: path, what Authorization said (or None), status
    guard.faults              # what no client may do: a count that was used before, another uri, …
"""

import base64
import contextlib
import hashlib
import re
import threading
from typing import NamedTuple, Optional
from urllib.parse import unquote

from request_client import result
from upload_server import LONG, Reader, Taken, Taker

USER, PASSWORD = "ada", "s3cret"
ADA = {"username": USER, "password": PASSWORD}
BASIC = 'Basic realm="the vault", charset="UTF-8"'
BODY = b"come in\n"
HASHES = {
    "MD5": hashlib.md5,
    "SHA-256": hashlib.sha256,
    "SHA-512-256": lambda data: hashlib.new("sha512_256", data),
    "SHA-512": hashlib.sha512,
}


class Visit(NamedTuple):
    path: str
    said: Optional[dict]
    status: int


class Guard(Taker):
    """Asks for Digest, or for what `challenges` says."""

    def __init__(
        self,
        algorithm="MD5",
        qop="auth",
        *,
        user=USER,
        password=PASSWORD,
        realm="the vault",
        # further parameters of the challenge
        more="",
        # WWW-Authenticate, in place of a challenge of Digest
        challenges=None,
        # how often a nonce may be used; says so when it has expired, or does not
        lives=None,
        says_stale=True,
        # names another nonce with each response
        renews=False,
        # `rspauth`: "right", "wrong", or none
        proof=None,
        # refuses before it has read the body
        early=False,
    ):
        self.name, self.session = algorithm.removesuffix("-sess"), algorithm.endswith("-sess")
        self.algorithm, self.qop, self.user, self.password, self.realm = algorithm, qop, user, password, realm
        self.more, self.challenges, self.lives, self.says_stale = more, challenges, lives, says_stale
        self.renews, self.proof, self.early = renews, proof, early
        self.nonces, self.visits, self.faults, self.lock = {}, [], [], threading.Lock()
        super().__init__()

    @property
    def statuses(self):
        return [visit.status for visit in self.visits]

    def serve(self, connection, number):
        connection.settimeout(LONG)
        reader = Reader(connection)
        while head := reader.until(b"\r\n\r\n"):
            request = Taken(head, number)
            self.note(self.arrived, request.path)
            hasty = (self.early or request.field("expect")) and not request.field("authorization")
            if not hasty:
                if request.field("expect"):
                    connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
                self.take(reader, request)
            status, fields = self.judge(request)
            lines = "".join(f"{name}: {value}\r\n" for name, value in fields)
            is_empty = request.method == "HEAD" or status == 304
            body = b"" if is_empty else (BODY if status == 200 else b"who asks?\n")
            length = f"Content-Length: {len(body)}\r\n" + ("Connection: close\r\n" if self.early else "")
            connection.sendall(f"HTTP/1.1 {status} X\r\n{lines}{length}\r\n".encode() + body)
            if hasty:
                # what was on its way is thrown away; the client is to close
                with contextlib.suppress(OSError, EOFError):
                    while True:
                        reader.some(1 << 18)
                break

    def judge(self, request):
        """The status and the fields of the response."""
        path, _, argument = request.path.partition("?")
        said = None
        with self.lock:
            if path == "/open":
                status, fields = 200, []
            elif path == "/to":
                status, fields = 302, [("Location", unquote(argument))]
            elif (field := request.field("authorization")) is None:
                status, fields = self.refusal()
            else:
                said = parsed(field)
                status, fields = self.verdict(said, request)
            self.visits.append(Visit(request.path, said, status))
        return status, fields

    def refusal(self, stale=False):
        if self.challenges is not None:
            return 401, [("WWW-Authenticate", value) for value in self.challenges]
        parts = [f'realm="{self.realm}"', f'nonce="{self.nonce()}"', 'opaque="a\\"b"', self.more]
        parts.append(f"algorithm={self.algorithm}" if self.algorithm != "MD5" else "")
        parts.append(f'qop="{self.qop}"' if self.qop else "")
        parts.append("stale=TRUE" if stale else "")
        return 401, [("WWW-Authenticate", "Digest " + ", ".join(part for part in parts if part))]

    def nonce(self):
        fresh = hashlib.md5(b"%d" % len(self.nonces)).hexdigest() + "/+=="
        self.nonces[fresh] = set()
        return fresh

    def verdict(self, said, request):
        if said["scheme"] != "Digest":
            token = base64.b64encode(f"{self.user}:{self.password}".encode()).decode()
            wanted = any("Basic" in value for value in self.challenges or [])
            right = said["scheme"] == "Basic" and said["token"] == token
            return (200, []) if right and wanted else self.refusal()
        uses = self.nonces.get(said["nonce"])
        if not self.is_right(said, request.method + ":" + request.path, request.body):
            return self.refusal()
        if said["uri"] != request.path or said.get("opaque") != 'a"b':
            self.faults.append(f"another uri or opaque: {said}")
        if uses is None or (self.lives is not None and len(uses) >= self.lives):
            return self.refusal(stale=self.says_stale)
        if self.qop and said["nc"] in uses:
            self.faults.append(f"the count {said['nc']} was used before")
        uses.add(said.get("nc", len(uses)))
        return 200, self.info(said)

    def is_right(self, said, subject, body):
        hashed_name = self.hash(f"{self.user}:{self.realm}")
        name = hashed_name if "userhash=true" in self.more else self.user
        given = said.get("username") or unquote(said.get("username*", "").partition("''")[2])
        return given == name and said["realm"] == self.realm and said["response"] == self.proven(said, subject, body)

    def proven(self, said, subject, body):
        secret = self.hash(f"{self.user}:{self.realm}:{self.password}")
        if self.session:
            secret = self.hash(f"{secret}:{said['nonce']}:{said['cnonce']}")
        if not self.qop:
            return self.hash(f"{secret}:{said['nonce']}:{self.hash(subject)}")
        if said["qop"] == "auth-int":
            subject += ":" + self.hash(body)
        assert said["qop"] in self.qop and re.fullmatch("[0-9a-f]{8}", said["nc"]) and said["cnonce"]
        middle = ":".join(said[name] for name in ("nonce", "nc", "cnonce", "qop"))
        return self.hash(f"{secret}:{middle}:{self.hash(subject)}")

    def info(self, said):
        parts = []
        if self.renews:
            parts.append(f'nextnonce="{self.nonce()}"')
        if self.proof:
            proof = self.proven(said, ":" + said["uri"], BODY)
            parts.append(f'rspauth="{proof if self.proof == "right" else proof[::-1]}"')
            parts.append(f'qop={said["qop"]}, nc={said["nc"]}, cnonce="{said["cnonce"]}"')
        return [("Authentication-Info", ", ".join(parts))] if parts else []

    def hash(self, data):
        data = data.encode() if isinstance(data, str) else data
        return HASHES[self.name](data).hexdigest()


def parsed(field):
    """The scheme, and its parameters without their quotes or its token."""
    scheme, _, rest = field.partition(" ")
    if scheme != "Digest":
        return {"scheme": scheme, "token": rest}
    found = re.findall(r'([\w*]+)=(?:"((?:[^"\\]|\\.)*)"|([^,\s]*))', rest)
    return {"scheme": scheme, **{name: re.sub(r"\\(.)", r"\1", quoted) or bare for name, quoted, bare in found}}


def counts(guard):
    """For each nonce that was used, its counts."""
    used = {}
    for visit in guard.visits:
        if visit.said and "nonce" in visit.said:
            used.setdefault(visit.said["nonce"], []).append(int(visit.said.get("nc", "0"), 16))
    return list(used.values())


def session(wire, *places, **more):
    """A session that knows Ada's password for the places."""
    credentials = [{"url": place, **ADA} for place in places]
    return result(wire.call("session.create", {"credentials": credentials, **more}))["session"]


def waiting(wire, url, **more):
    """A request that is made, and not sent before `finished`."""
    return result(wire.call("data.start", {"url": url, "startImmediately": False, **more}))["request"]


def finished(wire, request):
    wire.call("request.resume", {"request": request})
    return result(wire.call("request.wait", {"request": request}))
