# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Token requests obey the cassette: recorded without their secrets, and played without helper and network."""

import contextlib
import json
import shutil
import subprocess

import contract
import pytest
from request_client import get, result
from tape_client import entries, entry, fresh, start, stop, write
from tape_server import SECRET
from test_replay_secrets import encodings

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")
OLD, REFRESH, CLIENT = "0ld-t0ken/value+x", "r3fresh-t0ken/Zq+x77", "cl1ent-s3cret/Yw+k"
CHANGING = {"expiresAt", "lastRefresh", "obtainedAt", "refreshedAt", "credential", "handle"}


def credential(server, **more):
    """A credential whose token the server refuses."""
    return {
        "name": "work", "grant": "refresh", "clientId": "c", "tokenUrl": server.url + "/token", "persist": "memory",
        "origins": [server.url + "/"], "token": {"accessToken": OLD, "refreshToken": REFRESH}, "events": True, **more,
    }  # fmt: skip


def calls(wire, *methods):
    """Makes the calls one after the other; their results, with the events before each."""
    seen = []
    for method, params in methods:
        number = wire.start(method, params)
        while True:
            message = wire.receive(20)
            if message.get("id") == number:
                seen.append((method, plain(message.get("result", message.get("error")))))
                break
            if message.get("method") == "event.oauth":
                seen.append(("event.oauth", message["params"]["event"]))
    return seen


def plain(value):
    """Without what differs from run to run; a secret plays as its mask."""
    if isinstance(value, str):
        return "***" if SECRET in value or value.startswith("***") else value
    if isinstance(value, dict):
        drop = CHANGING | {"timings", "request", "metrics", "server", "remote"}
        return {name: plain(one) for name, one in value.items() if name not in drop}
    return [plain(one) for one in value] if isinstance(value, list) else value


def check_secrets(tape, *secrets):
    text = open(tape).read()
    for secret in secrets:
        for form in encodings(secret):
            assert form not in text, (secret, form)


def helpers(trace):
    """How many processes the service has started."""
    return trace.read_text().count("credential-helper")


def traced(trace):
    """A command that lists the programs that another starts; nothing without strace."""
    strace = shutil.which("strace")
    if strace is None or subprocess.run([strace, "-f", "true"], capture_output=True, check=False).returncode != 0:
        return ()
    return (strace, "-f", "-qq", "-o", str(trace), "-e", "trace=execve")


def test_a_refresh_is_an_entry_and_plays_with_its_events(server, tape, tmp_path):
    """The refused token, the refresh, its events and the repeated request; then a refresh that the program asks for."""
    run = [("data.send", {"url": server.url + "/api", "auth": {"oauth": "work"}}),
           ("oauth.refresh", {"credential": "work"}),
           ("data.send", {"url": server.url + "/api?again", "auth": {"oauth": "work"}}),
           ("oauth.token", {"credential": "work"}),
           ("oauth.get", {"credential": "work"})]  # fmt: skip
    secret = {"clientSecret": CLIENT, "clientAuth": "body"}
    with fresh() as wire:
        result(wire.call("oauth.create", credential(server, **secret), 20))
        start(wire, tape)
        recorded = calls(wire, *run)
        stop(wire)
    told = [one for method, one in recorded if method == "event.oauth"]
    assert told == ["refreshing", "refreshed"] * 2 and server.tokens == 2, recorded
    found = entries(tape)
    assert [(one["request"]["url"].split("/", 3)[3], one["response"]["status"]) for one in found] == [
        ("api", 401), ("token", 200), ("api", 200), ("token", 200), ("api?again", 200)]  # fmt: skip
    assert json.loads(found[1]["response"]["content"]["text"])["access_token"] == "***"
    assert "refresh_token=***" in found[1]["request"]["postData"]["text"]
    check_secrets(tape, OLD, REFRESH, CLIENT, SECRET, SECRET + "2")
    server.close()
    trace = tmp_path / "trace"
    for order in ("create first", "cassette first", "cassette of the service"):
        with contextlib.ExitStack() as held:
            under = traced(trace) if order != "create first" else ()
            arguments = ("--replay", tape) if order == "cassette of the service" else ()
            wire = held.enter_context(contract.Wire(arguments=arguments, under=under))
            if order == "create first":
                result(wire.call("oauth.create", credential(server, **secret), 20))
            if not arguments:
                start(wire, tape, mode="none")
            if order != "create first":
                result(wire.call("oauth.create", credential(server, **secret), 20))
            assert calls(wire, *run) == recorded, order
            told = result(wire.call("replay.get", {"session": "*"} if arguments else {}, 20))
            assert (told["missed"], told["unused"]) == (0, []), told
        assert not under or helpers(trace) == 0, order
    assert server.tokens == 2


def test_without_its_credential_a_run_plays(server, tape):
    """The recorded 401 and the request behind it play with a stand-in; so does a token that has expired since."""
    with fresh() as wire:
        result(wire.call("oauth.create", credential(server), 20))
        start(wire, tape)
        recorded = get(wire, server.url + "/api", auth={"oauth": "work"}, method="POST", body={"text": "a"})
        assert recorded["status"] == 200, recorded
        stop(wire)
    server.close()
    with fresh() as wire:
        start(wire, tape, mode="none")
        played = get(wire, server.url + "/api", auth={"oauth": "work"}, method="POST", body={"text": "a"})
        assert (played["status"], played["body"]) == (200, recorded["body"]), played
    with contract.Wire(arguments=("--replay", tape)) as wire:
        late = credential(server, token={"accessToken": OLD, "refreshToken": REFRESH, "expiresIn": 0.001})
        result(wire.call("oauth.create", late, 20))
        played = get(wire, server.url + "/api", auth={"oauth": "work"}, method="POST", body={"text": "a"})
        assert (played["status"], played["body"]) == (200, recorded["body"]), played
        refused = wire.call("oauth.refresh", {"credential": "work"}, 20)["error"]
        assert "played" in refused["message"], refused


def test_a_refused_request_with_a_file_is_repeated(server, tape, tmp_path):
    """A body that is not in memory is compared as one that is."""
    file = tmp_path / "body"
    file.write_bytes(b"of a file")
    asked = {"url": server.url + "/api", "method": "POST", "body": {"file": str(file)}, "auth": {"oauth": "work"}}
    with fresh() as wire:
        result(wire.call("oauth.create", credential(server), 20))
        start(wire, tape)
        assert get(wire, **asked)["status"] == 200
        stop(wire)
    server.close()
    with fresh() as wire:
        start(wire, tape, mode="none")
        assert get(wire, **asked)["status"] == 200


def test_a_refused_refresh_plays_as_such(server, tape):
    server.token_error = "invalid_grant"
    run = [("data.send", {"url": server.url + "/api", "auth": {"oauth": "work"}}),
           ("oauth.get", {"credential": "work"})]  # fmt: skip
    seen = []
    for mode in ("once", "none"):
        with fresh() as wire:
            result(wire.call("oauth.create", credential(server), 20))
            start(wire, tape, mode=mode)
            seen.append(calls(wire, *run))
            stop(wire)
        server.close()
    assert seen[0] == seen[1]
    assert [one for method, one in seen[0] if method == "event.oauth"] == ["refreshing", "failed"]
    check_secrets(tape, OLD, REFRESH)


def test_stubs_have_tokens(server):
    """A service for stubs alone asks no authorization server."""
    with contract.Wire(arguments=("--replay", "-")) as wire:
        token = {"json": {"access_token": "st1bbed", "token_type": "Bearer", "expires_in": 60}}
        result(wire.call("stub.add", {"session": "*", "url": "*/token", "method": "POST", "response": token}, 20))
        result(wire.call("stub.add", {"session": "*", "url": "*/api", "response": {"text": "yes"}}, 20))
        result(wire.call("oauth.create", credential(server), 20))
        assert result(wire.call("oauth.refresh", {"credential": "work"}, 20))["state"] == "ready"
        assert result(wire.call("oauth.token", {"credential": "work"}, 20))["accessToken"] == "st1bbed"
        assert get(wire, server.url + "/api", auth={"oauth": "work"})["body"]
    assert server.tokens == 0


def test_a_played_device_login_does_not_wait_between_polls(tape):
    """A server that is asked every half minute; the login ends before the first of them is over."""
    host = "https://login.example"
    codes = {"device_code": "d", "user_code": "U-1", "verification_uri": host, "expires_in": 900, "interval": 30}
    pending = entry(host + "/token", 400, {"error": "authorization_pending"})
    tokens = entry(host + "/token", 200, {"access_token": "t", "token_type": "Bearer", "expires_in": 60})
    write(tape, entry(host + "/device", 200, codes), pending, pending, tokens)
    with fresh() as wire:
        start(wire, tape, mode="none", match={"body": False})
        created = {"name": "work", "grant": "device", "clientId": "c", "tokenUrl": host + "/token",
                   "deviceUrl": host + "/device", "persist": "memory", "origins": [host + "/"]}  # fmt: skip
        result(wire.call("oauth.create", created, 20))
        assert result(wire.call("oauth.device", {"credential": "work"}, 20))["userCode"] == "U-1"
        assert result(wire.call("oauth.wait", {"credential": "work", "timeout": 15}, 20))["ok"]
        assert stop(wire)["played"] == 4


def test_a_cassette_is_not_for_the_credentials_of_others(server, tape):
    """What plays in one session changes no credential of the service."""
    with fresh() as wire:
        result(wire.call("oauth.create", credential(server), 20))
        session = result(wire.call("session.create", {"replay": {"path": tape}}, 20))["session"]
        asked = {"url": server.url + "/api", "auth": {"oauth": "work"}}
        assert get(wire, **asked, session=session)["status"] == 200
        result(wire.call("session.close", {"session": session}, 20))
        session = result(wire.call("session.create", {"replay": {"path": tape, "mode": "none"}}, 20))["session"]
        assert get(wire, **asked, session=session)["status"] == 200
        before = server.tokens
        assert get(wire, **asked)["status"] == 200
        assert result(wire.call("oauth.token", {"credential": "work"}, 20))["accessToken"] == SECRET
        assert server.tokens == before
