# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The service killed at any moment of an exchange, with its helper, without it, or its helper alone: the login is there
for the next one.

With OUTRIDER_TRIALS=1000 the random kills are as many, and those at calls are at every call that a service makes.
"""

import contextlib
import os
import random
import signal
import threading
import time

import contract
import pytest
from authorization_server import served
from credential_process import LONG, Service
from syscall_faults import needs_strace, watched

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

GRACE = 10
TRIALS = int(os.environ.get("OUTRIDER_TRIALS", "60"))
# by these it starts a helper, gives it its order, hears it, and speaks with servers and clients
CALLS = ["pipe2", "clone3", "execve", "write", "read", "poll", "wait4", "close", "epoll_wait", "futex"]
if TRIALS >= 1000:
    CALLS += ["clone", "vfork", "dup2", "fcntl", "epoll_ctl", "mmap", "munmap", "madvise", "mprotect", "rt_sigaction",
              "rt_sigprocmask", "close_range", "setsid", "openat", "getrandom", "exit", "writev", "sendto", "recvfrom",
              "connect", "socket", "accept4", "timerfd_settime", "eventfd2"]
NEEDED = {"pipe2", "write", "read", "poll", "wait4", "close", "epoll_wait", "futex"}


class Logins:
    """One service after the other, each with the login that the one before it had."""

    def __init__(self, server, store, place):
        self.server, self.store, self.place = server, store, place
        self.files, self.service = contextlib.ExitStack(), None
        # of the last undisturbed exchange, in seconds
        self.number, self.lasts, self.said = 0, 0.1, ""
        # when the last one began, and how often a slow machine did not clear one up within the grace
        self.began, self.late = 0.0, 0

    def __enter__(self):
        self.log_in()
        return self

    def log_in(self):
        self.server.audit.clear()
        self.store.put(self.server, self.server.issue())
        self.start()

    def __exit__(self, *_):
        self.files.close()

    def start(self):
        self.files.close()
        self.service = self.files.enter_context(Service(self.store, self.place / "log", self.place, level="error"))
        self.service.adopt(self.store, self.server, refreshWindow=False)

    def begin(self):
        """A request whose token the server refuses: it is sent, refreshed, and sent again."""
        self.server.expire()
        self.began = time.monotonic()
        # it may be dead already: some calls are made without a reason
        with contextlib.suppress(BrokenPipeError):
            self.number = self.service.start("data.send", url=self.server.url("/api"), auth={"oauth": self.store.name})

    def status(self):
        """Whether there was one, and what: one that speaks of a helper that was killed is as good as others."""
        reply = self.service.reply(self.number)
        if reply is None:
            return None
        found, self.said = reply["result"], str(reply)
        return "keeper_failed" if "keeper_failed" in self.said else found.get("status")

    def go_on(self):
        """Whatever was killed: the login is there, and works."""
        status, struck = None, self.began
        for _ in range(2):
            if self.service.process.poll() is not None:
                self.start()
            self.begin()
            if (status := self.status()) is not None:
                break
            # it was on its way out
            self.service.process.wait(LONG)
        if "needsLogin" in self.said and time.monotonic() - struck > GRACE - 1:
            self.late += 1
            return self.log_in()
        assert status == 200, (self.said, self.server.outcomes()[-5:])
        self.lasts = time.monotonic() - self.began
        assert set(self.server.outcomes()) <= {"ok", "replayed"}, self.server.outcomes()


server = served(grace=GRACE)


@pytest.fixture
def logins(server, store, tmp_path):
    with Logins(server, store, tmp_path) as logins:
        yield logins


@needs_strace
@pytest.mark.parametrize("children", [False, True], ids=["alone", "with its helper"])
@pytest.mark.parametrize("call", CALLS)
def test_a_kill_of_the_service_at_any_call_loses_no_login(logins, tmp_path, call, children):
    """Its helper, if there is one already, ends what it has begun; with children, it is the next one to be killed."""
    kills = kill_at_each(logins, tmp_path, call, children)
    assert kills > 0 or call not in NEEDED


def kill_at_each(logins, place, call, children):
    kills = 0
    for number in range(1, 300):
        with watched(logins.service.process.pid, call, "signal=KILL", number, place / "trace", children=children):
            logins.begin()
            survived = logins.status()
        if survived and "killed by SIGKILL" not in (place / "trace").read_text():
            # no thread makes as many
            return kills
        kills += 1
        logins.go_on()
    pytest.fail(f"{call} is made without end")


def kill(*processes):
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


def test_kills_of_service_and_helper_at_random_moments_lose_no_login(logins, server):
    """A third of the service, a third of the helper, a third of both, at one moment or at two."""
    dice = random.Random(5)
    kills = {"service": 0, "helper": 0, "both": 0}

    def strike(what, service, first, second):
        # not to wait for something, but to hit any moment
        time.sleep(first)
        helpers = service.helpers()
        if what != "helper":
            kill(service.process.pid)
        if what == "both":
            time.sleep(second)
        if what != "service":
            kill(*helpers)
        kills[what] += what == "service" or bool(helpers)

    for trial in range(TRIALS):
        what = ["service", "helper", "both"][trial % 3]
        moments = dice.uniform(0, 1.1) * logins.lasts, dice.choice([0, dice.uniform(0, 0.5) * logins.lasts])
        logins.begin()
        striker = threading.Thread(target=strike, args=(what, logins.service, *moments))
        striker.start()
        logins.status()
        striker.join(LONG)
        if what == "service" or what == "both":
            logins.service.process.wait(LONG)
        logins.go_on()
    assert min(kills.values()) > TRIALS // 20, kills
    assert logins.late < TRIALS // 4 and len(server.families) == 1 + logins.late
