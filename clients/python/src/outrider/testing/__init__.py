# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Tests of programs that use the service, without the network.

::

    from outrider import testing

    with testing.replay("tests/cassettes/users.har"):           # records the first run, plays the others
        assert program.users() == ["ada"]

    with testing.stubs() as stubs:                               # responses that the test writes
        stubs.add("https://api.example.com/users/{id}", json={"name": "ada"})
        stubs.add("https://api.example.com/flaky", responses=[{"fault": "lost"}, {"text": "ok"}])
        assert program.user(7) == "ada"
        assert stubs.requests()[0]["url"].endswith("/users/7")

Inside such a block ``$OUTRIDER_SOCKET`` leads to the test's own service, for this process and its child processes.
Clients made in the block use this service, and so do ``outrider.get`` and its like. With pytest, see
``outrider.testing.plugin``.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import time

from .._connection.discovery import binary
from .._protocol.arguments import absolute, meant, present
from .._protocol.exceptions import OutriderError, ReplayError, ServerNotFound
from .._protocol.hints import Any, Mapping

__all__ = ["RecordingFailed", "Stage", "replay", "stubs"]

_START_SECONDS = 30.0
_STOP_SECONDS = 10.0

MODES = ("once", "none", "newEpisodes", "all")
_OPTIONS = ("match", "ignore", "mask", "only", "except", "timing", "repeat")


class RecordingFailed(OutriderError):
    """The cassette could not be written, such as on a full disk. The requests went on."""


def replay(cassette: str | os.PathLike[str], mode: str = "once", **options: Any) -> Stage:
    """A block whose requests are recorded to a cassette, or played back.

    ``mode`` is ``once``, ``none``, ``newEpisodes`` or ``all``; the other options are the parameters of
    ``replay.start``: ``match``, ``ignore``, ``mask``, ``only``, ``timing`` and ``repeat``; ``except`` is written
    ``except_``. In ``mask["values"]``, ``$NAME`` is a variable of this process.
    """
    return Stage(cassette, mode, **options)


def stubs() -> Stage:
    """A block whose requests get the responses of stubs, and fail without a stub."""
    return Stage()


class Stage:
    """A service of its own for a test: with a cassette, with stubs, or with both."""

    def __init__(self, cassette: str | os.PathLike[str] | None = None, mode: str = "once", **options: Any) -> None:
        self._replay = "-"
        self._cassette: str | None = None
        self._mode = mode
        if cassette is not None:
            if "except_" in options:
                options["except"] = options.pop("except_")
            _check(mode, options)
            self._cassette = absolute(cassette, "cassette")
            self._replay = json.dumps({"path": self._cassette, "mode": mode, **options})
        self._directory = ""
        self._process: subprocess.Popen[bytes] | None = None
        self._before: str | None = None
        self._client: Any = None
        self.report: dict[str, Any] = {}
        """The result of ``replay.stop``; after the block."""

    def __enter__(self) -> Stage:
        program = binary()
        if program is None:
            raise ServerNotFound("there is no outrider executable for the test; set OUTRIDER_BIN to its path")
        if self._cassette is not None:
            if self._mode == "none" and not os.path.exists(self._cassette):
                raise ReplayError(
                    f'there is no cassette {self._cassette}, and the mode "none" records none: record it first, with'
                    ' mode="once" (pytest: --outrider-mode once)',
                    code=2201,
                    kind="replayFailed",
                    reason="cassetteUnusable",
                )
            os.makedirs(os.path.dirname(self._cassette), exist_ok=True)
        self._directory = tempfile.mkdtemp(prefix="outrider-")
        socket = os.path.join(self._directory, "s")
        environment = {name: value for name, value in os.environ.items() if name != "OUTRIDER_SOCKET"}
        environment["OUTRIDER_REPLAY"] = self._replay
        try:
            self._process = subprocess.Popen(
                [program, "serve", "--socket", socket, "--no-config"],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
            )
            self._wait(socket)
        except BaseException:
            self._clean()
            raise
        self._before = os.environ.get("OUTRIDER_SOCKET")
        os.environ["OUTRIDER_SOCKET"] = socket
        _leave()
        from .._sync.client import Client

        self._client = Client(socket=socket, spawn=False)
        return self

    def _wait(self, socket: str) -> None:
        from _socket import AF_UNIX, socket as Socket

        process, deadline = self._process, time.monotonic() + _START_SECONDS
        assert process is not None and process.stderr is not None
        while True:
            probe = Socket(AF_UNIX)
            try:
                probe.connect(socket)
                return
            except OSError:
                if process.poll() is not None:
                    said = process.stderr.read().decode(errors="replace").strip()
                    raise ServerNotFound(said or "the service of the test did not start") from None
                if time.monotonic() > deadline:
                    raise ServerNotFound("the service of the test takes long to start") from None
                time.sleep(0.005)
            finally:
                probe.close()

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            if self._replay != "-":
                self.report = self._client.call("replay.stop", session="*")
        finally:
            self._client.close()
            _leave()
            if self._before is None:
                os.environ.pop("OUTRIDER_SOCKET", None)
            else:
                os.environ["OUTRIDER_SOCKET"] = self._before
            self._clean()
        failure = self.report.get("failure")
        if failure and error is None:
            raise RecordingFailed(failure["message"])

    def _clean(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.terminate()
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            if process.stderr is not None:
                process.stderr.close()
        shutil.rmtree(self._directory, ignore_errors=True)

    # Stubs

    def add(
        self, url: str, method: str | None = None, *, status: int | None = None,
        headers: Mapping[str, str] | None = None, json: Any = None, text: str | None = None, base64: str | None = None,
        file: str | os.PathLike[str] | None = None, chunks: list[dict[str, Any]] | None = None,
        trailers: Mapping[str, str] | None = None, delay: float | None = None, fault: Any = None,
        responses: list[dict[str, Any]] | None = None, **rule: Any,
    ) -> str:
        """Adds a stub, and returns its name.

        ``url`` may hold ``*`` and ``{name}``. ``rule`` may say ``query``, ``body``, ``times``, ``after``, ``every`` and
        ``unmatched`` as ``stub.add`` does; ``match_headers`` are fields that the request must have.
        """
        if "match_headers" in rule:
            rule["headers"] = rule.pop("match_headers")
        if method is not None:
            rule["method"] = method
        if responses is not None:
            rule["responses"] = responses
        else:
            rule["response"] = present(
                status=status, headers=headers, json=json, text=text, base64=base64,
                file=None if file is None else absolute(file, "file"), chunks=chunks, trailers=trailers,
                delay=delay, fault=fault,
            )  # fmt: skip
        added = self._client.call("stub.add", session="*", url=url, **rule)
        return str(added["stub"])

    def remove(self, stub: str | None = None) -> int:
        """Removes a stub, or all of them."""
        return int(self._client.call("stub.remove", session="*", **present(stub=stub))["removed"])

    def added(self) -> list[dict[str, Any]]:
        """The stubs, with their hits."""
        return list(self._client.call("stub.list", session="*")["stubs"])

    def requests(self, stub: str | None = None) -> list[dict[str, Any]]:
        """The requests that came, without their secrets."""
        return list(self._client.call("stub.requests", session="*", **present(stub=stub))["requests"])

    def info(self) -> dict[str, Any]:
        """The state of the cassette, from ``replay.get``."""
        return dict(self._client.call("replay.get", session="*"))


def _check(mode: str, options: Mapping[str, Any]) -> None:
    """Refuses a mode and options that no cassette has."""
    if mode not in MODES:
        raise ValueError(f"mode must be one of {', '.join(MODES)}, not {mode!r}")
    for name, value in options.items():
        if name not in _OPTIONS:
            hint = meant(name, ("cassette", "mode", *_OPTIONS), f"; there are {', '.join(_OPTIONS)}")
            raise TypeError(f"a cassette has no option {name}{hint}")
        try:
            json.dumps(value)
        except (TypeError, ValueError) as problem:
            raise TypeError(f"{name} cannot be written as JSON: {problem}") from None


def _leave() -> None:
    """The shared client finds its service anew."""
    from .. import _api

    _api._leave()
