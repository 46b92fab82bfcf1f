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
from answering import answer
from asking import result
from authorizing import Authorizing
from keeping import Service, Store

sys.path.insert(0, str(contract.ROOT / "clients/python/src"))

import outrider as library  # noqa: E402

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

PASSPHRASE = "correct-horse-battery-staple"


def credentials(store, *words, said=""):
    return subprocess.run(
        [contract.binary(), "credentials", *words], input=said, capture_output=True, text=True, timeout=60, check=False,
        env={**store.environment, "OUTRIDER_CREDENTIALS": store.directory})


@pytest.fixture
def server():
    with Authorizing() as server:
        yield server


@pytest.fixture
def store(tmp_path, server):
    """Locked, with the credential `work` in it."""
    store = Store(tmp_path, key=["passphrase"])
    chosen = credentials(store, "key", "passphrase", said=PASSPHRASE + "\n")
    if "keyring did not take" in chosen.stderr:
        pytest.skip("the kernel has no keyrings here")
    assert chosen.returncode == 0, chosen.stderr
    assert store.put(server, server.issue()).generation == 1
    credentials(store, "lock")
    yield store
    credentials(store, "lock")


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


def asked(wire):
    """The next question."""
    while True:
        message = wire.receive(30)
        if message.get("method") == "callback.passphrase":
            return message


def reason(reply):
    assert reply["error"]["code"] == -32018, reply
    return reply["error"]["data"]["failure"]["data"]["oauth"]["reason"]


def wants(wire):
    """Calls for a token, and does not wait."""
    return wire.start("oauth.token", {"credential": "work"})


def test_one_answer_opens_the_store_for_all_until_the_machine_stops(client, service, store, server):
    offers(client, timeout=600)
    with contract.Wire(service) as other:
        waiting = [wants(client), wants(client)]
        others = [wants(other), wants(other)]
        question = asked(client)
        params = question["params"]
        assert params.pop("deadline") > "2026"
        assert params == {"callback": "mine", "store": store.directory, "failures": 0}
        answer(client, question, {"passphrase": PASSPHRASE})
        replies = {**client.replies(waiting, 30), **{-n: reply for n, reply in other.replies(others, 30).items()}}
        tokens = {result(reply)["accessToken"] for reply in replies.values()}
        assert len(tokens) == 1 and server.is_good(tokens.pop())
        assert server.outcomes() == ["ok"]
    # a service that nobody offers anything
    with contract.Wire() as wire:
        assert result(wire.call("oauth.token", {"credential": "work"}, 30))["generation"] == 2


def test_without_an_offer_it_stays_locked_and_says_what_helps(client, server):
    reply = client.call("oauth.token", {"credential": "work"}, 30)
    assert reason(reply) == "store_locked" and "outrider credentials unlock" in reply["error"]["message"]
    offers(client)
    assert result(client.call("oauth.offerPassphrase", {})) == {}
    assert reason(client.call("oauth.token", {"credential": "work"}, 30)) == "store_locked"
    assert server.audit == []


def test_a_wrong_answer_is_asked_again_three_times_at_most(client):
    offers(client)
    number = wants(client)
    for failures in range(3):
        question = asked(client)
        assert question["params"]["failures"] == failures
        answer(client, question, {"passphrase": f"wrong {failures}"})
    assert reason(client.reply(number, 30)) == "store_locked"
    # that was the end of the offer
    assert reason(client.call("oauth.token", {"credential": "work"}, 30)) == "store_locked"
    offers(client)
    number = wants(client)
    answer(client, asked(client), {"passphrase": "wrong"})
    answer(client, asked(client), {"passphrase": PASSPHRASE})
    assert "result" in client.reply(number, 30)


@pytest.mark.parametrize("said", [{}, None, {"passphrase": ""}, {"passphrase": 1}, {"password": PASSPHRASE}, "error"])
def test_whoever_declines_or_errs_is_not_asked_again_and_the_next_one_is(client, service, said):
    offers(client)
    with contract.Wire(service) as latest:
        offers(latest)
        number = wants(latest)
        question = asked(latest)
        if said == "error":
            answer(latest, question, code=1, message="no")
        else:
            latest.send({"jsonrpc": "2.0", "id": question["id"], "result": said})
        answer(client, asked(client), {})
        assert reason(latest.reply(number, 30)) == "store_locked"
        assert reason(latest.call("oauth.token", {"credential": "work"}, 30)) == "store_locked"


def test_an_answer_that_comes_too_late_opens_nothing(client):
    offers(client, timeout=0.2)
    number = wants(client)
    question = asked(client)
    assert reason(client.reply(number, 30)) == "store_locked"
    answer(client, question, {"passphrase": PASSPHRASE})
    assert reason(client.call("oauth.token", {"credential": "work"}, 30)) == "store_locked"


def test_a_client_that_leaves_takes_its_offer_along(client, service):
    with contract.Wire(service) as leaving:
        offers(leaving, timeout=600)
        number = wants(client)
        asked(leaving)
    assert reason(client.reply(number, 30)) == "store_locked"


def test_a_caller_that_leaves_does_not_end_the_question(client, service):
    offers(client, timeout=600)
    with contract.Wire(service) as other:
        number = wants(other)
        question = asked(client)
        began = time.monotonic()
        other.send({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": number}})
        assert other.reply(number, 30)["error"]["code"] == -32800
        assert time.monotonic() - began < 10
        answer(client, question, {"passphrase": PASSPHRASE})
    assert "result" in client.call("oauth.token", {"credential": "work"}, 30)


def test_a_client_that_comes_for_its_questions(client):
    offers(client, decide="pull", timeout=30)
    number = wants(client)
    events = client.start("events.next", {"wait": 20})
    while True:
        message = client.receive(30)
        if message.get("id") == events:
            break
    (event,) = message["result"]["events"]
    assert event["params"]["kind"] == "passphrase" and event["params"]["params"]["failures"] == 0
    decision = {"decision": event["params"]["decision"], "answer": {"passphrase": PASSPHRASE}}
    assert result(client.call("request.decide", decision)) == {}
    assert "result" in client.reply(number, 30)


def test_the_passphrase_is_nowhere_to_be_seen(store, tmp_path):
    """Neither in what the service says and writes, nor in its memory."""
    with Service(store, tmp_path / "log", tmp_path, OUTRIDER_CREDENTIAL_KEY="passphrase") as service:
        assert service.call("events.subscribe", topics=["*"])["result"]
        service.call("oauth.offerPassphrase", callback="mine")
        service.ask("oauth.token", credential="work")
        number = service.number
        answers = []
        while not (answers and answers[-1].get("id") == number):
            answers.append(service.heard())
            if answers[-1].get("method") == "callback.passphrase":
                service.send({"jsonrpc": "2.0", "id": answers[-1]["id"], "result": {"passphrase": PASSPHRASE}})
        token = answers[-1]["result"]["accessToken"]
        assert service.remembers([token]) == {token} and service.remembers([PASSPHRASE]) == set()
    assert PASSPHRASE.encode() not in service.said
    for path in pathlib.Path(tmp_path).rglob("*"):
        if path.is_file() and path.name != "t":
            assert PASSPHRASE.encode() not in path.read_bytes(), path


@pytest.mark.parametrize(("params", "pointer"), [
    ({"callback": ""}, "/callback"), ({"callback": "m", "timeout": 0}, "/timeout"), ({"decide": "pull"}, "/decide"),
    ({"callback": "m", "decide": "never"}, "/decide"), ({"callback": "m", "passphrase": "x"}, "/passphrase"),
])  # fmt: skip
def test_bad_offers_are_named(client, params, pointer):
    error = client.call("oauth.offerPassphrase", params)["error"]
    assert error["code"] == -32602 and error["data"]["pointer"] == pointer


def test_a_python_function_is_asked(service, server):
    seen = []
    with library.Client(socket=service) as client:

        @client.oauth.passphrase
        def ask(locked):
            seen.append(locked.failures)
            return PASSPHRASE if locked.failures else "wrong"

        assert server.is_good(str(client.oauth.get("work").token()))
    assert seen == [0, 1]


def test_a_python_function_declines(service):
    with library.Client(socket=service) as client:
        client.oauth.passphrase(lambda locked: None, timeout=5)
        with pytest.raises(library.TokenError, match="unlock"):
            client.oauth.get("work").token()


def test_a_python_coroutine_is_asked(service, server):
    async def ask(locked):
        await asyncio.sleep(0)
        return PASSPHRASE

    async def main():
        async with library.AsyncClient(socket=service) as client:
            await client.oauth.passphrase(ask)
            assert server.is_good(str(await client.oauth.get("work").token()))

    asyncio.run(main())
