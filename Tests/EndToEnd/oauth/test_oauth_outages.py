# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""A token endpoint that is out of order for ten minutes while all clients want a token, and one that has forgotten who
logged in: what is asked of it is counted, and who is told of it, too."""

import contextlib
import struct
import time

import contract
import pytest
from authorization_server import served
from credential_process import LONG, Failure, Service, serving, unpacked
from request_client import result

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

HOUR, OUTAGE = 3600, 600
# what an endpoint says that is out of order
SAYS = {
    "busy": (503, {}, b""), "too many": (429, {}, b""), "broken": (500, {}, b"<html>Oops</html>"),
    "says so": (400, {}, {"error": "temporarily_unavailable"}), "names a time": (503, {"Retry-After": "7"}, b""),
}


server = served(lifetime=HOUR)


@pytest.fixture
def browser(store, tmp_path):
    """A file that is there if a browser was opened."""
    opened = tmp_path / "opened"
    for name in ("browser", "xdg-open"):
        program = tmp_path / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >> "{opened}"\n')
        program.chmod(0o755)
    path = f"{program.parent}:{store.environment['PATH']}"
    store.environment.update(BROWSER=str(program.parent / "browser"), PATH=path)
    return opened


class Outage:
    """Ten minutes in steps of so many seconds; the POSTs, and how much of them had passed at each."""

    def __init__(self, server, store, clocks, pace):
        self.server, self.store, self.clocks, self.pace = server, store, clocks, pace
        self.passed, self.posts = 0, []
        self.record = (store.folder / "record").read_bytes()
        self.before = len(server.outcomes())

    def count(self):
        new = len(self.server.outcomes()) - self.before - len(self.posts)
        self.posts += [self.passed] * new
        return new

    def step(self):
        self.count()
        assert (self.store.folder / "record").read_bytes() == self.record
        self.passed += self.pace
        self.clocks.jump(wall=self.pace, boot=self.pace)

    def end(self, browser):
        """Few POSTs, further and further apart, up to a minute and a tenth; everything else is as it was."""
        self.count()
        gaps = [later - sooner for sooner, later in zip(self.posts, self.posts[1:])]
        assert 8 <= len(self.posts) <= 30, self.posts
        # what the machine takes for the steps has passed, too, and is not counted
        assert 40 <= max(gaps) <= 66 + self.pace, gaps
        assert self.posts[-1] > OUTAGE - 66 - self.pace
        assert set(self.server.outcomes()[self.before:]) == {"scripted"}
        assert not browser.exists()
        assert (self.store.folder / "record").read_bytes() == self.record


@pytest.mark.parametrize("says", SAYS.values(), ids=SAYS)
def test_ten_minutes_of_an_outage_are_worth_few_requests(server, store, clocks, browser, tmp_path, says):
    """Two hundred want the token that has ended, each minute, and some at every moment; it is back with the server."""
    store.environment.update(clocks.environment)
    store.put(server, server.issue())
    with Service(store, tmp_path / "log", tmp_path, level="error") as service:
        service.adopt(store, server)
        send = {"url": server.url("/api"), "auth": {"oauth": store.name}}
        assert service.call("data.send", **send)["result"]["status"] == 200
        clocks.jump(wall=HOUR, boot=HOUR)
        server.expire()
        server.script = [says] * 10_000
        outage = Outage(server, store, clocks, 4)
        while outage.passed < OUTAGE:
            many = 200 if outage.passed % 60 == 0 else 5
            numbers = {service.start("data.send", **send) for _ in range(many)}
            while numbers:
                response = service.heard()
                numbers.remove(response["id"])
                error = response["result"]["error"]
                assert error["code"] == 1300 and error["data"]["cause"]["data"]["oauth"]["kind"] == "temporary", error
            outage.step()
        outage.end(browser)
        # the server is back, and no client has to do anything
        server.script.clear()
        clocks.jump(wall=67, boot=67)
        numbers = {service.start("data.send", **send) for _ in range(200)}
        responses = [service.heard() for _ in numbers]
        assert {response["result"]["status"] for response in responses} == {200}
    assert server.outcomes()[outage.before + len(outage.posts):] == ["ok"]


def test_two_hundred_processes_leave_a_server_in_trouble_alone_together(server, store, clocks, browser):
    """They know of each other by the store alone; a refusal says for how long to wait."""
    store.environment.update(clocks.environment)
    store.put(server, server.issue())
    server.script = [SAYS["busy"]] * 10_000
    outage, spreads = Outage(server, store, clocks, 10), []
    while outage.passed < OUTAGE:
        many = 200 if outage.passed == 0 else 4
        processes = [store.start(store.obtaining(1)) for _ in range(many)]
        responses = [store.one(store.heard(process)) for process in processes]
        told = [one.message for one in responses if not isinstance(one, Failure) or one.reason != "paused"]
        seen = f"after {outage.passed} s: {told[-9:]}, server: {server.connections}, {server.outcomes()[-9:]}"
        assert all(isinstance(response, Failure) and response.kind == "temporary" for response in responses), seen
        assert {response.reason for response in responses} <= {"server_unavailable", "paused"}, seen
        if outage.count() == 1 and len(outage.posts) > 9:
            spreads.append(left(store, clocks) / 60)
        outage.step()
    outage.end(browser)
    # a minute, a little more or less each time, so that not all come back at once
    assert len(spreads) > 3 and all(0.5 < one <= 1.1 for one in spreads), spreads
    assert max(spreads) - min(spreads) > 0.005, spreads
    server.script.clear()
    clocks.jump(wall=67, boot=67)
    processes = [store.start(store.obtaining(1)) for _ in range(200)]
    responses = [store.one(store.heard(process)) for process in processes]
    assert {response.generation for response in responses} == {2}
    assert server.outcomes()[len(outage.posts):] == ["ok"]


@pytest.mark.parametrize("says", SAYS.values(), ids=SAYS)
def test_a_response_lost_at_the_start_of_an_outage_costs_no_login(server, store, clocks, browser, says):
    """The repetition meets the outage; after an hour of the outage the token is repeated, and is good."""
    store.environment.update(clocks.environment)
    store.put(server, server.issue())
    server.cuts, server.script = ["commit"], [says] * 3
    for _ in range(3):
        response = store.obtain(1)
        assert isinstance(response, Failure) and response.kind == "temporary", response
        clocks.jump(wall=HOUR, boot=HOUR)
    assert server.outcomes() == ["cut", "scripted", "scripted", "scripted"]
    assert store.obtain(1).generation == 2
    assert server.outcomes()[4:] == ["ok"] and not browser.exists()


def test_a_response_lost_in_an_outage_sends_no_further_requests(server, store, clocks, browser):
    """The repetition is owed, and all processes keep the pause together."""
    store.environment.update(clocks.environment)
    store.put(server, server.issue())
    server.cuts, server.script = ["commit"], [(503, {"Retry-After": "60"}, b"")] * 200
    processes = [store.start(store.obtaining(1)) for _ in range(40)]
    responses = [store.one(store.heard(process)) for process in processes]
    assert all(isinstance(response, Failure) and response.kind == "temporary" for response in responses), responses
    assert server.outcomes() == ["cut", "scripted"]


@pytest.mark.parametrize("host", ["no-such-host.invalid:80", "127.0.0.1:1"], ids=["no name", "refused"])
def test_ten_minutes_without_a_server_are_worth_few_attempts(server, store, clocks, browser, host):
    """Its name is unknown, or it does not run; how often that was tried stands beside the record."""
    store.environment.update(clocks.environment)
    server.url = lambda path, scheme="http": f"{scheme}://{host}{path}"
    store.put(server, {"refresh_token": "rt"}, issuer="https://as.example")
    outage = Outage(server, store, clocks, 20)
    while outage.passed < OUTAGE:
        processes = [store.start(store.obtaining(1)) for _ in range(40 if outage.passed == 0 else 4)]
        responses = [store.one(store.heard(process)) for process in processes]
        assert {(response.kind, response.reason) for response in responses} <= {
            ("temporary", "unreachable"), ("temporary", "paused")}, responses
        outage.step()
    (attempts,) = struct.unpack(">Q", paused(store)[1][0])
    assert 8 <= attempts <= 30
    assert server.audit == [] and not browser.exists()


def paused(store):
    """What is written down of the failures of the server."""
    return unpacked((store.folder / "pause").read_bytes())


def left(store, clocks):
    """Seconds without any request."""
    (until,) = struct.unpack(">d", paused(store)[2][0])
    return until - time.clock_gettime(time.CLOCK_BOOTTIME) - clocks.shifts[1]


# Logins that a server has forgotten


class Listener:
    """A connection that hears of the credential; counts what it is told."""

    def __init__(self, wire, store, server):
        self.wire, self.name, self.api = wire, store.name, server.url("/api")
        self.told = []
        result(self.call("oauth.create", {
            "name": store.name, "grant": "refresh", "clientId": server.client, "tokenUrl": server.url("/token"),
            "issuer": server.issuer, "scope": "read", "persist": "disk", "origins": [server.url("/")], "events": True}))
        result(self.call("events.subscribe", {"topics": ["token.failed"]}))

    def call(self, method, params):
        return self.replies([self.wire.start(method, params)])[0]

    def replies(self, numbers):
        found = {}
        while set(numbers) - set(found):
            self.hear(found)
        return [found[number] for number in numbers]

    def hear(self, found):
        message = self.wire.receive(LONG)
        if "method" in message:
            self.told.append(message)
        else:
            found[message["id"]] = message

    def send(self, count):
        request = {"url": self.api, "auth": {"oauth": self.name}}
        return [self.wire.start("data.send", request) for _ in range(count)]

    def failures(self, generation):
        """Of refreshes of the tokens of that generation: by event, and by topic."""
        own = [one["params"] for one in self.told if one["method"] == "event.oauth"]
        failed = [one for one in own if one["event"] == "failed" and one["generation"] == generation]
        assert {one["error"]["reason"] for one in failed} <= {"invalid_grant"}
        return len(failed), sum(one["method"] == "event.monitor" for one in self.told)

    def wait(self, generation, times=1):
        """Until it has been told so often of a failure."""
        while min(self.failures(generation)) < times:
            self.hear({})

    def refused(self, numbers):
        for response in self.replies(numbers):
            error = result(response)["error"]
            cause = error["data"]["cause"]["data"]["oauth"]
            assert error["code"] == 1300 and (cause["kind"], cause["reason"]) == ("needsLogin", "invalid_grant"), error


@contextlib.contextmanager
def listeners(store, server, clocks, monkeypatch, tmp_path, sockets=4, engines=3):
    """Connections to one service, and services of their own on stdio."""
    for name, value in {**store.service_environment, **clocks.environment, "TMPDIR": str(tmp_path)}.items():
        monkeypatch.setenv(name, value)
    with contextlib.ExitStack() as stack:
        path = stack.enter_context(serving(None, tmp_path / "s"))
        wires = [contract.Wire(str(path)) for _ in range(sockets)] + [contract.Wire() for _ in range(engines)]
        yield [Listener(stack.enter_context(wire), store, server) for wire in wires]


def test_a_login_that_the_server_has_forgotten_is_asked_for_once_and_told_once(
    server, store, clocks, monkeypatch, tmp_path
):
    """Each who listens is told once for each generation of the tokens, however many ask, now and later."""
    given = server.issue()
    store.put(server, given)
    with listeners(store, server, clocks, monkeypatch, tmp_path) as all_of_them:
        record = (store.folder / "record").read_bytes()
        server.revoke_all()
        server.stall = "commit"
        waiting = [one.send(30) for one in all_of_them]
        server.wait_for("/token", seconds=LONG)
        server.stall = None
        server.go.set()
        for one, numbers in zip(all_of_them, waiting):
            one.refused(numbers)
        for one in all_of_them:
            one.wait(1)
        # later calls send nothing and tell no client, whichever client calls, and however
        for _ in range(3):
            clocks.jump(wall=60, boot=60)
            for one in all_of_them:
                one.refused(one.send(10))
                assert one.call("oauth.token", {"credential": store.name})["error"]["code"] == -32018
                assert result(one.call("oauth.get", {"credential": store.name}))["state"] == "needsLogin"
        assert server.outcomes() == ["invalid_grant"]
        assert [one.failures(1) for one in all_of_them] == [(1, 1)] * len(all_of_them)
        # all that was known is kept, as sealed as before
        kept = store.read()
        assert (kept.state, kept.generation, kept.reason, kept.has_refresh_token) == (
            "needsLogin", 1, "invalid_grant", True)
        assert given["refresh_token"].encode() not in (store.folder / "record").read_bytes()
        assert (store.folder / "record.prev").read_bytes() == record
        # a login makes all of them go on; the next refusal is told once more
        fresh = server.issue()
        token = {"accessToken": fresh["access_token"], "refreshToken": fresh["refresh_token"], "expiresIn": HOUR}
        result(all_of_them[0].call("oauth.set", {"credential": store.name, "token": token}))
        clocks.jump(wall=60, boot=60)
        for one in all_of_them:
            assert {result(response)["status"] for response in one.replies(one.send(5))} == {200}
            one.told.clear()
        server.revoke_all()
        clocks.jump(wall=HOUR, boot=HOUR)
        for one in all_of_them:
            one.refused(one.send(10))
            one.wait(2)
            one.refused(one.send(10))
        assert server.outcomes() == ["invalid_grant"] * 2
        assert [one.failures(2) for one in all_of_them] == [(1, 1)] * len(all_of_them)


def test_who_comes_later_is_told_when_he_asks(server, store, clocks, monkeypatch, tmp_path):
    """A service that finds it so sends nothing; each forced refresh is told of that."""
    store.put(server, server.issue())
    server.revoke_all()
    assert store.obtain(1).reason == "invalid_grant"
    with listeners(store, server, clocks, monkeypatch, tmp_path, 1, 1) as all_of_them:
        for one in all_of_them:
            found = result(one.call("oauth.get", {"credential": store.name}))
            assert found["state"] == "needsLogin"
            one.refused(one.send(10))
            assert one.failures(1) == (0, 0)
            for times in (1, 2):
                assert one.call("oauth.refresh", {"credential": store.name})["error"]["code"] == -32018
                one.wait(1, times)
                assert one.failures(1) == (times, times)
    assert server.outcomes() == ["invalid_grant"]
