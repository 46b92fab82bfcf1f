# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The short form of Tests/Acceptance/cassettes.py: a run with everything plays alike without a network."""

import os
import subprocess
import sys

import contract
import pytest

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


def test_a_run_with_everything_plays_alike():
    command = [sys.executable, str(contract.ROOT / "Tests/Acceptance/cassettes.py"), "--runs", "3"]
    ran = subprocess.run(command, env={**os.environ, "OUTRIDER": contract.binary()}, capture_output=True, timeout=60)
    assert ran.returncode == 0, ran.stderr.decode()
    assert "3 runs" in ran.stdout.decode()
