# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The short form of scripts/fuzz: each part is built by itself, and takes some seconds of generated and damaged input."""

import re
import subprocess

import pytest
from house import CHECKOUT

COUNTS = {"json": 200_000, "http2": 2_000_000, "websocket": 200_000}


@pytest.mark.parametrize("what", COUNTS)
def test_generated_input_finds_no_fault(what):
    command = [CHECKOUT / "scripts/fuzz", what, "--count", str(COUNTS[what]), "--seed", "7"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0 and done.stdout.strip(), done.stdout[-2000:] + done.stderr[-2000:]


def test_seconds_go_on_with_further_seeds():
    command = [CHECKOUT / "scripts/fuzz", "json", "--seconds", "2"]
    found = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert found.returncode == 0, found.stdout + found.stderr
    assert re.search(r"json: [\d,]+0,000 inputs in 2 s, no fault", found.stdout)
