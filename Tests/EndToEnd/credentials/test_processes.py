# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Many programs of one user see a token expire at the same moment: services, the engines of editors, and commands.

Three rounds of 40 processes; with OUTRIDER_ROUNDS=100 so many, of 200.
"""

import contextlib
import os
import subprocess

import contract
import pytest
from authorization_server import Authorizing
from credential_process import Service, serving

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

ROUNDS = int(os.environ.get("OUTRIDER_ROUNDS", "3"))
# services with a socket, engines on stdio, commands that ask a service, and commands with an engine of their own
SERVICES, ENGINES, ASKING, ALONE = (4, 136, 40, 20) if ROUNDS >= 100 else (2, 24, 10, 4)
LIFETIME = 3600
LONG = 240


def test_one_request_whoever_they_are_that_see_a_token_expire(store, clocks, tmp_path):
    """An hour passes for all at once, again and again: each time there is one request, and all get its token."""
    store.environment.update(clocks.environment)
    environment = {**store.service_environment, "TMPDIR": str(tmp_path)}
    with Authorizing(lifetime=LIFETIME) as server, contextlib.ExitStack() as stack:
        store.put(server, server.issue())
        sockets = [stack.enter_context(serving(environment, tmp_path / f"s{n}")) for n in range(SERVICES)]
        engines = [
            stack.enter_context(Service(store, tmp_path / "log", tmp_path, level="error")) for _ in range(ENGINES)]
        before = {None}
        for turn in range(ROUNDS):
            numbers = [engine.start("oauth.token", credential="work") for engine in engines]
            words = [["--socket", str(sockets[n % SERVICES])] for n in range(ASKING)] + [["--stdio"]] * ALONE
            commands = [
                subprocess.Popen(
                    [contract.binary(), "token", "work", *more], env=environment, stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                for more in words
            ]
            tokens = set()
            for engine, number in zip(engines, numbers):
                reply = engine.reply(number)
                assert reply and "result" in reply, reply
                tokens.add(reply["result"]["accessToken"])
            for command in commands:
                output, errors = command.communicate(timeout=LONG)
                assert command.returncode == 0, errors
                tokens.add(output.decode().strip())
            assert server.outcomes() == ["ok"] * (turn + 1), turn
            assert len(tokens) == 1 and tokens != before
            assert server.is_good(*tokens)
            before = tokens
            clocks.jump(wall=LIFETIME, boot=LIFETIME)
