# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""An authorization server on loopback that is as strict as the strictest, stalls and errs where it is told to, and
writes down what it was asked.

with Authorizing(grace=10) as server:
    tokens = server.issue()           # as after a login: {"access_token": …, "refresh_token": …, …}
    server.url("/token")              # and /authorize /device /revoke /introspect /api /.well-known/…
    server.audit                      # what came: time, path, grant, outcome, fields of the form, Authorization
    server.outcomes("refresh_token")  # ["ok", "replayed", "reuse", …]

Everything that __init__ takes may be changed later, too.
"""

import base64
import contextlib
import hashlib
import json
import secrets
import socket
import struct
import threading
import time
from typing import NamedTuple, Optional
from urllib.parse import parse_qsl, unquote_plus, urlencode

import pytest
from http_server import Listening
from upload_server import LONG, Reader, Taken

DEVICE = "urn:ietf:params:oauth:grant-type:device_code"


class ReceivedRequest(NamedTuple):
    time: float
    path: str
    grant: Optional[str]
    # "ok", "replayed" (within the grace), "reuse" (the family is dead), "cut", "scripted", or the error of the response
    outcome: str
    form: dict
    authorization: Optional[str]


class Family:
    """The tokens of one login: they live and die together."""

    def __init__(self, scope):
        self.scope, self.is_dead = scope, False
        # refresh tokens: when each was redeemed, None if it was not
        self.refresh, self.access = {}, {}


class Refused(Exception):
    def __init__(self, error, status=400, outcome=None):
        self.error, self.status, self.outcome = error, status, outcome or error


class Authorizing(Listening):
    """Rotates refresh tokens, and kills the family of one that is redeemed twice."""

    def __init__(
        self,
        *,
        client="cli",
        # of a confidential client; it may come as `basic` or `body`
        secret=None,
        rotates=True,
        # seconds for which a redeemed refresh token may come again: its response was lost
        grace=0.0,
        # what `expires_in` says, seconds
        lifetime=3600,
        # where the token endpoint waits until `go` is set: "accept" (reads nothing), "commit" (has read all, decided
        # nothing), "head" (has decided, says nothing), "body" (has said the half of it)
        stall=None,
        # where the token endpoint resets the connection: "commit" (before it), "head" (after it), "body"; a list for as
        # many requests
        cuts=None,
        # seconds between two bytes of the response
        drip=None,
        # changes the response with tokens: takes its dictionary, returns another one, or bytes
        odd=None,
        # for the next requests to the token endpoint, in place of responses: (status, fields, body)
        script=(),
        # further members of the response to an authorization code, made of its request
        id_token=None,
        # seconds between polls, and what the next polls get; approved when there are no more
        interval=5,
        polls=(),
        # in place of a code: error=
        denies=None,
        says_issuer=True,
        # changes the discovery document
        metadata=None,
    ):
        self.client, self.secret, self.rotates, self.grace, self.lifetime = client, secret, rotates, grace, lifetime
        self.stall, self.cuts, self.drip, self.odd, self.script = stall, cuts, drip, odd, list(script)
        self.id_token, self.interval, self.polls, self.denies = id_token, interval, list(polls), denies
        self.says_issuer, self.metadata = says_issuer, metadata
        self.audit, self.families, self.codes, self.devices = [], [], {}, {}
        self.lock, self.go = threading.Lock(), threading.Event()
        super().__init__()

    def __exit__(self, *raised):
        self.go.set()
        super().__exit__(*raised)

    @property
    def issuer(self):
        return self.url("")

    def issue(self, scope="read"):
        """The tokens of a new login."""
        with self.lock:
            family = Family(scope)
            self.families.append(family)
            return self.tokens(family)

    def expire(self):
        """No access token that was given is good any more."""
        with self.lock:
            for family in self.families:
                family.access = dict.fromkeys(family.access, 0.0)

    def revoke_all(self):
        with self.lock:
            for family in self.families:
                family.is_dead = True

    def is_good(self, access_token):
        with self.lock:
            return self.family_of_access(access_token) is not None

    def outcomes(self, grant="refresh_token"):
        return [one.outcome for one in self.audit if one.grant == grant]

    def received(self, path, seconds=30.0, count=1):
        """The latest request that was decided upon; waits for it."""
        with self.changed:
            assert self.changed.wait_for(lambda: sum(one.path == path for one in self.audit) >= count, seconds), path
            return [one for one in self.audit if one.path == path][-1]

    # Connections

    def serve(self, connection, number):
        connection.settimeout(LONG)
        if self.stall == "accept":
            self.go.wait(LONG)
        reader = Reader(connection)
        while head := reader.until(b"\r\n\r\n"):
            request = Taken(head, number)
            request.body = reader.exactly(int(request.field("content-length") or 0))
            path, _, request.query = request.path.partition("?")
            self.note(self.arrived, path)
            request.form = dict(parse_qsl(request.body.decode("latin-1"), keep_blank_values=True))
            if not self.respond(connection, path, request):
                break

    def respond(self, connection, path, request):
        is_token = path == "/token"
        if is_token:
            cut = (self.cuts.pop(0) if self.cuts else None) if isinstance(self.cuts, list) else self.cuts
            self.wait_at("commit")
            if cut == "commit":
                self.log(path, request, "cut")
                return self.reset(connection)
        status, fields, body = self.decided(path, request)
        fields = {"Content-Length": str(len(body)), **fields}
        head = f"HTTP/1.1 {status} X\r\n" + "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        whole = head.encode() + b"\r\n" + body
        middle = len(whole) - len(body) // 2
        for stage, piece in (("head", whole[:middle]), ("body", whole[middle:])):
            if is_token:
                self.wait_at(stage)
                if cut == stage:
                    return self.reset(connection)
            self.say(connection, piece, is_token and self.drip)
        return True

    def say(self, connection, piece, pause):
        if not pause:
            return connection.sendall(piece)
        for byte in piece:
            connection.sendall(bytes([byte]))
            if self.ended.wait(pause):
                return None
        return None

    def wait_at(self, stage):
        if self.stall == stage:
            self.go.wait(LONG)

    @staticmethod
    def reset(connection):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        return False

    def decided(self, path, request):
        """Status, fields and body."""
        with self.lock:
            if path == "/token" and self.script:
                self.log(path, request, "scripted")
                status, fields, body = self.script.pop(0)
                return status, dict(fields), body if isinstance(body, bytes) else json.dumps(body).encode()
            name = "well_known" if path.startswith("/.well-known/") else path[1:]
            try:
                outcome, status, fields, response = getattr(self, "at_" + name, self.at_nowhere)(request)
            except Refused as refused:
                outcome, status, fields, response = refused.outcome, refused.status, {}, {"error": refused.error}
            self.log(path, request, outcome)
        body = response if isinstance(response, bytes) else json.dumps(response).encode()
        return status, {"Content-Type": "application/json", "Cache-Control": "no-store", **fields}, body

    def log(self, path, request, outcome):
        now = ReceivedRequest(time.monotonic(), path, request.form.get("grant_type"), outcome, request.form,
                    request.field("authorization"))
        self.note(self.audit, now)

    # Endpoints

    def at_nowhere(self, request):
        raise Refused("not_found", 404)

    def at_token(self, request):
        self.check_client(request)
        grants = {
            "refresh_token": self.refresh, "authorization_code": self.redeem, DEVICE: self.poll,
            "client_credentials": self.start, "urn:ietf:params:oauth:grant-type:jwt-bearer": self.start,
        }
        grant = grants.get(request.form.get("grant_type"))
        if grant is None:
            raise Refused("unsupported_grant_type")
        outcome, response = grant(request.form)
        return outcome, 200, {}, self.odd(response) if self.odd else response

    def check_client(self, request):
        form, authorization = request.form, request.field("authorization")
        if authorization and authorization.startswith("Basic "):
            name, _, secret = base64.b64decode(authorization[6:]).decode().partition(":")
            given = unquote_plus(name), unquote_plus(secret)
        else:
            given = form.get("client_id"), form.get("client_secret")
        if "client_assertion" in form and self.secret is None:
            return
        if given != (self.client, self.secret):
            raise Refused("invalid_client", 401)

    def start(self, form):
        family = Family(form.get("scope", "read"))
        self.families.append(family)
        return "ok", self.tokens(family, refreshes=False)

    def refresh(self, form):
        token = form.get("refresh_token")
        family = next((family for family in self.families if token in family.refresh), None)
        if family is None or family.is_dead:
            raise Refused("invalid_grant")
        used = family.refresh[token]
        if used is not None and time.monotonic() - used > self.grace:
            family.is_dead = True
            raise Refused("invalid_grant", outcome="reuse")
        if self.rotates and used is None:
            family.refresh[token] = time.monotonic()
        return "ok" if used is None else "replayed", self.tokens(family, refreshes=self.rotates)

    def redeem(self, form):
        parameters = self.codes.pop(form.get("code"), None)
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if parameters is None or parameters["code_challenge"] != challenge:
            raise Refused("invalid_grant")
        if parameters["redirect_uri"] != form.get("redirect_uri"):
            raise Refused("invalid_grant")
        family = Family(parameters.get("scope", "read"))
        self.families.append(family)
        more = {"id_token": self.id_token(parameters)} if self.id_token else {}
        return "ok", {**self.tokens(family), **more}

    def poll(self, form):
        if form.get("device_code") not in self.devices:
            raise Refused("expired_token")
        if self.polls and (error := self.polls.pop(0)):
            raise Refused(error)
        family = Family(self.devices.pop(form["device_code"]))
        self.families.append(family)
        return "ok", self.tokens(family)

    def tokens(self, family, refreshes=True):
        access = "at-" + secrets.token_hex(16)
        family.access[access] = time.monotonic() + self.lifetime
        response = {"access_token": access, "token_type": "Bearer", "expires_in": self.lifetime, "scope": family.scope}
        if refreshes:
            response["refresh_token"] = "rt-" + secrets.token_hex(16)
            family.refresh[response["refresh_token"]] = None
        return response

    def at_authorize(self, request):
        parameters = dict(parse_qsl(request.query))
        response = {"state": parameters["state"]} if "state" in parameters else {}
        if self.says_issuer:
            response["iss"] = self.issuer
        if self.denies:
            response["error"] = self.denies
        else:
            response["code"] = "code-" + secrets.token_hex(16)
            self.codes[response["code"]] = parameters
        mark = "&" if "?" in parameters["redirect_uri"] else "?"
        return "ok", 302, {"Location": parameters["redirect_uri"] + mark + urlencode(response)}, b""

    def at_device(self, request):
        code = "device-" + secrets.token_hex(16)
        self.devices[code] = request.form.get("scope", "read")
        return "ok", 200, {}, {
            "device_code": code, "user_code": "WDJB-MJHT", "verification_uri": self.url("/activate"),
            "verification_uri_complete": self.url("/activate?user_code=WDJB-MJHT"),
            "expires_in": 600, "interval": self.interval,
        }

    def at_revoke(self, request):
        self.check_client(request)
        token = request.form.get("token")
        for family in self.families:
            if token in family.refresh:
                family.is_dead = True
            family.access.pop(token, None)
        return "ok", 200, {}, b""

    def at_introspect(self, request):
        self.check_client(request)
        family = self.family_of_access(request.form.get("token"))
        return "ok", 200, {}, {"active": True, "scope": family.scope} if family else {"active": False}

    def at_api(self, request):
        """What the tokens are for."""
        scheme, _, token = (request.field("authorization") or "").partition(" ")
        if scheme == "Bearer" and self.family_of_access(token):
            return "ok", 200, {}, {"hello": "world"}
        return "invalid_token", 401, {"WWW-Authenticate": 'Bearer error="invalid_token"'}, b""

    def at_well_known(self, request):
        names = {"token": "token", "authorization": "authorize", "device_authorization": "device",
                 "revocation": "revoke", "introspection": "introspect"}
        document = {name + "_endpoint": self.url("/" + path) for name, path in names.items()}
        document.update(issuer=self.issuer, response_types_supported=["code"],
                        code_challenge_methods_supported=["S256"],
                        authorization_response_iss_parameter_supported=self.says_issuer)
        return "ok", 200, {}, self.metadata(document) if self.metadata else document

    def family_of_access(self, token):
        for family in self.families:
            with contextlib.suppress(KeyError):
                return family if family.access[token] > time.monotonic() and not family.is_dead else None
        return None


def served(**settings):
    """A fixture: such a server for each test.

    server = served(grace=10)
    """

    @pytest.fixture
    def server():
        with Authorizing(**settings) as server:
            yield server

    return server


def is_alive(family):
    """Whether a client could still get or use tokens of this login."""
    return not family.is_dead and bool(family.refresh or family.access)
