# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The package as a command."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

import outrider
import pytest
from peers import Peer


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (["call", "diagnostics.echo", "a=1", "b:=[2]", '{"c":3}'], 0, '{"a":"1","b":[2],"c":3}\n'),
        (["call", "no.such"], 1, "UnknownMethod"),
        (["info"], 0, '"protocol":1'),
        (["get", "http://127.0.0.1:1/"], 1, "ConnectError"),
        (["nonsense"], 2, "there is no command 'nonsense'\nusage"),
        (["get"], 2, "get needs one URL\nusage"),
        (["call"], 2, "call needs a method\nusage"),
        (["call", "diagnostics.echo", "b:=x"], 2, "b: not JSON: 'x' (name:= takes JSON, name= takes text)"),
        (["call", "diagnostics.echo", "word"], 2, "neither"),
        ([], 2, "usage"),
        (["--help"], 0, "\nget URL                   print the body of a page\ncall METHOD [PARAM...]    call any"),
    ],
)
def test_the_module_is_a_command(service: str, words: list[str], status: int, says: str) -> None:
    command = [sys.executable, "-m", "outrider", "--socket", service, *words]
    source = os.path.dirname(os.path.dirname(outrider.__file__))
    environment = {**os.environ, "PYTHONPATH": source}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == status and says in done.stdout + done.stderr


def test_a_number_that_is_too_large_for_python_is_printed(service: str, peer: Callable[..., Peer]) -> None:
    url = peer(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 7\r\n\r\n[1e999]").url
    test_the_module_is_a_command(service, ["call", "data.send", f"url={url}"], 0, '"json":[1e999]')
