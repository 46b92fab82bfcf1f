# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Cassettes hold no secret, in whatever encoding."""

import base64
import json
import os
import urllib.parse

import contract
import pytest
from capture_server import Capture
from request_client import get, result
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


@pytest.mark.parametrize("kind", [None, "text/plain", "text/html; charset=utf-8"])
def test_json_is_masked_though_its_type_does_not_tell(tape, kind):
    """In the response, and its token in a later request."""
    token, text = "c4n4ry-untyped/Zq", json.dumps({"list": [{"access_token": "c4n4ry-untyped/Zq"}], "a": 1})
    head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(text)}\r\nConnection: close\r\n"
    head += f"Content-Type: {kind}\r\n" if kind else ""
    with Capture(response=f"{head}\r\n{text}".encode()) as capture, fresh() as wire:
        start(wire, tape)
        assert get(wire, capture.url())["ok"]
        assert get(wire, capture.url("/again"), method="POST", body={"text": "the token is " + token})["ok"]
        stop(wire)
    kept = open(tape).read()
    for form in encodings(token):
        assert form not in kept, form
    assert r'\"a\": 1' in kept


def test_members_in_a_part_of_a_form_are_masked(server, tape):
    secret = "c4n4ry-part/Zq"
    parts = [{"name": "meta", "text": json.dumps({"password": secret, "a": 1}), "mimeType": "application/json"},
             {"name": "note", "text": "again " + secret}]  # fmt: skip
    for mode in ("once", "none"):
        with fresh() as wire:
            start(wire, tape, mode=mode)
            response = get(wire, server.url + "/echo", method="POST", body={"multipart": {"parts": parts}})
            assert response["ok"], response
            stop(wire)
    kept = open(tape).read()
    for form in encodings(secret):
        assert form not in kept, form
    assert r'\"a\": 1' in kept


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



def test_values_are_masked_in_the_escapes_of_json(server, tape):
    """As Go, .NET and Python write them."""
    token, password = "q9Zx+7/Lk&<wert>==", "pässwörd123"
    written = [
        r"q9Zx+7/Lk\u0026\u003cwert\u003e==", r"q9Zx\u002B7/Lk\u0026\u003Cwert\u003E==", r"p\u00e4ssw\u00f6rd123",
        r"p\u00E4ssw\u00F6rd123",
    ]  # fmt: skip
    with fresh() as wire:
        start(wire, tape)
        get(wire, server.url + "/echo", headers={"Authorization": "Bearer " + token})
        get(wire, server.url + "/echo", auth={"basic": {"username": "ada", "password": password}})
        for one in written:
            get(wire, server.url + "/echo", method="POST", body={"text": f'{{"note": "{one}"}}'})
        stop(wire)
    text = open(tape).read()
    assert text.count('{\\"note\\": \\"***\\"}') == 8, text
    for one in written:
        assert one.replace("\\", "\\\\") not in text, one


@pytest.mark.parametrize("value, words", [("$NOT_SET_ANYWHERE", "variable that is not set"), ("abc", "shorter than 4")])
def test_a_value_that_would_not_be_masked_is_no_recording(server, tape, value, words):
    """And a cassette that is there stays as it is, and plays: nothing is written then."""
    with fresh() as wire:
        start(wire, tape)
        assert get(wire, server.url + "/json")["status"] == 200
        stop(wire)
        before = open(tape).read()
        mask = {"values": ["a-real-value", value]}
        for mode in ("all", "newEpisodes"):
            reply = wire.call("replay.start", {"path": tape, "mode": mode, "mask": mask})
            assert words in reply["error"]["message"] and "mask.values[1]" in reply["error"]["message"], reply
        start(wire, tape, mode="none", mask=mask)
        assert get(wire, server.url + "/json")["status"] == 200
    assert open(tape).read() == before


def test_values_that_would_take_much_memory_are_refused(tape):
    """Each is held in some twenty forms, which the budget for memory does not count."""
    with fresh() as wire:
        reply = wire.call("replay.start", {"path": tape, "mask": {"values": ["x" * 40_000, "y" * 40_000]}})
        assert reply["error"]["code"] == -32602 and reply["error"]["data"]["pointer"] == "/mask/values", reply
        assert "65536 bytes" in reply["error"]["message"], reply


def test_a_link_whose_query_has_a_secret_still_names_its_relation(tape):
    """So a program that follows the pages of a list plays them all."""
    link = b'</items?page=2&page_token=abcdef>; rel="next", </items?page=9>; rel="last"'
    response = b"HTTP/1.1 200 OK\r\nLink: " + link + b"\r\nContent-Length: 2\r\n\r\n[]"
    with Capture(response=response) as capture, fresh() as wire:
        start(wire, tape)
        get(wire, url := capture.url())
        stop(wire)
    with fresh() as wire:
        start(wire, tape)
        fields = {field["name"]: field["value"] for field in get(wire, url)["headers"]}
    assert fields["Link"] == link.decode().replace("abcdef", "***")


def test_a_download_whose_body_was_masked_plays(server, tape, tmp_path):
    """The digest of the server is that of the body before."""
    for mode in ("all", "none"):
        with fresh() as wire:
            start(wire, tape, mode=mode)
            params = {"url": server.url + "/digest", "destination": {"path": str(tmp_path / mode)}}
            done = result(wire.call("download.send", params, 20))
            assert done.get("status") == 200 and "error" not in done, done
            stop(wire)
    assert json.loads((tmp_path / "all").read_text()) == {"token": SECRET}
    assert json.loads((tmp_path / "none").read_text()) == {"token": "***"}
