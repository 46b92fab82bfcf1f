# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Every transcript of the contract, replayed against the real service through the client's own wire."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from outrider._connection.discovery import connect
from outrider._connection.wire import Wire
from outrider._protocol import frames as _rpc
from peers import ROOT, serve, stop

TRANSCRIPTS = sorted((ROOT / "schema/transcripts").glob("*/*.io"))


def test_there_are_transcripts() -> None:
    assert TRANSCRIPTS


def _name(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


@pytest.fixture
def mortal(binary: str, directory: str) -> Iterator[str]:
    """The socket of a service that may be stopped."""
    path = f"{directory}/mortal.sock"
    child = serve(binary, path)
    yield path
    stop(child)


class Replay(Wire):
    """The client's wire, without its rules: what is told to be sent is sent, what comes is collected."""

    def say(self, message: Any) -> None:
        self._send(json.dumps(message).encode() + b"\n")

    def hear(self, seconds: float = 10.0) -> list[Any]:
        with self._reading:
            arrived = self._receive("transcript", time.monotonic() + seconds)
        unread = [line for _, line in arrived if isinstance(line, bytes)]
        read = [message for _, message in arrived if not isinstance(message, bytes)]
        return [*read, *[_rpc.messages(line.rstrip() + b"\n")[0] for line in unread]]


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=_name)
def test_the_service_behaves_as_the_transcript_says(
    path: Path, request: pytest.FixtureRequest, origin: str, tmp_path: Path
) -> None:
    import transcript

    steps = transcript.parse(path.read_text(), {"{origin}": origin, "{tmp}": str(tmp_path)})
    service = request.getfixturevalue("mortal" if path.parent.name == "server.stop" else "service")
    wire = Replay(connect(service, False), service)
    remembered: dict[str, Any] = {}
    try:
        for step in steps:
            for message in step.sent:
                wire.say(transcript.fill(message, remembered))
            missing = list(step.expected)
            while missing:
                for message in wire.hear():
                    missing.remove(_expected(transcript, missing, message, remembered))
    finally:
        wire.close()


def _expected(transcript: Any, missing: list[Any], message: Any, remembered: dict[str, Any]) -> Any:
    """Which of the missing messages this is."""
    problems = []
    for expected in missing:
        trial = dict(remembered)
        problem = transcript.match(expected, message, trial)
        if problem is None:
            remembered.update(trial)
            return expected
        problems.append(problem)
    pytest.fail(f"unexpected: {json.dumps(message)[:2000]}\n" + "\n".join(problems))
