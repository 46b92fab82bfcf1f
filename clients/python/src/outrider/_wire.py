# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Bytes to and from the service: whole lines in, whole frames out, and no wait without an end.

Reading is done by the thread that holds ``_reading``, writing by the one that holds ``_writing``. Who must wait to
write reads meanwhile, because the service takes nothing more from a client that does not read.
"""

from __future__ import annotations

import os
from _socket import MSG_DONTWAIT, MSG_NOSIGNAL, SHUT_RDWR, SO_RCVTIMEO, SOL_SOCKET
from _thread import allocate_lock
from struct import pack
from time import monotonic

from ._exceptions import ProtocolError, RequestTimeout, ServerGone

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _socket import socket as Socket

MESSAGE_LIMIT = 256 * 1024 * 1024
"""No message of the service is longer; a peer that sends a longer one is not the service."""

IN_FLIGHT = 240
"""How many calls we leave unanswered at a time. The service allows 256, some of which it may not know to be over."""

WRITE_PATIENCE = 60.0
"""Seconds in which a service that is alive takes at least one byte."""


class Unsent(ServerGone):
    """The connection was found dead before any byte of the call was written: it is safe to connect and repeat."""


class Wire:
    """One stream socket to the service. ``dead`` says why it is over, once it is."""

    def __init__(self, stream: Socket, name: str) -> None:
        self.pid = os.getpid()
        self.dead: str | None = None
        self.name = name
        self._stream = stream
        self._writing = allocate_lock()
        self._reading = allocate_lock()
        self._partial: list[bytes] = []
        self._partial_size = 0
        self._stashed = False
        self._patience = 0.0
        stream.settimeout(None)

    # Reading: only with the reading lock

    def _receive(self, method: str, deadline: float) -> bytes:
        """Complete lines, at least one."""
        while True:
            if self._stashed:
                data = self._unstashed()
                if data:
                    return data
            remaining = deadline - monotonic()
            patience = self._patience
            # A patience that is right within a tenth is left alone: setting it costs a system call.
            if not 0.9 * patience <= remaining <= 1.1 * patience:
                if remaining <= 0:
                    raise self._late(method)
                self._set_patience(remaining)
            try:
                # little is asked for where little is expected: the memory for it is made before anything is read
                data = self._stream.recv(1 << 16 if self._partial_size < 1 << 17 else 1 << 20)
            except BlockingIOError:
                self._patience = 0.0
                continue
            except OSError as problem:
                raise self._fail(method, problem.strerror or "it cannot be read") from None
            if not data:
                raise self._fail(method, "it closed the connection")
            if self._partial or data[-1] != 10:
                data = self._joined(data)
                if not data:
                    continue
            return data

    def _joined(self, data: bytes) -> bytes:
        """The complete lines in what was kept and ``data``; what follows them is kept."""
        end = data.rfind(b"\n") + 1
        if end:
            self._partial.append(data[:end])
            lines = b"".join(self._partial)
            self._partial = [data[end:]] if end < len(data) else []
            self._partial_size = len(data) - end
            return lines
        self._partial.append(data)
        self._partial_size += len(data)
        if self._partial_size > MESSAGE_LIMIT:
            raise self._broken(ProtocolError(f"the service sent a message of more than {MESSAGE_LIMIT} bytes"))
        return b""

    def _unstashed(self) -> bytes:
        """The complete lines in what a writer took in."""
        self._stashed = False
        whole = b"".join(self._partial)
        self._partial = []
        self._partial_size = 0
        return self._joined(whole) if whole else b""

    def _set_patience(self, seconds: float) -> None:
        """The kernel ends a ``recv`` by itself after that time, so that no second system call has to watch it."""
        self._patience = seconds
        whole = int(seconds)
        micro = max(int((seconds - whole) * 1e6), 0 if whole else 1)
        self._stream.setsockopt(SOL_SOCKET, SO_RCVTIMEO, pack("ll", whole, micro))

    # Writing

    def _send(self, frame: bytes, reading: bool = False) -> None:
        """Writes a frame, whole. ``reading`` says whether this thread holds the reading lock."""
        if not self._writing.acquire(False):
            self._await_turn(reading)
        try:
            if self.dead is not None:
                raise Unsent(self._farewell())
            try:
                written = self._stream.send(frame, MSG_DONTWAIT | MSG_NOSIGNAL)
            except BlockingIOError:
                written = 0
            except OSError as problem:
                self._fail("", problem.strerror or "it cannot be written to")
                raise Unsent(self._farewell()) from None
            if written < len(frame):
                self._send_rest(memoryview(frame)[written:], reading)
        finally:
            self._writing.release()

    def _try_send(self, frame: bytes) -> None:
        """Writes a frame if there is room for it now; for what is a courtesy only."""
        if not self._writing.acquire(True, 1.0):
            return
        try:
            if frame and self.dead is None:
                written = self._stream.send(frame, MSG_DONTWAIT | MSG_NOSIGNAL)
                if written < len(frame):
                    self._send_rest(memoryview(frame)[written:], False)
        except (OSError, ServerGone):
            pass
        finally:
            self._writing.release()

    def _await_turn(self, reading: bool) -> None:
        """Waits for the writing lock. A reader goes on reading, for the writer may wait for just that."""
        while not self._writing.acquire(True, 0.05):
            if reading:
                try:
                    self._take_in()
                except BlockingIOError:
                    pass
                except OSError as problem:
                    raise self._fail("", problem.strerror or "it cannot be read") from None

    def _send_rest(self, rest: memoryview, reading: bool) -> None:
        """Writes and reads: the service may not take more until we have taken what it has for us."""
        from select import POLLIN, POLLOUT, poll

        poller = poll()
        number = self._stream.fileno()
        deadline = monotonic() + WRITE_PATIENCE
        while rest:
            borrowed = not reading and self._reading.acquire(False)
            try:
                poller.register(number, POLLOUT | (POLLIN if reading or borrowed else 0))
                ready = poller.poll(50)
                flags = ready[0][1] if ready else 0
                if flags & ~POLLIN:
                    rest = rest[self._stream.send(rest, MSG_DONTWAIT | MSG_NOSIGNAL) :]
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
        """Reads what has arrived into memory, without looking at it: the next leader will."""
        data = self._stream.recv(1 << 18, MSG_DONTWAIT)
        if not data:
            raise BrokenPipeError(32, "it closed the connection")
        self._stashed = True
        self._partial.append(data)
        self._partial_size += len(data)

    # Ends

    def _fail(self, method: str, why: str) -> ServerGone:
        """The connection is over. Gives the exception for the caller."""
        gone = self._gone(method, why)
        try:
            self._stream.shutdown(SHUT_RDWR)
        except OSError:
            pass
        self._ended()
        return gone

    def _ended(self) -> None:
        """Called once the connection is over: whoever waits must be told."""

    def _in_flight(self) -> list[str]:
        """The methods of the calls that wait."""
        return []

    def _broken(self, problem: ProtocolError) -> ProtocolError:
        self._fail("", str(problem))
        return problem

    def _farewell(self) -> str:
        return f"the service ({self.name}) has gone: {self.dead}"

    def _gone(self, method: str, why: str | None = None) -> ServerGone:
        if self.dead is None:
            self.dead = why
        others = self._in_flight()
        named = tuple(others) if method in others or not method else (method, *others)
        return ServerGone(self._farewell(), in_flight=named)

    def _late(self, method: str) -> RequestTimeout:
        return RequestTimeout(
            f"the service did not answer {method or 'the call'} in time; the call was cancelled",
            code=1405,
            kind="sessionTaskFailed",
            reason="timedOut",
            retryable=True,
        )

    def close(self) -> None:
        """Ends the connection; calls in flight end with :class:`~outrider.ServerGone`."""
        if self.dead is None:
            self._fail("", "this client closed the connection")
        if self._reading.acquire(True, 1.0):
            try:
                self._stream.close()
            finally:
                self._reading.release()

    def abandon(self) -> None:
        """In a child made by fork: forgets the parent's connection without disturbing it."""
        self.dead = "it belongs to the parent process"
        self._stream.close()
