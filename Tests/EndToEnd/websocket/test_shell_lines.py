# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Lines of standard input as messages of `outrider websocket`."""

import subprocess

import contract
import pytest
from shell import outrider, refused
from websocket_server import echo, websockets_server

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


def test_lines_of_every_length_come_whole():
    """Lines are read in pieces of 64 KiB."""
    lines = [b"a" * 65_535, b"", b"b" * 65_536, b"c", b"d" * 200_000, b"", b"e"]
    with websockets_server(echo) as url:
        found = outrider("websocket", "--stdio", "--count", "7", url, stdin=b"\n".join(lines))
    assert found.returncode == 0, found.stderr
    assert found.stdout.split(b"\n") == [*lines, b""]


def test_input_without_a_line_feed_is_bounded():
    with websockets_server(echo) as url:
        command = [contract.binary(), "websocket", "--stdio", url]
        done = subprocess.run(command, input=bytes(66 << 20), capture_output=True, timeout=180)
    refused(done, 2, "longer than 64M")
