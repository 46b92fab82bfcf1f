# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Servers that code of the client decides about, and keys whose passphrase it knows."""

import ssl
import subprocess
import time

import certificate_authority
import contract
import pytest
from callback_client import converse
from socket_service import running

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


@pytest.fixture(scope="module")
def pki(tmp_path_factory):
    made = certificate_authority.usual(tmp_path_factory.mktemp("asking"))
    made.issue("client", "inter", certificate_authority.LEAF + "extendedKeyUsage=clientAuth\n", chain=["inter"])
    made.openssl("pkey", "-in", "client.key", "-aes256", "-passout", "pass:secret", "-out", "aes.key")
    made.openssl("pkcs12", "-export", "-inkey", "client.key", "-in", "client.pem", "-passout", "pass:secret", "-out",
                 "client.p12")
    for file in made.folder.glob("*.key"):
        file.chmod(0o600)
    return made


@pytest.fixture(scope="module")
def start(pki):
    with certificate_authority.serving(pki) as start:
        yield start


@pytest.fixture
def untrusted(start):
    return f"https://localhost:{start('untrusted')}/"


@pytest.fixture
def client(pki):
    with contract.Wire(arguments=["--ca-file", pki.path("root.crt")]) as wire:
        yield wire


ASK = {"callback": "mine"}


def exchange(wire, url, says, trust=ASK, **more):
    """The result, and what was asked."""
    reply, callbacks = converse(wire, "data.send", {"url": url, "timeout": 10, "trust": trust, **more}, {"trust": says})
    return reply["result"], callbacks


def test_a_client_sees_the_chain_and_decides(client, pki, start, untrusted):
    """[V9]"""
    result, callbacks = exchange(client, untrusted, lambda callbacks: {"trust": True})
    assert result["ok"] and result["tls"]["verified"] == "callback"
    (_, seen), = callbacks
    assert seen["callback"] == "mine" and seen["host"] == "localhost" and seen["trusted"] is False
    assert seen["port"] == int(untrusted.split(":")[2].strip("/")) and "not known" in seen["reason"]
    assert seen["chain"][0]["spki"] == pki.pin("untrusted")
    good = f"https://localhost:{start('good')}/"
    result, callbacks = exchange(client, good, lambda callbacks: {"trust": False, "reason": "the wrong sticker"})
    assert callbacks[0][1]["trusted"] is True and "reason" not in callbacks[0][1]
    assert result["error"]["code"] == 1512 and "the wrong sticker" in result["error"]["message"]
    assert not result["error"]["retryable"]


def test_an_approval_counts_for_its_callback_alone(client, untrusted):
    assert exchange(client, untrusted, lambda callbacks: {"trust": True})[0]["ok"]
    # on the same connection
    assert exchange(client, untrusted, None)[1] == []
    plain = client.call("data.send", {"url": untrusted, "timeout": 10}, 20)["result"]
    assert plain["error"]["code"] == 1506
    result, callbacks = exchange(client, untrusted, lambda callbacks: {"trust": False}, trust={"callback": "other"})
    assert callbacks and result["error"]["code"] == 1512


def test_a_reply_can_be_remembered(client, untrusted):
    """Trust on first use."""
    result, callbacks = exchange(client, untrusted, lambda callbacks: {"trust": True, "remember": 60})
    assert result["ok"] and len(callbacks) == 1
    client.call("session.flush", {"session": "default"})
    assert exchange(client, untrusted, None)[0]["tls"]["verified"] == "callback"


def test_requests_at_once_ask_once(client, untrusted):
    numbers = [client.start("data.send", {"url": untrusted, "timeout": 10, "trust": ASK}) for _ in range(4)]
    callbacks, replies = [], {}
    while len(replies) < len(numbers):
        message = client.receive(20)
        if "method" not in message:
            replies[message["id"]] = message["result"]
            continue
        callbacks.append(message)
        client.send({"jsonrpc": "2.0", "id": message["id"], "result": {"trust": True, "remember": 9}})
    assert all(replies[number]["ok"] for number in numbers) and len(callbacks) == 1


def test_timeouts_stand_still_and_silence_is_a_refusal(client, untrusted):
    def slow(callbacks):
        time.sleep(3.2)  # clock: longer than the timeout that stands still
        return {"trust": True}

    assert exchange(client, untrusted, slow, timeout={"tls": 3, "total": 5})[0]["ok"]
    number = client.start("data.send", {"url": untrusted, "trust": {"callback": "silent", "timeout": 0.2}})
    client.receive(5)
    result = client.reply(number)["result"]
    assert result["error"]["code"] == 1512 and "0.2" in result["error"]["message"], result


def test_what_cannot_be_understood_is_a_refusal(client, untrusted):
    result, _ = exchange(client, untrusted, lambda callbacks: {"trust": "yes"})
    assert result["error"]["code"] == 1512


def test_a_callback_is_asked_after_other_policies(client, pki, start, untrusted):
    wrong = {"all": [ASK, {"publicKeys": {"pins": [pki.pin("good")], "chain": False}}]}
    result, callbacks = exchange(client, untrusted, lambda callbacks: {"trust": True}, trust=wrong)
    assert result["error"]["code"] == 1511 and callbacks == []
    wrong["all"][1]["publicKeys"]["pins"] = [pki.pin("untrusted")]
    result, callbacks = exchange(client, untrusted, lambda callbacks: {"trust": True}, trust=wrong)
    assert result["tls"]["verified"] == "callback" and len(callbacks) == 1


def test_of_a_session_and_by_pulling(client, untrusted):
    session = client.call("session.create", {"trust": {"hosts": {"*": ASK}}})["result"]["session"]
    reply, callbacks = converse(client, "data.send", {"url": untrusted, "session": session, "timeout": 10},
                            {"trust": lambda callbacks: {"trust": True}})
    assert reply["result"]["ok"] and len(callbacks) == 1
    pulled = {"url": untrusted, "timeout": 10, "trust": {"callback": "later", "decide": "pull"}}
    number = client.start("data.send", pulled)
    events = client.call("events.next", {"wait": 5}, 10)["result"]["events"]
    (decision,) = [event["params"] for event in events if event["method"] == "event.decision"]
    assert decision["kind"] == "trust" and decision["params"]["host"] == "localhost"
    client.call("request.decide", {"decision": decision["decision"], "answer": {"trust": True}})
    assert client.reply(number, 20)["result"]["ok"]


@pytest.fixture
def mutual(start):
    return f"https://localhost:{start('good', client=ssl.CERT_REQUIRED)}/"


def identity(pki, kind):
    source = {"callback": "keys"}
    if kind == "pkcs12":
        return {"pkcs12": pki.path("client.p12"), "passphraseFrom": source}
    return {"certificate": pki.path("client.pem"), "key": pki.path("aes.key"), "passphraseFrom": source}


@pytest.mark.parametrize("kind", ["pem", "pkcs12"])
def test_a_passphrase_is_asked_for(client, pki, mutual, kind):
    """[V13]"""
    def says(callbacks):
        return {"passphrase": "secret" if callbacks["failures"] else "wrong"}

    params = {"url": mutual, "timeout": 10, "tls": {"identity": identity(pki, kind)}}
    reply, callbacks = converse(client, "data.send", params, {"passphrase": says})
    assert reply["result"]["ok"] and reply["result"]["body"]["text"].endswith("client=client"), reply
    assert [seen["failures"] for _, seen in callbacks] == [0, 1]
    assert callbacks[0][1]["file"] == pki.path("client.p12" if kind == "pkcs12" else "aes.key")
    # known for some minutes
    client.call("session.flush", {"session": "default"})
    assert converse(client, "data.send", params, {})[1] == []


@pytest.mark.parametrize("kind", ["pem", "pkcs12"])
def test_a_stored_credential_holds_the_passphrase(pki, mutual, env, monkeypatch, kind):
    """[V13] The sealed store keeps it; a wrong one is not asked for again."""
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    own = {**identity(pki, kind), "passphraseFrom": {"credential": "my key"}}
    params = {"url": mutual, "timeout": 10, "tls": {"identity": own}}
    holder = {"name": "my key", "grant": "refresh", "clientId": "keys", "tokenUrl": "https://localhost:1/",
              "persist": "disk", "origins": ["https://localhost:1/"]}
    with contract.Wire(arguments=["--ca-file", pki.path("root.crt")]) as wire:
        error = wire.call("data.send", params, 20)["result"]["error"]
        assert error["code"] == 1418 and "no passphrase" in error["message"], error
        assert error["pointer"] == "/tls/identity/passphraseFrom"
        for token, code in (("wrong", 1418), ("secret", None)):
            made = wire.call("oauth.create", {**holder, "token": {"accessToken": token}}, 20)
            assert "result" in made, made
            result = wire.call("data.send", params, 20)["result"]
            assert result.get("error", {}).get("code") == code, result
        assert result["tls"]["clientCertificate"] == "sent" and result["body"]["text"].endswith("client=client")
        session = wire.call("session.create", {"tls": {"identity": own}})["result"]["session"]
        assert "secret" not in str(wire.call("session.get", {"session": session}))
    # another service of the user, later
    with contract.Wire(arguments=["--ca-file", pki.path("root.crt")]) as wire:
        assert wire.call("data.send", params, 20)["result"]["ok"]


def test_the_handle_of_another_connection_s_credential_holds_no_passphrase(pki, mutual, tmp_path):
    """A credential without a name is for its own connection alone."""
    path = str(tmp_path / "s")
    holder = {"grant": "refresh", "clientId": "keys", "tokenUrl": "https://localhost:1/",
              "token": {"accessToken": "secret"}}
    with running(path, "--ca-file", pki.path("root.crt"), stderr=subprocess.DEVNULL):
        with contract.Wire(path) as one, contract.Wire(path) as two:
            handle = one.call("oauth.create", holder, 20)["result"]["credential"]
            own = {**identity(pki, "pem"), "passphraseFrom": {"credential": handle}}
            params = {"url": mutual, "timeout": 10, "tls": {"identity": own}}
            error = two.call("data.send", params, 20)["result"]["error"]
            assert error["code"] == 1418 and error["pointer"] == "/tls/identity/passphraseFrom", error
            assert one.call("data.send", params, 20)["result"]["ok"]


def test_no_passphrase_is_a_failure_that_says_so(client, pki, mutual):
    params = {"url": mutual, "timeout": 10, "tls": {"identity": identity(pki, "pem")}}
    reply, _ = converse(client, "data.send", params, {"passphrase": lambda callbacks: {}})
    error = reply["result"]["error"]
    assert error["code"] == 1418 and "aes.key is encrypted" in error["message"], error
    assert error["pointer"] == "/tls/identity/passphraseFrom"
    reply, callbacks = converse(client, "data.send", params, {"passphrase": lambda callbacks: {"passphrase": "wrong"}})
    assert reply["result"]["error"]["code"] == 1418 and len(callbacks) == 3


def test_no_passphrase_is_asked_for_a_key_that_needs_none(client, pki, mutual):
    own = {"certificate": pki.path("client.pem"), "key": pki.path("client.key"), "passphraseFrom": {"callback": "keys"}}
    reply, callbacks = converse(client, "data.send", {"url": mutual, "timeout": 10, "tls": {"identity": own}}, {})
    assert reply["result"]["ok"] and callbacks == []
