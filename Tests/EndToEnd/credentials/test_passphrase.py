# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""A store that is locked after a start of the machine, and the clients whose people know its passphrase."""

import asyncio
import pathlib
import subprocess
import sys
import time

import contract
import pytest
from authorization_server import Authorizing
from callback_client import reply_to
from credential_process import Service, Store
from request_client import result

sys.path.insert(0, str(contract.ROOT / "clients/python/src"))

import outrider as library  # noqa: E402

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

PASSPHRASE = "correct-horse-battery-staple"


def credentials(store, *words, said=""):
    return subprocess.run(
        [contract.binary(), "credentials", *words], input=said, capture_output=True, text=True, timeout=60, check=False,
        env={**store.environment, "OUTRIDER_CREDENTIALS": store.directory})


@pytest.fixture(scope="module")
def server():
    with Authorizing() as server:
        yield server


@pytest.fixture(scope="module")
def filled(server, tmp_path_factory):
    """With a credential for each test: a key of a passphrase is dear."""
    store = Store(tmp_path_factory.mktemp("store"), key=["passphrase"])
    chosen = credentials(store, "key", "passphrase", said=PASSPHRASE + "\n")
    if "keyring did not take" in chosen.stderr:
        pytest.skip("the kernel has no keyrings here")
    assert chosen.returncode == 0, chosen.stderr
    store.left = [f"work{number}" for number in range(24)]
    for name in store.left:
        store.name = name
        assert store.put(server, server.issue()).generation == 1
    yield store
    credentials(store, "lock")


@pytest.fixture
def store(server, filled):
    """Locked, with a credential that no test has used."""
    server.audit.clear()
    filled.name = filled.left.pop()
    credentials(filled, "lock")
    return filled


@pytest.fixture
def service(store, monkeypatch, request):
    """The socket of a service for that store."""
    monkeypatch.setenv("OUTRIDER_CREDENTIALS", store.directory)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(store.runtime))
    return request.getfixturevalue("listening")


@pytest.fixture
def client(service):
    with contract.Wire(service) as wire:
        yield wire


def offers(wire, **more):
    assert result(wire.call("oauth.offerPassphrase", {"callback": "mine", **more})) == {}


def next_callback(wire):
    """The next callback."""
    while True:
        message = wire.receive(60)
        if message.get("method") == "callback.passphrase":
            return message


def reason(reply):
    assert reply["error"]["code"] == -32018, reply
    return reply["error"]["data"]["failure"]["data"]["oauth"]["reason"]


def wants(wire, store):
    """Calls for a token, and does not wait."""
    return wire.start("oauth.token", {"credential": store.name})


def gets(wire, store):
    return wire.call("oauth.token", {"credential": store.name}, 60)


def test_one_reply_opens_the_store_for_all_until_the_machine_stops(client, service, store, server):
    offers(client, timeout=600)
    with contract.Wire(service) as other:
        waiting = [wants(client, store), wants(client, store)]
        others = [wants(other, store), wants(other, store)]
        callback = next_callback(client)
        params = callback["params"]
        assert params.pop("deadline") > "2026"
        assert params == {"callback": "mine", "store": store.directory, "failures": 0}
        reply_to(client, callback, {"passphrase": PASSPHRASE})
        replies = {**client.replies(waiting, 60), **{-n: reply for n, reply in other.replies(others, 60).items()}}
        tokens = {result(reply)["accessToken"] for reply in replies.values()}
        assert len(tokens) == 1 and server.is_good(tokens.pop())
        assert server.outcomes() == ["ok"]
    # a service without an offer
    with contract.Wire() as wire:
        assert result(gets(wire, store))["generation"] == 2


def test_without_an_offer_it_stays_locked_and_says_what_helps(client, server, store):
    reply = gets(client, store)
    assert reason(reply) == "store_locked" and "outrider credentials unlock" in reply["error"]["message"]
    offers(client)
    assert result(client.call("oauth.offerPassphrase", {})) == {}
    assert reason(gets(client, store)) == "store_locked"
    assert server.audit == []


def test_after_a_wrong_passphrase_three_callbacks_are_made_at_most(client, store):
    offers(client)
    number = wants(client, store)
    for failures in range(3):
        callback = next_callback(client)
        assert callback["params"]["failures"] == failures
        reply_to(client, callback, {"passphrase": f"wrong {failures}"})
    assert reason(client.reply(number, 60)) == "store_locked"
    # that was the end of the offer
    assert reason(gets(client, store)) == "store_locked"
    offers(client)
    number = wants(client, store)
    reply_to(client, next_callback(client), {"passphrase": "wrong"})
    reply_to(client, next_callback(client), {"passphrase": PASSPHRASE})
    assert "result" in client.reply(number, 60)


@pytest.mark.parametrize("said", [{}, None, {"passphrase": ""}, {"passphrase": 1}, {"password": PASSPHRASE}, "error"])
def test_whoever_declines_or_errs_is_not_asked_again_and_the_next_one_is(client, service, said, store):
    offers(client)
    with contract.Wire(service) as latest:
        offers(latest)
        number = wants(latest, store)
        callback = next_callback(latest)
        if said == "error":
            reply_to(latest, callback, code=1, message="no")
        else:
            latest.send({"jsonrpc": "2.0", "id": callback["id"], "result": said})
        reply_to(client, next_callback(client), {})
        assert reason(latest.reply(number, 60)) == "store_locked"
        assert reason(gets(latest, store)) == "store_locked"


def test_a_reply_that_comes_too_late_opens_nothing(client, store):
    offers(client, timeout=0.2)
    number = wants(client, store)
    callback = next_callback(client)
    assert reason(client.reply(number, 60)) == "store_locked"
    reply_to(client, callback, {"passphrase": PASSPHRASE})
    assert reason(gets(client, store)) == "store_locked"


def test_a_client_that_leaves_takes_its_offer_along(client, service, store):
    with contract.Wire(service) as leaving:
        offers(leaving, timeout=600)
        number = wants(client, store)
        next_callback(leaving)
    assert reason(client.reply(number, 60)) == "store_locked"


def test_a_caller_that_leaves_does_not_end_the_callback(client, service, store):
    offers(client, timeout=600)
    with contract.Wire(service) as other:
        number = wants(other, store)
        callback = next_callback(client)
        began = time.monotonic()
        other.send({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": number}})
        assert other.reply(number, 60)["error"]["code"] == -32800
        assert time.monotonic() - began < 10
        reply_to(client, callback, {"passphrase": PASSPHRASE})
    assert "result" in gets(client, store)


def test_a_client_that_pulls_its_callbacks(client, store):
    offers(client, decide="pull", timeout=30)
    number = wants(client, store)
    events = client.start("events.next", {"wait": 20})
    while True:
        message = client.receive(60)
        if message.get("id") == events:
            break
    (event,) = message["result"]["events"]
    assert event["params"]["kind"] == "passphrase" and event["params"]["params"]["failures"] == 0
    decision = {"decision": event["params"]["decision"], "answer": {"passphrase": PASSPHRASE}}
    assert result(client.call("request.decide", decision)) == {}
    assert "result" in client.reply(number, 60)


def test_the_passphrase_is_nowhere_to_be_seen(store, tmp_path):
    """Neither in what the service says and writes, nor in its memory."""
    with Service(store, tmp_path / "log", tmp_path, OUTRIDER_CREDENTIAL_KEY="passphrase") as service:
        assert service.call("events.subscribe", topics=["*"])["result"]
        service.call("oauth.offerPassphrase", callback="mine")
        service.start("oauth.token", credential=store.name)
        number = service.number
        messages = []
        while not (messages and messages[-1].get("id") == number):
            messages.append(service.heard())
            if messages[-1].get("method") == "callback.passphrase":
                service.send({"jsonrpc": "2.0", "id": messages[-1]["id"], "result": {"passphrase": PASSPHRASE}})
        token = messages[-1]["result"]["accessToken"]
        assert service.remembers([token]) == {token} and service.remembers([PASSPHRASE]) == set()
    assert PASSPHRASE.encode() not in service.said
    for path in [*tmp_path.rglob("*"), *pathlib.Path(store.directory).rglob("*")]:
        if path.is_file():
            assert PASSPHRASE.encode() not in path.read_bytes(), path


@pytest.mark.parametrize(("params", "pointer"), [
    ({"callback": ""}, "/callback"), ({"callback": "m", "timeout": 0}, "/timeout"), ({"timeout": "long"}, "/timeout"),
    ({"callback": "m", "decide": "never"}, "/decide"), ({"callback": "m", "passphrase": "x"}, "/passphrase"),
])  # fmt: skip
def test_bad_offers_are_named(client, params, pointer):
    error = client.call("oauth.offerPassphrase", params)["error"]
    assert error["code"] == -32602 and error["data"]["pointer"] == pointer


def test_a_python_function_is_asked(service, server, store):
    seen = []
    with library.Client(socket=service) as client:

        @client.oauth.passphrase
        def unlock(locked):
            seen.append(locked.failures)
            return PASSPHRASE if locked.failures else "wrong"

        assert server.is_good(str(client.oauth.get(store.name).token()))
    assert seen == [0, 1]


def test_a_python_function_declines(service, store):
    with library.Client(socket=service) as client:
        client.oauth.passphrase(lambda locked: None, timeout=5)
        with pytest.raises(library.TokenError, match="unlock"):
            client.oauth.get(store.name).token()


def test_a_python_coroutine_is_asked(service, server, store):
    async def unlock(locked):
        await asyncio.sleep(0)
        return PASSPHRASE

    async def main():
        async with library.AsyncClient(socket=service) as client:
            await client.oauth.passphrase(unlock)
            assert server.is_good(str(await client.oauth.get(store.name).token()))

    asyncio.run(main())
