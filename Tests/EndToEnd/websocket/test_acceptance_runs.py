# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The short form of the acceptance runs of WebSockets and TCP streams in Tests/Acceptance/conversations.py."""

import os
import subprocess
import sys

import contract
import pytest

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


@pytest.mark.parametrize("name", ["servers", "clients", "bombs", "attach"])
def test_an_acceptance_run(name):
    command = [sys.executable, str(contract.ROOT / "Tests/Acceptance/conversations.py"), "--quick", name]
    ran = subprocess.run(command, env={**os.environ, "OUTRIDER": contract.binary()}, capture_output=True, timeout=100)
    assert ran.returncode == 0, ran.stderr.decode()
    print(ran.stdout.decode())
