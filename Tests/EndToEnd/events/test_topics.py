# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Every topic that can be subscribed to happens, and says what the contract says of it."""

import contract
import pytest
from cache_server import CacheServer, Reply
from callback_client import Refuse, converse
from cookie_server import CookieServer
from digest_server import ADA, Guard
from download_client import download, to
from range_server import Ranging
from request_client import get, result
from stream_client import opened, whole
from subscription_client import pulled, subscribe, topics
from upload_server import Taker

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


@pytest.fixture(scope="module")
def taker():
    with Taker() as taker:
        yield taker


def start(wire, url, **more):
    return result(wire.call("data.start", {"url": url, **more}))["request"]


def end(wire, request):
    wire.call("request.cancel", {"request": request})
    wire.call("request.wait", {"request": request})


def plain(wire, parts):
    """[W2] [W3] [W4]"""
    get(wire, parts.origin + "/redirect/1", validate=True, handlers=[{"id": "h", "serialize": {"as": "text"}}])


def unbuilt(wire, parts):
    get(wire, "nothing://")
    get(wire, parts.origin, method="POST", body={"file": "/nowhere/at/all"})


def retried(wire, parts):
    """[W6]"""
    get(wire, parts.origin + "/status/503", method="PUT", body={"text": "x"}, retry={"limit": 1, "scale": 0.01})


def suspended(wire, parts):
    request = start(wire, parts.server.url("/stall/head"))
    parts.server.wait_for("/stall/head")
    for method in ("request.suspend", "request.resume"):
        result(wire.call(method, {"request": request}))
    end(wire, request)
    result(wire.call("request.forget", {"request": request}))


def adapted(wire, parts):
    def refuse(callback):
        raise Refuse("not today")

    params = {"url": parts.origin + "/json", "interceptors": [{"callback": "mine"}]}
    converse(wire, "data.send", params, {"adapt": lambda callback: {}, "retry": lambda callback: {"retry": False}})
    converse(wire, "data.send", params, {"adapt": refuse, "retry": lambda callback: {"retry": False}})


def queued(wire, parts):
    result(wire.call("session.create", {"name": "narrow", "limits": {"concurrent": 1}}))
    url = parts.server.url("/stall/head")
    first, second = (start(wire, url, session="narrow") for _ in range(2))
    result(wire.call("session.update", {"session": "narrow", "headers": {"X": "1"}}))
    result(wire.call("session.flush", {"session": "narrow"}))
    end(wire, second)
    end(wire, first)
    result(wire.call("session.close", {"session": "narrow"}))


def crowded(wire, parts):
    result(wire.call("session.create", {"name": "six", "connectionsPerHost": 6}))
    requests = [start(wire, parts.server.url("/stall/head"), session="six") for _ in range(7)]
    for request in requests:
        end(wire, request)
    result(wire.call("session.close", {"session": "six"}))


def expecting(wire, parts):
    assert get(wire, parts.taker.url("/continue"), method="POST", body={"text": "x"}, expectContinue=True)["ok"]
    result(wire.call("upload.open"))


def stored(wire, parts):
    response = get(wire, parts.origin + "/bytes/100", bodyTo="stored")
    result(wire.call("response.release", {"response": response["body"]["response"]}))


def owned(wire, parts):
    request = start(wire, parts.server.url("/stall/head"))
    result(wire.call("request.detach", {"request": request}))
    result(wire.call("request.adopt", {"request": request}))
    end(wire, request)


def authenticated(wire, parts):
    """[W2]"""
    passwords = iter(["wrong", ADA["password"]])
    with Guard() as guard:
        params = {"url": guard.url("/vault"), "challenge": {"callback": "mine"}}
        replies = {"challenge": lambda callback: {"credential": {**ADA, "password": next(passwords)}}}
        reply, _ = converse(wire, "data.send", params, replies)
    assert result(reply)["status"] == 200


def downloaded(wire, parts):
    """[W2] [W7]"""
    with Ranging(300_000) as server:
        place = {"destination": to(parts.directory / "file"), "checksum": {"sha-256": server.digest()}}
        for manner in ("refusing", "fine"):
            server.cut = 200_000
            assert not download(wire, server.url("/" + manner), **place, resume=True)["ok"]
            assert download(wire, server.url("/" + manner), **place, resume=True, whenChanged="restart")["ok"]
            (parts.directory / "file").unlink()


def streamed(wire, parts):
    """[W5]"""
    stream = opened(wire, parts.origin + "/bytes/300000", mode="pull")["stream"]
    assert whole(wire, stream, key="base64")[1]["end"]


def refreshed(wire, parts):
    replies = iter([{"token": {"accessToken": "a1"}}, {"error": "no network"}])
    params = {"grant": "callback", "callback": "mine", "events": True}
    mine = result(wire.call("oauth.create", params))["credential"]
    for _ in range(2):
        converse(wire, "oauth.refresh", {"credential": mine}, {"refresh": lambda callback: next(replies)})


def cookied(wire, parts):
    """A server on an address may not set cookies for a domain."""
    session = result(wire.call("session.create", {"cookies": True}))["session"]
    with CookieServer() as server:
        get(wire, server.url(server.setting("a=1; Domain=com")), session=session)


def cached(wire, parts):
    session = result(wire.call("session.create", {"cache": {"maxBytes": 65_536}}))["session"]
    etag = (("Cache-Control", "no-cache"), ("ETag", '"1"'))
    server = CacheServer()
    fresh, _ = server.script(Reply())
    confirmed, _ = server.script(
        lambda _, fields: Reply(status=304, fields=etag) if "If-None-Match" in fields else Reply(fields=etag))
    for url in (fresh, confirmed) * 2:
        get(wire, url, session=session)
    get(wire, fresh, method="DELETE", session=session)
    for _ in range(30):
        get(wire, server.script(Reply(b"x" * 3000))[0], session=session)
    server.close()


SCENES = [plain, unbuilt, retried, suspended, adapted, queued, crowded, expecting, stored, owned]
SCENES += [authenticated, downloaded, streamed, refreshed, cookied, cached]
# without a network; test_offline.py shows it
ELSEWHERE = ["request.offline"]


class Parts:
    def __init__(self, origin, server, taker, directory):
        self.origin, self.server, self.taker, self.directory = origin, server, taker, directory


def test_every_topic_happens_as_the_contract_describes_it(listening, origin, server, taker, tmp_path):
    """Each of them, in the scenes above: with its members and no others, of their types. [W1] [W2] [W3] [W4] [W6]"""
    with contract.Wire(listening) as wire:
        subscription = subscribe(wire, "*", pull=True, queue=10000)
        described = {topic["name"]: topic for topic in result(wire.call("events.topics"))["topics"]}
        for scene in SCENES:
            scene(wire, Parts(origin, server, taker, tmp_path))
        events = pulled(wire, subscription)
        assert sorted(set(described) - set(topics(events))) == ELSEWHERE
        for event in events:
            shape = described[event["topic"]]["detail"]
            problems = contract.CONTRACT.problems(event["detail"], dict(shape, additionalProperties=False))
            assert list(problems) == [], event
