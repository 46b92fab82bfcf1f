# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Authorization servers of other authors, on loopback: Glewlwyd, and oidc-provider-mock.

with glewlwyd() as provider:
    provider.issuer, provider.client, provider.secret
    provider.approve(url)             # what a person does in a browser: where he is sent back to
    provider.browser()                # the same as a line of shell, for the URL in $1, to the end
    with Once(provider) as resource:  # takes each token once, and asks the server whose it is
        resource.url("/me"), resource.tokens
"""

import base64
import contextlib
import gzip
import http.cookiejar
import json
import pathlib
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

import pytest
from http_server import Listening
from listeners import free_port
from shell import LONG
from upload_server import Reader, Taken

SQL = pathlib.Path("/usr/share/doc/glewlwyd/database/init.sqlite3.sql.gz")
MODULES = "/usr/lib/glewlwyd"
CURL = "curl --noproxy '*' --silent --location --output /dev/null"


class Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


class Browser:
    """Keeps cookies, and goes nowhere by itself."""

    def __init__(self):
        self.jar = http.cookiejar.CookieJar(http.cookiejar.DefaultCookiePolicy(strict_domain=False))
        self.opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), Stay(), urllib.request.HTTPCookieProcessor(self.jar))

    def request(self, method, url, *, form=None, data=None, wanted=(200, 201, 204)):
        """The fields and the body of the response, whose status is among `wanted`."""
        fields, body = {}, None
        if data is not None:
            fields, body = {"Content-Type": "application/json"}, json.dumps(data).encode()
        if form is not None:
            body = urllib.parse.urlencode(form).encode()
        request = urllib.request.Request(url, data=body, headers=fields, method=method)
        try:
            with self.opener.open(request, timeout=LONG) as response:
                status, fields, body = response.status, response.headers, response.read()
        except urllib.error.HTTPError as response:
            status, fields, body = response.code, response.headers, response.read()
        assert status in wanted, (method, url, status, body[:500])
        return fields, body


@contextlib.contextmanager
def running(command, port, log):
    """Until something listens on the port; ended afterwards."""
    with open(log, "wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output)
    try:
        deadline = time.monotonic() + LONG
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            assert process.poll() is None and time.monotonic() < deadline, pathlib.Path(log).read_text()
            time.sleep(0.02)
        yield
    finally:
        process.terminate()
        process.wait(LONG)


class Provider:
    """A running server, with a client of each kind, and a person that says yes."""

    client, secret, public = "app", "secret", "cli"
    redirect = "http://127.0.0.1:1/callback"
    # where a listener of ours must be, if not anywhere
    listen = None

    def __init__(self, base, issuer):
        self.base, self.issuer, self.person = base, issuer, Browser()

    def whose(self, token):
        """What the server says of the person who gave the token, in a line; None if it is good no longer."""
        request = urllib.request.Request(self.userinfo, headers={"Authorization": f"Bearer {token}"})
        try:
            with self.person.opener.open(request, timeout=LONG) as response:
                return json.dumps(json.load(response)).encode()
        except urllib.error.HTTPError as response:
            # the mock responds 400 to an ended token
            assert response.code in (400, 401), response.code
            return None


class Once(Listening):
    """A resource that takes each token once, and responds with what the provider says of it, or what `look_up` does."""

    def __init__(self, provider, look_up=None):
        self.look_up, self.tokens = look_up or provider.whose, []
        super().__init__()

    def serve(self, connection, number):
        connection.settimeout(LONG)
        reader = Reader(connection)
        while head := reader.until(b"\r\n\r\n"):
            request = Taken(head, number)
            scheme, _, token = (request.field("authorization") or "").partition(" ")
            body = None
            if scheme.lower() == "bearer" and token not in self.tokens:
                body = self.look_up(token)
            if body is not None:
                self.tokens.append(token)
            status = "401 X\r\nWWW-Authenticate: Bearer error=\"invalid_token\"" if body is None else "200 X"
            connection.sendall(f"HTTP/1.1 {status}\r\nContent-Length: {len(body or b'')}\r\n\r\n".encode())
            connection.sendall(body or b"")
            self.note(self.arrived, request.path)


class Glewlwyd(Provider):
    scope = "read"

    def __init__(self, base, issuer, database):
        super().__init__(base, issuer)
        self.userinfo, self.database = issuer + "/userinfo", database
        # it knows whole addresses only
        self.listen = {"port": free_port(), "path": "/callback"}
        self.listener = f"http://127.0.0.1:{self.listen['port']}/callback"

    def prepare(self, lifetime):
        admin, api = Browser(), self.base + "/api"
        admin.request("POST", api + "/auth/", data={"username": "admin", "password": "password"})
        key = subprocess.run(["openssl", "genrsa", "2048"], capture_output=True, check=True).stdout
        public = subprocess.run(["openssl", "rsa", "-pubout"], input=key, capture_output=True, check=True).stdout
        admin.request("POST", api + "/mod/plugin/", data={
            "module": "oidc", "name": "oidc", "display_name": "oidc", "parameters": {
                "iss": self.issuer, "jwt-type": "rsa", "jwt-key-size": "256", "key": key.decode(),
                "cert": public.decode(), "access-token-duration": lifetime, "refresh-token-duration": 86400,
                "code-duration": 600, "refresh-token-rolling": False, "refresh-token-one-use": "always",
                "allow-non-oidc": True, "auth-type-code-enabled": True, "auth-type-code-revoke-replayed": True,
                "auth-type-client-enabled": True, "auth-type-refresh-enabled": True, "auth-type-device-enabled": True,
                "device-authorization-expiration": 600, "device-authorization-interval": 1, "pkce-allowed": True,
                "pkce-method-plain-allowed": False, "introspection-revocation-allowed": True,
                "introspection-revocation-allow-target-client": True, "jwks-show": True, "subject-type": "public",
            }})
        for scope in ("read", "write"):
            admin.request("POST", api + "/scope/", data={
                "name": scope, "display_name": scope, "description": scope, "password_required": False,
                "password_max_age": 0, "scheme": {}})
        admin.request("POST", api + "/user/", data={
            "username": "alice", "name": "Alice", "password": "wonderland", "email": "alice@example.test",
            "enabled": True, "scope": ["openid", "read", "write", "g_profile"]})
        grants = ["code", "client_credentials", "refresh_token", "device_authorization", "delete_token"]
        for client, secret in ((self.client, self.secret), (self.public, None)):
            methods = ["client_secret_basic", "client_secret_post"] if secret else ["none"]
            proof = {"client_secret": secret} if secret else {}
            admin.request("POST", api + "/client/", data={
                "client_id": client, "name": client, "confidential": bool(secret), "enabled": True, **proof,
                "redirect_uri": [self.redirect, self.listener], "authorization_type": grants,
                "scope": ["read", "write"], "token_endpoint_auth_method": methods})
        self.person.request("POST", api + "/auth/", data={"username": "alice", "password": "wonderland"})
        for client in (self.client, self.public):
            self.person.request("PUT", f"{api}/auth/grant/{client}", data={"scope": "openid read write"})

    def approve(self, url):
        fields, _ = self.person.request("GET", url + "&g_continue", wanted=(302,))
        return fields["Location"]

    def browser(self):
        (session,) = [one for one in self.person.jar if one.name == "SID"]
        return f"exec {CURL} --cookie 'SID={session.value}' \"$1&g_continue\""

    def chain(self):
        """Of the last login, whether each refresh token is good, in their order, as the server has them."""
        with contextlib.closing(sqlite3.connect(self.database, timeout=LONG)) as database:
            last = "SELECT gpor_jti FROM gpo_refresh_token ORDER BY gpor_id DESC LIMIT 1"
            rows = database.execute(
                f"SELECT gpor_enabled FROM gpo_refresh_token WHERE gpor_jti = ({last}) ORDER BY gpor_id")
            return [bool(enabled) for (enabled,) in rows]

    def approve_device(self, code):
        query = urllib.parse.urlencode({"code": code, "g_continue": ""})
        fields, body = self.person.request("GET", f"{self.base}/api/oidc/device?{query}", wanted=(302,))
        assert "deviceServerError" not in fields["Location"], body

    def is_active(self, token):
        """What a resource server would ask."""
        pair = urllib.parse.quote_plus(self.client) + ":" + urllib.parse.quote_plus(self.secret)
        request = urllib.request.Request(
            f"{self.issuer}/introspect", data=urllib.parse.urlencode({"token": token}).encode(),
            headers={"Authorization": "Basic " + base64.b64encode(pair.encode()).decode()})
        with self.person.opener.open(request, timeout=LONG) as response:
            return json.load(response)["active"]


@contextlib.contextmanager
def glewlwyd(lifetime=3600):
    """A C program of Debian: authorization codes, devices, client credentials, rotation, revocation, introspection."""
    if not (shutil.which("glewlwyd") and SQL.exists()):
        pytest.skip("glewlwyd is not here; scripts/setup --test installs it")
    port = free_port()
    with tempfile.TemporaryDirectory() as place:
        database = sqlite3.connect(f"{place}/db")
        with contextlib.closing(database):
            database.executescript(gzip.open(SQL, "rt").read())
        provider = Glewlwyd(f"http://127.0.0.1:{port}", f"http://127.0.0.1:{port}/api/oidc", f"{place}/db")
        settings = {
            "port": port, "bind_address": "127.0.0.1", "external_url": provider.base, "login_url": "login.html",
            "api_prefix": "api", "static_files_path": "/usr/share/glewlwyd/webapp/", "log_mode": "console",
            "log_level": "ERROR", "cookie_secure": False, "session_expiration": 86400, "session_key": "SID",
            "admin_scope": "g_admin", "profile_scope": "g_profile", "hash_algorithm": "SHA512",
            "user_module_path": MODULES + "/user", "client_module_path": MODULES + "/client",
            "user_auth_scheme_module_path": MODULES + "/scheme", "plugin_module_path": MODULES + "/plugin",
            "user_middleware_module_path": MODULES + "/user_middleware",
        }
        lines = [f"{name}={json.dumps(value)}" for name, value in settings.items()]
        lines.append(f'database = {{ type = "sqlite3"; path = "{place}/db"; }};')
        pathlib.Path(place, "conf").write_text("\n".join(lines) + "\n")
        with running(["glewlwyd", f"--config-file={place}/conf"], port, f"{place}/log"):
            provider.prepare(lifetime)
            yield provider


class Mock(Provider):
    scope = "openid email"

    def __init__(self, base):
        super().__init__(base, base)
        self.userinfo = base + "/userinfo"

    def browser(self):
        return f'exec {CURL} --data sub=alice "$1"'

    def approve(self, url):
        fields, _ = self.person.request("POST", url, form={"sub": "alice"}, wanted=(302,))
        return fields["Location"]


@contextlib.contextmanager
def oidc_mock(lifetime=3600):
    """A Python program: any client, authorization codes with ID tokens, refresh."""
    pytest.importorskip("oidc_provider_mock", reason="oidc-provider-mock is not here; scripts/setup --test installs it")
    port = free_port()
    program = pathlib.Path(sys.executable).with_name("oidc-provider-mock")
    command = [sys.executable, str(program), "--host", "127.0.0.1", "--port", str(port)]
    command += ["--token-max-age", str(lifetime)]
    with tempfile.TemporaryDirectory() as place, running(command, port, f"{place}/log"):
        provider = Mock(f"http://localhost:{port}")
        provider.person.request("PUT", provider.base + "/users/alice", data={"email": "alice@example.test"})
        yield provider
