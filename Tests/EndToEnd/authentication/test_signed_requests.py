# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Requests that a server wants signed: their bodies, and what of them is shown."""

import base64
import json
import subprocess

import contract
import pytest
from callback_client import callback
from digest_server import ADA, BASIC, BODY, PASSWORD, USER, Guard, finished, session, waiting
from request_client import get, result
from upload_server import LONG, Reader, Taken

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


# Bodies


@pytest.mark.parametrize("kind", ["base64", "file"])
def test_a_body_that_is_refused_in_the_middle_is_sent_again(wire, tmp_path, kind):
    """[M12]"""
    data = bytes(range(256)) * 4096 * 8
    (tmp_path / "body").write_bytes(data)
    body = (
        {"base64": base64.b64encode(data[:900_000]).decode()} if kind == "base64" else {"file": str(tmp_path / "body")}
    )
    with Guard("SHA-256", "auth-int", early=True) as guard:
        response = get(wire, guard.url("/vault"), method="PUT", body=body, auth={"digest": ADA})
        assert response["status"] == 200 and guard.statuses == [401, 200]
        assert guard.last().body == (data[:900_000] if kind == "base64" else data)


def stream(wire, text):
    handle = result(wire.call("upload.open"))["stream"]
    result(wire.call("stream.write", {"stream": handle, "text": text}))
    result(wire.call("stream.finish", {"stream": handle}))
    return {"stream": handle}


def test_a_stream_is_held_back_until_the_server_knows_who_asks(wire):
    """[M12]"""
    with Guard() as guard:
        response = get(wire, guard.url("/vault"), method="PUT", body=stream(wire, "once"), auth=ADA)
        assert response["status"] == 200 and [taken.body for taken in guard.taken] == [b"once"]


def test_a_stream_that_was_sent_and_refused_cannot_be_sent_again(wire):
    """To a server that does not say at once that it will refuse. [M12]"""
    with Guard() as guard:
        number = wire.start(
            "data.send",
            {"url": guard.url("/vault"), "method": "PUT", "body": stream(wire, "x"), "challenge": callback()},
        )
        # the request has no credential, but a callback might give one
        reply = wire.receive()
        if reply.get("method") == "callback.challenge":
            wire.send({"jsonrpc": "2.0", "id": reply["id"], "result": {"credential": ADA}})
            reply = wire.reply(number)
        assert result(reply)["status"] == 200
    with Slow() as slow:
        response = get(wire, slow.url("/vault"), method="PUT", body=stream(wire, "once"), auth=ADA)
    assert (response["error"]["code"], response["status"]) == (1410, 401)
    assert response["body"]["text"] == "who is there?" and response["body"].get("complete") is not False


@pytest.mark.parametrize("scheme, remedy", [("Digest nonce=n, realm=r", "file"), ("Basic realm=r", "auth.basic")])
def test_the_advice_after_a_late_refusal_can_be_followed(wire, scheme, remedy):
    """The server asked for the body, so that an expectation, which was sent, changed nothing."""
    with Slow(scheme, interim=b"HTTP/1.1 100 Continue\r\n\r\n") as slow:
        response = get(
            wire, slow.url("/vault"), method="PUT", body=stream(wire, "once"), auth=ADA, expectContinue=True)
    error = response["error"]
    assert (error["code"], response["status"], slow.last().field("expect")) == (1410, 401, "100-continue")
    assert "expectContinue" not in error["message"] and error["message"].endswith((remedy, f"({remedy})")), error


class Slow(Guard):
    """Knows nothing of expectations: reads the body first, however long that takes."""

    def __init__(self, scheme="Digest nonce=n, realm=r", interim=b""):
        super().__init__()
        page = b"who is there?"
        head = (
            f"HTTP/1.1 401 X\r\nWWW-Authenticate: {scheme}\r\nContent-Type: text/plain\r\nConnection: close\r\n"
            f"Content-Length: {len(page)}\r\n\r\n")
        self.interim, self.refusal = interim, head.encode() + page

    def serve(self, connection, number):
        connection.settimeout(LONG)
        reader = Reader(connection)
        request = Taken(reader.until(b"\r\n\r\n"), number)
        connection.sendall(self.interim)
        self.take(reader, request)
        connection.sendall(self.refusal)


def test_a_proof_of_a_body_that_is_not_known_beforehand_cannot_be_given(wire):
    with Guard(qop="auth-int") as guard:
        response = get(wire, guard.url("/vault"), method="PUT", body=stream(wire, "once"), auth=ADA)
    assert (response["error"]["code"], response["status"]) == (1410, 401) and "auth-int" in response["error"]["message"]


# What is shown


def test_each_sending_of_an_attempt_is_listed(wire):
    with Guard() as guard:
        request = waiting(wire, guard.url("/vault"), auth=ADA)
        finished(wire, request)
        shown = result(wire.call("request.get", {"request": request}))
    assert [(one["attempt"], one["status"]) for one in shown["requests"]] == [(1, 401), (1, 200)]
    assert len(shown["metrics"]) == 2 and shown["attempts"] == 1


@pytest.mark.parametrize("scheme, flag", [("Digest", "--digest"), ("Basic", "--basic"), ("none", "--anyauth")])
def test_secrets_are_masked_wherever_a_request_is_shown(wire, scheme, flag):
    """[AA2]"""
    with Guard(challenges=[BASIC] if scheme == "Basic" else None) as guard:
        path = "/open" if scheme == "none" else "/vault"
        request = waiting(wire, guard.url(path), auth=ADA, events={"kinds": True})
        assert finished(wire, request)["status"] == 200
        command = result(wire.call("request.curl", {"request": request}))["command"]
        assert f"{flag} -u '{USER}:***'" in command and "Authorization" not in command
        token = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        for method, params in [
            ("request.curl", {"request": request}),
            ("request.describe", {"request": request}),
            ("request.get", {"request": request}),
            ("events.next", {"request": request}),
            ("har.export", {"requests": [request]}),
        ]:
            text = json.dumps(result(wire.call(method, params)))
            assert PASSWORD not in text and token not in text, method
        whole = result(wire.call("request.curl", {"request": request, "secrets": True}))["command"]
        assert f"{flag} -u '{USER}:{PASSWORD}'" in whole
        # and a person who pastes it gets in
        done = subprocess.run(["sh", "-c", whole + " -s"], capture_output=True, timeout=30)
        assert done.stdout == BODY


def test_a_session_shows_no_password(wire):
    place = session(wire, "https://127.0.0.1:1/private")
    shown = result(wire.call("session.get", {"session": place}))
    assert PASSWORD not in json.dumps(shown)
    assert shown["credentials"] == [
        {"url": "https://127.0.0.1:1/private", "username": USER, "password": "***", "preemptive": False}
    ]
