# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Adapter of the OAuth suite: each client is a service of its own with one credential, kept in its memory.

Refresh tokens and device codes never leave the service. Where the suite wants to see one, it sees to which generation
of the credential's tokens it belongs; what needs the token itself is skipped.
"""

import json
import threading
from urllib.parse import urlsplit

import wire
from adapter import OAuthError, Skip

PROOFS = {"basic": "basic", "post": "body", "none": "none"}
HIDDEN = "kept by the service"


class Service(wire.Wire):
    """Calls from many threads at once; the thread that reads hands the others their replies."""

    def __init__(self):
        super().__init__()
        self.turn, self.reading, self.replies = threading.Lock(), threading.Lock(), {}

    def call(self, method, params, seconds=60):
        with self.turn:
            number = next(self.ids)
            self.send(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode())
        while number not in self.replies:
            with self.reading:
                if number not in self.replies:
                    message = self.receive(seconds)
                    if "method" not in message:
                        self.replies[message["id"]] = message
        reply = self.replies.pop(number)
        if "error" not in reply:
            return reply["result"]
        failure = reply["error"].get("data", {}).get("failure", {})
        raise error(failure) if failure else wire.Failed(reply["error"])


def error(failure):
    while cause := failure.get("data", {}).get("cause"):
        failure = cause
    reason = failure.get("data", {}).get("oauth", failure)
    return OAuthError(reason.get("reason") or reason["kind"], reason["message"])


class Client:
    def __init__(self, cfg):
        self.cfg, self.service, self.made, self.origins = cfg, Service(), None, []
        self.lock = threading.Lock()

    def credential(self, grant, scope=None):
        """The one credential of this client, made when it is known what for."""
        with self.lock:
            if self.made is None:
                cfg = self.cfg
                params = {
                    "name": "suite", "grant": grant, "issuer": cfg["issuer"], "clientId": cfg["client_id"],
                    "tokenUrl": cfg["token_endpoint"], "clientAuth": PROOFS[cfg["auth"]],
                    "scope": scope or cfg["scope"],
                }
                for name, key in (("authorizationUrl", "authorization"), ("deviceUrl", "device_authorization"),
                                  ("revocationUrl", "revocation"), ("introspectionUrl", "introspection")):
                    if cfg.get(key + "_endpoint"):
                        params[name] = cfg[key + "_endpoint"]
                if cfg["auth"] != "none":
                    params["clientSecret"] = cfg["client_secret"]
                self.made = self.service.call("oauth.create", params)["credential"]
        return self.made

    def tokens(self):
        found = self.service.call("oauth.token", {"credential": self.made, "minValidity": 0})
        info = self.service.call("oauth.get", {"credential": self.made})
        told = {"access_token": found["accessToken"], "token_type": found["tokenType"]}
        if info["refreshable"]:
            told["refresh_token"] = f"{HIDDEN}: generation {info['generation']}"
        return told

    def set_tokens(self, tokens):
        raise Skip("refresh tokens never leave the service, so no old one can be given back to it")

    def discover(self, url):
        issuer = url.removesuffix("/.well-known/openid-configuration")
        return self.service.call("oauth.discover", {"issuer": issuer})["metadata"]

    def authorization_url(self):
        name = self.credential("authorizationCode")
        return self.service.call("oauth.login", {"credential": name, "redirect": self.cfg["redirect_uri"]})["url"]

    def callback(self, url):
        self.service.call("oauth.callback", {"credential": self.made, "url": url})
        return self.tokens()

    def refresh(self):
        self.service.call("oauth.refresh", {"credential": self.made})
        return self.tokens()

    def client_credentials(self, scope):
        self.credential("clientCredentials", scope)
        return self.tokens()

    def device_start(self):
        shown = self.service.call("oauth.device", {"credential": self.credential("device")})
        return {"device_code": HIDDEN, "user_code": shown["userCode"], "verification_uri": shown["verificationUri"]}

    def device_wait(self, timeout):
        end = self.service.call("oauth.wait", {"credential": self.made, "timeout": timeout}, timeout + 10)
        if "error" in end:
            raise error(end["error"])
        if end["pending"]:
            raise OAuthError("timeout")
        return self.tokens()

    def revoke(self, token, hint):
        told = self.service.call("oauth.revoke", {"credential": self.made})
        if not told["revoked"]:
            raise error(told["error"])

    def introspect(self, token):
        """What was logged out is no longer the service's to introspect: it is introspected as by any client."""
        if self.service.call("oauth.get", {"credential": self.made})["state"] == "ready":
            return self.service.call("oauth.introspect", {"credential": self.made})["answer"]
        response = self.service.call("data.send", {
            "url": self.cfg["introspection_endpoint"], "method": "POST", "serialize": {"as": "json"},
            "parameters": {
                "token": token, "client_id": self.cfg["client_id"], "client_secret": self.cfg["client_secret"]},
        })
        return response["body"]["json"]

    def get(self, url):
        parts = urlsplit(url)
        origin = f"{parts.scheme}://{parts.netloc}"
        with self.lock:
            if origin not in self.origins:
                self.origins.append(origin)
                self.service.call("oauth.set", {"credential": self.made, "origins": self.origins})
        response = self.service.call("data.send", {
            "url": url, "auth": {"oauth": self.made}, "serialize": {"as": "text"}, "maxInline": 1 << 20})
        # without other tokens the refusal of the server stays the response
        if not response["ok"] and "status" not in response:
            raise error(response["error"])
        return response["status"], response["body"].get("text", "").encode()

    def close(self):
        self.service.close()
