# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Cassettes hold no secret, in whatever encoding."""

import base64
import json
import os
import urllib.parse

import contract
import pytest
from request_client import get
from tape_client import fresh, start, stop
from tape_server import SECRET

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


def encodings(secret):
    """The secret as it may stand in a file."""
    raw = secret.encode()
    yield secret
    yield urllib.parse.quote(secret, safe="")
    yield urllib.parse.quote_plus(secret)
    yield json.dumps(secret)[1:-1]
    yield raw.hex()
    yield raw.hex().upper()
    for offset in range(3):
        text = base64.b64encode(b"\0" * offset + raw).decode()
        first = 0 if offset == 0 else offset + 1
        core = text[first : (offset + len(raw)) * 8 // 6]
        yield core
        yield core.replace("+", "-").replace("/", "_")


def test_no_secret_is_in_the_file(server, tape):
    """Twenty kinds of secrets, in no encoding."""
    names = [f"c4n4ry{number:02}-Zq/+x{number * 7919 % 997:03}" for number in range(24)]
    it = iter(names)
    used = []

    def secret():
        used.append(next(it))
        return used[-1]

    with fresh() as wire:
        os.environ["CANARY"] = ""
        mask = {"values": [secret()], "headers": ["X-Tenant"], "query": ["account"], "body": ["/deep/0/iban"]}
        start(wire, tape, mask=mask)
        url = server.url + "/echo"

        def post(**params):
            return get(wire, url + params.pop("more", ""), method="POST", **params)

        post(headers={"Authorization": "Bearer " + (bearer := secret())}, body={"text": "bearer again " + bearer})
        post(headers={"Cookie": f"sid={(cookie := secret())}"}, body={"text": cookie})
        post(headers={"X-Api-Key": (key := secret())}, body={"text": base64.b64encode(b"x" + key.encode()).decode()})
        post(headers={"Proxy-Authorization": "Basic " + base64.b64encode(("u:" + secret()).encode()).decode()})
        post(headers={"X-Tenant": secret()})
        post(query={"access_token": (token := secret())}, body={"text": token.encode().hex()})
        post(query={"account": secret()})
        post(body={"form": {"password": secret(), "user": "ada"}})
        post(body={"json": {"client_secret": secret()}})
        post(body={"json": {"deep": [{"iban": secret()}]}})
        post(body={"json": {"user": {"password": secret()}, "refresh_token": secret()}})
        post(body={"multipart": {"parts": [{"name": "password", "text": secret()}]}})
        post(auth={"basic": {"username": "ada", "password": (password := secret())}}, body={"text": password})
        post(body={"text": "held by name of the caller: " + used[0]})
        post(more="#token=" + secret())
        post(query={"code": secret(), "sig": secret()})
        get(wire, server.url + "/locked", auth={"username": "ada", "password": secret(), "schemes": ["basic"]})
        post(headers={"X-Session-Id": secret(), "X-Signature": secret()})
        get(wire, server.url.replace("://", f"://ada:{'p4ssw0rd-in-url'}@") + "/echo")
        used.append("p4ssw0rd-in-url")
        get(wire, server.url + "/token")
        used.extend([SECRET, SECRET + "2"])
        post(body={"text": "the server's token: " + SECRET})
        get(wire, server.url + "/old")
        info = stop(wire)
        assert "failure" not in info
    text = open(tape).read()
    assert len(used) >= 20
    for one in used:
        for form in encodings(one):
            assert form not in text, (one, form)


def test_a_token_that_the_service_holds_is_masked(server, tape):
    """Also before a request with its credential, and where no name tells that it is one."""
    held = "h3ld-t0ken/Zq+x77"
    credential = {"name": "held", "grant": "refresh", "clientId": "c", "tokenUrl": server.url + "/token",
                  "persist": "memory", "origins": [server.url + "/"], "token": {"accessToken": held}}  # fmt: skip
    asked = {"method": "POST", "body": {"text": f"note: {held}, {base64.b64encode(held.encode()).decode()}"}}
    for mode in ("once", "none"):
        with fresh() as wire:
            assert "result" in (reply := wire.call("oauth.create", credential, 20)), reply
            start(wire, tape, mode=mode)
            assert get(wire, server.url + "/echo", **asked)["status"] == 200
            stop(wire)
    text = open(tape).read()
    for form in encodings(held):
        assert form not in text, form

