# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The short form of the acceptance runs of WebSockets, TCP streams and networks in Tests/Acceptance."""

import os
import shutil
import subprocess
import sys

import contract
import pytest
from network_namespace import island

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


@pytest.mark.parametrize("name", ["servers", "clients", "bombs", "attach"])
def test_an_acceptance_run(name):
    run("conversations.py", name)


@pytest.mark.parametrize("name", ["events", "requests", "links", "routes", "reconnects", "pings", "blind", "rest"])
def test_a_change_of_the_network(name):
    """[X8] [X10]"""
    if shutil.which("ip") is None:
        pytest.skip("ip is not installed")
    with island() as place:
        if not place.exists:
            pytest.skip("no namespace can be made here: user namespaces are not permitted")
    run("network.py", name)


def run(script, name):
    command = [sys.executable, str(contract.ROOT / "Tests/Acceptance" / script), "--quick", name]
    ran = subprocess.run(command, env={**os.environ, "OUTRIDER": contract.binary()}, capture_output=True, timeout=100)
    assert ran.returncode == 0, ran.stderr.decode()
    print(ran.stdout.decode())
