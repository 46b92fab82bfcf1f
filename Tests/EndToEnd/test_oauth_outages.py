# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""A token endpoint that is out of order for ten minutes while everybody wants a token, and one that has forgotten who
logged in: what is asked of it is counted, and who is told of it, too."""

import struct
import time

import contract
import pytest
from authorizing import Authorizing
from keeping import LONG, Failure, Service, unpacked

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

HOUR, OUTAGE = 3600, 600
# what an endpoint says that is out of order
SAYS = {
    "busy": (503, {}, b""), "too many": (429, {}, b""), "broken": (500, {}, b"<html>Oops</html>"),
    "says so": (400, {}, {"error": "temporarily_unavailable"}), "names a time": (503, {"Retry-After": "7"}, b""),
}


@pytest.fixture
def server():
    with Authorizing(lifetime=HOUR) as server:
        yield server


@pytest.fixture
def browser(store, tmp_path):
    """A file that is there if anybody was sent to a browser."""
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
        assert 50 <= max(gaps) <= 66 + self.pace, gaps
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
            numbers = {service.ask("data.send", **send) for _ in range(many)}
            while numbers:
                answer = service.heard()
                numbers.remove(answer["id"])
                error = answer["result"]["error"]
                assert error["code"] == 1300 and error["data"]["cause"]["data"]["oauth"]["kind"] == "temporary", error
            outage.step()
        outage.end(browser)
        # the server is back, and nobody has to do anything
        server.script.clear()
        clocks.jump(wall=67, boot=67)
        numbers = {service.ask("data.send", **send) for _ in range(200)}
        answers = [service.heard() for _ in numbers]
        assert {answer["result"]["status"] for answer in answers} == {200}
    assert server.outcomes()[outage.before + len(outage.posts):] == ["ok"]


def test_two_hundred_processes_leave_a_server_in_trouble_alone_together(server, store, clocks, browser):
    """Nobody tells them of each other but the store; who is told to wait is told for how long."""
    store.environment.update(clocks.environment)
    store.put(server, server.issue())
    server.script = [SAYS["busy"]] * 10_000
    outage, spreads = Outage(server, store, clocks, 10), []
    while outage.passed < OUTAGE:
        many = 200 if outage.passed == 0 else 4
        processes = [store.start(store.obtaining(1)) for _ in range(many)]
        answers = [store.one(store.heard(process)) for process in processes]
        assert all(isinstance(answer, Failure) and answer.kind == "temporary" for answer in answers), answers
        assert {answer.reason for answer in answers} <= {"server_unavailable", "paused"}
        if outage.count() == 1 and len(outage.posts) > 9:
            spreads.append(left(store, clocks) / 60)
        outage.step()
    outage.end(browser)
    # a minute, a little more or less each time, so that not all come back at once
    assert len(spreads) > 3 and all(0.85 < one <= 1.1 for one in spreads), spreads
    assert max(spreads) - min(spreads) > 0.005, spreads
    server.script.clear()
    clocks.jump(wall=67, boot=67)
    processes = [store.start(store.obtaining(1)) for _ in range(200)]
    answers = [store.one(store.heard(process)) for process in processes]
    assert {answer.generation for answer in answers} == {2}
    assert server.outcomes()[len(outage.posts):] == ["ok"]


def left(store, clocks):
    """Seconds for which nobody is to ask."""
    (until,) = struct.unpack(">d", unpacked((store.folder / "pause").read_bytes())[2][0])
    return until - time.clock_gettime(time.CLOCK_BOOTTIME) - clocks.shifts[1]
