# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""A connection of the awaiting client: an asyncio protocol, so that no line is too long for a stream's limit.

Frames written in the same turn of the event loop leave in a single ``send``.
"""

from __future__ import annotations

import asyncio
import os
from _socket import MSG_DONTWAIT, MSG_PEEK, SHUT_RDWR
from collections import deque
from contextvars import ContextVar
from itertools import count
from socket import socket as Socket
from typing import Any, cast

from .._protocol.exceptions import LimitError, OutriderError, ProtocolError, RequestTimeout, ServerGone, from_error
from .._protocol.frames import GREETING, Incoming, call_frame, cancel_frame, decode, encode
from .._protocol.hints import Sequence
from .._protocol.openings import opens
from .discovery import is_hung_up
from .inbox import Inbox
from .pending import AsyncBatch, LeftOpening, LeftRead, Pending, Room
from .waiters import CALLED_BACK, batch_frames, late
from .wire import IN_FLIGHT, NESTED, UPLOADED, Unsent

SPARE = 16
"""The places that batches leave to other calls, such as those of functions that a request of a batch waits for."""

INSIDE = ContextVar("INSIDE", default=False)
"""Whether a function that the service has called runs, or something that the function has started."""

TURN = ContextVar("TURN", default=False)
"""Whether a request with functions runs here: those that its body or its progress makes wait for no place of theirs."""

FEEDING = ContextVar("FEEDING", default=False)
"""The same for a body that is written piece by piece."""

CALLBACK_COMES = 0.02
"""Seconds from the reply to the start of a request to its first callback, as a rule."""

BODIES = 200
"""The most responses of a drop-in at a time with bodies to come. The service allows 256 streams."""

UPLOADS = 48
"""The most requests of a drop-in at a time with streams for bodies."""


class AsyncConnection(Room, asyncio.Protocol):
    """A connection to the service: calls out, replies in, and everything else to the inbox."""

    def __init__(self, loop: asyncio.AbstractEventLoop, inbox: Inbox, name: str) -> None:
        super().__init__(loop)
        self.pid = os.getpid()
        self.dead: str | None = None
        self.name = name
        self.socket: Socket | None = None
        self._inbox = inbox
        self._next = count(1).__next__
        self._waiting: dict[int, Pending] = {}
        self._left_reads: dict[str, LeftRead] = {}
        self._incoming = Incoming()
        self._refusal: Any = None
        self._turn = self._unsent = 1
        # the call that was written last, and whether the service left its end unread
        self._last: Pending | None = None
        self._unread = False
        # what goes before the first call, until the service has said something
        self.greeting = GREETING
        # the iterations that end with this connection: none if the service has said nothing, and None for all
        self.queues: list[Any] | None = []
        self._transport: asyncio.Transport | None = None
        self._free = IN_FLIGHT
        self._queue: deque[asyncio.Future[None]] = deque()
        # calls of functions, for which other calls may wait
        self._nested: deque[asyncio.Future[None]] = deque()
        self._batches: list[AsyncBatch] = []
        self.turns = asyncio.Semaphore(CALLED_BACK)
        self.feeds = asyncio.Semaphore(UPLOADED)
        self.bodies = asyncio.Semaphore(BODIES)
        self.uploads = asyncio.Semaphore(UPLOADS)

    # Calls

    async def call(self, method: str, params: str, seconds: float) -> Any:
        """Makes a call with its parameters as JSON text; returns the reply in the form of :meth:`Incoming.take`, also
        for errors."""
        if self._left_reads:
            found = await self._left_read(method, params)
            if found is not None:
                return found
        number = self._next()
        frame = call_frame(number, method, params)
        await self._reserve()
        pending = Pending(method, self.loop.create_future(), self._turn)
        self._waiting[number] = pending
        timer = self.loop.call_later(seconds, self._expire, number)
        try:
            self.write(frame)
            self._last = pending
            return await pending.future
        except (asyncio.CancelledError, RequestTimeout):
            self.write(cancel_frame(number))
            self._leave(number, pending, params)
            raise
        finally:
            timer.cancel()
            if self._waiting.get(number) is pending:
                del self._waiting[number]
            if self._last is pending:
                self._last = None
            self._release(1)

    def _leave(self, number: int, pending: Pending, params: str) -> None:
        """Keeps the reply to a read that is on its way, or has come: the service gives the bytes in it only once. Ends
        what another call has opened whose reply comes too late."""
        left: Pending
        if pending.method == "stream.read":
            left = LeftRead(pending.method, self.loop.create_future(), pending.turn)
            self._left_reads[decode(params)["stream"]] = left
        elif opens(pending.method, params):
            left = LeftOpening(pending.method, self.loop.create_future(), pending.turn, self.post)
        else:
            return
        if pending.message is None:
            self._waiting[number] = left
        else:
            left.deliver(number, pending.message)

    async def _left_read(self, method: str, params: str) -> Any:
        """The reply to an earlier read of the same stream, if that read took something."""
        if method not in ("stream.read", "stream.close"):
            return None
        stream = decode(params).get("stream")
        left = self._left_reads.get(stream)
        if left is None or method == "stream.close":
            self._left_reads.pop(stream, None)
            return None
        # a cancelled call is answered at once
        message = await asyncio.shield(left.future)
        if self._left_reads.pop(stream, None) is None or (type(message) is dict and "error" in message):
            return None
        return message

    async def batch(self, method: str, params: Sequence[str], window: int, seconds: float) -> list[Any]:
        """Many calls, at most ``window`` at a time without a reply; their messages in the order of ``params``.

        A call without a reply has an exception in its place. ``seconds`` is how long nothing may arrive.
        """
        await self._reserve()
        future = self.loop.create_future()
        batch = AsyncBatch(method, params, min(window, IN_FLIGHT), future, self._turn, self._send_batch)
        watch = self.loop.create_task(self._watch(batch, seconds))
        self._batches.append(batch)
        try:
            # calls that last long may hold places, and must hold up neither the batch nor the calls behind it
            self._free -= batch.widen(self._free - SPARE)
            batch.advance()
            await batch.future
        except asyncio.CancelledError:
            self._cancel_all(batch)
            raise
        finally:
            watch.cancel()
            for number in list(batch.places):
                self._waiting.pop(number, None)
            self._batches.remove(batch)
            self._release(batch.window)
        return batch.replies

    def _send_batch(self, batch: AsyncBatch, start: int, upto: int) -> None:
        """Writes some calls of a batch."""
        self.write(batch_frames(batch, batch.params, start, upto, self._waiting, self._next))

    async def _watch(self, batch: AsyncBatch, seconds: float) -> None:
        while batch.progress:
            batch.progress = False
            await asyncio.sleep(seconds)
        self._cancel_all(batch)
        batch.fail(late(batch.method))

    def _cancel_all(self, batch: AsyncBatch) -> None:
        self.write(b"".join([cancel_frame(number) for number in batch.places]))

    def _expire(self, number: int) -> None:
        if pending := self._waiting.pop(number, None):
            pending.fail(late(pending.method))

    def post(self, calls: list[tuple[str, dict[str, Any]]]) -> None:
        """Makes calls whose results are ignored, for finalizers; from any thread."""
        if self.dead is not None or self.pid != os.getpid():
            return
        if self.loop.is_closed():
            # nothing can be sent; the service ends all that belongs to a connection
            self.drop()
        else:
            for method, params in calls:
                if method == "stream.close":
                    self._left_reads.pop(params["stream"], None)
            frames = [call_frame(self._next(), method, encode(params)) for method, params in calls]
            self.loop.call_soon_threadsafe(self.write, b"".join(frames))

    # Writing

    def write(self, frame: bytes) -> None:
        """Writes a frame, together with all others of this turn of the event loop."""
        self._last = None
        if self.dead is None and frame:
            if not self._outgoing:
                self.loop.call_soon(self._flush)
            self._outgoing.append(frame)
        elif self.dead is not None:
            self._fail_waiting()

    def _flush(self) -> None:
        outgoing, self._outgoing = self._outgoing, []
        if self._turn == 1:
            outgoing.insert(0, self.greeting)
        self._turn += 1
        transport = self._transport
        if transport is not None and self.dead is None:
            first = transport.get_write_buffer_size() == 0
            transport.write(outgoing[0] if len(outgoing) == 1 else b"".join(outgoing))
            # A transport that closes over the first thing it is given has sent nothing of it.
            self._unsent = self._turn - 1 if first and transport.is_closing() else self._turn

    async def _reserve(self) -> None:
        """Waits until one more call may be in flight, and until the service takes our bytes."""
        while self._room is not None:
            await asyncio.shield(self._room)
        is_nested = INSIDE.get()
        if (self._free > 0 and not self._queue) or (is_nested and self._free > -NESTED):
            self._free -= 1
            return
        turn = self.loop.create_future()
        (self._nested if is_nested else self._queue).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._release(1)
            raise

    def _release(self, calls: int) -> None:
        self._free += calls
        for queue, least in ((self._nested, -NESTED), (self._queue, 0)):
            while queue and (queue[0].done() or self._free > least):
                turn = queue.popleft()
                if not turn.done():
                    self._free -= 1
                    turn.set_result(None)
        for batch in self._batches:
            more = batch.widen(self._free - SPARE)
            if more:
                self._free -= more
                batch.advance()

    # Reading

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The event loop gives us the transport."""
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        """Bytes arrived."""
        if data and self.greeting:
            self.greeting, self.queues = b"", None
        try:
            arrived = self._incoming.take(data)
        except ProtocolError as problem:
            self._die(str(problem))
            return
        for number, message in arrived:
            if type(message) is dict and "method" in message:
                if refusal := self._inbox.unasked(self, message):
                    self.write(refusal)
            else:
                pending = self._waiting.pop(number, None)
                if pending is not None:
                    pending.deliver(number, message)
                elif number is None and isinstance(message, dict):
                    self._refused(message.get("error"))

    # Ends

    def _refused(self, error: Any) -> None:
        """The service sent an error without an id: the reason why the connection ends."""
        problem = from_error(error)
        if isinstance(problem, LimitError):
            self._refusal = error
        self._die(str(problem))

    def has_ended(self) -> bool:
        """Whether the connection is over, also if the event loop has not been told yet."""
        if self.dead is None and self.socket is not None:
            try:
                if self.socket.recv(1, MSG_DONTWAIT | MSG_PEEK) and not is_hung_up(self.socket):
                    return False
                # replies to other tasks may have come before the end
                while self.dead is None and (data := self.socket.recv(1 << 18, MSG_DONTWAIT)):
                    self.data_received(data)
                self._die("it closed the connection")
            except BlockingIOError:
                return False
            except OSError as problem:
                self._unread = isinstance(problem, ConnectionResetError)
                self._die(str(problem))
        return self.dead is not None

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is over."""
        if exc is not None and self.dead is None and self._transport is not None:
            # what could not be written to may have said why
            try:
                self.data_received(os.read(self._transport.get_extra_info("socket").fileno(), 65536))
            except OSError:
                pass
        # so ends a Unix socket with bytes that the other end has not read
        self._unread = self._unread or isinstance(exc, ConnectionResetError)
        self._die("it closed the connection" if exc is None else str(exc))

    def _die(self, why: str) -> None:
        if self.dead is None:
            self.dead = why
            if self._transport is not None:
                self._transport.abort()
            self.resume_writing()
            self._inbox.closed(self.gone(), self)
        self._fail_waiting()

    def _fail_waiting(self) -> None:
        waiting, gone = self._waiting, self.gone()
        self._waiting = {}
        unread = self._last if self._unread else None
        for pending in list(waiting.values()):
            is_unsent = (pending.turn >= self._unsent or pending is unread) and self._refusal is None
            pending.fail(Unsent(str(gone)) if is_unsent else gone)

    def gone(self) -> OutriderError:
        """The exception for waiting calls."""
        if self._refusal is not None:
            return from_error(self._refusal)
        named = tuple([pending.method for pending in self._waiting.values()])
        return ServerGone(f"the service ({self.name}) has gone: {self.dead}", in_flight=named)

    def close(self) -> None:
        """Ends the connection; calls in flight end with :class:`~outrider.ServerGone`."""
        self.queues = None
        self._die("this client closed the connection")

    def drop(self) -> None:
        """The same from another event loop, or after the end of the connection's event loop."""
        if self.socket is not None:
            try:
                self.socket.shutdown(SHUT_RDWR)
            except OSError:
                pass
            if self.loop.is_closed():
                self.dead = self.dead or "its event loop is closed"
                self.socket.close()
                if hasattr(self._transport, "_sock"):
                    # only the closed event loop could have closed the transport, which would warn of that
                    cast(Any, self._transport)._sock = None
