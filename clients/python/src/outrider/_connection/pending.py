# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Calls of the awaiting client that wait for their replies, and writers that wait for room."""

from __future__ import annotations

import asyncio

from .._protocol.exceptions import OutriderError
from .._protocol.hints import Any, Callable, Sequence
from .._protocol.openings import endings
from .wire import Unsent


class Room(asyncio.BaseProtocol):
    """A protocol whose writers wait while the other end takes less than they write."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._outgoing: list[bytes] = []
        self._room: asyncio.Future[None] | None = None

    def pause_writing(self) -> None:
        """The other end takes less than we write: writers wait."""
        if self._room is None:
            self._room = self.loop.create_future()

    def resume_writing(self) -> None:
        """There is room again."""
        room, self._room = self._room, None
        if room is not None and not room.done():
            room.set_result(None)


class Pending:
    """A call that waits for its reply."""

    __slots__ = ("future", "message", "method", "turn")

    def __init__(self, method: str, future: asyncio.Future[Any], turn: int) -> None:
        self.method = method
        self.future = future
        self.turn = turn
        self.message: Any = None

    def deliver(self, number: int, message: Any) -> None:
        """Takes the reply."""
        self.message = message
        if not self.future.done():
            self.future.set_result(message)

    def fail(self, problem: OutriderError) -> None:
        """No reply will come."""
        if not self.future.done():
            self.future.set_exception(problem)


class LeftRead(Pending):
    """A ``stream.read`` whose task was cancelled. What it takes from the stream goes to the next read."""

    __slots__ = ()

    def fail(self, problem: OutriderError) -> None:
        """No reply will come, and the next read fails by itself."""
        if not self.future.done():
            self.future.set_result(None)


class LeftOpening(Pending):
    """A call that opens something, and whose task was cancelled. What its reply names is ended."""

    __slots__ = ("post",)

    def __init__(
        self, method: str, future: asyncio.Future[Any], turn: int,
        post: Callable[[list[tuple[str, dict[str, Any]]]], None],
    ) -> None:
        super().__init__(method, future, turn)
        self.post = post

    def deliver(self, number: int, message: Any) -> None:
        """Takes the reply."""
        calls = endings(self.method, message)
        if calls:
            self.post(calls)

    def fail(self, problem: OutriderError) -> None:
        """No reply will come."""


class AsyncBatch(Pending):
    """Many calls, of which some are on their way and others wait for their turn. At first one may be on its way."""

    __slots__ = ("left", "params", "places", "progress", "replies", "send", "sent", "wanted", "window")

    def __init__(
        self, method: str, params: Sequence[str], wanted: int, future: asyncio.Future[Any], turn: int,
        send: Callable[[AsyncBatch, int, int], None],
    ) -> None:
        super().__init__(method, future, turn)
        self.send = send
        self.params = params
        self.wanted = min(wanted, len(params))
        self.window = 1
        self.places: dict[int, int] = {}
        self.replies: list[Any] = [None] * len(params)
        self.left = len(params)
        self.sent = 0
        self.progress = True

    def widen(self, free: int) -> int:
        """Takes as many of the free places as are wanted; returns their number."""
        more = max(0, min(free, self.wanted - self.window))
        self.window += more
        return more

    def advance(self) -> None:
        """Sends as many as the window has room for, but not a few at a time."""
        unsent = len(self.params) - self.sent
        free = self.window - (self.left - unsent)
        if unsent and (free * 4 >= self.window or free >= unsent):
            upto = self.sent + min(free, unsent)
            self.send(self, self.sent, upto)
            self.sent = upto

    def deliver(self, number: int, message: Any) -> None:
        """Puts the reply into its place."""
        self.replies[self.places.pop(number)] = message
        self.left -= 1
        self.progress = True
        if self.left:
            self.advance()
        elif not self.future.done():
            self.future.set_result(None)

    def fail(self, problem: OutriderError) -> None:
        """Fails all calls that still wait; the batch, if none has been sent."""
        if isinstance(problem, Unsent) and self.left == len(self.params) and not self.future.done():
            self.future.set_exception(problem)
        self.replies = [problem if reply is None else reply for reply in self.replies]
        if not self.future.done():
            self.future.set_result(None)
