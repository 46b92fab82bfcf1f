# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The messages of a WebSocket on a connection that carries nothing else."""

from __future__ import annotations

from _socket import MSG_DONTWAIT, SHUT_RDWR
from _thread import allocate_lock
from contextlib import suppress
from select import POLLIN, POLLOUT, poll
from time import monotonic

from .._connection.locks import atomic_acquire
from .._resources.records import Records
from .._resources.streams import cut
from .pipe import open_socket

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Channel:
    """Messages both ways; any thread may send while another one reads."""

    def __init__(self, path: str, stream: str) -> None:
        self._socket = open_socket(path, stream)
        self._records = Records()
        self._reading, self._writing = allocate_lock(), allocate_lock()

    @property
    def end(self) -> dict[str, Any] | None:
        """The last record of the service; ``None`` while messages may follow."""
        return self._records.end

    def read(self, timeout: float | None) -> list[Any]:
        """The next messages; none at the end, and if none came in time."""
        deadline = None if timeout is None else monotonic() + timeout
        if not self._reading.acquire(timeout=-1 if timeout is None else timeout):
            return []
        try:
            while self._records.end is None:
                if deadline is not None and not self._is_ready(deadline - monotonic()):
                    return []
                count = self._socket.recv_into(self._records.room())
                if not count:
                    raise cut()
                found = self._records.filled(count)
                if found:
                    return found
            return []
        except OSError as problem:
            raise cut(problem) from None
        finally:
            self._reading.release()

    def _is_ready(self, seconds: float, event: int = POLLIN) -> bool:
        waiting = poll()
        waiting.register(self._socket, event)
        return bool(waiting.poll(max(0, seconds * 1000)))

    def send(self, record: bytes, timeout: float | None = None) -> None:
        """Sends a record; waits while the service takes nothing. Raises :class:`OSError` after the end of the
        connection, and if the service takes nothing for ``timeout`` seconds."""
        mine = False
        try:
            [mine] = atomic_acquire(self._writing, -1 if timeout is None else timeout)
            if not mine:
                raise BrokenPipeError
            try:
                if timeout is None:
                    self._socket.sendall(record)
                else:
                    self._send_within(record, timeout)
            except BaseException:
                # part of a record may have left
                self._socket.shutdown(1)
                raise
        finally:
            if mine:
                self._writing.release()

    def _send_within(self, record: bytes, timeout: float) -> None:
        rest = memoryview(record)
        deadline = monotonic() + timeout
        while rest:
            if not self._is_ready(deadline - monotonic(), POLLOUT):
                raise BrokenPipeError
            with suppress(BlockingIOError):
                rest = rest[self._socket.send(rest, MSG_DONTWAIT) :]

    def close(self) -> None:
        """Ends the connection and its WebSocket, and the wait of a thread that sends."""
        with suppress(OSError):
            self._socket.shutdown(SHUT_RDWR)
        self._socket.close()


def open_channel(path: str, stream: str) -> Channel:
    """A connection for the messages of a WebSocket."""
    return Channel(path, stream)
