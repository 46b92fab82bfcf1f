# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The connections of a program whose threads are greenlets of gevent. Loaded only in such a program."""

from __future__ import annotations

from _socket import MSG_DONTWAIT, MSG_WAITALL, SO_RCVTIMEO, SOL_SOCKET
from _socket import socket as Socket
from _struct import unpack
from select import POLLIN, poll

from .._protocol.hints import Any


class Yielding(Socket):
    """A socket whose reads let other greenlets run while nothing has arrived: ``poll`` is the one of gevent."""

    def recv(self, size: int, flags: int = 0) -> bytes:
        """As of any socket."""
        self._wait(flags)
        return super().recv(size, flags)

    def recv_into(self, buffer: Any, size: int = 0, flags: int = 0) -> int:
        """As of any socket; may take less than all."""
        self._wait(flags)
        return super().recv_into(buffer, size, flags & ~MSG_WAITALL)

    def _wait(self, flags: int) -> None:
        if flags & MSG_DONTWAIT:
            return
        whole, micro = unpack("ll", self.getsockopt(SOL_SOCKET, SO_RCVTIMEO, 16))
        waiting = poll()
        waiting.register(self, POLLIN)
        if not waiting.poll(whole * 1000 + micro / 1000 or None):
            raise BlockingIOError
