# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Bytes to and from the service: whole messages in, whole frames out, and no wait without an end.

Reading is done by the thread that holds ``_reading``, writing by the one that holds ``_writing``. A thread that must
wait to write reads meanwhile, because the service takes nothing more from a client that does not read.

A signal handler may raise between any two steps of the main thread, also between a call and the assignment of its
result. So locks are taken by :func:`atomic_acquire`, and bytes are read and written in the same form. A message that is
nevertheless interrupted ends the connection.

A signal handler, or a finalizer that the garbage collector runs, may also make a call in the middle of a call of the
same thread. The inner call would wait for locks that only the outer call can release, so it does not wait: see
:meth:`Wire._nested`.
"""

from __future__ import annotations

import os
from _socket import MSG_DONTWAIT, MSG_NOSIGNAL, MSG_PEEK, MSG_WAITALL, SHUT_RDWR, SO_RCVTIMEO, SOL_SOCKET
from _socket import socket as Socket
from _struct import pack
from _thread import LockType, allocate_lock, get_ident
from errno import ECONNRESET
from time import monotonic

from .._protocol.exceptions import LimitError, OutriderError, ProtocolError, ServerGone, from_error
from .._protocol.frames import GREETING, Incoming
from .._protocol.hints import Any
from .discovery import is_hung_up
from .polling import PATIENCE, BusyPolling
from .waiters import Waiter, atomic_acquire, late, nested

IN_FLIGHT = 240
"""The most calls at a time without a reply. The service allows 256, and may count some that are already over."""

NESTED = 12
"""The calls of functions for which other calls wait: so many more may be in flight."""

UPLOADED = 200
"""The most requests at a time whose bodies are written piece by piece. The service allows 256 streams, and
streams and WebSockets need some of them."""

WRITE_PATIENCE = 60.0
"""Seconds in which a live service takes at least a byte."""

ENDINGS = frozenset(
    {"events.unsubscribe", "request.forget", "response.release", "session.close", "stream.close", "websocket.close"}
)
"""The calls that end something, and may do so later than they return."""

_FLAGS = MSG_DONTWAIT | MSG_NOSIGNAL


class Unsent(ServerGone):
    """The service has not read the whole call: connecting and repeating is safe."""


class Wire:
    """A stream socket to the service. ``dead`` is the reason of its end, after the end."""

    def __init__(self, stream: Socket, name: str) -> None:
        self.pid = os.getpid()
        self.dead: str | None = None
        self.name = name
        self._stream = stream
        self._writing = allocate_lock()
        self._reading = allocate_lock()
        # the threads that hold the locks, apart from the writer that is the leader; 0 for none
        self._leader = self._writer = 0
        self._incoming = Incoming()
        self._stash: list[bytes] = []
        self._fresh: bytes | int | None = None
        self._owed: list[bytes] = []
        self._waiting: dict[int, Waiter] = {}
        self.greeting, self._written = GREETING, 0
        # the number of writes, and whether the end of the last one is unread: that resets a Unix socket
        self._writes, self._unread = 0, False
        self._refusal: Any = None
        self._patience = 0.0
        self._polling = BusyPolling()
        # the threads with a turn, see Turn, and behind them those that wait for one
        self.turns: dict[int | tuple[int, int], LockType] = {}
        # the same for bodies that are written piece by piece
        self.feeds: dict[int | tuple[int, int], LockType] = {}
        stream.settimeout(None)

    # Reading: only with the reading lock

    def _receive(self, method: str, deadline: float) -> list[tuple[Any, Any]]:
        """Complete messages, at least one, in the form of :meth:`Incoming.take`. Their bytes, or the count of them,
        stay in ``_fresh`` until the caller has handed them out."""
        incoming = self._incoming
        while True:
            if self._stash:
                self._fresh = data = b"".join(self._stash)
                self._stash = []
                arrived = incoming.take(data)
                if arrived:
                    return arrived
                self._fresh = None
            remaining = deadline - monotonic()
            patience = self._patience
            # A patience that is right within a tenth is left alone: setting it costs a system call.
            wrong = not 0.9 * patience <= remaining <= 1.1 * patience
            if wrong and remaining <= 0:
                raise late(method)
            try:
                if wrong:
                    self._set_patience(remaining)
                if incoming.missing:
                    # a body comes as a whole, in one system call
                    [self._fresh] = map(self._stream.recv_into, (incoming.room(),), (0,), (MSG_WAITALL,))
                else:
                    # little is asked for where little is expected: the memory for it is made before anything is read
                    self._receive_some(1 << 16 if incoming.size < 1 << 17 else 1 << 20)
            except BlockingIOError:
                self._patience = 0.0
                continue
            except OSError as problem:
                self._unread = problem.errno == ECONNRESET
                raise self._fail(method, problem.strerror or "it cannot be read") from None
            fresh = self._fresh
            if not fresh:
                raise self._fail(method, "it closed the connection")
            arrived = incoming.filled(fresh) if isinstance(fresh, int) else incoming.take(fresh)
            if arrived:
                return arrived
            self._fresh = None

    def _receive_some(self, size: int) -> None:
        """Reads at least a byte into ``_fresh``, and polls before it sleeps if that pays."""
        polling = self._polling
        start = monotonic()
        if polling.credit > 0:
            while monotonic() - start < PATIENCE:
                try:
                    [self._fresh] = map(self._stream.recv, (size,), (MSG_DONTWAIT,))
                    return polling.came(monotonic() - start)
                except BlockingIOError:
                    # the service may wait for this very processor
                    os.sched_yield()
            polling.missed()
            [self._fresh] = map(self._stream.recv, (size,))
        else:
            [self._fresh] = map(self._stream.recv, (size,))
            polling.slept(monotonic() - start)

    def _set_patience(self, seconds: float) -> None:
        """The kernel ends a ``recv`` by itself after that time, so that no second system call has to watch the time."""
        self._patience = 0.0
        whole = int(seconds)
        micro = max(int((seconds - whole) * 1e6), 0 if whole else 1)
        self._stream.setsockopt(SOL_SOCKET, SO_RCVTIMEO, pack("ll", whole, micro))
        self._patience = seconds

    # Writing

    def _send(self, frame: bytes, reading: bool = False, seconds: float = 2 * WRITE_PATIENCE) -> int:
        """Writes a frame, whole; returns the number of the write. ``reading`` says whether this thread holds the
        reading lock; ``seconds`` is the longest wait for other writers."""
        mine = False
        me = 0 if reading else get_ident()
        try:
            [mine] = atomic_acquire(self._writing)
            if not mine:
                deadline = monotonic() + seconds
                while not mine:
                    self._bide(reading, deadline)
                    [mine] = atomic_acquire(self._writing, 0.05)
            self._writer = me
            if self.dead is not None:
                raise self._unsent()
            if self.greeting:
                frame, self.greeting = self.greeting + frame, b""
            self._write(frame, reading)
            return self._writes
        finally:
            if mine:
                self._writer = 0
                self._writing.release()

    def _try_send(self, frame: bytes) -> None:
        """Writes a frame if there is room now; only for optional messages."""
        mine = False
        me = get_ident()
        try:
            [mine] = atomic_acquire(self._writing, 1.0)
            if mine and frame and self.dead is None:
                self._writer = me
                self._write(frame, False)
        except OutriderError:
            pass
        finally:
            if mine:
                self._writer = 0
                self._writing.release()

    def _post(self, frame: bytes) -> None:
        """Writes a frame at once if the writing lock is free, else leaves it to the thread that reads next."""
        mine = False
        try:
            [mine] = atomic_acquire(self._writing)
            if mine:
                self._writes += 1
                # the kernel takes so little as a whole, or not at all
                self._stream.send(frame, MSG_DONTWAIT | MSG_NOSIGNAL)
            else:
                self._owed.append(frame)
        except BlockingIOError:
            self._owed.append(frame)
        except OSError:
            # the connection has ended, and with it the things that these calls would end
            pass
        finally:
            if mine:
                self._writing.release()

    # Calls within calls

    def _is_nested(self) -> bool:
        """Whether this thread is in the middle of a call, and holds a lock of this connection."""
        return get_ident() in (self._leader, self._writer)

    def _nested(self, method: str, frame: bytes) -> dict[str, Any]:
        """The reply to a call within a call: that of the end of something is as good as there, others raise."""
        if method not in ENDINGS:
            raise nested(method or "an event")
        self._post(frame)
        return {"result": {}}

    def _bide(self, reading: bool, deadline: float) -> None:
        """Waits while others write. A reader continues to read, for the writer may wait for just that."""
        if monotonic() >= deadline:
            raise late("")
        if reading:
            try:
                self._take_in()
            except BlockingIOError:
                pass
            except OSError as problem:
                raise self._fail("", problem.strerror or "it cannot be read") from None

    def _write(self, frame: bytes, reading: bool) -> None:
        """Only with the writing lock."""
        size = len(frame)
        self._written = 0
        self._writes += 1
        try:
            try:
                [self._written] = map(self._stream.send, (frame,), (_FLAGS,))
            except BlockingIOError:
                pass
            except OSError as problem:
                self._overhear()
                self._fail("", problem.strerror or "it cannot be written to")
                raise self._unsent() from None
            if self._written < size:
                self._write_rest(frame, reading)
        except BaseException:
            if 0 < self._written < size:
                self._torn("written")
            raise

    def _write_rest(self, frame: bytes, reading: bool) -> None:
        """Writes and reads: the service may not take more until we have taken its bytes."""
        from select import POLLIN, POLLOUT, poll

        poller = poll()
        view = memoryview(frame)
        deadline = monotonic() + WRITE_PATIENCE
        while self._written < len(frame):
            borrowed = False
            try:
                if not reading:
                    [borrowed] = atomic_acquire(self._reading)
                number = self._stream.fileno()
                if number < 0:
                    raise BrokenPipeError(32, "it was closed")
                poller.register(number, POLLOUT | (POLLIN if reading or borrowed else 0))
                ready = poller.poll(50)
                flags = ready[0][1] if ready else 0
                if flags & ~POLLIN:
                    [size] = map(self._stream.send, (view[self._written :],), (_FLAGS,))
                    self._written += size
                    deadline = monotonic() + WRITE_PATIENCE
                elif flags:
                    self._take_in()
            except BlockingIOError:
                pass
            except OSError as problem:
                raise self._fail("", problem.strerror or "it cannot be written to") from None
            finally:
                if borrowed:
                    self._reading.release()
            if monotonic() > deadline:
                raise self._fail("", f"it took nothing for {WRITE_PATIENCE:g} seconds")

    def _take_in(self) -> None:
        """Reads arrived bytes into memory without parsing; the next leader parses them."""
        self._stash.extend(map(self._stream.recv, (1 << 18,), (MSG_DONTWAIT,)))
        if not self._stash[-1]:
            raise BrokenPipeError(32, "it closed the connection")

    # Ends

    def has_ended(self) -> bool:
        """Whether the connection is over, also if no thread has read its end yet. Does not wait."""
        if self.dead is None:
            try:
                unread = self._stream.recv(1, MSG_DONTWAIT | MSG_PEEK)
                if unread and (self._reading.locked() or not is_hung_up(self._stream)):
                    return False
                self._fail("", "it closed the connection")
            except BlockingIOError:
                return False
            except OSError as problem:
                self._fail("", problem.strerror or "it cannot be read")
        return True

    def _fail(self, method: str, why: str) -> OutriderError:
        """The connection is over. Gives the exception for the caller."""
        gone = self._gone(method, why)
        try:
            self._stream.shutdown(SHUT_RDWR)
        except OSError:
            pass
        self._ended()
        return gone

    def _torn(self, how: str) -> OutriderError:
        """An exception interrupted a message, so the start of the next message is unknown."""
        return self._fail("", f"a message was interrupted while it was {how}")

    def _refused(self, error: Any) -> None:
        """The service sent an error without an id: the reason why the connection ends."""
        problem = from_error(error)
        if isinstance(problem, LimitError):
            self._refusal = error
        self._fail("", str(problem))

    def _overhear(self) -> None:
        """Called when the service takes nothing more: the reason may have arrived."""
        try:
            heard = self._stream.recv(1 << 16, MSG_DONTWAIT | MSG_PEEK)
            for number, message in self._incoming.copy().take(b"".join([*self._stash, heard])):
                if number is None and "error" in message:
                    self._refused(message["error"])
        except (OSError, ProtocolError):
            pass

    def _ended(self) -> None:
        """Wakes all waiting threads, at the end of the connection."""
        for waiter in list(self._waiting.values()):
            waiter.wake()

    def _in_flight(self) -> list[str]:
        """The methods of the calls that wait."""
        return [waiter.method for waiter in list(self._waiting.values()) if waiter.method]

    def _farewell(self) -> str:
        return f"the service ({self.name}) has gone: {self.dead}"

    def _unsent(self) -> OutriderError:
        return Unsent(self._farewell()) if self._refusal is None else from_error(self._refusal)

    def _unless_unread(self, problem: OutriderError, write: int) -> OutriderError:
        """The exception for the call of that write, which is safe to repeat if the service has not read its end."""
        return Unsent(str(problem)) if self._unread and write == self._writes else problem

    def _gone(self, method: str, why: str | None = None) -> OutriderError:
        if self.dead is None:
            self.dead = why
        if self._refusal is not None:
            return from_error(self._refusal)
        others = self._in_flight()
        named = tuple(others) if method in others or not method else (method, *others)
        return ServerGone(self._farewell(), in_flight=named)

    def close(self) -> None:
        """Ends the connection; calls in flight end with :class:`~outrider.ServerGone`."""
        if self.dead is None:
            self._fail("", "this client closed the connection")
        mine = False
        try:
            [mine] = atomic_acquire(self._reading, 0.0 if self._is_nested() else 1.0)
            if mine:
                self._stream.close()
        finally:
            if mine:
                self._reading.release()

    def abandon(self) -> None:
        """In a child made by fork: forgets the parent's connection without disturbing the parent."""
        self.dead = "it belongs to the parent process"
        self._stream.close()
