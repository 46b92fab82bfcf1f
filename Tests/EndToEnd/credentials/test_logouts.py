# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The end of a login session in the middle of a refresh: the service and its helper get the same signals, and the
rotated token is in the store all the same. The server is strict: a refresh token that comes twice ends the login."""

import contextlib
import os
import random
import signal
import threading
import time

import contract
import pytest
from authorization_server import served
from credential_process import LONG, rounds
from test_service_crashes import Logins

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

TRIALS = int(os.environ.get("OUTRIDER_TRIALS", "40"))
# those that a logout, `systemctl stop` and a closed terminal send, and others that end a program by default
SIGNALS = [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGPIPE, signal.SIGUSR1,
           signal.SIGVTALRM]

server = served(grace=0)


@pytest.fixture
def logins(server, store, tmp_path):
    with Logins(server, store, tmp_path) as logins:
        yield logins


def send(number, *processes):
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, number)


def test_a_logout_at_any_moment_of_a_refresh_loses_no_login(logins, server):
    dice = random.Random(7)
    struck = []

    def strike(service, moment, again):
        # not to wait for something, but to hit any moment
        time.sleep(moment)
        helpers = service.helpers()
        struck.extend(helpers[:1])
        send(signal.SIGTERM, service.process.pid, *helpers)
        send(signal.SIGHUP, service.process.pid, *helpers)
        time.sleep(again)
        send(signal.SIGINT, *helpers)

    for _ in rounds(TRIALS, struck, TRIALS // 20):
        logins.begin()
        moments = dice.uniform(0, 1.1) * logins.lasts, dice.uniform(0, 0.05)
        striker = threading.Thread(target=strike, args=(logins.service, *moments))
        striker.start()
        logins.status()
        striker.join(LONG)
        logins.service.process.wait(LONG)
        logins.go_on()
        assert "reuse" not in server.outcomes() and len(server.families) == 1
    assert len(struck) > TRIALS // 20


@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_a_helper_ends_its_order_whatever_signal_comes(logins, server, number):
    before = len(server.outcomes())
    # the server has redeemed the refresh token, and has not said so yet
    server.stall = "head"
    logins.begin()
    end = time.monotonic() + LONG
    while len(server.outcomes()) == before and time.monotonic() < end:
        time.sleep(0.01)
    helpers = logins.service.helpers()
    assert helpers
    for _ in range(3):
        send(number, *helpers)
        time.sleep(0.05)
    server.stall = None
    server.go.set()
    assert logins.status() == 200
    assert server.outcomes()[before:] == ["ok"]
