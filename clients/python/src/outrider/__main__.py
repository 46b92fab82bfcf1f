# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""``python -m outrider``: the client from a shell, for a first look.

The exit status is that of ``outrider call``: 0 a result, 1 an error, 2 wrong usage, 3 no connection, 4 too late,
5 the connection ended, 6 the service broke the protocol.
"""

from __future__ import annotations

import sys

from ._protocol import exceptions as errors
from ._protocol.frames import decode, rewritten
from ._protocol.hints import Any
from ._sync.client import Client

USAGE = """\
usage: python -m outrider [--socket PATH | --stdio] COMMAND

get URL                   print the body of a page
call METHOD [PARAM...]    call any method, and print its result as a line of JSON
                          PARAM is name=text, name:=JSON, or one JSON object with all of them
info                      print what the service says about itself

The service is found by itself, and started if there is none.
"""


def main(words: list[str]) -> int:
    """Runs a command; returns the exit status."""
    try:
        settings, words = _settings(words)
        if not words or words[0] in ("-h", "--help", "help"):
            (sys.stdout if words else sys.stderr).write(USAGE)
            return 0 if words else 2
        with Client(**settings) as client:
            return _run(client, words[0], words[1:])
    except errors.OutriderError as problem:
        return _failed(problem)
    except (KeyError, ValueError) as problem:
        sys.stderr.write(f"{problem}\n{USAGE}")
        return 2
    except BrokenPipeError:
        return 1
    except KeyboardInterrupt:
        return 130


def _settings(words: list[str]) -> tuple[dict[str, Any], list[str]]:
    if words[:1] == ["--stdio"]:
        return {"stdio": True}, words[1:]
    if words[:1] == ["--socket"]:
        if len(words) < 2:
            raise ValueError("--socket needs a path")
        return {"socket": words[1]}, words[2:]
    return {}, words


def _run(client: Client, command: str, words: list[str]) -> int:
    if command == "get" and len(words) == 1:
        response = client.get(words[0])
        for piece in response.iter_bytes():
            sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()
        return 0 if response.ok else 1
    if command == "info" and not words:
        command, words = "call", ["server.info"]
    if command == "call" and words:
        result = client.invoke(words[0], _params(words[1:]))
        sys.stdout.write(rewritten(result) + "\n")
        return 0
    needed = {"get": "one URL", "call": "a method", "info": "no more words"}.get(command)
    raise ValueError(f"there is no command {command!r}" if needed is None else f"{command} needs {needed}")


def _params(words: list[str]) -> dict[str, Any]:
    params: dict[str, Any] = {}
    for word in words:
        name, mark, value = word.partition("=")
        if word.startswith("{"):
            given = decode(word)
            params.update(given)
        elif mark and name.endswith(":"):
            try:
                params[name[:-1]] = decode(value)
            except ValueError as problem:
                raise ValueError(f"{name[:-1]}: {problem} (name:= takes JSON, name= takes text)") from None
        elif mark:
            params[name] = value
        else:
            raise ValueError(f"{word!r} is neither name=text nor name:=JSON nor a JSON object")
    return params


_STATUSES: tuple[tuple[type[errors.OutriderError], int], ...] = (
    (errors.ServerNotFound, 3),
    (errors.ServerGone, 5),
    (errors.RequestTimeout, 4),
    (errors.ProtocolError, 6),
    (errors.OutriderError, 1),
)


def _failed(problem: errors.OutriderError) -> int:
    sys.stderr.write(f"{type(problem).__name__}: {problem}\n")
    return next(status for kind, status in _STATUSES if isinstance(problem, kind))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
